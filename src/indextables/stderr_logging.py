"""The environment variable INDEXTABLES_LOG: log lines on stderr, in processes where nobody configures logging.

Such processes are Spark's: the Python workers of executors, and those in which Spark plans and commits. What they print is
in Spark's logs.
"""

import logging
import os

VARIABLE = "INDEXTABLES_LOG"
_NAME = "indextables-stderr"
_FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"


def log_to_stderr() -> None:
    """Shows the lines of the package from the level of INDEXTABLES_LOG on; without the variable, nothing changes.

    Where the root logger has handlers, they get the lines, and none is shown twice.
    """
    level, logger = os.environ.get(VARIABLE, "").strip().upper(), logging.getLogger("indextables")
    if not level or any(handler.name == _NAME for handler in logger.handlers):
        return
    if level not in logging.getLevelNamesMapping():
        logger.warning("%s is %r, which is no level of logging; use DEBUG, INFO, WARNING or ERROR", VARIABLE, level)
        return
    handler = logging.StreamHandler()
    handler.set_name(_NAME)
    handler.setFormatter(logging.Formatter(_FORMAT))
    handler.addFilter(lambda _: not logging.getLogger().handlers)
    logger.addHandler(handler)
    logger.setLevel(level)
