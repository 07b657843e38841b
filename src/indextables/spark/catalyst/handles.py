"""Objects of the JVM that other packages hold and pass back, and never look into."""

from typing import NewType

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

LogicalPlan = NewType("LogicalPlan", object)
Expression = NewType("Expression", object)

SPARK_ERRORS = (Py4JError, PySparkException)
