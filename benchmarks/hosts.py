"""What measuring on many hosts costs and shows: simulated comparisons, and real workers on this machine.

    python benchmarks/hosts.py simulate [--runs 1000]
    python benchmarks/hosts.py throughput [--blocks 24] [--workers 1 2 4]
    python benchmarks/hosts.py aa [--runs 20]
    python benchmarks/hosts.py kills [--runs 40]
    python benchmarks/hosts.py stops [--runs 5]
    python benchmarks/hosts.py full
    python benchmarks/hosts.py bisect [--runs 200]

``simulate`` puts drawn times through the check's own code: hosts whose speed differs by 30 %, pairs within a block that share their
host and their moment, and hosts that differ in the effect itself by 0 or 2 %. Prints false alarms, how often +5 % is found, also by one
host with the same blocks, and how many intervals cover the truth. ``throughput`` measures blocks of a job that sleeps and computes with
more and more workers. ``aa`` compares a commit that changes nothing, over two workers, for real. ``kills`` ends a worker, the scheduler
or the client at a random moment of a session, continues it until it is complete, and counts halves of blocks and reported profiles that
are lost. ``stops`` halts a worker for 20 s, and ``full`` gives one a full disk. ``bisect`` searches among drawn commits.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from math import log
from pathlib import Path

from needs import need

OLD, NEW = "a" * 40, "b" * 40
WORK = "import time, sys; time.sleep(0.1); sum(i * i for i in range({count}))\n"
PERF = [sys.executable, "-m", "perfvcs"]
ONE = ["--nthreads", "1", "--nworkers", "1", "--resources", "perfvcs=1", "--no-nanny", "--no-dashboard", "--host", "127.0.0.1"]


def simulate(runs: int) -> None:
    """Comparisons of drawn times."""
    import numpy as np

    print(
        "hosts  blocks  hosts differ by  false alarms   +5 % found  by one host  intervals that hold the truth   differs by host"
    )
    for hosts, blocks in ((2, 10), (4, 12), (4, 20), (8, 24)):
        for differ in (0.0, 0.02):
            chance = np.random.default_rng([hosts, blocks, int(1000 * differ)])
            alarms = found = single = held = unlike = 0
            for _ in range(runs):
                quiet = _compared(chance, hosts, blocks, differ, 0.0)
                change = _compared(chance, hosts, blocks, differ, log(1.05))
                alone = _compared(chance, 1, blocks, differ, log(1.05))
                alarms += quiet.word in ("degradation", "improvement")
                found += change.word == "degradation"
                single += alone.word == "degradation"
                held += sum(
                    low <= truth <= high for low, truth, high in ((quiet.low, 0.0, quiet.high), (change.low, 0.05, change.high))
                )
                unlike += quiet.finding.startswith("differs by host")
            print(
                f"{hosts:5}  {blocks:6}  {100 * differ:13.0f} %  {100 * alarms / runs:10.1f} %  {100 * found / runs:9.1f} %"
                f"  {100 * single / runs:9.1f} %  {50 * held / runs:27.1f} %  {100 * unlike / runs:14.1f} %", flush=True,
            )  # fmt: skip


def _compared(chance, hosts: int, blocks: int, differ: float, effect: float):
    """The verdict on one benchmark: a pair per block, the blocks shared out over the hosts as they come."""
    import numpy as np

    from perfvcs.check import compare
    from perfvcs.profile import Collected, Design, Environment, Job, Metric, Profile, Resources, Turns

    speed, own = chance.normal(0, 0.3, hosts), chance.normal(0, differ, hosts)
    sides: tuple[list[Profile], list[Profile]] = [], []
    for host in range(hosts):
        numbers = list(range(host, blocks, hosts))
        moment = chance.normal(0, 0.03, len(numbers))  # what both of a block share
        for version, shift in enumerate((0.0, effect + own[host])):
            times = 0.1 * np.exp(speed[host] + moment + shift + chance.normal(0, 0.01, len(numbers)))
            places = [(version + number) % 2 for number in numbers]
            sides[version].append(
                Profile(
                    commit=(OLD, NEW)[version], job=Job(name="sort", collector="time", cmd="./sort", engine="launcher/1"),
                    collected=Collected("20261123T090000-abcdef", "2026-11-23T09:00:00Z", "2026-11-23T09:10:00Z", "perfvcs 0.2.0"),
                    environment=Environment({"cpu": "drawn"}, "0123456789ab", {"worker": f"host{host}"}),
                    design=Design(executions=len(numbers), order="interleaved", version=version, versions=[OLD, NEW]),
                    metrics={"wall": Metric("s")}, turns=Turns(numbers, places, [1] * len(numbers)),
                    resources=Resources(["sort"], [0] * len(numbers), numbers, metrics={"wall": times.tolist()}),
                )
            )  # fmt: skip
    (change,) = compare(*sides).changes
    return change


def bisect(runs: int, commits: int = 100) -> None:
    """Searches among drawn commits for one that is 5 % slower, by the shipped decisions, with more and more hosts."""
    import numpy as np

    print("hosts  candidates at a time  rounds  builds  executions  right")
    for hosts in (1, 2, 4, 8):
        for several in (False, True) if hosts > 1 else (False,):
            rounds, builds, executions, right = [], [], [], 0
            for number in range(runs):
                found = _searched(np.random.default_rng(number), hosts, commits, several)
                rounds.append(found[0])
                builds.append(found[1])
                executions.append(found[2])
                right += found[3]
            means = "  ".join(f"{np.mean(values):8.1f}" for values in (rounds, builds, executions))
            print(f"{hosts:5}  {'several' if several else 'one':20}  {means}  {100 * right / runs:5.1f} %", flush=True)


def _searched(chance, hosts: int, commits: int, several: bool) -> tuple[int, int, int, bool]:
    """The rounds, builds and executions of a search, and whether it is right. In a round every host measures a block."""
    import numpy as np

    from perfvcs.locate.batch import together
    from perfvcs.locate.decision import decide
    from perfvcs.locate.evidence import Evidence
    from perfvcs.locate.priors import Prior

    culprit = int(chance.integers(1, commits))
    levels = np.where(np.arange(commits) >= culprit, log(1.05), 0.0)
    evidence, prior, rounds, executions = Evidence(commits - 1), Prior(commits - 1), 0, 0
    built = {0, commits - 1}

    def values(*measured: int) -> list[float]:
        nonlocal executions
        executions += len(measured)
        built.update(measured)
        moment = chance.normal(0, 0.03)
        return [float(levels[commit] + moment + chance.normal(0, 0.01)) for commit in measured]

    while (decision := decide(evidence, prior.weights)).step.what != "ended":
        step, rounds = decision.step, rounds + 1
        candidates = together(evidence, decision, hosts) if several and step.what == "block" else [step.commit] * hosts
        for commit in candidates:
            if step.what == "pair":
                evidence.add(*values(0, commits - 1))
            elif step.what == "confirm":
                evidence.add_step(commit, *values(commit - 1, commit))
            else:
                good, value, bad = values(0, commit, commits - 1)
                evidence.add(good, bad, commit, value)
    return rounds, len(built), executions, decision.named == (culprit,)


@dataclass
class Workplace:
    """A project, and a scheduler with workers that can be ended."""

    folder: Path
    scheduler: subprocess.Popen[bytes] | None = None
    address: str = ""

    def __post_init__(self) -> None:
        self.workers: list[subprocess.Popen[bytes]] = []
        self.project = self.folder / "project"
        self.cache = self.folder / "cache"
        self.before: list[str] = []  # words that start a program on a host of its own

    def make(self, second: int) -> None:
        """A project of two commits; the second computes so many steps, the first 200,000."""
        self.project.mkdir()
        run = ["git", "-c", "user.name=bench", "-c", "user.email=bench@example.org"]
        (self.project / "perf.toml").write_text(
            '[hosts]\npatience = "60s"\n[[job]]\nname = "work"\ncmd = "python3 work.py"\nwarmup = 0\n'
        )
        subprocess.run(["git", "init", "-q", str(self.project)], check=True)
        for count in (200_000, second):
            (self.project / "work.py").write_text(WORK.format(count=count))
            subprocess.run([*run, "add", "-A"], cwd=self.project, check=True)
            subprocess.run([*run, "commit", "-q", "--allow-empty", "-m", f"{count}"], cwd=self.project, check=True)

    def start(self, workers: int) -> None:
        """A scheduler where there is none, and as many workers as are missing."""
        if self.scheduler is None or self.scheduler.poll() is not None:
            self.stop()
            file = self.folder / "scheduler.json"
            file.unlink(missing_ok=True)
            self.scheduler = self._start(
                "dask_scheduler", "--port", "0", "--no-dashboard", "--host", "127.0.0.1", "--scheduler-file", str(file)
            )
            while not file.exists() or not file.read_text().endswith("}"):
                time.sleep(0.05)
            self.address = json.loads(file.read_text())["address"]
        self.workers = [worker for worker in self.workers if worker.poll() is None]
        for _ in range(workers - len(self.workers)):
            self.workers.append(self._start("dask_worker", self.address, *ONE, "--local-directory", str(self.folder)))

    def _start(self, program: str, *words: str) -> subprocess.Popen[bytes]:
        env = {**os.environ, "XDG_CACHE_HOME": str(self.cache)}
        with open(self.folder / "log", "ab") as log:
            command = [*self.before, sys.executable, "-m", f"distributed.cli.{program}", *words]
            return subprocess.Popen(command, stdout=log, stderr=log, env=env)

    def stop(self) -> None:
        """End all of it."""
        for process in (*self.workers, self.scheduler):
            if process is not None:
                process.kill()
                process.wait()
        self.workers, self.scheduler = [], None

    def perf(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run a command in the project."""
        return subprocess.run([*PERF, *words], cwd=self.project, capture_output=True, text=True, check=False)


