"""Pull requests judged by `perf ci`.

A forge on this machine: a bare repository, and a server that plays GitHub's interface for comments.
Each pull request is a branch and its merge with main; its job is a fresh, shallow clone of that merge
in which `perf ci` runs with the variables of a GitHub job. Pull requests of three kinds come in random
order: ``same`` changes the measured function without an effect, ``slower`` makes the whole run slower
by ``slowdown``, ``documents`` changes the README.
"""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from statistics import median
from typing import Any, ClassVar, NamedTuple

from .figures import Row
from .programs import took
from .registry import Wrong, benchmark
from .repositories import ANSWERS, PERF, commit, git, repository, scratch

LOOPS = 1_000_000
PYTHON = os.path.realpath(sys.executable)  # no shim that takes longer than the program
WORK = """\
\"\"\"What is measured.\"\"\"


def total(count):
    release = "{release}"
    found = 0
    for number in range(count):
        found += number % 7
    return found, release


if __name__ == "__main__":
    total({loops})
"""
CONFIG = f"""\
[[job]]
name = "total"
cmd = "{PYTHON} -S total.py"
"""
RED, OPEN = 3, 4  # exit status
LIMIT = 10.0  # seconds of a job where only documents change
WHO = {
    f"GIT_{role}_{what}": "ada" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")
}
Comments = dict[str, list[dict[str, Any]]]


class Job(NamedTuple):
    """What came of one pull request."""

    kind: str
    status: int
    seconds: float
    pairs: int
    effect: float | None
    comments: int


def forge(folder: Path) -> tuple[Path, Path]:
    """A bare repository with a small project on its branch main, and the clone from which it
    comes.
    """
    bare = folder / "forge.git"
    git(folder, "init", "--quiet", "--bare", "--initial-branch=main", str(bare))
    program = WORK.format(release="1.0", loops=LOOPS)
    files = {"total.py": program, "perf.toml": CONFIG, "README.md": "# A small project\n"}
    source = repository(folder / "source", files)
    commit(source, "ready")
    git(source, "remote", "add", "origin", str(bare))
    git(source, "push", "--quiet", "origin", "main")
    return bare, source


def seconds_of(loops: int, folder: Path) -> float:
    """The least CPU time of a few runs of the program with so many loops."""
    path = folder / "calibrate.py"
    path.write_text(WORK.format(release="1.0", loops=loops))
    return min(took([PYTHON, "-S", path]).cpu for _ in range(15))


def request(source: Path, kind: str, number: int, slower: int) -> tuple[str, str]:
    """Push one pull request: its own newest commit, and main at the time of its merge."""
    base = git(source, "rev-parse", "main")
    git(source, "checkout", "--quiet", "-B", f"change-{number}", "main")
    files = {"README.md": f"# A small project\n\nNote {number}.\n"}
    if kind != "documents":
        loops = slower if kind == "slower" else LOOPS
        files = {"total.py": WORK.format(release=f"1.{number}", loops=loops)}
    head = commit(source, f"change {number}", files)
    git(source, "checkout", "--quiet", "--detach", "main")
    git(source, "merge", "--quiet", "--no-ff", "--message", f"Merge {head} into {base}", head)
    ends = f"{head}:refs/pull/{number}/head", f"HEAD:refs/pull/{number}/merge"
    git(source, "push", "--quiet", "origin", *ends)
    return head, base


