"""The client's side: gives blocks out to hosts, one at a time to each, and takes those that come
back whole.
"""

from __future__ import annotations

import hashlib
import time
from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import msgspec

from perfvcs.environment.host import Facts
from perfvcs.git.bundles import bundle
from perfvcs.hosts import wire, work
from perfvcs.hosts.cluster import Cluster, HostsLost
from perfvcs.hosts.wire import (
    Delivery,
    Executing,
    Failed,
    Lacks,
    Measured,
    Parcel,
    Task,
    encode,
    parcel,
)
from perfvcs.jobs.requirement import is_met
from perfvcs.measure.executor import Wanted
from perfvcs.measure.journal import Block, Identity
from perfvcs.measure.sites import Sites
from perfvcs.measure.tally import About, CellPlace, Tally

if TYPE_CHECKING:
    from distributed import Future

# times that workers are lost in a version's executions, or hosts on which a job fails, after which
# it is given up
KILLS = 2
TRIES = 3  # hosts that lose a block, or fail, before the session ends
HANDOVER = 60.0  # seconds in which the answer that a worker has finished has to be here
FAULTS = 2  # failures in a row after which a host gets no more blocks


@dataclass(frozen=True)
class Flying:
    """A block on its way: which, on which worker, and as which one it was given out."""

    wanted: Wanted
    worker: str
    host: str
    turn: int


@dataclass
class Suspicion:
    """Workers that were lost in the executions of a version: on which hosts, and how many times.

    Those whose blocks were out when the first of them was lost count as one time, since a cut
    network takes several at once. ``until`` is the last block that was out then.
    """

    hosts: list[str] = field(default_factory=list)
    times: int = 0
    until: int = 0

    def add(self, flying: Flying, turns: int) -> None:
        """Notes that a worker was lost with its block, after ``turns`` had been given out."""
        self.hosts.append(flying.host)
        if flying.turn > self.until:
            self.times, self.until = self.times + 1, turns


