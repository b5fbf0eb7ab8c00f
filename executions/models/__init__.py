"""The rows of agents and their executions."""

from executions.models.agent import Agent, AgentVersion, StoreListing
from executions.models.block_run import BlockRun
from executions.models.credential import StoredCredential
from executions.models.draft import AgentDraft, DraftEditor
from executions.models.execution import Execution, NodeExecution
from executions.models.preset import Preset
from executions.models.review import Review
from executions.models.schedule import Schedule
from executions.models.stored_value import StoredValue
from executions.models.trigger import Trigger, TriggerDelivery

__all__ = [
    "Agent",
    "AgentDraft",
    "AgentVersion",
    "BlockRun",
    "DraftEditor",
    "Execution",
    "NodeExecution",
    "Preset",
    "Review",
    "Schedule",
    "StoreListing",
    "StoredCredential",
    "StoredValue",
    "Trigger",
    "TriggerDelivery",
]
