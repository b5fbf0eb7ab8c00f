"""Tell an outside service that nobody waits for its work any more; the message may get lost."""

from __future__ import annotations

import logging
import threading

from django.db import connections

from tools import toolset
from tools.base import Handle
from tools.models import Operation

logger = logging.getLogger(__name__)


def tell_later(operation: Operation) -> None:
    """Tell the service of a cancelled operation on a thread of its own, so that nobody waits for it."""
    if operation.status != Operation.CANCELLED or operation.handle is None:
        return
    threading.Thread(target=tell, args=(operation,), name="abandon", daemon=True).start()


def tell(operation: Operation) -> None:
    try:
        tool = toolset.find(operation.tool_name, operation.user_id)
        if tool is not None and tool.abandon is not None:
            tool.abandon(Handle(data=operation.handle), operation.user_id)
    except Exception:  # a thread's boundary: the operation has ended whatever the service hears
        logger.exception("A service was not told that its work was cancelled", extra=operation.log_context())
    finally:
        connections.close_all()
