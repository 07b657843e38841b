"""What of Spark's internals is there: `enable` looks once per JVM, and what is missing switches off what needs it.

A capability is a row of `REQUIREMENTS`: the classes and constructors that it needs, and what it costs to go without it. Call
sites ask `capabilities(spark)`; without a capability, the query runs through Spark's public data source API.
"""

import logging
import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from threading import Lock
from typing import Any

from cachetools import LRUCache, cached
from py4j.protocol import Py4JError

from indextables.spark.catalyst.java import Java, jvm_of
from indextables.spark.versions import CURRENT

_FOUND: LRUCache[Any, Any] = LRUCache(2)
_LOCK = Lock()
logger = logging.getLogger(__name__)
_SQL = "org.apache.spark.sql."
_CATALYST = f"{_SQL}catalyst."
_LOGICAL = f"{_CATALYST}plans.logical."
_EXPRESSIONS = f"{_CATALYST}expressions."
_OPTIMIZER = f"{_CATALYST}optimizer."
_SOURCES = f"{_SQL}execution.datasources."


class Capability(Enum):
    """What needs more than Spark's public API."""

    TABLE_RELATIONS = "relations of tables"
    PLANNED_SCANS = "planning on the driver"
    PARQUET_SCANS = "scans by Spark's Parquet reader"
    SPLIT_PLACEMENT = "placement of searches"
    LOCAL_RELATIONS = "local relations"
    SEARCH_COLUMNS = "searches in DataFrames and SQL"
    CATALOG_TABLES = "tables by name"
    SQL_PARAMETERS = "parameters of spark.sql"
    INSERT_ANALYSIS = "INSERT"
    INPUT_ORDER = "the order of rows that are written"
    INPUT_COST = "the cost of counting rows that are written"


@dataclass(frozen=True, slots=True)
class Needed:
    """A class, and how many parameters its constructor has, where it is called with all of them."""

    name: str
    parameters: int | None = None

    def __str__(self) -> str:
        return self.name if self.parameters is None else f"{self.name} with {self.parameters} constructor parameters"


@dataclass(frozen=True, slots=True)
class Requirement:
    cost: str
    classes: tuple[Needed, ...]


_RELATIONS = (
    Needed(f"{_SOURCES}v2.DataSourceV2Relation", 6),
    Needed(f"{_SOURCES}v2.python.PythonTable", 3),
    Needed(f"{_SOURCES}v2.python.PythonDataSourceV2"),
    Needed(f"{_SQL}util.CaseInsensitiveStringMap"),
    Needed(f"{_SQL}classic.Dataset"),
)
_REWRITING = (
    Needed(f"{_CATALYST}trees.TreePattern"),
    Needed(f"{_LOGICAL}Project"),
    Needed(f"{_OPTIMIZER}InlineCTE", CURRENT.inline_cte_flags),
)

