from __future__ import annotations

import json
import os
import pty
import shutil
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from browsing import documents
from conftest import Perf, Project
from samples import interleaved, noisy, sample_profile

from perfvcs.profile import Design, Resources
from perfvcs.profile.decoding import decode
from perfvcs.reports.show import subject_of
from perfvcs.repository import Repository

PERF = str(Path(sys.executable).with_name("perf"))


@pytest.fixture
def history(project: Project) -> list[str]:
    """Three measured commits."""
    commits = [project.commit(f"version <b>{number}") for number in range(3)]
    walls = [noisy(0.01, seed=1), noisy(0.01, seed=2), noisy(0.012, seed=3)]
    Repository.find(create=True).store.add(interleaved(commits, walls), "test")
    return commits


@pytest.mark.parametrize(
    ("names", "file", "words"),
    [
        ((), "HEAD.html", ["version &lt;b&gt;2", "sort", "seed 5"]),
        (("HEAD~1",), "head-1.html", ["version &lt;b&gt;1"]),
        (("HEAD~1", "HEAD"), "head-1-head.html", ["degradation", "+20", "CPU time"]),
        (("sort",), "sort.html", ["sort: history", "Newest values"]),
    ],
)
@pytest.mark.usefixtures("history")
def test_a_page_is_written_for_what_was_named(
    project: Project, perf: Perf, names: tuple[str, ...], file: str, words: list[str]
) -> None:
    said = perf("show", "--no-open", *names)
    path = project.root / ".perf" / "pages" / file
    assert said.out == f"wrote {path}\n"
    page = path.read_text()
    assert all(word in page for word in words)
    assert "<b>2" not in page


@pytest.mark.usefixtures("history")
def test_a_page_goes_where_it_is_reported(perf: Perf, tmp_path: Path) -> None:
    perf("show", "-o", str(tmp_path / "page.html"))
    assert (tmp_path / "page.html").stat().st_size > 100_000
    assert list(tmp_path.glob(".*part")) == []
    assert (
        "choose another -o" in perf("show", "-o", str(tmp_path / "none" / "page.html"), code=2).err
    )


@pytest.mark.parametrize(
    ("arguments", "code", "cure"),
    [
        (("nonsense",), 2, "nor is it a benchmark; there are: sort"),
        (("srot",), 2, "did you mean `sort`"),
        (("--view", "distributoin"), 2, "did you mean `distribution`"),
        (("--view", "history"), 2, "does not fit"),
        (("HEAD", "HEAD~1", "HEAD~2"), 2, "name fewer"),
    ],
)
@pytest.mark.usefixtures("history")
def test_what_cannot_be_shown_names_the_cure(
    perf: Perf, arguments: tuple[str, ...], code: int, cure: str
) -> None:
    said = perf("show", *arguments, code=code)
    assert cure in said.err
    assert said.err.count("\n") == 1


def test_a_revision_without_profiles_says_how_to_measure_it(project: Project, perf: Perf) -> None:
    project.commit()
    perf("init")
    assert "perf collect" in perf("show", code=4).err


def test_a_job_that_only_uncommitted_changes_have_is_shown_with_them(
    project: Project, perf: Perf
) -> None:
    commit = project.commit()
    project.write("changed", "")
    repository = Repository.find(create=True)
    repository.store.add([sample_profile(commit=commit, dirty=repository.changes.hash())], "test")
    said = perf("show", "sort", code=4).err
    assert said.startswith(
        "perf: no commit up to HEAD has profiles of `sort`: `perf show` draws those of HEAD as it"
        " is now"
    )
    assert said.count("\n") == 1


def test_a_revision_without_measurements_has_nothing_to_draw_with_characters_either(
    project: Project, perf: Perf
) -> None:
    commit = project.commit()
    Repository.find(create=True).store.add(
        [sample_profile(wall=(), commit=commit, design=Design())], "test"
    )
    assert "Nothing to draw: the profiles have no measurements." in perf("show", "--text").out


