"""Limits with a ratchet: what lowers them, what does not, and who is judged by them."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import Perf, Project
from histories import OTHER, begun, measured, store

from perfvcs.check import register
from perfvcs.check.limits import amount
from perfvcs.errors import UsageError
from perfvcs.jobs.config import read
from perfvcs.profile import Metric
from perfvcs.reports.ratchet import _rounded, written

LIMITED = """\
[[job]]
name = "sort"
cmd = "./sort"

[[check]]
job = "sort"
metric = "wall"
limit = "20 ms"
ratchet = true
"""


@pytest.fixture
def commits(project: Project) -> list[str]:
    found = begun(project, 24)
    project.write("perf.toml", LIMITED)
    return found


def limit(project: Project) -> float:
    (only,) = register.lowered((project.root / "perf-accepted.toml").read_text())
    return amount(only.limit)[0]


def test_a_better_level_that_lasts_lowers_the_limit_as_a_line(
    project: Project, commits: list[str], perf: Perf
) -> None:
    store(*measured(commits, [0.019] * 10 + [0.010] * 14, spread=0.001))
    said = perf("accept", "--ratchet").out
    assert "sort: limit of wall time 10." in said and "was 20 ms" in said
    assert "commit perf-accepted.toml" in said
    assert 0.010 < limit(project) < 0.0105
    before = (project.root / "perf-accepted.toml").read_text()
    assert "no limit is lowered" in perf("accept", "--ratchet").out
    assert (project.root / "perf-accepted.toml").read_text() == before
    assert "nothing is accepted" in perf("accept", "--list").out


def test_a_level_that_does_not_last_and_a_noisy_series_keep_the_limit(
    project: Project, commits: list[str], perf: Perf
) -> None:
    repository = store(*measured(commits, [0.019] * 18 + [0.010] * 6, spread=0.001))
    said = perf("accept", "--ratchet").out  # one of the last ten is from before
    assert "was 20 ms" in said and limit(project) > 0.0189
    (project.root / "perf-accepted.toml").unlink()
    store(*measured(commits, [0.018] * 24, seed=2, spread=0.15))
    assert "no limit is lowered" in perf("accept", "--ratchet").out
    assert not (project.root / "perf-accepted.toml").exists()
    assert repository.index.damaged() == {}


def test_one_session_of_many_commits_and_another_machine_show_nothing_that_lasts(
    commits: list[str], perf: Perf
) -> None:
    together = measured(commits, [0.010] * 24, spread=0.001)
    session = together[0].collected
    store(*measured(commits, [0.010] * 24, spread=0.001, collected=session))
    assert "no limit is lowered" in perf("accept", "--ratchet").out
    store(*measured(commits[:18], [0.010] * 18, spread=0.001, seed=5, environment=OTHER))
    assert "no limit is lowered" in perf("accept", "--ratchet").out


def test_exact_metrics_count_by_commits_and_keep_every_digit(
    project: Project, commits: list[str], perf: Perf
) -> None:
    project.write("perf.toml", LIMITED.replace('"wall"', '"bytes"').replace('"20 ms"', '"20 kB"'))
    one = measured(commits, [0.010] * 24)[0].collected
    profiles = measured(commits, [0.010] * 24, collected=one)
    for profile in profiles:
        profile.metrics["bytes"] = Metric("B", "lower", "deterministic")
        profile.resources.metrics["bytes"] = [12_345.0] * len(profile.resources.uid)
    store(*profiles)
    assert "sort: limit of bytes 12345 B, was 20" in perf("accept", "--ratchet").out
    assert limit(project) == 12_345.0


def test_a_commit_above_the_lowered_limit_fails_by_that_of_its_baseline(
    project: Project, commits: list[str], perf: Perf
) -> None:
    store(*measured(commits, [0.010] * 24, spread=0.001))
    perf("accept", "--ratchet")
    lowered = project.commit("limits", **{"perf.toml": LIMITED})
    lines = (project.root / "perf-accepted.toml").read_text()
    (only,) = register.lowered(lines)
    lowered_to = only.limit
    worse = project.commit("worse", **{"perf-accepted.toml": lines.replace(lowered_to, "19 ms")})
    store(*measured([lowered, worse], [0.010, 0.015], seed=3, spread=0.001))
    said = perf("check", lowered, worse, code=3).flat
    assert "is above its limit of 10." in said
    assert "1 lowered limit changed or removed" in said


def test_acceptances_and_limits_live_in_one_file(project: Project) -> None:
    path: Path = project.root / "perf-accepted.toml"
    lines = "\n".join(
        [
            "# ours",
            '3f9c2a1.benchmark = "sort"',
            '3f9c2a1.metric = "wall"',
            f'3f9c2a1.baseline = "{"a" * 40}"',
            f'3f9c2a1.target = "{"b" * 40}"',
            '3f9c2a1.reason = "stable"',
            "",
        ]
    )
    path.write_text(lines)
    present = register.load(path)
    (new,) = register.lowered(
        'limit.0a.benchmark = "x"\nlimit.0a.metric = "wall"\nlimit.0a.limit = "1 s"'
    )
    register.lower(path, [new])
    assert (register.load(path), register.lowered(path.read_text())) == (present, [new])
    register.remove(path, ["3f9c2a1"])
    assert (register.load(path), register.lowered(path.read_text())) == ([], [new])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("limit = 3", "limit is not a table of limits"),
        ("limit.a = 3", "limit.a is not a limit"),
        ('limit.a.limit = "1 s"', "`benchmark` is missing"),
        (
            'limit.a.benchmark = "s"\nlimit.a.metric = "wall"\nlimit.a.limit = "soon"',
            "not an amount",
        ),
        ('limit.a.benchmrk = "s"\nlimit.a.limit = "1 s"', "there is no key `benchmrk`"),
    ],
)
def test_a_damaged_limit_is_named(text: str, said: str) -> None:
    with pytest.raises(register.BadRegister, match=said):
        register.parse(text)


def test_a_ratchet_without_a_limit_and_one_in_another_unit_are_errors(
    project: Project, commits: list[str], perf: Perf
) -> None:
    with pytest.raises(UsageError, match="ratchet = true tightens a limit"):
        read({"check": [{"metric": "wall", "ratchet": True}]})
    store(*measured(commits, [0.010] * 24))
    project.write("perf.toml", LIMITED.replace("20 ms", "20 MB"))
    assert "wall is measured in s: write it like" in perf("accept", "--ratchet", code=2).err
    project.write("perf.toml", LIMITED.replace("ratchet = true\n", ""))
    assert "no [[check]] of perf.toml has" in perf("accept", "--ratchet", code=2).err


@pytest.mark.parametrize("value", [1.0, 0.0123456, 151.2e-6, 9.999e-9, 123456.7])
def test_a_limit_is_rounded_to_the_side_that_is_less_strict(value: float) -> None:
    up, down = _rounded(value, up=True), _rounded(value, up=False)
    assert down <= value * (1 + 1e-12) and value <= up * (1 + 1e-12)
    assert up - down <= 0.0101 * value
    assert amount(written(up, "s"))[0] == pytest.approx(up, rel=1e-5)


@pytest.mark.parametrize(
    ("value", "unit"),
    [(0.151, "s"), (1 / 3, "s"), (12345.5, ""), (1234561.5, "B"), (98765.25, "ops/s"), (4096, "B")],
)
def test_a_limit_is_read_as_it_was_written(value: float, unit: str) -> None:
    assert amount(written(value, unit)) == (pytest.approx(value, rel=1e-12), unit)
