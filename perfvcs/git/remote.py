"""Other repositories, by the names that the project has for them or by address: fetching from them
and pushing to them.

Git runs hardened in a bare repository of ours. It takes no settings but those of the project and
its user that say how to reach others: credentials, proxies, certificates, ssh. What comes is
bounded, and hostile until somebody has looked at it.
"""

from __future__ import annotations

import os
import re
import resource
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from perfvcs.errors import UsageError
from perfvcs.git.bare import Bare
from perfvcs.git.command import GitError, complaint, reach, scratch
from perfvcs.git.project import Project
from perfvcs.git.refusal import (
    CREDENTIALS,
    LARGEST_FETCH,
    SETTINGS_NAME,
    RemoteFailed,
    require_success,
)

# what may be asked of the project's settings; their names begin in small letters
REACHING = (
    r"(?s:(http|https|credential|protocol|ssh)\..*|core\.(sshcommand|askpass|gitproxy)"
    r"|url\..*\.(insteadof|pushinsteadof))"
)
OF_REMOTE = ("proxy", "proxyauthmethod", "uploadpack", "receivepack")
MOST_MEMORY = 1 << 31  # bytes; of deltas, a small pack can make objects of any size
MOST_SECONDS = 600  # of a processor, that one fetch may take
# bytes a second, and for how long they may be fewer
PATIENT = (("http.lowSpeedLimit", "100"), ("http.lowSpeedTime", "60"))
CHECKED = (
    "-c",
    "transfer.fsckObjects=true",
    "-c",
    "fetch.unpackLimit=1",
    "-c",
    "core.bigFileThreshold=16m",
)
FETCH_OPTIONS = (
    "--quiet",
    "--no-tags",
    "--no-write-fetch-head",
    "--no-recurse-submodules",
    "--no-auto-maintenance",
)
FASTER = (
    r"\[rejected\]|\(fetch first\)|\(non-fast-forward\)|cannot lock ref"
    r"|failed to update ref|reference already exists"
)


class NoRemote(UsageError):
    """There is no such remote."""


class NoBranch(UsageError):
    """The remote has no such branch."""


