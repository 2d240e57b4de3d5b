"""One cycle of a watch: fetch, measure one session, push, publish, and say what is new; each part
alone may fail.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from perfvcs.errors import PerfError
from perfvcs.exchange.sharing import pull_from, push_to
from perfvcs.git.remote import NoBranch
from perfvcs.hosts.rigging import equipped
from perfvcs.hosts.tls import Scheduler
from perfvcs.jobs.config import Config, load
from perfvcs.measure.announcement import unfinished
from perfvcs.measure.campaign import collect, resume
from perfvcs.measure.progress import Progress
from perfvcs.measure.request import Request, digest
from perfvcs.measure.rig import Rig
from perfvcs.measure.session import CollectFailed
from perfvcs.measure.storedsession import CampaignOutcome
from perfvcs.profile.rules import RULES_FILE
from perfvcs.reports.audit import distrusted
from perfvcs.repository import Repository
from perfvcs.system.lock import Locked, hold
from perfvcs.text.characters import shorten
from perfvcs.text.quantity import duration
from perfvcs.text.words import counted
from perfvcs.watch import notice
from perfvcs.watch.branch import (
    Branch,
    CommitSpan,
    NextCommit,
    Waiting,
    WatchMemory,
    choose,
    recalled,
)
from perfvcs.watch.notice import Mail, NotDelivered, Webhook

if TYPE_CHECKING:
    from perfvcs.git.forge import Forge
    from perfvcs.site.contents import Contents


MOST_FAILURES = 20  # cycles in which a notice fails before it is given up


@dataclass(frozen=True)
class Wishes:
    """Settings of a watch: how many of the newest commits it measures, seconds of a session, a
    site, and who gets notices.

    ``scheduler``: whose hosts measure; empty: this machine does.
    """

    last: int
    budget: float | None = None
    folder: Path | None = None
    base_url: str = ""
    forge: Forge | None = None
    webhook: Webhook | None = None
    mail: Mail | None = None
    scheduler: Scheduler = field(default_factory=Scheduler)

    @property
    def site(self) -> str:
        """All that the site depends on besides the profiles and the branch."""
        return "" if self.folder is None else repr((str(self.folder), self.base_url, self.forge))


@dataclass
class Cycle:
    """One cycle, and what came of it: ``parts`` of its line, ``errors`` that did not end it,
    whether it ``measured``.
    """

    repository: Repository
    branch: Branch
    wishes: Wishes
    memory: WatchMemory
    progress: Progress
    say: Callable[[str], None]
    parts: list[str] = field(default_factory=list)
    errors: list[PerfError | OSError] = field(default_factory=list)
    measured: bool = False

    def run(self) -> str:
        """Runs the cycle; returns its line. Raises NoBranch."""
        if self.memory.measuring:
            with self._part("the interrupted session is measured anew"):
                self._resume()
            self.memory.measuring = []
            self._save()
        with self._part("cannot fetch"):
            self.branch.fetch()
        with self._part("cannot pull"):
            pulled = pull_from(self.repository, self.branch.remote.name)
            self._add(f"pulled {counted(pulled.came, 'profile')}" if pulled.came else "")
            pulled.raise_refused()
        tip = self.branch.tip()
        with self._part("cannot measure"):
            self._follow(tip)
        with self._part("cannot push"):
            pushed = push_to(self.repository, self.branch.remote.name)
            self._add(f"pushed {counted(pushed.profiles, 'profile')}" if pushed.profiles else "")
        with self._part("cannot publish"):
            self._publish(tip)
        self._deliver()
        self._save()
        where = f"{shorten(self.branch.name, 40)} {tip[:10]}".rstrip()
        return (
            f"{time.strftime('%Y-%m-%d %H:%M:%S')} {where}:"
            f" {', '.join(self.parts) or 'nothing new'}"
        )

    def _resume(self) -> None:
        """Finishes the session that was interrupted, if its journal is there; its checkout stands
        as it was.
        """
        repository = Repository.find(self.branch.folder / "tree")
        wanted = set(self.memory.measuring)
        ours = [
            header
            for header in unfinished(repository.home)
            if {state.commit for state in header.versions} == wanted
        ]
        if ours:
            began = time.monotonic()
            config = load(repository.project.root / RULES_FILE)
            with self._measuring(repository, config, ours[0].request.scheduler) as rig:
                outcome = resume(rig, ours[0].session, wait=True)
            self._measured(outcome, f"finished session {ours[0].session}", began)

    def _measuring(
        self, repository: Repository, config: Config, address: str
    ) -> AbstractContextManager[Rig]:
        """What it measures with; hosts whose audits fail get no blocks."""
        scheduler = replace(self.wishes.scheduler, address=address)
        rig = Rig(repository, config, self.progress)
        return equipped(rig, scheduler, partial(distrusted, repository))

    def _follow(self, tip: str) -> None:
        """Measure what is chosen at a tip."""
        if not tip:
            return
        # a repository of its own, whose perf.toml, overlays and accepted changes are those of the
        # branch
        repository = Repository.find(self.branch.checkout(tip).root)
        config = load(repository.project.root / RULES_FILE)
        if self.memory.config != digest(config):
            self.memory.config, self.memory.attempts = digest(config), {}
        if self.memory.known is None:
            contents = _contents(repository, tip)
            self.memory.known = notice.changes(contents) if contents else []
        if self.measured:  # an interrupted session is a cycle's work
            return
        commits = self.branch.newest(tip, self.wishes.last)
        complete = self._complete(repository, commits, config)
        attempts = self.memory.attempts
        self.memory.attempts = {
            commit: attempts[commit]
            for commit in commits
            if commit in attempts and commit not in complete
        }
        wanted = choose(
            commits, complete, self.memory.given_up, lambda: self._spans(repository, tip, commits)
        )
        if wanted is not None:
            self._collect(repository, config, wanted, commits)

    def _complete(self, repository: Repository, commits: Iterable[str], config: Config) -> set[str]:
        """The commits that have profiles of all jobs, made in an environment of this machine."""
        cells = {(cell.label, cell.collector_name) for cell in Request().apply(config)[0]}
        present: dict[str, set[tuple[str, str]]] = {}
        for header in repository.index.headers(commits):
            if header.dirty is None and header.environment.fingerprint in self.memory.environments:
                present.setdefault(header.commit, set()).add(
                    (header.job.label, header.job.collector)
                )
        return {commit for commit, jobs in present.items() if cells <= jobs}

    def _spans(
        self, repository: Repository, tip: str, commits: Sequence[str]
    ) -> Iterator[CommitSpan]:
        """Between which of some commits the changes are that this machine saw."""
        from perfvcs.history.record import read

        places = {commit: place for place, commit in enumerate(commits)}
        for series in read(repository, tip).series:
            if series.line.environment.fingerprint in self.memory.environments:
                for finding in series.findings:
                    if finding.commits > 1 and finding.first in places and finding.last in places:
                        yield places[finding.first], places[finding.last]

    def _collect(
        self, repository: Repository, config: Config, wanted: NextCommit, commits: Sequence[str]
    ) -> None:
        """Measure a commit in turns with its neighbours; an attempt counts before it ends, however
        it ends.
        """
        began, attempts = time.monotonic(), self.memory.attempts
        together = [
            commit for commit in commits if commit == wanted.commit or commit in wanted.neighbours
        ]
        attempts[wanted.commit] = attempts.get(wanted.commit, 0) + 1
        self.memory.measuring = together
        self._save()
        try:
            address, budget = self.wishes.scheduler.address, self.wishes.budget
            request = Request(wait=True, committed=True, budget=budget, scheduler=address)
            with self._measuring(repository, config, address) as rig:
                outcome = collect(rig, together, request)
        except Exception:
            self.memory.measuring = []
            raise
        except BaseException:
            # somebody ends the watch, which is not the commit's fault; the next watch goes on
            attempts[wanted.commit] -= 1
            self._save()
            raise
        self.memory.measuring = []
        names = ", ".join(commit[:10] for commit in wanted.neighbours)
        verb = "measured" if outcome.paths else "tried"
        beside = f" with {names}" if names else ""
        self._measured(outcome, f"{verb} {wanted.commit[:10]}{beside}", began)
        whole = wanted.commit in self._complete(repository, [wanted.commit], config)
        if not whole and wanted.commit in self.memory.given_up:
            self._add(f"gave {wanted.commit[:10]} up")

    def _measured(self, outcome: CampaignOutcome, what: str, began: float) -> None:
        self.measured = True
        marks = {profile.environment.fingerprint for profile in outcome.profiles}
        self.memory.environments += sorted(marks.difference(self.memory.environments))
        failed = f" ({counted(len(outcome.failures), 'failure')})" if outcome.failures else ""
        self._add(f"{what} in {duration(time.monotonic() - began)}{failed}")
        try:
            outcome.raise_failures()
        except CollectFailed as error:  # what failed was shown when it happened
            self.errors.append(error)

    def _publish(self, tip: str) -> None:
        """Write the site and see what is new, where the store or the branch has moved, or another
        site is wanted.
        """
        mark = f"{tip} {self.repository.store.head()} {self.wishes.site}"
        if not tip or mark == self.memory.published or self.memory.known is None:
            return
        repository = Repository.find(self.branch.checkout(tip).root)
        contents = _contents(repository, tip)
        if contents is None:
            return
        if pairs := notice.fresh(contents, self.memory.known):
            self._add(counted(len(pairs), "new change"))
            wishes = {"webhook": self.wishes.webhook, "mail": self.wishes.mail}
            receivers = [name for name, wish in wishes.items() if wish]
            name = repository.project.home.name
            if receivers:
                document = notice.document(
                    contents, pairs, name, self.branch.name, self.wishes.base_url
                )
                self.memory.waiting.append(Waiting(document, receivers))
            self.memory.known += notice.changes(contents)
            self._save()
        if self.wishes.folder is not None:
            from perfvcs.site.publication import SiteOptions, publish

            choice = SiteOptions(self.wishes.base_url, forge=self.wishes.forge)
            done = publish(repository, self.wishes.folder, revision=tip, choice=choice)
            self._add(f"wrote {counted(done.written, 'page')}" if done.written else "")
        self.memory.published = mark

    def _deliver(self) -> None:
        """Send the notices that wait.

        One that fails waits for the next cycle, and is no error of this one.
        """
        for waiting in list(self.memory.waiting):
            for receiver in list(waiting.to):
                try:
                    self._send(waiting, receiver)
                except NotDelivered as error:
                    waiting.failures += 1
                    ended = error.final or waiting.failures >= MOST_FAILURES
                    self.say(
                        f"notice {waiting.document.id} by {receiver}"
                        f" {'is given up' if ended else 'waits'}: {error}"
                    )
                    if not ended:
                        continue
                waiting.to.remove(receiver)
            if not waiting.to:
                self.memory.waiting.remove(waiting)
            self._save()

    def _send(self, waiting: Waiting, receiver: str) -> None:
        document = waiting.document
        if receiver == "webhook" and self.wishes.webhook is not None:
            self.wishes.webhook.send(msgspec.json.encode(document), document.id)
        elif receiver == "mail" and self.wishes.mail is not None:
            self.wishes.mail.send(f"[perf] {shorten(document.text, 150)}", notice.text(document))

    def _save(self) -> None:
        self.memory.save(self.branch.folder / "memory.json")

    def _add(self, part: str) -> None:
        if part:
            self.parts.append(part)

    @contextmanager
    def _part(self, failing: str) -> Iterator[None]:
        """Runs a part of the cycle; the others go on when it fails."""
        try:
            yield
        except NoBranch:
            raise
        except (PerfError, OSError) as error:
            self.errors.append(error)
            self.say(f"{failing}: {error}")


def _contents(repository: Repository, tip: str) -> Contents | None:
    """The history up to a commit; None if no commit of it was measured."""
    from perfvcs.history.record import read
    from perfvcs.site.contents import Contents

    record = read(repository, tip)
    return Contents(repository, record) if record.series else None


class Watched(PerfError):
    """Another process watches the same branch."""

    exit_code = 11


def watch(
    home: Path,
    branch: Branch,
    wishes: Wishes,
    progress: Progress,
    say: Callable[[str], None],
    warn: Callable[[str], None],
    *,
    interval: float | None,
    quiet: bool = False,
) -> PerfError | OSError | None:
    """Watch a branch until the program is ended; without an ``interval`` until nothing is left to
    be measured.

    Each cycle is a line for ``say``; a ``quiet`` watch says nothing of those in which nothing
    happened. Returns the first error of a watch that ended, if there was any. Raises Watched,
    NoBranch.
    """
    branch.folder.mkdir(parents=True, exist_ok=True)
    first: PerfError | OSError | None = None
    with ExitStack() as stack:
        try:
            stack.enter_context(hold(branch.folder / "lock"))
        except Locked:
            raise Watched(
                f"another process watches {branch.name} of {branch.remote.name} from here: end that"
                " one first"
            ) from None
        while True:
            # anew each time: others store and remove, and nothing piles up
            repository = Repository.find(home, create=True)
            cycle = Cycle(
                repository, branch, wishes, recalled(branch.folder / "memory.json"), progress, warn
            )
            line = cycle.run()
            if cycle.parts or not quiet:
                say(line)
            first = first or next(iter(cycle.errors), None)
            if not cycle.measured:
                branch.tend()
                if interval is None:
                    return first
                time.sleep(interval)
