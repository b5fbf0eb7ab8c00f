"""One attempt at an execution, from the claim to whatever way out it takes.

Every way out ends the execution, puts it aside or hands it over; only a lost lease leaves it as it is, for then
somebody else has it.
"""

from __future__ import annotations

import logging

from django.db import InterfaceError, OperationalError

from durable import limits
from durable.errors import DurableError, JobCancelled, TimedOut
from durable.lease import Lease
from executions import closing, news
from executions.agents.errors import AgentError
from executions.blocks.registry import Registry
from executions.engine.driver import Driver
from executions.engine.equipment import Equipment
from executions.engine.errors import CannotPlan, EngineError, NodeFailed, OutOfMoney
from executions.engine.plan import Plan, make_plan
from executions.engine.rows import read_history
from executions.graph import parse_graph
from executions.models import Execution

logger = logging.getLogger(__name__)
TOO_LONG = f"The run has worked for {limits.MAX_EXECUTION_SECONDS / 3600:.0f} hours, longer than a run may."
OUR_FAULT = "The run failed for a reason that is ours, not yours. It is logged. Try again."


def run(lease: Lease, equipment: Equipment | None = None) -> None:
    """Run one execution. May start again after a crash: then it goes on where the last commit left it."""
    execution = Execution.objects.select_related("user", "agent").get(pk=lease.job_id)
    news.execution_changed(execution)
    equipment = equipment or Equipment()
    try:
        plan = plan_of(execution, equipment.registry)
    except (EngineError, AgentError) as error:
        lease.finish(Execution.FAILED, reason="cannot_run", error=str(error))
        return
    driver = Driver(execution, plan, read_history(execution), lease, equipment)
    try:
        follow(driver)
    finally:
        driver.let_go()


def follow(driver: Driver) -> None:
    try:
        driver.drive()
    except JobCancelled:
        driver.end(Execution.CANCELLED, reason="cancelled", error=closing.SENTENCES["cancelled"])
    except TimedOut:
        driver.end(Execution.FAILED, reason="timed_out", error=TOO_LONG)
    except NodeFailed as error:
        driver.end(Execution.FAILED, reason="node_failed", error=str(error))
    except OutOfMoney as error:
        driver.end(Execution.FAILED, reason="budget", error=str(error))
    except EngineError as error:
        driver.end(Execution.FAILED, reason="failed", error=str(error))
    except (DurableError, OperationalError, InterfaceError):
        raise
    except Exception:  # the task's boundary: an unknown error ends the execution visibly and is written down
        logger.exception("execution failed", extra=driver.execution.log_context())
        driver.end(Execution.FAILED, reason="internal_error", error=OUR_FAULT)


def plan_of(execution: Execution, registry: Registry) -> Plan:
    version = execution.agent.versions.filter(version=execution.version).first()
    if version is None:
        raise CannotPlan(f"Version {execution.version} of the agent is no longer there.")
    graph = parse_graph(version.graph)
    return make_plan(graph, registry, inputs=execution.inputs, node_inputs=execution.node_inputs)
