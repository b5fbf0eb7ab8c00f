"""Pictures in the conversation: workspace images become image parts for a model that can see."""

from __future__ import annotations

from dataclasses import dataclass

import llm
from accounts.models import User
from chat.engine.history import ModelMessage
from workspace.images import ShownImage, choose_images
from workspace.references import resolve

RECENT_MESSAGES = 20  # older pictures have been talked about; showing them again costs more than it helps


@dataclass(frozen=True, kw_only=True)
class Illustrated:
    """The messages with their pictures, and which files those are."""

    messages: list[ModelMessage]
    file_ids: list[str]


def show_pictures(messages: list[ModelMessage], user: User | None, model: str) -> Illustrated:
    """Add the person's own pictures that recent messages and tool results point at; none for a blind model."""
    if user is None or not llm.model_info(model).sees_images:
        return Illustrated(messages=messages, file_ids=[])
    recent = [message for message in messages[-RECENT_MESSAGES:] if message["role"] in ("user", "tool")]
    texts = [message["content"] for message in reversed(recent) if isinstance(message["content"], str)]
    choice = choose_images(resolve(user, texts))
    if not choice.shown:
        return Illustrated(messages=messages, file_ids=[])
    parts: list[dict[str, object]] = [
        {"type": "text", "text": "[Pictures the conversation points at, as data:]"}
    ]
    parts += [part for image in choice.shown for part in image_parts(image)]
    shown = [str(image.file_id) for image in choice.shown]
    return Illustrated(messages=[*messages, {"role": "user", "content": parts}], file_ids=shown)


def image_parts(image: ShownImage) -> list[dict[str, object]]:
    """The picture under the name the conversation knows it by."""
    return [
        {"type": "text", "text": f"workspace://{image.file_id}"},
        {"type": "image_url", "image_url": {"url": image.data_url}},
    ]
