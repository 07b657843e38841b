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
from indextables.search.queries import Term
from indextables.split import SplitOptions, SplitReader, SplitSummary
from indextables.split.exact_index import Kind
from indextables.storage import open_store
from tests.split.samples import numbered, private_cache, query, reader, write

ROWS = numbered(40)
LAYOUT = SplitOptions(row_group_rows=20, page_rows=8, exact={"level": Kind.DICTIONARY, "n": Kind.HASH})
GOLDEN = Path(__file__).parent / "golden" / "version-3.split"  # of ROWS, in this layout


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, SplitSummary]:
    path = tmp_path_factory.mktemp("format") / "a.split"
    facts = write(ROWS, path, options=LAYOUT)
    return path.read_bytes(), facts


def everything(data: bytes, facts: SplitSummary | None, directory: Path, *, size: int | None = None) -> object:
    """All that a split tells: its rows, its pages, and what each of its indexes finds. Each read has its own cache."""
    (directory / "a.split").write_bytes(data)
    split = SplitReader(
        open_store(directory),
        "a.split",
        size=size or len(data),
        footer=facts.footer if facts else None,
        cache=private_cache(directory),
    )
    hits = [split.search(query(split, text)).tolist() for text in ("level:ERROR", "n:17", "message:3")]
    taken = split.take(pa.array(TAKEN)).to_pydict()
    return pa.Table.from_batches(split.read()).to_pydict(), taken, hits


TAKEN = [3, 21, 38]
EVERYTHING = (
    ROWS.to_pydict(),
    ROWS.take(TAKEN).to_pydict(),
    [[3, 13, 23, 33], [17], [3, 10, 17, 24, 31, 38]],
)


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
    assert (section["version"], section["offset"], section["offset"] + section["length"]) == (3, *facts.index)
    assert section["fields"] == {
        "n": {"type": "long", "tokenizer": None},
        "level": {"type": "string", "tokenizer": None},
        "message": {"type": "text", "tokenizer": "default"},
        "at": {"type": "timestamp", "tokenizer": None},
    }
    for file in section["files"]:
        start = section["offset"] + file["offset"]
        assert zlib.crc32(data[start : start + file["length"]]) == file["crc32"]
    names = [file["name"] for file in section["files"]]
    assert {name: column["kind"] for name, column in section["exact"].items()} == {"level": "dictionary", "n": "hash"}
    assert "meta.json" in names
    assert {column["file"] for column in section["exact"].values()} < set(names)


def test_the_tail_begins_where_the_index_ends(written: tuple[bytes, SplitSummary]) -> None:
    data, facts = written
    assert facts.footer == (facts.index[1], len(data))
    metadata = pq.read_metadata(pa.BufferReader(data))
    chunks = [metadata.row_group(group).column(n) for group in range(2) for n in range(metadata.num_columns)]
    assert all(chunk.has_offset_index for chunk in chunks)
    assert [chunk.has_column_index for chunk in chunks] == [True, True, False, True] * 2  # no bounds of a text


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
    chance = random.Random(11)
    tail, index, rows = range(*facts.footer), range(*facts.index), range(facts.index[0])
    places = [*chance.sample(tail, 150), *chance.sample(index, 90), *chance.sample(rows, 200)]
    assert everything(data, facts, tmp_path) == EVERYTHING
    unnoticed = []
    for place in places:
        changed = bytearray(data)
        changed[place] ^= 1 << chance.randrange(8)
        try:
            found = everything(bytes(changed), facts, tmp_path)
        except DamagedSplitError:
            continue
        assert found == EVERYTHING, f"byte {place} was flipped, and the rows are other ones"
        unnoticed.append(place)
    assert all(place < facts.index[0] for place in unnoticed)


def test_the_index_is_not_needed_to_read_rows(written: tuple[bytes, SplitSummary], tmp_path: Path) -> None:
    data, facts = written
    start, end = facts.index
    (tmp_path / "a.split").write_bytes(data[:start] + bytes(end - start) + data[end:])
    assert pa.Table.from_batches(reader(tmp_path / "a.split", facts).read()).equals(ROWS)


