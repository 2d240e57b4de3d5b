"""Pull requests judged by `perf ci`: ``python benchmarks/pullrequests.py [--same N] [--slower N]
[--documents N] [--slowdown SHARE]``.

A forge on this machine: a bare repository, and a server that plays GitHub's interface for comments.
Each pull request is a branch and its merge with main; its job is a fresh, shallow clone of that
merge in which `perf ci` runs with the variables of a GitHub job. Pull requests of three kinds come
in random order: ``same`` changes the measured function without an effect, ``slower`` makes the
whole run slower by ``--slowdown``, ``documents`` changes the README. Prints a line for each, and
the table. ``--minutes`` begins no other one after that long.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

PERF = (sys.executable, "-P", "-m", "perfvcs")
WHO = {
    f"GIT_{role}_{what}": "ada" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")
}
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
RED, FOUND = 3, 3  # exit status
LIMITS = {"documents": 10.0}  # seconds of a job
Comments = dict[str, list[dict[str, Any]]]


class Job(NamedTuple):
    """What came of one pull request."""

    kind: str
    status: int
    seconds: float
    cpu: float
    pairs: int
    effect: float | None
    comments: int


def git(folder: Path, *words: str) -> str:
    """What git prints in a folder."""
    done = subprocess.run(
        ["git", *words],
        cwd=folder,
        env=os.environ | WHO,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


def forge(folder: Path) -> tuple[Path, Path]:
    """A bare repository with a small project on its branch main, and the clone from which it
    comes.
    """
    bare, source = folder / "forge.git", folder / "source"
    git(folder, "init", "--quiet", "--bare", "--initial-branch=main", str(bare))
    git(folder, "init", "--quiet", "--initial-branch=main", str(source))
    (source / "total.py").write_text(WORK.format(release="1.0", loops=LOOPS))
    (source / "perf.toml").write_text(CONFIG)
    (source / "README.md").write_text("# A small project\n")
    git(source, "remote", "add", "origin", str(bare))
    for message in ("a project", "ready"):
        git(source, "add", "--all")
        git(source, "commit", "--quiet", "--allow-empty", "--message", message)
    git(source, "push", "--quiet", "origin", "main")
    return bare, source


def seconds_of(loops: int, folder: Path) -> float:
    """The least CPU time of a few runs of the program with so many loops."""
    path = folder / "calibrate.py"
    path.write_text(WORK.format(release="1.0", loops=loops))
    found = []
    for _ in range(15):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([PYTHON, "-S", str(path)], check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        found.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(found)


def request(source: Path, kind: str, number: int, slower: int) -> tuple[str, str]:
    """Push one pull request: its own newest commit, and main at the time of its merge."""
    base = git(source, "rev-parse", "main")
    git(source, "checkout", "--quiet", "-B", f"change-{number}", "main")
    if kind == "documents":
        (source / "README.md").write_text(f"# A small project\n\nNote {number}.\n")
    else:
        (source / "total.py").write_text(
            WORK.format(release=f"1.{number}", loops=slower if kind == "slower" else LOOPS)
        )
    git(source, "commit", "--quiet", "--all", "--message", f"change {number}")
    head = git(source, "rev-parse", "HEAD")
    git(source, "checkout", "--quiet", "--detach", "main")
    git(source, "merge", "--quiet", "--no-ff", "--message", f"Merge {head} into {base}", head)
    git(
        source,
        "push",
        "--quiet",
        "origin",
        f"{head}:refs/pull/{number}/head",
        f"HEAD:refs/pull/{number}/merge",
    )
    return head, base


def job(
    folder: Path,
    bare: Path,
    number: int,
    ends: tuple[str, str],
    kind: str,
    api: str,
    options: list[str],
) -> Job:
    """One job: a fresh clone as actions/checkout makes it, and `perf ci` in it."""
    head, base = ends
    place = folder / f"job-{number}"
    place.mkdir()
    git(place, "init", "--quiet")
    git(place, "remote", "add", "origin", bare.as_uri())
    git(
        place,
        "fetch",
        "--quiet",
        "--no-tags",
        "--depth=1",
        "origin",
        f"+refs/pull/{number}/merge:refs/remotes/pull/{number}/merge",
    )
    git(place, "checkout", "--quiet", "--detach", f"refs/remotes/pull/{number}/merge")
    event = folder / f"event-{number}.json"
    event.write_text(
        json.dumps(
            {
                "pull_request": {
                    "number": number,
                    "base": {"sha": base, "ref": "main"},
                    "head": {"sha": head, "ref": f"change-{number}"},
                }
            }
        )
    )
    said = {
        "GITHUB_ACTIONS": "true",
        "GITHUB_EVENT_PATH": str(event),
        "GITHUB_BASE_REF": "main",
        "GITHUB_API_URL": api,
        "GITHUB_REPOSITORY": "ada/project",
        "GITHUB_TOKEN": "not-a-token",
        "GITHUB_STEP_SUMMARY": str(folder / f"summary-{number}.md"),
    }
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    done = subprocess.run(
        [*PERF, "ci", *options],
        cwd=place,
        env=os.environ | WHO | said,
        capture_output=True,
        text=True,
        check=False,
    )
    seconds, after = time.monotonic() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    if done.returncode not in (0, 3, 4):
        sys.exit(f"perf ci ended with {done.returncode}:\n{done.stdout}\n{done.stderr}")
    found = json.loads((place / "perf-ci" / "report.json").read_text())
    wall = [change["effect"] for change in found["report"]["changes"] if change["metric"] == "wall"]
    shutil.rmtree(place)
    pairs = max(found["receipt"]["pairs"], default=0)
    return Job(kind, done.returncode, seconds, cpu, pairs, wall[0] if wall else None, 0)


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


def table(done: list[Job]) -> None:
    """What came of all of them."""
    print(
        f"\n{'kind':10} {'jobs':>5} {'red':>4} {'open':>5} {'comments':>9} {'seconds: median':>16}"
        f" {'most':>6} {'CPU':>6} {'pairs':>6}"
    )
    for kind in ("same", "slower", "documents"):
        ours = [one for one in done if one.kind == kind]
        if ours:
            seconds, cpu = [one.seconds for one in ours], [one.cpu for one in ours]
            red, undecided = (
                sum(one.status == RED for one in ours),
                sum(one.status == 4 for one in ours),
            )
            print(
                f"{kind:10} {len(ours):5} {red:4} {undecided:5}"
                f" {sum(one.comments for one in ours):9} {statistics.median(seconds):16.1f}"
                f" {max(seconds):6.1f} {statistics.median(cpu):6.1f}"
                f" {statistics.median(one.pairs for one in ours):6.0f}"
            )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--same", type=int, default=100)
    parser.add_argument("--slower", type=int, default=20)
    parser.add_argument("--documents", type=int, default=20)
    parser.add_argument("--slowdown", type=float, default=0.1)
    parser.add_argument("--minutes", type=float, default=1e9)
    parser.add_argument("--seed", type=int, default=20261123)
    parser.add_argument("options", nargs="*", help="of perf ci, behind --")
    wanted = parser.parse_args()
    kinds = ["same"] * wanted.same + ["slower"] * wanted.slower + ["documents"] * wanted.documents
    random.Random(wanted.seed).shuffle(kinds)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Comment)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    began, done = time.monotonic(), list[Job]()
    with tempfile.TemporaryDirectory(prefix="pullrequests-") as name:
        folder = Path(name)
        bare, source = forge(folder)
        start, whole = seconds_of(0, folder), seconds_of(LOOPS, folder)
        slower = round(LOOPS * (1 + wanted.slowdown * whole / (whole - start)))
        print(
            f"a run takes {1000 * whole:.0f} ms, {1000 * start:.0f} of them to start; {LOOPS:,}"
            f" loops, slower {slower:,}",
            flush=True,
        )
        for number, kind in enumerate(kinds, 1):
            if time.monotonic() - began > 60 * wanted.minutes:
                break
            ends = request(source, kind, number, slower)
            found = job(
                folder,
                bare,
                number,
                ends,
                kind,
                f"http://127.0.0.1:{server.server_port}",
                wanted.options,
            )
            found = found._replace(comments=len(Comment.comments.get(str(number), [])))
            done.append(found)
            effect = "" if found.effect is None else f"{100 * found.effect:+.2f} %"
            took = f"{found.seconds:5.1f} s  {found.cpu:5.1f} s CPU"
            print(
                f"{number:4} {kind:10} exit {found.status}  {took}  {found.pairs:3} pairs "
                f" {effect}",
                flush=True,
            )
    table(done)
    same, slow, documents = (
        [one for one in done if one.kind == kind] for kind in ("same", "slower", "documents")
    )
    wrong = sum(one.status == RED for one in same) > len(same) / 100
    missed = sum(one.status != FOUND for one in slow) > len(slow) / 20
    late = any(one.seconds > LIMITS["documents"] or one.pairs for one in documents)
    sys.exit(wrong or missed or late)


if __name__ == "__main__":
    main()
