"""Issues of open degradations: opened once, updated, closed, left alone where a person closed them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import Perf, Project
from forges import Service
from histories import PARSE, SORT, begun, measured, stepped, store

TOKEN = "ghs_0123456789abcdef"


@pytest.fixture(params=["github", "gitlab"])
def run(
    request: pytest.FixtureRequest,
    service: Service,
    perf: Perf,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Callable[..., list[str]]:
    """A job of the main branch that settles the issues, and what it printed."""
    event = tmp_path / "event.json"
    event.write_text(json.dumps({"ref": "refs/heads/main"}))
    variables = {
        "github": {
            "GITHUB_ACTIONS": "true",
            "GITHUB_EVENT_PATH": str(event),
            "GITHUB_API_URL": service.address,
            "GITHUB_REPOSITORY": "ada/project",
            "GITHUB_TOKEN": TOKEN,
        },
        "gitlab": {
            "GITLAB_CI": "true",
            "CI_API_V4_URL": service.address,
            "CI_PROJECT_ID": "12",
            "GITLAB_TOKEN": TOKEN,
        },
    }
    for name, value in variables[request.param].items():
        monkeypatch.setenv(name, value)

    def settled(*words: str, code: int = 0) -> list[str]:
        return perf("ci", "--issues", "--last", "0", *words, code=code).out.splitlines()

    return settled


def text(issue: dict[str, Any]) -> str:
    found: str = issue.get("description") or issue["body"]
    return found


def is_open(issue: dict[str, Any]) -> bool:
    return issue["state"] in ("open", "opened")


def test_an_issue_for_each_commit_and_never_twice(
    commits: list[str], service: Service, run: Callable[..., list[str]]
) -> None:
    store(
        *measured(commits, stepped(40, 25)), *measured(commits, stepped(40, 25), seed=9, job=PARSE)
    )
    (line,) = run()
    assert line.startswith("opened: ") and "and 1 more since " in line
    (issue,) = service.issues
    assert issue["title"].startswith(("sort: ", "parse")) and is_open(issue)
    assert "performance" in issue["labels"] and commits[25][:10] in text(issue)
    assert text(issue).count("\n| `") == 2 and "perf blame " in text(issue)
    assert run() == ["no issue has changed"] and len(service.issues) == 1
    assert all(TOKEN not in text(each) for each in service.issues)


def test_what_is_over_is_closed_and_what_comes_back_is_opened_again(
    project: Project, service: Service, run: Callable[..., list[str]]
) -> None:
    commits = begun(project, 60)
    store(*measured(commits[:40], stepped(40, 25)))
    run()
    repository = store(*measured(commits[40:], [0.010] * 20, seed=5))
    closed = run()
    (issue,) = service.issues
    assert closed[0].startswith("closed: sort") and not is_open(issue)
    assert "No longer: undone" in text(issue) and run() == ["no issue has changed"]
    newer = [path for commit in commits[40:] for path in repository.store.paths(commit)]
    repository.store.remove(newer, "Measured elsewhere")
    again = run()
    assert again[0].startswith("opened again: sort") and is_open(issue)
    assert len(service.issues) == 1 and "No longer" not in text(issue)


def test_an_issue_that_a_person_closed_stays_closed(
    commits: list[str], service: Service, run: Callable[..., list[str]]
) -> None:
    store(*measured(commits, stepped(40, 25)))
    run()
    service.issues[0]["state"] = "closed"
    assert run() == ["no issue has changed"]
    assert len(service.issues) == 1 and not is_open(service.issues[0])


def test_a_chat_is_told_of_what_is_new_and_one_that_is_down_stops_nothing(
    commits: list[str], service: Service, run: Callable[..., list[str]]
) -> None:
    store(*measured(commits, stepped(40, 25)))
    lines = run("--webhook", f"{service.address}/chat")
    assert lines[-1] == "the chat was told"
    (said,) = service.chat
    assert said["text"].startswith("opened: sort") and "1 open degradation in all" in said["text"]
    run("--webhook", f"{service.address}/chat")
    assert len(service.chat) == 1
    service.issues.clear()
    secret = f"{service.address}/nowhere/secret"
    lines = run("--webhook", secret)
    assert lines[-1].startswith("the chat was not told: ") and "secret" not in lines[-1]


def test_an_address_that_is_none_is_refused_before_an_issue_is_touched(
    commits: list[str], service: Service, perf: Perf, run: Callable[..., list[str]]
) -> None:
    store(*measured(commits, stepped(40, 25)))
    said = perf("ci", "--issues", "--last", "0", "--webhook", "chat.example", code=2)
    assert "--webhook is not an address: give one like https://" in said.err
    assert not service.issues and run()[0].startswith("opened: ")


def test_names_of_people_and_benchmarks_are_text(
    commits: list[str], service: Service, run: Callable[..., list[str]]
) -> None:
    hostile = type(SORT)(name="a|b`c`@ada <img src=x>", collector="time", cmd="x")
    store(*measured(commits, stepped(40, 25), job=hostile))
    run()
    row = next(line for line in text(service.issues[0]).splitlines() if line.startswith("| `"))
    assert row.count("|") == 5 and row.count("`") == 2


def test_no_token_and_no_service_end_well(
    commits: list[str], perf: Perf, run: Callable[..., list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    store(*measured(commits, stepped(40, 25)))
    for name in ("GITHUB_TOKEN", "GITLAB_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    (line,) = run()
    assert line.startswith("no issues: there is no token")
    assert "--post" in perf("ci", "--issues", "--post", "x", code=2).err