@pytest.mark.parametrize(
    "text",
    [
        '{"version":3,"offset":4,"length":3,"files":[]}',
        '"footerCrc32":"00000000"',
        '"footerCrc32":"',
        "indextables.index",
        "PAR1",
    ],
)
def test_rows_and_names_may_look_like_a_footer(tmp_path: Path, text: str) -> None:
    """Bounds of values and the names of columns are in the footer, too."""
    rows = pa.table({text: [text, "a", "z"], "message": [text, "b", None]})
    path = tmp_path / "a.split"
    options = SplitOptions(exact={text: Kind.DICTIONARY})
    for facts in (write(rows, path, options=options), None):
        split = reader(path, facts)
        assert pa.Table.from_batches(split.read()).equals(rows)
        assert split.take(pa.array([0])).equals(rows.slice(0, 1))
        assert split.search(Term(text, text)).tolist() == [0]


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
    "a negative size": (lambda s: s["files"][0].update(size=-1), "a file of an impossible size"),
    "more bytes than there is memory": (lambda s: s["files"][0].update(size=2**62), "a file of an impossible size"),
    "another size": (lambda s: [file.update(size=file["size"] + 1) for file in s["files"]], "cannot be unpacked"),
    "an unknown codec": (lambda s: s["files"][0].update(codec="lzw"), "packed by 'lzw'"),
    "another checksum": (lambda s: s["files"][0].update(crc32=1), "does not have the checksum"),
    "a section in the row groups": (lambda s: s.update(offset=4), "a column would be outside"),
    "a section beyond the footer": (lambda s: s.update(offset=2**40), "index section would be outside"),
    "a section before the file": (lambda s: s.update(offset=0, length=3), "index section would be outside"),
    "a section at a negative offset": (lambda s: s.update(offset=-4), "has no indextables.index"),
    "an offset that is no number": (lambda s: s.update(offset="four"), "has no indextables.index"),
    "a column's index without a file": (lambda s: s["exact"]["n"].update(file="exact-9.arrow"), "lacks the file"),
    "a column's index that is another": (lambda s: s["exact"]["n"].update(file="meta.json"), "cannot be read"),
    "no files": (lambda s: s.update(files=[]), "lacks the file of a column"),
    "no files at all": (lambda s: s.update(files=[], exact={}), "its index"),
    "no fields": (lambda s: s.pop("fields"), "its footer cannot be read"),
}


def rename(section: dict[str, Any], name: str) -> None:
    section["files"][0]["name"] = name


@pytest.mark.parametrize("lie", LIES)
def test_a_footer_that_lies(written: tuple[bytes, SplitSummary], tmp_path: Path, lie: str) -> None:
    change, reason = LIES[lie]
    error = expect_damage(with_section(written[0], change), None, tmp_path)
    assert reason in error.reason


@pytest.mark.parametrize(
    ("version", "words"),
    [
        (4, "was written by a newer release: its format is 4, this release reads 3; upgrade"),
        (2, "was written by an older release: its format is 2, this release reads 3; write its rows again"),
    ],
)
def test_a_split_of_another_version(
    written: tuple[bytes, SplitSummary], tmp_path: Path, version: int, words: str
) -> None:
    other = with_section(written[0], lambda section: section.update(version=version, fields="of another kind"))
    with pytest.raises(UnsupportedSplitError, match=words) as caught:
        everything(other, None, tmp_path)
    assert (caught.value.required, caught.value.supported) == (version, 3)


def with_section(data: bytes, change: Callable[[dict[str, Any]], object]) -> bytes:
    """The same split, whose footer says something else of the index, and whose tail has the checksum of that."""
    start = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    metadata = pq.read_metadata(pa.BufferReader(data)).metadata
    said = metadata[b"indextables.index"]
    section = json.loads(said)
    end = section["offset"] + section["length"]
    change(section)
    section["footerCrc32"] = "00000000"
    says = json.dumps(section, separators=(",", ":")).encode()
    says += b" " * (len(said) - len(says))
    footer = data[start:-8].replace(varint(len(said)) + said, varint(len(says)) + says)
    whole = data[:start] + footer + len(footer).to_bytes(4, "little") + b"PAR1"
    if isinstance(section["offset"], int) and 0 <= section["offset"] + section["length"] <= start:
        end = section["offset"] + section["length"]  # where a reader believes that the tail begins
    checksum = f"{zlib.crc32(whole[end:]):08x}".encode()
    return whole.replace(b'"footerCrc32":"00000000"', b'"footerCrc32":"' + checksum + b'"')


def varint(number: int) -> bytes:
    """A length as Thrift writes it: seven bits a byte, the lowest first."""
    low, rest = number & 0x7F, number >> 7
    return bytes([low | 0x80]) + varint(rest) if rest else bytes([low])


def test_splits_of_version_3_stay_readable(tmp_path: Path) -> None:
    assert everything(GOLDEN.read_bytes(), None, tmp_path) == EVERYTHING
