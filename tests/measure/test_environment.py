"""What is recorded of a machine, the noise on it, the knobs, and the variables of measured
processes.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest
from cases import each
from msgspec.structs import replace

from perfvcs import environment
from perfvcs.environment import PADDING, Knobs, clean, describe, fingerprint, noise
from perfvcs.environment.noise import Noise, snapshot, warnings
from perfvcs.errors import UsageError

AVAILABLE = sorted(os.sched_getaffinity(0))
FIRST = AVAILABLE[0]
QUIET = Noise(
    at=0.0,
    processors=4,
    own=0.0,
    users=0,
    load=0.1,
    busy=0.0,
    steal=0.0,
    pressure=0.0,
    pressure10=0.0,
    throttled=0.0,
    hot=0,
)
LATER = replace(QUIET, at=10.0)


def machine(root: Path, **files: str) -> Path:
    """A file system with the given files of /proc and /sys; ``__`` in a name is a slash, as
    ``proc__stat``.
    """
    for name, text in files.items():
        place(root, name.replace("__", "/"), text)
    return root


def place(root: Path, name: str, text: str) -> None:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text + "\n")


def test_this_machine_is_described_the_same_twice() -> None:
    one, two = (describe(Knobs(), clean(os.environ)) for _ in range(2))
    assert one == two and len(one.fingerprint) == 12
    assert {"cpu", "processors", "machine", "kernel", "pin", "aslr", "padding"} <= one.fields.keys()
    assert (
        one.fields["processors"] == str(len(AVAILABLE)) and one.notes["host"] == os.uname().nodename
    )
    assert one.notes["kernel"].startswith(one.fields["kernel"]) and "host" not in one.fields


def test_the_fingerprint_depends_on_the_fields_and_not_on_their_order() -> None:
    assert fingerprint({"a": "1", "b": "é"}) == fingerprint({"b": "é", "a": "1"}) == "a994d173b889"
    assert fingerprint({"a": "1", "b": "2"}) != fingerprint({"a": "2", "b": "1"})


def test_secrets_are_never_recorded() -> None:
    secret = dict.fromkeys(
        ("TOKEN", "AWS_SECRET_ACCESS_KEY", "PATH", "OMP_NUM_THREADS_KEY", "CFLAGS"), "hunter2"
    )
    assert "hunter2" not in str(describe(Knobs(), secret))


def test_variables_that_change_the_speed_make_environments_differ() -> None:
    plain, threads = (
        describe(Knobs(), {}),
        describe(Knobs(), {"OMP_NUM_THREADS": "2", "LD_PRELOAD": "x" * 1000}),
    )
    assert threads.fields["OMP_NUM_THREADS"] == "2" and plain.fingerprint != threads.fingerprint
    assert len(threads.fields["LD_PRELOAD"]) == 200


def test_the_interpreter_and_after_a_build_the_compiler_are_fields(tmp_path: Path) -> None:
    (tmp_path / "mycc").write_text("#!/bin/sh\necho mycc 1.2 $1\necho more\n")
    (tmp_path / "mycc").chmod(0o755)
    env = {"CC": "mycc -m32", "PATH": f"{tmp_path}:/bin", "CFLAGS": "-O2"}
    fields = describe(Knobs(), env, python="CPython 3.11.7", built=True).fields
    assert (
        fields["python"] == "CPython 3.11.7"
        and fields["compiler"] == "mycc 1.2 -m32"
        and fields["CFLAGS"] == "-O2"
    )
    assert "compiler" not in describe(Knobs(), env).fields
    assert "compiler" not in describe(Knobs(), env | {"CC": "no-such-cc"}, built=True).fields
    assert "compiler" not in describe(Knobs(), env | {"CC": "'unbalanced"}, built=True).fields


def test_an_empty_file_system_says_nothing_and_fails_nowhere(tmp_path: Path) -> None:
    one = snapshot(tmp_path)
    found = describe(Knobs(), {}, before=one, after=one, root=tmp_path)
    assert found.fields["cpu"] == os.uname().machine and "virtual" not in found.notes
    assert [text for text in found.warnings if "logged in" not in text] == []


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ("processor : 0\nmodel name\t: AMD  EPYC\nmodel name : other", "AMD EPYC"),
        ("CPU implementer : 0x41\nCPU part : 0xd0c\nCPU variant : 0x3", "ARM 0x41 0xd0c 0x3"),
        ("cpu\t\t: POWER9, altivec supported", "POWER9, altivec supported"),
    ],
)
def test_the_processor_is_named_on_several_architectures(
    tmp_path: Path, lines: str, expected: str
) -> None:
    assert (
        describe(Knobs(), {}, root=machine(tmp_path, proc__cpuinfo=lines)).fields["cpu"] == expected
    )


def test_a_container_quota_a_virtual_machine_and_the_system_are_read(tmp_path: Path) -> None:
    root = machine(
        tmp_path,
        proc__cpuinfo="flags : fpu hypervisor sse",
        proc__meminfo="MemTotal:       4194304 kB",
    )
    place(root, "proc/self/cgroup", "4:cpu:/old\n0::/build")
    place(root, "sys/fs/cgroup/build/cpu.max", "150000 100000")
    place(root, "sys/class/dmi/id/sys_vendor", "QEMU")
    place(root, "sys/class/dmi/id/product_name", "Standard PC")
    place(root, "etc/os-release", 'NAME="Debian"\nPRETTY_NAME="Debian GNU/Linux 12"')
    place(root, "sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never")
    found = describe(Knobs(), {}, root=root)
    assert found.fields["quota"] == "1.5"
    assert (
        found.notes["virtual"] == "QEMU Standard PC" and found.notes["os"] == "Debian GNU/Linux 12"
    )
    assert found.notes["memory"] == "4.0 GiB" and found.notes["hugepages"] == "madvise"


def test_a_quiet_machine_gets_no_warning() -> None:
    assert warnings(QUIET, LATER) == []
    assert noise.notes(QUIET, LATER)["load"] == "0.10, after 0.10"


@each(
    "before after expected",
    [
        (
            {"load": 2.1},
            {},
            "the load average was 2.1 on 4 processors before measuring: stop other programs",
        ),
        (
            {},
            {"busy": 25.0, "own": 10.0},
            "other programs used 1.5 of 4 processors while measuring",
        ),
        ({}, {"pressure": 2.0}, "processes waited for a processor 20 % of the time"),
        (
            {},
            {"steal": 2.0},
            "the hypervisor gave 5 % of the processor time to others: use a dedicated machine",
        ),
        ({}, {"throttled": 0.5}, "the container's CPU quota held processes back for 0.5 s"),
        ({}, {"hot": 3}, "slowed down by heat"),
        ({}, {"governor": "powersave"}, "the CPU governor is powersave: sudo cpupower"),
        ({}, {"turbo": True}, "turbo is on"),
        ({}, {"battery": True}, "runs on battery: plug the machine in"),
        ({}, {"users": 1}, "1 other user is logged in"),
        ({}, {"users": 2}, "2 other users are logged in"),
    ],
)
def test_each_disturbance_is_reported_with_its_cure(
    before: dict[str, float], after: dict[str, float], expected: str
) -> None:
    (told,) = warnings(replace(QUIET, **before), replace(LATER, **after))
    assert expected in told and ": " in told + ": " and "\n" not in told


def test_signs_of_the_same_disturbance_share_one_line_and_its_cure() -> None:
    (line,) = warnings(replace(QUIET, load=2.1), replace(LATER, busy=25.0, own=10.0, pressure=2.0))
    assert line.startswith(
        "the load average was 2.1 on 4 processors before measuring, other programs used 1.5 of 4"
        " processors"
    )
    assert line.count("stop other programs") == 1


def test_one_program_that_is_ourselves_is_no_disturbance() -> None:
    assert (
        warnings(
            QUIET,
            replace(LATER, busy=9.0, own=9.0, governor="performance", turbo=False, battery=False),
        )
        == []
    )


def test_a_session_too_short_for_the_counters_is_judged_by_the_average() -> None:
    short = replace(QUIET, at=0.1, busy=0.4, steal=0.4)
    assert warnings(QUIET, short) == []
    assert "20 %" in warnings(QUIET, replace(short, pressure10=0.2))[0]


def test_the_state_of_a_machine_is_read_from_its_files(tmp_path: Path) -> None:
    root = machine(
        tmp_path,
        proc__loadavg="1.50 1.00 0.50 1/100 4242",
        proc__stat="cpu  100 10 50 1000 7 3 2 25 0 0\ncpu0 1 1",
    )
    place(
        root,
        "proc/pressure/cpu",
        "some avg10=4.88 avg60=1.71 avg300=0.76 total=9632852\nfull avg10=0.00",
    )
    place(root, "proc/self/cgroup", "0::/")
    place(root, "sys/fs/cgroup/cpu.stat", "usage_usec 1\nthrottled_usec 250000")
    cpus = "sys/devices/system/cpu"
    for cpu in AVAILABLE:
        place(root, f"{cpus}/cpu{cpu}/cpufreq/scaling_governor", "powersave")
        place(root, f"{cpus}/cpu{cpu}/thermal_throttle/core_throttle_count", "2")
    place(root, f"{cpus}/cpufreq/boost", "1")
    found, tick = snapshot(root), os.sysconf("SC_CLK_TCK")
    assert (found.load, found.busy, found.steal) == (1.5, 165 / tick, 25 / tick)
    assert (found.pressure, found.pressure10, found.throttled) == (
        pytest.approx(9.632852),
        pytest.approx(0.0488),
        0.25,
    )
    assert (found.governor, found.turbo, found.hot) == ("powersave", True, 2 * len(AVAILABLE))
    place(root, f"{cpus}/intel_pstate/no_turbo", "1")
    assert snapshot(root).turbo is False


def test_garbage_in_the_files_is_as_good_as_nothing(tmp_path: Path) -> None:
    root = machine(
        tmp_path,
        proc__loadavg="",
        proc__stat="cpu x",
        proc__pressure__cpu="some",
        proc__cpuinfo="\x00",
    )
    place(root, "proc/self/cgroup", "0::/none")
    found = snapshot(root)
    assert (found.load, found.busy, found.pressure, found.throttled) == (None, None, None, None)
    place(root, "sys/fs/cgroup/none/cpu.stat", "usage_usec 1")
    assert snapshot(root).throttled is None


@pytest.mark.parametrize(
    ("supplies", "expected"),
    [
        ({}, None),
        ({"AC": {"type": "Mains", "online": "1"}}, False),
        (
            {
                "AC": {"type": "Mains", "online": "0"},
                "BAT0": {"type": "Battery", "status": "Discharging"},
            },
            True,
        ),
        (
            {
                "AC": {"type": "Mains", "online": "1"},
                "BAT0": {"type": "Battery", "status": "Charging"},
            },
            False,
        ),
        ({"BAT0": {"type": "Battery", "status": "Discharging"}}, True),
        ({"mouse": {"type": "Battery", "status": "Discharging", "scope": "Device"}}, None),
    ],
)
def test_battery_is_what_the_machine_itself_runs_on(
    tmp_path: Path, supplies: dict[str, dict[str, str]], expected: bool | None
) -> None:
    for name, files in supplies.items():
        for file, text in files.items():
            place(tmp_path, f"sys/class/power_supply/{name}/{file}", text)
    assert snapshot(tmp_path).battery is expected


def test_only_other_users_count(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    own = psutil.Process().username()
    monkeypatch.setattr(noise, "UTMP", tmp_path)
    monkeypatch.setattr(
        psutil, "users", lambda: [SimpleNamespace(name=name) for name in (own, "eve", "eve", "bob")]
    )
    monkeypatch.delenv("SUDO_USER", raising=False)
    assert snapshot().users == 2
    monkeypatch.setenv("SUDO_USER", "bob")
    assert snapshot().users == 1

    def broken() -> None:
        raise OSError("no utmp")

    monkeypatch.setattr(psutil, "users", broken)
    assert snapshot().users == 0


def test_where_nobody_can_log_in_there_are_no_other_users(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(noise, "UTMP", tmp_path / "none")
    monkeypatch.setattr(psutil, "users", lambda: [SimpleNamespace(name="eve")])
    assert snapshot().users == 0


def test_describe_joins_noise_into_notes_and_warnings() -> None:
    found = describe(
        Knobs(),
        {},
        before=QUIET,
        after=replace(LATER, battery=True, turbo=False, users=1, governor="powersave"),
    )
    assert (
        found.notes["battery"] == "on"
        and found.notes["turbo"] == "off"
        and found.notes["users"] == "1"
    )
    assert len(found.warnings) == 3


def test_pinning_names_processors_that_exist() -> None:
    assert Knobs().cpus() == () and Knobs(str(FIRST)).cpus() == (FIRST,)
    assert Knobs(f" {FIRST} ,{FIRST}-{FIRST}").fields()["pin"] == str(FIRST)
    with pytest.raises(
        UsageError,
        match=r'pin = "0-99999": there is no processor \d+ here; choose from .*, or "auto"',
    ):
        Knobs("0-99999").cpus()


@pytest.mark.parametrize("text", ["", "a", "1-", "3-1", "1,,2", "-1", "0x1", "999999"])
def test_a_pin_of_another_form_is_refused_at_once(text: str) -> None:
    with pytest.raises(UsageError, match='write "none", "auto", or numbers such as "0,2-3"'):
        Knobs(text)


def test_auto_takes_the_last_of_the_fastest_or_an_isolated_processor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2, 3, 5})
    assert Knobs("auto").cpus(tmp_path) == (5,)
    for cpu, capacity in enumerate((1024, 1024, 512, 512)):
        place(tmp_path, f"sys/devices/system/cpu/cpu{cpu}/cpu_capacity", str(capacity))
    assert Knobs("auto").cpus(tmp_path) == (1,)
    place(tmp_path, "sys/devices/system/cpu/isolated", "2-3,7")
    assert Knobs("auto").cpus(tmp_path) == (3,)
    assert Knobs("0-2,5").fields(tmp_path)["pin"] == "0-2,5"
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0})
    assert Knobs("auto").cpus(tmp_path) == ()


def test_address_randomisation_that_the_machine_lacks_is_recorded(tmp_path: Path) -> None:
    assert (
        Knobs().fields(tmp_path)["aslr"] == "on"
        and Knobs(aslr=False).fields(tmp_path)["aslr"] == "off"
    )
    place(tmp_path, "proc/sys/kernel/randomize_va_space", "0")
    assert Knobs().fields(tmp_path)["aslr"] == "off"


def test_padding_is_random_bounded_and_repeatable() -> None:
    def lengths(seed: int) -> list[int]:
        source = random.Random(seed)
        return [len(Knobs().padded({"A": "b"}, source)[PADDING]) for _ in range(300)]

    assert lengths(1) == lengths(1) != lengths(2)
    assert min(lengths(1)) < 100 and 4000 < max(lengths(1)) <= 4096
    assert Knobs(padding=False).padded({"A": "b"}, random.Random(1)) == {"A": "b"}


def test_a_measured_git_command_is_not_led_astray_by_a_hook(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "--quiet", tmp_path / "other"], check=True)
    hook = {
        **os.environ,
        "GIT_DIR": "/nowhere",
        "GIT_INDEX_FILE": "/nowhere/index",
        "GIT_QUARANTINE_PATH": "/q",
        "GIT_SSH_COMMAND": "ssh",
    }
    env = clean(hook)
    found = subprocess.run(
        ["git", "rev-parse", "--git-dir"],
        cwd=tmp_path / "other",
        env=env,
        capture_output=True,
        text=True,
        check=True,
    )
    assert (
        found.stdout == ".git\n"
        and env["GIT_SSH_COMMAND"] == "ssh"
        and "GIT_QUARANTINE_PATH" not in env
    )
    local = subprocess.run(
        ["git", "rev-parse", "--local-env-vars"], capture_output=True, text=True, check=True
    ).stdout.split()
    assert clean(dict.fromkeys(local, "x"), {"LANG": "C"}) == {"LANG": "C"}


def test_python_sees_the_revisions_modules_and_random_hashes() -> None:
    given = {
        "PYTHONPATH": "/elsewhere",
        "PYTHONHASHSEED": "0",
        "PYTHONHOME": "/x",
        "COV_CORE_SOURCE": "x",
        "PERFVCS_SAMPLES": "/s",
    }
    assert clean(given) == {"LC_ALL": "C.UTF-8"}
    assert clean({"PATH": "/bin"}, {"PYTHONPATH": "src", "PYTHONHASHSEED": "0"}) == {
        "PATH": "/bin",
        "LC_ALL": "C.UTF-8",
        "PYTHONPATH": "src",
        "PYTHONHASHSEED": "0",
    }
    code = "import sys; print(sys.flags.hash_randomization)"
    assert (
        subprocess.run(
            [sys.executable, "-c", code], env=clean(os.environ), capture_output=True, check=True
        ).stdout
        == b"1\n"
    )


def test_the_locale_is_fixed_unless_the_project_chooses_one() -> None:
    assert clean({"LANG": "de_DE.UTF-8", "LC_COLLATE": "cs_CZ"}) == {"LC_ALL": "C.UTF-8"}
    assert clean({"LC_ALL": "de_DE"}, {"LC_COLLATE": "cs_CZ"}) == {"LC_COLLATE": "cs_CZ"}


def test_the_c_library_is_named_where_confstr_does_not_know_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def unknown(_: str) -> str:
        raise ValueError("unrecognized configuration name")

    monkeypatch.setattr(os, "confstr", unknown)
    monkeypatch.setattr(environment.platform, "libc_ver", lambda: ("musl", "1.2"))
    assert describe(Knobs(), {}, root=tmp_path).fields["libc"] == "musl 1.2"
