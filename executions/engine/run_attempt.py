"""One attempt at an execution, from the claim to its end.

It ends the execution, suspends it or hands it over. Only after a lost lease it changes nothing: another worker has it.
"""

from __future__ import annotations

import logging

from django.db import InterfaceError, OperationalError

from blocks.registry import BlockRegistry
from durable.errors import DurableError, JobCancelled, JobTimedOut
from durable.lease import Lease
from executions import lifecycle, limits, notifications
from executions.agents.errors import AgentError
from executions.engine.dependencies import EngineDependencies
from executions.engine.driver import Driver
from executions.engine.errors import CannotPlan, EngineError, NodeFailed, OutOfMoney
from executions.engine.node_rows import read_history
from executions.engine.plan import Plan, make_plan
from executions.execution_graph import graph_of
from executions.models import Execution

logger = logging.getLogger(__name__)
TOO_LONG = (
    f"The run has worked for {limits.MAX_EXECUTION_SECONDS / 3600:.0f} hours, the maximum for an execution."
)
OUR_FAULT = "The run failed because of an error on our side. The error was logged; please try again."


def run(lease: Lease, dependencies: EngineDependencies | None = None) -> None:
    """Run one execution; after a crash it continues where the last commit left it."""
    execution = Execution.objects.select_related("user", "agent").get(pk=lease.job_id)
    notifications.execution_changed(execution)
    dependencies = dependencies or EngineDependencies()
    try:
        plan = plan_of(execution, dependencies.registry)
    except (EngineError, AgentError) as error:
        lease.finish(Execution.FAILED, reason="cannot_run", error=str(error))
        return
    driver = Driver(execution, plan, read_history(execution), lease, dependencies)
    try:
        drive_to_an_end(driver)
    finally:
        driver.abandon()


def drive_to_an_end(driver: Driver) -> None:
    try:
        driver.drive()
    except JobCancelled:
        driver.end(Execution.CANCELLED, reason="cancelled", error=lifecycle.SENTENCES["cancelled"])
    except JobTimedOut:
        driver.end(Execution.FAILED, reason="timed_out", error=TOO_LONG)
    except NodeFailed as error:
        driver.end(Execution.FAILED, reason="node_failed", error=str(error))
    except OutOfMoney as error:
        driver.end(Execution.FAILED, reason="budget", error=str(error))
    except EngineError as error:
        driver.end(Execution.FAILED, reason="failed", error=str(error))
    except (DurableError, OperationalError, InterfaceError):
        raise
    except Exception:  # the task's boundary: an unknown error is logged and ends the execution
        logger.exception("execution failed", extra=driver.execution.log_context())
        driver.end(Execution.FAILED, reason="internal_error", error=OUR_FAULT)


def plan_of(execution: Execution, registry: BlockRegistry) -> Plan:
    graph = graph_of(execution)
    if graph is None:
        raise CannotPlan(f"Version {execution.version} of the agent no longer exists.")
    return make_plan(
        graph,
        registry,
        inputs=execution.inputs,
        node_inputs=execution.node_inputs,
        pinned=execution.pinned,
    )
