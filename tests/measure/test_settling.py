"""`perf check --measure` looks at each job as soon as it can, and says how long it takes."""

from __future__ import annotations

import pytest
from conftest import Perf, Project

from perfvcs.measure import campaign
from perfvcs.plan.expected import CHECKING, COLLECTING, Estimate
from perfvcs.statistics.multiplicity import PAIRS, USUAL_PAIRS

JOBS = """
[[job]]
name = "noisy"
cmd = "true"
warmup = 0

[[job]]
name = "counted"
cmd = "python work.py"
collectors = ["bytecode"]
executions = 1
warmup = 0
"""
PARTS = """
[[job]]
name = "parts"
cmd = "python parts.py"
reads = { regex = '^(?P<name>[a-z0-9 ]+): (?P<value>[0-9.]+) (?P<unit>s)$' }
warmup = 0
"""
PARTED = """
import random
print(f"steady: {COST * random.uniform(1.0, 1.01):.6f} s")
print(f"odd: {random.uniform(1.0, 9.0):.6f} s")
"""
WORK = "for number in range(COUNT):\n    number * number\n"


def test_what_is_decided_is_said_while_the_rest_is_measured(project: Project, perf: Perf) -> None:
    project.commit(**{"perf.toml": JOBS, "work.py": WORK.replace("COUNT", "100")})
    project.commit(**{"work.py": WORK.replace("COUNT", "100_000")})
    said = perf("check", "--measure", "HEAD~1", "HEAD", code=None)
    lines = said.err.splitlines()
    decided = [number for number, line in enumerate(lines) if line.startswith("decided: ")]
    assert "decided: counted became worse: bytecodes" in lines[decided[0]]
    assert any("noisy" in line for line in lines[decided[0] + 1 :])
    assert "counted" in said.out and "noisy" in said.out


@pytest.mark.parametrize(("worth", "times"), [(0.0, 1), (1e6, 0)])
def test_what_the_first_pairs_show_is_said_where_many_more_are_measured(
    project: Project, perf: Perf, monkeypatch: pytest.MonkeyPatch, worth: float, times: int
) -> None:
    """A program that reports one unit that is slower, and one that is never settled."""
    monkeypatch.setattr(campaign, "WORTH_SAYING", worth)
    project.commit(**{"perf.toml": PARTS, "parts.py": PARTED.replace("COST", "1.0")})
    project.commit(**{"parts.py": PARTED.replace("COST", "3.5")})
    said = perf("check", "--measure", "--no-exact", "HEAD~1", "HEAD", code=3)
    assert said.err.count("so far: parts: steady became slower: wall time +2") == times


def test_a_suite_of_which_more_pairs_would_settle_little_ends_early(
    project: Project, perf: Perf
) -> None:
    """Forty units, whose times lie between 1 and 9 s by chance; the slower one is found."""
    odd = 'for name in range(40):\n    print(f"odd {name}: {random.uniform(1.0, 9.0):.6f} s")\n'
    for cost in ("1.0", "3.5"):
        parts = PARTED.replace("COST", cost)
        project.commit(**{"perf.toml": PARTS, "parts.py": parts + odd})
    said = perf("check", "--measure", "--no-exact", "HEAD~1", "HEAD", code=3)
    assert f"parts ends after {USUAL_PAIRS} pairs: 13 more would settle " in said.err
    assert "parts: steady became slower: wall time +2" in said.out
    once = perf("check", "--measure", "--no-exact", "-n", "20", "HEAD~1", "HEAD", code=3)
    assert "ends after" not in once.err


@pytest.mark.parametrize(
    ("estimate", "said"),
    [
        (Estimate(0.2, 0.2), "under 1 s"),
        (Estimate(240, 240), "about 4 min"),
        (Estimate(240, 280), "about 4 min"),
        (Estimate(240, 1200), "about 4 min, at most 20 min"),
    ],
)
def test_an_estimate_is_what_is_expected_and_the_worst_case(estimate: Estimate, said: str) -> None:
    assert str(estimate) == said


def test_estimates_count_preparation_warm_up_and_both_sides() -> None:
    assert Estimate.of_collect(5.0, 2.0, 10) == (COLLECTING + 27, COLLECTING + 27)
    expected, most = Estimate.of_check(5.0, 2.0)
    assert expected == CHECKING + 2 * (5 + 2 * (USUAL_PAIRS + 1))
    assert most == CHECKING + 2 * (5 + 2 * (PAIRS + 1))
