"""How the values of an index's expression follow from those of the one column it reads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hudi_index.predicate.catalyst.reader import CatalystReader
from hudi_index.predicate.expression import BoundTerm, Call
from hudi_index.predicate.semantics.functions import steps_of
from hudi_index.predicate.semantics.monotonic import NoStep, image_of, preimage_of
from hudi_index.predicate.values.condition import Constraint, Term
from hudi_index.predicate.values.domain import Domain

if TYPE_CHECKING:
    from hudi_index.predicate.catalyst.meaning import Node
    from hudi_index.predicate.semantics.monotonic import Step
    from hudi_index.predicate.session import Session
    from hudi_index.predicate.values.types import Schema

__all__ = ["Derivation", "derivation_of"]


@dataclass(frozen=True)
class Derivation:
    """An expression that calls functions on one column."""

    column: Term
    steps: tuple[Step, ...] | NoStep
    """Why the expression does not rise or fall with the column, if it does not."""

    @property
    def reason_against(self) -> str | None:
        """Why nothing follows from the column's values; None if something may."""
        return self.steps.reason if isinstance(self.steps, NoStep) else None

    def of_column(self, domain: Domain) -> Domain | None:
        """The values of the expression where the column is in a domain; None if they may be any."""
        found = Domain.all() if isinstance(self.steps, NoStep) else image_of(self.steps, domain)
        return None if found.is_all or found == Domain.not_null() else found

    def of_expression(self, domain: Domain) -> Constraint | None:
        """What holds for the column where the expression is in a domain; None if nothing is known."""
        if isinstance(self.steps, NoStep):
            return None
        found, _ = preimage_of(self.steps, domain)
        return None if found.is_all else Constraint(self.column, found)


def derivation_of(tree: Node, schema: Schema, session: Session) -> Derivation | None:
    """How an expression, computed in a session, follows from a column.

    Returns:
        None if it is no calls with constants on one column, as far as that is known.
    """
    term = CatalystReader(schema, session).operand(tree)
    if not isinstance(term, BoundTerm):
        return None
    calls = (*term.calls, *(Call.cast(sql_type) for sql_type in term.casts))
    return Derivation(term.term, steps_of(term.type, calls, session.zone))