@contextmanager
def workplace(second: int = 200_000) -> Iterator[Workplace]:
    """A folder that is removed in the end."""
    with tempfile.TemporaryDirectory() as folder:
        found = Workplace(Path(folder))
        found.make(second)
        try:
            yield found
        finally:
            found.stop()


def throughput(blocks: int, counts: list[int]) -> None:
    """Seconds that blocks take over so many workers."""
    print(f"{os.cpu_count()} processors; {blocks} blocks of two versions that sleep .1 s and compute about .03 s")
    first = 0.0
    for count in counts:
        with workplace() as place:
            place.start(count)
            place.perf(
                "collect", "HEAD~1", "HEAD", "-n", str(2 * count), "--scheduler", place.address
            )  # builds nothing, but starts all
            began = time.monotonic()
            done = place.perf("collect", "HEAD~1", "HEAD", "-n", str(blocks), "--scheduler", place.address)
            took = time.monotonic() - began
            assert done.returncode == 0, done.stderr
            first = first or took
            print(
                f"{count} workers: {took:.1f} s, {blocks / took:.2f} blocks/s, {first / took:.2f} times as many as {counts[0]}",
                flush=True,
            )


def aa(runs: int) -> None:
    """Real comparisons of a commit that changes nothing, over two workers."""
    words: Counter[str] = Counter()
    with workplace() as place:
        place.start(2)
        for number in range(runs):
            done = place.perf("check", "HEAD~1", "HEAD", "--measure", "-n", "10", "--scheduler", place.address, "--json")
            words.update(change["word"] for change in json.loads(done.stdout)["changes"])
            print(f"{number + 1} runs: {dict(words)}", flush=True)


