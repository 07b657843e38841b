import json
import random
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from indextables.errors import DamagedSplitError, UnsupportedSplitError
from indextables.split import SplitReader, SplitSummary
from indextables.storage import open_store
from tests.split.samples import numbered, private_cache, query, reader, write

ROWS = numbered(40)
GOLDEN = Path(__file__).parent / "golden" / "version-1.split"


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, SplitSummary]:
    path = tmp_path_factory.mktemp("format") / "a.split"
    facts = write(ROWS, path, rows_per_group=20)
    return path.read_bytes(), facts


def everything(data: bytes, facts: SplitSummary | None, directory: Path, *, size: int | None = None) -> object:
    """All that a split tells: its rows, and what a search finds. Each read has a cache of its own."""
    (directory / "a.split").write_bytes(data)
    split = SplitReader(
        open_store(directory),
        "a.split",
        size=size or len(data),
        footer=facts.footer if facts else None,
        cache=private_cache(directory),
    )
    hits = split.search(query(split, "level:ERROR"))
    return pa.Table.from_batches(split.read()).to_pydict(), hits.to_pylist()


def expect_damage(
    data: bytes, facts: SplitSummary | None, directory: Path, *, size: int | None = None
) -> DamagedSplitError:
    with pytest.raises(DamagedSplitError, match=r"a\.split is damaged: .*; restore it") as caught:
        everything(data, facts, directory, size=size)
    assert caught.value.path == str(directory / "a.split")
    assert caught.value.reason in str(caught.value)
    return caught.value


def test_a_split_says_where_its_index_is(written: tuple[bytes, SplitSummary]) -> None:
    data, facts = written
    metadata = pq.read_metadata(pa.BufferReader(data)).metadata
    section = json.loads(metadata[b"indextables.index"])
    assert (section["version"], section["offset"], section["offset"] + section["length"]) == (1, *facts.index)
    assert section["fields"] == {
        "n": {"type": "long", "tokenizer": None},
        "level": {"type": "string", "tokenizer": None},
        "message": {"type": "text", "tokenizer": "default"},
        "at": {"type": "timestamp", "tokenizer": None},
    }
    for file in section["files"]:
        start = section["offset"] + file["offset"]
        assert zlib.crc32(data[start : start + file["length"]]) == file["crc32"]
    assert "meta.json" in [file["name"] for file in section["files"]]


