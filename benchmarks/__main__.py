"""Every benchmark of a part, one after the other; `python -m benchmarks.<name>` runs one.

`make bench` is `benchmarks.peers`: the whole, beside other systems.
"""

import json

from benchmarks import (
    engine,
    grouping,
    judging,
    log,
    merge,
    replace,
    spark_planning,
    spark_read,
    spark_write,
    split,
    stores,
)

MODULES = (judging, grouping, log, split, engine, replace, merge, stores, spark_write, spark_read, spark_planning)

if __name__ == "__main__":
    for module in MODULES:
        print(f"== {module.__name__}: {(module.__doc__ or '').strip().splitlines()[0]}", flush=True)
        print(json.dumps(module.run(), indent=2), flush=True)
