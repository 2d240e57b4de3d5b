"""Small documents of every kind that users hand over: profiles, tables, results of other tools,
files of a project.
"""

from __future__ import annotations

import gzip
import json
import struct
from pathlib import Path

from perfvcs import formats
from perfvcs.formats._foreign import expanded
from perfvcs.profile import (
    Collected,
    Design,
    Environment,
    Job,
    Metric,
    Processed,
    Profile,
    Reached,
    Resources,
    Stacks,
    Turns,
)

FOREIGN = Path(__file__).resolve().parents[2] / "tests/data/formats"
ASV = Path(__file__).resolve().parents[2] / "tests/data/asv/results/lab"


def profile(number: int) -> Profile:
    """A profile with everything that one can have."""
    stacks = Stacks(["main (a.c:1)", "sort (a.c:7)"], [[0], [0, 1]])
    rows = Resources(
        names=["sort", "search"],
        uid=[0, 0, 1, 1],
        execution=[0, 1, 0, 1],
        trace=[0, -1, 1, 1],
        size=[10.0, 10.0, None, 20.0],
        iteration=[0, 0, 1, 1],
        metrics={"wall": [1.0 + number, 2.0, None, 4.5], "calls": [1.0, 2.0, 3.0, 4.0]},
    )
    return Profile(
        commit=f"{number + 1:040x}",
        dirty=None,
        job=Job(
            "sort",
            "time",
            "./sort",
            "-n",
            "data",
            {"n": 3},
            {"repeat": 2},
            "launcher/1",
            {"lang": "c"},
        ),
        collected=Collected(
            "20261120T093000-4f2a91",
            "2026-11-20T09:30:00Z",
            "2026-11-20T09:30:02Z",
            "perfvcs 0.1.0",
        ),
        metrics={"wall": Metric("s"), "calls": Metric("", "none", "deterministic")},
        resources=rows,
        stacks=stacks,
        environment=Environment({"cpu": "x"}, "0123456789ab", {"note": "y"}, ["warm"]),
        design=Design(1, 2, 0, "interleaved", 5, number, ["a", "b"]),
        reached=Reached(["a.py:f"], {"sort": [0], "": []}),
        turns=Turns([0, 1], [number % 2, 1 - number % 2], [7, 8]),
        models=[{"uid": "sort", "model": "linear", "coeffs": [{"name": "b0", "value": 1.5}]}],  # type: ignore[list-item]
        postprocessors=[Processed("regression", {"method": "full"})],
        origin="b" * 64,
    )


def plain(number: int) -> Profile:
    """A profile of one benchmark."""
    rows = Resources(
        names=["sort"],
        uid=[0] * 5,
        execution=list(range(5)),
        metrics={"wall": [0.01 + number + k / 1e3 for k in range(5)]},
    )
    return Profile(
        commit=f"{number + 1:040x}",
        job=Job("sort", "time", "./sort"),
        metrics={"wall": Metric("s")},
        resources=rows,
        collected=Collected("s", "2026-11-20T09:30:00Z", "2026-11-20T09:30:02Z", "perfvcs 0.1.0"),
        design=Design(executions=5),
    )


def profiles() -> list[bytes]:
    """Our own documents."""
    return [profile(0).encode(), plain(1).encode()]


def tables() -> list[bytes]:
    """Wide and long tables."""
    long = b"benchmark,metric,value,unit,better,run\nsort,wall,1.5,ms,lower,0\nsort,wall,1.6,ms,lower,1\nsort,ops,7,1/s,higher,0\n"
    return [
        gzip.compress(long),
        formats.encode(profile(0), "csv"),
        b'name;size;run;ms (ms);ops [1/s higher]\n"a;b";10;0;1.5;700\nc;20;1;1e3;\n',
        long,
        b"uid\twall [s]\n'=x\t1\n'-y\t2\n",
    ]


def asv() -> list[bytes]:
    """Results of asv: what it wrote, and one of the older version."""
    old = (
        b'{"commit_hash": "'
        + b"1" * 40
        + b'", "results": {"time_a": 1.5, "mem_b": {"result": [1, null], "params": [["1", "2"]]}},'
        b' "version": 1}'
    )
    return [*(path.read_bytes() for path in sorted(ASV.glob("*existing*"))), old]


def foreign() -> dict[str, list[bytes]]:
    """The files of other benchmark tools, by the format that they have."""
    found: dict[str, list[bytes]] = {}
    for path in sorted(
        path for path in FOREIGN.iterdir() if path.name != "README.md" and path.is_file()
    ):
        document = expanded(path.read_bytes(), 1 << 20)
        found.setdefault(formats.recognised(path.name, document), []).append(document)
    return found


