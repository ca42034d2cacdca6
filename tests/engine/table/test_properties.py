from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudi_index.table.properties import parse_properties


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a=b", {"a": "b"}),
        ("a = b ", {"a": "b "}),
        ("a:b", {"a": "b"}),
        ("a b=c", {"a": "b=c"}),
        ("# note\n! note\n\n  a=b", {"a": "b"}),
        (r"hoodie.table.partition.fields=region\:simple,day\:timestamp", None),
        ("a=one\\\n   two", {"a": "onetwo"}),
        ("a=back\\\\\nb=c", {"a": "back\\", "b": "c"}),
        (r"k\=ey=\u65e5\t.", {"k=ey": "日\t."}),
        ("a", {"a": ""}),
        ("a=b\r\nc=d\re=f", {"a": "b", "c": "d", "e": "f"}),
        ("a=1\na=2", {"a": "2"}),
    ],
)
def test_properties_are_read_as_java_does(text: str, expected: dict[str, str] | None) -> None:
    if expected is None:
        expected = {"hoodie.table.partition.fields": "region:simple,day:timestamp"}
    assert parse_properties(text.encode("iso-8859-1")) == expected


def as_java_writes(text: str, *, is_key: bool) -> str:
    controls = {"\t": "t", "\n": "n", "\r": "r", "\f": "f"}
    written = []
    for place, character in enumerate(text):
        if character in controls:
            written.append(f"\\{controls[character]}")
        elif character in "\\=:#!" or (character == " " and (is_key or place == 0)):
            written.append(f"\\{character}")
        elif not " " <= character <= "~":
            units = character.encode("utf-16-be")
            written += [f"\\u{units[i]:02x}{units[i + 1]:02x}" for i in range(0, len(units), 2)]
        else:
            written.append(character)
    return "".join(written)


BASIC = st.text(st.characters(max_codepoint=0xD7FF))


@given(st.dictionaries(BASIC.filter(bool), BASIC))
def test_what_java_wrote_is_read_back(properties: dict[str, str]) -> None:
    lines = [
        f"{as_java_writes(k, is_key=True)}={as_java_writes(v, is_key=False)}" for k, v in properties.items()
    ]
    assert parse_properties("\n".join(lines).encode("iso-8859-1")) == properties
