"""Virtual environments that this process holds, and their seals, which show a change without
reading any file.

A seal has the names and stamps of all files. The time of an inode's last change is one of them:
nobody but root can set it.
"""

from __future__ import annotations

import fcntl
import json
import os
import stat
import time
from collections.abc import Container, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from perfvcs.repository import seals
from perfvcs.system.disk import remove, stamped
from perfvcs.text.words import listed

SEAL = ".seal"  # in an environment
COMPLETE = ".complete"  # beside it, written last: without it, it is the remains of a crash
BYTECODE = "__pycache__"
ALONE = "it keeps that one, and others get another"
ANEW = "it is made anew"
TICK = 0.02  # seconds, two ticks of the clock for stamps: what is written later has other ones
# by path below a folder: type and mode; of what is not a folder also size, times (ns) and inode
Stamps = dict[str, list[int]]
_held: dict[Path, Held] = {}  # as the kernel's locks: what this process holds
_turn: list[tuple[Held, User]] = []  # whose turn it is, or was and nobody's since


class User(Protocol):
    """Who runs in an environment.

    ``who`` is what it ran last, for people; ``notes`` are what is to be said of that.
    """

    who: str
    notes: dict[str, None]


class Difference(NamedTuple):
    """What was added to a folder since it was sealed, and what was sealed and is gone or has
    changed.

    Both are paths below the folder, sorted.
    """

    added: list[str]
    changed: list[str]


@dataclass(eq=False)
class Held:
    """An environment that this process holds: no other process removes it, or measures in it.

    Its users take turns. Each sees only what it added itself: what others added is put aside while
    it runs. A user that changes what was there before keeps the environment alone (``spoilt`` says
    so), and the environment goes in the end. What the users of other environments write into this
    one belongs to nobody: it is noticed before the next turn, which does not begin with what the
    last one left.
    """

    folder: Path
    lock: int
    users: list[User]
    about: dict[str, Any] = field(default_factory=dict)
    sealed: Stamps = field(default_factory=dict)
    spoilt: str = ""
    _present: User | None = None  # who ran here last
    _left: Stamps = field(default_factory=dict)  # what there was after that
    _others: dict[str, None] = field(default_factory=dict)  # who ran elsewhere since
    _added: dict[User, list[str]] = field(default_factory=dict)  # what is aside

    def __post_init__(self) -> None:
        self._left = self.sealed

    @property
    def python(self) -> Path:
        """Its interpreter."""
        return self.folder / "bin" / "python"

    def seal(self, about: dict[str, Any], *, keep: bool = True) -> None:
        """Marks the environment as complete, with what is to be known ``about`` it.

        Unless others are to ``keep`` it, it goes after its last user.
        """
        time.sleep(TICK)
        self.about, self.sealed = about, stamps(self.folder)
        self._left = self.sealed
        if keep:
            size = sum(path.lstat().st_blocks * 512 for path in self.folder.rglob("*"))
            seals.write(self.folder / SEAL, json.dumps(self.sealed).encode())
            seals.write(self.folder / COMPLETE, json.dumps(about | {"bytes": size}).encode())

    def enter(self, user: User) -> bool:
        """Makes it what ``user`` left; False if that is unknown, or another one has spoilt it."""
        if (self, user) in _turn:
            return True
        rest()
        try:
            self._take_out(user)
            if self._present is not user and not self.spoilt:
                self._swap(user)
        except OSError as error:
            who = (self._present or user).who
            self._spoil(
                f"{who} left {error.filename}, which cannot be moved, in a virtual environment:"
                f" {ALONE}"
            )
        if self.spoilt and self._present is not user:
            return False
        self._present, self._others = user, {}
        for held in _held.values():
            if held is not self:
                held._others[user.who] = None
        _turn.append((self, user))
        return True

    def examine(self, user: User) -> None:
        """Notes what ``user`` added and changed, if that is who ran last; ends the turn.

        A note says what was added unless it is compiled Python.
        """
        if (self, user) not in _turn:
            return
        _turn.clear()
        self._left = stamps(self.folder)
        altered = difference(self.sealed, self._left)
        if altered.changed and not self.spoilt:
            self._spoil(
                f"{user.who} changed {altered.changed[0]} in a virtual environment: {ALONE}"
            )
            user.notes[self.spoilt] = None
        seen = [name for name in altered.added if BYTECODE not in name.split("/")]
        if seen and not any(" wrote " in note for note in user.notes):
            wrote = f"{user.who} wrote {seen[0]} into a virtual environment"
            user.notes[f"{wrote}: only its own executions see that"] = None

    def release(self, user: User) -> None:
        """Ends the use by ``user``; after the last one, the environment is what it was, or goes."""
        self.examine(user)
        self.users.remove(user)
        if self.sealed and (self._present is user or not self.users):
            altered = difference(self.sealed, stamps(self.folder))
            for name in topmost(altered.added, self.sealed):
                remove(self.folder / name)
            if altered.changed and not self.spoilt:
                self._spoil(f"{altered.changed[0]} in a virtual environment was changed: {ANEW}")
            self._present, self._left = None, self.sealed
        self._added.pop(user, None)
        if self.users:
            return
        _held.pop(self.folder, None)
        remove(aside(self.folder))
        if not (self.folder / COMPLETE).exists():
            remove(self.folder)
        os.close(self.lock)

    def drop(self) -> None:
        """Leaves it to its present users; it goes after the last one."""
        with suppress(OSError):
            (self.folder / COMPLETE).unlink()

    def _spoil(self, why: str) -> None:
        self.drop()
        self.spoilt = why

    def _take_out(self, user: User) -> None:
        """Takes out what others wrote since; where they changed a file, nobody else gets it."""
        altered = difference(self._left, stamps(self.folder))
        by = f"by what was installed or ran before it ({listed([*self._others])})"
        if not self._others:
            by = "by what was built or installed before it"
        if altered.changed:
            self._present = None
            self._spoil(f"{altered.changed[0]} in a virtual environment was changed {by}: {ANEW}")
            return
        for name in topmost(altered.added, self._left):
            remove(self.folder / name)
        if altered.added and not any(" was written into " in note for note in user.notes):
            wrote = (
                f"{altered.added[0]} was written into the virtual environment of {user.who} {by}"
            )
            user.notes[f"{wrote}: it was removed before that ran"] = None

    def _swap(self, user: User) -> None:
        """Puts aside what the last user added, and puts back what ``user`` had added."""
        added, additions = self._additions(), self._added.pop(user, [])
        for number, name in enumerate(added):
            place = self._place(self._present, number)
            place.parent.mkdir(parents=True, exist_ok=True)
            (self.folder / name).rename(place)
        if self._present:
            self._added[self._present] = added
        for number, name in enumerate(additions):
            self._place(user, number).rename(self.folder / name)
        if added or additions:
            self._left = stamps(self.folder)

    def _additions(self) -> list[str]:
        return topmost(difference(self.sealed, self._left).added, self.sealed)

    def _place(self, user: User | None, number: int) -> Path:
        return aside(self.folder) / str(id(user)) / str(number)


