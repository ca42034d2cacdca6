"""Warnings that say a thing once: an index that can't be used is met by every plan, and told of by one line.

What was told is remembered for this process, the newest keys only: a process that meets more of them than are
remembered tells some again, rather than grow.
"""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Hashable

__all__ = ["forget", "warn_once"]

_REMEMBERED = 1_000

_told: OrderedDict[tuple[str, Hashable], None] = OrderedDict()
_lock = threading.Lock()


def warn_once(logger: logging.Logger, key: Hashable, message: str, *args: object) -> bool:
    """Log a warning unless this logger has told of the same key already; returns whether it was logged.

    Args:
        logger: Who says it. Where it does not log warnings, nothing is remembered.
        key: What the warning is about, such as table, index and reason.
        message: What is wrong and the way out, in the form of `logging`.
        args: What fills the message.
    """
    if not logger.isEnabledFor(logging.WARNING):
        return False
    with _lock:
        is_known = (logger.name, key) in _told
        _told[logger.name, key] = None
        _told.move_to_end((logger.name, key))
        if len(_told) > _REMEMBERED:
            _told.popitem(last=False)
    if not is_known:
        # As if the caller had logged it: records name the place that is at fault.
        logger.warning(message, *args, stacklevel=2)
    return not is_known


def forget(logger: logging.Logger) -> None:
    """Tell everything of a logger anew, for a process that starts over."""
    with _lock:
        for each in [each for each in _told if each[0] == logger.name]:
            del _told[each]
