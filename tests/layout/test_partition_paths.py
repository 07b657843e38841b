import sys
import unicodedata

import pytest

from indextables.layout.partition_paths import directory, escape, unescape


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("2024-01-01 10:30:00", "2024-01-01%2010%3A30%3A00"),
        ("x=y", "x%3Dy"),
        ("/z", "%2Fz"),
        ("[#small]", "%5B%23small%5D"),
        ("a%2Fb", "a%252Fb"),
        ("\"'*:<>?\\{|^", "%22%27%2A%3A%3C%3E%3F%5C%7B%7C%5E"),
        ("\0\n\x1f\x7f", "%00%0A%1F%7F"),
        ("plain-_.~,;()}!$&+@ü日", "plain-_.~,;()}!$&+@ü日"),
        ("", ""),
    ],
)
def test_escape(text: str, escaped: str) -> None:
    assert escape(text) == escaped
    assert unescape(escaped) == text


@pytest.mark.parametrize("text", ["%", "a%", "a%2", "a%zz", "%%", "\ud7ff\ue000\U0010ffff"])
def test_unescape_is_the_inverse_of_escape(text: str) -> None:
    assert unescape(escape(text)) == text


@pytest.mark.parametrize("text", ["a%", "a%2", "a%zz", "%%"])
def test_what_is_no_escape_stays(text: str) -> None:
    assert unescape(text) == text


def test_every_code_point_survives() -> None:
    everything = "".join(chr(point) for point in range(sys.maxunicode + 1) if not 0xD800 <= point < 0xE000)
    assert unescape(escape(everything)) == everything


@pytest.mark.parametrize(
    ("names", "texts", "expected"),
    [
        ([], [], ""),
        (["date", "app"], ["2024-01-01", "[#small]"], "date=2024-01-01/app=%5B%23small%5D"),
        (["a"], [None], "a=__HIVE_DEFAULT_PARTITION__"),
        (["a"], [""], "a=__HIVE_DEFAULT_PARTITION__"),
        (["a=b/c"], ["1"], "a%3Db%2Fc=1"),
        ([".."], [".."], "..=.."),
    ],
)
def test_directory(names: list[str], texts: list[str | None], expected: str) -> None:
    assert directory(names, texts) == expected


def test_two_ways_to_write_a_character_are_two_partitions() -> None:
    nfc, nfd = unicodedata.normalize("NFC", "é"), unicodedata.normalize("NFD", "é")
    assert directory(["a"], [nfc]) != directory(["a"], [nfd])


@pytest.mark.parametrize("character", ["x", "é", "日", "😀", "/", "%"])
@pytest.mark.parametrize("offset", range(4))
def test_a_long_component_is_cut_between_characters_and_keeps_apart(character: str, offset: int) -> None:
    start = "x" * offset + character * 300
    one, other = directory(["a"], [start + "1"]), directory(["a"], [start + "2"])
    assert one != other
    assert one == directory(["a"], [start + "1"])
    assert 245 <= len(one.encode()) <= 255
    kept, _, digest = one.removeprefix("a=").rpartition("~")
    assert start.startswith(unescape(kept))
    assert len(digest) == 32


def test_a_component_of_255_bytes_is_left_alone() -> None:
    assert directory(["a"], ["x" * 253]) == "a=" + "x" * 253
    assert directory(["a"], ["x" * 254]).startswith("a=" + "x" * 220 + "~")


def test_a_long_column_name_is_cut_too() -> None:
    component = directory(["n" * 400], ["1"])
    assert len(component) == 255
    assert component != directory(["n" * 400], ["2"])
