"""A chat on LangGraph: one node that asks the model, served by LangGraph's own server with runs in memory."""

from __future__ import annotations

import os

from langchain_openai import ChatOpenAI
from langgraph.graph import END, START, MessagesState, StateGraph


async def ask(state: MessagesState) -> dict[str, list[object]]:
    name = str(state["messages"][-1].content)
    model = ChatOpenAI(model=name, base_url=os.environ["MODEL_URL"], api_key="none", streaming=True)
    return {"messages": [await model.ainvoke(state["messages"])]}


builder = StateGraph(MessagesState)
builder.add_node("ask", ask)
builder.add_edge(START, "ask")
builder.add_edge("ask", END)
graph = builder.compile()
