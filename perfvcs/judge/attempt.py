"""The plain executions of a job: as a user would start it, without perfvcs' variables, with empty
shared folders, in a sandbox if asked, and where nothing that an earlier one wrote into its copy is
left.
"""

from __future__ import annotations

import math
import os
import re
import shutil
import tempfile
import time
from collections.abc import Iterable, Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import NamedTuple

from msgspec import structs

from perfvcs.environment.variables import SEED_PLACEHOLDER, seeded
from perfvcs.errors import UsageError
from perfvcs.jobs.cell import Cell
from perfvcs.judge.footprint import differing, digests, files, is_deletion, stamps
from perfvcs.judge.plain import BASE, SAME_SEED, Plain, Side
from perfvcs.launcher import LaunchOptions, launch
from perfvcs.launcher.execution import LaunchError, failure, name_command
from perfvcs.launcher.namespaces import around, lacking, lacking_layers, layer
from perfvcs.measure.blocks import draw
from perfvcs.measure.executor import SHORTEST_TIMEOUT
from perfvcs.measure.sites import Sites
from perfvcs.native import start_folder
from perfvcs.native.compiled import cache_folder
from perfvcs.plugins.collector import OF_COPIES, CollectError, Run
from perfvcs.system.executionresult import ExecutionResult


class Sandbox(NamedTuple):
    """The rest of the disk is read-only for an execution, and there is no network."""

    kept: tuple[Path, ...]

    @classmethod
    def of(cls, sites: Sites) -> Sandbox:
        """The sandbox of a project; raises UsageError where the system allows none."""
        if reason := lacking():
            raise UsageError(f"--sandbox needs namespaces of Linux, and {reason}: leave it out")
        return cls((sites.project.root, sites.home, cache_folder()))

    def around(
        self, scratch: Path, *writable: Path, layered: Path | None = None
    ) -> tuple[str, ...]:
        """The words that start an execution in it; ``layered`` as in ``namespaces.around``."""
        kept = [*self.kept, *writable]
        return around(scratch, kept, writable, network=False, layered=layered)


ROUNDS = 5  # executions of each side before it is measured
# where each has another input: what is wrong for one in ten is seen with a chance of 95 %
DRAWN_ROUNDS = 30
SHORTEST = 1.0  # seconds below which nothing is begun that may take longer
OWN = "PERFVCS_"  # how perfvcs' variables begin
IN_MEMORY = ("/memfd:", "/dev/shm/")  # how the paths of files begin that are memory
BLOCK = 512  # bytes in which stat(2) counts
LARGE_PAGES = re.compile(r"^HugetlbPages:\s{1,99}(\d{1,18}) kB", re.MULTILINE)
ATTEMPT = 1_000  # of the draws of seeds: no block of a session has so many


