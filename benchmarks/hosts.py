"""What measuring over many hosts costs and shows, with real workers on this machine in the place of
hosts.

    python benchmarks/hosts.py throughput [--blocks 24] [--workers 1 2 4]
    python benchmarks/hosts.py models [--blocks 16]
    python benchmarks/hosts.py tiers [--blocks 8]
    python benchmarks/hosts.py aa [--runs 20]

``throughput`` measures blocks of a job that sleeps and computes with more and more workers.
``models`` does so with four workers of three processor models, that is in control groups with 20,
10 and 5 % of a processor, each with a name and a /proc/cpuinfo of its own, against the first one
alone; then compares a commit that changes nothing, and one that computes 10 % more. ``tiers``
measures a shop of customers, web server and database (examples/tiers) over two workers, once
against a commit that changes nothing and once against one that needs 10 % more of the processor.
``aa`` compares a commit that changes nothing, over two workers. ``models`` needs root's rights and
control groups of version 1 or 2. Drawn comparisons are in hosts_drawn.py, faults in
hosts_faults.py.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

from needs import need
from workplace import Workplace, workplace

ROOT = Path(__file__).resolve().parent.parent
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


def throughput(blocks: int, workers: list[int]) -> None:
    """Seconds that blocks take over so many workers."""
    print(
        f"{os.cpu_count()} processors; {blocks} blocks of two versions that sleep .1 s and compute"
        " about .03 s"
    )
    first = 0.0
    for count in workers:
        with workplace() as place:
            place.start(count)
            took = _took(place, blocks, count)
            first = first or took
            print(
                f"{count} workers: {took:.1f} s, {blocks / took:.2f} blocks/s, {first / took:.2f}"
                f" times as many as {workers[0]}",
                flush=True,
            )


def _took(
    place: Workplace, blocks: int, workers: int, groups: dict[str, Path] | None = None
) -> float:
    """Seconds that blocks take once all workers have begun, and have the processors of their
    control groups.
    """
    place.perf(
        "collect",
        "HEAD~1",
        "HEAD",
        "-n",
        str(2 * workers),
        "--scheduler",
        place.address,
        "--insecure",
    )
    for name, _, share in MODELS if groups else ():
        _restrict(groups[name], PERIOD * share // 100)
    began = time.monotonic()
    done = place.perf(
        "collect", "HEAD~1", "HEAD", "-n", str(blocks), "--scheduler", place.address, "--insecure"
    )
    assert done.returncode == 0, done.stderr
    return time.monotonic() - began


def models(blocks: int) -> None:
    """Blocks over three processor models against the fastest one alone, and the verdicts of them
    together.
    """
    print(
        f"{len(MODELS)} workers with {', '.join(f'{share} %' for *_, share in MODELS)} of a"
        " processor"
    )
    first = 0.0
    for many in (1, len(MODELS)):
        with workplace(STEPS, STEPS, COMPUTING) as place, groups() as folders:
            _start_models(place, folders, many)
            took = _took(place, blocks, many, folders)
            first = first or took
            print(
                f"{many} workers: {blocks} blocks in {took:.1f} s, {first / took:.2f} times as"
                " many",
                flush=True,
            )
            newest = max(one.session for one in place.profiles())
            for one in sorted(place.profiles()):
                if one.session == newest and one.commit == place.head:
                    print(
                        f"    {one.worker}: {len(one.blocks)} blocks, wall time"
                        f" {1000 * median(one.wall):.0f} ms",
                        flush=True,
                    )
    for second, what in ((STEPS, "the same"), (STEPS * 11 // 10, "10 % more")):
        with workplace(second, STEPS, COMPUTING) as place, groups() as folders:
            _start_models(place, folders, len(MODELS))
            _took(place, 4, len(MODELS), folders)
            print(f"a commit that computes {what}:", flush=True)
            _compare(place, blocks)


def _start_models(place: Workplace, folders: dict[str, Path], many: int) -> None:
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
        place.before = [
            "unshare",
            "--uts",
            "--mount",
            "sh",
            "-c",
            INSIDE,
            "sh",
            str(folders[name]),
            name,
            str(cpu),
        ]
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


def _checked(place: Workplace, blocks: int) -> list[dict[str, Any]]:
    """What a check of the two newest commits over all workers says."""
    done = place.perf(
        "check",
        "HEAD~1",
        "HEAD",
        "--measure",
        "-n",
        str(blocks),
        "--scheduler",
        place.address,
        "--insecure",
        "--json",
    )
    if not done.stdout:
        raise SystemExit(done.stderr)
    found: list[dict[str, Any]] = json.loads(done.stdout)["changes"]
    return found


def _compare(place: Workplace, blocks: int) -> None:
    """Check the two newest commits over all workers, and print the verdicts."""
    for change in _checked(place, blocks):
        figures = " ".join(
            "?" if change[key] is None else f"{100 * change[key]:+.1f} %"
            for key in ("effect", "low", "high")
        )
        print(
            f"    {change['uid']} {change['metric']:12} {change['word']:12} {figures}"
            f" {change['finding']}",
            flush=True,
        )


def tiers(blocks: int) -> None:
    """A service of three tiers under load, over two workers."""
    with workplace() as place:
        shutil.rmtree(place.project)
        subprocess.run(
            [sys.executable, ROOT / "examples" / "tiers" / "build.py", place.project],
            check=True,
            stdout=subprocess.PIPE,
        )
        toml = place.project / "perf.toml"
        toml.write_text(toml.read_text().replace("{port} 11", "{port} 6"))
        place.commit("a shorter load")
        place.perf("init")
        rounds = _rounds(place)
        place.start(2)
        for title, count in (
            ("nothing", 1_000),
            (f"+10 % of CPU time ({rounds:,} rounds of a hash in place of 1,000)", rounds),
        ):
            _hash(place, count)
            place.commit(title)
            print(f"a commit that adds {title}:")
            _compare(place, blocks)


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
    effects = [
        one["effect"] for one in json.loads(done.stdout)["changes"] if one["metric"] == "cpu"
    ]
    print(f"5,000 rounds more take {100 * effects[0]:+.0f} % of the service's CPU time", flush=True)
    _hash(place, 1_000)
    place.commit("as before")
    return 1_000 + round(500 / effects[0])


def aa(runs: int) -> None:
    """Real comparisons of a commit that changes nothing, over two workers."""
    words: Counter[str] = Counter()
    with workplace() as place:
        place.start(2)
        for number in range(runs):
            words.update(change["word"] for change in _checked(place, 10))
            print(f"{number + 1} runs: {dict(words)}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    made = {name: commands.add_parser(name) for name in ("throughput", "models", "tiers", "aa")}
    for name, blocks in (("throughput", 24), ("models", 16), ("tiers", 8)):
        made[name].add_argument("--blocks", type=int, default=blocks)
    made["throughput"].add_argument("--workers", type=int, nargs="+", default=[1, 2, 4])
    made["aa"].add_argument("--runs", type=int, default=20)
    given = vars(parser.parse_args())
    need("git")
    {"throughput": throughput, "models": models, "tiers": tiers, "aa": aa}[given.pop("command")](
        **given
    )


if __name__ == "__main__":
    main()
