"""Running one block: prepare, run, check each output; every failure leaves as a BlockError."""

from __future__ import annotations

from collections.abc import Mapping

import structlog

from durable import storable
from durable.errors import DurableError
from executions.blocks.base import ERROR_PIN, Block, BlockType, Emissions
from executions.blocks.context import BlockContext
from executions.blocks.errors import BlockCrashed, BlockError, BlockFailed, BlockParked, OutputError
from executions.blocks.prepare import check_output, prepare
from executions.blocks.schema import JSON, BlockInputs
from executions.ports import PortError

log = structlog.get_logger(__name__)


def run_block(block: Block, values: Mapping[str, JSON], context: BlockContext) -> Emissions:
    """Emit what the block emits; raises BlockError when it fails, BlockParked when it waits.

    Outputs emitted before a failure stand. An emission on `error` is a failure with that text, so nothing that
    the block would emit after it is run. Closing the iterator stops the block at its last output.
    """
    inputs = prepare(block, values)
    return emit(block, inputs, context)


def emit(block: Block, inputs: BlockInputs, context: BlockContext) -> Emissions:
    """Run with inputs that are already prepared."""
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
    except PortError as error:
        raise BlockFailed(str(error)) from error
    except Exception as error:
        # The edge of code that anyone may add: whatever it raises ends the node, never the worker.
        log.exception("block crashed", block=block.name, node_execution=context.node_execution_id)
        raise BlockCrashed(f"{block.name} failed unexpectedly ({type(error).__name__}).") from error
    finally:
        close = getattr(emissions, "close", None)
        if close is not None:
            close()


def checked(block: Block, pin: str, value: JSON) -> JSON:
    """The value as every database takes it; raises OutputError for what has no JSON form."""
    try:
        return storable.json_value(value)
    except ValueError as error:
        raise OutputError(f"{block.name} emitted on {pin!r} what has no JSON form: {error}.") from None
