"""Random damage to the files of a table's indexes."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from hypothesis import strategies as st

KINDS = (
    "delete",
    "truncate",
    "flip",
    "flip",
    "garbage",
    "empty",
    "swap",
    "swap",
    "overwrite",
    "duplicate",
    "duplicate later",
    "stray file",
    "stray folder",
    "delete folder",
    "folder for a file",
    "file for a folder",
)


@dataclass(frozen=True)
class Damage:
    """One thing that goes wrong; fractions choose among what is there."""

    kind: str
    one: float
    other: float
    place: float
    bits: int

    def apply(self, folder: Path) -> str:  # noqa: C901 - a list of what may happen
        """Do it to a folder of indexes; returns what was done."""
        files = sorted(
            file
            for file in folder.rglob("*")
            if file.is_file() and "damaged" not in file.relative_to(folder).parts
        )
        folders = sorted({file.parent for file in files})
        if not files:
            return "nothing is left"
        one, other = _chosen(files, self.one), _chosen(files, self.other)
        name = str(one.relative_to(folder))
        match self.kind:
            case "delete":
                one.unlink()
            case "truncate":
                one.write_bytes(one.read_bytes()[: int(self.place * one.stat().st_size)])
            case "flip":
                content = bytearray(one.read_bytes() or b"\0")
                content[int(self.place * len(content))] ^= self.bits
                one.write_bytes(content)
            case "garbage":
                one.write_bytes(bytes([self.bits]) * 100)
            case "empty":
                one.write_bytes(b"")
            case "swap":
                first, second = one.read_bytes(), other.read_bytes()
                one.write_bytes(second)
                other.write_bytes(first)
                name += f" with {other.relative_to(folder)}"
            case "overwrite":
                one.write_bytes(other.read_bytes())
                name += f" by {other.relative_to(folder)}"
            case "duplicate":
                place = other.parent / f"{one.stem}-{self.bits}{one.suffix}"
                shutil.copy(one, place)
                name += f" as {place.relative_to(folder)}"
            case "duplicate later":
                place = one.parent / _later(one.name)
                if not place.exists():
                    shutil.copy(one, place)
                name += f" as {place.name}"
            case "stray file":
                (one.parent / f"stray-{self.bits}.txt").write_bytes(b"whatever")
            case "stray folder":
                (one.parent / f"stray-{self.bits}" / "below").mkdir(parents=True, exist_ok=True)
                (one.parent / f"stray-{self.bits}" / "below" / "x.parquet").write_bytes(b"PAR1")
            case "delete folder":
                name = str(_chosen(folders, self.one).relative_to(folder))
                shutil.rmtree(_chosen(folders, self.one))
            case "folder for a file":
                one.unlink()
                (one / "inside").mkdir(parents=True)
            case "file for a folder":
                gone = _chosen(folders, self.one)
                name = str(gone.relative_to(folder))
                shutil.rmtree(gone)
                gone.write_bytes(b"no folder")
        return f"{self.kind} {name}"


def _chosen(items: list[Path], fraction: float) -> Path:
    return items[min(int(fraction * len(items)), len(items) - 1)]


def _later(name: str) -> str:
    """The name with its last number one higher: another instant, decision, generation or token."""
    digits = [place for place, sign in enumerate(name) if sign.isascii() and sign.isdigit()]
    if not digits:
        return f"{name}.copy"
    end = digits[-1] + 1
    start = end
    while start > 0 and name[start - 1].isdigit():
        start -= 1
    number = str(int(name[start:end]) + 1).zfill(end - start)
    return name[:start] + number + name[end:]


def damages() -> st.SearchStrategy[Damage]:
    fractions = st.floats(0, 1, exclude_max=True)
    return st.builds(
        Damage,
        kind=st.sampled_from(KINDS),
        one=fractions,
        other=fractions,
        place=fractions,
        bits=st.integers(1, 255),
    )
