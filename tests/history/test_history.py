"""`perf history`: steps along the ancestry, through the front door."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from array import array
from math import inf, isnan, log, nan
from random import Random
from typing import Any

import msgspec
import pytest
from conftest import Project
from histories import OTHER, PARSE, SORT, Perf, grow, measured, printed, stepped, store
from samples import sample_profile

import perfvcs.statistics.changepoints.judgement as statistics
from perfvcs.index import seriesresults
from perfvcs.index.packedlevels import level
from perfvcs.profile import Environment, Job, Metric, Resources


def test_a_step_is_listed_with_its_commit_effect_levels_and_word(
    commits: list[str], perf: Perf
) -> None:
    store(*measured(commits, stepped(40, 25)))
    out = perf("history").out
    lines = out.splitlines()
    assert lines[:2] == ["1 series over 40 commits examined: 1 degradation", ""]
    assert lines[2].startswith(f"{commits[25][:10]}  2023-11-14  Ada  Change 25")
    assert lines[3].split()[:2] == ["degradation", "sort"]
    assert "▁" in lines[3]
    assert "wall time       +9." in lines[4]
    assert "9.98 -> 10.96 ms" in lines[4]
    assert "by the series" in " ".join(out.split())
    assert all(len(line) <= 80 for line in lines)


def test_the_json_says_all_of_it(commits: list[str], perf: Perf) -> None:
    store(*measured(commits, stepped(40, 25)))
    found = printed(perf)
    (step,) = found["findings"]
    assert (step["word"], step["direction"], step["benchmark"], step["metric"]) == (
        "degradation",
        "degradation",
        "sort",
        "wall",
    )
    assert (step["commit"], step["author"], step["title"]) == (commits[25], "Ada", "Change 25")
    assert step["low"] < 0.1 < step["high"]
    assert step["before"] == pytest.approx(0.010, rel=0.01)
    assert step["after"] == pytest.approx(0.011, rel=0.01)
    assert step["p"] < 1e-10
    assert step["confidence"] == 0.99
    assert found["series"] == 1
    assert found["commits"] == 40


def test_the_direction_of_the_metric_decides_what_an_improvement_is(
    commits: list[str], perf: Perf
) -> None:
    profiles = measured(commits, stepped(40, 25), metrics={"wall": Metric("ops/s", "higher")})
    store(*profiles)
    assert [step["word"] for step in printed(perf)["findings"]] == ["improvement"]


def test_the_newest_come_first_and_no_more_than_asked_for(commits: list[str], perf: Perf) -> None:
    levels = [0.010] * 12 + [0.012] * 14 + [0.011] * 14
    store(*measured(commits, levels))
    steps = printed(perf)["findings"]
    assert [(step["commit"], step["word"]) for step in steps] == [
        (commits[26], "improvement"),
        (commits[12], "degradation"),
    ]
    assert len(printed(perf, "-n1")["findings"]) == 1
    assert "not shown: 1 step (perf history --all)" in perf("history", "-n1").out
    assert "not shown" not in perf("history", "-n1", "--all").out


def test_a_commit_at_which_much_changed_is_summed_up(commits: list[str], perf: Perf) -> None:
    jobs = [msgspec.structs.replace(SORT, name=f"sort {number}") for number in range(6)]
    levels = [[0.010] * 25 + [0.010 * (1.1 + number / 10)] * 15 for number in range(5)] + [
        stepped(40, 12)
    ]
    store(
        *(
            profile
            for number, job in enumerate(jobs)
            for profile in measured(commits, levels[number], seed=number, job=job)
        )
    )
    out = perf("history").out
    assert out.startswith("6 series over 40 commits examined: 6 degradations\n")
    assert "  degradation  5 series: +" in out and "  degradation  sort 5 " in out
    assert "most: sort 4, wall time, " in out
    assert out.count("by the series") == 1
    assert perf("history", "--all").out.count("by the series") == 6


def test_a_long_history_fits_a_screen(project: Project, perf: Perf) -> None:
    commits = grow(project, 240)
    levels = [
        0.010 * (1.2 if number // 20 % 2 else 1.0) * 1.05 ** (number // 20) for number in range(240)
    ]
    store(*measured(commits, levels))
    assert len(printed(perf)["findings"]) >= 8
    assert len(perf("history").out.splitlines()) <= 24
    assert len(perf("history", "-n", "8").out.splitlines()) > 24


def test_unmeasured_commits_before_a_step_are_under_suspicion_too(
    project: Project, perf: Perf
) -> None:
    every = grow(project, 120)
    sparse = every[::3]
    store(*measured(sparse, stepped(40, 25), spread=0.002))
    (step,) = printed(perf)["findings"]
    assert (step["first"], step["commit"], step["last"], step["commits"]) == (
        every[73],
        every[75],
        every[75],
        3,
    )
    said = perf("history").flat
    assert f"one of 3 commits {every[73][:10]}..{every[75][:10]}" in said
    begin = "Next: find which of 3 commits it was: perf"
    first, last = f"{every[73][:10]}^", every[75][:10]
    assert f"{begin} collect {first}..{last} -- ./sort" in said, "there is no perf.toml"
    project.write("perf.toml", '[[job]]\nname = "sort"\ncmd = "./sort"\n')
    assert f"{begin} bisect {first} {last} --" in perf("history").flat


def test_one_benchmark_by_its_whole_name_or_how_it_begins(commits: list[str], perf: Perf) -> None:
    sort = measured(commits, stepped(40, 25))
    parse = measured(commits, stepped(40, 10), seed=2, job=PARSE)
    store(*sort, *parse)
    assert len(printed(perf)["findings"]) == 2
    for name in ("parse --fast", "parse", "par"):
        assert [step["benchmark"] for step in printed(perf, name)["findings"]] == [
            "parse --fast: sort"
        ], name
        assert printed(perf, name)["series"] == 1
    assert printed(perf, "par", f"{commits[19]}..HEAD")["findings"] == []


def test_units_of_a_profile_and_their_sizes_are_series_of_their_own(
    commits: list[str], perf: Perf
) -> None:
    profiles = []
    for number, commit in enumerate(commits):
        random = Random(number)
        values: list[float | None] = [
            centre * random.lognormvariate(0, 0.01) for centre in (1.0, 1.0 if number < 20 else 1.2)
        ]
        rows = Resources(
            names=["insert"],
            uid=[0, 0],
            execution=[0, 0],
            size=[10.0, 20.0],
            metrics={"wall": values},
        )
        profiles.append(sample_profile((), commit=commit, resources=rows))
    store(*profiles)
    found = printed(perf)
    assert found["series"] == 2
    assert [(step["benchmark"], step["commit"]) for step in found["findings"]] == [
        ("sort: insert [20]", commits[20])
    ]


def test_one_metric_only(commits: list[str], perf: Perf) -> None:
    profiles = []
    for profile in measured(commits, stepped(40, 25)):
        wall = profile.resources.metrics["wall"]
        rows = Resources(
            names=["sort"], uid=[0] * 3, execution=[0, 1, 2], metrics={"wall": wall, "cpu": wall}
        )
        profiles.append(
            sample_profile(
                (),
                commit=profile.commit,
                resources=rows,
                metrics={"wall": Metric("s"), "cpu": Metric("s")},
            )
        )
    store(*profiles)
    assert [step["metric"] for step in printed(perf, "--metric", "cpu")["findings"]] == ["cpu"]
    assert "CPU time" in perf("history", "--metric", "cpu", "sort").out
    error = perf("history", "--metric", "wlal", code=2).err
    assert "did you mean `wall`?" in error
    assert error.count("\n") == 1


def test_a_revision_and_a_range_leave_out_what_lies_outside(commits: list[str], perf: Perf) -> None:
    levels = [0.010] * 12 + [0.012] * 14 + [0.011] * 14
    store(*measured(commits, levels))
    assert [step["commit"] for step in printed(perf, commits[20])["findings"]] == [commits[12]]
    inside = printed(perf, f"{commits[15]}..HEAD")
    assert [step["commit"] for step in inside["findings"]] == [commits[26]]
    assert inside["commits"] == 24
    assert (
        perf("history", "sort", f"{commits[27]}..HEAD").out
        == "1 series over 12 commits examined: no step\n"
    )


def test_a_merged_branch_is_not_part_of_the_line(project: Project, perf: Perf) -> None:
    base = grow(project, 20)
    project.git("checkout", "--quiet", "-b", "side")
    side = grow(project, 12, "Side")
    project.git("checkout", "--quiet", "main")
    rest = grow(project, 12, "Main")
    project.git("merge", "--quiet", "--no-edit", "--no-ff", "side")
    merge = project.git("rev-parse", "HEAD")
    after = grow(project, 12, "After")
    line = [*base, *rest, merge, *after]
    store(*measured(line, stepped(45, 20, 0.010, 0.012)), *measured(side, [0.010] * 12, seed=3))
    found = printed(perf)
    assert [(step["commit"], step["word"]) for step in found["findings"]] == [
        (rest[0], "degradation")
    ]
    assert (found["commits"], found["aside"]) == (45, 12)
    assert "12 measured commits are on branches that were merged" in perf("history").flat
    inner = printed(perf, f"{base[0]}..side")
    assert (inner["commits"], inner["findings"], inner["aside"]) == (31, [], 0)
    perf("rm", *side[1:])
    assert "1 measured commit is on a branch that was merged" in perf("history").flat


def test_a_merge_that_brings_a_step_is_the_commit(project: Project, perf: Perf) -> None:
    base = grow(project, 20)
    project.git("checkout", "--quiet", "-b", "side")
    grow(project, 3, "Side")
    project.git("checkout", "--quiet", "main")
    rest = grow(project, 2, "Main")
    project.git("merge", "--quiet", "--no-edit", "--no-ff", "side")
    merge = project.git("rev-parse", "HEAD")
    line = [*base, *rest, merge, *grow(project, 17, "After")]
    store(*measured(line, stepped(40, 22), spread=0.002))
    (step,) = printed(perf)["findings"]
    assert (step["commit"], step["first"], step["last"], step["commits"]) == (
        merge,
        merge,
        merge,
        1,
    )


def test_another_environment_is_another_series_and_it_says_so(
    commits: list[str], perf: Perf
) -> None:
    store(
        *measured(commits[:20], [0.010] * 20),
        *measured(commits[20:], [0.020] * 20, environment=OTHER),
    )
    found = printed(perf)
    assert found["findings"] == []
    assert found["series"] == 2
    assert found["cuts"] == [{"commit": commits[20], "reason": "cpu test -> another", "series": 1}]
    assert (
        f"note: 1 series begins anew at {commits[20][:10]}: cpu test -> another"
        in perf("history").out
    )


def test_two_machines_at_the_same_time_are_no_cut(commits: list[str], perf: Perf) -> None:
    store(
        *measured(commits, stepped(40, 25)),
        *measured(commits, stepped(40, 25, 0.02, 0.03), seed=2, environment=OTHER),
    )
    found = printed(perf)
    assert found["cuts"] == []
    assert {step["environment"] for step in found["findings"]} == {
        "0123456789ab",
        OTHER.fingerprint,
    }


def test_a_machine_beside_one_that_goes_on_is_no_cut(commits: list[str], perf: Perf) -> None:
    ended, later = (Environment(fields={"cpu": name}, fingerprint=name * 12) for name in "ef")
    store(
        *measured(commits, [0.010] * 40),
        *measured(commits[2:14], [0.012] * 12, environment=ended, seed=2),
        *measured(commits[26:], [0.013] * 14, environment=later, seed=3),
    )
    assert printed(perf)["cuts"] == []
    store(*measured(commits[14:26], [0.012] * 12, environment=ended, seed=4))
    assert [cut["commit"] for cut in printed(perf)["cuts"]] == [commits[26]]


def test_another_command_or_unit_is_another_series(commits: list[str], perf: Perf) -> None:
    faster = Job(name="sort", collector="time", cmd="./sort -O", engine="launcher/1")
    first = measured(commits[:13], [0.010] * 13)
    second = measured(commits[13:26], [0.020] * 13, job=faster)
    third = measured(commits[26:], [20] * 14, job=faster, metrics={"wall": Metric("B")})
    store(*first, *second, *third)
    reasons = [cut["reason"] for cut in printed(perf)["cuts"]]
    assert reasons == ["unit s -> B", "cmd './sort' -> './sort -O'"]


def test_what_cannot_be_used_is_left_out_and_counted(commits: list[str], perf: Perf) -> None:
    levels = stepped(40, 25)
    levels[3] = levels[30] = 0.0
    levels[31] = -1.0
    store(*measured(commits, levels))
    found = printed(perf)
    assert found["unusable"] == 3
    assert [step["commit"] for step in found["findings"]] == [commits[25]]
    assert "left out: 3 values with a zero" in perf("history").out


def test_a_series_of_zeros_alone_is_too_short(commits: list[str], perf: Perf) -> None:
    store(*measured(commits, [0.0] * 40))
    found = printed(perf)
    assert (found["unusable"], found["commits"], found["short"]) == (
        40,
        0,
        [{"benchmark": "sort", "metric": "wall"}],
    )


def test_what_a_series_is_like_now_is_said_in_full(project: Project, perf: Perf) -> None:
    commits = grow(project, 80, days=1)
    store(*measured(commits, stepped(80, 40, 1.0, 1.1)))
    shown = perf("show", "sort", "--text")
    assert re.search(
        r"now 1\.\d+ s, \+\S+ % since 2023-11-\d\d, last change \+\S+ %, 2023-12-\d\d, scatter",
        shown.flat,
    )
    assert max(map(len, shown.out.splitlines())) <= 80


def test_horvaths_test_is_reached_by_its_name(commits: list[str], perf: Perf) -> None:
    store(*measured(commits, stepped(40, 25)), *measured(commits[:12], stepped(12, 6), job=PARSE))
    (usual,) = [one for one in printed(perf)["findings"] if one["benchmark"] == "sort"]
    found = printed(perf, "--detector", "horvath")
    (step,) = found["findings"]
    assert (step["commit"], step["word"], step["detectors"]) == (
        usual["commit"],
        "degradation",
        ["horvath"],
    )
    assert step["low"] < 0.1 < step["high"]
    assert [one["benchmark"] for one in found["short"]] == ["parse --fast: sort"]
    out = perf("history", "--detector", "horvath").flat
    assert "by Horvath's test" in out
    assert "fewer than 16 commits, and not settled in turns: parse" in out


def test_short_series_are_named(commits: list[str], perf: Perf) -> None:
    jobs = [Job(name=f"job{number}", collector="time", cmd="./job") for number in range(7)]
    store(*(profile for job in jobs for profile in measured(commits[:5], [0.01] * 5, job=job)))
    assert len(printed(perf)["short"]) == 7
    out = perf("history").flat
    few = "too short with fewer than 6 commits, and not settled in turns"
    assert f"{few}: job0: sort wall time," in out
    assert "and 2 more" in out


def test_one_measured_commit_is_no_history_yet(commits: list[str], perf: Perf) -> None:
    store(*measured(commits[:1], [0.01]))
    out = perf("history").out
    assert out.startswith("1 series over 1 commit examined: no step\n")
    assert "too short" in out


def test_nothing_measured_is_said_in_a_sentence(project: Project, perf: Perf) -> None:
    commits = grow(project, 40)
    assert "perf init" in perf("history", code=10).err
    perf("init")
    assert perf("history").out == "no commit here has profiles: measure some with `perf collect`\n"
    assert printed(perf)["series"] == 0
    assert "nor is it a benchmark; there are: benchmark" in perf("history", "sort", code=2).err
    store(*measured(commits[:10], [0.01] * 10))
    assert "perf collect" in perf("history", f"{commits[20]}..HEAD").out


def test_wrong_names_are_reported_in_one_line(commits: list[str], perf: Perf) -> None:
    store(*measured(commits, stepped(40, 25)))
    for args in (["sotr"], ["sotr", "HEAD"]):
        error = perf("history", *args, code=2).err
        assert "did you mean `sort`?" in error
        assert error.count("\n") == 1
    assert "not a revision" in perf("history", "sort", "nowhere", code=2).err
    assert "not a revision" in perf("history", "nowhere..HEAD", code=2).err
    assert "at most" in perf("history", "sort", "HEAD", "HEAD", code=2).err


def test_a_profile_of_uncommitted_changes_has_no_place(commits: list[str], perf: Perf) -> None:
    repository = store(
        *measured(commits, stepped(40, 25)),
        sample_profile((9.0,), commit=commits[10], dirty="0" * 64),
    )
    assert len(printed(perf)["findings"]) == 1
    assert printed(perf)["series"] == 1
    repository.index.close()


def test_several_sessions_of_one_commit_count_as_their_mean(commits: list[str]) -> None:
    repository = store(
        *measured(commits, [0.010] * 40, spread=0),
        *measured(commits[:1], [0.040], seed=2, spread=0),
    )
    (number,) = repository.index.lines()
    course = repository.index.courses([number], commits)[number]
    assert course.levels[0] == pytest.approx(log(0.020), abs=0.01)
    assert course.places.tolist() == list(range(40))
    assert repository.index.courses([number, 99], ["0" * 40]) == {}
    repository.index.close()


def test_the_level_of_executions_is_their_mean_logarithm() -> None:
    assert level((1.0, 4.0)) == pytest.approx(log(2))
    assert all(isnan(level(one)) for one in [(), (0.0, 1.0), (1.0, inf), (-1.0,), (nan,)])


# the index and the cache


def test_removed_profiles_are_gone_and_a_rebuilt_index_tells_the_same(
    commits: list[str], perf: Perf
) -> None:
    repository = store(*measured(commits, stepped(40, 25)))
    before = printed(perf)
    repository.index.rebuild()
    assert printed(perf) == before
    perf("rm", *commits[30:])
    assert printed(perf)["commits"] == 30
    perf("rm", *commits[:30])
    assert printed(perf)["series"] == 0
    repository.index.close()


def count_computed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The lengths of the series whose steps are computed from now on."""
    lengths: list[int] = []
    original = statistics.judge_all

    def counting(series: Any, **more: Any) -> Any:
        lengths.extend(map(len, series))
        return original(series, **more)

    monkeypatch.setattr(statistics, "judge_all", counting)
    return lengths