class Attempt:
    """The plain executions of a job: all of a side share a home and a folder for temporary files,
    as a user's do. ``counts``: their processes are counted meanwhile.
    """

    def __init__(
        self,
        sites: Sites,
        number: int,
        position: int,
        scratch: Path,
        seed: int,
        sandbox: Sandbox | None,
        *,
        counts: bool = False,
    ) -> None:
        self.number, self._counts = number, counts
        self._sites, self._seed = sites, seed
        self._scratch = scratch / f"plain-{number}-{position}"
        self._sandbox = sandbox
        cell = sites.cells[number]
        copies = f"{cell.label} runs in copies of the checkout"
        untried = copies if cell.collector_name in OF_COPIES else ""
        self.plain = Plain(
            cell.label, position, _is_drawn(cell), not lacking(), not lacking_layers(), untried
        )
        self.end = math.inf  # of the budget, by the monotonic clock
        self._before: dict[int, set[str]] = {}
        self._took = 0.0  # seconds of the last turn; 0 before the first
        self._is_over = False  # the budget ended during an execution

    def first(self, seconds: float) -> None:
        """Execute on each side what nothing came before, if any of so many seconds is left."""
        if seconds > 0 and not self.plain.untried:
            self.turn(0)

    def run(self, seconds: float) -> None:
        """Execute on both sides in turns, for so many seconds or often enough."""
        end = time.monotonic() + seconds
        for turn in range(1, DRAWN_ROUNDS if self.plain.drawn else ROUNDS):
            if not self._can_go_on or time.monotonic() + self._took > min(end, self.end):
                return
            self.turn(turn)

    def complete(self) -> None:
        """Execute as often as the guard needs, as long as the budget lasts."""
        while self._can_go_on and len(self.plain.target.seconds) < ROUNDS and self.more():
            pass

    def more(self) -> bool:
        """Execute once more on each side, if that fits into the budget; returns whether it did."""
        fits = time.monotonic() + self._took <= self.end
        if self._can_go_on and fits:
            self.turn(len(self.plain.target.seconds))
        return fits

    @property
    def _can_go_on(self) -> bool:
        return bool(self._took) and not self.plain.failed and not self._is_over

    def turn(self, turn: int) -> None:
        """Execute once on each side; without namespaces where the base cannot run in these."""
        began = time.monotonic()
        self._turn(turn)
        if self._sides[BASE].failure and self.plain.apart:
            base, target = (
                Side(changed=side.changed) for side in (self.plain.base, self.plain.target)
            )
            self.plain = structs.replace(
                self.plain, apart=False, layered=False, base=base, target=target
            )
            self._turn(turn)
        self._took = time.monotonic() - began

    @property
    def _sides(self) -> dict[int, Side]:
        """The sides by their places; before there is a target, only the base has one."""
        return {BASE: self.plain.base, self.plain.position: self.plain.target}

    def _turn(self, turn: int) -> None:
        sides, cell = self._sides, self._sites.cells[self.number]
        drawn = SAME_SEED[0] if turn in SAME_SEED else turn
        seed = 0 if cell.exact else draw(self._seed, drawn, self.number, ATTEMPT)
        for position in sides if turn % 2 == 0 else reversed(sides):
            if time.monotonic() >= self.end:
                self._is_over = True
                return
            side, home = sides[position], self._scratch / f"home-{position}"
            folder = self._scratch / f"run-{turn}-{position}"
            folder.mkdir(parents=True, exist_ok=True)
            try:
                run = self._sites.run(self.number, position, 0, folder, seed=seed)
                self._before.setdefault(position, set(files(run.cwd)))
                of_base = self._sites.folders(BASE)
                before = stamps(of_base)
                self._execute(run, folder, home, side, None if turn == 0 else seed)
                side.changed += sorted(differing(before, stamps(of_base)))
            except (CollectError, LaunchError) as error:
                side.failure = str(error)
            if turn == 0 and not side.failure:
                inside = set(files(run.cwd)) - self._before[position]
                side.files |= inside | set(files(home))
            shutil.rmtree(folder, ignore_errors=True)
            if self._is_over:
                return

    def _execute(self, run: Run, scratch: Path, home: Path, side: Side, seed: int | None) -> None:
        """Execute once, with a home of the side's own, and without the variables of a ``seed``;
        raises CollectError where it fails.

        What the end of the budget stops has not failed, and says nothing.
        """
        folders = {
            "HOME": home,
            "TMPDIR": home / "tmp",
            "XDG_CACHE_HOME": home / ".cache",
            "XDG_CONFIG_HOME": home / ".config",
            "XDG_DATA_HOME": home / ".local/share",
        }
        for folder in folders.values():
            folder.mkdir(parents=True, exist_ok=True)
        given = without_own(run.env)
        env = given if seed is None else without_seeds(given, seed)
        env |= {name: str(folder) for name, folder in folders.items()}
        plan = self._sites.cells[self.number].result
        result = ExecutionResult(
            plan.normalise, plan.reads, (os.fsencode(run.cwd), os.fsencode(home))
        )
        result.begin()
        launcher: list[int] = []

        def count() -> None:
            processes = [pid for own in launcher for pid in _below(own)]
            side.beside = max(side.beside, len(processes))
            side.aside = max(side.aside, kept_aside(processes))

        timeout = min(run.timeout, max(SHORTEST_TIMEOUT, self.end - time.monotonic()))
        with ExitStack() as stack:
            place = tempfile.TemporaryDirectory(prefix="namespaces-", dir=self._scratch)
            apart = stack.enter_context(place)
            stdin = None if run.stdin is None else stack.enter_context(run.stdin.open("rb"))
            execution = launch(
                run.argv,
                cwd=run.cwd,
                env=env,
                timeout=timeout,
                options=LaunchOptions(
                    cpus=run.cpus,
                    aslr=run.aslr,
                    stdin=None if stdin is None else stdin.fileno(),
                    take=result.take if plan.reads else None,
                    within=self._within(Path(apart), run.cwd, scratch, home),
                    started=launcher.append,
                    watch=count if self._counts else None,
                ),
            )
            if self.plain.layered:
                self._note_written(side, layer(Path(apart)))
        side.processes = max(side.processes, execution.leftover)
        side.adopted = max(side.adopted, execution.adopted or 0.0)
        if execution.timed_out and timeout < run.timeout:
            self._is_over = True
            return
        reason = failure(run.argv, execution, run.timeout)
        if reason and (execution.timed_out or not run.may_fail):
            raise CollectError(f"{name_command(run.argv)} without perfvcs' variables: {reason}")
        side.seconds.append(execution.wall)
        side.cpu.append(execution.cpu)
        side.outputs.append(result.digest() if plan.reads else "")

    def _note_written(self, side: Side, folder: Path) -> None:
        """Note what an execution wrote into its copy, and of the first ones what that is."""
        names = set(files(folder))
        deleted = {name for name in names if is_deletion(folder / name)}
        side.deleted |= deleted
        side.gone |= names - deleted
        if len(side.written) < len(SAME_SEED):
            side.written.append(digests(folder))

    def _within(self, apart: Path, cwd: Path, *folders: Path) -> tuple[str, ...]:
        """The words that start an execution in the sandbox, or at least with empty shared folders;
        empty where there are no namespaces.

        Outside of the sandbox, the copies of the base can be written: who does so is seen.
        """
        sites = [site for at in (BASE, self.plain.position) for site in self._sites.folders(at)]
        copies = [site for site in sites if self.plain.layered and cwd.is_relative_to(site)]
        layered = copies[0] if copies else None
        writable = [*folders] if copies else [*folders, cwd]
        if self._sandbox is not None:
            return self._sandbox.around(apart, *writable, layered=layered)
        if not self.plain.apart:
            return ()
        writable += [site for site in sites if site not in copies]
        kept = [self._sites.project.root, self._sites.home, cache_folder(), *writable]
        return around(apart, kept, writable, layered=layered)