def job(folder: Path, bare: Path, number: int, ends: tuple[str, str], kind: str, api: str) -> Job:
    """One job: a fresh clone as actions/checkout makes it, and `perf ci` in it."""
    place, (head, base) = folder / f"job-{number}", ends
    place.mkdir()
    git(place, "init", "--quiet")
    git(place, "remote", "add", "origin", bare.as_uri())
    there = f"refs/remotes/pull/{number}/merge"
    merge = f"+refs/pull/{number}/merge:{there}"
    git(place, "fetch", "--quiet", "--no-tags", "--depth=1", "origin", merge)
    git(place, "checkout", "--quiet", "--detach", there)
    sides = {
        "number": number,
        "base": {"sha": base, "ref": "main"},
        "head": {"sha": head, "ref": f"change-{number}"},
    }
    event = folder / f"event-{number}.json"
    event.write_text(json.dumps({"pull_request": sides}))
    said = {
        "GITHUB_ACTIONS": "true",
        "GITHUB_EVENT_PATH": str(event),
        "GITHUB_BASE_REF": "main",
        "GITHUB_API_URL": api,
        "GITHUB_REPOSITORY": "ada/project",
        "GITHUB_TOKEN": "not-a-token",
        "GITHUB_STEP_SUMMARY": str(folder / f"summary-{number}.md"),
    }
    began = time.monotonic()
    done = subprocess.run(
        [*PERF, "ci"],
        cwd=place,
        env=os.environ | WHO | said,
        capture_output=True,
        text=True,
        check=False,
    )
    seconds = time.monotonic() - began
    if done.returncode not in ANSWERS:
        raise RuntimeError(f"perf ci: exit {done.returncode}:\n{done.stdout}\n{done.stderr}")
    found = json.loads((place / "perf-ci" / "report.json").read_text())
    wall = [change["effect"] for change in found["report"]["changes"] if change["metric"] == "wall"]
    pairs = max(found["receipt"]["pairs"], default=0)
    comments = len(Comment.comments.get(str(number), []))
    return Job(kind, done.returncode, seconds, pairs, wall[0] if wall else None, comments)


class Comment(BaseHTTPRequestHandler):
    """GitHub's interface, as far as comments on pull requests go."""

    comments: ClassVar[Comments] = {}

    def do_GET(self) -> None:
        self._answer(200, self.comments.get(self._number(), []))

    def do_POST(self) -> None:
        one = {"id": len(self.comments) + 1, "body": self._body()["body"], "user": {"type": "Bot"}}
        self.comments.setdefault(self._number(), []).append(one)
        self._answer(201, one)

    def _number(self) -> str:
        found = re.search(r"/issues/(\d+)/comments", self.path)
        return found[1] if found else ""

    def _body(self) -> Any:
        return json.loads(self.rfile.read(int(self.headers["Content-Length"])))

    def _answer(self, status: int, document: object) -> None:
        text = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_: object) -> None:
        """Says nothing."""


@benchmark("sharing", quick={"same": 0, "slower": 0, "documents": 1})
def pullrequests(
    *,
    same: int = 100,
    slower: int = 20,
    documents: int = 20,
    slowdown: float = 0.1,
    minutes: float = 1e9,
    seed: int = 20261123,
) -> Iterator[Row]:
    """How often is `perf ci` right about pull requests, and how long does a job take?"""
    kinds = ["same"] * same + ["slower"] * slower + ["documents"] * documents
    random.Random(seed).shuffle(kinds)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Comment)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    api = f"http://127.0.0.1:{server.server_port}"
    began = time.monotonic()
    done: list[Job] = []
    with scratch("pullrequests") as folder:
        bare, source = forge(folder)
        start, whole = seconds_of(0, folder), seconds_of(LOOPS, folder)
        loops = round(LOOPS * (1 + slowdown * whole / (whole - start)))
        for number, kind in enumerate(kinds, 1):
            if time.monotonic() - began > 60 * minutes:
                break
            ends = request(source, kind, number, loops)
            done.append(job(folder, bare, number, ends, kind, api))
            print(number, *done[-1], file=sys.stderr, flush=True)
    server.shutdown()
    server.server_close()
    for kind in ("same", "slower", "documents"):
        ours = [one for one in done if one.kind == kind]
        if ours:
            yield {
                "kind": kind,
                "jobs": len(ours),
                "red": sum(one.status == RED for one in ours),
                "open": sum(one.status == OPEN for one in ours),
                "comments": sum(one.comments for one in ours),
                "s, median": median(one.seconds for one in ours),
                "s, most": max(one.seconds for one in ours),
                "pairs": median(one.pairs for one in ours),
            }
    _judge(done)


def _judge(done: list[Job]) -> None:
    """Raise Wrong where more than 1 % of the same are red, more than 5 % of the slower are not, or
    documents are measured.
    """
    red = {
        kind: [one.status == RED for one in done if one.kind == kind] for kind in ("same", "slower")
    }
    if sum(red["same"]) > len(red["same"]) / 100:
        raise Wrong("more than 1 % of the pull requests without an effect are red")
    if red["slower"].count(False) > len(red["slower"]) / 20:
        raise Wrong("more than 5 % of the slower pull requests are not red")
    documents = [one for one in done if one.kind == "documents"]
    if any(one.pairs or one.seconds > LIMIT for one in documents):
        raise Wrong(f"documents are measured, or their jobs take over {LIMIT:g} s")
