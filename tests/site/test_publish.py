"""`perf publish`: a static site of the history, of which only what moved is written, in a folder
that is nobody else's.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from html.parser import HTMLParser
from pathlib import Path
from random import Random
from typing import Any
from urllib.parse import unquote
from xml.etree import ElementTree

import msgspec
import numpy as np
import pytest
from conftest import Perf, Project
from disks import mounted
from histories import OTHER, PARSE, SORT, grow, measured, stepped, store
from pictures import ATTACKS
from samples import interleaved, sample_profile
from scipy import stats
from waiting import happens

from perfvcs.git.project import Project as Git
from perfvcs.history import record
from perfvcs.index import Index
from perfvcs.index.lines import Line
from perfvcs.profile import Environment, Job, Metric, Profile, Resources
from perfvcs.site import commits as site_commits
from perfvcs.site import feed, front, template
from perfvcs.site import pages as site_pages
from perfvcs.site import seriespage as site_series
from perfvcs.site.commits import Commits
from perfvcs.site.contents import Contents
from perfvcs.site.diffs import Diffs
from perfvcs.site.folder import PATH, Folder
from perfvcs.site.notable import MOST_COMMITS
from perfvcs.text.quantity import change, step

QUICK = ("--profiles", "0")
ATOM = "{http://www.w3.org/2005/Atom}"


def data(path: str, site: str = "site") -> dict[str, Any]:
    """What a page says, by its JSON."""
    found = json.loads(Path(site, path).with_suffix(".json").read_text())
    assert found["format"] == "perfvcs-site/3"
    page: dict[str, Any] = found["page"]
    return page


def series(site: str = "site") -> list[dict[str, Any]]:
    """All pages of series, by benchmark and metric."""
    pages = [data(f"series/{path.name}", site) for path in Path(site, "series").glob("*.json")]
    return sorted(pages, key=lambda page: (page["benchmark"], page["metric"]))


def stamps(site: str = "site") -> dict[str, int]:
    """When every file was written."""
    return {
        str(path.relative_to(site)): path.stat().st_mtime_ns
        for path in Path(site).rglob("*")
        if path.is_file()
    }


def moved(before: dict[str, int], site: str = "site") -> set[str]:
    """The pages that were written since, without their JSON."""
    after = stamps(site)
    return {
        path
        for path in after
        if after[path] != before.get(path) and path.endswith((".html", ".atom", ".svg"))
    }


class Anatomy(HTMLParser):
    """Addresses, elements and handlers of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.addresses: list[str] = []
        self.scripts: list[dict[str, str | None]] = []
        self.images: list[str | None] = []
        self.handlers: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.addresses += [
            value for name, value in attrs if name in ("href", "src") and value is not None
        ]
        self.handlers += [name for name, _ in attrs if name.startswith("on")]
        self.images += [dict(attrs).get("src")] if tag == "img" else []
        if tag == "script":
            self.scripts.append(dict(attrs))


@pytest.fixture
def commits(project: Project) -> list[str]:
    return grow(project, 40)


# -- what is written -------------------------------------------------------------------------------


def test_every_series_and_commit_has_a_page_and_every_link_leads_somewhere(
    commits: list[str], perf: Perf
) -> None:
    store(
        *measured(commits, stepped(40, 25)), *measured(commits[10:], [0.02] * 30, seed=2, job=PARSE)
    )
    assert perf("publish", "site", *QUICK).out.startswith("wrote 45 of 45 pages to site\n")
    # of the first nothing more is known than that it was measured
    assert {path.stem for path in Path("site/commits").glob("*.html")} == {
        commit[:10] for commit in commits[1:]
    }
    listed = data("commits.html")["listed"]
    assert [row["commit"]["id"] for row in listed] == commits[::-1]
    assert f'id="{commits[0][:10]}"' in Path("site/commits.html").read_text()
    assert [page["benchmark"] for page in series()] == ["parse --fast: sort", "sort"]
    pages = list(Path("site").rglob("*.html"))
    for page in pages:
        assert page.with_suffix(".json").exists()
        for address in Anatomy(page.read_text()).addresses:
            assert not re.match(r"(?:[a-z]+:)?//|/", address), address
            target = unquote(address.partition("#")[0])
            assert not target or target.startswith("data:") or (page.parent / target).is_file(), (
                page,
                address,
            )


def test_the_level_of_a_commit_has_the_interval_that_scipy_gives(
    project: Project, perf: Perf
) -> None:
    commit = project.commit()
    walls = [0.010, 0.011, 0.0125, 0.0131]
    store(sample_profile(walls, commit=commit))
    perf("publish", "site", *QUICK)
    (track,) = series()[0]["tracks"]
    logs = np.log(walls)
    ends = np.exp(stats.t.interval(0.99, 3, logs.mean(), stats.sem(logs)))
    assert (track["levels"][0], track["low"][0], track["high"][0]) == pytest.approx(
        (np.exp(logs.mean()), *ends), rel=1e-5
    )
    assert track["executions"] == [4]
    assert series()[0]["frame"]["extent"] == "one commit: no history yet"


def test_a_commit_of_one_execution_has_no_interval(project: Project, perf: Perf) -> None:
    store(*(sample_profile([0.01 + 0.001 * turn], commit=project.commit()) for turn in range(3)))
    perf("publish", "site", *QUICK)
    (track,) = series()[0]["tracks"]
    assert track["low"] == track["high"] == []
    assert [word for _, word, _ in track["compared"]] == ["new", "inconclusive", "inconclusive"]
    assert (
        "commits with fewer than three executions have no interval" in series()[0]["frame"]["notes"]
    )
    cells = [level["cell"] for level in series()[0]["newest"]]
    assert [cell["text"] for cell in cells] == ["○", "○", "new"]
    assert "a single execution has no spread" in cells[0]["detail"]


def test_a_change_counts_once_in_several_environments_and_benchmarks_of_a_commit_have_an_overall_effect(
    project: Project, perf: Perf
) -> None:
    commits = grow(project, 40)
    for name in ("sort", "parse"):
        for seed, place in enumerate((OTHER, sample_profile().environment)):
            store(
                *measured(
                    commits,
                    stepped(40, 25),
                    seed=seed,
                    environment=place,
                    job=Job(name, "time", f"./{name}"),
                )
            )
    perf("publish", "site", *QUICK)
    front = data("index.html")
    assert front["open"] == 2 and front["sentence"].startswith(
        "2 open degradations from 1 commit, "
    )
    (group,) = data("changes.html")["open"]
    assert sorted(step["benchmark"] for step in group["steps"]) == ["parse: sort", "sort"]
    assert all(
        len(step["also"]) == 1 and step["also"][0]["environment"] != step["environment"]
        for step in group["steps"]
    )
    (overall,) = group["overall"]
    assert (overall["metric"], overall["direction"], overall["benchmarks"]) == (
        "wall time",
        "degradation",
        2,
    )
    assert (
        overall["effect"] == pytest.approx(0.1, abs=0.01)
        and "2 benchmarks" in Path("site/changes.html").read_text()
    )
    assert "2 open degradations" in Path("site/badge.svg").read_text()


def test_an_environment_in_which_nothing_is_measured_any_more_is_retired(
    project: Project, perf: Perf
) -> None:
    commits = grow(project, 60, days=1)
    store(*measured(commits[:20], stepped(20, 10)))
    store(*measured(commits, [0.02] * 60, seed=3, environment=OTHER))
    perf("publish", "site", *QUICK)
    front = data("index.html")
    assert (
        front["sentence"].startswith(f"No open degradation at {commits[59][:10]}")
        and front["over"] == 1
    )
    day = project.git("log", "-1", "--format=%as", commits[19]).strip()
    assert [one["retired"] for one in front["environments"]] == ["", day], "it stands last"
    html = Path("site/index.html").read_text()
    assert (
        f"last measured {day}" in html.split('<details class="retired"')[1].split("</summary>")[0]
    )
    (past,) = [step for group in data("changes.html")["past"] for step in group["steps"]]
    assert past["reason"] == f"not measured since {day}"


