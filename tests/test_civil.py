from datetime import date, timedelta

import pyarrow as pa
import pytest

from indextables.civil import date_from_days, days_from_date, days_from_month, month_from_days

EPOCH = date(1970, 1, 1)
EVERY_17TH_DAY = [date(1, 1, 1) + timedelta(days=n) for n in range(0, 3_652_059, 17)]


def test_it_agrees_with_python_for_every_century() -> None:
    days = pa.array([(day - EPOCH).days for day in EVERY_17TH_DAY])
    year, month, day = date_from_days(days)
    assert year.to_pylist() == [day.year for day in EVERY_17TH_DAY]
    assert month.to_pylist() == [day.month for day in EVERY_17TH_DAY]
    assert day.to_pylist() == [day.day for day in EVERY_17TH_DAY]
    assert days_from_date(year, month, day).equals(days)


@pytest.mark.parametrize("day", [-(2**31), -719_529, -719_528, 0, 2**31 - 1])
def test_it_is_its_own_inverse_where_python_has_no_dates(day: int) -> None:
    assert days_from_date(*date_from_days(pa.array([day]))).to_pylist() == [day]


def test_months_are_counted_from_january_1970() -> None:
    months = pa.array([-23_628, -1, 0, 575, None], pa.int32())
    assert month_from_days(days_from_month(months)).to_pylist() == months.to_pylist()
    assert days_from_month(months).to_pylist() == [-719_162, -31, 0, 17_501, None]