def kills(runs: int, seed: int = 1) -> None:
    """Sessions in which something is killed."""
    chance = random.Random(seed)
    halves = lost = continued = repeated = 0
    ended: Counter[str] = Counter()
    with workplace() as place:
        for number in range(runs):
            place.start(2)
            who = chance.choice(("worker", "scheduler", "client"))
            client = subprocess.Popen(
                [*PERF, "collect", "HEAD~1", "HEAD", "-n", "6", "--scheduler", place.address], cwd=place.project, text=True,
                stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            )  # fmt: skip
            _sleep(chance.uniform(0.5, 12), lambda client=client: client.poll() is None)
            victim = {"worker": chance.choice(place.workers), "scheduler": place.scheduler, "client": client}[who]
            was_running = client.poll() is None
            assert victim is not None
            victim.send_signal(signal.SIGKILL)
            said = client.communicate()
            ended[who if was_running else "(over before)"] += 1
            repeated += said[1].count("repeated: block")
            halves += _halves(place)
            if client.returncode:
                place.start(2)
                done = place.perf("collect", "--continue", "--scheduler", place.address)
                nothing = "no session is unfinished" in done.stderr
                continued += not nothing and done.returncode == 0
                if done.returncode and not nothing:
                    print(f"run {number + 1}: {done.stderr.strip()}")
                halves += _halves(place)
            reported = sum(int(line.split()[1]) for line in said[0].split("\n") if line.startswith("stored "))
            lost += max(0, reported - _stored(place, said[0]))
            print(
                f"{number + 1} kills {dict(ended)}: {halves} half blocks, {lost} reported profiles lost, "
                f"{repeated} blocks repeated, {continued} sessions continued",
                flush=True,
            )


