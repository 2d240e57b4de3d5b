"""Pages of changes name the suspects where a change may be any of several commits."""

import json
from pathlib import Path

from histories import measured, store
from msgspec.structs import replace

from perfvcs.site.opendegradations import Suspicions

SORT = "def sort(values):\n    return sorted(values)\n"


def history(project):
    """Sixteen commits, of which 8 to 11 are not measured, and one of these is slower."""
    commits = [
        project.commit(f"change {number}", **{"number.txt": f"{number}\n"}) for number in range(8)
    ]
    commits.append(project.commit("a document", **{"README.md": "sorting\n"}))
    commits.append(project.commit("sort", **{"sort.py": SORT}))
    commits.append(
        project.commit(
            "<b>reversed</b>",
            **{"sort.py": SORT.replace("(values)\n", "(values, reverse=True)\n", 2)},
        )
    )
    commits.append(project.commit("another document", **{"README.md": "sorts\n"}))
    commits += [
        project.commit(f"change {number}", **{"README.md": f"{number}\n"})
        for number in range(12, 20)
    ]
    known = [*range(8), *range(11, 20)]
    store(
        *measured(
            [commits[number] for number in known],
            [0.01 if number < 8 else 0.02 for number in known],
        )
    )
    return commits


def test_the_commits_that_change_code_are_named_on_the_pages_of_changes(project, perf):
    commits = history(project)
    perf("publish", "site", "--profiles", "0")
    page = json.loads(Path("site/changes.json").read_text())["page"]
    (step,) = page["open"][0]["steps"]
    assert step["commits"] == 4
    assert [one["commit"]["id"] for one in step["suspects"]] == [commits[10], commits[9]]
    assert "sort.py:sort" in step["suspects"][0]["why"]
    text = Path("site/changes.html").read_text()
    assert (
        "suspects:" in text
        and commits[10][:7] in text
        and "sort.py:sort" in text
        and "<b>reversed" not in text
    )


def test_long_ranges_and_those_of_one_commit_name_none(project, monkeypatch):
    commits = history(project)
    repository = store()
    from perfvcs.history.record import read

    recorded = read(repository, "HEAD")
    (finding,) = recorded.series[0].findings
    line = recorded.series[0].line

    def suspects():
        suspicions = Suspicions(repository, commits)
        suspicions.read([(finding, line)])
        return suspicions.of(finding, line)

    assert len(suspects()) == 2
    monkeypatch.setattr("perfvcs.site.opendegradations.MOST_COMMITS", 3)
    assert suspects() == []
    monkeypatch.setattr("perfvcs.site.opendegradations.MOST_COMMITS", 10)
    monkeypatch.setattr("perfvcs.site.opendegradations.MOST_READ", 3)
    assert suspects() == []


def test_of_more_than_may_be_read_the_first_are_and_git_is_asked_once(project, monkeypatch):
    commits = history(project)
    repository = store()
    from perfvcs.history.record import read

    recorded = read(repository, "HEAD")
    (finding,) = recorded.series[0].findings
    line = recorded.series[0].line
    other = replace(finding, first=commits[9], commits=3)
    asked, git = [], repository.project.git
    monkeypatch.setattr(
        type(repository.project),
        "git",
        lambda _, *args, **more: asked.append(args[0]) or git(*args, **more),
    )
    monkeypatch.setattr("perfvcs.site.opendegradations.MOST_READ", 7)
    suspicions = Suspicions(repository, commits)
    suspicions.read([(finding, line), (other, line)])
    assert [commit.id for commit, _ in suspicions.of(other, line)] == [commits[10], commits[9]]
    assert asked.count("diff-tree") == 1
    monkeypatch.setattr("perfvcs.site.opendegradations.MOST_READ", 4)
    suspicions = Suspicions(repository, commits)
    suspicions.read([(finding, line), (other, line)])
    assert len(suspicions.of(finding, line)) == 2
    assert suspicions.of(other, line) == []
