"""The workflows of the documents and of this repository, and the actions: valid for their
services, and what they run works.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from conftest import ROOT, Project
from runner import read

BLOCK = re.compile(r"^```yaml\n# (\S+\.yml)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
ACTIONS = ("action.yml", "comment/action.yml")
FILES = {name: (ROOT / name).read_text() for name in ACTIONS} | dict(
    BLOCK.findall((ROOT / "docs" / "ci.md").read_text())
)
SITE = {
    f"site: {name}": text
    for name, text in BLOCK.findall((ROOT / "docs" / "publishing.md").read_text())
}
# what a forge and pre-commit read of this repository
OWN = {
    str(path.relative_to(ROOT)): path.read_text()
    for path in (
        *sorted((ROOT / ".github").rglob("*.yml")),
        ROOT / ".gitlab-ci.yml",
        ROOT / ".pre-commit-config.yaml",
    )
}


@cache
def schema(name: str) -> Any:
    """What the service's own editor checks such a file with, as check-jsonschema ships it."""
    return json.loads(
        (files("check_jsonschema") / "builtin_schemas" / "vendor" / f"{name}.json").read_text()
    )


def schema_of(name: str) -> str:
    if name in ACTIONS:
        return "github-actions"
    if "ISSUE_TEMPLATE" in name:
        return "github-issue-config" if name.endswith("config.yml") else "github-issue-forms"
    return "gitlab-ci" if "gitlab" in name else "github-workflows"


def steps(name: str) -> list[dict[str, Any]]:
    found = read(FILES[name])
    return (
        found["runs"]["steps"]
        if "runs" in found
        else [step for job in found["jobs"].values() for step in job["steps"]]
    )


def test_the_page_has_a_workflow_for_each_service() -> None:
    assert {*FILES} == {
        *ACTIONS,
        ".github/workflows/performance.yml",
        ".github/workflows/performance-comment.yml",
        ".github/workflows/performance-request.yml",
        ".gitlab-ci.yml",
    }
    assert {*SITE} == {"site: .github/workflows/performance-site.yml", "site: .gitlab-ci.yml"}


def invalid(name: str, text: str) -> list[str]:
    """What the schema of a file's service says against it."""
    about = schema(schema_of(name))
    validator = jsonschema.validators.validator_for(about)(about)
    return [error.message for error in validator.iter_errors(read(text))]


@pytest.mark.parametrize("name", [*FILES, *SITE])
def test_a_workflow_is_what_the_service_s_schema_says(name: str) -> None:
    assert invalid(name, (FILES | SITE)[name]) == []


@pytest.mark.parametrize("name", [name for name in OWN if "pre-commit" not in name])
def test_a_file_for_our_own_forge_is_what_its_schema_says(name: str) -> None:
    assert invalid(name, OWN[name]) == []


def test_our_own_workflows_use_nothing_but_our_actions_and_github_s() -> None:
    used = [use for text in OWN.values() for use in re.findall(r"uses: (\S+)", text)]
    assert {"./", "./comment"} < {*used}
    for use in used:
        assert re.fullmatch(r"\./(comment)?|actions/[\w-]+@v\d+|[\w/-]+@[0-9a-f]{40}", use), use


def test_the_job_that_comments_on_our_pull_requests_runs_the_target_branch() -> None:
    jobs = read(OWN[".github/workflows/performance.yml"])["jobs"]
    assert jobs["measure"]["permissions"] == {"contents": "read"}
    checkout, ours = jobs["comment"]["steps"]
    assert checkout["with"]["ref"] == "${{ github.event.pull_request.base.sha }}"
    assert ours["uses"] == "./comment"


def test_our_own_workflows_run_targets_and_scripts_that_are_there() -> None:
    texts = [text for name, text in OWN.items() if "ISSUE_TEMPLATE" not in name]
    targets = {name for text in texts for name in re.findall(r"- make (\w+)", text)}
    scripts = {name for text in texts for name in re.findall(r"(?:run:|-) (\.ci/\w+)", text)}
    assert scripts == {".ci/run", ".ci/interpreters"}
    assert all(os.access(ROOT / name, os.X_OK) for name in scripts)
    assert targets == {"bench"}


def test_the_hooks_of_this_repository_are_local_and_those_that_others_get() -> None:
    (repository,) = read(OWN[".pre-commit-config.yaml"])["repos"]
    assert repository["repo"] == "local"
    hooks = {hook["id"]: hook for hook in repository["hooks"]}
    assert {*hooks} == {"ruff-check", "ruff-format", "perf-collect", "perf-check"}
    for offered in read((ROOT / ".pre-commit-hooks.yaml").read_text()):
        ours = hooks[offered["id"]]
        assert ours["entry"] == f".venv-test/bin/{offered['entry']}"
        assert ours["stages"] == offered["stages"]


