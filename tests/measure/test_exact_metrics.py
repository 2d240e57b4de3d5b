"""A metric that a program declares to be exact: one execution is enough, and the reason speaks of
what it counts.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from perfvcs.launcher.samples import MalformedSamples, read_samples
from perfvcs.native import native_folder

REPORT = """
try:
    import perfvcs_bench as bench
except ImportError:
    from perfvcs import bench
bench.declare("queries", "", deterministic=True)
bench.record("page", queries={queries})
"""
IN_C = """
#include "perfvcs.h"
int main(void)
{{
    perfvcs_declare_exact("tokens", "", "lower");
    perfvcs_record("parse", PERFVCS_NO_SIZE, "tokens", {tokens});
    return 0;
}}
"""


def changes(perf, *ends: str) -> dict[tuple[str, str], dict[str, object]]:
    document = perf("check", "--json", *ends, code=None).document
    return {(one["uid"], one["metric"]): one for one in document["changes"]}


def test_one_execution_settles_an_exact_metric_of_a_program(project, perf) -> None:
    project.configure(f'cmd = "{sys.executable} page.py"\nexecutions = 1')
    first = project.commit(**{"page.py": REPORT.format(queries=12)})
    second = project.commit(**{"page.py": REPORT.format(queries=13)})
    perf("collect", first, second)
    change = changes(perf, first, second)["page", "queries"]
    assert (change["word"], change["method"]) == ("degradation", "deterministic")
    assert change["reason"] == "the program counts another amount" and change["executions"] == [
        1,
        1,
    ]
    perf("check", first, second, code=3)
    third = project.commit(**{"page.py": REPORT.format(queries=13) + "# more\n"})
    perf("collect", third)
    assert changes(perf, second, third)["page", "queries"]["word"] == "same"


@pytest.mark.needs("cc")
def test_the_header_for_c_declares_it_too(project, perf) -> None:
    project.configure('cmd = "./prog"\nexecutions = 1', top='build = ["cc prog.c -o prog"]')
    project.write(".gitignore", "prog\n")
    ends = [project.commit(**{"prog.c": IN_C.format(tokens=count)}) for count in ("100.0", "100.0")]
    perf("collect", *ends)
    change = changes(perf, *ends)["parse", "tokens"]
    assert (change["word"], change["method"]) == ("same", "deterministic")
    assert "deterministic" in Path(native_folder(), "perfvcs.h").read_text()


def test_a_metric_is_exact_or_it_is_not(tmp_path: Path) -> None:
    path = tmp_path / "samples.jsonl"
    path.write_text('{"metric": "x", "deterministic": true}\n{"metric": "x"}\n')
    with pytest.raises(MalformedSamples, match="line 2: x is deterministic already"):
        read_samples(path, {}, "whole")
