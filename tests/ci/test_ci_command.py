"""`perf ci` from the front door: in real repositories, with the variables of each service."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from conftest import Perf, Project, Said
from forges import Service

from perfvcs.ci.artifacts import REPORTS, document, read
from perfvcs.ci.civerdict import CiVerdict
from perfvcs.locate.blame import blames
from perfvcs.locate.blame.cause import AuxiliaryTrial, Blame, Lines, SuspectFunction
from perfvcs.repository import Repository

TOKEN, JOB_TOKEN = "ghs_0123456789abcdef_AB", "64_abcdefghijklmnop"
# reports a time that differs a little from run to run, and leaves its environment and a line for
# each run
WORK = """\
echo run >> "$RUNS"
env > "$RUNS.env"
printf '{"uid": "inner", "wall": 0.%s%s}\\n' LEVEL $(($$ % 10)) >> "$PERFVCS_SAMPLES"
"""
FAST = ("--last", "0")  # no remote is asked


@pytest.fixture(autouse=True)
def no_service(monkeypatch: pytest.MonkeyPatch) -> None:
    """These tests may run in a job of a service themselves."""
    for name in list(os.environ):
        if re.match(r"(GITHUB|GITLAB|CI|ACTIONS|GH)_|CI$", name):
            monkeypatch.delenv(name)


@pytest.fixture
def drawn_page() -> None:
    """A test that asks for this looks at the page of a job."""


@pytest.fixture(autouse=True)
def page_of_a_job(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """The page takes longer to draw than all else that most of these tests do, and they do not look
    at it.
    """
    if "drawn_page" not in request.fixturenames:
        monkeypatch.setattr(
            "perfvcs.ci.artifacts.page", lambda verdict, _: f"{verdict.headline()}: not drawn"
        )


class Change:
    """A project with a commit that is measured against what is committed next."""

    def __init__(self, project: Project, perf: Perf, runs: Path) -> None:
        self.project, self.run, self.runs = project, perf, runs
        # what the shell takes, on a machine that others use
        loose = '[[check]]\nunit = "work"\ndelta = "1000%"\n'
        project.configure(f'cmd = "sh work.sh"\n{loose}', top=f'env = {{ RUNS = "{runs}" }}')
        self.base = self.level("1000")

    def level(self, digits: str) -> str:
        """Commit a program that takes so long."""
        return self.project.commit(f"level {digits}", **{"work.sh": WORK.replace("LEVEL", digits)})

    def ci(self, *words: str, code: int | None = 0) -> Said:
        return self.run("ci", *FAST, "--base", self.base, *words, code=code)

    def post(self, *words: str) -> str:
        return self.run("ci", "--post", "perf-ci", *words).out

    @property
    def verdict(self) -> CiVerdict:
        return read(self.project.root / "perf-ci")

    @property
    def measured(self) -> int:
        return len(self.runs.read_text().splitlines()) if self.runs.exists() else 0


@pytest.fixture
def change(project: Project, perf: Perf, tmp_path: Path) -> Change:
    return Change(project, perf, tmp_path / "runs")


@pytest.fixture
def github(
    change: Change, service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., None]:
    """A GitHub job for pull request 7, whose newest commit is HEAD."""

    def begin(**event: Any) -> None:
        head = change.project.git("rev-parse", "HEAD")
        pull = {
            "pull_request": {
                "number": 7,
                "base": {"sha": change.base, "ref": "main"},
                "head": {"sha": head},
            }
        }
        (tmp_path / "event.json").write_text(json.dumps(event or pull))
        said = {
            "GITHUB_ACTIONS": "true",
            "GITHUB_EVENT_PATH": str(tmp_path / "event.json"),
            "GITHUB_API_URL": service.address,
            "GITHUB_REPOSITORY": "ada/project",
            "GITHUB_TOKEN": TOKEN,
            "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md"),
            "GITHUB_ENV": str(tmp_path / "env"),
            "ACTIONS_RUNTIME_TOKEN": JOB_TOKEN,
            "OTHER": f"https://x:{JOB_TOKEN}@example.org",
        }
        for name, value in said.items():
            monkeypatch.setenv(name, value)

    return begin


def test_an_error_leaves_no_report_of_an_earlier_run(change: Change) -> None:
    change.level("1001")
    change.ci()
    (change.project.root / "perf-ci" / "notes.txt").write_text("mine")
    change.project.commit("broken", **{"perf.toml": "[[job]\n"})
    assert "is not TOML" in change.ci(code=2).err
    assert {path.name for path in (change.project.root / "perf-ci").iterdir()} == {
        ".gitignore",
        "notes.txt",
    }


def test_folders_of_reports_and_sites_are_not_what_a_job_misses(change: Change) -> None:
    change.level("1001")
    change.ci("--out", "reports")
    change.project.write(".git/info/exclude", "/.perf\n/site\n/data\n")
    change.run("publish", "site")
    change.project.commit("fails", **{"work.sh": "exit 1"})
    assert "git ignores" not in change.run("collect", code=5).err
    change.project.write("data", "")
    assert "git ignores data, so that" in change.run("collect", code=5).err


@pytest.mark.usefixtures("drawn_page")
def test_a_change_for_the_worse_fails_the_job_and_is_in_every_report(change: Change) -> None:
    change.level("2000")
    assert "work: inner became slower: wall time +" in change.ci(code=3).flat
    folder = change.project.root / "perf-ci"
    assert {path.name for path in folder.iterdir()} == {*REPORTS, "index.html", ".gitignore"}
    found = change.verdict
    assert (found.word, found.status) == ("degraded", 3)
    assert [(alarm.first.uid, alarm.place.path) for alarm in found.alarms if alarm.certain] == [
        ("inner", "work.sh")
    ]
    assert "became slower" in (folder / "index.html").read_text()
    assert change.project.git("status", "--porcelain") == ""


def test_no_change_passes(change: Change) -> None:
    change.level("1000 ")
    assert "nothing changed" in change.ci().out
    assert change.verdict.word == "fine"
    assert change.verdict.receipt.settled == change.verdict.receipt.comparisons > 1


def test_a_change_of_documents_is_not_measured_and_the_report_says_why(change: Change) -> None:
    change.project.commit("words", **{"README.md": "words", "docs/a.md": "more"})
    said = change.ci()
    why = "Nothing was measured: no source, build or data file changed (README.md, docs/a.md)"
    assert why in said.flat
    assert change.measured == 0
    assert change.verdict.word == "untouched"
    assert why in (change.project.root / "perf-ci" / "report.json").read_text()


def test_all_measures_even_that(change: Change) -> None:
    change.project.commit("words", **{"README.md": "words"})
    change.ci("--all")
    assert change.measured > 0


def test_head_that_is_its_own_baseline_has_nothing_to_measure(change: Change) -> None:
    assert "there is no change, HEAD is its own baseline" in change.ci().flat
    assert change.measured == 0


def test_the_commit_is_measured_and_not_what_lies_about(change: Change) -> None:
    change.level("1000 ")
    change.project.write("work.sh", WORK.replace("LEVEL", "9000"))
    change.project.write("built.o", "x")
    change.ci()


def test_a_budget_that_is_too_short_settles_nothing_and_says_so(change: Change) -> None:
    change.project.commit("slow", **{"work.sh": "sleep 600"})
    said = change.ci("--budget", "1s", code=4)
    assert (
        "Nothing could be settled: the budget ended before work had a complete block" in said.flat
    )
    assert change.verdict.word == "unsettled"


@pytest.mark.usefixtures("drawn_page")
def test_what_cannot_be_measured_fails_the_job_in_every_report(change: Change) -> None:
    change.project.commit("broken", **{"work.sh": "echo no such file >&2; exit 7"})
    said = change.ci(code=5)
    assert "Measuring failed: work on" in said.flat
    assert "failed: work on" in said.err
    for name in (
        "report.md",
        "junit.xml",
        "report.sarif",
        "gl-code-quality-report.json",
        "index.html",
    ):
        assert "exited with status 7" in (change.project.root / "perf-ci" / name).read_text(), name


def test_what_is_accepted_on_the_branch_does_not_fail_the_job_of_its_merge(
    change: Change, github: Callable[..., None]
) -> None:
    change.project.git("switch", "--quiet", "--create", "change")
    change.level("2000")
    said = change.ci(code=3)
    assert "Next: find the function: perf blame" in said.out
    (name,) = set(re.findall(r"accept: (\w{7})", said.out))
    change.run("accept", name, "--reason", "wanted")
    assert "Accepted: work: inner" in change.ci().out
    change.project.git("add", "perf-accepted.toml")
    change.project.git("commit", "--quiet", "--message", "accepted")
    change.project.git("switch", "--quiet", "main")
    change.project.git("merge", "--quiet", "--no-ff", "--message", "merge", "change")
    github()
    assert "Accepted: work: inner" in change.run("ci", *FAST).out


def test_a_stored_blame_says_where(change: Change) -> None:
    head = change.level("2000")
    cause = SuspectFunction(
        name="work",
        path="src/w.py",
        score=1.0,
        hunks=[Lines("src/w.py", (3, 1), (3, 2)), Lines("src/w.py", (9, 1), (9, 1))],
    )
    trial = AuxiliaryTrial(name="work", path="src/w.py", word="proved", level=1.0)
    found = Blame(
        baseline=change.base,
        target=head,
        job="work",
        metric="cpu",
        a=1,
        b=2,
        effect=1,
        low=1,
        high=1,
        delta=0.01,
        verdict="proved",
        suspects=[cause],
        trials=[trial],
    )
    blames.store(Repository.find(change.project.root, create=True), found)
    change.ci(code=3)
    place = change.verdict.alarms[0].place
    assert (place.path, place.line, place.end) == ("src/w.py", 3, 4)


def test_github_shows_a_comment_a_summary_and_annotations(
    change: Change, github: Callable[..., None], service: Service, tmp_path: Path
) -> None:
    change.level("2000")
    github()
    said = change.ci(code=3)
    assert service.asked == []
    assert change.post() == "comment written\n"
    (body,) = service.bodies
    assert body.startswith("<!-- perfvcs-ci main -->\n> [!CAUTION]\n") and "became slower" in body
    following = (
        f"Next, in a clone of the branch: perf ci --base {change.base[:10]} If it is wanted:"
        " perf accept ID --reason TEXT"
    )
    assert following in said.flat
    assert "became slower" in (tmp_path / "summary.md").read_text()
    lines = said.out.splitlines()
    token = lines[0].removeprefix("::stop-commands::")
    end = lines.index(f"::{token}::")
    assert [line for line in lines[1:end] if line.lstrip().startswith("::")] == []
    assert lines[end + 1].startswith(
        "::error file=work.sh,line=1,endLine=1,title=perf ci::work: inner became slower: wall time +"
    )


def test_the_comment_follows_the_pull_request(
    change: Change, github: Callable[..., None], service: Service
) -> None:
    change.level("1000 ")
    github()
    change.ci()
    assert change.post() == "no comment: nothing changed\n"
    assert service.bodies == []
    change.level("2000")
    github()
    change.ci(code=3)
    change.post()
    change.level("1000")
    github()
    change.ci("--all")
    assert change.post() == "comment updated\n"
    assert len(service.bodies) == 1 and "CAUTION" not in service.bodies[0]


def test_a_comment_on_no_change_is_asked_for_by_name(
    change: Change, github: Callable[..., None], service: Service
) -> None:
    change.level("1000 ")
    github()
    change.ci()
    change.post("--always", "--name", "nightly")
    assert service.bodies[0].startswith("<!-- perfvcs-ci nightly -->")


def test_a_check_run_that_can_be_required_passes_where_the_job_does(
    change: Change, github: Callable[..., None], service: Service
) -> None:
    for level, code, conclusion in (("1000 ", 0, "success"), ("2000", 3, "failure")):
        commit = change.level(level)
        github()
        change.ci("--out", "perf-ci", code=code)
        assert f"check perf/main: {conclusion}\n" in change.post("--check-run")
        where, run = service.checks[-1]
        assert where == "/repos/ada/project/check-runs"
        assert (run["name"], run["head_sha"], run["status"], run["conclusion"]) == (
            "perf/main",
            commit,
            "completed",
            conclusion,
        )
    assert "became slower" in run["output"]["title"]
    assert "work" in run["output"]["summary"]


@pytest.mark.parametrize("words", [("--always",), ("--name", "nightly"), ("--check-run",)])
def test_options_of_a_comment_go_with_one(change: Change, words: tuple[str, ...]) -> None:
    assert "about what is posted: combine them with --post DIR" in change.ci(*words, code=2).err


def test_measuring_warns_of_a_token_and_asks_nobody(
    change: Change, github: Callable[..., None], service: Service
) -> None:
    change.level("1000 ")
    github()
    warning = (
        "note: GITHUB_TOKEN is set, and what was measured could read it: give it only to a job that"
        " runs `perf ci --post`"
    )
    assert warning in change.ci().out
    assert service.asked == []
    os.environ.pop("GITHUB_TOKEN")
    assert warning not in change.ci().out


def test_a_comment_that_fails_fails_no_job(
    change: Change, github: Callable[..., None], service: Service
) -> None:
    change.level("2000")
    github()
    change.ci(code=3)
    service.faults.append((403, {}, b'{"message": "Resource not accessible by integration"}'))
    said = change.post()
    assert said.startswith("no comment: ") and "it answers 403" in said
    assert service.bodies == []


def test_tokens_are_nowhere(
    change: Change, github: Callable[..., None], service: Service, tmp_path: Path
) -> None:
    github()
    change.project.commit(
        "loud",
        **{
            "work.sh": (
                WORK.replace("LEVEL", "2000")
                + f"\necho {TOKEN} >&2\n[ $(wc -l < $RUNS) -lt 4 ] || exit 3\n"
            )
        },
    )
    github()
    said = change.ci(code=None)
    assert "exited with status 3: ***" in " ".join(said.err.split())
    posted = change.post("--always")
    assert service.asked
    seen = (tmp_path / "runs.env").read_text()
    assert (
        "RUNS=" in seen and TOKEN not in seen and JOB_TOKEN not in seen and "GITHUB_ENV" not in seen
    )
    written = [path.read_bytes() for path in (change.project.root / "perf-ci").iterdir()]
    written += [
        said.out.encode(),
        said.err.encode(),
        posted.encode(),
        (tmp_path / "summary.md").read_bytes(),
        *(body.encode() for body in service.bodies),
    ]
    written += [profile.encode() for _, profile in stored(change.project)]
    assert not any(token.encode() in text for text in written for token in (TOKEN, JOB_TOKEN))


def stored(project: Project) -> list[Any]:
    store = Repository.find(project.root).store
    return list(store.read_many(store.paths()))


def test_another_step_comments_with_the_report_of_the_first(
    change: Change, github: Callable[..., None], service: Service, tmp_path: Path
) -> None:
    head = change.level("2000")
    change.ci("--out", str(tmp_path / "artifact"), code=3)
    github(workflow_run={"head_sha": head})
    service.pulls = [{"number": 7, "state": "open", "head": {"sha": head}}]
    assert change.run("ci", "--post", str(tmp_path / "artifact")).out == "comment written\n"
    assert "became slower" in service.bodies[0]


def test_what_a_fork_s_job_wrote_is_text(
    change: Change, github: Callable[..., None], service: Service, tmp_path: Path
) -> None:
    change.level("2000")
    folder = tmp_path / "artifact"
    change.ci("--out", str(folder), code=3)
    found = read(folder)
    hostile = msgspec.structs.replace(
        found,
        notes=["<img src=x onerror=y> @everyone [click](https://example.org)\n# big"],
        following=["<!-- perfvcs-ci other -->"],
        why=["|x|"],
        causes=[("work", "inner", ["`x` **y**"])],
    )
    (folder / "report.json").write_bytes(document(hostile))
    github()
    change.run("ci", "--post", str(folder))
    body = service.bodies[0].partition("\n")[2]
    assert "\\<img" in body and "`@everyone`" in body and "`[click]" in body
    assert not re.search(r"(?<![\\`])(<img|@everyone|<!--|\[click)|^#", body, re.MULTILINE)


@pytest.mark.parametrize("text", [None, "", "{}", "x" * 10])
def test_a_folder_without_a_report_is_said_in_a_line(
    change: Change, tmp_path: Path, text: str | None
) -> None:
    if text is not None:
        (tmp_path / "report.json").write_text(text)
    said = change.run("ci", "--post", str(tmp_path), code=2)
    assert said.err.startswith(f"perf: {tmp_path}/report.json") and said.err.count("\n") == 1


def test_profiles_travel_to_a_job_that_may_push(change: Change, tmp_path: Path, perf: Perf) -> None:
    change.level("1000 ")
    assert (
        f"wrote 2 profiles to {tmp_path}/fork.bundle"
        in change.ci("--bundle", str(tmp_path / "fork.bundle")).out
    )
    change.project.git("clone", "--quiet", ".", str(tmp_path / "other"))
    assert (
        "pulled 2 profiles"
        in perf("-C", str(tmp_path / "other"), "import", str(tmp_path / "fork.bundle")).out
    )


def test_baselines_of_the_remote_are_pulled(
    change: Change, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    change.project.git("clone", "--quiet", "--bare", ".", str(tmp_path / "forge"))
    change.project.git("remote", "add", "origin", str(tmp_path / "forge"))
    change.run("collect", "--quiet")
    change.run("push")
    change.project.git("clone", "--quiet", str(tmp_path / "forge"), str(tmp_path / "job"))
    made = Project(tmp_path / "job")
    monkeypatch.chdir(made.root)
    made.commit("words", **{"README.md": "words"})
    change.run("ci", "--base", "HEAD~1")
    assert [profile.commit for _, profile in stored(made)] == [change.base]


def test_a_remote_that_is_gone_is_a_note(change: Change) -> None:
    change.project.git("remote", "add", "origin", "/nowhere/at/all.git")
    change.level("1000 ")
    assert "note: no baselines were pulled: origin" in change.run("ci", "--base", change.base).out
    assert change.verdict.word == "fine"


@pytest.mark.parametrize(
    ("words", "code", "expected"),
    [
        (("--budget", "soon"), 2, "--budget"),
        (
            ("--name", "a b"),
            2,
            "--name 'a b' is not a name: take up to 60 letters, digits and . _ -",
        ),
        (("--base", "nothing"), 2, "`nothing` is not a revision here"),
        (("--platform", "github"), 2, "GITHUB_EVENT_PATH is not set"),
        (("--job", "none"), 2, "no job is called `none`"),
        (
            ("--out", "work.sh/x"),
            2,
            "work.sh/x cannot be written (Not a directory): name another folder with --out",
        ),
    ],
)
def test_what_cannot_be_done_is_said_in_a_line(
    change: Change, words: tuple[str, ...], code: int, expected: str
) -> None:
    change.project.commit("words", **{"README.md": "words"})
    said = change.ci(*words, code=code)
    assert expected in said.err
    assert [
        line for line in said.err.splitlines() if line.startswith("perf: ")
    ] == said.err.splitlines()[-1:]


def test_a_project_without_jobs_says_so(project: Project, perf: Perf) -> None:
    project.commit("one")
    project.commit("two", **{"a.py": "1"})
    said = perf("ci", code=2)
    assert "perf.toml" in said.err and said.err.count("\n") == 1


def test_the_program_starts_in_a_terminal_of_its_own(change: Change) -> None:
    change.project.commit("words", **{"README.md": "words"})
    done = subprocess.run(
        [sys.executable, "-P", "-m", "perfvcs", "ci", "--base", change.base, "--last", "0"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done
    assert all(len(line) <= 80 for line in done.stdout.splitlines())
