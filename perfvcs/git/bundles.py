"""Bundles of commits, as a project sends them to the clones that hosts keep of it."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

from perfvcs.git.command import GitError, git, scratch, start
from perfvcs.git.project import Project

REFS = "refs/perfvcs/hosts"  # below it, a clone on a host keeps each commit that it was sent


def roots(project: Project, commits: Sequence[str]) -> list[str]:
    """The commits that the history of these begins with."""
    return sorted(project.git("rev-list", "--max-parents=0", *commits).split())


def bundle(project: Project, commits: Sequence[str], known: Iterable[str]) -> bytes:
    """A git bundle of commits with their history, without what ``known`` commits reach; empty if
    that is all. Raises GitError.
    """
    there = _present(project, known)
    wanted = [commit for commit in dict.fromkeys(commits) if commit not in there]
    if not wanted:
        return b""
    form = (
        "# v2 git bundle\n" if len(wanted[0]) == 40 else "# v3 git bundle\n@object-format=sha256\n"
    )
    head = (
        form
        + "".join(f"-{commit} \n" for commit in there)
        + "".join(f"{commit} {REFS}/{commit}\n" for commit in wanted)
        + "\n"
    )
    with scratch() as asked, scratch() as stderr:
        asked.write("".join(f"{commit}\n" for commit in wanted).encode())
        asked.write("".join(f"^{commit}\n" for commit in there).encode())
        asked.seek(0)
        arguments = ("pack-objects", "--revs", "--thin", "--stdout", "--delta-base-offset", "-q")
        with start(
            *arguments, hardened=False, folder=project.root, stdin=asked, stderr=stderr
        ) as process:
            packed, _ = process.communicate()
        if process.returncode:
            stderr.seek(0)
            raise GitError(
                f"git pack-objects failed: {stderr.read().decode(errors='replace').strip()}"
            )
    return head.encode() + packed


def _present(project: Project, commits: Iterable[str]) -> list[str]:
    asked = "".join(f"{commit}\n" for commit in dict.fromkeys(commits))
    answers = ""
    if asked:
        answers = project.git("cat-file", "--batch-check=%(objectname) %(objecttype)", text=asked)
    return [line.split(" ")[0] for line in answers.split("\n") if line.endswith(" commit")]


def clone(folder: Path, form: str) -> Project:
    """The repository in a folder, made if missing; ``form`` names its hash."""
    if not (folder / ".git").is_dir():
        folder.mkdir(parents=True, exist_ok=True)
        git(folder, "init", "--quiet", f"--object-format={form}", "--template=", ".")
    return Project.find(folder)


def tips(project: Project) -> list[str]:
    """The commits that a clone on a host was sent."""
    return project.git("for-each-ref", "--format=%(objectname)", REFS).split()


def unbundle(project: Project, content: bytes) -> None:
    """Put what a bundle has into a clone; raises GitError."""
    if content:
        with tempfile.NamedTemporaryFile(dir=project.common_dir, suffix=".bundle") as file:
            file.write(content)
            file.flush()
            quiet = (
                "-c",
                "core.hooksPath=/dev/null",
                "-c",
                "gc.auto=0",
                "-c",
                "protocol.file.allow=always",
            )
            project.git(*quiet, "fetch", "--quiet", "--no-tags", file.name, f"+{REFS}/*:{REFS}/*")