def perun() -> list[bytes]:
    """All layouts of that tool."""
    header = {
        "type": "mixed",
        "cmd": "./sort",
        "params": "-n",
        "workload": "w",
        "units": {"mixed(time delta)": "us"},
    }
    row = {
        "amount": 5,
        "uid": {"function": "f", "source": "a.c", "line": 3},
        "subtype": "time delta",
        "type": "mixed",
        "exclusive": 3,
        "structure-unit-size": 4,
        "order": 1,
        "trace": [
            {"function": "f", "source": "a.c", "line": 3},
            {"function": "main", "source": "a.c"},
        ],
    }
    shared = {
        "origin": "a" * 40,
        "header": header,
        "collector_info": {"name": "trace", "params": {"sampling": 1}},
        "machine": {"host": "h"},
    }
    steps = {"postprocessors": [{"name": "regression_analysis", "params": {"method": "full"}}]}
    return [
        formats.encode(profile(0), "perun"),
        json.dumps(
            shared
            | steps
            | {
                "global": {
                    "time": "1.0",
                    "resources": [row, row | {"order": 2}],
                    "models": [{"uid": "f", "x_start": 1}],
                }
            }
        ).encode(),
        json.dumps(
            shared
            | {
                "resources": {"f#0": {"amount": [1, 2], "order": [0, 1]}},
                "resource_type_map": {"f#0": {"uid": "f", "type": "time"}},
            }
        ).encode(),
        json.dumps(
            shared
            | {
                "snapshots": [
                    {"time": "0.1", "resources": [row]},
                    {"time": "0.2s", "resources": [{"amount": 1, "uid": "g"}]},
                ]
            }
        ).encode(),
        b"profile mixed 5\0" + json.dumps(shared | {"resources": [row]}).encode(),
    ]


def gzipped() -> list[bytes]:
    """Compressed documents; one of two members, and one that is far larger inside."""
    whole = profiles()[0]
    return [
        *map(gzip.compress, [*profiles(), *perun()]),
        gzip.compress(whole[:300]) + gzip.compress(whole[300:]),
        gzip.compress(whole + b" " * (1 << 22)),
    ]


def object_indexes() -> list[bytes]:
    """Indexes of Perun's store, of both versions."""
    entry = struct.pack("<I", 1_700_000_000) + bytes(range(20)) + b"sort.perf\0"
    texts = b"".join(
        struct.pack("<I", len(text)) + text
        for text in (b"time", b"mixed", b"./sort", b"", b"w", b"-")
    )
    return [
        b"pidx" + struct.pack("<ii", 1, 2) + entry * 2,
        b"pidx" + struct.pack("<ii", 2, 1) + entry + texts,
        b"pidx" + struct.pack("<ii", 2, 2) + (entry + texts[:-5]) * 2,
    ]


def configurations() -> list[bytes]:
    """perf.toml as `perf init` writes it, and one with most keys."""
    from perfvcs.jobs.starter import Proposal

    full = """
build = ["make -j2"]
overlay = ["bench/"]
build_timeout = "5min"
[python]
versions = ["3.11"]
install = ["."]
[knobs]
[[check]]
job = "sort*"
metric = "wall"
method = "log-median"
delta = "2%"
[[job]]
name = "sort"
cmd = "./sort"
args = ["", "--reverse"]
workloads = ["a", { integers = [1000, 10000] }, { files = ["1kB", "1MB"] }]
collectors = ["time", { name = "complexity", functions = ["f=n"], keep = 20 }]
postprocessors = ["regression", { name = "moving_average", window = 3 }]
executions = { find = "2%", least = 5, most = 50 }
warmup = 1
timeout = "60s"
[[job]]
cmd = "true"
binaries = 3
"""
    return [
        full.encode(),
        Proposal("found", "./x", "x", ("make",), "bench/", (".",)).toml().encode(),
    ]


def registers() -> list[bytes]:
    """perf-accepted.toml in both forms."""
    from perfvcs.check.acceptance import Acceptance
    from perfvcs.check.register import TOP, _headed, table

    one = Acceptance(
        id="3f9c2a1",
        benchmark="sort",
        uid="main",
        size=3.0,
        metric="wall",
        effect=0.1,
        shift=None,
        unit="s",
        baseline="a" * 40,
        target="b" * 40,
        reason="safer \u00e9",
        series="0123456789ab",
        who="me",
    )
    return [
        (
            TOP + table(one) + "3f9c2a1.until = 2027-01-31\n3f9c2a1.when = 2026-01-31T10:00:00Z\n"
        ).encode(),
        (TOP + _headed(one)).encode(),
    ]
