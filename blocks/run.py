"""Run one block: prepare inputs, run, check each output; every failure becomes a BlockError."""

from __future__ import annotations

from collections.abc import Mapping

import structlog

from blocks.base import ERROR_PIN, Block, BlockType, Emissions
from blocks.context import BlockContext
from blocks.errors import BlockCrashed, BlockError, BlockFailed, BlockParked, OutputError
from blocks.ports import PortError
from blocks.prepare import check_output, prepare
from blocks.schema import JSON, BlockInputs
from boundary.errors import BoundaryError
from durable import storable
from durable.errors import DurableError

log = structlog.get_logger(__name__)


def run_block(block: Block, values: Mapping[str, JSON], context: BlockContext) -> Emissions:
    """Prepare the inputs and yield the block's outputs; raise BlockError if it fails, BlockParked if it waits.

    Outputs before a failure remain valid. An emission on `error` is a failure with that message and ends the block.
    Closing the iterator stops the block at its last output.
    """
    inputs = prepare(block, values)
    return emit(block, inputs, context)


def emit(block: Block, inputs: BlockInputs, context: BlockContext) -> Emissions:
    """Run with inputs that are already prepared; see `run_block`."""
    emissions: Emissions = iter(())
    try:
        emissions = iter(block.run(inputs, context))
        while True:
            context.check()
            try:
                pin, value = next(emissions)
            except StopIteration:
                return
            if pin == ERROR_PIN and block.error_pin:
                raise BlockFailed(str(value))
            if block.type is BlockType.STANDARD or pin not in block.output_adapters:
                check_output(block, pin, value, inputs)
            yield pin, checked(block, pin, value)
    except (BlockError, BlockParked, DurableError):
        raise
    except (PortError, BoundaryError) as error:  # both carry a sentence for the user
        raise BlockFailed(str(error)) from error
    except Exception as error:
        # Blocks may come from extensions: whatever they raise ends the node, not the worker.
        log.exception("block crashed", block=block.name, node_execution=context.node_execution_id)
        raise BlockCrashed(f"{block.name} failed unexpectedly ({type(error).__name__}).") from error
    finally:
        close = getattr(emissions, "close", None)
        if close is not None:
            close()


def checked(block: Block, pin: str, value: JSON) -> JSON:
    """Return the value in a form that databases can store; raise OutputError if it is not JSON."""
    try:
        return storable.json_value(value)
    except ValueError as error:
        raise OutputError(
            f"{block.name} emitted a value on {pin!r} that cannot be represented as JSON: {error}."
        ) from None