@pytest.mark.parametrize("name", FILES)
def test_no_workflow_runs_a_fork_s_code_with_a_token(name: str) -> None:
    found = read(FILES[name])
    assert "pull_request_target" not in FILES[name]
    if re.search("workflow_run|issue_comment", str(found.get("on", found.get(True)))):
        assert "checkout" not in FILES[name]
    if "gitlab" not in name:
        for step in steps(name):
            assert "${{" not in step.get("run", ""), "an expression in a script is code"
            if "run" in step and "token" in str(step.get("env")).lower():
                assert re.search("-m perfvcs ci --post|gh workflow run", step["run"])


def test_the_job_that_measures_is_given_no_token() -> None:
    assert not re.search(
        r"\btoken\b(?! here)", FILES["action.yml"].partition("inputs:")[2], re.IGNORECASE
    )
    (own,) = (
        read(text)["jobs"] for name, text in FILES.items() if name.endswith("/performance.yml")
    )
    assert own["measure"]["permissions"] == {"contents": "read"}
    assert "checkout" not in str(own["comment"])


@pytest.mark.parametrize("name", FILES)
def test_python_is_started_with_nothing_of_the_folder_that_it_is_in(name: str) -> None:
    """The checkout, or what another job left there."""
    started = re.findall(
        r'(?:(?<!inputs.)python3?"?|PYTHON"?) (.*)$',
        FILES[name].partition("\nruns:")[2] or FILES[name],
        re.MULTILINE,
    )
    assert all(words.startswith("-I -m ") for words in started)
    assert bool(started) == (name in ACTIONS or "gitlab" in name)


@pytest.mark.parametrize("name", FILES)
def test_the_scripts_have_options_that_there_are(name: str) -> None:
    commands = re.findall(
        r"-m perfvcs ci ([^\n|]+)", FILES[name].partition("runs:")[2] or FILES[name]
    )
    from perfvcs.commands.ci import command

    known = {option for parameter in command.params for option in parameter.opts}
    for words in commands:
        assert {word for word in words.replace('"', "").split() if word.startswith("--")} <= known


@pytest.fixture
def variables() -> dict[str, str]:
    """The variables of a job of GitLab's, in whose image perfvcs is installed."""
    own = {
        name: value
        for name, value in os.environ.items()
        if not re.match(r"(GITHUB|GITLAB|CI|ACTIONS|GH)_|CI$", name)
    }
    return own | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}


def bash(script: str, env: dict[str, str], **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "-eo", "pipefail", "-c", script],
        env=env | more,
        capture_output=True,
        text=True,
        check=False,
    )


def test_gitlab_s_jobs_run_without_a_project_access_token(
    project: Project, variables: dict[str, str]
) -> None:
    project.configure()
    base = project.commit("one", **{"work.sh": "echo 1\n"})
    project.commit("two", **{"README.md": "words"})
    found = read(FILES[".gitlab-ci.yml"])
    said = {
        "GITLAB_CI": "true",
        "CI_MERGE_REQUEST_IID": "7",
        "CI_MERGE_REQUEST_DIFF_BASE_SHA": base,
        "CI_PROJECT_ID": "12",
        "CI_API_V4_URL": "http://127.0.0.1:9",
    }
    for job, expected in (
        ("perf", "Nothing was measured"),
        ("perf-comment", "no comment: there is no token, set GITLAB_TOKEN for this step"),
    ):
        script = "\n".join(line for line in found[job]["script"] if " pip install " not in line)
        done = bash(script, variables, **said)
        assert done.returncode == 0 and expected in done.stdout, done
    for path in found["perf"]["artifacts"]["reports"].values():
        assert (project.root / path).is_file()


@pytest.mark.parametrize(
    ("said", "job"),
    [
        ("/perf", []),
        ("/perf sort", ["-f", "job=sort"]),
        # a service ends the lines of a comment as Windows does
        ("/perf sort\r\nthank you", ["-f", "job=sort"]),
        ("/perf\nplease", []),
        # words that are no name of a job, and no request
        ("/perf is broken again", None),
        ("/performance matters", None),
        ("/perf $(touch here)", None),
        ("/perf a; touch here", None),
    ],
)
def test_a_comment_asks_for_one_job_or_all(
    said: str, job: list[str] | None, tmp_path: Path
) -> None:
    (step,) = steps(".github/workflows/performance-request.yml")
    tool = tmp_path / "gh"
    tool.write_text('#!/bin/sh\n[ "$1" = pr ] && echo parser || printf "%s\\n" "$@" > asked\n')
    tool.chmod(0o755)
    env = {"PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}", "NUMBER": "7", "SAID": said}
    env["GITHUB_REPOSITORY"] = "ada/sorting"
    subprocess.run(["bash", "-e", "-c", step["run"]], cwd=tmp_path, env=env, check=True)
    if job is None:
        assert {path.name for path in tmp_path.iterdir()} == {"gh"}
        return
    words = (tmp_path / "asked").read_text().splitlines()
    assert words[:3] == ["workflow", "run", "performance.yml"]
    assert words[3:] == ["--repo", "ada/sorting", "--ref", "parser", *job]
    assert not (tmp_path / "here").exists()
