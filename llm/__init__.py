"""The language model behind one small interface; `openai` is imported at the first request, not with this package."""

from llm.carry import CARRY, Carry
from llm.catalog import ModelInfo
from llm.client import carry_origin, complete, default_model, found_models, stream, title_model, warm_up
from llm.endpoints import model_info
from llm.errors import (
    AnswerCancelled,
    BadModelAnswer,
    BadModelRequest,
    ContextTooLong,
    LLMError,
    ModelCut,
    ModelIdle,
    ModelRefused,
    ModelUnavailable,
    RateLimited,
)
from llm.retry import Policy
from llm.tokens import estimate_message_tokens, estimate_tokens
from llm.types import (
    JSON,
    Completion,
    Delta,
    FailedTry,
    FinishReason,
    ReasoningDelta,
    Request,
    RetryNote,
    StreamReset,
    TextDelta,
    ToolCallDelta,
    ToolCallRequest,
    ToolCallStart,
    ToolSpec,
    Usage,
)

__all__ = [
    "CARRY",
    "JSON",
    "AnswerCancelled",
    "BadModelAnswer",
    "BadModelRequest",
    "Carry",
    "Completion",
    "ContextTooLong",
    "Delta",
    "FailedTry",
    "FinishReason",
    "LLMError",
    "ModelCut",
    "ModelIdle",
    "ModelInfo",
    "ModelRefused",
    "ModelUnavailable",
    "Policy",
    "RateLimited",
    "ReasoningDelta",
    "Request",
    "RetryNote",
    "StreamReset",
    "TextDelta",
    "ToolCallDelta",
    "ToolCallRequest",
    "ToolCallStart",
    "ToolSpec",
    "Usage",
    "carry_origin",
    "complete",
    "default_model",
    "estimate_message_tokens",
    "estimate_tokens",
    "found_models",
    "model_info",
    "stream",
    "title_model",
    "warm_up",
]
