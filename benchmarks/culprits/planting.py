"""A repository of a project's own commits, from one of which on a function runs a loop first."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from .projects import Planted

COMMITS = 64


def git(folder: Path, *args: str, text: str | None = None, **environment: str) -> str:
    found = subprocess.run(
        ["git", *args],
        cwd=folder,
        input=text,
        text=True,
        capture_output=True,
        check=True,
        env=os.environ | environment,
        errors="surrogateescape",
    )
    return found.stdout.rstrip("\n")


def with_loop(source: str, project: Planted, turns: int) -> str:
    """A source whose function runs a loop first; raises ValueError where it has no such
    function.
    """
    if project.is_c:
        # not a mention in a comment; types of parameters may follow their list
        pattern = re.compile(
            rf"^\w[\w \t*()]*\b{project.function}\s*\([^;{{}}]*\)\s*(?:[\w\s*,]+;\s*)*\{{",
            re.MULTILINE,
        )
        loop = f" for (volatile int perf_turn = 0; perf_turn < {turns}; perf_turn++) {{ }}"
        found = pattern.search(source)
        if not found:
            raise ValueError(project.function)
        return source[: found.end()] + loop + source[found.end() :]
    found = re.search(
        rf"^([ \t]*)def {project.function}\((?:[^()]|\([^()]*\))*\)[^:\n]*:[ \t]*\n",
        source,
        re.MULTILINE,
    )
    if not found:
        raise ValueError(project.function)
    return (
        source[: found.end()]
        + f"{found[1]}    for _ in range({turns}):\n{found[1]}        pass\n"
        + source[found.end() :]
    )


def clone_of(clones: Path, name: str) -> Path:
    for place in (clones / name, *clones.glob(f"*+{name}/repo")):
        if place.exists():
            return place
    raise SystemExit(f"there is no clone of {name} in {clones}: git clone it there")


def first_parents(clone: Path, most: int) -> list[str]:
    """The newest commits of a clone along the first parents, at ``most`` so many, newest first."""
    tip = git(clone, "rev-list", "--max-count=1", "--all", "--first-parent", "HEAD")
    return git(clone, "rev-list", "--first-parent", f"--max-count={most}", tip).split()


def add_benchmark(project: Planted, folder: Path) -> None:
    """The benchmark's own files and perf.toml."""
    (folder / "bench").mkdir(exist_ok=True)
    (folder / "bench" / ("task.c" if project.is_c else "task.py")).write_text(project.work)
    (folder / "bench" / "data.ini").write_text(
        "".join(f"[part {n}]\nname = value {n}\nother: {n} ; note\n" for n in range(20))
    )
    command = "bench/task" if project.is_c else f"{sys.executable} -S bench/task.py"
    build = f'build = ["{project.build}"]\n' if project.build else ""
    path = 'env = { PYTHONPATH = "src:." }\n' if not project.is_c else ""
    (folder / "perf.toml").write_text(
        f'{build}{path}overlay = ["bench"]\n\n[[job]]\nname = "task"\ncmd = "{command}"\nwarmup'
        " = 0\n"
    )


def make(
    project: Planted, clone: Path, originals: list[str], folder: Path, culprit: int, turns: int
) -> list[str]:
    """The repository of some commits, oldest first; their ids."""
    git(folder.parent, "init", "--quiet", "--initial-branch=main", str(folder))
    objects = git(clone, "rev-parse", "--path-format=absolute", "--git-path", "objects")
    (folder / ".git" / "objects" / "info" / "alternates").write_text(f"{objects}\n")
    add_benchmark(project, folder)
    identity = {
        "GIT_AUTHOR_NAME": "Ada",
        "GIT_AUTHOR_EMAIL": "ada@example.org",
        "GIT_COMMITTER_NAME": "Ada",
        "GIT_COMMITTER_EMAIL": "ada@example.org",
    }
    made: list[str] = []
    for number, original in enumerate(originals):
        git(folder, "read-tree", original)
        if number >= culprit:
            source = git(folder, "cat-file", "blob", f"{original}:{project.file}") + "\n"
            blob = git(
                folder, "hash-object", "-w", "--stdin", text=with_loop(source, project, turns)
            )
            git(folder, "update-index", "--cacheinfo", f"100644,{blob},{project.file}")
        git(folder, "add", "--force", "bench", "perf.toml")
        tree = git(folder, "write-tree")
        title = git(folder, "log", "-1", "--format=%s", original)
        parents = ["-p", made[-1]] if made else []
        made.append(git(folder, "commit-tree", tree, *parents, "-m", title or "change", **identity))
    git(folder, "update-ref", "refs/heads/main", made[-1])
    git(folder, "reset", "--quiet", "--hard")
    return made
