"""What a run does thousands of times, made cheap: flushing files to disk, taking memory from the system, compiling Java.

None of it is what a test asks about. A third of the CPU time of writing a small split goes into memory that glibc gives back
after each split, and the tests write thousands of splits and flush ten thousand files. Half of the CPU time of Spark goes
into Java's optimizing compiler, whose work pays in a server that runs for hours.
"""

import ctypes
import os
import shutil
import sys

from tests.class_archive import java_flags

_MEMORY_DISK = "/dev/shm"
_ENOUGH = 2 * 1024**3  # a run of all tests needs a fifth of it

# The numbers that glibc's mallopt knows its settings by, and what the environment calls them.
_KEPT = {
    (-1, "MALLOC_TRIM_THRESHOLD_"): 128 * 1024**2,
    (-3, "MALLOC_MMAP_THRESHOLD_"): 32 * 1024**2,
    (-8, "MALLOC_ARENA_MAX"): 1,
}


def keep_bytecode() -> None:
    """Lets Python keep what it compiles, in this process and in those that it starts; containers often switch that off."""
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    sys.dont_write_bytecode = False


def keep_freed_memory() -> None:
    """Lets glibc keep memory for the next split, in this process and in those that it starts; see docs/coalescing.md."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    for (number, name), value in _KEPT.items():
        os.environ.setdefault(name, str(value))
        if mallopt:
            mallopt(number, value)


def compile_java_once() -> None:
    """Lets the JVMs of this run, and of the processes that it starts, compile quickly instead of well."""
    os.environ.setdefault("PYSPARK_SUBMIT_ARGS", f'--driver-java-options "{java_flags()}" pyspark-shell')


def place_for_files() -> str | None:
    """A disk in memory, if there is one with room."""
    if os.access(_MEMORY_DISK, os.W_OK) and shutil.disk_usage(_MEMORY_DISK).free > _ENOUGH:
        return _MEMORY_DISK
    return None
