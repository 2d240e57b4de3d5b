"""``perf check --bisect-codes``: what `git bisect run` makes of it."""

import sys

import pytest

from perfvcs.reports import check

PROGRAM = """
import json, os
with open(os.environ["PERFVCS_SAMPLES"], "a") as file:
    file.write('{{"metric": "cost", "better": "lower"}}\\n')
    file.write(json.dumps({{"uid": "task", "cost": {cost} + os.getpid() % 7 * 1e-4}}) + "\\n")
"""


@pytest.fixture
def commits(project):
    """Three commits; the second is slower by half, in the third the program fails."""
    project.configure(f'cmd = "{sys.executable} -S work.py"\nexecutions = 6')
    found = [
        project.commit(f"cost {cost}", **{"work.py": PROGRAM.format(cost=cost)})
        for cost in (1.0, 1.5)
    ]
    return [*found, project.commit("broken", **{"work.py": "import sys; sys.exit(1)\n"})]


def test_a_degradation_is_bad(commits, perf):
    perf("collect", *commits[:2], "-q")
    perf("check", *commits[:2], "--bisect-codes", code=1)


def test_what_is_not_settled_is_skipped(commits, perf):
    perf("collect", commits[0], commits[1], "-n", "1", "-q")
    perf("check", *commits[:2], "--bisect-codes", code=125)


def test_a_commit_that_cannot_be_measured_is_skipped(commits, perf):
    perf("check", "--measure", commits[0], commits[2], "--bisect-codes", "-n", "2", code=125)


def test_a_commit_with_nothing_to_compare_is_skipped(commits, perf):
    perf("collect", commits[0], "-n", "1", "-q")
    perf("check", *commits[:2], "--bisect-codes", code=125)


@pytest.mark.parametrize(
    "words", [["nothing"], ["--gate", "HEAD", "HEAD~1", "HEAD~2"], ["HEAD", "--measure", "--wrong"]]
)
def test_a_wrong_request_ends_the_bisection(commits, perf, words):
    perf("collect", commits[0], "-n", "1", "-q")
    perf("check", "--bisect-codes", *words, code=255)


def test_an_unexpected_error_ends_the_bisection(commits, perf, monkeypatch):
    perf("collect", commits[0], "-n", "1", "-q")
    monkeypatch.setattr(check, "judge", lambda *_, **__: 1 / 0)
    assert "ZeroDivisionError" in perf("check", "--bisect-codes", code=255).err