def stops(runs: int, seconds: float = 20.0) -> None:
    """Sessions in which a worker with its measurer stands still for a while, as if its network were cut."""
    with workplace() as place:
        place.start(2)
        for number in range(runs):
            client = subprocess.Popen(
                [*PERF, "collect", "HEAD~1", "HEAD", "-n", "8", "--scheduler", place.address], cwd=place.project, text=True,
                stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            )  # fmt: skip
            _sleep(3 + number % 4, lambda client=client: client.poll() is None)
            was_running = client.poll() is None
            place.workers[0].send_signal(signal.SIGSTOP)
            time.sleep(seconds)
            place.workers[0].send_signal(signal.SIGCONT)
            _, said = client.communicate()
            repeated = said.count("repeated: block")
            print(
                f"stopped {'while it ran' if was_running else '(over before)'}: exit {client.returncode}, {_halves(place)} half blocks, "
                f"{repeated} blocks repeated", flush=True,
            )  # fmt: skip


def full() -> None:
    """A session with a worker whose cache folder is a full disk of 1 MB; needs the rights to mount and to name hosts."""
    with workplace() as place:
        disk = place.folder / "disk"
        disk.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(disk)], check=True)
        try:
            place.start(1)
            place.cache, place.before = disk, ["unshare", "--uts", "sh", "-c", 'hostname full && exec "$@"', "sh"]
            place.start(2)
            (disk / "filler").write_bytes(bytes(1000 << 10))
            done = place.perf("collect", "HEAD~1", "HEAD", "-n", "8", "--scheduler", place.address)
            print(f"exit {done.returncode}, {_halves(place)} half blocks\n{done.stderr}")
        finally:
            place.stop()
            subprocess.run(["umount", "-l", str(disk)], check=False)


def _sleep(seconds: float, goes_on: Callable[[], bool]) -> None:
    until = time.monotonic() + seconds
    while time.monotonic() < until and goes_on():
        time.sleep(0.02)


def _headers(place: Workplace) -> list[dict[str, object]]:
    code = (
        "import json; from perfvcs.repository import Repository; r = Repository.find();"
        "ps = r.profiles(h for c in r.index.commits() for h in r.index.headers([c]));"
        "print(json.dumps([[p.collected.session, p.environment.notes['worker'], p.commit, sorted(set(p.resources.execution))]"
        " for p in ps]))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=place.project, capture_output=True, text=True, check=False)
    return json.loads(done.stdout) if done.returncode == 0 else []


def _halves(place: Workplace) -> int:
    """Blocks of which only one version is stored."""
    sides: dict[tuple[object, object], list[object]] = {}
    for session, host, _, blocks in _headers(place):
        sides.setdefault((session, host), []).append(blocks)
    return sum(1 for found in sides.values() if len(found) != 2 or found[0] != found[1])


def _stored(place: Workplace, said: str) -> int:
    """How many profiles the session of the seed that was reported has."""
    sessions = [session for session, *_ in _headers(place)]
    return Counter(sessions)[max(map(str, sessions))] if sessions and said else 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    for name, runs in (("simulate", 1000), ("bisect", 200), ("aa", 20), ("kills", 40), ("stops", 5)):
        commands.add_parser(name).add_argument("--runs", type=int, default=runs)
    commands.add_parser("full")
    fast = commands.add_parser("throughput")
    fast.add_argument("--blocks", type=int, default=24)
    fast.add_argument("--workers", type=int, nargs="+", default=[1, 2, 4])
    given = parser.parse_args()
    if given.command == "simulate":
        simulate(given.runs)
    elif given.command == "bisect":
        bisect(given.runs)
    elif given.command == "full":
        full()
    elif given.command == "throughput":
        need("git")
        throughput(given.blocks, given.workers)
    else:
        need("git")
        {"aa": aa, "kills": kills, "stops": stops}[given.command](given.runs)


if __name__ == "__main__":
    main()
