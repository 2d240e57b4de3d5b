"""What disturbs measurements on this machine: read before and after a session, reported in
sentences that name the cure.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from perfvcs.system.children import processors
from perfvcs.text.words import counted

ROOT_FOLDER = Path("/")
UTMP = Path("/var/run/utmp")  # where glibc keeps who is logged in
LOAD = 0.5  # of the processors, before measuring
BUSY_SHARE = 0.25  # of the processors, used by other programs while measuring
PRESSURE = 0.10  # of the time, some process waited for a processor
STEAL = 0.02  # of the processor time
# seconds: the counters tick 100 times a second, so that shares of a shorter time say nothing
MIN_SPAN = 1.0


class Noise(Struct, frozen=True):
    """The state at one moment; counters are in seconds since boot, summed over processors; what
    cannot be read is None.
    """

    at: float
    processors: int
    own: float
    users: int
    load: float | None = None
    busy: float | None = None
    steal: float | None = None
    pressure: float | None = None
    pressure10: float | None = None
    throttled: float | None = None
    hot: int | None = None
    governor: str | None = None
    turbo: bool | None = None
    battery: bool | None = None


def snapshot(root: Path = ROOT_FOLDER) -> Noise:
    """Read the state from /proc and /sys below ``root``; a missing file leaves its field None."""
    cpus, times = root / "sys/devices/system/cpu", os.times()
    busy, steal = _ticks(root)
    average, total = _pressure(root)
    return Noise(
        at=time.monotonic(),
        processors=len(processors()),
        own=sum(times[:4]),
        users=_other_users(),
        load=_number(root / "proc/loadavg"),
        busy=busy,
        steal=steal,
        pressure=total,
        pressure10=average,
        throttled=_throttled(root),
        hot=_hot(cpus),
        governor=_governor(cpus),
        turbo=_turbo(cpus),
        battery=_battery(root),
    )


def warnings(before: Noise, after: Noise) -> list[str]:
    """Plain sentences about what may have disturbed the measurements between two snapshots, each
    once.
    """
    sentences: list[str] = []
    busy: list[str] = []
    if before.load is not None and before.load > LOAD * before.processors:
        busy.append(
            f"the load average was {before.load:.1f} on {_processors(before)} before measuring"
        )
    others = _others(before, after)
    if others is not None and others > BUSY_SHARE * after.processors:
        busy.append(f"other programs used {others:.1f} of {_processors(after)} while measuring")
    waited = _share(before, after, "pressure")
    waited = waited if waited is not None else after.pressure10
    if waited is not None and waited > PRESSURE:
        busy.append(f"processes waited for a processor {100 * waited:.0f} % of the time")
    if busy:
        sentences.append(
            f"{', '.join(busy)}: stop other programs, or measure when the machine is idle"
        )
    stolen = _share(before, after, "steal", after.processors)
    if stolen is not None and stolen > STEAL:
        sentences.append(
            f"the hypervisor gave {100 * stolen:.0f} % of the processor time to others: use a"
            " dedicated machine, or more executions"
        )
    throttled = _difference(before.throttled, after.throttled)
    if throttled:
        sentences.append(
            f"the container's CPU quota held processes back for {throttled:.2g} s: raise the quota"
            " (cpu.max), or use fewer threads"
        )
    if _difference(before.hot, after.hot):
        sentences.append(
            "the processor was slowed down by heat: let the processor cool down, or lower its"
            " highest frequency"
        )
    return sentences + _settings(after)


def _settings(state: Noise) -> list[str]:
    sentences = []
    if state.governor not in (None, "performance"):
        sentences.append(
            f"the CPU governor is {state.governor}: sudo cpupower frequency-set -g performance"
        )
    if state.turbo:
        sentences.append(
            "turbo is on, so that speed depends on heat and neighbours: switch turbo off in the"
            " firmware, or write 0 to /sys/devices/system/cpu/cpufreq/boost (Intel: 1 to"
            " /sys/devices/system/cpu/intel_pstate/no_turbo)"
        )
    if state.battery:
        sentences.append("the machine runs on battery: plug the machine in")
    if state.users:
        sentences.append(
            f"{_count(state.users, 'other user')} logged in: measure when nobody else is, or on a"
            " dedicated machine"
        )
    return sentences


def notes(before: Noise, after: Noise) -> dict[str, str]:
    """The state at both snapshots as short texts, for the record."""
    texts = {
        "load": _pair(before.load, after.load, "{:.2f}"),
        "pressure": _pair(before.pressure10, after.pressure10, "{:.1%}"),
        "steal": _pair(before.steal, after.steal, "{:.2f} s"),
        "others": _text(_others(before, after), "{:.2f} processors"),
        "governor": after.governor or "",
        "turbo": _switch(after.turbo),
        "battery": _switch(after.battery),
        "users": str(after.users) if after.users else "",
    }
    return {name: text for name, text in texts.items() if text}


def _others(before: Noise, after: Noise) -> float | None:
    """How many processors programs other than this one and its finished children used on
    average.
    """
    busy, span = _difference(before.busy, after.busy), after.at - before.at
    return (
        None
        if busy is None or span < MIN_SPAN
        else max(0.0, busy - (after.own - before.own)) / span
    )


def _share(before: Noise, after: Noise, counter: str, processors: int = 1) -> float | None:
    grown, span = (
        _difference(getattr(before, counter), getattr(after, counter)),
        after.at - before.at,
    )
    return None if grown is None or span < MIN_SPAN else grown / span / processors


def _difference(before: float | None, after: float | None) -> float | None:
    return None if before is None or after is None else after - before


def _processors(state: Noise) -> str:
    return counted(state.processors, "processor")


def _count(number: int, what: str) -> str:
    return f"{number} {what} is" if number == 1 else f"{number} {what}s are"


def _pair(before: float | None, after: float | None, form: str) -> str:
    texts = [_text(value, form) for value in (before, after)]
    return f"{texts[0]}, after {texts[1]}" if all(texts) else ""


def _text(value: float | None, form: str) -> str:
    return "" if value is None else form.format(value)


def _switch(value: object) -> str:
    if value is None:
        return ""
    return "on" if value else "off"


def read(path: Path) -> str | None:
    """The text of a file of /proc or /sys without white space around it; None when it is missing or
    unreadable.
    """
    try:
        return path.read_text("utf-8", "replace").strip()
    except OSError:
        return None


def _number(path: Path) -> float | None:
    words = (read(path) or "").split()
    with suppress(ValueError, IndexError):
        return float(words[0])
    return None


def _ticks(root: Path) -> tuple[float | None, float | None]:
    """Busy and stolen time in seconds from /proc/stat (guests' time is part of user's)."""
    with suppress(ValueError, IndexError):
        user, nice, system, _, _, irq, softirq, steal = (
            int(word) for word in (read(root / "proc/stat") or "").split()[1:9]
        )
        tick = os.sysconf("SC_CLK_TCK")
        return (user + nice + system + irq + softirq) / tick, steal / tick
    return None, None


def _pressure(root: Path) -> tuple[float | None, float | None]:
    """Share of the last 10 s, and seconds in all, in which some process waited for a processor."""
    words = (read(root / "proc/pressure/cpu") or "").partition("\n")[0].split()
    values = dict(word.split("=", 1) for word in words if "=" in word)
    with suppress(ValueError, KeyError):
        return float(values["avg10"]) / 100, int(values["total"]) / 1e6
    return None, None


def group(root: Path) -> Path | None:
    """This process's control group (version 2) as a folder below /sys/fs/cgroup; None without
    one.
    """
    for line in (read(root / "proc/self/cgroup") or "").splitlines():
        if line.startswith("0::"):
            return root / "sys/fs/cgroup" / line[3:].lstrip("/")
    return None


def _throttled(root: Path) -> float | None:
    if (folder := group(root)) is None:
        return None
    for line in (read(folder / "cpu.stat") or "").splitlines():
        name, _, value = line.partition(" ")
        if name == "throttled_usec" and value.isdigit():
            return int(value) / 1e6
    return None


def _hot(cpus: Path) -> int | None:
    counts = [_number(path) for path in cpus.glob("cpu[0-9]*/thermal_throttle/core_throttle_count")]
    readable = [int(count) for count in counts if count is not None]
    return sum(readable) if readable else None


def _governor(cpus: Path) -> str | None:
    """The governors of the processors that may be used, joined where they differ."""
    governors = {read(cpus / f"cpu{number}/cpufreq/scaling_governor") for number in processors()}
    return " and ".join(sorted(name for name in governors if name)) or None


def _turbo(cpus: Path) -> bool | None:
    if (off := read(cpus / "intel_pstate/no_turbo")) is not None:
        return off == "0"
    boost = read(cpus / "cpufreq/boost")
    return None if boost is None else boost == "1"


def _battery(root: Path) -> bool | None:
    """True when no mains supply is online, or where none is listed, when a battery discharges; None
    without a supply.

    Supplies of the scope ``Device`` (a mouse, a pen) say nothing about the machine.
    """
    supplies = [
        path
        for path in (root / "sys/class/power_supply").glob("*")
        if read(path / "scope") != "Device"
    ]
    mains = [read(path / "online") for path in supplies if read(path / "type") in ("Mains", "USB")]
    batteries = [read(path / "status") for path in supplies if read(path / "type") == "Battery"]
    if not batteries:
        return False if "1" in mains else None
    return "1" not in mains if mains else "Discharging" in batteries


def _other_users() -> int:
    """How many users other than this one are logged in."""
    # in most containers; psutil takes a tenth of all imports of `perf collect`
    if not UTMP.exists():
        return 0
    import psutil

    try:
        names = {user.name for user in psutil.users()}
        self_name = psutil.Process().username()
    except (OSError, KeyError, psutil.Error):
        return 0
    return len(names - {self_name, os.environ.get("SUDO_USER", self_name)})
