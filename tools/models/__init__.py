"""The rows of the tools."""

from tools.models.call import ToolCall, call_key, calls_of, was_called
from tools.models.feature_request import FeatureRequest, FeatureSupport
from tools.models.follow_up import FollowUp
from tools.models.operation import Operation, find_operation
from tools.models.policy import ToolPolicy
from tools.models.todo_list import TodoList
from tools.models.understanding import Understanding

__all__ = [
    "FeatureRequest",
    "FeatureSupport",
    "FollowUp",
    "Operation",
    "TodoList",
    "ToolCall",
    "ToolPolicy",
    "Understanding",
    "call_key",
    "calls_of",
    "find_operation",
    "was_called",
]
