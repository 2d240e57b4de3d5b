"""Tables of cases in one test, where a test for each of them would say nothing more."""

from __future__ import annotations

import inspect
import reprlib
from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from itertools import product
from typing import Any

import pytest

Test = Callable[..., None]
Case = dict[str, Any]
SHORT = reprlib.Repr()
SHORT.maxstring = SHORT.maxother = 80


def each(
    names: str | Sequence[str],
    rows: Iterable[Any],
    ids: Iterable[str] | Callable[[Any], str] | None = None,
) -> Callable[[Test], Test]:
    """As ``pytest.mark.parametrize``, in one test: every row is a subtest, and all that fail are
    reported with their values.

    ``names``: of the arguments, as for parametrize. ``rows``: a value, or a tuple of values, for
    each subtest. ``ids``: what the rows are called, or what makes it of a value. Several ``each``
    make every combination. All rows share the fixtures of the test, so it must leave them as they
    are.

    >>> @each("text number", [("7", 7), ("12", 12)], ids=["a digit", "two"])
    ... def test_a_number_is_read(text, number):
    ...     assert int(text) == number
    """
    several = names.replace(",", " ").split() if isinstance(names, str) else list(names)
    table = _table(several, list(rows), ids)

    def decorate(function: Test) -> Test:
        known = inspect.signature(function).parameters
        assert set(table[0][1]) <= set(known), f"{function.__name__} does not take {names}"
        check: Test = getattr(function, "check", function)
        inner = getattr(function, "table", [("", {})])
        combined = [
            (", ".join(filter(None, labels)), cases[0] | cases[1])
            for labels, cases in (zip(*pair, strict=True) for pair in product(table, inner))
        ]

        @wraps(function)
        def test(subtests: pytest.Subtests, **fixtures: Any) -> None:
            for label, case in combined:
                with subtests.test(label):
                    check(**case, **fixtures)

        left = [known[name] for name in known if name not in (*table[0][1], "subtests")]
        subtests = inspect.Parameter("subtests", inspect.Parameter.KEYWORD_ONLY)
        test.__signature__ = inspect.Signature([*left, subtests])  # type: ignore[attr-defined]
        test.table, test.check = combined, check  # type: ignore[attr-defined]
        return test

    return decorate


def _table(
    names: list[str], rows: list[Any], ids: Iterable[str] | Callable[[Any], str] | None
) -> list[tuple[str, Case]]:
    """What every row is called, and its arguments by name."""
    assert rows, f"no {', '.join(names)}"
    whole = [row if len(names) > 1 else (row,) for row in rows]
    cases = [dict(zip(names, row, strict=True)) for row in whole]
    if ids is None:
        labels = [
            ", ".join(f"{name}={_short(value)}" for name, value in case.items()) for case in cases
        ]
    elif callable(ids):
        labels = [", ".join(ids(value) for value in case.values()) for case in cases]
    else:
        labels = list(ids)
    return list(zip(labels, cases, strict=True))


def _short(value: Any) -> str:
    """A value on any terminal, in about a line."""
    if inspect.isfunction(value):
        return value.__name__
    return SHORT.repr(value).encode("ascii", "backslashreplace").decode()