def test_steps_are_computed_once_and_then_only_of_what_moved(
    commits: list[str], perf: Perf, monkeypatch: pytest.MonkeyPatch
) -> None:
    sort, parse = (
        measured(commits, stepped(40, 25)),
        measured(commits, stepped(40, 10), seed=2, job=PARSE),
    )
    store(*sort[:-1], *parse)
    computed = count_computed(monkeypatch)
    first = printed(perf)
    assert sorted(computed) == [39, 40]
    assert printed(perf) == first
    assert len(computed) == 2
    store(sort[-1])
    printed(perf)
    assert computed[2:] == [40]
    monkeypatch.setattr("perfvcs.statistics.changepoints.steps.VERSION", 999)
    printed(perf)
    assert computed[3:] == [40, 40], "what another version of the statistics found is not used"


def test_what_is_known_is_reported_without_numpy(commits: list[str], perf: Perf) -> None:
    store(*measured(commits, stepped(40, 25)))
    before = printed(perf)
    assert before["findings"]
    script = (
        "import atexit, os, sys; from perfvcs.cli import main; atexit.register(lambda: os._exit(9 *"
        " ('numpy' in sys.modules))); main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, "history", "--json"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == before


def test_the_cache_of_steps_can_be_damaged_or_deleted_at_any_time(
    commits: list[str], perf: Perf
) -> None:
    repository = store(*measured(commits, stepped(40, 25)))
    before = printed(perf)
    path = repository.home / "steps.db"
    assert path.exists()
    path.write_bytes(b"no database" * 500)
    for suffix in ("-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)
    assert printed(perf) == before
    path.unlink()
    assert printed(perf) == before


def test_the_oldest_results_make_room(commits: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seriesresults, "MOST_RESULTS", 3)
    repository = store(*measured(commits, stepped(40, 25)))
    cache = repository.index.findings
    series = [
        seriesresults.Given(array("d", [float(number)] * 10), array("d", [nan] * 10))
        for number in range(5)
    ]
    assert [found.steps for found in cache.judged(series)] == [[]] * 5
    computed = count_computed(monkeypatch)
    cache.judged(series[2:])
    assert computed == []
    cache.judged(series[:1])
    assert computed == [10]
    repository.index.close()