def test_an_environment_that_was_measured_lately_is_not_retired(
    project: Project, perf: Perf
) -> None:
    commits = grow(project, 60, days=1)
    store(*measured(commits[:45], stepped(45, 20)))
    store(*measured(commits, [0.02] * 60, seed=3, environment=OTHER))
    perf("publish", "site", *QUICK)
    assert data("index.html")["open"] == 1 and not any(
        one["retired"] for one in data("index.html")["environments"]
    )


def test_several_sessions_of_a_commit_are_one_level_with_their_own_scatter(
    project: Project, perf: Perf
) -> None:
    commit = project.commit()
    profiles = [
        profile
        for seed in (1, 2, 3)
        for profile in measured([commit], [0.01 * (1 + 0.1 * seed)], seed=seed)
    ]
    store(*profiles)
    perf("publish", "site", *QUICK)
    (track,) = series()[0]["tracks"]
    logs = [np.log(profile.resources.array("wall")).mean() for profile in profiles]
    assert track["levels"] == [pytest.approx(np.exp(np.mean(logs)), rel=1e-5)]
    reach = stats.t.ppf(0.995, 6) * np.std(logs, ddof=1) / 3**0.5
    assert track["high"][0] / track["levels"][0] == pytest.approx(np.exp(reach), rel=1e-5)
    assert track["executions"] == [9]


def test_a_change_that_lasts_is_open_on_all_pages_until_it_is_undone(
    project: Project, perf: Perf
) -> None:
    commits = grow(project, 60)
    repository = store(*measured(commits[:40], stepped(40, 25)))
    perf("publish", "site", *QUICK, "HEAD~20")
    front = data("index.html")
    assert (front["open"], front["over"]) == (1, 0)
    assert f"; as of {commits[39][:10]} (" in front["sentence"]
    assert front["sentence"].startswith("1 open degradation from 1 commit, which is")
    (group,) = data("changes.html")["open"]
    assert (group["commit"]["id"], group["commit"]["author"]) == (commits[25], "Ada")
    (step,) = group["steps"]
    assert (step["word"], step["state"], step["benchmark"]) == ("degradation", "open", "sort")
    assert step["low"] < 0.1 < step["high"]
    assert data(f"commits/{commits[25][:10]}.html")["steps"] == [step]
    assert series()[0]["steps"] == [step]
    assert "1 open degradation" in Path("site/badge.svg").read_text()
    repository.store.add(measured(commits[40:], [0.010] * 20, seed=2), "More")
    perf("publish", "site", *QUICK)
    assert data("index.html")["sentence"].startswith(f"No open degradation at {commits[59][:10]}")
    past = [step for group in data("changes.html")["past"] for step in group["steps"]]
    assert [(step["word"], step["state"]) for step in past] == [
        ("improvement", "improvement"),
        ("degradation", "over"),
    ]
    assert past[1]["reason"] == f"undone by {commits[40][:10]}"
    assert "no open degradation" in Path("site/badge.svg").read_text()


def test_a_commit_that_is_in_several_lists_of_changes_has_one_anchor(
    commits: list[str], perf: Perf
) -> None:
    slower, faster = stepped(40, 25, high=0.012), stepped(40, 25, high=0.008)
    store(*measured(commits, slower), *measured(commits, faster, seed=2, job=PARSE))
    perf("publish", "site", *QUICK)
    page = data("changes.html")
    short = commits[25][:10]
    assert {page[name][0]["commit"]["short"] for name in ("open", "past")} == {short}
    ids = re.findall(r' id="([^"]+)"', Path("site/changes.html").read_text())
    assert f"c{short}" in ids and len(ids) == len({*ids})


def test_a_commit_that_a_change_may_be_as_well_says_so(project: Project, perf: Perf) -> None:
    commits = grow(project, 120)
    store(*measured(commits, stepped(120, 60, high=0.0106), spread=0.02))
    perf("publish", "site", *QUICK)
    (step,) = series()[0]["steps"]
    shorts = [commit[:10] for commit in commits]
    others = range(shorts.index(step["first"]), shorts.index(step["last"]) + 1)
    assert len(others) == step["commits"] > 1
    for place in others:
        page = data(f"commits/{commits[place][:10]}.html")
        own = commits[place] == step["commit"]["id"]
        assert page["steps"] == ([step] if own else [])
        named = {
            name: step[name]
            for name in (
                "word",
                "direction",
                "state",
                "benchmark",
                "metric",
                "environment",
                "url",
                "commit",
            )
        }
        assert page["may"] == ([] if own else [named])


def test_a_change_has_the_figures_of_the_history_on_every_page(
    project: Project, perf: Perf
) -> None:
    commits = grow(project, 100)
    levels = [0.010, 0.01014, 0.0707, 0.0717, 0.0120]
    store(*measured(commits, [level for level in levels for _ in range(20)], spread=0.001))
    findings = perf("history", "--json").document["findings"]
    said = {
        finding["commit"]: (
            change(finding["effect"], finding["low"], finding["high"]),
            step(finding["before"], finding["after"], "s").replace("->", "→"),
        )
        for finding in findings
    }
    assert len(said) == 4
    perf("publish", "site", *QUICK)
    changes = data("changes.html")
    groups = [group for state in ("open", "accepted", "past") for group in changes[state]]
    lists = [series()[0]["steps"], [step for group in groups for step in group["steps"]]]
    lists += [[step for commit in said for step in data(f"commits/{commit[:10]}.html")["steps"]]]
    for steps in lists:
        assert {row["commit"]["id"]: (row["change"], row["levels"]) for row in steps} == said
    marks = series()[0]["tracks"][0]["steps"]
    assert all(any(effect in mark["text"] for effect, _ in said.values()) for mark in marks)


def test_a_change_that_is_half_undone_is_still_open(project: Project, perf: Perf) -> None:
    commits = grow(project, 60)
    store(*measured(commits, [0.010] * 20 + [0.012] * 20 + [0.0115] * 20))
    perf("publish", "site", *QUICK)
    assert data("index.html")["open"] == 1


def test_an_accepted_change_is_listed_apart_with_its_reason(
    commits: list[str], project: Project, perf: Perf
) -> None:
    store(*measured(commits, stepped(40, 25)))
    accept(project, "1a", 0.12, commits[24], commits[25], "the parser checks its input")
    perf("publish", "site", *QUICK)
    front = data("index.html")
    assert (front["open"], front["accepted"]) == (0, 1)
    assert front["rows"][0]["state"] == "accepted"
    (step,) = data("changes.html")["accepted"][0]["steps"]
    assert (step["state"], step["reason"]) == ("accepted", "the parser checks its input")


def test_a_change_is_accepted_by_a_comparison_of_versions_further_apart(
    commits: list[str], project: Project, perf: Perf
) -> None:
    store(*measured(commits, stepped(40, 25)))
    accept(project, "1a", 0.12, commits[10], commits[39], "known since the release")
    perf("publish", "site", *QUICK)
    assert data("index.html")["accepted"] == 1


@pytest.mark.parametrize(
    ("effect", "baseline", "target"),
    [(0.03, 24, 25), (0.12, 5, 15), (0.12, 30, 39)],
    ids=["smaller", "earlier", "later"],
)
def test_an_acceptance_of_less_or_of_other_commits_accepts_nothing(
    commits: list[str], project: Project, perf: Perf, effect: float, baseline: int, target: int
) -> None:
    store(*measured(commits, stepped(40, 25)))
    accept(project, "1a", effect, commits[baseline], commits[target], "known")
    perf("publish", "site", *QUICK)
    assert data("index.html")["open"] == 1


def accept(
    project: Project, name: str, effect: float, baseline: str, target: str, reason: str
) -> None:
    lines = [
        'benchmark = "sort"',
        'uid = "sort"',
        'metric = "wall"',
        f"effect = {effect}",
        f'reason = "{reason}"',
    ]
    lines += [f'baseline = "{baseline}"', f'target = "{target}"']
    project.write("perf-accepted.toml", "".join(f"{name}.{line}\n" for line in lines))


