"""Search results with the words that were found."""

from uuid import uuid4

import pyarrow as pa

from indextables import IndexTable

LOGS = pa.schema({"ts": pa.int64(), "level": pa.string(), "message": pa.string()})


def test_highlights_are_html_around_the_words_found() -> None:
    table = IndexTable.create(f"memory://{uuid4().hex}/html", LOGS, fields={"message": "text"})
    table.append(
        [
            {"ts": 1, "level": "WARN", "message": "<script>disk</script> & co"},
            {"ts": 2, "level": "disk", "message": "no space"},
            {"ts": 3, "level": None, "message": "the disks, dusk"},
        ]
    )

    def highlights(query: str, **arguments: object) -> list[dict[str, str | None]]:
        return table.search(query, order_by="ts", highlight=True, **arguments)["_highlight"].to_pylist()

    script = "&lt;script&gt;<em>disk</em>&lt;/script&gt; &amp; co"
    assert highlights("disk OR level:disk") == [
        {"level": None, "message": script},
        {"level": "<em>disk</em>", "message": None},
    ]
    assert highlights("message:disk*", columns=["ts", "message"])[1] == {"message": "the <em>disks</em>, dusk"}
    assert highlights("message:disk~1")[1] == {"message": "the <em>disks</em>, <em>dusk</em>"}
    assert highlights("message:/d.sk/ NOT message:script")[0] == {"message": "the disks, <em>dusk</em>"}
    assert highlights("ts:3") == [None]
    assert table.search("disk", highlight=True).column_names == ["ts", "level", "message", "_score", "_highlight"]
