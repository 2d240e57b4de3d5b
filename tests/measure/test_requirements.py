"""What a job requires of the host that measures it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from cases import each
from conftest import Project, Said

from perfvcs.environment.host import Facts, facts
from perfvcs.jobs.config import BadConfig
from perfvcs.jobs.requirement import is_met, unmet

HOST = Facts(
    "lab",
    8,
    32_000_000_000,
    "AMD EPYC 7313P",
    "x86_64",
    "6.1.0-40-amd64",
    "Linux",
    frozenset({"avx2", "avx512f", "sse4_2"}),
    0.5,
)


@each(
    "text met",
    [
        ("", True),
        ("avx2", True),
        ("avx512", True),
        ("avx10", False),
        ("avx", False),
        ("avx512 and memory > 16GB", True),
        ("memory > 32GiB", False),
        ("memory >= 31.5 GB and cores >= 8", True),
        ("not sse4_2 or cores < 4", False),
        ("host in ('lab', 'shed')", True),
        ("'EPYC' in cpu and machine == 'x86_64' and system == 'Linux'", True),
        ("kernel > '6'", True),
        ("  avx2  ", True),
    ],
)
def test_a_host_meets_an_expression_or_not(text: str, met: bool) -> None:
    assert is_met(text, HOST, "job `sort`") is met


@each(
    "text",
    [
        "memory >",
        "avx2 and",
        "memory > 'much'",
        "open('/etc/passwd')",
        "cpu.__class__",
        "cpu.upper()",
        "9**9**9**9",
        "[x for x in cpu]",
        "lambda: 1",
        "import os",
        "x := 1",
        "'a' * 10**10",
        "1/0",
        "(" * 500 + "1" + ")" * 500,
        "avx2; avx2",
        "a" * 1001,
        "\0",
        "cores = 8",
    ],
)
def test_what_cannot_be_evaluated_is_an_error_of_one_line(text: str) -> None:
    with pytest.raises(BadConfig) as raised:
        is_met(text, HOST, "job `sort`")
    assert str(raised.value).startswith("job `sort`: ") and "\n" not in str(raised.value)


def test_why_a_host_does_not_meet_it() -> None:
    assert (
        unmet("avx10 and memory > 64GB and host == 'shed'", HOST)
        == "avx10 is missing, memory is 32.0GB, host is lab"
    )
    assert unmet("False", HOST) == "it names nothing of a host"


def test_a_job_that_this_host_does_not_suit_is_left_out(
    project: Project, perf: Callable[..., Said]
) -> None:
    suited = '[[job]]\nname = "small"\ncmd = "true"\nexecutions = 1\n'
    project.write(
        "perf.toml", suited + '[[job]]\nname = "large"\ncmd = "true"\nhosts = "memory > 900000GB"\n'
    )
    project.commit("one")
    out = perf("collect").out
    assert "large is not measured: no host meets hosts" in " ".join(out.split())
    assert "stored 1 profile" in out
    assert "large is not measured" in perf("collect", "-j", "large", code=2).err
    project.write("perf.toml", suited + 'hosts = "memory >"\n')
    assert "cannot be evaluated" in perf("collect", code=2).err


def test_the_facts_of_this_host_and_of_others(tmp_path: Path) -> None:
    here = facts()
    assert here.cores > 0 and here.memory > 0 and here.flags
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/cpuinfo").write_text("processor : 0\nFeatures\t: fp asimd sve\n")
    (tmp_path / "proc/meminfo").write_text("MemTotal:       2048 kB\n")
    arm = facts(tmp_path)
    assert arm.flags == {"fp", "asimd", "sve"} and arm.memory == 2048 * 1024 and arm.cpu == ""
    assert facts(tmp_path / "nothing").memory == 0