REQUIREMENTS: Mapping[Capability, Requirement] = {
    Capability.TABLE_RELATIONS: Requirement(
        "Spark starts a Python process for each frame of a table, and queries are not planned on the driver", _RELATIONS
    ),
    Capability.PLANNED_SCANS: Requirement(
        "queries read all columns of a table through the data source, which Spark plans in a Python process",
        (
            *_RELATIONS,
            *_REWRITING,
            Needed(f"{_LOGICAL}MapInArrow", 5),
            Needed(f"{_EXPRESSIONS}Alias", 6),
            Needed(f"{_EXPRESSIONS}Literal"),
            Needed(f"{_EXPRESSIONS}And", 2),
            Needed(f"{_LOGICAL}Filter", 2),
            Needed("org.apache.spark.util.SizeEstimator"),
            *(
                Needed(f"{_OPTIMIZER}{rule}")
                for rule in (
                    "ComputeCurrentTime",
                    "ReplaceExpressions",
                    "RewriteWithExpression",
                    "ConstantFolding",
                    "SimplifyCasts",
                )
            ),
        ),
    ),
    Capability.PARQUET_SCANS: Requirement(
        "full scans are slower, because Python processes read the splits",
        (
            Needed(f"{_SQL}execution.streaming.runtime.MetadataLogFileIndex", 4),
            Needed(f"{_SOURCES}HadoopFsRelation", 7),
            Needed(f"{_SOURCES}LogicalRelation", 5),
            Needed(f"{_SOURCES}parquet.ParquetFileFormat"),
            Needed(f"{_CATALYST}types.DataTypeUtils"),
        ),
    ),
    Capability.SPLIT_PLACEMENT: Requirement(
        "a search may run on a host that has not cached the index of a split, and download it there too",
        (Needed("org.apache.spark.rdd.ParallelCollectionRDD", 5),),
    ),
    Capability.LOCAL_RELATIONS: Requirement(
        "rows that the driver has pass through a projection", (Needed(f"{_LOGICAL}LocalRelation", 4),)
    ),
    Capability.SEARCH_COLUMNS: Requirement(
        "searches do not use the index, except by the options `where` and `query` of a read",
        (
            *_RELATIONS,
            *_REWRITING,
            Needed(f"{_EXPRESSIONS}SubqueryExpression"),
            Needed(f"{_EXPRESSIONS}Coalesce"),
            Needed(f"{_CATALYST}types.DataTypeUtils"),
        ),
    ),
    Capability.CATALOG_TABLES: Requirement(
        "tables cannot be created or used by name; use their paths",
        (
            *_RELATIONS,
            Needed(f"{_CATALYST}catalog.SessionCatalog"),
            Needed(f"{_CATALYST}analysis.UnresolvedRelation"),
            Needed(f"{_CATALYST}catalog.CatalogUtils"),
        ),
    ),
    Capability.SQL_PARAMETERS: Requirement(
        "statements with parameters are run by Spark alone, which cannot write to tables by name",
        (
            Needed(f"{_CATALYST}parser.ParameterHandler"),
            Needed(f"{_SQL}classic.SparkSession"),
        ),
    ),
    Capability.INSERT_ANALYSIS: Requirement(
        "INSERT into tables is refused; use df.write.format('indextables')",
        (
            Needed(f"{_SQL}execution.CommandExecutionMode"),
            Needed(f"{_LOGICAL}InsertIntoStatement"),
            Needed(f"{_LOGICAL}AppendData"),
        ),
    ),
    Capability.INPUT_ORDER: Requirement(
        "an optimized write spreads the rows of a large partition by their hash",
        (Needed("org.apache.spark.rdd.DeterministicLevel"), Needed(f"{_SQL}execution.LogicalRDD")),
    ),
    Capability.INPUT_COST: Requirement(
        "the input of an optimized write is computed twice, unless optimizeWrite.persistInput is `always`",
        tuple(Needed(f"{_SQL}execution.{name}") for name in ("SparkPlan", "FileSourceScanExec", "RDDScanExec")),
    ),
}


def capabilities(spark: Any) -> frozenset[Capability]:
    """What this JVM has; what it lacks is logged the first time."""
    return _probed(jvm_of(spark), spark)


def forget() -> None:
    """Lets the next call look again."""
    with _LOCK:
        _FOUND.clear()


@cached(_FOUND, key=lambda jvm, _: jvm, lock=_LOCK)
def _probed(jvm: Any, spark: Any) -> frozenset[Capability]:
    loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    classes = {needed for requirement in REQUIREMENTS.values() for needed in requirement.classes}
    missing = {needed for needed in classes if not lookup(jvm, loader, needed)}
    for needed in missing:
        lost = [capability for capability, requirement in REQUIREMENTS.items() if needed in requirement.classes]
        names = ", ".join(capability.value for capability in lost)
        costs = "; ".join(REQUIREMENTS[capability].cost for capability in lost)
        logger.warning("switched off: %s. Spark %s has no %s: %s", names, spark.version, needed, costs)
    return frozenset(
        capability for capability, requirement in REQUIREMENTS.items() if missing.isdisjoint(requirement.classes)
    )


def lookup(jvm: Any, loader: Java, needed: Needed) -> bool:
    """Whether the JVM has a class, which is not initialized for it: one call, and two more for its constructors."""
    try:
        found = jvm.java.lang.Class.forName(needed.name, False, loader)
        if needed.parameters is None:
            return True
        constructors = str(jvm.scala.runtime.ScalaRunTime.stringOf(found.getConstructors()))
    except Py4JError:
        return False
    return needed.parameters in map(_count, re.findall(r"\(([^)]*)\)", constructors.removeprefix("Array(")))


def _count(parameters: str) -> int:
    """How many there are in the text of a signature.

    >>> _count("int,java.lang.String"), _count("")
    (2, 0)
    """
    return len(parameters.split(",")) if parameters else 0
