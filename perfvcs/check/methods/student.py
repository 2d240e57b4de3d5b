"""The default rule without any allowance for outliers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from perfvcs.check.methods.log_median import LogMedian


@dataclass(frozen=True)
class Student(LogMedian):
    """``log-median`` with Student's mean of all pairs: for changes that hit few executions hard,
    which are not outliers then.

    Source: Student 1908; Kalibera, Jones 2013.
    """

    name: ClassVar[str] = "student"
    robust: ClassVar[bool] = False
