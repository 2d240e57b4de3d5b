"""A suite of asv is proposed by `perf init` and measured from its own files, without asv."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import Perf, Project

from perfvcs.jobs.proposals import proposals
from perfvcs.native import python_folder

CONFIGURATION = """{
    // The version of this file.
    "version": 1,
    "repo": "https://example.org/demo",
    "benchmark_dir": "speed",  /* beside this file */
    "matrix": {"req": {"six": [], "toolz": ["0.11", "0.12"], "odd name": [], "--pre": [""]}, },
}"""
SUITE = """
import random
from .common import Base, rows

seen = []

def setup(*_):
    seen.append("module")

class Sort(Base):
    params = ([10, 100, 1000], ["up", "down"])
    param_names = ["rows", "order"]

    def setup(self, rows, order):
        assert seen[-1] == "module"
        if order == "down" and rows == 1000:
            raise NotImplementedError
        self.rows = list(range(rows))

    def time_sort(self, rows, order):
        sorted(self.rows)

    def teardown(self, rows, order):
        del self.rows

class Cached:
    number = 3

    def setup_cache(self):
        return [1, 2, 3]

    def time_sum(self, cached):
        assert sum(cached) == 6

    def track_length(self, cached):
        return len(cached)
    track_length.unit = "rows"

    def peakmem_copy(self, cached):
        assert list(cached * 1000)

def time_fails():
    raise ValueError("a reason")

def track_nothing():
    return float("nan")

class Many:
    params = list(range(1, 1001))

    def time_each(self, count):
        pass
"""


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    folder = tmp_path / "bench" / "speed"
    folder.mkdir(parents=True)
    (folder.parent / "asv.conf.json").write_text(CONFIGURATION)
    (folder / "__init__.py").write_text("")
    (folder / "common.py").write_text(
        "rows = 10\n\nclass Base:\n    def time_inherited(self, *_):\n        pass\n"
    )
    (folder / "sorting.py").write_text(SUITE)
    (folder / "broken.py").write_text("import missing_module\n")
    return folder


def run(
    folder: Path, *names: str
) -> tuple[subprocess.CompletedProcess[str], dict[tuple[str, float | None], dict[str, float]]]:
    """The process, and the last sample of each benchmark and size."""
    samples = folder.parent / "samples"
    env = os.environ | {"PYTHONPATH": str(python_folder()), "PERFVCS_SAMPLES": str(samples)}
    done = subprocess.run(
        [sys.executable, "-m", "perfvcs_asv", str(folder), *names],
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    lines = (
        [json.loads(line) for line in samples.read_text().split("\n")[:-1]]
        if samples.exists()
        else []
    )
    return done, {(line["uid"], line.get("size")): line for line in lines if "uid" in line}


@pytest.mark.slow
def test_setups_parameters_and_caches_are_those_of_asv(suite: Path) -> None:
    done, found = run(suite)
    assert done.returncode == 0, done.stderr
    up, down = "sorting.Sort.time_sort (order='up')", "sorting.Sort.time_sort (order='down')"
    assert {size for uid, size in found if uid == up} == {10, 100, 1000}
    # NotImplementedError leaves one out
    assert {size for uid, size in found if uid == down} == {10, 100}
    assert set(found["sorting.Cached.time_sum", None]) == {"uid", "wall", "cpu"}
    assert found["sorting.Cached.track_length", None]["value_rows"] == 3
    assert found["sorting.Cached.peakmem_copy", None]["maxrss"] > 1_000_000
    assert ("common.Base.time_inherited", None) in found
    assert ("sorting.track_nothing", None) not in found


@pytest.mark.slow
def test_benchmarks_that_fail_are_named_and_the_others_measured(suite: Path) -> None:
    done, found = run(suite)
    assert "sorting.time_fails: not measured: ValueError: a reason\n" in done.stderr
    assert (
        "speed.broken: not measured: ModuleNotFoundError: No module named 'missing_module'\n"
        in done.stderr
    )
    assert ("sorting.Cached.time_sum", None) in found


def test_of_many_parameters_some_are_measured_from_the_first_to_the_last(suite: Path) -> None:
    _, found = run(suite, "Many.time_each")
    sizes = sorted(size for _, size in found if size is not None)
    assert {uid for uid, _ in found} == {"sorting.Many.time_each"}
    assert (len(sizes), sizes[0], sizes[-1]) == (10, 1, 1000)


@pytest.mark.parametrize("words", [["nothing has this name"], []])
def test_a_suite_without_benchmarks_is_an_error(suite: Path, words: list[str]) -> None:
    if not words:
        (suite / "sorting.py").write_text("")
        (suite / "common.py").write_text("")
    done, found = run(suite, *words)
    assert done.returncode == 1
    assert done.stderr.endswith("no benchmark could be measured\n")
    assert not found


def test_a_suite_is_proposed_with_what_it_requires_and_its_modules_one_by_one(suite: Path) -> None:
    root = suite.parent.parent
    first, second, third = proposals(root)[:3]
    assert first.cmd == second.cmd == "python -m perfvcs_asv bench/speed"
    assert (first.requires, second.requires) == (("six", "toolz==0.12"), ())
    assert (first.overlay, first.python) == ("bench/speed/", (".",))
    assert third.cmd == "python -m perfvcs_asv bench/speed common"
    # its files are no programs
    assert not [one for one in proposals(root) if one.cmd.startswith("python bench")]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        '{"benchmark_dir": "../.."}',
        '{"benchmark_dir": "/"}',
        '{"matrix": 3}',
        "[" * 10_000,
        "\0" * 100,
    ],
)
def test_any_configuration_of_asv_is_read(tmp_path: Path, text: str) -> None:
    (tmp_path / "asv.conf.json").write_text(text)
    assert all("perfvcs_asv" not in one.cmd for one in proposals(tmp_path))


def test_old_configurations_list_requirements_without_req(suite: Path) -> None:
    (suite.parent / "asv.conf.json").write_text(
        '{"benchmark_dir": "speed", "matrix": {"numpy": ["1.26", ""], "pip+six": null}}'
    )
    assert proposals(suite.parent.parent)[0].requires == ("numpy", "six")


def test_perf_collects_a_suite_from_its_files(suite: Path, project: Project, perf: Perf) -> None:
    project.write("bench/speed/sorting.py", (suite / "sorting.py").read_text())
    project.write("bench/speed/common.py", (suite / "common.py").read_text())
    job = 'cmd = "python -m perfvcs_asv bench/speed Sort"\nexecutions = 1\nwarmup = 0\n'
    project.commit(**{"perf.toml": f'overlay = ["bench/speed/"]\n[[job]]\nname = "asv"\n{job}'})
    said = perf("collect")
    assert "sorting.Sort.time_sort (order='up')" in perf("show", "--text").out
    assert "stored 1 profile" in said.out


def test_perf_collect_shows_which_benchmarks_of_a_suite_fail(project: Project, perf: Perf) -> None:
    project.write(
        "bench/speed/sorting.py",
        "def time_fails():\n    raise ValueError('a reason')\n\ndef time_works():\n    pass\n",
    )
    job = 'cmd = "python -m perfvcs_asv bench/speed"\nexecutions = 2\nwarmup = 0\n'
    project.commit(**{"perf.toml": f'overlay = ["bench/speed/"]\n[[job]]\nname = "asv"\n{job}'})
    said = perf("collect")
    assert (said.out + said.err).count(
        "sorting.time_fails: not measured: ValueError: a reason"
    ) == 1
    assert "stored 1 profile" in said.out
