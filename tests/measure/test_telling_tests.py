"""Of tests that take too long for a verdict, `perf init` proposes those that tell most for their
time.
"""

from __future__ import annotations

import pytest
from conftest import Project

from perfvcs.jobs.pythonoffers import PYTEST
from perfvcs.jobs.starter import Proposal
from perfvcs.measure.tellingtests import changes_by_file, changes_of_code, telling, telling_suite
from perfvcs.plan.expected import SHARE, Estimate, longest_execution
from perfvcs.plugins.collector import Observations
from perfvcs.statistics.multiplicity import PAIRS

TESTS = Proposal("tests", "python -m pytest tests", "tests", python=(".",), collector=PYTEST)
LONGEST = 10 / 3  # seconds of an execution


def chosen(
    once: float, changes: dict[str, int] | None = None, **spent: float
) -> tuple[str, str, float]:
    """Command, reason and seconds of a suite that takes so long when each of these tests runs
    once.
    """
    uids = [name.replace("__", "::") for name in spent]
    seen = Observations(uid=uids, values={"wall": list(spent.values())}, metrics={})
    found, seconds = telling(TESTS, seen, once, changes or {}, LONGEST)
    return found.cmd, found.found, seconds


@pytest.mark.parametrize("preparation", [0.0, 5.0, 20.0])
def test_a_verdict_on_what_is_proposed_takes_two_minutes(preparation: float) -> None:
    """With what comes before the executions, and counting after them."""
    longest = longest_execution(preparation)
    counting = 2 * PAIRS * longest * SHARE / (1 - SHARE)
    expected = Estimate.of_check(preparation, longest, counting=counting).expected
    assert expected == pytest.approx(120.0, abs=1.0)


def test_where_preparing_takes_long_something_is_measured_all_the_same() -> None:
    assert longest_execution(300.0) == longest_execution(60.0) > 1.0


def test_a_short_suite_is_proposed_whole() -> None:
    assert chosen(1.6, a__one=0.01, b__two=1.0) == (
        "python -m pytest tests",
        "tests",
        pytest.approx(1.6 + 0.05 + 1.1),
    )


def test_a_slow_start_is_no_reason_to_leave_out_tests() -> None:
    assert chosen(20.0, a__one=0.01, b__two=0.1)[:2] == ("python -m pytest tests", "tests")


def test_a_slow_start_leaves_no_room_for_as_long_a_suite() -> None:
    cmd, _, seconds = chosen(20.0, a__one=0.7, a__two=0.7, b__three=5.0)
    assert cmd == "python -m pytest a::one"
    assert seconds == pytest.approx(20.0 - 6.4 + 1.5)


def test_of_a_suite_that_takes_long_the_files_that_fit_are_proposed_dearest_first() -> None:
    """Each second of a test costs two: it is run again."""
    spent = {f"f{number}__one": 1.0 for number in range(6)} | {"small__one": 0.2}
    cmd, found, seconds = chosen(sum(spent.values()) + 0.5, **spent)
    assert cmd == "python -m pytest f0 small"
    assert "the 2 that take time and whose code changes most, 19 % of the time of all 7" in found
    assert seconds == pytest.approx(0.5 + 2.1 + 0.5)


def test_where_each_file_takes_long_tests_are_named() -> None:
    cmd, _, seconds = chosen(
        92.0, a__endless=90.0, **{"a__one[1]": 0.3, "a__one[2]": 0.3, "a__two": 0.4}
    )
    assert cmd == "python -m pytest a::one a::two"
    assert seconds < LONGEST


def test_one_endless_test_is_proposed_as_it_is() -> None:
    assert chosen(100.0, a__endless=90.0)[0] == "python -m pytest tests"


def test_tests_whose_code_changes_often_come_before_dearer_ones() -> None:
    both = {"a__one": 1.3, "b__one[1]": 1.0}
    assert chosen(2.3, {"b": 2}, **both)[0] == "python -m pytest b"
    assert chosen(2.3, {"b": 1}, **both)[0] == "python -m pytest a"


def test_the_code_of_tests_is_what_they_import(project: Project) -> None:
    project.write("tests/test_parse.py", "import os\n\nfrom csv_tool import parse, dump\n")
    project.write("tests/test_names.py", "    from csv_tool.names import tidy\n")
    project.write("tests/test_none.py", "import os\n")
    project.write("src/csv_tool/__init__.py", "")
    for name in ("parse", "names", "names", "names"):
        project.commit(**{f"src/csv_tool/{name}.py": str(len(project.git("log", "--all")))})
    tests = {f"tests/test_{name}.py" for name in ("parse", "names", "none")}
    counts = changes_of_code(_found(project), tests)
    assert counts["tests/test_none.py"] == 1
    assert counts["tests/test_names.py"] == 1 + 3
    assert counts["tests/test_parse.py"] == 1 + 5  # the package: with its __init__


def test_options_remain_where_only_some_tests_are_proposed() -> None:
    cmd = "python -m pytest --benchmark-disable tests --ignore=tests/b.py"
    seen = Observations(uid=["a::one", "b::two"], values={"wall": [90.0, 0.9]}, metrics={})
    tests = Proposal("tests", cmd, "tests", python=(".",), collector=PYTEST)
    found = telling(tests, seen, 91.0, {}, LONGEST)[0].cmd
    assert found == "python -m pytest --benchmark-disable --ignore=tests/b.py b"


@pytest.mark.parametrize(
    ("once", "cmd"),
    [
        (3.0, "python -m perfvcs_asv bench"),
        (4.5, "python -m perfvcs_asv bench a.Sort b.Read"),
        (60.0, "python -m perfvcs_asv bench b.Read.time_line"),
    ],
)
def test_a_suite_of_asv_is_cut_to_its_dearest_classes(once: float, cmd: str) -> None:
    spent = {
        "a.Sort.time_up (n=1)": 0.02,
        "a.Sort.time_up (n=2)": 0.1,
        "a.Sort.time_down": 0.1,
        "b.Read.time_all": 0.04,
        "b.Read.time_line": 0.001,
        "b.time_c": 0.1,
        "b.time_d": 0.1,
    }
    seen = Observations(uid=[*spent], values={"wall": [*spent.values()]}, metrics={})
    suite = Proposal("a suite", "python -m perfvcs_asv bench", "asv")
    chosen, seconds = telling_suite(suite, seen, once, LONGEST)
    assert chosen.cmd == cmd
    assert seconds <= LONGEST


def test_changes_are_counted_by_file(project: Project) -> None:
    project.commit(**{"a.py": "1", "two words.py": "1"})
    project.commit(**{"a.py": "2"})
    assert changes_by_file(_found(project)) == {"a.py": 2, "two words.py": 1}


def _found(project: Project):  # type: ignore[no-untyped-def]
    from perfvcs.git.project import Project as Found

    return Found.find(project.root)
