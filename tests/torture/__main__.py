"""`make torture`: the long runs. Every line that is printed has been checked; a failure stops it with a traceback."""

import tempfile
import time
from pathlib import Path

from tests.fuzz.__main__ import fuzz
from tests.simulation.catalog import large, pairs, small
from tests.simulation.runs import explore_all, run_seeds
from tests.stores.servers import azure_server, missing, s3_server
from tests.torture.crash import kill_at_any_moment, kill_at_every_step
from tests.torture.damage import sweep
from tests.torture.merge import merge_beside_writers
from tests.torture.race import append_from_many_processes, mix_operations
from tests.torture.rewrite import mix_writes
from tests.torture.row_changes import change_rows
from tests.torture.stores import append_from_processes, write_through_faults


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="indextables-torture-") as name:
        directory, start = Path(name), time.monotonic()
        explored = explore_all([*small().values(), *pairs()], limit=3000)
        print(f"every schedule of small scenarios and of pairs of operations, {explored}: serial")
        print(f"every schedule of larger scenarios, {explore_all(large(), limit=1500)}: serial")
        print(f"random schedules with faults, {run_seeds(range(1000))}: serial")
        versions = append_from_many_processes(directory / "appends", workers=16, appends=10)
        print(f"16 processes x 10 appends: {versions} contiguous versions, each with one commitInfo, no split lost")
        done = mix_operations(directory / "mixed", workers=8, operations=15)
        print(f"8 processes x 15 operations {done}: every version equals the serial execution")
        for shared in (False, True):
            (place := directory / f"written-{shared}").mkdir()
            done = mix_writes(place, workers=8, operations=20, shared=shared)
            print(f"8 processes x 20 writes, {'shared splits' if shared else 'splits of their own'}, {done}: serial")
        done = change_rows(str(directory / "rows"), workers=8, operations=20)
        print(f"8 processes x 20 changes of rows {done}: every version equals the serial execution")
        print(
            f"a merge beside 4 writers: {merge_beside_writers(directory / 'merged', writers=4, appends=40)}, each row once"
        )
        found = sweep(directory / "damaged", trials=5460)
        assert not found.failures, "\n".join(found.failures)
        print(f"damage to every kind of file, answers that were right and trials with refusals:\n{found}")
        print(f"hostile inputs, each of them refused well or understood: {fuzz(100_000)}")
        print(f"killed at every step: {kill_at_every_step(directory / 'steps', kills=400)}")
        print(f"killed at any moment: {kill_at_any_moment(directory / 'moments', kills=200)}")
        for kind, served in (("s3", s3_server), ("azure", azure_server)):
            if why := missing(kind):
                print(why)
                continue
            with served() as server:
                rows = append_from_processes(server, writers=8, appends=10)
                print(f"8 processes x 10 appends to a table in {kind}: {rows} rows, each of them once")
                done = change_rows(f"{server.root}/rows", workers=8, operations=20, options=server.options)
                print(f"8 processes x 20 changes of rows of a table in {kind} {done}: serial")
                print(f"faults between a table and {kind}: {write_through_faults(server, faults=400)}")
        print(f"all as it should be, {time.monotonic() - start:.0f} s")


if __name__ == "__main__":
    main()