@pytest.mark.parametrize("part", ["everything but the trailer", "half", "the footer", "the magic", "all of it"])
@pytest.mark.parametrize("size_known", [True, False])
def test_a_split_that_was_cut(
    written: tuple[bytes, SplitSummary],
    tmp_path: Path,
    part: str,
    size_known: bool,  # noqa: FBT001 - a parameter of cases
) -> None:
    data, facts = written
    kept = {"everything but the trailer": -8, "half": len(data) // 2, "the footer": facts.footer[0], "the magic": -4}
    cut = data[: kept.get(part, 1)]
    expect_damage(cut, facts if size_known else None, tmp_path, size=len(data) if size_known else None)


def test_every_flipped_byte_is_noticed_or_harmless(written: tuple[bytes, SplitSummary], tmp_path: Path) -> None:
    data, facts = written
    expected, chance = everything(data, facts, tmp_path), random.Random(11)
    footer, index, rows = range(*facts.footer), range(*facts.index), range(facts.index[0])
    places = [*chance.sample(footer, 100), *chance.sample(index, 60), *chance.sample(rows, 200)]
    unnoticed = []
    for place in places:
        changed = bytearray(data)
        changed[place] ^= 1 << chance.randrange(8)
        try:
            found = everything(bytes(changed), facts, tmp_path)
        except DamagedSplitError:
            continue
        assert found == expected, f"byte {place} was flipped, and the rows are other ones"
        unnoticed.append(place)
    assert all(place < facts.index[0] for place in unnoticed)


def test_the_index_is_not_needed_to_read_rows(written: tuple[bytes, SplitSummary], tmp_path: Path) -> None:
    data, facts = written
    start, end = facts.index
    (tmp_path / "a.split").write_bytes(data[:start] + bytes(end - start) + data[end:])
    assert pa.Table.from_batches(reader(tmp_path / "a.split", facts).read()).equals(ROWS)


def test_a_parquet_file_is_no_split(tmp_path: Path) -> None:
    pq.write_table(ROWS, tmp_path / "plain.parquet")
    error = expect_damage((tmp_path / "plain.parquet").read_bytes(), None, tmp_path)
    assert "it has no indextables.index in its footer" in error.reason


def test_a_split_at_another_place_than_the_log_says(written: tuple[bytes, SplitSummary], tmp_path: Path) -> None:
    data, facts = written
    (tmp_path / "a.split").write_bytes(data)
    split = SplitReader(
        open_store(tmp_path),
        "a.split",
        size=len(data),
        footer=(facts.footer[0] + 1, facts.footer[1]),
        cache=private_cache(tmp_path),
    )
    assert split.num_rows == 40  # the trailer says where the footer is; the log only spares a request


LIES: dict[str, tuple[Callable[[dict[str, Any]], object], str]] = {
    "a name that leaves the directory": (lambda s: rename(s, "../evil"), "would leave the directory"),
    "an absolute name": (lambda s: rename(s, "/etc/passwd"), "would leave the directory"),
    "a hidden name": (lambda s: rename(s, ".bashrc"), "would leave the directory"),
    "a name of a directory": (lambda s: rename(s, "a/b"), "would leave the directory"),
    "an empty name": (lambda s: rename(s, ""), "would leave the directory"),
    "two of a name": (lambda s: rename(s, s["files"][1]["name"]), "two files of the same name"),
    "a file before the section": (lambda s: s["files"][0].update(offset=-1), "outside of the index section"),
    "a file after the section": (lambda s: s["files"][0].update(length=2**40), "outside of the index section"),
    "a negative length": (lambda s: s["files"][0].update(length=-1), "outside of the index section"),
    "a negative size": (lambda s: s["files"][0].update(size=-1), "outside of the index section"),
    "another size": (lambda s: [file.update(size=file["size"] + 1) for file in s["files"]], "cannot be unpacked"),
    "an unknown codec": (lambda s: s["files"][0].update(codec="lzw"), "packed by 'lzw'"),
    "another checksum": (lambda s: s["files"][0].update(crc32=1), "does not have the checksum"),
    "a section in the row groups": (lambda s: s.update(offset=4), "a column would be outside"),
    "a section beyond the footer": (lambda s: s.update(offset=2**40), "index section would be outside"),
    "a section before the file": (lambda s: s.update(offset=-4), "index section would be outside"),
    "an offset that is no number": (lambda s: s.update(offset="four"), "its footer cannot be read"),
    "no files": (lambda s: s.update(files=[]), "cannot be opened"),
    "no fields": (lambda s: s.pop("fields"), "its footer cannot be read"),
}


def rename(section: dict[str, Any], name: str) -> None:
    section["files"][0]["name"] = name


@pytest.mark.parametrize("lie", LIES)
def test_a_footer_that_lies(written: tuple[bytes, SplitSummary], tmp_path: Path, lie: str) -> None:
    change, reason = LIES[lie]
    error = expect_damage(with_section(written[0], change), None, tmp_path)
    assert reason in error.reason


def test_a_newer_split(written: tuple[bytes, SplitSummary], tmp_path: Path) -> None:
    newer = with_section(written[0], lambda section: section.update(version=2, fields="of another kind"))
    with pytest.raises(UnsupportedSplitError, match="its format is 2, this release reads up to 1; upgrade") as caught:
        everything(newer, None, tmp_path)
    assert (caught.value.required, caught.value.supported) == (2, 1)


def with_section(data: bytes, change: Callable[[dict[str, Any]], object]) -> bytes:
    """The same split, whose footer says something else of the index and has the checksum of that."""
    length = int.from_bytes(data[-8:-4], "little")
    metadata = pq.read_metadata(pa.BufferReader(data)).metadata
    said = metadata[b"indextables.index"]
    section = json.loads(said)
    change(section)
    section["footerCrc32"] = "00000000"
    says = json.dumps(section, separators=(",", ":")).encode()
    says += b" " * (len(said) - len(says))
    footer = data[-8 - length : -8].replace(varint(len(said)) + said, varint(len(says)) + says)
    whole = footer + len(footer).to_bytes(4, "little") + b"PAR1"
    checksum = f"{zlib.crc32(whole):08x}".encode()
    sealed = whole.replace(b'"footerCrc32":"00000000"', b'"footerCrc32":"' + checksum + b'"')
    return data[: -8 - length] + sealed


def varint(number: int) -> bytes:
    """A length as Thrift writes it: seven bits a byte, the lowest first."""
    low, rest = number & 0x7F, number >> 7
    return bytes([low | 0x80]) + varint(rest) if rest else bytes([low])


def test_splits_of_version_1_stay_readable(tmp_path: Path) -> None:
    found = everything(GOLDEN.read_bytes(), None, tmp_path)
    assert found == (ROWS.to_pydict(), [3, 13, 23, 33])
