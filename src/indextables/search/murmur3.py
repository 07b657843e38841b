"""The murmur3 hash of one text, for queries: pyiceberg-core has it for whole columns, and takes 10 ms to load."""

_LOW = 0xFFFFFFFF


def murmur3(data: bytes) -> int:
    """The 32-bit hash for x86, with seed 0.

    >>> murmur3(b"iceberg"), murmur3(b"")
    (1210000089, 0)
    """
    state, whole = 0, len(data) // 4 * 4
    for start in range(0, whole, 4):
        state = (_rotated(state ^ _scrambled(data[start : start + 4]), 13) * 5 + 0xE6546B64) & _LOW
    return _mixed(state ^ _scrambled(data[whole:]) ^ len(data))


def _scrambled(block: bytes) -> int:
    return _rotated(int.from_bytes(block, "little") * 0xCC9E2D51 & _LOW, 15) * 0x1B873593 & _LOW


def _rotated(number: int, bits: int) -> int:
    return (number << bits | number >> (32 - bits)) & _LOW


def _mixed(number: int) -> int:
    number = (number ^ number >> 16) * 0x85EBCA6B & _LOW
    number = (number ^ number >> 13) * 0xC2B2AE35 & _LOW
    return number ^ number >> 16
