"""LangChain's OpenAI chat model against a running Ratchet; prints what it got as one line of JSON.

Run it with the address of /v1, an API key, and two questions: a plain one, and one that calls `get_weather`.
"""

import json
import sys

from langchain_core.messages import HumanMessage, ToolMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from pydantic import BaseModel


@tool
def get_weather(city: str) -> str:
    """Tell the weather of a city."""
    return f"sunny in {city}"


class Thing(BaseModel):
    """The form of a structured answer."""

    a: int


def with_tools(model: ChatOpenAI, question: str) -> str:
    """Ask, run the tool that the model calls, and send the result."""
    bound = model.bind_tools([get_weather])
    said = [HumanMessage(question)]
    called = bound.invoke(said)
    said.append(called)
    for call in called.tool_calls:
        said.append(ToolMessage(get_weather.invoke(call["args"]), tool_call_id=call["id"]))
    return bound.invoke(said).text


def saw(model: ChatOpenAI, plain: str, calling: str, structured: str) -> dict[str, object]:
    whole = model.invoke(plain)
    return {
        "whole": whole.text,
        "tokens": whole.usage_metadata["total_tokens"],
        "streamed": "".join(chunk.text for chunk in model.stream(plain)),
        "tools": with_tools(model, calling),
        "structured": model.with_structured_output(Thing, method="json_schema").invoke(structured).a,
    }


def main(base_url: str, api_key: str, plain: str, calling: str, structured: str) -> None:
    options = {"base_url": base_url, "api_key": api_key, "model": "copilot", "max_retries": 0}
    print(
        json.dumps(
            {
                "completions": saw(ChatOpenAI(**options), plain, calling, structured),
                "responses": saw(ChatOpenAI(**options, use_responses_api=True), plain, calling, structured),
            }
        )
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
