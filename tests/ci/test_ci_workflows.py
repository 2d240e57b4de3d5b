"""The workflows of the documents and the action: valid for their services, and what they run
works.
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
from ruamel.yaml import YAML

BLOCK = re.compile(r"^```yaml\n# (\S+\.yml)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
ACTIONS = ("action.yml", "comment/action.yml")
FILES = {name: (ROOT / name).read_text() for name in ACTIONS} | dict(
    BLOCK.findall((ROOT / "docs" / "ci.md").read_text())
)
SITE = {
    f"site: {name}": text
    for name, text in BLOCK.findall((ROOT / "docs" / "publishing.md").read_text())
}


def read(text: str) -> Any:
    return YAML(typ="safe", pure=True).load(text)


@cache
def schema(name: str) -> Any:
    """What the service's own editor checks such a file with, as check-jsonschema ships it."""
    return json.loads(
        (files("check_jsonschema") / "builtin_schemas" / "vendor" / f"{name}.json").read_text()
    )


def schema_of(name: str) -> str:
    return (
        "github-actions"
        if name in ACTIONS
        else "gitlab-ci"
        if "gitlab" in name
        else "github-workflows"
    )


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
        ".gitlab-ci.yml",
    }
    assert {*SITE} == {"site: .github/workflows/performance-site.yml", "site: .gitlab-ci.yml"}


@pytest.mark.parametrize("name", [*FILES, *SITE])
def test_a_workflow_is_what_the_service_s_schema_says(name: str) -> None:
    about = schema(schema_of(name))
    validator = jsonschema.validators.validator_for(about)(about)
    assert [error.message for error in validator.iter_errors(read((FILES | SITE)[name]))] == []


@pytest.mark.parametrize("name", FILES)
def test_no_workflow_runs_a_fork_s_code_with_a_token(name: str) -> None:
    found = read(FILES[name])
    assert "pull_request_target" not in FILES[name]
    if "workflow_run" in str(found.get("on", found.get(True))):
        assert "checkout" not in FILES[name]
    if "gitlab" not in name:
        for step in steps(name):
            assert "${{" not in step.get("run", ""), "an expression in a script is code"
            if "run" in step and "token" in str(step.get("env")).lower():
                assert "-m perfvcs ci --post" in step["run"]


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
