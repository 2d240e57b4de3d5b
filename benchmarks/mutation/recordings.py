"""Small files of every kind that is recorded about a measured program, made by our own code where
it writes them.
"""

from __future__ import annotations

import json
import shutil
import struct
import subprocess
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

PROGRAM = """
struct s { int n; };
int f(struct s *p) { return p->n; }
int main(void) { struct s a = {0}; return f(&a); }
"""
SHIM_SITE, SHIM_SITES = 344, 688  # bytes of one site, and of those of the seed


def samples() -> list[bytes]:
    """What programs report of themselves."""
    lines = (
        {"metric": "rate", "unit": "1/s", "better": "higher"},
        {"uid": "sort", "size": 10, "wall": 0.5, "rate": 3},
        {"uid": "sort", "size": None, "wall": 0.6},
        {"uid": "s\u00e9arch", "rate": 1e-9, "calls": 3},
    )
    return ["".join(json.dumps(line) + "\n" for line in lines).encode()]


def callgrind() -> list[bytes]:
    """callgrind with circles and two images, and cachegrind."""
    head = (
        b"# callgrind format\nversion: 1\ncreator: by hand\ncmd: ./x\npart: 1\n\ndesc: Trigger:"
        b" x\npositions: line\nevents: Ir\n"
    )
    body = (
        b"ob=(1) /bin/x\nfl=(1) x.c\nfn=(1) main\n3 10\ncfn=(2) f\ncalls=3 7\n4 60\nfn=(2)\n7"
        b" 20\ncob=(2) /lib/y.so\ncfn=(3) g\ncalls=4 1\n+1 40\nob=(2)\nfn=(3)\n1 30\ncfn=(4)"
        b" f'2\ncalls=1 7\n* 10\nfn=(4)\n-2 10\njump=1 3\n3\ncfn=(3)\ncalls=2 1\n3 4\ntotals: 70\n"
    )
    return [
        head + body,
        (
            b"desc: I1 cache\ncmd: ./x\nevents: Ir I1mr\nfl=a.c\nfn=main\n3 10 0\n4 5 0\nfn=f\n9 1"
            b" 1\nsummary: 16 1\n"
        ),
    ]


def tracemalloc() -> list[bytes]:
    """What our recorder writes without memray."""
    return [
        json.dumps(
            {"peak": 1000, "leaked": 10, "sites": [["/a/b.py", 3, 8.0, 1], ["<string>", 1, 2, 2]]}
        ).encode()
    ]


def memray() -> list[bytes]:
    """What our reader of memray's files prints."""
    one = {
        "peak": 100,
        "leaked": 8,
        "bytes": 500,
        "count": 5,
        "lines": [["f", "/a.py", 3, 400, 4]],
        "moments": [[0.1, 10.0], [0.2, 100.0]],
        "at_peak": [[100, 6, [["f", "/a.py", 3], ["<module>", "/a.py", 9]]]],
        "at_end": [[8, 14, []]],
    }
    return [
        json.dumps(one).encode()
        + b"\n"
        + json.dumps({"error": "OSError: cut off"}).encode()
        + b"\n"
    ]


def shim() -> list[bytes]:
    """The file of the preloaded counter without its empty space: header, two sites, pool,
    modules.
    """
    import numpy as np

    from perfvcs.collectors.memory.census import BINS, HEAD_FIELDS, HEADER, MAGIC, SITE

    head = np.zeros(1, HEAD_FIELDS)
    for name, value in {
        "magic": MAGIC,
        "version": 1,
        "pid": 7,
        "count": 3,
        "bytes": 300,
        "live": 100,
        "peak": 200,
        "epochs": 1,
        "width": 1,
        "sites": 2,
        "pool": 3,
    }.items():
        head[name] = value
    head["began"] = np.arange(BINS)
    sites = np.zeros(2, SITE)
    for name, values in {
        "stack": (0, 2),
        "depth": (2, 1),
        "kind": (1, 2),
        "scan": (1, 1),
        "count": (2, 1),
        "bytes": (200, 100),
        "live": (0, 100),
        "peak": (100, 100),
        "epoch": (1, 0),
    }.items():
        sites[name] = values
    assert (sites.itemsize, sites.nbytes) == (SHIM_SITE, SHIM_SITES)
    pool = np.array([0x401000, 0x401100, 0x700010], "<u8").tobytes()
    modules = b"1 400000 400000 402000 /nowhere/program\x001 0 700000 701000 /nowhere/libc.so.6\x00"
    return [head.tobytes().ljust(HEADER, b"\0") + sites.tobytes() + pool + b"|map|" + modules]


