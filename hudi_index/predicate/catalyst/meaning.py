"""What Spark made of an index expression: the resolved trees, and the session they were made in.

A text means different things under different settings. So an index keeps the tree that its values were
computed by, and answers a query only for an equal tree, under equal settings, by the same zone data.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hudi_index.predicate.values.times import SessionZone

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hudi_index.predicate.session import Session, Settings

__all__ = ["Meaning", "Node", "key_of", "opaque_parts", "zones_of"]

Node = dict[str, Any]
"""A node of a tree, in the form that `CatalystTree.java` describes."""


def key_of(node: Any) -> str:
    """The one text of a tree: equal for equal trees only."""
    return json.dumps(node, sort_keys=True, separators=(",", ":"))


def _parts(value: Any) -> Iterator[Node]:
    pending = [value]
    while pending:
        each = pending.pop()
        if isinstance(each, dict):
            yield each
            pending.extend(each.values())
        elif isinstance(each, list):
            pending.extend(each)


def zones_of(tree: Any) -> frozenset[str]:
    """The time zones that a tree's functions go by."""
    return frozenset(part["zone"] for part in _parts(tree) if "zone" in part)


def opaque_parts(tree: Any) -> list[str]:
    """The classes of what could not be told whole."""
    return [part["opaque"] for part in _parts(tree) if "opaque" in part]


@dataclass(frozen=True)
class Meaning:
    """An expression as Spark computed it."""

    trees: tuple[str, ...]
    """As the analyzer and as the optimizer leave it, in the form of `key_of`; each means the same."""
    settings: Settings
    zone_data: str
    spark: str

    @property
    def tree(self) -> Node:
        """As the analyzer leaves it."""
        found: Node = json.loads(self.trees[0])
        return found

    @property
    def digest(self) -> str:
        """Tells this meaning of a text from another."""
        return hashlib.sha256("\n".join(self.trees).encode()).hexdigest()[:16]

    def reason_against(self, session: Session) -> str | None:
        """Why a query of a session may mean something else by the same expression; None if it can't."""
        own, others = dict(self.settings), dict(session.settings)
        for name in sorted(own.keys() | others.keys()):
            if own.get(name) != others.get(name):
                mine, theirs = (each.get(name, "Spark's default") for each in (own, others))
                return f"its expression was computed with {name} = {mine}, the query runs with {theirs}"
        if session.spark is not None and _release(self.spark) != _release(session.spark):
            return f"its expression was computed by Spark {self.spark}, the query runs on {session.spark}"
        return self._reason_by_zone(session)

    def _reason_by_zone(self, session: Session) -> str | None:
        zones = zones_of(self.tree)
        if session.spark is None and zones - {session.time_zone}:
            (zone,) = sorted(zones)[:1]
            return f"its expression was computed in time zone {zone}, the query runs in {session.time_zone}"
        is_named = any(not SessionZone(zone).is_fixed for zone in zones)
        if is_named and self.zone_data != session.zone_data:
            return (
                f"its expression was computed by the time zone data {self.zone_data}, "
                f"the query goes by {session.zone_data or 'another version'}"
            )
        return None

    def as_dict(self) -> dict[str, Any]:
        """The JSON form."""
        return {
            "trees": [json.loads(tree) for tree in self.trees],
            "settings": dict(self.settings),
            "zone_data": self.zone_data,
            "spark": self.spark,
        }

    @classmethod
    def from_dict(cls, data: Any) -> Meaning:
        """The meaning that some JSON is. Raises ValueError if it is none."""
        if not isinstance(data, Mapping) or set(data) != {"trees", "settings", "zone_data", "spark"}:
            raise ValueError(f"{data!r} is no meaning of an expression")
        trees, settings = data["trees"], data["settings"]
        is_whole = isinstance(trees, list) and trees and all(isinstance(tree, dict) for tree in trees)
        texts = [*settings.items()] if isinstance(settings, dict) else [(None, None)]
        texts.append((data["zone_data"], data["spark"]))
        if not is_whole or not all(isinstance(text, str) for pair in texts for text in pair):
            raise ValueError("the meaning of its expression has a part of a wrong type")
        return cls(
            tuple(key_of(tree) for tree in trees),
            tuple(sorted(settings.items())),
            data["zone_data"],
            data["spark"],
        )


def _release(version: str) -> tuple[str, ...]:
    """Spark 3.5 of any patch level means the same."""
    return tuple(version.split(".")[:2])
