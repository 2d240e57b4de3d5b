"""What `perf ci` compares: what the variables of each service say, in whole and in shallow
checkouts.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import Project

from perfvcs.ci.surroundings import NoBaseline, Surroundings, ends
from perfvcs.errors import UsageError
from perfvcs.git.project import UnknownRevision

PLAIN = Surroundings("plain")


class Forge:
    """A bare repository whose main went on after a change began; ``merged`` is the merge of both
    that a service makes.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / "forge.git"
        self.source = Project(folder / "source")
        for number in range(4):
            self.source.commit(f"main {number}")
        self.began = self.source.git("rev-parse", "HEAD")
        self.source.git("checkout", "--quiet", "-b", "change")
        self.source.commit("change 1", **{"change.txt": "1"})
        self.head = self.source.commit("change 2", **{"change.txt": "2"})
        self.source.git("checkout", "--quiet", "main")
        self.base = self.source.commit("main goes on", **{"main.txt": "1"})
        self.source.git("merge", "--quiet", "--no-ff", "--message", "merged", "change")
        self.merged = self.source.git("rev-parse", "HEAD")
        self.source.git("update-ref", "refs/pull/7/merge", self.merged)
        self.source.git("reset", "--quiet", "--hard", self.base)
        self.source.git("clone", "--quiet", "--mirror", ".", str(self.path))

    def checkout(self, folder: Path, commit: str, depth: int = 0) -> Project:
        """What a service lays out for a job."""
        made = Project(folder)
        made.git("remote", "add", "origin", self.path.as_uri())
        deep = [f"--depth={depth}"] if depth else []
        what = (
            "+refs/pull/7/merge:refs/remotes/pull/7/merge"
            if commit == self.merged
            else f"+{commit}:refs/remotes/origin/job"
        )
        made.git(
            "fetch",
            "--quiet",
            "--no-tags",
            *deep,
            "origin",
            what,
            *([] if depth else ["main:refs/remotes/origin/main"]),
        )
        made.git("checkout", "--quiet", "--detach", commit)
        return made


@pytest.fixture
def forge(tmp_path: Path) -> Forge:
    return Forge(tmp_path)


@pytest.fixture
def github(forge: Forge) -> Surroundings:
    return Surroundings("github", base=forge.base, branch="main", head=forge.head, number=7)


@pytest.mark.parametrize("depth", [0, 1, 2])
def test_a_merge_of_the_service_is_compared_with_the_branch_that_it_went_into(
    forge: Forge, github: Surroundings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, depth: int
) -> None:
    monkeypatch.chdir(forge.checkout(tmp_path / "job", forge.merged, depth).root)
    assert ends(github) == (forge.base, forge.merged)


@pytest.mark.parametrize("service", ["github", "gitlab"])
@pytest.mark.parametrize("depth", [0, 1])
def test_the_change_itself_is_compared_with_where_it_began_whose_branch_is_enough(
    forge: Forge,
    github: Surroundings,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    depth: int,
    service: str,
) -> None:
    monkeypatch.chdir(forge.checkout(tmp_path / "job", forge.head, depth).root)
    around = github if service == "github" else Surroundings("gitlab", branch="main")
    assert ends(around) == (forge.began, forge.head)


