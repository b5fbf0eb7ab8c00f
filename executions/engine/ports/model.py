"""The model port: answers are charged and recorded, so that a second attempt does not ask again."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Callable
from decimal import Decimal
from itertools import count
from typing import Any

from blocks.pins import MISSING
from blocks.ports import ModelPort, StorePort, StoreScope
from durable.stop_signal import StopSignal
from llm.carry import Carry
from llm.types import Completion, Request, ToolCallRequest, Usage


class RecordingModel:
    """Repeats the recorded answers of an earlier attempt as long as the requests are the same."""

    def __init__(self, model: ModelPort, store: StorePort, check_budget: Callable[[], None]) -> None:
        self._model = model
        self._store = store
        self._check_budget = check_budget
        self._asked = count()

    def complete(self, request: Request, cancel: StopSignal) -> Completion:
        key = f"model:{next(self._asked)}"
        question = fingerprint(request)
        known = self._store.get(StoreScope.NODE_EXECUTION, key)
        if known is not MISSING and known["question"] == question:
            return read(known["answer"])
        self._check_budget()
        answer = self._model.complete(request, cancel)
        self._store.put(StoreScope.NODE_EXECUTION, key, {"question": question, "answer": write(answer)})
        return answer


def fingerprint(request: Request) -> str:
    asked = json.dumps(dataclasses.asdict(request), sort_keys=True, default=str)
    return hashlib.sha256(asked.encode()).hexdigest()


def write(answer: Completion) -> dict[str, Any]:
    return dataclasses.asdict(answer) | {"cost": str(answer.cost)}


def read(kept: dict[str, Any]) -> Completion:
    values = kept | {
        "tool_calls": tuple(ToolCallRequest(**call) for call in kept["tool_calls"]),
        "usage": Usage(**kept["usage"]),
        "carry": Carry(**kept.get("carry", {})),
        "cost": Decimal(kept["cost"]),
    }
    return Completion(**values)
