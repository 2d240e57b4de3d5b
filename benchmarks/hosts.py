"""Measuring over many hosts, with real workers on this machine in the place of hosts.

``hosts_models`` has four workers of three processor models, that is in control groups with 20, 10 and
5 % of a processor, each with a name and a /proc/cpuinfo of its own, against the first one alone; then
compares a commit that changes nothing, and one that computes 10 % more. It needs control groups of
version 1 or 2. ``hosts_tiers`` measures a shop of customers, web server and database (examples/tiers)
over two workers, once against a commit that changes nothing and once against one that needs 10 % more of
the processor. Drawn comparisons are in hosts_drawn.py, faults in hosts_faults.py.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

from .figures import ROOT, Row
from .programs import run
from .registry import benchmark
from .workplace import Workplace, workplace

COMPUTING = "sum(i * i for i in range({count}))\n"
MODELS = (
    ("alpha", "Model 1", 20),
    ("beta", "Model 2", 10),
    ("gamma", "Model 2", 10),
    ("delta", "Model 3", 5),
)  # % of a processor
STEPS = 1_500_000  # of a program that computes for some .1 s
PERIOD = 20_000  # us in which a control group gets its share
GROUPS = Path("/sys/fs/cgroup")
INSIDE = """
echo $$ > "$1/cgroup.procs" && hostname "$2" && mount --bind "$3" /proc/cpuinfo && shift 3 && exec "$@"
"""


def took(place: Workplace, blocks: int, workers: int, groups: Mapping[str, Path]) -> float:
    """Seconds that blocks take once all workers have begun, and have the processors of their
    control groups.
    """
    place.perf("collect", "HEAD~1", "HEAD", "-n", str(2 * workers), *place.over)
    for name, _, share in MODELS if groups else ():
        _restrict(groups[name], PERIOD * share // 100)
    began = time.monotonic()
    done = place.perf("collect", "HEAD~1", "HEAD", "-n", str(blocks), *place.over)
    if done.returncode:
        raise RuntimeError(done.stderr)
    return time.monotonic() - began


@benchmark("hosts", quick={"blocks": 2, "workers": (1,)}, needs=("distributed",))
def hosts_throughput(*, blocks: int = 24, workers: tuple[int, ...] = (1, 2, 4)) -> Iterator[Row]:
    """How much faster are blocks that sleep .1 s and compute .03 s measured by more workers?"""
    first = 0.0
    for count in workers:
        with workplace() as place:
            place.start(count)
            seconds = took(place, blocks, count, {})
        first = first or seconds
        yield {
            "workers": count,
            "blocks": blocks,
            "s": seconds,
            "blocks/s": blocks / seconds,
            "times as many": first / seconds,
        }


@benchmark("hosts", quick="needs root and control groups", needs=("distributed", "root"))
def hosts_models(*, blocks: int = 16) -> Iterator[Row]:
    """What do blocks over three processor models show, beside the fastest one alone?"""
    first = 0.0
    for many in (1, len(MODELS)):
        with workplace(STEPS, STEPS, COMPUTING) as place, groups() as folders:
            _start_models(place, folders, many)
            seconds = took(place, blocks, many, folders)
            first = first or seconds
            yield {
                "workers": many,
                "blocks": blocks,
                "s": seconds,
                "times as many": first / seconds,
            }
            newest = max(one.session for one in place.profiles())
            for one in sorted(place.profiles()):
                if one.session == newest and one.commit == place.head:
                    wall = 1000 * median(one.wall)
                    yield {"worker": one.worker, "blocks": len(one.blocks), "wall, ms": wall}
    for second, what in ((STEPS, "the same"), (STEPS * 11 // 10, "10 % more")):
        with workplace(second, STEPS, COMPUTING) as place, groups() as folders:
            _start_models(place, folders, len(MODELS))
            took(place, 4, len(MODELS), folders)
            yield from compared(place, blocks, f"a commit that computes {what}")


def _start_models(place: Workplace, folders: Mapping[str, Path], many: int) -> None:
    """Start a worker of each of the first models."""
    text = Path("/proc/cpuinfo").read_text()
    for number, (name, model, _) in enumerate(MODELS[:many], 1):
        cpu = place.folder / f"cpuinfo-{name}"
        lines = (
            f"model name\t: {model}" if line.startswith("model name") else line
            for line in text.split("\n")
        )
        cpu.write_text("\n".join(lines))
        place.cache = place.folder / name
        inside = ["sh", "-c", INSIDE, "sh", str(folders[name]), name, str(cpu)]
        place.before = ["unshare", "--uts", "--mount", *inside]
        place.start(number)


@contextmanager
def groups() -> Iterator[dict[str, Path]]:
    """A control group for each of the models, by its name."""
    top = GROUPS / "cpu" if (GROUPS / "cpu").is_dir() else GROUPS  # version 1 or 2
    found = {name: top / f"perfbench-{name}" for name, *_ in MODELS}
    try:
        for folder in found.values():
            folder.mkdir()
        yield found
    finally:
        for folder in filter(Path.exists, found.values()):
            for pid in (folder / "cgroup.procs").read_text().split():
                os.kill(int(pid), signal.SIGKILL)
            while (folder / "cgroup.procs").read_text():
                time.sleep(0.1)
            folder.rmdir()


def _restrict(group: Path, quota: int) -> None:
    """Let a control group have so many us of a processor in each period, before all others."""
    if (group / "cpu.max").exists():
        (group / "cpu.max").write_text(f"{quota} {PERIOD}")
        (group / "cpu.weight").write_text("10000")
    else:
        (group / "cpu.cfs_period_us").write_text(str(PERIOD))
        (group / "cpu.cfs_quota_us").write_text(str(quota))
        (group / "cpu.shares").write_text("100000")


def checked(place: Workplace, blocks: int) -> list[dict[str, Any]]:
    """What a check of the two newest commits over all workers says."""
    words = ("--measure", "-n", str(blocks), *place.over, "--json")
    done = place.perf("check", "HEAD~1", "HEAD", *words)
    if not done.stdout:
        raise RuntimeError(done.stderr)
    found: list[dict[str, Any]] = json.loads(done.stdout)["changes"]
    return found


def compared(place: Workplace, blocks: int, what: str) -> Iterator[Row]:
    """The verdicts on the two newest commits over all workers."""
    for change in checked(place, blocks):
        bounds = {
            f"{key}, %": None if change[key] is None else 100 * change[key]
            for key in ("effect", "low", "high")
        }
        yield {
            "commit": what,
            "unit": change["uid"],
            "metric": change["metric"],
            "word": change["word"],
            **bounds,
            "finding": change["finding"],
        }


@benchmark("hosts", quick="a service under load takes minutes", needs=("distributed",))
def hosts_tiers(*, blocks: int = 8) -> Iterator[Row]:
    """What does measuring a service of three tiers over two workers show?"""
    with workplace() as place:
        shutil.rmtree(place.project)
        run(sys.executable, ROOT / "examples" / "tiers" / "build.py", place.project)
        toml = place.project / "perf.toml"
        toml.write_text(toml.read_text().replace("{port} 11", "{port} 6"))
        place.commit("a shorter load")
        place.perf("init")
        rounds = _rounds(place)
        place.start(2)
        for title, count in (
            ("that changes nothing", 1_000),
            (f"of +10 % of CPU time ({rounds:,} rounds of a hash in place of 1,000)", rounds),
        ):
            _hash(place, count)
            place.commit(title)
            yield from compared(place, blocks, f"a commit {title}")


def _hash(place: Workplace, rounds: int) -> None:
    """Let the web server's key take so many rounds, each of which costs the same."""
    web, before = place.project / "web.py", place.project / ".before"
    text = before.read_text() if before.exists() else web.read_text()
    before.write_text(text)
    assert 'b"salt", 1_000)' in text
    web.write_text(text.replace('b"salt", 1_000)', f'b"salt", {rounds})'))


def _rounds(place: Workplace) -> int:
    """The rounds with which the service needs 10 % more CPU time, from what it needs with 1,000 and
    6,000.
    """
    for rounds in (1_000, 6_000):
        _hash(place, rounds)
        place.commit(f"{rounds}")
    done = place.perf("check", "HEAD~1", "HEAD", "--measure", "-n", "3", "--json")
    changes = json.loads(done.stdout)["changes"]
    effect: float = next(one["effect"] for one in changes if one["metric"] == "cpu")
    _hash(place, 1_000)
    place.commit("as before")
    return 1_000 + round(500 / effect)


@benchmark("hosts", quick={"runs": 1, "blocks": 5}, needs=("distributed",))
def hosts_same(*, runs: int = 20, blocks: int = 10) -> Iterator[Row]:
    """What is said of a commit that changes nothing, over two workers?"""
    words: Counter[str] = Counter()
    with workplace() as place:
        place.start(2)
        for _ in range(runs):
            words.update(change["word"] for change in checked(place, blocks))
    for word, count in words.most_common():
        yield {"word": word, "comparisons": count}