def pyspy() -> list[bytes]:
    """speedscope's format."""
    frames = [
        {"name": 'process 7:"python a.py"'},
        {"name": "main", "file": "/a.py"},
        {"name": "f", "file": "/usr/lib/python3/b.py", "line": 3},
    ]
    threads = [
        {"type": "sampled", "samples": [[0, 1, 2], [0, 1], [0, 1, 2], []], "weights": [1, 1, 1, 1]}
    ]
    return [
        json.dumps(
            {
                "shared": {"frames": frames},
                "profiles": threads,
                "exporter": "Samples: 100 Errors: 9",
            }
        ).encode()
    ]


def perf_script() -> list[bytes]:
    """Frames as `perf script` prints them."""
    return [
        b"\t    7f12 std::vector<int, std::allocator<int> >::push_back(int&&) (/home/me/x)\n\t "
        b" 40112 main (/home/me/x)\n\t 7f13 __libc_start_main@@GLIBC_2.34"
        b" (/lib/x86_64-linux-gnu/libc.so.6)\n\n  PERF_RECORD_LOST lost 7\n\tffffffff81"
        b" do_syscall_64 ([kernel.kallsyms])\n\t401 [unknown] ([unknown])\n\n"
    ]


def calls() -> list[bytes]:
    """Records of recorded calls, with buckets."""
    import numpy as np

    from perfvcs.collectors.complexity.calls import BUCKET, FIELDS, UNFINISHED

    rows = np.array(
        [
            (0, 1, 5, 10.0, 1000.0, 5.0, 1.0),
            (1, 1, 6, float("nan"), 2000.0, 5.0, 3.0),
            (BUCKET | 1, 0, 100, 0, 0, 0, 1.0),
            (1, 1, 7, 20.0, 900.0, 1.0, 1.0),
            (UNFINISHED, 1, 2, 0, 0, 0, 1.0),
            (0, 0, 0, 0, 0, 0, 0),
        ],
        FIELDS,
    )
    return [b"PVCSCALL" + struct.pack("<II", 1, 2) + rows.tobytes()]


def fentry() -> list[bytes]:
    """Blocks of the compiled recorder."""
    from perfvcs.collectors.complexity.native import records

    def block(kind: int, body: bytes) -> bytes:
        return (
            records.BLOCK_HEAD.pack(records.BLOCK_MAGIC, kind, records.BLOCK_HEAD.size + len(body))
            + body
        )

    rows = [
        (0 | 1 << 62, 5, 4000, 20),
        (1 | 2 << 62, 2**64 - 1, 2, 0),
        (2, 0, 0, 0),
        (3 | 3 << 62, 0x3FF8 << 48, 7, 0),
    ]
    chunk = records.PART.pack(0, 1, 9, 0, 40, 0) + b"".join(
        struct.pack("<QQQQ", *row) for row in rows
    )
    about = records.ABOUT.pack(records.MAGIC, records.VERSION, 1, 0, 0, 2000, 1000, 0, 0, 0, 0, 0)
    return [
        block(1, about)
        + block(2, records.COUNTERS.pack(1, 0, 1, 2, 3, 4))
        + block(3, chunk)
        + bytes(64)
    ]


