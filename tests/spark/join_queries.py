"""Random queries that join, over views whose names begin with `{0}`: `{0}_facts`, `{0}_dims`, `{0}_none`, `{0}_named`."""

from random import Random

_FACTS = """SELECT CAST(id AS INT) AS id, if(id % 11 = 10, NULL, CAST(id % 10 AS INT)) AS k, CAST(id % 7 AS INT) AS j,
id * 2 AS amount FROM range(0, 120, 1, 1)"""
_DIMS = """SELECT if(id = 9, NULL, CAST(id % 8 AS INT)) AS k,
CASE id % 4 WHEN 0 THEN 'x' WHEN 3 THEN NULL ELSE concat('n', id % 4) END AS name,
CAST(id AS INT) AS zip, if(id % 3 = 0, NULL, CAST(id % 7 AS INT)) AS j FROM range(0, 12, 1, 1)"""

VIEWS = {"facts": (_FACTS, "k"), "dims": (_DIMS, "zip"), "none": (f"SELECT * FROM ({_DIMS}) WHERE zip < 0", None)}
"""The rows of views, and the columns by which tables of them are partitioned."""

_OF_FACTS = ("f.j = 3", "f.id % 2 = 0", "f.k > 2", "f.k IS NULL", "f.k IN (1, 2, 5)", "f.amount < 100", "f.k = 4")
_OF_DIMS = (
    "{d}.name = 'x'",
    "{d}.name IS NULL",
    "upper({d}.name) = 'X'",
    "{d}.zip < 4",
    "{d}.zip % 3 = 1",
    "{d}.name = 'none'",
    "{d}.name = 'x' OR {d}.zip = 3",
    "coalesce({d}.name, 'x') = 'x'",
)
_SUBQUERIES = (
    "f.{n} IN (SELECT s.{n} FROM {{0}}_dims s WHERE {c})",
    "f.{n} NOT IN (SELECT s.{n} FROM {{0}}_dims s WHERE {c})",
    "f.{n} NOT IN (SELECT s.{n} FROM {{0}}_dims s WHERE {c} AND s.{n} IS NOT NULL)",
    "EXISTS (SELECT 1 FROM {{0}}_dims s WHERE s.{n} = f.{n} AND {c})",
    "EXISTS (SELECT * FROM {{0}}_dims s WHERE {c} AND f.{n} = s.{n} AND s.zip < f.id)",
    "NOT EXISTS (SELECT 1 FROM {{0}}_dims s WHERE s.{n} = f.{n} AND {c})",
    "(f.{n}, f.j) IN (SELECT s.{n}, s.j FROM {{0}}_dims s WHERE {c})",
    "f.{n} = (SELECT max(s.{n}) FROM {{0}}_dims s WHERE {c})",
    "f.id > (SELECT max(s.zip) FROM {{0}}_dims s WHERE s.{n} = f.{n} AND {c})",
    "f.id = 3 OR f.{n} IN (SELECT s.{n} FROM {{0}}_dims s WHERE {c})",
    "f.{n} IN (SELECT s.{n} FROM {{0}}_dims s WHERE {c} AND EXISTS (SELECT 1 FROM {{0}}_dims t WHERE t.k = s.k))",
    "EXISTS (SELECT 1 FROM {{0}}_dims s WHERE s.{n} = f.{n} AND {c} AND s.zip IN (SELECT zip FROM {{0}}_dims WHERE j = 2))",
    "f.{n} IN (SELECT s.{n} FROM {{0}}_facts s JOIN {{0}}_dims t ON s.k = t.k WHERE t.name = 'x')",
    "f.{n} IN (SELECT max(s.{n}) FROM {{0}}_dims s WHERE {c} GROUP BY s.name)",
    "EXISTS (SELECT 1 FROM {{0}}_facts s WHERE s.{n} = f.{n} AND s.k > 5 AND s.id < f.id)",
)
_JOINS = ("JOIN", "JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "LEFT SEMI JOIN", "LEFT ANTI JOIN", ",", ",")


def join_query(random: Random) -> str:
    how, key = random.choice(_JOINS), random.choice("kkj")
    sides = ["{0}_facts f", "{0}_dims d"]
    if "SEMI" not in how and "ANTI" not in how:
        random.shuffle(sides)
        seen = ["f", "d"]
    else:
        seen = ["f"]
    terms = [f"f.{key} = d.{key}"]
    tables = f" {how} ".join(sides)
    if how != ",":
        on = [
            terms.pop(),
            *random.sample([_of("d", random), random.choice(_OF_FACTS), "f.id > d.zip"], random.randint(0, 1)),
        ]
        tables += f" ON {' AND '.join(f'({term})' for term in on)}"
    if "d" in seen and random.random() < 0.25:
        tables, terms, seen = f"{tables}, {{0}}_dims g", [*terms, "g.k = f.j"], [*seen, "g"]
    for _ in range(random.randint(0, 2)):
        table = random.choice(seen)
        terms.append(random.choice(_OF_FACTS) if table == "f" else _of(table, random))
    if random.random() < 0.5:
        terms.append(random.choice(_SUBQUERIES).format(n=random.choice("kj"), c=f"({_of('s', random)})"))
    where = f" WHERE {' AND '.join(f'({term})' for term in terms)}" if terms else ""
    query = f"SELECT {', '.join(f'{table}.*' for table in seen)} FROM {tables}{where}"
    return f"{query} UNION ALL {query}" if random.random() < 0.1 else query


def _of(table: str, random: Random) -> str:
    return random.choice(_OF_DIMS).format(d=table)
