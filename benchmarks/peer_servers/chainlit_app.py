"""A chat on Chainlit, as its documentation shows it: the model's words become tokens of one message."""

from __future__ import annotations

import os

import chainlit as cl
from openai import AsyncOpenAI

client = AsyncOpenAI(base_url=os.environ["MODEL_URL"], api_key="none")


@cl.on_message  # type: ignore[untyped-decorator]  # installed in an environment of its own
async def on_message(message: cl.Message) -> None:
    answer = cl.Message(content="")
    stream = await client.chat.completions.create(
        model=message.content, messages=[{"role": "user", "content": message.content}], stream=True
    )
    async for chunk in stream:
        if chunk.choices and (token := chunk.choices[0].delta.content):
            await answer.stream_token(token)
    await answer.send()