def without_own(env: Mapping[str, str]) -> dict[str, str]:
    """An environment without perfvcs' variables."""
    return {name: value for name, value in env.items() if not name.startswith(OWN)}


def without_seeds(env: Mapping[str, str], seed: int) -> dict[str, str]:
    """An environment without the variables that a ``seed`` set, and the folder of ours in which
    Python would find more: no user has them.
    """
    seeds, folder = seeded({}, seed), str(start_folder())
    kept = {name: value for name, value in env.items() if seeds.get(name) != value}
    paths = [path for path in kept.pop("PYTHONPATH", "").split(os.pathsep) if path != folder]
    return kept | ({"PYTHONPATH": os.pathsep.join(paths)} if any(paths) else {})


def _below(pid: int) -> list[int]:
    """The processes that a process has below it now."""
    from psutil import Error, Process

    try:
        return [child.pid for child in Process(pid).children(recursive=True)]
    except Error:  # it ended
        return []


def kept_aside(processes: Iterable[int]) -> int:
    """The bytes of files in memory that processes have open, and of large pages, neither of which
    is in their peak memory.
    """
    kept: dict[tuple[int, int], int] = {}
    large = 0
    for pid in processes:
        with suppress(OSError):  # it ended, or is another user's
            for file in Path(f"/proc/{pid}/fd").iterdir():
                status = file.stat()
                if str(file.readlink()).startswith(IN_MEMORY):
                    kept[status.st_dev, status.st_ino] = status.st_blocks * BLOCK
            status_text = Path(f"/proc/{pid}/status").read_text()
            large += sum(1024 * int(size) for size in LARGE_PAGES.findall(status_text))
    return sum(kept.values()) + large


def _is_drawn(cell: Cell) -> bool:
    """Whether the input of a job is another one in each block."""
    words = " ".join([cell.cmd, cell.args, *cell.env.values()])
    is_workloads = cell.workload is not None and cell.workload.drawn(1) is not None
    return SEED_PLACEHOLDER in words or is_workloads
