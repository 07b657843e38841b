"""Calendar arithmetic on Arrow arrays: days since 1970-01-01 and year, month, day (proleptic Gregorian, UTC).

Arrow's own calendar kernels hold a year in 16 bits; a date reaches year 5,881,580 and a timestamp year 294,247. These
functions are exact for every date and every timestamp.

>>> days = days_from_date(pa.array([1969, 2024]), pa.array([12, 2]), pa.array([31, 29]))
>>> days.to_pylist()
[-1, 19782]
>>> [part.to_pylist() for part in date_from_days(days)]
[[1969, 2024], [12, 2], [31, 29]]

A date is written as ISO 8601 has it, with a sign where four digits are not enough for the year:

>>> text_from_days(pa.array([19_782, 2_932_897, -719_529])).to_pylist()
['2024-02-29', '+10000-01-01', '-0001-12-31']
"""

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from indextables.kernels import captured_number, join, where

Numbers = npt.NDArray[np.int64]
Nulls = npt.NDArray[np.bool_]

SECOND = 1_000_000
HOUR = 3600 * SECOND
DAY = 24 * HOUR

YEAR_PATTERN = "(?P<year>[+-]?[0-9]{4,10})"
DATE_PATTERN = YEAR_PATTERN + "-(?P<month>[0-9]{1,2})-(?P<day>[0-9]{1,2})"

# The algorithms count years from 1 March 0000, so that a leap day ends its year; 400 years are one era.
_DAYS_BEFORE_1970 = 719_468
_DAYS_OF_ERA = 146_097

# The days of the years 0000 to 9999, whose dates and timestamps Arrow itself writes and reads as ISO 8601 has them.
_FIRST_PLAIN, _LAST_PLAIN = -719_528, 2_932_896


def date_from_days(days: pa.Array) -> tuple[pa.Array, pa.Array, pa.Array]:
    """Year, month and day of month."""
    (shifted,), nulls = _numbers(days)
    era, day_of_era = np.divmod(shifted + _DAYS_BEFORE_1970, _DAYS_OF_ERA)
    leaps = day_of_era // 1460 - day_of_era // 36_524 + day_of_era // 146_096
    year_of_era = (day_of_era - leaps) // 365
    day_of_year = day_of_era - (year_of_era * 365 + year_of_era // 4 - year_of_era // 100)
    march_month = (day_of_year * 5 + 2) // 153
    day = day_of_year - (march_month * 153 + 2) // 5 + 1
    next_year = march_month >= 10  # noqa: PLR2004 - January, counted from March
    year, month = era * 400 + year_of_era + next_year, march_month + np.where(next_year, -9, 3)
    return pa.array(year, mask=nulls), pa.array(month, mask=nulls), pa.array(day, mask=nulls)


def days_from_date(year: pa.Array, month: pa.Array, day: pa.Array) -> pa.Array:
    """The days since 1970-01-01 of dates that exist; of others (month 13, 30 February), some other day."""
    (years, months, days), nulls = _numbers(year, month, day)
    early = months <= 2  # noqa: PLR2004 - January and February end the year before
    march_month = months + np.where(early, 9, -3)
    era, year_of_era = np.divmod(years - early, 400)
    day_of_year = (march_month * 153 + 2) // 5 + days - 1
    day_of_era = year_of_era * 365 + year_of_era // 4 - year_of_era // 100 + day_of_year
    return pa.array(era * _DAYS_OF_ERA + day_of_era - _DAYS_BEFORE_1970, mask=nulls)


def _numbers(*arrays: pa.Array) -> tuple[list[Numbers], Nulls]:
    """The values, with zero for null, and where any of them is null."""
    nulls = [array.is_null().to_numpy(zero_copy_only=False) for array in arrays]
    values = [array.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False) for array in arrays]
    return values, np.logical_or.reduce(nulls)


def days_from_month(month: pa.Array) -> pa.Array:
    """The first day of a month that is counted from January 1970.

    >>> days_from_month(pa.array([-1, 0, 1])).to_pylist()
    [-31, 0, 31]
    """
    (months,), nulls = _numbers(month)
    year, of_year = np.divmod(months, 12)
    return days_from_date(pa.array(year + 1970, mask=nulls), pa.array(of_year + 1), pa.array(np.ones_like(year)))


def month_from_days(days: pa.Array) -> pa.Array:
    """The month of a day, counted from January 1970.

    >>> month_from_days(pa.array([-1, 0, 31])).to_pylist()
    [-1, 0, 1]
    """
    year, month, _ = date_from_days(days)
    (years, months), nulls = _numbers(year, month)
    return pa.array((years - 1970) * 12 + months - 1, mask=nulls)


def text_from_year(year: pa.Array) -> pa.Array:
    """Four digits, or a sign and as many as it takes.

    >>> text_from_year(pa.array([33, 2024, 12024, -44])).to_pylist()
    ['0033', '2024', '+12024', '-0044']
    """
    sign = pc.case_when(pc.make_struct(pc.less(year, 0), pc.greater(year, 9999)), "-", "+", "")
    return join(sign, padded(pc.abs(year), 4))


def text_from_days(days: pa.Array) -> pa.Array:
    if are_plain(days):
        return days.cast(pa.int32()).view(pa.date32()).cast(pa.string())
    year, month, day = date_from_days(days)
    return join(text_from_year(year), "-", padded(month), "-", padded(day))


def are_plain(counts: pa.Array, *, per_day: int = 1) -> bool:
    """Whether all years have four digits and no sign; with these, Arrow's own text is the same, and sooner there.

    >>> are_plain(pa.array([-1, None])), are_plain(pa.array([0, 2_932_897])), are_plain(pa.array([DAY]), per_day=DAY)
    (True, False, True)
    """
    found = pc.min_max(counts)
    lowest, highest = found["min"].as_py(), found["max"].as_py()
    return lowest is None or (_FIRST_PLAIN * per_day <= lowest and highest < (_LAST_PLAIN + 1) * per_day)


def days_from_captures(captures: pa.StructArray) -> pa.Array:
    """Days since 1970-01-01 of the groups of `DATE_PATTERN`; null where there is no such date.

    >>> from indextables.kernels import extract
    >>> days_from_captures(extract(pa.array(["2024-02-29", "2023-02-29"]), DATE_PATTERN)).to_pylist()
    [19782, None]
    """
    date = captured_number(captures, "year"), captured_number(captures, "month"), captured_number(captures, "day")
    days = days_from_date(*date)
    same_year, same_month, same_day = map(pc.equal, date_from_days(days), date)
    return where(pc.and_(same_year, pc.and_(same_month, same_day)), days)


def padded(array: pa.Array, width: int = 2) -> pa.Array:
    """The text of numbers that are not negative, with leading zeros.

    >>> padded(pa.array([7, 12])).to_pylist()
    ['07', '12']
    """
    return pc.utf8_lpad(array.cast(pa.string()), width, "0")