def test_a_base_that_is_named_comes_before_what_the_service_says(
    forge: Forge, github: Surroundings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(forge.checkout(tmp_path / "job", forge.head).root)
    assert ends(github, "HEAD~1") == (forge.source.git("rev-parse", f"{forge.head}~1"), forge.head)


def test_without_a_service_it_is_the_default_branch_and_on_that_the_commit_before(
    forge: Forge, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = forge.checkout(tmp_path / "job", forge.head)
    monkeypatch.chdir(made.root)
    assert ends(PLAIN) == (forge.began, forge.head)
    made.git("checkout", "--quiet", "--detach", "origin/main")
    assert ends(PLAIN) == (forge.began, forge.base)


def test_a_shallow_checkout_that_cannot_be_deepened_names_the_cure(
    forge: Forge, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = forge.checkout(tmp_path / "job", forge.merged, 1)
    made.git("remote", "set-url", "origin", "https://ada:s3cret-s3cret@127.0.0.1:9/none.git")
    monkeypatch.chdir(made.root)
    cures = {
        "github": "set `fetch-depth: 0` for actions/checkout",
        "gitlab": 'set GIT_DEPTH: "0" for the job',
        "plain": "run `git fetch --unshallow`",
    }
    for platform, cure in cures.items():
        with pytest.raises(NoBaseline) as raised:
            ends(Surroundings(platform, base=forge.base, head=forge.head))  # type: ignore[arg-type]
        said = str(raised.value)
        assert said.startswith(
            "the checkout is too shallow to find where the change began (git fetch failed: "
        )
        assert said.endswith(f": {cure}")
        assert "s3cret" not in said and "\n" not in said


def test_what_has_nothing_in_common_is_said(project: Project) -> None:
    project.commit("one")
    project.git("checkout", "--quiet", "--orphan", "other")
    project.commit("two")
    with pytest.raises(
        NoBaseline,
        match="HEAD and main have no commit in common: name another one with --base REVISION",
    ):
        ends(PLAIN, "main")
    with pytest.raises(
        NoBaseline, match="nothing says what to compare HEAD with: name it with --base REVISION"
    ):
        ends(PLAIN)
    with pytest.raises(UnknownRevision, match="`nothing` is not a revision here"):
        ends(PLAIN, "nothing")


def event(folder: Path, document: object) -> dict[str, str]:
    path = folder / "event.json"
    path.write_bytes(document if isinstance(document, bytes) else json.dumps(document).encode())
    return {
        "GITHUB_ACTIONS": "true",
        "GITHUB_EVENT_PATH": str(path),
        "GITHUB_REPOSITORY": "ada/project",
        "GITHUB_TOKEN": "ghs_secret",
    }


A, B, NOTHING = "a" * 40, "b" * 40, "0" * 40


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        (
            {"pull_request": {"number": 7, "base": {"sha": A, "ref": "main"}, "head": {"sha": B}}},
            (A, "main", B, 7),
        ),
        ({"before": A, "after": B}, (A, "", "", None)),
        ({"before": NOTHING}, ("", "", "", None)),
        ({"merge_group": {"base_sha": A, "head_sha": B}}, (A, "", "", None)),
        ({"workflow_run": {"head_sha": B, "pull_requests": []}}, ("", "", B, None)),
        (
            {
                "pull_request": {
                    "number": -1,
                    "base": {"sha": "--upload-pack=x", "ref": "-x"},
                    "head": 5,
                }
            },
            ("", "", "", None),
        ),
        (
            {
                "pull_request": {
                    "number": "7/../8",
                    "base": {"sha": None, "ref": "a b"},
                    "head": {"sha": [A]},
                }
            },
            ("", "", "", None),
        ),
        ({}, ("", "", "", None)),
    ],
)
def test_an_event_of_github_is_read(
    tmp_path: Path, document: dict[str, Any], expected: tuple[object, ...]
) -> None:
    job = Surroundings.of(event(tmp_path, document))
    assert (job.base, job.branch, job.head, job.number) == expected
    assert (job.platform, job.project, job.token, job.api) == (
        "github",
        "ada/project",
        "ghs_secret",
        "https://api.github.com",
    )


@pytest.mark.parametrize("document", [b"", b"[]", b"{", b"\xff", b"[" * 100_000, b"7"])
def test_an_event_that_is_not_one_is_said_in_a_line(tmp_path: Path, document: bytes) -> None:
    with pytest.raises(
        UsageError, match=r"is not an event of GitHub: use --platform plain --base REVISION$"
    ):
        Surroundings.of(event(tmp_path, document))


def test_a_github_job_without_an_event_names_the_way_out(tmp_path: Path) -> None:
    with pytest.raises(
        UsageError, match="GITHUB_EVENT_PATH is not set: outside of a GitHub job use"
    ):
        Surroundings.of({}, "github")
    with pytest.raises(UsageError, match="cannot be read \\(No such file or directory\\)"):
        Surroundings.of({"GITHUB_EVENT_PATH": str(tmp_path / "none")}, "github")


def test_gitlab_s_variables_are_read() -> None:
    said = {
        "GITLAB_CI": "true",
        "CI_MERGE_REQUEST_IID": "7",
        "CI_MERGE_REQUEST_DIFF_BASE_SHA": A,
        "CI_MERGE_REQUEST_TARGET_BRANCH_NAME": "main",
        "CI_MERGE_REQUEST_SOURCE_BRANCH_SHA": B,
        "CI_API_V4_URL": "https://example.org/api/v4",
        "CI_PROJECT_ID": "12",
        "CI_COMMIT_SHA": A,
        "CI_PIPELINE_ID": "1234",
        "GITLAB_TOKEN": "glpat",
        "CI_JOB_TOKEN": "job",
    }
    job = Surroundings.of(said)
    address = "https://example.org/api/v4"
    assert job == Surroundings(
        "gitlab", A, "main", B, 7, address, "12", "glpat", commit=A, pipeline=1234
    )
    before = Surroundings.of({"GITLAB_CI": "true", "CI_COMMIT_BEFORE_SHA": A})
    assert (before.base, before.number) == (A, None)


def test_a_job_s_variables_are_not_read_where_another_service_is_asked_for() -> None:
    assert Surroundings.of({"GITLAB_CI": "true", "CI_COMMIT_BEFORE_SHA": A}, "plain") == PLAIN
    assert Surroundings.of({}) == PLAIN