def test_a_revision_against_itself_is_drawn(project: Project, perf: Perf) -> None:
    commit = project.commit()
    profiles = interleaved([commit, commit], [noisy(0.01), noisy(0.01, seed=2)])
    Repository.find(create=True).store.add(profiles, "test")
    assert "wrote" in perf("show", "HEAD", "HEAD").out


def test_commits_with_one_execution_have_a_history_without_intervals(
    project: Project, perf: Perf
) -> None:
    commits = [project.commit(f"{number}") for number in range(2)]
    Repository.find(create=True).store.add(
        [sample_profile([0.01], commit=commit) for commit in commits], "test"
    )
    perf("show", "sort")
    assert "sort: history" in (project.root / ".perf" / "pages" / "sort.html").read_text()


@pytest.mark.usefixtures("history")
def test_a_history_tells_accepted_changes_apart(project: Project, perf: Perf) -> None:
    perf("check", code=3)
    perf("accept", "sort:wall", "--reason", "it checks its input")
    perf("show", "sort", "--no-open")
    page = (project.root / ".perf" / "pages" / "sort.html").read_text()
    assert page.count(">accepted degradation at") == 1  # of wall time
    assert page.count(">lasting degradation at") == 1  # of CPU time


def test_all_sizes_of_a_curve_have_its_verdict(project: Project) -> None:
    commits = [project.commit(f"{number}") for number in range(2)]
    sizes = [10.0, 20.0, 40.0, 80.0, 160.0, 320.0]
    profiles = []
    for number, (commit, slope) in enumerate(zip(commits, (1e-4, 2e-4), strict=True)):
        walls = [[slope * size * luck for size in sizes] for luck in noisy(1, seed=number)]
        rows = Resources(
            names=["search"],
            uid=[0] * 60,
            execution=[place // 6 for place in range(60)],
            size=[*sizes] * 10,
            metrics={"wall": [value for curve in walls for value in curve]},
        )
        design = Design(executions=10, order="interleaved", version=number, versions=commits)
        profiles.append(sample_profile(commit=commit, design=design, resources=rows))
    repository = Repository.find(create=True)
    repository.store.add(profiles, "test")
    history = subject_of(repository, ["sort"]).history
    assert [series.size for series in history] == sizes
    assert {series.points[0].verdict for series in history} == {""}
    newest = [series.points[1] for series in history]
    assert {point.verdict for point in newest} == {"degradation"}
    assert [point.effect for point in newest] == pytest.approx([1.0] * len(sizes), abs=0.05)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), ["version <b>2", "Measurements", "wall time", "12.0"]),
        (("HEAD~1", "HEAD"), ["▲ sort", "change, %", "Changes", "degradation"]),
        (("sort",), ["sort: history", "commit, oldest first"]),
        (("sort", "--view", "table"), ["Commits", "degradation"]),
        (("HEAD~1", "HEAD", "--view", "effects"), ["▲ sort"]),
    ],
)
@pytest.mark.usefixtures("history")
def test_the_terminal_shows_what_suits_what_was_named(
    perf: Perf, arguments: tuple[str, ...], words: list[str]
) -> None:
    said = perf("show", "--text", *arguments).out
    assert all(word in said for word in words)
    assert max(map(len, said.splitlines())) <= 80
    assert said.isprintable() or all(line.isprintable() for line in said.splitlines())


@pytest.mark.usefixtures("history")
def test_a_wider_terminal_has_more_columns_and_a_plain_one_no_braille(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "160")
    command = [PERF, "show", "--text", "sort"]
    wide = subprocess.run(
        command, cwd=project.root, capture_output=True, text=True, check=True
    ).stdout
    assert 80 < max(map(len, wide.splitlines())) <= 160 and "Commits" not in wide
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")
    plain = subprocess.run(
        command, cwd=project.root, capture_output=True, text=True, check=True
    ).stdout
    assert plain.isascii() and "commit, oldest first" in plain


