"""Errors of the model client.

LLMError
├── AnswerCancelled     the answer is no longer wanted
├── RateLimited         the server asks for a long pause: free the worker, retry after `retry_after`
├── ModelUnavailable    no connection, or a server error, after all tries
├── ModelCut            the answer broke off mid-stream too often
├── ModelIdle           the server went silent too often
├── ModelRefused        the model or its filter declined, without an answer
├── BadModelRequest     the server refused the request: key, model name or parameters are wrong
├── ContextTooLong      the conversation does not fit the model's window: compact it
└── BadModelAnswer      the server's answer is invalid
"""

from __future__ import annotations


class LLMError(Exception):
    """The language model could not answer. Please try again."""

    def __init__(self, message: str = "", *, detail: str = "") -> None:
        """`message` is a sentence for the person; `detail` is what the server said, for logs."""
        self.user_message = message or (type(self).__doc__ or "").strip()
        self.detail = detail
        super().__init__(f"{self.user_message} ({detail})" if detail else self.user_message)


class AnswerCancelled(LLMError):
    """The answer was stopped."""


class RateLimited(LLMError):
    """The model is rate limited right now; it is retried automatically."""

    def __init__(self, message: str = "", *, retry_after: float, detail: str = "") -> None:
        super().__init__(message, detail=detail)
        self.retry_after = retry_after


class ModelUnavailable(LLMError):
    """The model server cannot be reached or answers with errors. Please try again in a few minutes."""


class ModelCut(LLMError):
    """The model's answer broke off several times. Please try again."""


class ModelIdle(LLMError):
    """The model server accepted the request and then stopped responding. Please try again."""


class ModelRefused(LLMError):
    """The model declined to answer this. Please rephrase the question."""


class BadModelRequest(LLMError):
    """The model server refused the request. An operator should check OPENAI_API_KEY and COPILOT_MODEL."""


class ContextTooLong(LLMError):
    """The conversation is longer than the model can read at once."""


class BadModelAnswer(LLMError):
    """The model server sent an invalid answer. Check that OPENAI_BASE_URL is the address of a model server."""
