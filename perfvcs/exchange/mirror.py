"""What remotes had when they were last seen: the newest commit of each, and what that lists.

It can be deleted at any time.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from perfvcs.errors import PerfError
from perfvcs.exchange import storegap
from perfvcs.exchange.storegap import StoreDifference
from perfvcs.git.bare import Bare, Fault, GitFailed
from perfvcs.git.refusal import SETTINGS_NAME, RemoteFailed
from perfvcs.git.remote import Remote
from perfvcs.git.stream import Import, blob_id
from perfvcs.store import EMPTY_TREE, STORE_FORMAT, Store
from perfvcs.store.locks import refused, unwritable
from perfvcs.store.removal import LARGEST_REMOVAL as SMALL
from perfvcs.store.removal import REMOVED_FOLDER as REMOVED
from perfvcs.store.removal import Damaged, place_of
from perfvcs.system import disk
from perfvcs.system.disk import entries, make_folder, remove
from perfvcs.system.lock import hold

REFERENCE = "refs/perf/profiles"  # of a remote
REMOTES_FOLDER = "remotes"  # in .perf
LARGEST_DOCUMENT = 1 << 28  # bytes of a document that is taken over
CONFIG = f"""\
[core]
	repositoryformatversion = 1
	bare = true
[extensions]
	partialClone = {SETTINGS_NAME}
[remote "{SETTINGS_NAME}"]
	promisor = true
	partialclonefilter = blob:limit={SMALL}
