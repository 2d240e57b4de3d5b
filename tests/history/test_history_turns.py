"""Verdicts that were measured in turns are steps of the history, and one judge speaks
everywhere.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import pytest
from conftest import Perf, Project
from histories import OTHER, SORT, grow, measured, printed, stepped, store
from msgspec import structs
from samples import interleaved, noisy, sample_profile

from perfvcs.check.pastsessions import EarlierSessions
from perfvcs.check.samples.newestsession import Compared, NewestSession, newest_sessions
from perfvcs.check.vocabulary import WORDS
from perfvcs.history import finding
from perfvcs.history.finding import Newest
from perfvcs.index.lines import Line
from perfvcs.profile import Collected, Metric, Profile, Resources
from perfvcs.statistics.changepoints.judgement import judge

QUICK = ("--profiles", "0")

REASON = "not measured in turns, and a series needs 6 commits; it has 4 commits"


def in_turns(
    commits: Sequence[str],
    factors: Sequence[float],
    seed: int = 5,
    count: int = 10,
    **overrides: Any,
) -> list[Profile]:
    """One session of these commits, each so many times as slow as a program of 10 ms; rounds differ
    by a tenth.
    """
    random = Random(seed)
    rounds = [0.010 * random.lognormvariate(0, 0.1) for _ in range(count)]
    walls = [
        [one * factor * random.lognormvariate(0, 0.002) for one in rounds] for factor in factors
    ]
    return interleaved(commits, walls, session=f"20261120T093000-{seed:06}", job=SORT, **overrides)


def apart(
    commits: Sequence[str], factors: Sequence[float], seed: int = 1, count: int = 10
) -> list[Profile]:
    """A session per commit, all executions of one after those of another."""
    return [
        sample_profile(
            noisy(0.010 * factor, count, seed=seed + number),
            commit=commit,
            collected=Collected(
                f"20261120T093000-{seed:03}{number:03}",
                f"2026-11-20T09:{number % 60:02}:00Z",
                "",
                "perfvcs 0.1.0",
            ),
        )
        for number, (commit, factor) in enumerate(zip(commits, factors, strict=True))
    ]


CURVE = (100.0, 200.0, 500.0, 1000.0, 1500.0, 2000.0)


def curves(commits: Sequence[str], slopes: Sequence[float], **overrides: Any) -> list[Profile]:
    """One session of these commits: ten executions, in which a call takes 2 us and so many
    nanoseconds per element at each size.
    """
    random = Random(3)
    sizes = [size for size in CURVE for _ in range(10)]
    found = []
    for one, slope in zip(in_turns(commits, [1.0] * len(commits)), slopes, strict=True):
        values = [(2e-6 + slope * 1e-9 * size) * random.lognormvariate(0, 0.001) for size in sizes]
        rows = Resources(
            names=["insert"],
            uid=[0] * len(values),
            execution=list(range(10)) * len(CURVE),
            size=list(sizes),
            metrics={"wall": values},
        )
        found.append(
            structs.replace(one, resources=rows, metrics={"wall": Metric("s")}, **overrides)
        )
    return found


def walls(perf: Perf, *args: str) -> list[dict[str, Any]]:
    return [finding for finding in printed(perf, *args)["findings"] if finding["metric"] == "wall"]


def site() -> dict[str, Any]:
    """The page of the wall time."""
    (found,) = pages()
    return found


def site_words() -> list[str]:
    """The words of the commits that are compared on the page of the only series."""
    return [word for _, word, _ in site()["tracks"][0]["compared"]]


def pages() -> list[dict[str, Any]]:
    """The pages of the wall times."""
    found = [json.loads(path.read_text())["page"] for path in Path("site/series").glob("*.json")]
    return [page for page in found if page["metric"] == "wall time"]


# -- steps that were measured in turns -------------------------------------------------------------


@pytest.mark.parametrize("factors", [(1.0, 1.2), (1.0, 1.2, 1.2), (1.0, 1.0, 20.0, 20.0, 20.0)])
def test_a_verdict_measured_in_turns_is_a_step_however_short_the_series(
    commits: list[str], perf: Perf, factors: tuple[float, ...]
) -> None:
    store(*in_turns(commits[: len(factors)], factors))
    changed = next(place for place, factor in enumerate(factors) if factor != 1)
    found = printed(perf)
    (step,) = [finding for finding in found["findings"] if finding["metric"] == "wall"]
    assert (step["word"], step["commit"], step["commits"]) == ("degradation", commits[changed], 1)
    assert step["detectors"][-1] == "turns"
    assert step["low"] < factors[changed] - 1 < step["high"]
    assert found["short"] == []
    out = perf("history").out
    assert "measured in turns" in out and "too short" not in out
    assert all(len(line) <= 80 for line in out.splitlines())
    perf("publish", "site", *QUICK)
    assert [(one["word"], one["commit"]["id"]) for one in site()["steps"]] == [
        ("degradation", commits[changed])
    ]
    assert json.loads(Path("site/index.json").read_text())["page"]["open"] == 2  # wall and CPU time
    assert "lasting degradation" in perf("show", "sort", "--text").out


def test_a_series_with_a_step_measured_in_turns_is_not_called_too_short(
    commits: list[str], perf: Perf
) -> None:
    store(*in_turns(commits[:2], [1.0, 1.2]), *apart(commits[2:4], [1.2, 1.2]))
    found = printed(perf)
    assert [step["commit"] for step in found["findings"] if step["metric"] == "wall"] == [
        commits[1]
    ]
    assert found["short"] == []


def test_the_step_has_the_numbers_of_perf_check(commits: list[str], perf: Perf) -> None:
    store(*in_turns(commits[:4], [1.0, 1.05, 1.05, 1.02]))
    steps = walls(perf)
    assert [(step["commit"], step["word"]) for step in steps] == [
        (commits[3], "improvement"),
        (commits[1], "degradation"),
    ]
    for step, (before, after) in zip(steps, [(2, 3), (0, 1)], strict=True):
        report = perf("check", "--json", commits[before], commits[after], code=None).document
        (change,) = [change for change in report["changes"] if change["metric"] == "wall"]
        assert [step[name] for name in ("effect", "low", "high", "p")] == [
            change[name] for name in ("effect", "low", "high", "p")
        ]
        assert (step["before"], step["after"]) == (change["baseline"], change["target"])


def test_a_step_of_a_curve_has_the_levels_of_perf_check_and_their_sizes(
    commits: list[str], perf: Perf
) -> None:
    store(*curves(commits[:3], [1.0, 3.0, 3.0]))
    (change,) = perf("check", "--json", commits[0], commits[1], code=3).document["changes"]
    assert change["curve"]["at"] == [2000.0, 2000.0]
    steps = {step["size"]: step for step in walls(perf)}
    assert (steps[2000]["before"], steps[2000]["after"]) == (change["baseline"], change["target"])
    assert steps[2000]["sizes"] == change["curve"]["at"]
    for size in (500.0, 1000.0, 1500.0):  # by its own levels
        truth = (2000 + 3 * size) / (2000 + size) - 1
        assert (
            steps[size]["effect"] == pytest.approx(truth, abs=0.01) and steps[size]["sizes"] is None
        )
    out = perf("history").flat
    # its line, and the count
    assert "degradation sort: insert" in out and out.count("degradation") == 2
    assert "4.000 -> 8.006 us at size 2,000; 5 other sizes +9.5 % to +85.6 %" in out
    assert "4.000 -> 8.006 us" in perf("check", commits[0], commits[1], code=3).flat
    perf("publish", "site", *QUICK)
    texts = {
        page["benchmark"]: [mark["text"] for track in page["tracks"] for mark in track["steps"]]
        for page in pages()
    }
    (curve,), (plain,) = texts["sort: insert [2000]"], texts["sort: insert [500]"]
    assert "4.000 → 8.006 µs at size 2,000" in curve
    assert "at size" not in plain


def test_sizes_at_which_a_curve_did_not_move_have_no_step(commits: list[str], perf: Perf) -> None:
    found = curves(commits[:2], [1.0, 1.0])
    rows = found[1].resources
    assert rows.size is not None
    slower = [
        value * (1.5 if size >= 1500 else 1.0)
        for value, size in zip(rows.metrics["wall"], rows.size, strict=True)
    ]
    store(found[0], structs.replace(found[1], resources=replace(rows, metrics={"wall": slower})))
    assert (
        perf("check", "--json", commits[0], commits[1], code=3).document["changes"][0]["word"]
        == "degradation"
    )
    assert sorted(step["size"] for step in walls(perf)) == [1500.0, 2000.0]


def test_a_commit_that_was_not_measured_may_be_the_step(commits: list[str], perf: Perf) -> None:
    store(*in_turns([commits[0], commits[3]], [1.0, 1.2]))
    (step,) = walls(perf)
    assert (step["commit"], step["first"], step["last"], step["commits"]) == (
        commits[3],
        commits[1],
        commits[3],
        3,
    )


def test_sessions_that_overlap_make_one_history(commits: list[str], perf: Perf) -> None:
    store(
        *in_turns(commits[:2], [1.0, 1.1]),
        *in_turns(commits[1:3], [1.5, 1.5], seed=6),
        *in_turns(commits[2:4], [3.0, 3.3], seed=7),
    )
    assert [step["commit"] for step in walls(perf)] == [commits[3], commits[1]]


def test_the_two_machines_of_a_pair_are_judged_each_for_itself(
    commits: list[str], perf: Perf
) -> None:
    store(
        *in_turns(commits[:2], [1.0, 1.1]),
        *in_turns(commits[:2], [1.0, 1.0], seed=6, environment=OTHER),
    )
    assert [step["environment"] for step in walls(perf)] == ["0123456789ab"]


def test_measured_apart_nothing_is_a_step_of_a_short_history(
    commits: list[str], perf: Perf
) -> None:
    store(*apart(commits[:3], [1.0, 1.2, 1.2]))
    found = printed(perf)
    assert found["findings"] == []
    assert found["short"] == [{"benchmark": "sort", "metric": "wall"}]


def test_false_alarms_of_many_pairs_are_no_steps(project: Project, perf: Perf) -> None:
    commits = grow(project, 80)
    store(*in_turns(commits, [1.0] * 80, seed=11))
    words = {
        change["word"]
        for report in perf("check", "--json", f"{commits[0]}..{commits[-1]}", code=None).document
        for change in report["changes"]
    }
    assert "same" in words
    assert walls(perf) == []


# -- contradictions --------------------------------------------------------------------------------


def test_a_step_of_the_series_that_turns_deny_is_reported_as_contradicted(
    commits: list[str], perf: Perf
) -> None:
    machine = measured(commits, stepped(40, 20, 0.010, 0.011), spread=0.004)
    store(*machine, *in_turns(commits[19:21], [1.0, 1.0]))
    (step,) = walls(perf)
    assert step["commit"] in commits[19:22]
    assert "measured in turns the commits are the same" in step["contradiction"]
    out = perf("history").out
    assert "contradicted: the series steps here" in " ".join(out.split())
    assert all(len(line) <= 80 for line in out.splitlines())
    perf("publish", "site", *QUICK)
    front = json.loads(Path("site/index.json").read_text())["page"]
    assert (front["open"], front["over"]) == (0, 1)
    assert "contradicted" in perf("show", "sort", "--text").out


@pytest.mark.parametrize(
    ("second", "searched"), [(1.0, False), (1.1, True)], ids=["denied", "confirmed"]
)
def test_no_search_is_proposed_for_a_step_that_turns_deny(
    commits: list[str], perf: Perf, second: float, searched: bool
) -> None:
    every = commits[::2]
    store(
        *measured(every, stepped(20, 10, 0.010, 0.011), spread=0.004),
        *in_turns(every[9:11], [1.0, second]),
    )
    assert walls(perf)[0]["commits"] > 1
    assert ("Next: find which of 2 commits it was:" in perf("history").out) == searched


def test_steps_that_are_summed_up_say_how_many_are_contradicted(
    commits: list[str], perf: Perf
) -> None:
    profiles = [
        *measured(commits, stepped(40, 20, 0.010, 0.011), spread=0.004),
        *in_turns(commits[19:21], [1.0, 1.0]),
    ]
    jobs = [structs.replace(SORT, name=f"sort {number}") for number in range(3)]
    store(*(structs.replace(one, job=job) for job in jobs for one in profiles))
    out = perf("history").out
    assert "3 series: +" in out and "contradicted: 3 of 3 (perf history --all)" in out


def test_a_verdict_that_the_series_does_not_show_is_reported_as_contradicted(
    commits: list[str], perf: Perf
) -> None:
    store(
        *apart(commits[:20], [1.0] * 20),
        *in_turns(commits[20:22], [1.0, 1.2]),
        *apart(commits[22:], [1.1] * 18, seed=50)[:0],
    )
    (step,) = walls(perf)
    assert step["contradiction"] == ""
    store(*apart(commits[22:], [1.0] * 18, seed=50))
    (step,) = [step for step in walls(perf) if step["commit"] == commits[21]]
    assert step["word"] == "degradation"
    assert step["contradiction"].startswith(
        "measured in turns it changed; the series as a whole says"
    )


# -- one judge -------------------------------------------------------------------------------------


def said(perf: Perf, commits: Sequence[str]) -> dict[str, list[str]]:
    """What each display says of neighbours: a word per pair."""
    pairs = list(pairwise(commits))
    found: dict[str, list[str]] = {"check": [], "log": []}
    for before, after in pairs:
        report = perf("check", "--json", before, after, code=None).document
        found["check"] += [
            change["word"] for change in report["changes"] if change["metric"] == "wall"
        ]
    rows = {
        row["commit"]: row["verdict"]
        for row in perf("log", "--json", "--all", "-n", "99").document["commits"]
    }
    for _, after in pairs:
        found["log"] += list(rows[after]["words"])
    perf("publish", "site", *QUICK)
    found["site"] = site_words()[1:]
    newest = [row["cell"]["word"] for row in site()["newest"]]
    found["newest"] = [word for word in newest if word != "new"][::-1]
    found["pages"] = [word for _, after in pairs for word in moved(after)]
    perf("show", "sort", "-o", "page.json")
    found["show"] = [
        point["verdict"]
        for point in points(json.loads(Path("page.json").read_text()))
        if point["verdict"]
    ]
    return found


def moved(commit: str) -> list[str]:
    """The words of what the page of a commit lists of the wall time."""
    page = json.loads(Path(f"site/commits/{commit[:10]}.json").read_text())["page"]
    return [row["cell"]["word"] for row in page["moved"] if row["metric"] == "wall time"]


def points(document: Any) -> list[dict[str, Any]]:
    """The points of the wall time in the JSON of a page."""
    if isinstance(document, dict):
        if "points" in document and document.get("metric") == "wall":
            found: list[dict[str, Any]] = document["points"]
            return found
        document = list(document.values())
    return (
        next((found for part in document if (found := points(part))), [])
        if isinstance(document, list)
        else []
    )


@pytest.mark.parametrize("count", [1, 3, 10])
@pytest.mark.parametrize("commits_measured", [3, 9])
def test_check_log_show_and_site_say_the_same_of_imported_neighbours(
    commits: list[str], perf: Perf, count: int, commits_measured: int
) -> None:
    factors = [1.0] * (commits_measured - 1) + [1.04]
    chosen = commits[:commits_measured]
    store(*apart(chosen, factors, count=count))
    found = said(perf, chosen)
    assert found["check"] == found["show"] == found["site"] == found["log"], found
    assert found["newest"] == found["check"]
    assert found["pages"] == [word for word in found["check"] if WORDS[word].moved]
    expected = {
        (1, 3): "inconclusive",
        (3, 3): "suspected",
        (10, 3): "suspected",
        (10, 9): "degradation",
    }
    if (count, commits_measured) in expected:
        assert found["check"][-1] == expected[count, commits_measured]


def test_the_words_of_pairs_in_turns_are_the_same_everywhere(
    commits: list[str], perf: Perf
) -> None:
    profiles = in_turns(commits[:5], [1.0, 1.05, 1.05, 1.5, 1.2])
    store(
        *(
            sample_profile(
                profile.resources.metrics["wall"],
                commit=profile.commit,
                collected=profile.collected,
                design=profile.design,
            )
            for profile in profiles
        )
    )
    found = said(perf, commits[:5])
    assert found["check"] == ["degradation", "same", "degradation", "improvement"]
    assert found["check"] == found["show"] == found["site"] == found["log"] == found["newest"]
    assert found["pages"] == ["degradation", "degradation", "improvement"]
    steps = [(step["commit"], step["word"]) for step in walls(perf)][::-1]
    assert steps == [
        (commits[1], "degradation"),
        (commits[3], "degradation"),
        (commits[4], "improvement"),
    ]
    assert [(one["commit"]["id"], one["word"]) for one in site()["steps"]][::-1] == steps
    feed = Path("site/changes.atom").read_text()
    assert [len(re.findall(word, feed)) > 0 for word in ("degradation", "improvement")] == [
        True,
        True,
    ]


# -- the newest value ------------------------------------------------------------------------------


def test_the_newest_of_many_single_values_is_judged_by_their_level(
    project: Project, perf: Perf
) -> None:
    commits = grow(project, 60)
    store(*apart(commits, [1.0] * 59 + [100.0], count=1))
    out = perf("check", code=3).out
    assert "degradation" in out and "against the level of 59 earlier commits" in " ".join(
        out.split()
    )
    (newest,) = printed(perf)["newest"]
    assert (newest["word"], newest["commit"], newest["support"]) == ("degradation", commits[59], 59)
    assert "degradation at the newest commit" in perf("history").flat
    perf("publish", "site", *QUICK)
    assert site_words()[-1] == "degradation"
    assert "degradation at the newest commit" in site()["remarks"][0]["text"]
    assert "degradation at the newest commit" in perf("show", "sort", "--text").flat


def checked(perf: Perf, baseline: str, target: str, code: int = 0) -> dict[str, Any]:
    """The only change between two commits."""
    (change,) = perf("check", "--json", baseline, target, code=code).document["changes"]
    assert isinstance(change, dict)
    return change


def test_a_step_of_single_values_fails_the_checks_that_it_lies_between_and_no_later_one(
    project: Project, perf: Perf
) -> None:
    commits = grow(project, 34)
    store(*apart(commits, [1.0] * 30 + [1.5] * 4, count=1))
    own = checked(perf, *commits[29:31], code=3)
    assert (own["word"], own["since"], own["preceding"]) == ("degradation", "", commits[29])
    for turn in (30, 31, 32):
        later = checked(perf, *commits[turn : turn + 2])
        assert (later["word"], later["since"]) == ("inconclusive", commits[30])
        assert f"is slower since {commits[30][:10]}: wall time +" in later["finding"]
        assert abs(later["effect"]) < 0.1, "the numbers are of the two sides"
    said = perf("check", *commits[31:33]).flat
    assert f"sort is slower since {commits[30][:10]}: wall time +" in said
    perf("check", "--gate", *commits[31:33], code=4)
    around = checked(perf, commits[25], commits[33], code=3)
    assert (around["word"], around["since"]) == ("degradation", commits[30])
    assert around["id"] == own["id"] and abs(around["effect"] - 0.5) < 0.1
    assert (
        "3 pairs of neighbours: 3 inconclusive"
        in perf("check", f"{commits[30]}..{commits[33]}").out
    )
    perf("check", f"{commits[29]}..{commits[33]}", code=3)
    assert "is not listed" not in perf("history").out
    perf("publish", "site", *QUICK)
    assert site_words()[-4:] == ["degradation", *["inconclusive"] * 3]


def test_an_accepted_step_of_single_values_is_accepted_wherever_it_lies_between(
    project: Project, perf: Perf
) -> None:
    commits = grow(project, 34)
    store(*apart(commits, [1.0] * 30 + [1.5] * 4, count=1))
    around = checked(perf, commits[28], commits[32], code=3)
    perf("accept", around["id"], "--reason", "it checks its input")
    register = Path("perf-accepted.toml").read_text()
    assert f'baseline = "{commits[29]}"' in register and f'target = "{commits[30]}"' in register
    for baseline, target in ((29, 30), (25, 33), (28, 31)):
        within = checked(perf, commits[baseline], commits[target])
        assert within["accepted"] == "it checks its input"
    later = checked(perf, *commits[31:33])
    assert (later["since"], later["finding"]) == ("", ""), "what is accepted is known"


def test_a_step_that_becomes_certain_later_fails_the_first_check_that_knows_it(
    project: Project, perf: Perf
) -> None:
    commits = grow(project, 37)
    store(*apart(commits, [1.0] * 30 + [1.5] * 4 + [3.0] * 3, count=1))
    own = checked(perf, *commits[33:35])
    assert (own["word"], own["since"]) == ("suspected", "")
    assert abs(own["effect"] - 1) < 0.2, "against the level since the first step"
    first = checked(perf, *commits[34:36], code=3)
    assert (first["word"], first["since"]) == ("degradation", commits[34])
    later = checked(perf, *commits[35:37])
    assert (later["word"], later["since"]) == ("inconclusive", commits[34])
    around = checked(perf, commits[33], commits[35], code=3)
    assert (around["since"], around["id"]) == (commits[34], first["id"])


def test_a_step_of_single_values_that_may_lie_between_is_no_earlier_one() -> None:
    chance = Random(78)
    levels = [chance.gauss(0, 0.02) + (0.03 if turn >= 60 else 0) for turn in range(67)]
    names = [f"{turn:040x}" for turn in range(67)]

    def at(target: int) -> NewestSession | None:
        past = EarlierSessions(tuple(levels[: target + 1]), tuple(names[: target + 1]))
        return newest_sessions([Compared(past, names[target - 1], names[target])])[0]

    (step,) = judge(levels).steps
    assert (step.place, step.last) == (59, 65), "the step is at any of several commits"
    within, behind = at(65), at(66)
    assert within and behind and within.since == behind.since == names[59]
    assert (within.earlier, behind.earlier) == (False, True)


def test_few_single_values_support_a_suspicion_and_a_usual_one_settles_nothing(
    commits: list[str], perf: Perf
) -> None:
    store(*apart(commits[:7], [1.0] * 6 + [100.0], count=1))
    report = perf("check", "--json", commits[5], commits[6], code=None).document
    assert [change["word"] for change in report["changes"]] == ["suspected"]
    report = perf("check", "--json", commits[4], commits[5], code=None).document
    assert [change["word"] for change in report["changes"]] == ["inconclusive"]


def test_a_usual_single_value_is_called_so_and_asks_for_no_earlier_commits(
    commits: list[str], perf: Perf
) -> None:
    store(*apart(commits, [1.0] * len(commits), count=1))
    count = len(commits) - 1
    said = checked(perf, commits[-2], commits[-1])["reason"]
    assert said == f"a single value, usual beside {count} earlier commits"
    assert checked(perf, commits[2], commits[-1])["reason"].endswith("judges the whole series")
    assert checked(perf, commits[0], commits[1])["reason"].startswith("a single execution has no")


def test_single_values_at_a_new_level_are_what_the_history_says(
    project: Project, perf: Perf
) -> None:
    commits = grow(project, 80)
    chance = Random(4)
    levels = [chance.lognormvariate(0, 0.02) * (1.08 if turn >= 75 else 1) for turn in range(80)]
    store(*apart(commits, levels, count=1))
    (step,) = printed(perf)["findings"]
    assert commits.index(step["last"]) >= 75
    change = checked(perf, commits[70], commits[79], code=3)
    assert (change["word"], change["metric"]) == ("degradation", "wall")
    # of the last 60 measured ancestors, where the history has all
    assert change["effect"] == pytest.approx(step["effect"], abs=0.005)
    assert (change["low"], change["high"]) == (
        pytest.approx(step["low"], abs=0.01),
        pytest.approx(step["high"], abs=0.01),
    )
    assert change["finding"].endswith(f"earlier commits, since {commits[75][:10]}")
    before = perf("check", "--json", commits[73], commits[74], code=None).document
    assert [change["word"] for change in before["changes"]] == ["inconclusive"]


# -- bad input -------------------------------------------------------------------------------------


def test_one_commit_equal_dates_and_values_that_cannot_be_used(
    commits: list[str], perf: Perf
) -> None:
    store(*in_turns(commits[:1], [1.0]))
    assert printed(perf)["findings"] == []
    store(*measured(commits[1:3], [0.0, -1.0]), *in_turns(commits[3:5], [1.0, 1.2], seed=9))
    found = printed(perf)
    assert [step["commit"] for step in found["findings"] if step["metric"] == "wall"] == [
        commits[4]
    ]
    assert found["unusable"] == 2
    perf("publish", "site", *QUICK)


def test_a_history_that_was_rewritten_is_judged_along_the_new_line(
    project: Project, perf: Perf
) -> None:
    old = grow(project, 4)
    repository = store(*in_turns(old, [1.0, 1.2, 1.2, 1.2]))
    assert [step["commit"] for step in walls(perf)] == [old[1]]
    project.git("reset", "--quiet", "--hard", old[0])
    new = grow(project, 3, "Again")
    assert walls(perf) == []
    repository.store.add(in_turns([old[0], *new], [1.0, 1.0, 1.3, 1.3], seed=8), "Again")
    assert [step["commit"] for step in walls(perf)] == [new[1]]


def test_a_metric_that_changes_its_direction_begins_anew(commits: list[str], perf: Perf) -> None:
    store(
        *in_turns(commits[:2], [1.0, 1.2], metrics={"wall": Metric("s"), "cpu": Metric("s")}),
        *in_turns(
            commits[1:3],
            [1.2, 2.0],
            seed=6,
            metrics={"wall": Metric("s", "higher"), "cpu": Metric("s")},
        ),
    )
    steps = {(step["commit"], step["better"]): step["word"] for step in walls(perf)}
    assert steps == {(commits[1], "lower"): "degradation", (commits[2], "higher"): "improvement"}


# -- what is known is displayed --------------------------------------------------------------------


def test_the_log_marks_the_steps_of_the_history(commits: list[str], perf: Perf) -> None:
    store(*in_turns(commits[:3], [1.0, 1.2, 1.2]))
    lines = perf("log").out.splitlines()
    (mark,) = [
        line for line in lines if "lasting degradation" in line and line.endswith("sort, wall time")
    ]
    assert lines[[line[:10] for line in lines].index(commits[1][:10]) + 1 :][:2].count(mark) == 1
    assert all(len(line) <= 80 for line in lines)
    document = perf("log", "--json").document
    rows = {row["commit"]: row["steps"] for row in document["commits"]}
    (row,) = [row for row in rows[commits[1]] if row["metric"] == "wall"]
    (step,) = walls(perf)
    assert document["known"]
    assert (row["word"], row["effect"]) == ("degradation", step["effect"])
    assert rows[commits[0]] == rows[commits[2]] == []
    assert perf("log").out.splitlines() == lines  # whether or not `perf history` has looked
    Path("perf.toml").write_text("check_rules = 7\n[[check]]\n")
    assert "lasting" not in perf("log").out


def test_the_log_draws_first_what_has_a_lasting_change(commits: list[str], perf: Perf) -> None:
    for number in range(12):
        quiet = in_turns(commits[:3], [1.0] * 3, seed=number)
        job = structs.replace(SORT, name=f"a{number:02}")
        store(*(structs.replace(one, job=job) for one in quiet))
    store(*in_turns(commits[:3], [1.0, 1.2, 1.2], seed=20))
    lines = perf("log").out.split("\n\n")[1].splitlines()
    assert [line.split()[0] for line in lines[:4]] == ["sort", "sort", "a00:", "a00:"]
    assert lines[-1] == "and 14 more: perf show HEAD"


def test_the_log_counts_what_the_history_counts(commits: list[str], perf: Perf) -> None:
    """A curve that rose is one degradation, at however many sizes."""
    store(*curves(commits[:2], [10.0, 20.0]), *in_turns(commits[:2], [1.0, 1.3], seed=6))
    listed = [line for line in perf("log").out.splitlines() if "lasting degradation" in line]
    counted = re.search(r"examined: (\d+) degradations?$", perf("history").out.splitlines()[0])
    assert counted and int(counted[1]) == len(listed) == 3


def test_a_step_that_is_accepted_is_called_so_in_the_log_and_where_the_history_leaves_it_out(
    commits: list[str], perf: Perf
) -> None:
    store(*in_turns(commits[:2], [1.0, 1.3]))
    perf("check", commits[0], commits[1], code=3)
    assert "accepted" not in perf("log").out
    perf("accept", "sort:wall", "--reason", "it has to be")
    assert ", accepted  sort, wall time\n" in perf("log").out
    assert "not shown: 1 step, accepted (perf history --all)\n" in perf("history").out
    assert "accepted: it has to be" in perf("history", "--all").out


@pytest.mark.parametrize("limit", ["MOST_COMPARED", "MOST_READ_LEVELS"])
def test_where_too_much_would_be_computed_the_log_says_so(
    commits: list[str], perf: Perf, monkeypatch: pytest.MonkeyPatch, limit: str
) -> None:
    monkeypatch.setattr(f"perfvcs.history.marks.{limit}", 0)
    store(*in_turns(commits[:3], [1.0, 1.2, 1.2]))
    out = perf("log").out
    assert "too much is measured to look for lasting changes here: perf history\n" in out
    assert "lasting degradation" not in out
    assert not perf("log", "--json").document["known"]


# -- what `perf check` has said, and the history does not list --------------------------------------


def unlisted(perf: Perf) -> list[tuple[str, str, str]]:
    """Metric, target and reason of what is not listed."""
    rows = printed(perf)["unlisted"]
    listed = perf("history").flat.count("is not listed (")
    assert listed == min(len(rows), 2)
    return [(row["metric"], row["target"], row["reason"]) for row in rows]


def exact(commits: Sequence[str], counts: Sequence[float]) -> list[Profile]:
    """A session per commit of a metric that repeats exactly."""
    return [
        structs.replace(
            profile,
            metrics={"calls": Metric("", kind="deterministic")},
            resources=replace(profile.resources, metrics={"calls": [count] * 10}),
        )
        for profile, count in zip(apart(commits, [1.0] * len(commits)), counts, strict=True)
    ]


def test_a_history_says_that_a_series_is_too_short_for_what_check_found(
    commits: list[str], perf: Perf
) -> None:
    store(*exact(commits[:4], [100, 100, 100, 120]))
    perf("check", commits[2], commits[3], code=3)
    assert unlisted(perf) == [("calls", commits[3], REASON)]
    said = perf("history").flat
    assert (
        f"note: sort, calls +20.0 % is not listed ({REASON}):"
        f" perf check {commits[2][:10]} {commits[3][:10]}" in said
    )


def test_what_the_listed_work_settles_is_not_missed_as_time(commits: list[str], perf: Perf) -> None:
    walls = [noisy(0.01, seed=seed, spread=0.03) for seed in (1, 2)]
    times = interleaved(commits[:2], walls, job=SORT)
    counts = [
        structs.replace(
            profile,
            job=structs.replace(SORT, collector="instructions", engine="counts/1"),
            design=structs.replace(profile.design, executions=2),
            metrics={"instructions": Metric("", kind="deterministic")},
            resources=Resources(
                names=["sort"], uid=[0, 0], execution=[0, 1], metrics={"instructions": [count] * 2}
            ),
        )
        for profile, count in zip(times, (1e6, 1.032e6), strict=True)
    ]
    store(*times, *counts)
    said = perf("check", "--json", commits[0], commits[1], code=3).document["changes"]
    words = {change["metric"]: (change["word"], change["low"]) for change in said}
    assert words["wall"][0] == "degradation" and words["wall"][1] < 0
    assert [finding["metric"] for finding in printed(perf)["findings"]] == ["instructions"]
    assert unlisted(perf) == []
    said_once = perf("history").flat
    assert "settled in turns: sort CPU time, sort wall time" in said_once


def test_a_history_says_that_too_few_commits_follow_what_check_found(
    commits: list[str], perf: Perf
) -> None:
    store(*exact(commits[:10], [*[100, 101] * 4, 100, 130]))
    perf("check", commits[8], commits[9], code=3)
    few = "a step needs 3 commits on both sides: it has 1 commit after it"
    assert unlisted(perf) == [("calls", commits[9], f"not measured in turns, and {few}")]


def test_a_history_says_that_a_change_which_check_found_did_not_last(
    commits: list[str], perf: Perf
) -> None:
    store(*exact(commits[:12], [100, 101, 100, 101, 100, 130, 100, 101, 100, 101, 100, 101]))
    perf("check", commits[4], commits[5], code=3)
    assert unlisted(perf) == [
        ("calls", commits[5], "the whole series shows no lasting change there")
    ]


def test_what_the_history_lists_is_not_called_unlisted(commits: list[str], perf: Perf) -> None:
    store(*in_turns(commits[:3], [1.0, 1.2, 1.2]))
    perf("check", commits[0], commits[1], code=3)
    perf("check", commits[0], commits[2], code=3)
    assert unlisted(perf) == []


def test_what_was_accepted_is_not_called_unlisted(commits: list[str], perf: Perf) -> None:
    store(*exact(commits[:4], [100, 100, 100, 120]))
    perf("check", commits[2], commits[3], code=3)
    perf("accept", "sort:calls", "--reason", "a feature")
    perf("check", commits[2], commits[3])
    assert unlisted(perf) == []


def test_the_newest_value_is_reported_in_words() -> None:
    line = Line(SORT, OTHER, "sort", None, "wall", "s", "lower")
    first, last = "a" * 40, "b" * 40
    newest = Newest(line, 9, last, first, "suspected", -0.2, 0.008, 0.01, 0.0095, 0.0105, 1e-5, 7)
    assert (
        finding.newest(newest)
        == f"suspected improvement at the newest commit {last[:10]}, since {first[:10]}: 8.00 ms,"
        " -20.0 % against the level of 10.0 ms, where 99.9 % of single values are from 9.50 ms"
        " to 10.5 ms; only 7 earlier values are at this level, and the next commit confirms or"
        " withdraws it"
    )
    rarely = structs.replace(newest, support=40, chance=0.0031)
    assert finding.newest(rarely).endswith(
        "; a value as far away has a chance of 0.31 %, and the next commit confirms or withdraws it"
    )
    assert finding.newest(structs.replace(newest, word="improvement")).endswith(
        "from 9.50 ms to 10.5 ms"
    )
