"""What triggers have in common that look again and again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from airflow.triggers.base import BaseTrigger

__all__ = ["longer", "serialized"]

_LONGEST_PAUSE = 300.0


def serialized(trigger: BaseTrigger, *names: str) -> tuple[str, dict[str, Any]]:
    """A trigger's class and its arguments of these names, as Airflow stores them."""
    kind = type(trigger)
    return f"{kind.__module__}.{kind.__qualname__}", {name: getattr(trigger, name) for name in names}


def longer(pause: float) -> float:
    """The pause after a look that failed, by the one before: twice as long, up to five minutes."""
    return min(max(pause, 1.0) * 2, _LONGEST_PAUSE)
