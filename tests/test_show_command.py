from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import Project, Said
from samples import interleaved, noisy, sample_profile

from perfvcs.profile import Design, Resources
from perfvcs.reports.exhibit import exhibit
from perfvcs.repository import Repository

Perf = Callable[..., Said]


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
def test_a_page_goes_where_it_is_told(perf: Perf, tmp_path: Path) -> None:
    perf("show", "-o", str(tmp_path / "page.html"))
    assert (tmp_path / "page.html").stat().st_size > 100_000
    assert list(tmp_path.glob(".*part")) == []
    assert "make it" in perf("show", "-o", str(tmp_path / "none" / "page.html"), code=2).err


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
def test_what_cannot_be_shown_names_the_cure(perf: Perf, arguments: tuple[str, ...], code: int, cure: str) -> None:
    said = perf("show", *arguments, code=code)
    assert cure in said.err
    assert said.err.count("\n") == 1


def test_a_revision_without_profiles_says_how_to_measure_it(project: Project, perf: Perf) -> None:
    project.commit()
    perf("init")
    assert "perf collect" in perf("show", code=4).err


def test_a_revision_against_itself_is_drawn(project: Project, perf: Perf) -> None:
    commit = project.commit()
    profiles = interleaved([commit, commit], [noisy(0.01), noisy(0.01, seed=2)])
    Repository.find(create=True).store.add(profiles, "test")
    assert "wrote" in perf("show", "HEAD", "HEAD").out


def test_commits_with_one_execution_have_a_history_without_intervals(project: Project, perf: Perf) -> None:
    commits = [project.commit(f"{number}") for number in range(2)]
    Repository.find(create=True).store.add([sample_profile([0.01], commit=commit) for commit in commits], "test")
    perf("show", "sort")
    assert "sort: history" in (project.root / ".perf" / "pages" / "sort.html").read_text()


@pytest.mark.usefixtures("history")
def test_a_history_tells_accepted_changes_apart(project: Project, perf: Perf) -> None:
    perf("check", code=3)
    perf("accept", "sort:wall", "--reason", "it checks its input")
    perf("show", "sort", "--no-open")
    page = (project.root / ".perf" / "pages" / "sort.html").read_text()
    assert page.count("last accepted change at") == 1
    assert page.count("last degradation at") == 1


def test_all_sizes_of_a_curve_have_its_verdict(project: Project) -> None:
    commits = [project.commit(f"{number}") for number in range(2)]
    sizes = [10.0, 20.0, 40.0, 80.0, 160.0, 320.0]
    profiles = []
    for number, (commit, slope) in enumerate(zip(commits, (1e-4, 2e-4), strict=True)):
        walls = [[slope * size * luck for size in sizes] for luck in noisy(1, seed=number)]
        rows = Resources(
            names=["search"], uid=[0] * 60, execution=[place // 6 for place in range(60)], size=[*sizes] * 10,
            metrics={"wall": [value for curve in walls for value in curve]},
        )  # fmt: skip
        design = Design(executions=10, order="interleaved", version=number, versions=commits)
        profiles.append(sample_profile(commit=commit, design=design, resources=rows))
    repository = Repository.find(create=True)
    repository.store.add(profiles, "test")
    history = exhibit(repository, ["sort"]).history
    assert [series.size for series in history] == sizes
    assert {series.points[0].verdict for series in history} == {""}
    assert {(series.points[1].verdict, series.points[1].effect) for series in history} == {("degradation", None)}
