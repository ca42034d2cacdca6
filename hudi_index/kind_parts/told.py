"""What bitmaps say of file groups: the rows that have some tokens.

A question may find twenty tokens in each of thousands of file groups. So each token is judged once, not once
for each file group; file groups are compared as arrays of numbers; and bitmaps are read where all tokens are
there, until no row is left.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow.compute as pc
from pyroaring import BitMap

from hudi_index.kind_parts.values import CUT

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import numpy.typing as npt

    from hudi_index.kind_parts.ranges import PartDomain

    Numbers = npt.NDArray[np.int64]

__all__ = ["ToldBitmaps"]


class _Chosen(NamedTuple):
    """Some entries, in the order of their file groups."""

    groups: Numbers
    ordinals: Numbers
    """Of their bitmaps."""


@dataclass(frozen=True)
class ToldBitmaps:
    """Entries by token, those of a token in the order of their file groups."""

    tokens: dict[str, int]
    """The number of each token."""
    starts: Numbers
    """Where the entries of each token begin, and where the last ones end."""
    groups: Numbers
    """The file group of each entry, by the number that the caller has for it."""
    ordinals: Numbers
    """Of each entry, the place of its bitmap."""
    bitmaps: Any
    """Serialized, among them those that nobody asks for."""

    @classmethod
    def of(cls, tokens: Any, groups: Numbers, ordinals: Numbers, bitmaps: Any) -> ToldBitmaps:
        """Of entries in any order: token, file group and place of the bitmap of each."""
        encoded = tokens.dictionary_encode()
        numbers = encoded.indices.to_numpy(zero_copy_only=False)
        order = np.lexsort((groups, numbers))
        distinct = {token: number for number, token in enumerate(encoded.dictionary.to_pylist())}
        starts = np.searchsorted(numbers[order], np.arange(len(distinct) + 1))
        return cls(distinct, starts, groups[order], ordinals[order], bitmaps)

    def file_groups_with(self, token: str) -> list[int]:
        """The file groups that have a token."""
        found: list[int] = self._of_tokens([token]).groups.tolist()
        return found

    def rows_with(self, domains: Sequence[PartDomain]) -> Iterator[tuple[int, BitMap | None]]:
        """The file groups that have a token in each of some domains, and such rows; None where any may be."""
        judged = [self._of_domain(domain) for domain in domains if not domain.is_widened]
        # The shortest first: then the others often need not be read.
        judged.sort(key=lambda each: self._sizes[each.ordinals].sum())
        groups = np.unique(judged[0].groups if judged else self.groups)
        for each in judged[1:]:
            groups = groups[np.isin(groups, each.groups)]
        if len(judged) < len(domains):
            # A widened one can't judge a token; then all that was asked for counts as found.
            yield from dict.fromkeys(groups.tolist()).items()
            return
        pieces = [
            (
                each.ordinals.tolist(),
                np.searchsorted(each.groups, groups).tolist(),
                np.searchsorted(each.groups, groups, side="right").tolist(),
            )
            for each in judged
        ]
        for number, group in enumerate(groups.tolist()):
            yield (
                group,
                self._common_rows(ordinals[low[number] : high[number]] for ordinals, low, high in pieces),
            )

    @cached_property
    def _sizes(self) -> Numbers:
        sizes: Numbers = pc.fill_null(pc.binary_length(self.bitmaps), 0).to_numpy().astype(np.int64)
        return sizes

    def _of_domain(self, domain: PartDomain) -> _Chosen:
        if domain.has_only_points:
            return self._of_tokens(domain.members)
        return self._of_tokens([token for token in self.tokens if token != CUT and domain.holds(token)])

    def _of_tokens(self, tokens: Iterable[str]) -> _Chosen:
        numbers = [self.tokens[token] for token in tokens if token in self.tokens]
        pieces = [slice(self.starts[number], self.starts[number + 1]) for number in numbers]
        groups = np.concatenate([self.groups[:0], *(self.groups[each] for each in pieces)])
        ordinals = np.concatenate([self.ordinals[:0], *(self.ordinals[each] for each in pieces)])
        if len(pieces) > 1:
            order = np.argsort(groups, kind="stable")
            groups, ordinals = groups[order], ordinals[order]
        return _Chosen(groups, ordinals)

    def _common_rows(self, alternatives: Iterable[Sequence[int]]) -> BitMap | None:
        """The rows that, of each list of entries, one has; None if one of them can't be read."""
        common: BitMap | None = None
        for ordinals in alternatives:
            read = [
                rows
                for ordinal in ordinals
                if (rows := _deserialize(self.bitmaps[ordinal].as_py())) is not None
            ]
            if len(read) < len(ordinals):
                return None
            rows = BitMap.union(*read) if len(read) > 1 else read[0]
            common = rows if common is None else common & rows
            if not common:
                break
        return common


def _deserialize(data: bytes | None) -> BitMap | None:
    try:
        return BitMap.deserialize(data) if data else None
    except ValueError:
        return None
