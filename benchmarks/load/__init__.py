"""Long and large runs: many versions, many splits, many columns, huge cells, and a table in steady use.

`python -m benchmarks.load <scenario>` prints figures over time, and fails where an invariant is broken: a row that is lost
or doubled, a wrong count, or growth that is not explained.
"""
