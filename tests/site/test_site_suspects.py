"""Pages of changes name the suspects where a change may be any of several commits."""

import json
from pathlib import Path

import pytest
from histories import measured, store

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


@pytest.mark.slow
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


@pytest.mark.slow
def test_long_ranges_and_those_of_one_commit_name_none(project, monkeypatch):
    commits = history(project)
    repository = store()
    from perfvcs.history.record import read

    recorded = read(repository, "HEAD")
    (finding,) = recorded.series[0].findings
    line = recorded.series[0].line
    assert len(Suspicions(repository, commits).of(finding, line)) == 2
    monkeypatch.setattr("perfvcs.site.opendegradations.MOST_COMMITS", 3)
    assert Suspicions(repository, commits).of(finding, line) == []
    monkeypatch.setattr("perfvcs.site.opendegradations.MOST_COMMITS", 10)
    monkeypatch.setattr("perfvcs.site.opendegradations.MOST_READ", 3)
    assert Suspicions(repository, commits).of(finding, line) == []
