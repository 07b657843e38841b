"""The peak memory of this process."""

from pathlib import Path


def peak_memory() -> float:
    """Megabytes; getrusage would tell the peak of the process that started this one, if it was higher."""
    status = Path("/proc/self/status").read_text()
    return next(int(line.split()[1]) / 1024 for line in status.splitlines() if line.startswith("VmHWM"))