class HostsExecutor:
    """Runs blocks on the hosts of a cluster.

    A block that does not come back whole is repeated, on another host where there is one.

    A version on which workers were lost twice, or a job failed on two hosts (on one, where there is
    no other), is given up. A host that fails twice in a row gets no more blocks.
    """

    def __init__(
        self,
        cluster: Cluster,
        sites: Sites,
        tally: Tally,
        distrusted: Mapping[str, str] | None = None,
    ) -> None:
        self.cluster, self.sites, self.tally = cluster, sites, tally
        self._flying: dict[Future[bytes], Flying] = {}
        self._last: dict[str, tuple[int, int]] = {}  # the execution that each worker began last
        self._given = 0  # blocks given out so far
        self._kills: defaultdict[tuple[int, int], Suspicion] = defaultdict(Suspicion)
        self._failed: defaultdict[tuple[int, int], dict[str, str]] = defaultdict(dict)
        self._tries: Counter[int] = Counter()
        self._avoid: defaultdict[int, set[str]] = defaultdict(set)  # hosts on which a block failed
        self._faults: Counter[str] = Counter()
        self._aside = dict(distrusted or {})  # hosts that get no blocks, and why

    @property
    def width(self) -> int:
        """How many blocks run at a time."""
        return max(1, len(self.cluster.trusted(self._aside)))

    def hosts(self) -> list[Facts]:
        """The hosts whose workers are there, or were."""
        self.cluster.workers()
        return [self.cluster.facts[host] for host in sorted(self.cluster.facts)]

    def prepare(self, identity: Identity, stack: ExitStack) -> None:
        """Pack what hosts need; raises UsageError for what cannot travel."""
        self.parcel: Parcel = parcel(self.sites, identity, self.cluster.stalled)
        self._content = encode(self.parcel)
        self._name = hashlib.sha256(self._content).hexdigest()
        self._topic = f"perfvcs-{identity.session}"
        self.tally.alive |= {
            (cell, version)
            for cell in range(len(self.sites.cells))
            for version in range(len(self.sites.versions))
        }
        self.cluster.client.subscribe_topic(self._topic, self._heard)
        stack.callback(self.cluster.release, self._name)
        stack.callback(self._cancel)
        for host in sorted(set(self.cluster.workers().values())):
            self.tally.progress.say(
                f"{host} gets no blocks: {why}"
                if (why := self._aside.get(host))
                else f"measuring on {host}"
            )

    def resume(self) -> None:
        """Does nothing: each host describes anew what it measures."""

    def warm_up(self, cells: Sequence[int]) -> None:
        """Each host warms up by itself, before its first block."""
        for number in cells:
            for position in self.tally.versions_of(number):
                self.tally.skip(
                    number,
                    position,
                    self.sites.cells[number].warmup * self.sites.cells[number].binaries,
                )

    def describe(self, places: Iterable[CellPlace]) -> dict[CellPlace, About]:
        """What the tally knows of each series, since nothing was measured here."""
        return {
            place: self.tally.about(place.number, place.position, place.host) for place in places
        }

    def running(self, blocks: Iterable[Wanted]) -> Iterator[None]:
        """Run blocks, as many at a time as there are hosts; raises HostsLost."""
        waiting = deque(blocks)
        seen = time.monotonic()
        try:
            while (waiting and not self.tally.is_over()) or self._flying:
                workers = self.cluster.workers()
                usable = {
                    worker: host
                    for worker, host in workers.items()
                    if self._is_usable(host, waiting)
                }
                if usable:
                    seen = time.monotonic()
                elif not self._flying:
                    self._require_hosts(workers, seen)
                self._give_out(waiting, usable)
                yield  # before anybody waits, all sessions have given out what they can
                for future in self.cluster.completed(self._flying) if self._flying else ():
                    self._take(future, self._flying.pop(future), waiting)
                for future, flying in list(self._flying.items()):
                    if flying.worker not in workers:
                        del self._flying[future]
                        self.cluster.cancel(future)
                        self._lost(flying, waiting)
        finally:
            self._cancel()

    def _require_hosts(self, workers: dict[str, str], seen: float) -> None:
        """Wait for a host for a while; raises HostsLost."""
        if workers and self._aside.keys() >= set(workers.values()):
            why = "; ".join(f"{host}: {reason}" for host, reason in self._aside.items())
            raise HostsLost(f"no host can measure ({why}): mend that, then continue")
        if time.monotonic() - seen > self.cluster.patience:
            if workers:
                hosts = ", ".join(dict.fromkeys(workers.values()))
                raise HostsLost(
                    f"no worker is left that meets what the jobs require, only {hosts}: start one,"
                    " then continue"
                )
            raise HostsLost(
                f"the scheduler at {self.cluster.address} has no workers any more: start some, then"
                " continue"
            )
        time.sleep(0.05)

    def _give_out(self, waiting: deque[Wanted], usable: dict[str, str]) -> None:
        """Give every free host a block, one that it did not fail before if there is another
        host.
        """
        busy = set(self.cluster.flying.values())
        for worker, host in usable.items():
            if worker in busy or self.tally.is_over():
                continue
            wanted = self._chosen(waiting, host, set(usable.values()) - {host})
            if wanted is None:
                continue
            if cells := self._cells(wanted):
                task = encode(Task(self._name, wanted.block, cells))
                self._given += 1
                self._submit(task, Flying(wanted, worker, host, self._given))

    def _is_usable(self, host: str, waiting: Iterable[Wanted]) -> bool:
        """Whether a host may run any of the blocks that wait."""
        return host not in self._aside and any(
            self._suits(number, host) for block in waiting for number in block.cells
        )

    def _chosen(self, waiting: deque[Wanted], host: str, others: set[str]) -> Wanted | None:
        """Take the first block for a host: those of its cells that the host may measure; the rest
        waits on.
        """
        for place, wanted in enumerate(waiting):
            cells = [number for number in wanted.cells if self._suits(number, host)]
            if not cells or (
                host in self._avoid[wanted.block]
                and any(self._suits(cells[0], other) for other in others)
            ):
                continue
            del waiting[place]
            if rest := [number for number in wanted.cells if number not in cells]:
                waiting.insert(place, Wanted(wanted.block, rest))
            return Wanted(wanted.block, cells)
        return None

    def _suits(self, number: int, host: str) -> bool:
        """Whether a host meets what a job requires."""
        text = self.sites.cells[number].hosts
        return not text or is_met(
            text, self.cluster.facts[host], f"job `{self.tally.names[number]}`"
        )

    def _submit(self, task: bytes, flying: Flying) -> None:
        future = self.cluster.submit(
            work.measure, self.parcel.project, self._topic, task, worker=flying.worker
        )
        self._flying[future] = flying

    def _cells(self, wanted: Wanted) -> dict[int, list[int]]:
        """The cells of a block with the versions that still take part."""
        positions_by_cell = {number: self.tally.versions_of(number) for number in wanted.cells}
        return {number: positions for number, positions in positions_by_cell.items() if positions}

    def _take(self, future: Future[bytes], flying: Flying, waiting: deque[Wanted]) -> None:
        """Takes what came back: a block, or why there is none."""
        try:
            answer = wire.answer(future.result(HANDOVER))
        except msgspec.DecodeError as error:
            self._fault(flying, f"what it sent cannot be read ({error})", waiting)
        except Exception as error:  # Dask raises what the worker raised, and errors of its own
            if type(error).__name__ in ("KilledWorker", "CancelledError", "FutureCancelledError"):
                self._lost(flying, waiting)
            elif future.status != "error":
                # Its worker died with what it had finished: Dask would wait for that worker to come
                # back and measure again.
                self._last.pop(flying.worker, None)
                self.cluster.cancel(future)
                self._lost(flying, waiting)
            else:
                self._fault(flying, f"{type(error).__name__}: {error}", waiting)
        else:
            if isinstance(answer, Lacks):
                self._deliver(answer, flying)
            elif isinstance(answer, Failed):
                self._fault(flying, answer.reason, waiting)
            else:
                self._measured(answer, flying, waiting)

    def _deliver(self, lacks: Lacks, flying: Flying) -> None:
        """Send a host what it lacks, with the block."""
        project = self.sites.project
        form = project.git("rev-parse", "--show-object-format")
        content = bundle(project, [version.commit for version in self.parcel.versions], lacks.tips)
        self.tally.progress.say(
            f"sending {len(content) + len(self._content):,} bytes to {lacks.host}"
        )
        delivery = encode(Delivery(self._content, content, form))
        self._submit(
            encode(Task(self._name, flying.wanted.block, self._cells(flying.wanted), delivery)),
            flying,
        )

    def _measured(self, measured: Measured, flying: Flying, waiting: deque[Wanted]) -> None:
        """Keeps the complete parts of a block. The others are repeated elsewhere, or their versions
        given up.
        """
        for description in measured.described:
            self.tally.describe(description)
        self.tally.warnings |= dict.fromkeys(
            f"{warning} ({measured.host})" for warning in measured.warnings
        )
        for lost in measured.lost:
            self._failed[lost.job, lost.version][flying.host] = lost.reason
        hosts = set(self.cluster.workers().values()) - set(self._aside)
        for (number, position), reasons in list(self._failed.items()):
            if (number, position) in self.tally.alive and len(reasons) >= min(
                KILLS, max(1, len(hosts))
            ):
                self.tally.give_up(
                    number, position, next(iter(reasons.values())) + f" (on {', '.join(reasons)})"
                )
        whole = [block for block in measured.blocks if self._is_whole(block)]
        for block in whole:
            for position in block.seen:
                self.tally.step(block.job, position)
            self.tally.complete(block)
        done = {block.job for block in whole}
        missing = [
            number
            for number in flying.wanted.cells
            if number not in done and self.tally.versions_of(number)
        ]
        if missing:
            reason = measured.lost[0].reason if measured.lost else "a version gave nothing"
            self._fault(flying, reason, waiting, missing)
        else:
            self._faults[flying.host] = 0

    def _is_whole(self, block: Block) -> bool:
        """Whether every version that takes part had its turn in it."""
        return bool(block.seen) and block.seen.keys() >= set(self.tally.versions_of(block.job))

    def _fault(
        self,
        flying: Flying,
        reason: str,
        waiting: deque[Wanted],
        cells: Sequence[int] | None = None,
    ) -> None:
        """Puts a block back that a host did not measure, for another host."""
        self._faults[flying.host] += 1
        if self._faults[flying.host] >= FAULTS:
            self._aside[flying.host] = reason
            self.tally.progress.say(f"{flying.host} gets no more blocks: {reason}")
        self._repeat(flying, waiting, f"failed on {flying.host}: {reason}", cells)

    def _lost(self, flying: Flying, waiting: deque[Wanted]) -> None:
        """Repeats the whole block of a worker that is gone, without the version that did it if that
        is known.
        """
        if not self.cluster.is_there:
            raise self.cluster.lost()
        pair = self._last.pop(flying.worker, None)
        if pair in self.tally.alive and pair is not None:
            suspicion = self._kills[pair]
            suspicion.add(flying, self._given)
            if suspicion.times >= KILLS:
                hosts = ", ".join(dict.fromkeys(suspicion.hosts))
                self.tally.give_up(
                    *pair, f"{len(suspicion.hosts)} workers were lost while it ran (on {hosts})"
                )
                # it was in all blocks that were lost: each begins anew without it
                self._tries.clear()
        self._repeat(flying, waiting, f"was lost with the worker on {flying.host}")

    def _repeat(
        self, flying: Flying, waiting: deque[Wanted], how: str, cells: Sequence[int] | None = None
    ) -> None:
        """Put a block back; raises HostsLost at the limit."""
        block = flying.wanted.block
        self._tries[block] += 1
        self._avoid[block].add(flying.host)
        again = Wanted(block, flying.wanted.cells if cells is None else cells)
        if not self._cells(again):
            return
        if self._tries[block] >= TRIES:
            raise HostsLost(
                f"block {block} {how}, the last of {TRIES} tries: see that host's log, then"
                " continue"
            )
        self.tally.progress.say(f"repeated: block {block} {how}")
        waiting.appendleft(again)

    def _heard(self, event: tuple[float, object]) -> None:
        """Notes that a host begins an execution."""
        document = event[1]
        if isinstance(document, dict) and isinstance(content := document.get("message"), bytes):
            reply = wire.reply(content)
            if isinstance(reply, Executing):
                self._last[str(document.get("worker"))] = reply.number, reply.position

    def _cancel(self) -> None:
        """Cancels what is still on its way."""
        for future in self._flying:
            self.cluster.cancel(future)
        self._flying.clear()