@pytest.mark.usefixtures("history")
def test_text_is_written_to_a_file_as_it_is_printed(perf: Perf, tmp_path: Path) -> None:
    perf("show", "-o", str(tmp_path / "page.txt"))
    assert (tmp_path / "page.txt").read_text() == perf("show", "--text").out
    perf("show", "--text", "-o", str(tmp_path / "again.txt"))
    assert (tmp_path / "again.txt").read_text() == (tmp_path / "page.txt").read_text()


@pytest.mark.usefixtures("history")
def test_json_has_the_profiles_as_they_are_stored_and_the_report(
    perf: Perf, tmp_path: Path
) -> None:
    perf("show", "HEAD~1", "HEAD", "-o", str(tmp_path / "page.json"))
    found = json.loads((tmp_path / "page.json").read_text())
    assert found["format"] == "perfvcs-subject/1"
    assert list(found) == [
        "format",
        "title",
        "facts",
        "warnings",
        "notes",
        "baseline",
        "target",
        "report",
        "history",
    ]
    (profile,) = found["target"]
    assert decode(json.dumps(profile).encode()).resources.metrics["wall"] == noisy(0.012, seed=3)
    assert found["report"]["counts"] == {"degradation": 2} and found["facts"]["environment"] == [
        "test · 0123456789ab"
    ]
    perf("show", "sort", "-o", str(tmp_path / "series.json"))
    series = json.loads((tmp_path / "series.json").read_text())["history"]
    assert [point["executions"] for point in series[0]["points"]] == [10, 10, 10]


@pytest.mark.parametrize(
    ("arguments", "cure"),
    [
        (
            ("-o", "page.pgn"),
            "`.pgn` is not an ending that `perf show` writes; did you mean `.png`?",
        ),
        (("-o", "page"), "page has no ending; there are: .html"),
        (("-o", "."), ". is a folder: name a file in it, such as page.html"),
        (("-o", "file.txt/page.html"), "cannot write"),
        (("--text", "-o", "page.html"), "--text writes .txt files: leave it out"),
        (
            ("--text", "--view", "executions"),
            "view `executions` cannot be drawn with characters; these can: table",
        ),
        (("--set", "points"), "write FIELD=VALUE"),
        (("--set", "=3"), "write FIELD=VALUE"),
        (("--set", "pionts=3"), "no view that is drawn has this field; did you mean `points`?"),
        (("--set", "points=many"), "points: give a whole number"),
        (
            ("--view", "executions", "--set", "points=0"),
            "points: give a whole number of at least 1",
        ),
        (("--text", "--set", "nothing=3"), "no view that is drawn has this field"),
        (("-o", f"{'y' * 300}.html"), "cannot write yyy"),
        (("--view", "scater", "-o", "page.json"), "did you mean `scatter`"),
        (("--view", "history", "-o", "page.json"), "view `history` does not fit here"),
        (("--set", "pionts=3", "-o", "page.json"), "did you mean `points`"),
        (("--view", "scater", "-o", "table.md"), "did you mean `scatter`"),
        (("--view", "executions", "-o", "table.md"), "a .md file holds a table"),
        (("--set", "points=3", "-o", "table.csv"), "no view that is drawn has this field"),
    ],
)
@pytest.mark.usefixtures("history")
def test_what_cannot_be_written_names_the_cure(
    project: Project, perf: Perf, arguments: tuple[str, ...], cure: str
) -> None:
    project.write("file.txt", "not a folder")
    said = perf("show", *arguments, code=2)
    assert cure in said.err and said.err.count("\n") == 1


@pytest.mark.usefixtures("history")
def test_a_field_is_set_on_every_view_that_has_it(perf: Perf, tmp_path: Path) -> None:
    perf("show", "-o", str(tmp_path / "few.html"), "--view", "executions", "--set", "points=4")
    perf("show", "-o", str(tmp_path / "all.html"), "--view", "executions")
    few, many = ((tmp_path / name).read_text() for name in ("few.html", "all.html"))
    assert "rows drawn" in json.dumps(documents(few)) and "rows drawn" not in json.dumps(
        documents(many)
    )


