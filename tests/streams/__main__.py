"""`make streams`: long runs of streams. Every line has been checked; a failure stops it with a traceback."""

import argparse
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from tests.cluster.driver import Place
from tests.quick import place_for_files
from tests.stores.servers import s3_server
from tests.streams.chain import chain_tables
from tests.streams.driver_process import driver
from tests.streams.minutes import stream_for
from tests.streams.replays import replay_batches
from tests.streams.standing_queries import watch_table
from tests.streams.stream_driver import Orders, StreamJob
from tests.streams.stream_kills import kill_streams, pause_streams, planned


def kills(directory: Path, chosen: argparse.Namespace) -> None:
    """Drivers killed while they write, on local disk and S3."""
    with s3_server() as s3:
        for place in (Place("local", str(directory)), Place("s3", s3.root, s3.options)):
            if chosen.place not in (None, place.name):
                continue
            for number, (case, share) in enumerate(planned(chosen.kills)):
                figures = kill_streams(directory / f"{place.name}-{number}", place, case, kills=share, seed=number)
                say(f"kills, {place.name}, {case.name}: {figures}")


def pauses(directory: Path, chosen: argparse.Namespace) -> None:
    """Drivers that are paused, and wake up after another one has taken their place."""
    say(f"pauses: {pause_streams(directory / 'paused', pauses=max(1, chosen.kills // 4))}")


def chain(directory: Path, _: argparse.Namespace) -> None:
    """A stream from one table to another, restarted again and again."""
    for place, name in (("log", "from version 0"), ("snapshot", "from a snapshot")):
        figures = chain_tables(directory / place, restarts=6, from_snapshot=place == "snapshot")
        say(f"chain, {name}: {figures}")


def replays(directory: Path, _: argparse.Namespace) -> None:
    """Batches that run again after the history of the table is gone."""

    def run(jobs: Sequence[StreamJob]) -> None:
        with driver(Orders(jobs=tuple(jobs)), directory) as running:
            running.finish()

    say(f"replays: {replay_batches(directory, run)}")


def standing(directory: Path, _: argparse.Namespace) -> None:
    """A search over what a table gains, and the same rows found by Spark's filter."""
    for appends, rows, max_files in ((20, 50_000, 2), (200, 5_000, 20)):
        for figures in watch_table(directory / f"{appends}", appends=appends, rows=rows, max_files=max_files):
            say(f"standing query, {appends} appends of {rows} rows, {figures}")


def minutes(directory: Path, chosen: argparse.Namespace) -> None:
    """A batch every second."""
    figures = stream_for(directory / "plain", chosen.minutes)
    figures.show(Console(width=120))
    say(f"minutes: {figures}")


def say(text: str) -> None:
    print(text, flush=True)


SCENARIOS = {
    "kills": kills,
    "pauses": pauses,
    "chain": chain,
    "replays": replays,
    "standing": standing,
    "minutes": minutes,
}


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.streams", description=__doc__)
    parser.add_argument("scenario", nargs="?", choices=SCENARIOS, help="one of them; otherwise all")
    parser.add_argument("--kills", type=int, default=32, help="kills per store; a fourth of it are pauses")
    parser.add_argument("--place", choices=["local", "s3"], help="kills on one store only")
    parser.add_argument("--minutes", type=int, default=10, help="the length of the scenario `minutes`")
    chosen = parser.parse_args(arguments)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("terminated"))  # so that drivers end with it
    started = time.monotonic()
    place = Path(tempfile.mkdtemp(prefix="indextables-streams-", dir=place_for_files()))
    try:
        for scenario in [chosen.scenario] if chosen.scenario else SCENARIOS:
            (directory := place / scenario).mkdir()
            SCENARIOS[scenario](directory, chosen)
    except BaseException:
        say(f"tables, checkpoints and logs of drivers are kept in {place}")
        raise
    shutil.rmtree(place)
    say(f"all as it should be, {time.monotonic() - started:.0f} s")


if __name__ == "__main__":
    main(sys.argv[1:])
