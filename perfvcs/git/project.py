"""The project's git repository: revisions and ancestry."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path

import msgspec

from perfvcs.errors import PerfError, UsageError
from perfvcs.git import lineage
from perfvcs.git.command import GitError, git, listing
from perfvcs.git.lineage import Lineage
from perfvcs.system import disk

# what measure.journal calls sessions, or a beginning
SESSION = r"\d{8}T\d{6}(-[0-9a-f]*)?"

UNDERWAY = {  # what git's folder has meanwhile
    "rebase-merge": "a rebase",
    "rebase-apply": "a rebase",
    "CHERRY_PICK_HEAD": "a cherry-pick",
    "REVERT_HEAD": "a revert",
    "MERGE_HEAD": "a merge",
    "BISECT_LOG": "a bisection",
}
_FIELDS = "%H%x1f%P%x1f%aI%x1f%an%x1f%s"  # what anybody can write comes last


class NoRepository(PerfError):
    """There is no git repository, or nothing in it to measure."""

    exit_code = 10


class UnknownRevision(UsageError):
    """A revision that git cannot resolve."""


class Commit(msgspec.Struct, frozen=True):
    """One commit as ``log`` shows it; ``when`` is the author date, ISO 8601."""

    id: str
    parents: tuple[str, ...]
    author: str
    when: str
    title: str


class Fixed(str):
    """A revision or range by full commit ids that git knows."""

    __slots__ = ()


def _commits(listed: str) -> Iterator[Commit]:
    """The commits in the output of ``git log -z`` with ``_FIELDS``."""
    for entry in filter(None, listed.split("\0")):
        readable = entry.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
        commit, parents, when, author, title = readable.split("\x1f", 4)
        yield Commit(commit, tuple(parents.split()), author, when, title)


def _ask(folder: Path, wanted: Sequence[str]) -> list[str]:
    """The answers of ``git rev-parse`` to options; in one call, unless a path has a line end."""
    ask = ("rev-parse", "--path-format=absolute")
    answers = git(folder, *ask, *wanted).split("\n")
    return (
        answers if len(answers) == len(wanted) else [git(folder, *ask, option) for option in wanted]
    )


def _not_embedded(git_folder: Path) -> None:
    """Raises NoRepository if a repository around a git folder tracks it: a clone brought it, with
    settings that git obeys.

    Git itself never lets anything called ``.git`` into a commit, so that only other names need a
    look, and only there is one around it.
    """
    if ".git" in git_folder.parts:
        return
    for around in git_folder.parents:
        if os.path.lexists(around / ".git"):
            try:
                tracked = git(
                    around,
                    "--literal-pathspecs",
                    "ls-files",
                    "-z",
                    "--",
                    str(git_folder.relative_to(around)),
                )
            except GitError as error:
                raise NoRepository(
                    f"cannot see whether {around} tracks {git_folder}: {error}"
                ) from None
            if tracked:
                raise NoRepository(
                    f"{git_folder} came with the repository around it, so its settings are not"
                    " trusted: clone it elsewhere"
                )


class Project(msgspec.Struct, frozen=True, dict=True):
    """A git repository seen from one of its working trees.

    ``root`` is the top of the working tree, ``git_dir`` this tree's own git folder, ``common_dir``
    the one shared by all trees.
    """

    root: Path
    git_dir: Path
    common_dir: Path
    bare: bool

    @classmethod
    def find(cls, start: Path | None = None) -> Project:
        """The repository around a folder (default: the current one); raises NoRepository."""
        folder = (start or Path.cwd()).resolve()
        wanted = ["--git-dir", "--git-common-dir", "--is-bare-repository", "--show-toplevel"]
        try:
            try:
                git_dir, common_dir, bare, root = _ask(folder, wanted)
            except GitError:
                git_dir, common_dir, bare = _ask(folder, wanted[:3])
                root = git_dir if bare == "true" else _ask(folder, wanted[3:])[0]
        except GitError as error:
            reason = str(error).lower()  # git's versions differ in the first letters
            if "not a git repository" in reason:
                raise NoRepository(
                    f"{folder} is not in a git repository: run `git init`, or go to one (`perf -C"
                    " DIR`)"
                ) from None
            if "must be run in a work tree" in reason:
                raise NoRepository("this is git's own folder: go to the working tree") from None
            if "dubious ownership" in reason:
                cure = "if you trust it: git config --global --add safe.directory"
                raise NoRepository(
                    f"{folder} belongs to another user: {cure} {shlex.quote(str(folder))}"
                ) from None
            raise NoRepository(str(error).removeprefix("git rev-parse failed: ")) from None
        for place in dict.fromkeys((git_dir, common_dir)):
            _not_embedded(Path(place))
        return cls(Path(root), Path(git_dir), Path(common_dir), bare == "true")

    def git(
        self, *args: str, extra: Mapping[str, str] | None = None, text: str | None = None
    ) -> str:
        """Run git at the top of the working tree."""
        return git(self.root, *args, extra=extra, text=text)

    @cached_property
    def home(self) -> Path:
        """The folder that holds ``.perf``: beside ``.git`` of the main working tree, so that linked
        trees share it.

        A bare repository, which has no main working tree, holds it inside itself.
        """
        if self.bare:
            return self.common_dir
        if self.git_dir == self.common_dir:
            return self.root
        if self.common_dir.name == ".git":
            return self.common_dir.parent
        try:
            place = git(
                self.root, "config", "--file", str(self.common_dir / "config"), "core.worktree"
            )
            return (self.common_dir / place).resolve()
        except GitError:
            return self.common_dir

    @cached_property
    def shallow(self) -> bool:
        """Whether the history was cut off when cloning."""
        return (self.common_dir / "shallow").exists()

    def resolve(self, revision: str) -> str:
        """The full commit id of a revision; raises UnknownRevision, or NoRepository."""
        if commit := self._commit(revision):
            return commit
        if not self._has_commits():
            raise NoRepository(
                "the repository has no commits yet: make the first one with `git commit`"
            )
        if revision == "HEAD":
            raise UnknownRevision(
                "this branch has no commits yet: make the first one with `git commit`, or name a"
                " revision"
            )
        if re.fullmatch(SESSION, revision):
            raise UnknownRevision(
                f"`{revision}` is not a revision here, but looks like a session: `perf status`"
                " names those that can be finished (`perf collect --continue SESSION`) or given up"
                " (`perf rm SESSION`)"
            )
        cure = ": see `git log`, `git branch -a`, `git tag`"
        if self.shallow:
            cure = "; the clone is shallow: `git fetch --unshallow`"
        raise UnknownRevision(f"`{revision}` is not a revision here{cure}")

    @property
    def head(self) -> str | None:
        """The commit that the working tree is based on; None on a branch without commits."""
        return self._commit("HEAD")

    @cached_property
    def _known(self) -> set[str]:
        """Full ids of commits that git has found; what is a commit stays one."""
        return set()

    @property
    def underway(self) -> str:
        """What git is in the middle of, in words; empty where it is in the middle of nothing."""
        return next((what for name, what in UNDERWAY.items() if (self.git_dir / name).exists()), "")

    def _commit(self, revision: str) -> str | None:
        """The full id of the commit that a revision names; None when it names none."""
        if revision in self._known:
            return revision
        # git lets nothing but a commit be HEAD, or the end of a branch
        commit = (
            lineage.head(self.git_dir, self.common_dir) if revision == "HEAD" else None
        ) or self._asked(revision)
        if commit:
            self._known.add(commit)
        return commit

    def _asked(self, revision: str) -> str | None:
        ask = ("rev-parse", "--verify", "--quiet", "--end-of-options")
        with contextlib.suppress(GitError):
            try:
                commit = self.git(*ask, f"{revision}^{{commit}}")
            except GitError:  # `:/text` takes all that follows for text
                commit = self.git(*ask, f"{self.git(*ask, revision)}^{{commit}}")
            return None if commit.startswith("^") else commit
        return None

    def _has_commits(self) -> bool:
        return self.head is not None or bool(
            self.git("for-each-ref", "--count=1", "refs/heads", "refs/remotes")
        )

    def expand(self, revisions: Iterable[str]) -> list[str]:
        """Commit ids of revisions and ranges (``A..B``: oldest first, no A), without repeats."""
        commits: list[str] = []
        for revision in revisions:
            if ".." in revision:
                commits += self.range(revision)
            else:
                commits.append(self.resolve(revision))
        return list(dict.fromkeys(commits))

    def range(self, text: str) -> list[str]:
        """The commits of ``A..B`` by ancestry, oldest first; an empty side means HEAD."""
        listed = self.git("rev-list", "--topo-order", "--reverse", self._span(text))
        if not listed:
            raise UsageError(f"`{text}` holds no commits: is it the wrong way round?")
        return listed.split()

    def fixed(self, revision: str) -> Fixed:
        """A revision or range by full commit ids, which stay; raises UnknownRevision."""
        if isinstance(revision, Fixed):
            return revision
        return self._span(revision) if ".." in revision else Fixed(self.resolve(revision))

    def _span(self, text: str) -> Fixed:
        """A range with both sides resolved."""
        old, _, new = text.partition("..")
        if new.startswith("."):
            raise UsageError(f"`{text}` has three dots: use `A..B`")
        return Fixed(f"{self.resolve(old or 'HEAD')}..{self.resolve(new or 'HEAD')}")

    def walk(self, revision: str, *, straight: bool = False) -> Iterator[str]:
        """The ids of a commit and its ancestors (or of a range's commits), newest first, as far as
        they are asked for.

        ``straight``: only along the first parents, without what was merged. Git begins at once,
        while the caller does something else.
        """
        return listing(
            self.root, "rev-list", *(["--first-parent"] if straight else []), self.fixed(revision)
        )

    def describe(self, commits: Iterable[str]) -> dict[str, Commit]:
        """Details of given commits; unknown ones (another clone's) are left out."""
        if not (wanted := "\n".join(dict.fromkeys(commits))):
            return {}
        options = (
            "log",
            "-z",
            "--no-walk=unsorted",
            "--stdin",
            "--no-show-signature",
            f"--format={_FIELDS}",
        )
        try:
            listed = self.git(*options, text=wanted + "\n")
        except GitError:  # some are unknown here
            objects = self.git(
                "cat-file", "--batch-check=%(objectname) %(objecttype)", text=wanted + "\n"
            ).split("\n")
            present = "\n".join(line.split()[0] for line in objects if line.endswith(" commit"))
            listed = self.git(*options, text=present + "\n") if present else ""
        return {commit.id: commit for commit in _commits(listed)}

    def ancestors(self, commit: str) -> Iterator[str]:
        """The ancestors of a commit, nearest first by steps, first parents before others."""
        return self._lineage.ancestors(commit)

    @cached_property
    def _lineage(self) -> Lineage:
        ask = ("rev-list", "--parents", "--stdin")
        return Lineage(
            lambda commits: listing(
                self.root, *ask, text="".join(f"{commit}\n" for commit in commits)
            )
        )

    def tree(self, commit: str) -> str:
        """The id of a commit's tree."""
        return self.git("rev-parse", f"{commit}^{{tree}}")

    def exclude(self, pattern: str) -> None:
        """Add a pattern to ``info/exclude`` unless it is there."""
        path = self.common_dir / "info" / "exclude"
        text = path.read_bytes() if path.exists() else b""
        if pattern.encode() not in text.splitlines():
            path.parent.mkdir(exist_ok=True)
            whole = (
                text
                + (b"" if not text or text.endswith(b"\n") else b"\n")
                + pattern.encode()
                + b"\n"
            )
            disk.write(
                path.resolve(), whole, path.stat().st_mode & 0o777 if path.exists() else None
            )
