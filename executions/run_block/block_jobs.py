"""Single blocks run by a worker of the executions queue: request, attempt and answer.

The web process neither validates the inputs nor calls the block: with untrusted input that may take long.
"""

from __future__ import annotations

import hashlib
import json
import logging
import uuid
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from django.db import InterfaceError, OperationalError
from django.utils import timezone

from accounts.models import User
from blocks.errors import ParkedForReview
from blocks.ports import JSON
from blocks.registry import get_registry
from durable import encryption
from durable.database import after_commit, in_transaction
from durable.errors import DurableError, JobCancelled, Refusal
from durable.lease import Lease
from durable.publisher import poke
from executions import limits
from executions.engine.dependencies import EngineDependencies
from executions.errors import BadInputs, BlockRefused, NotAlone, TooManyExecutions
from executions.models import BlockRun
from executions.run_block.lifecycle import ENDS
from executions.run_block.run import SingleResult, SingleRun, run_single_block
from workspace import limits as workspace_limits
from workspace.preview import WorkspaceKeeper, show

logger = logging.getLogger(__name__)
ASKS = "A person must approve this first."
OUR_FAULT = "The run failed because of an error on our side. The error was logged; please try again."


# --- request ------------------------------------------------------------------------------------


def start_block_run(user: User, block_id: str, inputs: Mapping[str, JSON], client_id: str) -> BlockRun:
    """Commit the run, then poke. The same again answers the same run while it is kept, unless a person was asked.

    Raises UnknownBlock, NotAlone, BadInputs when they are too large, or TooManyExecutions; then nothing is run.
    """
    block = get_registry().get(block_id)
    if not block.runs_alone:
        raise NotAlone(f"{block.name} only works inside an agent. Put it into one and run that.")
    encoded = json.dumps(inputs, ensure_ascii=False, separators=(",", ":"))
    if len(encoded.encode()) > limits.MAX_INPUT_BYTES:
        raise BadInputs(
            {"": f"The inputs are larger than {limits.MAX_INPUT_BYTES:,} bytes. Give large ones as files."}
        )
    return _find_or_write(user, block.id, encoded, client_id)


@in_transaction
def _find_or_write(user: User, block_id: str, inputs: str, client_id: str) -> BlockRun:
    """Find the same run or create it; locks the user's row, so that duplicates sent at once are one run."""
    User.objects.select_for_update(no_key=True).get(pk=user.pk)
    fingerprint = hashlib.sha256(inputs.encode()).hexdigest()
    known = BlockRun.objects.filter(
        user=user, client_id=client_id, block_id=block_id, fingerprint=fingerprint
    )
    found = known.order_by("-queued_at").first()
    if found is not None and stands(found):
        return found
    if BlockRun.live().filter(user=user).count() >= limits.MAX_LIVE_BLOCK_RUNS_PER_USER:
        raise TooManyExecutions
    run = BlockRun.objects.create(
        user=user,
        block_id=block_id,
        client_id=client_id,
        fingerprint=fingerprint,
        sealed_inputs=encryption.seal(inputs),
        status=BlockRun.QUEUED,
        poked_at=BlockRun.clock.now(),
    )
    after_commit(poke, BlockRun, run.pk)
    return run


def stands(run: BlockRun) -> bool:
    """Return whether this run answers a repeated request: it is under way, or the block has ended."""
    return not run.is_terminal or (run.answer or {}).get("status") in ("completed", "failed")


def ended_block_run(run_id: uuid.UUID) -> BlockRun | None:
    """Return the run if it has ended, else None. Raises BlockRun.DoesNotExist."""
    run = BlockRun.objects.get(pk=run_id)
    return run if run.is_terminal else None


def answer_of(run: BlockRun) -> dict[str, Any]:
    """Return the answer of a run; raise what refused it."""
    if not run.is_terminal:
        return as_answer(SingleResult(outputs={}), "running")
    if run.answer is None:
        return as_answer(SingleResult(outputs={}, error=run.error or ENDS["cancelled"]), "failed")
    refusal = run.answer.get("refused")
    if refusal is None:
        return dict(run.answer)
    if "problems" in refusal:
        raise BadInputs(refusal["problems"])
    raise BlockRefused(**refusal)


# --- running ------------------------------------------------------------------------------------


def run(lease: Lease, dependencies: EngineDependencies | None = None) -> None:
    """Run one block. After a crash it starts again; the key of the run makes effect and charge happen once."""
    block_run: BlockRun = lease.job  # type: ignore[assignment]
    try:
        lease.check()
        answer = outcome_of(block_run, lease, dependencies)
        lease.check()
    except JobCancelled:
        lease.finish(BlockRun.CANCELLED, reason="cancelled", error=ENDS["cancelled"])
    except (DurableError, OperationalError, InterfaceError):
        raise
    except Exception:  # the task's boundary: an unknown error is logged and ends the run
        logger.exception("block run failed", extra=block_run.log_context())
        lease.finish(BlockRun.FAILED, reason="internal_error", error=OUR_FAULT)
    else:
        lease.finish(BlockRun.COMPLETED, reason="done", answer=answer)


def outcome_of(block_run: BlockRun, lease: Lease, dependencies: EngineDependencies | None) -> dict[str, Any]:
    wanted = SingleRun(block_id=block_run.block_id, inputs=block_run.inputs, key=f"api:{block_run.client_id}")
    try:
        result = run_single_block(block_run.user, wanted, lease.stop, dependencies)
    except ParkedForReview as parked:
        asks = as_answer(SingleResult(outputs={}, error=ASKS), "review")
        return asks | {"review_id": str(parked.review_id)}
    except BadInputs as error:
        return {"refused": {"problems": error.problems}}
    except Refusal as error:
        return {"refused": refusal_of(error)}
    name = f"block-{hashlib.sha256(block_run.client_id.encode()).hexdigest()[:16]}"
    shown = show(result.outputs, WorkspaceKeeper(block_run.user), name=name)
    return as_answer(result, "failed" if result.error else "completed") | {"outputs": shown}


def as_answer(result: SingleResult, status: str) -> dict[str, Any]:
    return {
        "status": status,
        "outputs": result.outputs,
        "error": result.error or None,
        "cost": str(result.cost),
        "review_id": None,
    }


def refusal_of(error: Refusal) -> dict[str, Any]:
    """Return the error as JSON, for the web process to answer with."""
    return {
        "status": error.status,
        "code": error.code,
        "message": error.message,
        "hint": error.hint,
    }


# --- retention ----------------------------------------------------------------------------------


def forget_old_block_runs() -> int:
    """Delete a batch of runs that ended long ago; return how many."""
    before = timezone.now() - timedelta(seconds=limits.BLOCK_RUN_KEEP_SECONDS)
    old = BlockRun.objects.filter(status__in=BlockRun.TERMINAL, ended_at__lt=before).order_by("ended_at")
    ids = list(old.values_list("pk", flat=True)[: workspace_limits.PURGE_BATCH])
    return _delete(ids)


@in_transaction
def _delete(ids: list[uuid.UUID]) -> int:
    return BlockRun.objects.filter(pk__in=ids).delete()[0]
