"""The workflows of the documents and the action: valid for their services, and what they run works."""

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
FILES = {"action.yml": (ROOT / "action.yml").read_text(), **dict(BLOCK.findall((ROOT / "docs" / "ci.md").read_text()))}
SITE = {f"site: {name}": text for name, text in BLOCK.findall((ROOT / "docs" / "publishing.md").read_text())}


def read(text: str) -> Any:
    return YAML(typ="safe", pure=True).load(text)


@cache
def schema(name: str) -> Any:
    """What the service's own editor checks such a file with, as check-jsonschema ships it."""
    return json.loads((files("check_jsonschema") / "builtin_schemas" / "vendor" / f"{name}.json").read_text())


def schema_of(name: str) -> str:
    return "github-actions" if name == "action.yml" else "gitlab-ci" if "gitlab" in name else "github-workflows"


def steps(name: str) -> list[dict[str, Any]]:
    found = read(FILES[name])
    return found["runs"]["steps"] if "runs" in found else [step for job in found["jobs"].values() for step in job["steps"]]


def test_the_page_has_a_workflow_for_each_service() -> None:
    assert {*FILES} == {
        "action.yml", ".github/workflows/performance.yml", ".github/workflows/performance-comment.yml", ".gitlab-ci.yml",
    }  # fmt: skip
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
            if "TOKEN" in str(step.get("env")):
                assert "perf" in step["run"] and "ci --post" in step["run"]
            assert "${{" not in step.get("run", ""), "an expression in a script is code"


@pytest.mark.parametrize("name", FILES)
def test_the_scripts_have_options_that_there_are(name: str) -> None:
    commands = re.findall(r'(?:perf"?) ci ([^\n|]+)', FILES[name].partition("runs:")[2] or FILES[name])
    from perfvcs.commands.ci import command

    known = {option for parameter in command.params for option in parameter.opts}
    for words in commands:
        assert {word for word in words.replace('"', "").split() if word.startswith("--")} <= known


@pytest.fixture
def runner(tmp_path: Path) -> dict[str, str]:
    """The folders and variables of a runner, with perfvcs where the action installs it."""
    folder = tmp_path / "runner" / "perfvcs" / "bin"
    folder.mkdir(parents=True)
    (folder / "perf").write_text(f'#!/bin/sh\nexec {sys.executable} -P -m perfvcs "$@"\n')
    (folder / "perf").chmod(0o755)
    (tmp_path / "output").touch()
    own = {name: value for name, value in os.environ.items() if not re.match(r"(GITHUB|GITLAB|CI|ACTIONS|GH)_|CI$", name)}
    return own | {
        "RUNNER_TEMP": str(tmp_path / "runner"),
        "GITHUB_OUTPUT": str(tmp_path / "output"),
        "PATH": f"{folder}:{os.environ['PATH']}",
    }


def bash(script: str, env: dict[str, str], **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["bash", "-eo", "pipefail", "-c", script], env=env | more, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(("work", "status"), [("", 0), ("exit 3", 5)])
def test_the_action_s_steps_run(project: Project, runner: dict[str, str], tmp_path: Path, work: str, status: int) -> None:
    project.configure()
    project.commit("one", **{"work.sh": "echo 1\n"})
    project.commit("two", **{"README.md": "words"} if not work else {"work.sh": work})
    named = {step["name"]: step.get("run", "") for step in steps("action.yml")}
    measured = bash(named["Measure"], runner, BUDGET="1min", ARGUMENTS="--last 0 --within 1000")
    assert measured.returncode == 0, measured
    assert (tmp_path / "output").read_text() == f"status={status}\n"
    assert (project.root / "perf-ci" / "report.json").exists()
    commented = bash(named["Comment"], runner, NAME="main", GITHUB_TOKEN="not-a-token")
    assert (commented.returncode, commented.stdout) == (0, "no comment: there is no service to write it to\n")
    assert bash(named["Verdict"], runner, STATUS=str(status)).returncode == status


def test_gitlab_s_jobs_run_without_a_project_access_token(project: Project, runner: dict[str, str]) -> None:
    project.configure()
    base = project.commit("one", **{"work.sh": "echo 1\n"})
    project.commit("two", **{"README.md": "words"})
    found = read(FILES[".gitlab-ci.yml"])
    said = {
        "GITLAB_CI": "true", "CI_MERGE_REQUEST_IID": "7", "CI_MERGE_REQUEST_DIFF_BASE_SHA": base, "CI_PROJECT_ID": "12",
        "CI_API_V4_URL": "http://127.0.0.1:9",
    }  # fmt: skip
    for job, expected in (
        ("perf", "Nothing was measured"),
        ("perf-comment", "no comment: there is no token, set GITLAB_TOKEN for this step"),
    ):
        script = "\n".join(line for line in found[job]["script"] if not line.startswith("pip "))
        done = bash(script, runner, **said)
        assert done.returncode == 0 and expected in done.stdout, done
    for path in found["perf"]["artifacts"]["reports"].values():
        assert (project.root / path).is_file()
