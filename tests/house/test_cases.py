"""A table of cases in one test: every failure has the name of its case; what is slow is marked."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT, TESTS

TABLES = """
import pytest
from cases import each

@each("text number", [("7", 7), ("x", 8), ("9", 1)], ids=["a digit", "a letter", "another digit"])
@each("sign", [1, -1])
def test_of_all_combinations(text, number, sign, tmp_path):
    assert tmp_path.exists() and int(text) * sign == number * sign

@each("value", [1, "two \\u6f22", len, 4.0])
@pytest.mark.parametrize("kind", [int, str])
def test_of_each_kind(value, kind):
    assert not isinstance(value, kind)

@pytest.mark.simulation
def test_drawn_by_lot(): pass
@pytest.mark.needs("valgrind")
def test_of_a_tool(): pass
def test_of_a_fixture(browser): pass
@pytest.mark.slow
def test_that_says_so(): pass
def test_quick(): pass
"""


def run(folder: Path, *words: str) -> str:
    (folder / "conftest.py").write_text((TESTS / "conftest.py").read_text())
    (folder / "cases.py").write_text((TESTS / "cases.py").read_text())
    (folder / "test_tables.py").write_text(TABLES)
    settings = ["-c", str(ROOT / "pyproject.toml"), "--rootdir", str(folder)]
    command = [sys.executable, "-m", "pytest", *settings, "-p", "no:cacheprovider", *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False).stdout


@pytest.mark.slow
def test_every_case_that_fails_is_named_and_those_after_it_are_run(tmp_path: Path) -> None:
    lines = run(tmp_path, "test_tables.py", "-k", "combinations or kind").splitlines()
    assert [line.split(" - ")[0] for line in lines if line.startswith("SUBFAILED")] == [
        "SUBFAILED[a letter, sign=1] test_tables.py::test_of_all_combinations",
        "SUBFAILED[a letter, sign=-1] test_tables.py::test_of_all_combinations",
        "SUBFAILED[another digit, sign=1] test_tables.py::test_of_all_combinations",
        "SUBFAILED[another digit, sign=-1] test_tables.py::test_of_all_combinations",
        "SUBFAILED[value=1] test_tables.py::test_of_each_kind[int]",
        r"SUBFAILED[value='two \u6f22'] test_tables.py::test_of_each_kind[str]",
    ]


@pytest.mark.slow
def test_what_starts_much_or_draws_by_lot_is_slow(tmp_path: Path) -> None:
    words = ("--collect-only", "-o", "addopts=-q --strict-markers")
    slow = run(tmp_path, *words, "-m", "slow", "test_tables.py")
    assert [line.partition("::")[2] for line in slow.splitlines() if "::" in line] == [
        "test_drawn_by_lot",
        "test_of_a_tool",
        "test_of_a_fixture",
        "test_that_says_so",
    ]