@dataclass(frozen=True)
class Remote:
    """Another repository: its name for people, its address, and the settings by which git reaches
    it, as keys and values.

    ``known_as`` is the address that the project has for it, the same for fetching and pushing.
    """

    name: str
    address: str
    known_as: str
    folder: Path
    settings: tuple[tuple[str, str], ...] = field(default=(), repr=False)

    @classmethod
    def find(
        cls, project: Project, name: str | None = None, *, push: bool = False, reached: bool = True
    ) -> Remote:
        """The remote of that name, or at that address; by default the only one, the current
        branch's, or `origin`. Raises NoRemote.

        ``reached``: git is asked how it gets there, which takes a while.
        """
        given = {key: value for key, value in os.environ.items() if key.startswith("GIT_CONFIG_")}
        settings = [
            (key, value)
            for entry in project.git("config", "--null", "--list", extra=given).split("\0")
            for key, _, value in [entry.partition("\n")]
            if key
        ]
        names = list(
            dict.fromkeys(
                key[7:-4]
                for key, _ in settings
                if key.startswith("remote.") and key.endswith(".url")
            )
        )
        wanted = name if name is not None else _default(project, dict(settings), names, push=push)
        reaching = tuple(pair for pair in settings if re.fullmatch(REACHING, pair[0]))
        if wanted in names:
            first = next(value for key, value in settings if key == f"remote.{wanted}.url")
            address = first
            if reached:
                side = ["--push"] if push else []
                address = project.git("remote", "get-url", *side, wanted)
            own_settings = tuple(
                (f"remote.{SETTINGS_NAME}.{key.rpartition('.')[2]}", value)
                for key, value in settings
                if key in {f"remote.{wanted}.{setting}" for setting in OF_REMOTE}
            )
            return cls(wanted, address, first, project.root, (*reaching, *own_settings))
        if not re.search(r"[/:]", wanted) and not Path(wanted).exists():
            existing = f"there {'is' if len(names) < 2 else 'are'} {', '.join(names) or 'none'}"
            raise NoRemote(
                f"`{wanted}` is not a remote of this repository ({existing}), nor an address: see"
                " `git remote -v`"
            )
        address = str(Path(wanted).absolute()) if Path(wanted).exists() else wanted
        return cls(re.sub(CREDENTIALS, "", wanted), address, address, project.root, reaching)

    @property
    def is_bundle(self) -> bool:
        """Whether it is a file: git's bundle."""
        return (self.folder / self.address).is_file()

    def fetch(self, into: Bare, *wanted: str, filtered: bool, depth: bool = True) -> bool:
        """Fetches refspecs, or objects by their ids; returns whether they were there. Raises
        RemoteFailed.

        ``depth``: of each reference only the newest commit. ``filtered``: only small files, where
        the other side supports that.
        """
        options = [*FETCH_OPTIONS]
        if depth:
            options.append("--depth=1")
        if filtered:
            options.append("--filter=blob:limit=1024")
        done = self._talk(
            into,
            [*CHECKED, "fetch", *options, "--stdin", SETTINGS_NAME],
            data="\n".join(wanted),
            bounded=True,
        )
        if done.returncode and re.search(
            r"couldn't find remote ref|remote ref .* not found", done.stderr, re.IGNORECASE
        ):
            return False
        require_success(self.name, done)
        return True

    def push(
        self, source: Bare, commit: str, reference: str, *, expected: str | None = None
    ) -> bool:
        """Put a commit in the place of one that it follows; False where somebody was faster.

        Raises RemoteFailed.

        ``expected``: the commit that it may replace without following it, and no other.
        """
        lease = [f"--force-with-lease={reference}:{expected}"] if expected else []
        done = self._talk(
            source,
            [
                "push",
                "--quiet",
                "--porcelain",
                "--no-verify",
                "--no-thin",
                *lease,
                SETTINGS_NAME,
                f"{commit}:{reference}",
            ],
        )
        if (
            done.returncode
            and (re.search(FASTER, done.stdout) or re.search(FASTER, done.stderr))
            and "declined" not in done.stdout
        ):
            return False
        require_success(self.name, done)
        return True

    def tip(self, reference: str, within: float | None = None) -> str | None:
        """The object that a reference of the remote names, None if it has none.

        Raises RemoteFailed.

        ``within``: the seconds to wait at most, in which nobody is asked for a password.
        """
        # in the project, where a remote of the user's may have the name that we give to the other
        # side
        done = self._talk(
            None, ["ls-remote", "--quiet", "--", self.address, reference], within=within
        )
        require_success(self.name, done)
        lines = [line.partition("\t") for line in done.stdout.split("\n")]
        # git also lists those that only end like it
        return next((commit for commit, _, name in lines if name == reference), None)

    def default_branch(self, within: float) -> str:
        """The branch that a clone would check out; asks as ``tip`` does.

        Raises RemoteFailed, NoBranch.
        """
        done = self._talk(
            None, ["ls-remote", "--quiet", "--symref", "--", self.address, "HEAD"], within=within
        )
        require_success(self.name, done)
        head = re.match(r"ref: refs/heads/(\S+)\tHEAD$", done.stdout, re.MULTILINE)
        if not head:
            raise NoBranch(f"{self.name} does not say which branch is its main one: name a branch")
        return head[1]

    def follow(self, branch: str, reference: str, within: float) -> None:
        """Let a reference of the project be where a branch of the remote is, and fetch what it
        needs; asks as ``tip`` does.

        Raises RemoteFailed, NoBranch.
        """
        words = [
            "fetch",
            "--quiet",
            "--no-tags",
            "--no-write-fetch-head",
            "--no-recurse-submodules",
            "--",
            self.address,
        ]
        done = self._talk(None, [*words, f"+refs/heads/{branch}:{reference}"], within=within)
        if done.returncode and re.search(
            r"couldn't find remote ref|invalid refspec", done.stderr, re.IGNORECASE
        ):
            raise NoBranch(
                f"{self.name} has no branch `{branch}`: see `git ls-remote --heads {self.name}`"
            )
        require_success(self.name, done)

    def _talk(
        self,
        at: Bare | None,
        words: list[str],
        *,
        data: str = "",
        bounded: bool = False,
        within: float | None = None,
    ) -> subprocess.CompletedProcess[str]:
        """Run git on a repository of ours, or on none, with the right to reach others."""
        settings = (*PATIENT, *self.settings, (f"remote.{SETTINGS_NAME}.url", self.address))
        where = [f"--git-dir={at.path}"] if at is not None else []
        extra = at.variables if at is not None else {}
        with scratch() as asked, scratch() as stderr:
            asked.write(data.encode("utf-8", "surrogateescape"))
            asked.seek(0)
            with _bounded(yes=bounded):
                process = reach(
                    *where,
                    *words,
                    folder=self.folder,
                    settings=settings,
                    extra=extra,
                    stdin=asked,
                    stderr=stderr,
                    alone=within is not None,
                )
            with process:
                try:
                    output, _ = process.communicate(timeout=within)
                except subprocess.TimeoutExpired:
                    process.kill()
                    raise RemoteFailed(
                        f"{self.name} does not answer within {within:.0f} s: try `perf pull` later"
                    ) from None
                except BaseException:
                    process.terminate()
                    raise
            why = complaint(process, stderr) if process.returncode else ""
        return subprocess.CompletedProcess(
            words, process.returncode, output.decode(errors="replace"), why
        )


def _default(project: Project, settings: dict[str, str], names: list[str], *, push: bool) -> str:
    """The remote that git would take, too; raises NoRemote if nothing says which."""
    if not names:
        raise NoRemote(
            "this repository has no remote: `git remote add origin ADDRESS`, or name an address"
        )
    if len(names) == 1:
        return names[0]
    try:
        branch = project.git("symbolic-ref", "--short", "--quiet", "HEAD")
    except GitError:
        branch = ""
    keys = [f"branch.{branch}.pushremote", "remote.pushdefault"] if push else []
    for key in (*keys, f"branch.{branch}.remote"):
        if settings.get(key) in names:
            return settings[key]
    if "origin" in names:
        return "origin"
    raise NoRemote(f"there are several remotes ({', '.join(names)}): name one")


@contextmanager
def _bounded(*, yes: bool) -> Iterator[None]:
    """Limits the file size, memory and time of processes that are started meanwhile."""
    limits = {
        resource.RLIMIT_FSIZE: LARGEST_FETCH,
        resource.RLIMIT_DATA: MOST_MEMORY,
        resource.RLIMIT_CPU: MOST_SECONDS,
    }
    before = {kind: resource.getrlimit(kind) for kind in limits} if yes else {}
    try:
        for kind, (soft, hard) in before.items():
            finite = [
                limit for limit in (soft, hard, limits[kind]) if limit != resource.RLIM_INFINITY
            ]
            resource.setrlimit(kind, (min(finite), hard))
        yield
    finally:
        for kind, both in before.items():
            resource.setrlimit(kind, both)
