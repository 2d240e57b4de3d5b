"""Web addresses of a project's commits, pull requests and source lines, derived from the address
of its remote.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import quote, urlsplit

from perfvcs.errors import UsageError
from perfvcs.git.project import Project
from perfvcs.git.remote import NoRemote, Remote
from perfvcs.text.characters import shorten

NO_FORGE = "none"
ADDRESS = re.compile(r"[!-~]+")  # characters of an address
HOST = re.compile(r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?")
# of ssh: git@host:owner/project.git
SHORT_FORM = re.compile(r"(?:[^/@:\s]+@)?(?P<host>[^/@:\s]+):(?!//)(?P<path>[^:]+)")
PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True)
class Forge:
    """Templates of addresses, ``{id}`` of a commit, ``{number}`` of a pull request and ``{path}``
    of a file, whose address a line's number may follow; empty if they are not known.
    """

    commit: str = ""
    request: str = ""
    source: str = ""

    def of_commit(self, commit: str) -> str:
        """The address of a commit; empty if it has none."""
        return self.commit.replace("{id}", commit)

    def of_request(self, number: int | None) -> str:
        """The address of a pull request; empty if it has none."""
        return "" if number is None else self.request.replace("{number}", str(number))

    def of_source(self, commit: str, path: str) -> str:
        """The address of a file, behind which a line's number may follow; empty if it has none."""
        return self.source.replace("{id}", commit).replace("{path}", quote(path))


GITHUB = Forge("/commit/{id}", "/pull/{number}", "/blob/{id}/{path}#L")
GITLAB = Forge("/-/commit/{id}", "/-/merge_requests/{number}", "/-/blob/{id}/{path}#L")
BITBUCKET = Forge("/commits/{id}", "/pull-requests/{number}", "/src/{id}/{path}#lines-")
GITEA = Forge("/commit/{id}", "/pulls/{number}", "/src/commit/{id}/{path}#L")
SOURCEHUT = Forge("/commit/{id}", source="/tree/{id}/item/{path}#L")
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
    """The forge of a remote's address, without names and passwords; empty if it is unknown."""
    if SHORT_FORM.fullmatch(address) and "://" not in address:
        parsed = SHORT_FORM.fullmatch(address)
        assert parsed is not None
        scheme, host, path, port = "ssh", parsed["host"].lower(), parsed["path"], None
    else:
        try:
            parts = urlsplit(address)
            scheme = parts.scheme
            host = (parts.hostname or "").lower()
            path = parts.path
            port = parts.port
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
    return Forge(top + kind.commit, top + kind.request if kind.request else "", top + kind.source)


def usual(project: Project) -> Forge:
    """As the address of the usual remote says."""
    try:
        return guessed(Remote.find(project).address)
    except NoRemote:
        return Forge()


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
