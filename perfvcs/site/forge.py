"""Web addresses of a project's commits and pull requests, derived from the address of its
remote.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple
from urllib.parse import quote, urlsplit

from perfvcs.errors import UsageError
from perfvcs.git.project import Project
from perfvcs.repository.criteria import JUDGES
from perfvcs.site.model import FileData
from perfvcs.text.characters import shorten

PATH_WIDTH = 160  # characters
MOST_FILES = 400  # files of a commit that are kept, the others are only counted
COMMITS_PER_READ = 500
START = "\x1e"
LOG_COMMAND = (
    "log",
    "-z",
    "--no-walk=unsorted",
    "--stdin",
    "--no-show-signature",
    "--diff-merges=first-parent",
    "--name-status",
    "--no-renames",
    "-O/dev/null",  # in git's own order, whatever somebody has set
    f"--format={START}%H",
)
NO_FORGE = "none"
ADDRESS = re.compile(r"[!-~]+")  # characters of an address
HOST = re.compile(r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?")
# of ssh: git@host:owner/project.git
SHORT_FORM = re.compile(r"(?:[^/@:\s]+@)?(?P<host>[^/@:\s]+):(?!//)(?P<path>[^:]+)")
PORTS = {"http": 80, "https": 443}


class Diff(NamedTuple):
    """The first files that a commit changes, and how many ``more`` there are."""

    files: list[FileData]
    more: int = 0

    @classmethod
    def of(cls, files: list[tuple[str, str]]) -> Diff:
        """What of all files is kept: the first, and those that judge, which others must not
        hide.
        """
        listed = files[:MOST_FILES] + [file for file in files[MOST_FILES:] if file[1] in JUDGES]
        named = [FileData(status, shorten(path, PATH_WIDTH)) for status, path in listed]
        return cls(named, len(files) - len(listed))

    def first(self, most: int) -> Diff:
        """The same with at most so many files."""
        return Diff(self.files[:most], self.more + max(0, len(self.files) - most))


class Diffs:
    """The changes of commits against their first parents; git is asked once per commit."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._known: dict[str, Diff] = {}

    def fetch(self, commits: Iterable[str]) -> None:
        """Ask for many commits at once."""
        missing = [commit for commit in dict.fromkeys(commits) if commit not in self._known]
        for start in range(0, len(missing), COMMITS_PER_READ):
            batch = missing[start : start + COMMITS_PER_READ]
            listed = self._project.git(
                "-c", "log.showRoot=true", *LOG_COMMAND, text="\n".join(batch) + "\n"
            )
            self._known |= dict.fromkeys(batch, Diff([])) | _diffs(listed)

    def of(self, commit: str) -> Diff:
        """The changes of a commit."""
        if commit not in self._known:
            self.fetch([commit])
        return self._known[commit]


def _diffs(listed: str) -> dict[str, Diff]:
    """The output of LOG: per commit its id, then pairs of status and path, each with a NUL behind
    it.
    """
    changes: dict[str, list[tuple[str, str]]] = {}
    files: list[tuple[str, str]] = []
    tokens = iter(listed.split("\0"))
    for token in tokens:
        if token.startswith(START):
            files = changes[token[1:]] = []
        elif status := token.strip("\n"):
            files.append((status[:1], next(tokens)))
    return {commit: Diff.of(files) for commit, files in changes.items()}


@dataclass(frozen=True)
class Forge:
    """Templates of addresses, ``{id}`` of a commit and ``{number}`` of a pull request; empty if
    they are not known.
    """

    commit: str = ""
    request: str = ""

    def of_commit(self, commit: str) -> str:
        """The address of a commit; empty if it has none."""
        return self.commit.replace("{id}", commit)

    def of_request(self, number: int | None) -> str:
        """The address of a pull request; empty if it has none."""
        return "" if number is None else self.request.replace("{number}", str(number))


GITHUB = Forge("/commit/{id}", "/pull/{number}")
GITLAB = Forge("/-/commit/{id}", "/-/merge_requests/{number}")
BITBUCKET = Forge("/commits/{id}", "/pull-requests/{number}")
GITEA = Forge("/commit/{id}", "/pulls/{number}")
SOURCEHUT = Forge("/commit/{id}")
FORGE_KINDS = (  # what a host is called -> what runs there
    (r"github\.com|github\.(?!com\.).+", GITHUB),
    (
        r"gitlab\.com|gitlab\.(?!com\.).+|.+\.gitlab\.com|salsa\.debian\.org|invent\.kde\.org",
        GITLAB,
    ),
    (r"bitbucket\.org", BITBUCKET),
    (r"codeberg\.org|(gitea|forgejo)\..+", GITEA),
    (r"git\.sr\.ht", SOURCEHUT),
)


def guessed(address: str) -> Forge:
    """The forge of a remote's address, without names and passwords; without templates if the host
    is not known.
    """
    if SHORT_FORM.fullmatch(address) and "://" not in address:
        parsed = SHORT_FORM.fullmatch(address)
        assert parsed is not None
        scheme, host, path, port = "ssh", parsed["host"].lower(), parsed["path"], None
    else:
        try:
            parts = urlsplit(address)
            scheme, host, path, port = (
                parts.scheme,
                (parts.hostname or "").lower(),
                parts.path,
                parts.port,
            )
        except ValueError:  # a port that is not a number
            return Forge()
    kind = next((forge for pattern, forge in FORGE_KINDS if re.fullmatch(pattern, host)), None)
    names = [name for name in path.removesuffix("/").removesuffix(".git").split("/") if name]
    if (
        kind is None
        or scheme not in ("ssh", "git", "http", "https", "git+ssh")
        or not HOST.fullmatch(host)
    ):
        return Forge()
    if (
        len(names) < 2
        or not all(name.isprintable() for name in names)
        or {".", ".."}.intersection(names)
    ):
        return Forge()
    # one that is reached by ssh has its pages at https, whatever the port
    web = scheme if scheme in PORTS else "https"
    behind = f":{port}" if scheme in PORTS and port not in (None, PORTS[scheme]) else ""
    top = f"{web}://{host}{behind}/{'/'.join(quote(name, safe='~@+-._') for name in names)}"
    return Forge(top + kind.commit, top + kind.request if kind.request else "")


def given(template: str) -> Forge:
    """By a template of the address of a commit, with ``{id}``, or ``none``; raises UsageError."""
    if template == NO_FORGE:
        return Forge()
    try:
        parts = urlsplit(template)
        sound = (
            parts.scheme in ("http", "https")
            and parts.hostname
            and ADDRESS.fullmatch(template)
            and "{id}" in template
        )
        secret = "@" in parts.netloc
    except ValueError:
        sound, secret = None, False
    if secret:
        raise UsageError(
            "--commit-url has a user's name in it, which everybody would see: leave it out"
        )
    if not sound:
        raise UsageError(
            f"--commit-url {shorten(template, 80)} is not the address of a commit: give one like "
            f"https://example.org/project/commit/{{id}}, or `{NO_FORGE}`"
        )
    return Forge(template)