""".encode()
KEPT_REFERENCES = ("refs/known/", "refs/lost/")
UNUSABLE = re.compile(
    "promisor remote|unable to read|is corrupt|(invalid|bad) object|missing"
)  # what git says of a damaged repository
# that a remote may list beside what it had when it was seen last; git and we hold some 500 bytes
# of each
MOST_FILES = 1_500_000
NEWEST_FORMAT = 99  # versions of the store that are looked for, to say which one a remote has


class OtherFormat(PerfError):
    """What a remote has is not a store, or one of another version."""

    exit_code = 12


class TooMuch(PerfError):
    """A remote has more files than anybody should take over."""


class Mirror:
    """The repository ``.perf/remotes/known``, and ``incoming`` beside it for single files while an
    exchange runs.

    Nothing that is in them is in the store. They are read through the store's own settings.
    """

    def __init__(self, home: Path, store: Store) -> None:
        self._home = home
        self._store = store
        self._known = Bare(home / "known", (store.path.absolute() / "objects",))
        self._incoming = Bare(home / "incoming")
        self.reading = Bare(
            store.path.absolute(), (home / "known/objects", home / "incoming/objects")
        )
        # of each remote, by its reference, once git was asked
        self._last: dict[str, str | None] = {}

    @classmethod
    @contextmanager
    def opened(cls, home: Path, store: Store) -> Iterator[Mirror]:
        """The mirror in a ``.perf``, for one exchange at a time; what a killed one left is swept
        up. Raises Unwritable, Damaged.
        """
        folder = make_folder(home / REMOTES_FOLDER)
        with hold(folder / "lock", wait=True):
            mirror = cls(folder.absolute(), store)
            try:
                mirror._prepare()
                yield mirror
            except GitFailed as error:
                cure = f"it is only a copy: delete {folder}, and try again"
                raise refused(folder, error) or Damaged(
                    f"git cannot work on {folder} ({error.reason}): {cure}"
                ) from None
            except OSError as error:
                raise unwritable(folder, error) from None
            finally:
                mirror._sweep()

    @classmethod
    def exists(cls, home: Path) -> bool:
        """Whether any remote was ever seen."""
        return (home / REMOTES_FOLDER / "known").is_dir()

    @classmethod
    def seen(
        cls, home: Path, store: Store, remote: Remote, head: str | None
    ) -> StoreDifference | None:
        """How a remote differed from a commit of the store when it was last seen; None where it
        never was.

        Nothing is asked of it, and nothing waited for.
        """
        repository = cls((home / REMOTES_FOLDER).absolute(), store)._known
        with suppress(GitFailed):
            return _compared(repository, _reference(remote), head)
        return None

    def _prepare(self) -> None:
        self._sweep()
        folder = self._known.path
        listed = ""
        try:
            listed = self._known.run("for-each-ref", "--format=%(objectname) %(refname)").decode(
                "utf-8", "surrogateescape"
            )
        except GitFailed:
            self._forget()
        if (folder / "config").read_bytes() != CONFIG:
            disk.write(folder / "config", CONFIG)
        seen = [
            (commit, reference)
            for line in listed.split("\n")
            for commit, space, reference in [line.partition(" ")]
            if space
        ]
        for _, reference in seen:
            if not reference.startswith(KEPT_REFERENCES):
                self._known.run("update-ref", "-d", reference)
        # each commit that is kept is as far as we look back
        shallow = sorted(
            {commit for commit, reference in seen if reference.startswith(KEPT_REFERENCES)}
        )
        disk.write(folder / "shallow", "".join(f"{commit}\n" for commit in shallow).encode())

    def _sweep(self) -> None:
        """Remove what one exchange needs, and what git's killed processes leave; nobody else is
        here.
        """
        for name in entries(self._home):
            if name not in ("known", "lock"):
                remove(self._home / name)
        folder = self._known.path
        for left in (
            *folder.rglob("*.lock"),
            *folder.glob("objects/pack/tmp_*"),
            *folder.glob("objects/??/tmp_obj_*"),
        ):
            left.unlink(missing_ok=True)

    def _forget(self) -> None:
        """Begin anew with a repository that cannot be used."""
        remove(self._known.path)
        self._make(self._known)
        self._last.clear()

    def _make(self, git: Bare) -> None:
        git.run(
            "-c",
            "init.defaultBranch=main",
            "init",
            "--quiet",
            "--bare",
            "--template=",
            str(git.path),
        )
        disk.write(git.path / "config", CONFIG)

    def last(self, remote: Remote) -> str | None:
        """The commit that a remote had when it was last seen."""
        reference = _reference(remote)
        if reference not in self._last:
            self._last[reference] = self._resolved(reference)
        return self._last[reference]

    def _resolved(self, reference: str) -> str | None:
        try:
            return (
                self._known.run("rev-parse", "--verify", "--quiet", f"{reference}^{{commit}}")
                .decode()
                .strip()
            )
        except GitFailed:
            return None

    def fetch(self, remote: Remote) -> str | None:
        """The commit that a remote has now, with what it lists; None where it has none.

        Raises RemoteFailed, OtherFormat.
        """
        last = None if remote.is_bundle else self.last(remote)
        # asked to fetch what is here already, a server would go through all its folders
        if last is not None and remote.tip(REFERENCE) == last:
            return last
        try:
            fetched = self._fetched(remote)
        except RemoteFailed as error:
            if self.last(remote) is None or not UNUSABLE.search(str(error)):
                raise
            self._forget()
            fetched = self._fetched(remote)
        if not fetched and remote.is_bundle:
            raise OtherFormat(
                f"{remote.name} is a bundle without profiles: `perf export --bundle FILE` writes"
                " one with them"
            )
        return self._tip(remote) if fetched else None

    def _fetched(self, remote: Remote) -> bool:
        whole = remote.is_bundle
        return remote.fetch(
            self._known, f"+{REFERENCE}:refs/incoming/tip", filtered=not whole, depth=not whole
        )

    def _tip(self, remote: Remote) -> str:
        tip = self._resolved("refs/incoming/tip")
        format_entry = (
            self._known.run("ls-tree", "-z", "--full-tree", tip or EMPTY_TREE, "format")
            .decode()
            .split()
        )
        if tip is None or format_entry[:3] != ["100644", "blob", blob_id(STORE_FORMAT)]:
            versions = {
                blob_id(b"perfvcs-store/%d\n" % number): number
                for number in range(2, NEWEST_FORMAT + 1)
            }
            if len(format_entry) > 2 and format_entry[2] in versions:
                raise OtherFormat(
                    f"{remote.name} has profiles of format"
                    f" perfvcs-store/{versions[format_entry[2]]}: update perfvcs"
                )
            raise OtherFormat(
                f"what {remote.name} has at {REFERENCE} is not a store of perfvcs: see who"
                " pushed it"
            )
        last = self.last(remote)
        if tip != last and storegap.lists_more(self.reading, tip, last, MOST_FILES):
            raise TooMuch(
                f"{remote.name} lists more than {MOST_FILES:,} files: nothing was pulled; see who"
                " pushed them"
            )
        return tip

    def lost(self, remote: Remote, tip: str | None) -> int:
        """How many profiles a remote had when it was last seen and has no more, though nobody
        removed them.

        Where there are any, somebody forced its reference, and what it was stays under
        ``refs/lost``.
        """
        last = self.last(remote)
        if last is None or last == tip:
            return 0
        gone = self.difference(last, tip).there
        excused = (
            {path for _, _, path in self.reading.listing(tip, f"{REMOVED}/")}
            if tip and gone
            else set()
        )
        count = sum(place_of(path) not in excused for path in gone)
        if count:
            self._known.run("update-ref", f"refs/lost/{_number(remote)}-{last[:12]}", last)
        return count

    def remember(self, remote: Remote, tip: str) -> None:
        """Notes that this commit is what a remote had when it was last seen."""
        self._known.run("update-ref", _reference(remote), tip)
        self._last[_reference(remote)] = tip

    def difference(self, there: str | None, here: str | None) -> StoreDifference:
        """How a remote's commit differs from one of the store, or from another of the remote's;
        None has nothing.
        """
        return _compared(self.reading, there, here)

    def documents(
        self, remote: Remote, blobs: Mapping[str, str]
    ) -> Iterator[tuple[str, bytes | Fault]]:
        """What a remote has at these paths, fetched now unless it is here; what cannot be read is a
        Fault. Raises RemoteFailed.
        """
        present = self._present(blobs.values())
        missing = [blob for blob in dict.fromkeys(blobs.values()) if blob not in present]
        if missing:
            if not self._incoming.path.exists():
                self._make(self._incoming)
            remote.fetch(self._incoming, *missing, filtered=True, depth=False)
        yield from zip(blobs, self.reading.objects(blobs.values(), LARGEST_DOCUMENT), strict=True)

    def _present(self, blobs: Iterable[str]) -> set[str]:
        """Those of some blobs that are here."""
        asked = "".join(f"{blob}\n" for blob in blobs).encode()
        listed = self.reading.run(
            "cat-file", "--batch-check=%(objectname) %(objecttype)", data=asked
        ).decode()
        return {line.split()[0] for line in listed.split("\n") if line.endswith(" blob")}

    def write(
        self,
        tip: str | None,
        changes: Mapping[str, str | bytes | None],
        who: str,
        when: int,
        message: str,
    ) -> str:
        """A commit with these changes on top of a remote's, or the first one: each path gets a
        blob, or a document, or goes.
        """
        branch = "refs/outgoing/tip"
        self._known.run("update-ref", "-d", branch)
        head = self._store.head() if len(changes) > storegap.WORTHWHILE_FILES else None
        trees = storegap.whole(self.reading, tip, head, changes) if head else {}
        changes = {
            path: content
            for path, content in changes.items()
            if trees.keys().isdisjoint(storegap.above(path))
        }
        with closing(Import(self._known, branch)) as stream:
            blobs = {
                path: stream.blob(content) if isinstance(content, bytes) else content
                for path, content in changes.items()
            }
            first = {} if tip else {"format": stream.blob(STORE_FORMAT)}
            stream.commit(tip, who, when, message, {**first, **blobs}, trees)
            return stream.finish() or ""

    def push(self, remote: Remote, commit: str, *, instead_of: str | None = None) -> bool:
        """Give the remote a commit; False if somebody else was faster. Raises RemoteFailed.

        ``instead_of``: the commit whose place it takes without following it.
        """
        return remote.push(self._known, commit, REFERENCE, expected=instead_of)

    def squashed(self, tip: str, who: str, message: str) -> str:
        """A commit with what another one lists, and without a history."""
        name, _, mail = who.removesuffix(">").partition(" <")
        person = ("-c", f"user.name={name}", "-c", f"user.email={mail}")
        return (
            self._known.run(*person, "commit-tree", f"{tip}^{{tree}}", "-m", message)
            .decode()
            .strip()
        )

    def bundle(
        self, path: Path, blobs: Mapping[str, str], who: str, when: int, message: str
    ) -> None:
        """Write a file from which these profiles can be fetched; raises GitFailed."""
        self._known.run("update-ref", REFERENCE, self.write(None, blobs, who, when, message))
        self._known.run("bundle", "create", "--quiet", str(path), REFERENCE)

    def gc(self) -> None:
        """Pack what was seen; where that cannot be done, forget it."""
        try:
            self._known.run("gc", "--quiet", "--prune=now")
        except GitFailed:
            remove(self._known.path)


def _compared(git: Bare, there: str | None, here: str | None) -> StoreDifference:
    sides = [commit or EMPTY_TREE for commit in (there, here)]
    return StoreDifference.read(git.fields("diff-tree", "-r", "-z", "--no-renames", *sides, "--"))


def _number(remote: Remote) -> str:
    return hashlib.sha256(remote.known_as.encode("utf-8", "surrogateescape")).hexdigest()[:16]


def _reference(remote: Remote) -> str:
    return f"refs/known/{_number(remote)}"