def rest() -> None:
    """Ends the turn of whoever ran last: what is written from now on is not theirs."""
    for held, user in tuple(_turn):
        held.examine(user)


def begin(place: Path, user: User) -> Held:
    """An empty folder for an environment, held for ``user``; its path was never another one's."""
    rest()
    place.mkdir()
    descriptor = lock(place)
    assert descriptor is not None
    held = _held[place] = Held(place, descriptor, [user])
    return held


def take(place: Path, user: User) -> Held | None:
    """A complete environment, held for ``user``; None where another process has it.

    Takes out what was added to it before a crash. Removes it, and gives None, where it is not what
    was sealed.
    """
    if held := _held.get(place):
        if held.spoilt or not held.sealed:
            return None
        held.users.append(user)
        return held
    if not all(seals.holds(place / name) for name in (SEAL, COMPLETE)):
        return None
    try:
        sealed, about = (json.loads((place / name).read_bytes()) for name in (SEAL, COMPLETE))
        descriptor = lock(place)
    except (OSError, ValueError, RecursionError):
        return None
    if descriptor is None:
        return None
    sealed, about = (document if isinstance(document, dict) else {} for document in (sealed, about))
    seen = difference(sealed, stamps(place, within=sealed))
    for path in (aside(place), *(place / name for name in seen.added)):
        remove(path)
    held = Held(place, descriptor, [user], about, sealed)
    if seen.changed or not held.python.exists():
        if seen.changed:
            why = f"since {seen.changed[0]} in it has changed"
            user.notes[f"a virtual environment is made anew, {why}"] = None
        remove(place)
        os.close(descriptor)
        return None
    with suppress(OSError):
        os.utime(place / COMPLETE)
        seals.renew(place / COMPLETE)
    _held[place] = held
    return held


def lock(folder: Path) -> int | None:
    """The descriptor of a folder, locked, and closed on ``exec``; None where another has the lock.

    Raises OSError.
    """
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    return descriptor


def stamps(top: Path, within: Container[str] | None = None) -> Stamps:
    """The stamps of everything in an environment, without what cannot be read.

    Takes 5 µs for each file. Names folders that are not ``within``, and does not enter them.
    """
    all_stamps: Stamps = {}
    waiting = [""]
    while waiting:
        below = waiting.pop()
        with suppress(OSError), os.scandir(top / below) as entries:
            for entry in entries:
                name, status = below + entry.name, entry.stat(follow_symlinks=False)
                if not stat.S_ISDIR(status.st_mode):
                    all_stamps[name] = [*stamped(status)]
                    continue
                all_stamps[name] = [status.st_mode]
                if within is None or name in within:
                    waiting.append(name + "/")
    for name in (COMPLETE, SEAL):
        all_stamps.pop(name, None)
    return all_stamps


def difference(sealed: Mapping[str, list[int]], present: Mapping[str, list[int]]) -> Difference:
    """What differs from the stamps that were ``sealed``.

    >>> difference({"a": [1], "b": [2]}, {"b": [3], "c": [4]})
    Difference(added=['c'], changed=['a', 'b'])
    """
    if sealed == present:
        return Difference([], [])
    changed = [name for name, stamp in sealed.items() if present.get(name) != stamp]
    return Difference(sorted(present.keys() - sealed.keys()), sorted(changed))


def topmost(names: Iterable[str], within: Container[str]) -> list[str]:
    """The paths that are directly in the folders of others.

    >>> topmost(["lib/a", "lib/a/b"], {"lib": [1]})
    ['lib/a']
    """
    folders = ((name, name.rpartition("/")[0]) for name in names)
    return [name for name, folder in folders if not folder or folder in within]


def aside(folder: Path) -> Path:
    """The folder beside an environment for what is put aside of it."""
    return folder.with_name(f"aside-{folder.name}")