def test_a_series_that_ended_has_nothing_open(project: Project, perf: Perf) -> None:
    commits = grow(project, 50)
    store(
        *measured(commits[:40], stepped(40, 25)),
        *measured(commits[40:], [0.011] * 10, seed=2, environment=OTHER),
    )
    perf("publish", "site", *QUICK)
    (step,) = [step for group in data("changes.html")["past"] for step in group["steps"]]
    assert step["state"] == "over"
    assert step["reason"].startswith("its series has ended: ")
    old, new = sorted(series()[0]["tracks"], key=lambda track: track["places"])
    assert not old["began"]
    assert "cpu" in new["began"]


def test_a_series_compares_each_version_with_the_measured_one_before(
    commits: list[str], perf: Perf
) -> None:
    levels = [0.010] * 38 + [0.013, 0.0131]
    store(*measured(commits, levels), *measured(commits[::2], [0.02] * 20, seed=3, job=PARSE))
    perf("publish", "site", *QUICK)
    parse, sort = series()
    newest = sort["newest"][:3]
    assert [level["commit"]["id"] for level in newest] == commits[:-4:-1]
    assert [level["cell"]["word"] for level in newest] == [
        "inconclusive",
        "suspected",
        "inconclusive",
    ]
    cell = newest[1]["cell"]
    assert re.fullmatch(r"\+[23]\d\.\d %", cell["text"])
    assert cell["low"] < cell["effect"] < cell["high"]
    assert f"against {commits[37][:10]}" in cell["detail"]
    assert (parse["newest"][0]["commit"]["id"], parse["newest"][0]["cell"]["text"]) == (
        commits[38],
        "○",
    )
    (moved,) = data(f"commits/{commits[38][:10]}.html")["moved"]
    assert (moved["benchmark"], moved["since"]["id"], moved["cell"]) == ("sort", commits[37], cell)


def test_a_metric_of_which_more_is_better_gets_worse_when_it_falls(
    commits: list[str], perf: Perf
) -> None:
    store(
        *turns(
            commits[:2], [1.0, 0.7], metrics={"wall": Metric("op/s", "higher"), "cpu": Metric("s")}
        )
    )
    perf("publish", "site", *QUICK)
    assert cells()[-1][0] == "degradation"
    assert cells(metric="CPU time")[-1][0] == "improvement"


def test_environments_are_named_by_what_tells_them_apart(commits: list[str], perf: Perf) -> None:
    store(
        *measured(commits, [0.01] * 40), *measured(commits, [0.02] * 40, seed=2, environment=OTHER)
    )
    perf("publish", "site", *QUICK)
    front = data("index.html")
    assert [environment["name"] for environment in front["environments"]] == ["another", "test"]
    assert [row["environment"] for row in front["rows"]] == ["another", "test"]
    assert [track["environment"]["name"] for track in series()[0]["tracks"]] == ["another", "test"]


def test_other_metrics_and_sizes_of_a_benchmark_are_linked(commits: list[str], perf: Perf) -> None:
    rows = Resources(
        ["sort"],
        [0, 0],
        [0, 1],
        size=[1.0, 2.0],
        metrics={"wall": [0.01, 0.02], "cpu": [0.01, 0.02]},
    )
    store(
        sample_profile(
            commit=commits[0], resources=rows, metrics={"wall": Metric("s"), "cpu": Metric("s")}
        )
    )
    perf("publish", "site", *QUICK)
    pages = series()
    assert [page["benchmark"] for page in pages] == ["sort [1]", "sort [1]", "sort [2]", "sort [2]"]
    assert [link["name"] for link in pages[1]["siblings"]] == [
        "sort [2], wall time",
        "sort [1], CPU time",
        "sort [2], CPU time",
    ]


def test_commits_that_are_no_line_of_first_parents_are_counted_in_words(
    project: Project, perf: Perf
) -> None:
    first = project.commit("first")
    project.git("switch", "--quiet", "--create", "side")
    side = project.commit("side", a="1")
    project.git("switch", "--quiet", "main")
    project.commit("main", b="1")
    project.git("merge", "--quiet", "--no-edit", "side")
    store(*measured([first, side, project.git("rev-parse", "HEAD")], [0.01] * 3))
    perf("publish", "site", *QUICK)
    assert data("index.html")["notes"] == [
        "1 measured commit is on a branch that was merged, and not on this line."
    ]


def test_values_without_a_logarithm_are_counted_in_words(commits: list[str], perf: Perf) -> None:
    store(*measured(commits[:2], [0.01, 0.02]), *measured(commits[2:4], [0.0, 0.0], seed=2))
    perf("publish", "site", *QUICK)
    assert data("index.html")["notes"] == [
        "Left out: 2 values with a zero, negative or infinite measurement."
    ]