def notes() -> list[bytes]:
    """What measured interpreters tell."""
    lines = [
        ("started", "/usr/bin/python3", "3.11"),
        ("engine", "monitoring"),
        ("module", "__main__", "/a.py"),
        ("defined", "0", "7"),
        ("guess", "0", "len(x)", "1"),
        ("timed", "/a.py", "3", "m", "10", "12345"),
        ("error", "1", "TypeError"),
        ("slow", "why"),
    ]
    return ["".join("\x1f".join(line) + "\x1e" for line in lines).encode()]


def pytest() -> list[bytes]:
    """What the plugin in pytest tells."""
    lines: list[dict[str, Any]] = [
        {"kind": "started", "version": "8.0", "python": "3.11"},
        {"kind": "collected", "count": 2},
        {"kind": "begin", "id": "t.py::a"},
        {
            "kind": "test",
            "id": "t.py::a",
            "outcome": "passed",
            "runs": [[10, 9, 100], [8, 7, None]],
        },
        {"kind": "engine", "name": "x"},
        {"kind": "function", "file": "t.py", "name": "A.f.<locals>.<lambda>", "line": 3},
        {"kind": "function", "file": "module.py", "name": "", "line": 1},
        {"kind": "reached", "id": "t.py::a", "functions": [0, 1], "processes": True},
        {"kind": "problem", "id": "t.py", "why": "no"},
        {
            "kind": "test",
            "id": "t.py::b",
            "outcome": "failed",
            "why": "x",
            "once": "flaky",
            "rounds": [[5, -1, None]],
        },
        {"kind": "note", "what": "xdist"},
        {"kind": "finished", "status": 0},
    ]
    return ["".join(json.dumps(line) + "\n" for line in lines).encode()]


def launcher() -> list[bytes]:
    """The report of the compiled launcher."""
    names = (
        "wall",
        "cpu",
        "maxrss",
        "minflt",
        "majflt",
        "nvcsw",
        "nivcsw",
        "inblock",
        "oublock",
        "timed_out",
        "leftover",
        "status",
    )
    return [
        b"perfvcs-launcher 1\npid 12\nend 1\n" + "".join(f"{name} 0\n" for name in names).encode()
    ]


@cache
def programs() -> list[bytes]:
    """A small program with debug information; an ELF header alone where there is no compiler."""
    header = (
        b"\x7fELF\x02\x01\x01"
        + bytes(9)
        + struct.pack("<HHIQQQIHHHHHH", 3, 62, 1, 0, 64, 0, 0, 64, 56, 0, 64, 0, 0)
    )
    compiler = shutil.which("cc")
    if compiler is None:
        return [header]
    with tempfile.TemporaryDirectory() as name:
        source, program = Path(name, "a.c"), Path(name, "a")
        source.write_text(PROGRAM)
        subprocess.run(
            [
                compiler,
                "-g",
                "-O1",
                "-fno-inline",
                "-nostartfiles",
                "-nostdlib",
                "-Wl,-e,main",
                source,
                "-o",
                program,
            ],
            check=True,
        )
        return [program.read_bytes()]


def frames() -> list[bytes]:
    """Names of functions and their files, as tools print them."""
    return [
        (
            b"std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char>"
            b" >::size() const\n/usr/lib/libstdc++.so.6.0.30"
        ),
        b"operator new(unsigned long)\n/home/me/x",
        b"<core::iter::Map<I,F> as Iterator>::next::h0123456789abcdef.llvm.7\n[kernel.kallsyms]",
        b"Heap.push.<locals>.<lambda>\n/usr/lib/python3.11/site-packages/a/b.py",
        b"wall time [1/s higher deterministic]\nlib/python3/x",
        (
            b"f(std::map<int, std::vector<a<b<c> > >, std::less<int>, std::allocator<std::pair<int"
            b" const, int> > >) [clone .cold.7]\n/a.so.1.2"
        ),
    ]


def sources() -> list[bytes]:
    """Modules of Python."""
    return [
        (
            b"import os\n\n\n@cache\ndef f(x: int = 3) -> int:\n    def g(): yield lambda: x\n   "
            b" return g\n"
        ),
        b"class A:\n    def f(self): return [x for x in ()]\n",
    ]