@pytest.mark.usefixtures("history")
def test_a_file_that_is_there_is_replaced_as_a_whole_and_a_pipe_gets_a_page(
    project: Project, perf: Perf, tmp_path: Path
) -> None:
    path = tmp_path / "page.html"
    path.write_text("old")
    perf("show", "-o", str(path))
    assert path.read_text().startswith("<!DOCTYPE html>") and [*tmp_path.glob(".*")] == []
    command = [PERF, "show", "-o", "/dev/stdout"]
    piped = subprocess.run(command, cwd=project.root, capture_output=True, text=True, check=True)
    assert piped.stdout.startswith("<!DOCTYPE html>") and piped.stdout.endswith("</html>")
    assert piped.stderr == "wrote /dev/stdout\n"


@pytest.mark.usefixtures("history")
def test_an_output_that_goes_to_a_file_is_written_through_its_descriptor(
    project: Project, tmp_path: Path
) -> None:
    path = tmp_path / "page"
    with path.open("wb") as file:
        done = subprocess.run(
            [PERF, "show", "-o", "/proc/self/fd/1"],
            cwd=project.root,
            stdout=file,
            stderr=subprocess.PIPE,
            text=True,
            check=True,
        )
    assert path.read_text().startswith("<!DOCTYPE html>") and path.read_text().endswith("</html>")
    assert done.stderr == "wrote /proc/self/fd/1\n"


@pytest.mark.usefixtures("history")
def test_pages_that_cannot_be_kept_ask_for_a_file(project: Project, perf: Perf) -> None:
    (project.root / ".perf" / "pages").write_text("in the way")
    assert "name a file with -o" in perf("show", code=2).err


def on_a_terminal(project: Project, browser: str | None, **environment: str) -> str:
    """What `perf show` prints on a terminal; ``browser`` is the program that opens pages, None
    where there is none.
    """
    folder = project.root.parent / "bin"
    folder.mkdir()
    for tool in ("git", "sh", "env"):
        (folder / tool).symlink_to(str(shutil.which(tool)))
    if browser is not None:
        opener = folder / "xdg-open"
        opener.write_text(browser)
        opener.chmod(0o755)
    variables = {
        name: value
        for name, value in os.environ.items()
        if name not in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")
    }
    main, terminal = pty.openpty()
    command = [PERF, "show"]
    with subprocess.Popen(
        command,
        cwd=project.root,
        stdout=terminal,
        stderr=terminal,
        env=variables | {"PATH": str(folder)} | environment,
    ) as process:
        os.close(terminal)
        said = b""
        with suppress(OSError):  # the end of a terminal
            while chunk := os.read(main, 1 << 16):
                said += chunk
        os.close(main)
    assert process.returncode == 0
    return said.decode().replace("\r\n", "\n")


@pytest.mark.usefixtures("history")
def test_a_page_is_opened_where_there_is_a_display(project: Project) -> None:
    opened = project.root.parent / "opened"
    said = on_a_terminal(project, f'#!/bin/sh\necho "$1" > {opened}\n', DISPLAY=":9")
    assert said == f"wrote {project.root}/.perf/pages/HEAD.html\n"
    assert opened.read_text() == f"{project.root}/.perf/pages/HEAD.html\n"


@pytest.mark.parametrize(
    ("display", "why"),
    [({}, "there is no display"), ({"DISPLAY": ":9"}, "no browser could be started")],
)
@pytest.mark.usefixtures("history")
def test_without_display_or_browser_the_page_is_written_all_the_same(
    project: Project, display: dict[str, str], why: str
) -> None:
    said = on_a_terminal(project, None, **display)
    assert said.splitlines() == [
        f"wrote {project.root}/.perf/pages/HEAD.html",
        f"{why}: open the page elsewhere, or draw on the terminal with --text",
    ]