def test_a_page_has_room_for_so_much_and_says_what_it_left_out(
    commits: list[str], perf: Perf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(site_series, "POINTS", 50)
    monkeypatch.setattr(site_series, "TRACKS", 2)
    monkeypatch.setattr(site_pages, "LISTED", 3)
    monkeypatch.setattr(site_commits, "MOST_CHANGES", 3)
    monkeypatch.setattr(front, "LINKS_ROOM", 0)
    places = [
        OTHER,
        Environment({"cpu": "third"}, "c" * 12),
        Environment({"cpu": "fourth"}, "d" * 12),
    ]
    for seed, place in enumerate(places):
        store(
            *measured(
                commits, stepped(40, 20) if seed else stepped(40, 30), seed=seed, environment=place
            )
        )
    store(*measured(commits[:30], stepped(30, 20), seed=5))
    perf("publish", "site", *QUICK)
    (page,) = series()
    assert page["notes"] == [
        "Of 4 environments, the 2 measured last are shown.",
        "The figures show the newest 25 of 40 commits.",
    ]
    assert [len(track["places"]) for track in page["tracks"]] == [25, 25]
    assert all(
        -0.5 <= mark["first"] < mark["place"] < mark["last"] < 25
        for track in page["tracks"]
        for mark in track["steps"]
    )
    assert len(page["steps"]) == 4
    assert len(data("index.html")["rows"]) == 4
    assert Path("site/index.html").read_text().count("<tr data-item") == 3
    assert Path("site/assets/rows.js").read_text().count("<tr data-item") == 1
    assert data("about.html")["notes"] == ["1 more series are not linked here."]
    listed = data("changes.html")
    steps = [step for group in listed["open"] for step in group["steps"]]
    assert (sum(1 + len(step["also"]) for step in steps), listed["left_out"]) == (3, 1)


def test_the_page_about_a_site_has_room_for_so_many_jobs(
    project: Project, perf: Perf, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = project.commit()
    jobs = [Job(f"job{number}", "time", "./x" * 100, engine="launcher/1") for number in range(40)]
    store(*(sample_profile([0.01], commit=commit, job=job) for job in jobs))
    sizes, counts = [], []
    for room in (0, 12_000):
        monkeypatch.setattr(front, "LINKS_ROOM", room)
        perf("publish", "site", *QUICK)
        sizes.append(Path("site/about.html").stat().st_size)
        counts.append(len(data("about.html")["benchmarks"]))
        shutil.rmtree("site")
    assert 0 == counts[0] < counts[1] < 40
    assert 6_000 < sizes[1] - sizes[0] <= 12_000


def test_a_clone_without_its_history_says_so(
    commits: list[str], project: Project, perf: Perf
) -> None:
    store(*measured(commits, [0.01] * 40))
    project.write(".git/shallow", commits[35] + "\n")
    perf("publish", "site", *QUICK)
    assert (
        "This was published from a clone without its whole history: older commits are missing."
        in data("index.html")["notes"]
    )


# -- the feed and the badge ------------------------------------------------------------------------


def test_the_feed_has_an_entry_per_commit_with_its_date(commits: list[str], perf: Perf) -> None:
    store(*measured(commits, stepped(40, 25)))
    perf(
        "publish",
        "site",
        *QUICK,
        "--title",
        "Sorting & more",
        "--base-url",
        "https://example.org/perf/",
    )
    root = ElementTree.fromstring(Path("site/changes.atom").read_text())
    assert root.findtext(f"{ATOM}title") == "Sorting & more"
    assert root.findtext(f"{ATOM}id") == "https://example.org/perf/"
    (entry,) = root.findall(f"{ATOM}entry")
    assert entry.findtext(f"{ATOM}title") == f"{commits[25][:10]} Change 25: 1 degradation"
    assert entry.findtext(f"{ATOM}updated") == "2023-11-14T22:13:20Z"
    assert (
        entry.findtext(f"{ATOM}id") == f"https://example.org/perf/commits/{commits[25][:10]}.html"
    )
    assert "degradation sort, wall time" in (entry.findtext(f"{ATOM}content") or "")


def test_without_an_address_the_feed_has_lasting_ids_and_relative_links(
    commits: list[str], perf: Perf
) -> None:
    store(*measured(commits, stepped(40, 25)))
    perf("publish", "site", *QUICK)
    perf("publish", "elsewhere", *QUICK)
    assert Path("site/changes.atom").read_text() == Path("elsewhere/changes.atom").read_text()
    root = ElementTree.fromstring(Path("site/changes.atom").read_text())
    assert (root.findtext(f"{ATOM}id") or "").startswith("urn:uuid:")
    links = [link.attrib["href"] for link in root.iter(f"{ATOM}link")]
    assert links == ["changes.html", "changes.atom", f"commits/{commits[25][:10]}.html"]


@pytest.mark.parametrize(
    ("when", "moment"),
    [
        ("2024-05-01T10:00:00+02:00", "2024-05-01T08:00:00Z"),
        ("yesterday", feed.EPOCH),
        ("0001-01-01T00:00:00+14:00", feed.EPOCH),
    ],
)
def test_dates_of_the_feed_are_in_utc(when: str, moment: str) -> None:
    assert feed.moment(when) == moment


def test_the_badge_is_svg_that_says_its_text_aloud(commits: list[str], perf: Perf) -> None:
    store(*measured(commits, [0.01] * 40))
    perf("publish", "site", *QUICK)
    root = ElementTree.fromstring(Path("site/badge.svg").read_text())
    assert root.attrib["aria-label"] == "performance: no open degradation"


# -- only what moved is written --------------------------------------------------------------------


def test_nothing_is_written_again_when_nothing_moved(commits: list[str], perf: Perf) -> None:
    store(*measured(commits, stepped(40, 25)))
    perf("publish", "site")
    before = stamps()
    assert perf("publish", "site").out.startswith("wrote 0 of 45 pages to site\n")
    assert stamps() == before


def test_one_more_commit_writes_only_the_pages_it_is_on(project: Project, perf: Perf) -> None:
    commits = grow(project, 80)
    repository = store(
        *measured(commits[:79], [0.01] * 79),
        *measured(commits[:79], [0.02] * 79, seed=2, job=PARSE),
    )
    perf("publish", "site", *QUICK)
    before = stamps()
    repository.store.add(measured(commits[79:], [0.01], seed=3), "One more")
    perf("publish", "site", *QUICK)
    (sort,) = [f"series/{path.name}" for path in Path("site/series").glob("sort-*.html")]
    pair = {f"commits/{commit[:10]}.html" for commit in commits[78:]}
    assert moved(before) == {sort, "index.html", "commits.html", *pair}


def test_a_site_is_the_same_however_it_came_about(project: Project, perf: Perf) -> None:
    commits = grow(project, 50)
    repository = store(*measured(commits[:40], stepped(40, 25)))
    perf("publish", "site", *QUICK)
    repository.store.add(measured(commits[40:], [0.0111] * 10, seed=2), "More")
    perf("publish", "site", *QUICK)
    perf("publish", "anew", *QUICK)
    for path in Path("anew").rglob("*"):
        if path.is_file():
            assert path.read_bytes() == Path("site", path.relative_to("anew")).read_bytes(), path
    Path(".perf/index.db").unlink()
    assert "wrote 0 of" in perf("publish", "site", *QUICK).out


def test_another_title_writes_every_page_and_an_address_only_the_feed(
    commits: list[str], perf: Perf
) -> None:
    store(*measured(commits, stepped(40, 25)))
    perf("publish", "site", *QUICK)
    before = stamps()
    perf("publish", "site", *QUICK, "--base-url", "https://example.org")
    assert moved(before) == {"changes.atom"}
    assert "wrote 44 of 44 pages" in perf("publish", "site", *QUICK, "--title", "Another").out


def test_the_order_of_files_is_not_the_users(project: Project, perf: Perf) -> None:
    commits = grow(project, 2)
    for name in "abc":
        project.write(name, "new")
    commits.append(project.commit())
    store(*measured(commits, [0.01] * 3))
    perf("publish", "site", *QUICK)
    order = Path("order")
    order.write_text("c\nb\n")
    project.git("config", "diff.orderFile", str(order.absolute()))
    perf("publish", "again", *QUICK)
    page = f"commits/{commits[2][:10]}.json"
    assert Path("again", page).read_bytes() == Path("site", page).read_bytes()
    assert [file["path"] for file in data(page.replace(".json", ".html"))["files"]] == [
        "a",
        "b",
        "c",
    ]


def test_a_page_that_was_deleted_or_cut_off_is_written_again(
    commits: list[str], perf: Perf
) -> None:
    store(*measured(commits, stepped(40, 25)))
    perf("publish", "site", *QUICK)
    Path("site/index.html").unlink()
    Path("site/about.html").write_text("<html>")
    assert "wrote 2 of 44 pages" in perf("publish", "site", *QUICK).out
    assert Path("site/about.html").read_text().rstrip().endswith("</html>")


def test_pages_that_are_gone_are_removed_unless_somebody_changed_them(
    commits: list[str], perf: Perf
) -> None:
    store(*measured(commits, stepped(40, 25)))
    perf("publish", "site", *QUICK)
    edited, gone = (Path(f"site/commits/{commit[:10]}.html") for commit in commits[38:])
    edited.write_text("my own words")
    out = perf("publish", "site", *QUICK, "HEAD~2").out
    assert "removed 3 files of pages that are gone\n" in out
    assert "note: left 1 file of pages that are gone, since somebody changed them" in out
    assert edited.read_text() == "my own words"
    assert not gone.exists()


def test_a_revision_before_the_newest_makes_the_site_of_its_past(
    commits: list[str], perf: Perf
) -> None:
    store(*measured(commits, stepped(40, 25)))
    perf("publish", "site", commits[29], *QUICK)
    assert data("index.html")["newest"]["id"] == commits[29]
    assert data("index.html")["commits"] == 30


# -- verdicts of `perf check` ----------------------------------------------------------------------


def turns(commits: Sequence[str], factors: Sequence[float], **overrides: Any) -> list[Any]:
    """Versions that were measured in turns on a machine whose rounds differ by a tenth, which only
    pairs see through.
    """
    rounds = 0.1 * np.exp(np.random.default_rng(8).normal(0, 0.1, 12))
    noise = np.exp(np.random.default_rng(9).normal(0, 0.002, (len(factors), 12)))
    walls = [(rounds * factor * own).tolist() for factor, own in zip(factors, noise, strict=True)]
    return interleaved(commits, walls, job=SORT, **overrides)


def cells(benchmark: str = "sort", metric: str = "wall time") -> list[tuple[str, str]]:
    """Words and texts of a series' newest values, the oldest commit first."""
    (page,) = [
        page for page in series() if (page["benchmark"], page["metric"]) == (benchmark, metric)
    ]
    cells = [level["cell"] for level in page["newest"]]
    return [(cell["word"], cell["text"]) for cell in cells][::-1]


def test_pages_say_of_neighbours_what_perf_check_says(commits: list[str], perf: Perf) -> None:
    store(*turns(commits[:4], [1.0, 1.05, 1.05, 1.02]))
    perf("publish", "site", *QUICK)
    assert [word for word, _ in cells()] == ["new", "degradation", "same", "improvement"]
    (url,) = [path.name for path in Path("site/series").glob("*wall*.html")]
    report = perf("check", "--json", commits[0], commits[1], code=3).document
    (change,) = [one for one in report["changes"] if one["metric"] == "wall"]
    (row,) = [
        row
        for row in data(f"commits/{commits[1][:10]}.html")["moved"]
        if row["metric"] == "wall time"
    ]
    assert row["cell"]["word"] == "degradation"
    track = data(f"series/{url}")["tracks"][0]
    rows, words, effects = zip(*track["compared"], strict=True)
    assert (rows, words) == ((0, 1, 2, 3), ("new", "degradation", "same", "improvement"))
    assert effects[1] == pytest.approx(change["effect"], abs=1e-6)
    before, told = stamps(), cells()[1][1]
    perf("publish", "site", *QUICK)
    assert moved(before) == set()
    perf("accept", row["accept"], "--reason", "checks its input")
    perf("publish", "site", *QUICK)
    assert f"series/{url}" in moved(before)
    assert [word for word, _ in cells()] == ["new", "accepted", "same", "improvement"]
    assert cells()[1][1] == told


def test_verdicts_hold_in_the_environment_in_which_they_were_measured(
    commits: list[str], perf: Perf
) -> None:
    store(
        *turns(commits[:2], [1.0, 1.05]),
        *turns(commits[:2], [1.0, 1.0], session="other", environment=OTHER),
    )
    perf("publish", "site", *QUICK)
    (page,) = [page for page in series() if page["metric"] == "wall time"]
    words: dict[str, list[str]] = {}
    for level in page["newest"]:
        words.setdefault(level["environment"], []).append(level["cell"]["word"])
    assert sorted(words.values()) == [["degradation", "new"], ["same", "new"]]


# -- pages of profiles -----------------------------------------------------------------------------


def test_the_newest_profile_of_each_job_has_a_page_of_its_own(
    commits: list[str], perf: Perf
) -> None:
    store(*measured(commits[:3], [0.01] * 3), *measured(commits[1:2], [0.02], seed=2, job=PARSE))
    perf("publish", "site")
    links = {page["benchmark"]: page["tracks"][0]["profile"] for page in series()}
    assert sorted(
        f"profiles/{path.name}" for path in Path("site/profiles").glob("*.html")
    ) == sorted(links.values())
    page = Path("site", links["sort"])
    beside = json.loads(page.with_suffix(".json").read_text())
    assert [profile["job"]["name"] for profile in beside["target"]] == ["sort"] and not beside[
        "baseline"
    ]
    back = re.findall(r'<a href="([^"#]+)"', page.read_text())
    assert (page.parent / back[0]).resolve() == Path("site/index.html").resolve() and back[
        2
    ] == page.with_suffix(".json").name
    assert "sort" in (page.parent / back[1]).read_text()
    assert f"sort at {commits[2][:10]}, test" in Path("site", links["sort"]).read_text()
    assert (
        f"parse --fast: sort at {commits[1][:10]}, test"
        in Path("site", links["parse --fast: sort"]).read_text()
    )


def test_a_metric_of_two_collectors_has_two_names_from_then_on(
    commits: list[str], perf: Perf
) -> None:
    store(*measured(commits[:3], [0.01] * 3))
    perf("publish", "site", *QUICK)
    assert {page["benchmark"] for page in series()} == {"sort"}
    again = Job("sort", "counters", "./sort", engine="proc+launcher/1")
    store(
        *measured(commits[:3], [0.01] * 3), *measured(commits[1:3], [0.02] * 2, seed=2, job=again)
    )
    perf("publish", "site", *QUICK)
    assert {page["benchmark"] for page in series()} == {"sort (time)", "sort (counters)"}
    assert {row["benchmark"] for row in data("index.html")["rows"]} == {
        "sort (time)",
        "sort (counters)",
    }


def test_of_many_jobs_only_profiles_with_more_than_executions_have_pages(
    commits: list[str], perf: Perf
) -> None:
    other = Job("calls", "complexity", "./calls", engine="fentry/1")
    store(*(sample_profile(commit=commits[0], job=job) for job in (SORT, PARSE, other)))
    perf("publish", "site", "--profiles", "2")
    assert [
        path.name.startswith("calls-complexity-") for path in Path("site/profiles").iterdir()
    ] == [True, True]
    assert (
        perf("publish", "site", "--profiles", "0").out.splitlines()[1]
        == "removed 2 files of pages that are gone"
    )


# -- a folder that is nobody else's ----------------------------------------------------------------


@pytest.fixture
def ready(commits: list[str]) -> list[str]:
    store(*measured(commits[:3], [0.01] * 3))
    return commits


def refused(perf: Perf, folder: str = "site", code: int = 2) -> str:
    """The one line with which publishing fails; nothing in the folder changes."""
    before = contents(Path(folder))
    said = perf("publish", folder, *QUICK, code=code)
    assert contents(Path(folder)) == before
    assert said.err.count("\n") == 1
    return said.err


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.usefixtures("ready")
def test_a_folder_with_other_things_is_refused_and_stays_as_it_is(perf: Perf) -> None:
    Path("site").mkdir()
    for name in ("a", "b", "c", "d"):
        Path("site", name).write_text("mine")
    message = refused(perf)
    assert "site is neither empty nor a site of perfvcs, it has `a`, `b`, `c` and 1 more" in message
    assert "publish into a folder of its own" in message


@pytest.mark.usefixtures("ready")
def test_an_empty_folder_may_have_what_hosts_of_pages_want(perf: Perf) -> None:
    Path("site").mkdir()
    Path("site/CNAME").write_text("perf.example.org")
    Path("site/.nojekyll").touch()
    perf("publish", "site", *QUICK)
    perf("publish", "site", *QUICK)
    assert Path("site/CNAME").read_text() == "perf.example.org"


@pytest.mark.usefixtures("ready")
def test_files_beside_ours_are_left_alone_and_none_is_overwritten(perf: Perf) -> None:
    perf("publish", "site", *QUICK)
    Path("site/notes.html").write_text("mine")
    perf("publish", "site", *QUICK)
    assert Path("site/notes.html").read_text() == "mine"
    manifest = json.loads(Path("site/.perfvcs-site.json").read_text())
    del manifest["files"]["index.html"]
    Path("site/.perfvcs-site.json").write_text(json.dumps(manifest))
    assert "`index.html` in site would be overwritten" in refused(perf)


@pytest.mark.usefixtures("ready")
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "is damaged"),
        ("[]", "is damaged"),
        (
            '{"format": "perfvcs-site/99", "generator": ""}',
            "was published by another version (perfvcs-site/99)",
        ),
    ],
)
def test_a_list_of_files_that_cannot_be_read_is_refused(
    perf: Perf, text: str, message: str
) -> None:
    perf("publish", "site", *QUICK)
    Path("site/.perfvcs-site.json").write_text(text)
    assert message in refused(perf)


@pytest.mark.usefixtures("ready")
def test_a_hostile_list_of_files_removes_nothing_outside(perf: Perf, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    perf("publish", "site", *QUICK)
    manifest = json.loads(Path("site/.perfvcs-site.json").read_text())
    names = [
        str(victim),
        "../../victim",
        "commits/../../../victim",
        "../victim",
        ".",
        "",
        "nowhere/x.html",
    ]
    manifest["files"] |= {name: ["0", 8, "0"] for name in names}
    manifest["pending"] = names
    Path("site/.perfvcs-site.json").write_text(json.dumps(manifest))
    perf("publish", "site", *QUICK)
    assert victim.read_text() == "precious"
    assert set(json.loads(Path("site/.perfvcs-site.json").read_text())["files"]).isdisjoint(names)


@pytest.mark.usefixtures("ready")
def test_links_in_the_folder_are_not_followed(perf: Perf, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "index.html").write_text("precious")
    Path("site").mkdir()
    perf("publish", "site", *QUICK)
    Path("site/index.html").unlink()
    Path("site/index.html").symlink_to(outside / "index.html")
    perf("publish", "site", *QUICK)
    assert (outside / "index.html").read_text() == "precious"
    assert not Path("site/index.html").is_symlink()
    for path in Path("site/series").iterdir():
        path.unlink()
    Path("site/series").rmdir()
    Path("site/series").symlink_to(outside)
    assert "site/series is not a folder of the site" in refused(perf)
    assert [path.name for path in outside.iterdir()] == ["index.html"]


@pytest.mark.usefixtures("ready")
def test_a_folder_in_the_place_of_a_page_is_refused_and_one_of_a_half_written_file_left(
    perf: Perf,
) -> None:
    perf("publish", "site", *QUICK)
    Path("site/.index.html.perfvcs-part").mkdir()
    perf("publish", "site", *QUICK)
    Path("site/.about.html.perfvcs-part").write_text("half")
    perf("publish", "site", *QUICK)
    assert [path.name for path in Path("site").glob(".*part")] == [".index.html.perfvcs-part"]
    Path("site/index.html").unlink()
    Path("site/index.html").mkdir()
    assert "`index.html` in site would be overwritten" in refused(perf)


@pytest.mark.usefixtures("ready")
def test_a_list_of_files_that_is_a_link_or_a_pipe_is_refused(perf: Perf, tmp_path: Path) -> None:
    perf("publish", "site", *QUICK)
    Path("site/.perfvcs-site.json").rename(tmp_path / "list")
    Path("site/.perfvcs-site.json").symlink_to(tmp_path / "list")
    assert "was not written by perfvcs" in refused(perf)
    Path("site/.perfvcs-site.json").unlink()
    os.mkfifo("site/.perfvcs-site.json")
    assert "is damaged" in refused(perf)


@pytest.mark.usefixtures("ready")
def test_the_folder_itself_may_be_a_link_and_is_made_with_its_parents(
    perf: Perf, tmp_path: Path
) -> None:
    (tmp_path / "real").mkdir()
    Path("site").symlink_to(tmp_path / "real")
    perf("publish", "site", *QUICK)
    assert (tmp_path / "real/index.html").exists()
    perf("publish", "deep/er/site", *QUICK)
    assert Path("deep/er/site/index.html").exists()


@pytest.mark.usefixtures("ready")
def test_a_file_in_the_place_of_the_folder_is_reported(perf: Perf) -> None:
    Path("file").write_text("mine")
    assert "file/site is not a folder" in perf("publish", "file/site", code=2).err
    assert Path("file").read_text() == "mine"


@pytest.mark.usefixtures("ready")
def test_a_folder_that_cannot_be_made_is_reported_in_one_line(perf: Perf) -> None:
    Path("one").symlink_to("other")
    Path("other").symlink_to("one")
    for name in ("y" * 300, "one/site", "/proc/site"):
        said = perf("publish", name, code=2).err
        assert (
            "cannot be made (" in said and "name another folder" in said and said.count("\n") == 1
        )


@pytest.mark.parametrize(
    "address",
    [
        "foo bar",
        "example.org/perf",
        "https://",
        "https://example.org/perf?q=1",
        "https://example.org/#x",
        "javascript:alert(1)",
        "http://[x",
    ],
)
@pytest.mark.usefixtures("ready")
def test_an_address_below_which_nothing_can_be_found_is_refused(perf: Perf, address: str) -> None:
    assert (
        "give one like https://example.org/perf/"
        in perf("publish", "site", "--base-url", address, code=2).err
    )
    assert not Path("site").exists()


@pytest.mark.usefixtures("ready")
def test_two_at_once_are_refused(perf: Perf) -> None:
    Path("site").mkdir()
    descriptor = os.open("site", os.O_RDONLY)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    try:
        assert "another process is publishing to site: run the command again" in refused(
            perf, code=11
        )
    finally:
        os.close(descriptor)


@pytest.mark.usefixtures("ready")
def test_what_a_failure_left_half_done_is_ours_and_gets_done(
    perf: Perf, monkeypatch: pytest.MonkeyPatch
) -> None:
    put = Folder._put
    written = 0

    def failing(folder: Folder, path: str, content: bytes) -> None:
        nonlocal written
        written += 1
        if written > 8:
            raise OSError(28, "No space left on device")
        put(folder, path, content)

    with monkeypatch.context() as patch:
        patch.setattr(Folder, "_put", failing)
        assert "the disk is full" in perf("publish", "site", *QUICK, code=1).err
    assert json.loads(Path("site/.perfvcs-site.json").read_text())["files"] == {}
    perf("publish", "site", *QUICK)
    perf("publish", "whole", *QUICK)
    assert {path.name for path in Path("site").rglob("*")} == {
        path.name for path in Path("whole").rglob("*")
    }
    assert json.loads(Path("site/.perfvcs-site.json").read_text())["pending"] == []


@pytest.mark.usefixtures("ready")
def test_a_page_that_cannot_be_put_in_its_place_leaves_nothing_behind(
    perf: Perf, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("os.rename", failing_rename)
        assert "the disk quota is used up" in perf("publish", "site", *QUICK, code=1).err
    assert [path for path in Path("site").rglob("*") if path.is_file()] == []


def failing_rename(*_: object, **__: object) -> None:
    raise OSError(errno.EDQUOT, "Disk quota exceeded")


@pytest.mark.usefixtures("ready")
def test_a_link_in_the_place_of_a_page_that_is_gone_is_left(
    perf: Perf, tmp_path: Path, ready: list[str]
) -> None:
    perf("publish", "site", *QUICK)
    page = Path(f"site/commits/{ready[2][:10]}.html")
    page.rename(tmp_path / "page")
    page.symlink_to(tmp_path / "page")
    assert "left 1 file of pages that are gone" in perf("publish", "site", ready[1], *QUICK).out
    assert page.is_symlink()


def test_a_kill_at_any_moment_leaves_whole_pages(project: Project, perf: Perf) -> None:
    commits = grow(project, 200)
    store(*measured(commits, [0.01] * 200))
    perf("publish", "whole", *QUICK)
    command = [sys.executable, "-m", "perfvcs", "publish", "site", *QUICK]
    for turn in range(4):
        with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
            assert happens(
                lambda turn=turn: len(list(Path("site/commits").glob("*.html"))) > 40 * turn
            )  # type: ignore[misc]
            process.send_signal(signal.SIGKILL)
        for path in Path("site").rglob("*.html"):
            assert path.read_bytes() == Path("whole", path.relative_to("site")).read_bytes()
    perf("publish", "site", *QUICK)
    assert {path.name for path in Path("site").rglob("*")} == {
        path.name for path in Path("whole").rglob("*")
    }


@pytest.mark.usefixtures("ready")
@pytest.mark.needs("mount")
def test_a_full_disk_at_any_level_leaves_a_folder_that_can_be_published_to(
    perf: Perf, tmp_path: Path
) -> None:
    with mounted(tmp_path / "disk", "size=4m") as disk:
        failed = 0
        for pages in (*range(12), 20, 40):  # that are left on the disk
            site, filler = disk / f"site{pages}", disk / "filler"
            room = os.statvfs(disk).f_bavail - pages
            with filler.open("wb") as file:
                file.write(bytes(room * os.statvfs(disk).f_bsize))
            said = perf("publish", str(site), *QUICK, code=None)
            assert said.code == 0 or "the disk is full" in said.err
            failed += said.code != 0
            filler.unlink()
            assert "wrote" in perf("publish", str(site), *QUICK).out
            assert json.loads((site / ".perfvcs-site.json").read_text())["pending"] == []
            for path in sorted(site.rglob("*"), reverse=True):
                path.rmdir() if path.is_dir() else path.unlink()
            site.rmdir()
        assert failed >= 12


@pytest.mark.usefixtures("ready")
def test_a_kill_before_the_first_page_leaves_a_folder_that_can_be_published_to(perf: Perf) -> None:
    """The moments are those at which folders and files are made, one after the other, from the
    first on.
    """
    killed = (
        "import os, signal, sys\n"
        "left = int(sys.argv.pop(1))\n"
        "def count(event, args):\n"
        "    global left\n"
        "    if event in ('os.mkdir', 'os.rename', 'open') and 'site' in os.listdir():\n"
        "        left -= 1\n"
        "        left or os.kill(os.getpid(), signal.SIGKILL)\n"
        "from perfvcs.cli import group\n"
        "from perfvcs.site import folder, publication\n"
        "sys.addaudithook(count)\n"
        "group(['publish', 'site', '--profiles', '0'])\n"
    )
    for moment in range(1, 16):
        done = subprocess.run(
            [sys.executable, "-c", killed, str(moment)], capture_output=True, check=False
        )
        assert done.returncode == -signal.SIGKILL, done.stderr
        perf("publish", "site", *QUICK)
        shutil.rmtree("site")


def test_benchmarks_that_others_store_meanwhile_come_with_the_next_site(
    commits: list[str], perf: Perf, monkeypatch: pytest.MonkeyPatch
) -> None:
    store(*measured(commits, [0.01] * 40))
    read = Index.lines

    def and_others_store(index: Index) -> dict[int, Line]:
        found = read(index)
        other = store(*measured(commits, [0.02] * 40, job=PARSE))
        other.store.remove(other.store.paths(commits[-1]), "Gone")
        other.index.close()
        return found

    with monkeypatch.context() as patch:
        patch.setattr(Index, "lines", and_others_store)
        perf("publish", "site")
    assert [page["benchmark"] for page in series()] == ["sort"]
    assert len(list(Path("site/profiles").glob("*.html"))) == 1
    perf("publish", "site")
    assert [page["benchmark"] for page in series()] == ["parse --fast: sort", "sort"]


def test_a_commit_says_the_newest_changes_that_may_be_its(commits: list[str]) -> None:
    """Against the simplest way to find them."""
    chance = Random(3)
    levels = [0.01 * 1.1 ** (number // 10) for number in range(40)]
    jobs = [
        Job(name=f"job{number}", collector="time", cmd="true", engine="launcher/1")
        for number in range(12)
    ]
    kept_places = [sorted(chance.sample(range(40), 26)) for _ in jobs[1:]]
    kept_places.append([*range(8), *range(32, 40)])  # its step may be at any of 25 commits
    for job, kept in zip(jobs, kept_places, strict=True):
        store(
            *measured(
                [commits[place] for place in kept],
                [levels[place] for place in kept],
                seed=chance.randrange(99),
                job=job,
            )
        )
    repository = store(*measured(commits, levels))
    contents = Contents(repository, record.read(repository, "HEAD"))
    own, may = Commits(contents)._steps
    expected: dict[int, list[tuple[int, int]]] = {place: [] for place in contents.record.measured}
    wide = 0
    for pair in contents.found:
        finding = contents.finding(*pair)
        if finding.commits > MOST_COMMITS:  # any of so many, which says nothing of each
            wide += 1
            continue
        for place in range(contents.places[finding.first], contents.places[finding.last] + 1):
            if place != finding.turn and place in expected:
                expected[place].append(pair)
    assert wide
    assert sum(map(len, expected.values())) > 20
    assert may == {place: pairs for place, pairs in expected.items() if pairs}
    assert sum(map(len, own.values())) == len(contents.found)


# -- names -----------------------------------------------------------------------------------------


def test_hostile_names_are_only_text_on_every_page(project: Project, perf: Perf) -> None:
    commits = []
    for number, attack in enumerate(ATTACKS):
        name = re.sub(r"[/\0\ud800-\udfff]", "", attack)[:80].strip() or "space"
        project.write(name, str(number))
        project.git("add", "--all")
        message, author = (
            attack.replace("\0", ""),
            re.sub(r"[<>\n\0]", "", attack).strip(" .'`;:") or "Ada",
        )
        project.git(
            "commit",
            "--quiet",
            "--message",
            message if message.strip() else "x",
            "--author",
            f"{author[:200]} <a@b>",
        )
        commits.append(project.git("rev-parse", "HEAD"))
    chance = np.random.default_rng(1)
    profiles = []
    for turn, commit in enumerate(commits):
        for fingerprint in ("0123456789ab", ATTACKS[0]):
            values = [
                0.01 * (1 + (turn >= 6)) * value
                for value in chance.lognormal(0, 0.001, 3 * len(ATTACKS)).tolist()
            ]
            uids = [number for number in range(len(ATTACKS)) for _ in range(3)]
            rows = Resources(
                list(ATTACKS), uids, [0, 1, 2] * len(ATTACKS), metrics={"wall": values}
            )
            where = Environment(
                {ATTACKS[0]: ATTACKS[1], "cpu": f"{ATTACKS[0]}{fingerprint}"}, fingerprint
            )
            job = Job(ATTACKS[0], "time", "./x", ATTACKS[1], ATTACKS[3], engine="launcher/1")
            metrics = {"wall": Metric(ATTACKS[0])}
            profiles.append(
                sample_profile(
                    commit=commit, job=job, environment=where, resources=rows, metrics=metrics
                )
            )
    store(*profiles)
    perf(
        "publish",
        "site",
        "--profiles",
        "1",
        "--title",
        ATTACKS[0],
        "--base-url",
        "https://example.org/a&b'c/",
    )
    front = data("index.html")
    assert len(front["rows"]) == 2 * len(ATTACKS)
    assert front["open"] == len(ATTACKS), "a change counts once in however many environments"
    for path in Path("site").rglob("*"):
        if path.is_file() and path.name != ".perfvcs-site.json":
            assert PATH.fullmatch(str(path.relative_to("site")))
            assert len(path.name) < 200
            assert path.stat().st_size < 3_000_000
        if path.suffix == ".html":
            anatomy = Anatomy(path.read_text())
            assert set(anatomy.images) <= {"badge.svg"}
            assert not anatomy.handlers
            assert all(
                set(script) <= {"src", "defer"} or script["type"] == "application/json"
                for script in anatomy.scripts
            )
    ElementTree.fromstring(Path("site/changes.atom").read_text())
    for page in series():
        (embedded,) = re.findall(
            r'<script type="application/json" id="data">(.*?)</script>',
            Path("site", front["rows"][0]["url"]).read_text(),
            re.S,
        )
        assert "<" not in embedded
        assert len(page["tracks"]) == 2


def test_addresses_are_readable_safe_and_lasting() -> None:
    assert (
        template.slug("Sort --Reverse Data/1k.txt", "wall", of="x")
        == "sort-reverse-data-1k.txt-wall-ba2df4903a"
    )
    assert template.slug("../..", "CON", of="x") == "con-ba2df4903a"
    found = {template.slug(attack, of=attack) for attack in ATTACKS}
    assert len(found) == len(ATTACKS)
    assert all(
        re.fullmatch(r"[a-z0-9._-]{10,60}", name) and not name.startswith((".", "-"))
        for name in found
    )


def test_commits_whose_short_ids_are_the_same_keep_their_full_ones() -> None:
    one, two, other = "1234567890" + "a" * 30, "1234567890" + "b" * 30, "f" * 40
    assert template.shorts([one, two, other]) == {one: one, two: two, other: "f" * 10}


def test_environments_that_differ_in_nothing_are_distinguished_by_their_fingerprints() -> None:
    found = template.environments(
        [
            Environment({"cpu": "x"}, "aaaaaaaa"),
            Environment({"cpu": "x"}, "bbbbbbbb"),
            Environment({}, ""),
        ],
        {},
    )
    assert {mark: one.name for mark, one in found.items()} == {
        "aaaaaaaa": "x aaaaaa",
        "bbbbbbbb": "x bbbbbb",
        "": "no cpu",
    }
    assert [one.name for one in template.environments([Environment({}, "cccc")], {}).values()] == [
        "cccc"
    ]


# -- files of commits ------------------------------------------------------------------------------


def test_the_files_of_commits_are_those_against_their_first_parents(project: Project) -> None:
    first = project.commit("first", **{"a b.txt": "1", "deep/c": "1", "\x1enasty\nname": "1"})
    project.git("switch", "--quiet", "--create", "side")
    project.commit("side", d="1")
    project.git("switch", "--quiet", "main")
    (project.root / "deep/c").unlink()
    second = project.commit("second", **{"a b.txt": "2"})
    empty = project.commit("empty")
    project.git("merge", "--quiet", "--no-edit", "side")
    merge = project.git("rev-parse", "HEAD")
    diffs = Diffs(Git.find(project.root))
    diffs.fetch([first, second, empty, merge])
    told = [
        [(file.status, file.path) for file in diffs.of(commit).files]
        for commit in (first, second, empty, merge)
    ]
    assert told == [
        [("A", "␞nasty␊name"), ("A", "a b.txt"), ("A", "deep/c")],
        [("M", "a b.txt"), ("D", "deep/c")],
        [],
        [("A", "d")],
    ]


def test_of_very_many_files_the_first_are_listed_and_the_others_counted(project: Project) -> None:
    for number in range(420):
        project.write(f"{number:03}", "x")
    commit = project.commit()
    diff = Diffs(Git.find(project.root)).of(commit)
    assert (len(diff.files), diff.more) == (400, 20)
    assert (len(diff.first(8).files), diff.first(8).more) == (8, 412)


# -- what cannot be published ----------------------------------------------------------------------


@pytest.mark.usefixtures("commits")
def test_a_history_without_profiles_is_reported_and_makes_no_folder(perf: Perf) -> None:
    store()
    assert (
        "no commit on the way to HEAD has profiles: measure some with `perf collect`"
        in perf("publish", "site", code=4).err
    )
    assert not Path("site").exists()


def test_a_history_of_zeros_has_no_logarithm_and_that_is_reported(
    commits: list[str], perf: Perf
) -> None:
    store(*measured(commits[:3], [0.0] * 3))
    assert (
        "no commit on the way to HEAD has values above 0, of which a history is drawn"
        in perf("publish", "site", code=4).err
    )
    assert not Path("site").exists()


def test_profiles_of_uncommitted_changes_are_not_published(commits: list[str], perf: Perf) -> None:
    store(*measured(commits[:1], [0.01], dirty="a" * 64))
    assert (
        "those of uncommitted changes do not count, commit them"
        in perf("publish", "site", code=4).err
    )


@pytest.mark.usefixtures("ready")
def test_an_unknown_revision_is_reported(perf: Perf) -> None:
    assert "`v9` is not a revision here" in perf("publish", "site", "v9", code=2).err
    assert "--profiles" in perf("publish", "site", "--profiles", "-1", code=2).err


@pytest.mark.usefixtures("ready")
def test_a_folder_that_git_would_take_for_a_change_is_reported(
    project: Project, perf: Perf, tmp_path: Path
) -> None:
    out = perf("publish", "site", *QUICK).out
    assert "takes site for an uncommitted change: add it to .gitignore" in " ".join(out.split())
    assert all(len(line) <= 80 for line in out.splitlines())
    project.write(".gitignore", "site/\n")
    assert "note:" not in perf("publish", "site", *QUICK).out
    assert "note:" not in perf("publish", str(tmp_path / "outside"), *QUICK).out


def curve(commits: Sequence[str]) -> list[Profile]:
    """Two commits measured in turns: a job as a whole, and its function at six sizes, which becomes
    linear.
    """
    found = []
    for slower, profile in enumerate(interleaved(commits, [[0.01] * 10, [0.02] * 10])):
        random = Random(slower)
        calls = [
            (turn, size) for turn in range(10) for size in (10.0, 20.0, 40.0, 80.0, 160.0, 320.0)
        ]
        times = [1e-6 * (1 + slower * size) * random.uniform(0.99, 1.01) for _, size in calls]
        rows = Resources(
            ["sort", "insert"],
            [0] * 10 + [1] * len(calls),
            [*range(10), *(turn for turn, _ in calls)],
            size=[None] * 10 + [size for _, size in calls],
            metrics={"wall": [*profile.resources.metrics["wall"], *times]},
        )
        found.append(
            msgspec.structs.replace(profile, resources=rows, metrics={"wall": Metric("s")})
        )
    return found


def test_a_commit_has_one_line_per_curve_with_the_levels_of_its_verdict_and_a_whole_without_its_units(
    commits: list[str], perf: Perf
) -> None:
    store(*curve(commits[:2]))
    perf("publish", "site", *QUICK)
    page = data(f"commits/{commits[1][:10]}")
    said = perf("check", *commits[:2], code=3).flat
    assert f"{commits[1][:10]}: sort: insert became" in said  # a page has the same order
    assert [row["benchmark"] for row in page["moved"]] == ["sort: insert", "sort"]
    change, levels = page["moved"][0]["cell"]["effect"], page["moved"][0]["levels"]
    assert levels.endswith("µs at size 320")
    before, after = map(float, re.findall(r"[\d.]+", levels)[:2])
    assert after / before - 1 == pytest.approx(change, rel=0.1)
    (job,) = page["jobs"]
    assert (job["levels"], job["series"]) == ("10 → 20 ms", 2)


@pytest.mark.parametrize(("series", "steps"), [(2, 1), (1, 0), (9, 9), (2, 9)])
def test_a_page_lists_what_moved_however_much_is_cut_off(
    commits: list[str], monkeypatch: pytest.MonkeyPatch, perf: Perf, series: int, steps: int
) -> None:
    monkeypatch.setattr(site_commits, "MOST_SERIES", series)
    monkeypatch.setattr(site_commits, "LISTED_STEPS", steps)
    levels = [0.01 if place < 14 else 0.012 for place in range(20)]
    for number in range(4):
        job = Job(f"job{number}", "process", f"./job{number}")
        store(*measured(commits[:20], levels, seed=number + 1, job=job))
    perf("publish", "site", *QUICK)
    page = data(f"commits/{commits[14][:10]}")
    html = Path(f"site/commits/{commits[14][:10]}.html").read_text(encoding="utf-8")
    assert len(page["steps"]) == min(steps, 4) and page["unlisted"] == 4 - min(steps, 4)
    assert (f">{page['unlisted']} more are not listed.<" in html) == bool(page["unlisted"])
    assert page["lasting"].startswith("at least ") == (0 < steps < 4)
    others = [row for row in page["moved"] if not row["lasting"]]
    assert len(others) == min(series, 4 - min(steps, 4))
    assert page["left_out"] == page["unlisted"] - len(others)
    assert (f">{page['left_out']} smaller ones are not listed.<" in html) == bool(page["left_out"])
    assert "Nothing else moved" not in html or not others


# -- what was not compared -------------------------------------------------------------------------


def test_a_commit_with_a_lasting_change_leads_with_it_and_older_ones_say_they_are_not_compared(
    commits: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(record, "COMPARED", 3)
    levels = [0.01 if place < 14 else 0.012 for place in range(40)]
    repository = store(*measured(commits, levels))
    contents = Contents(repository, record.read(repository, "HEAD"))
    ((series, turn),) = contents.found
    place = contents.finding(series, turn).turn
    pages = Commits(contents)
    own = pages.page(place)
    assert own.lasting.startswith("1 lasting degradation is laid to this commit: ")
    assert own.steps[0].change in own.lasting
    assert "slower" in own.sentence
    assert own.moved and own.rest == ""
    older = pages.page(place - 3)
    assert older.sentence.startswith("Older than the newest ") and not older.lasting
    assert (
        older.next
        == f"compare them: `perf check {commits[place - 4][:10]} {commits[place - 3][:10]}`"
    )
    assert "not compared" not in pages.page(39).rest
    assert pages.page(0).sentence == "Nothing before this commit to compare with."
