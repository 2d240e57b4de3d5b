"""perf.toml at the top, by which perfvcs measures itself: each of its jobs runs, on small inputs."""

import os
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from perfvcs.jobs import matrix
from perfvcs.jobs.cell import Cell
from perfvcs.jobs.config import load, read
from perfvcs.profile.rules import RULES_FILE

ROOT = Path(__file__).parents[2]
SMALL = {"history": 6, "pair": 2, "files": 1, "rows": 700, "executions": 2, "calls": 5}


def small() -> dict[str, Cell]:
    """The jobs on small workloads, by name; each once, whatever its collectors."""
    table: dict[str, Any] = tomllib.loads((ROOT / RULES_FILE).read_text())
    for job in table["job"]:
        for workload in job.get("workloads", ()):
            workload["sizes"] = [SMALL[workload["name"]]]
    return {cell.name: cell for cell in matrix(read(table))}


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the jobs find their workloads, as in a checkout of a revision."""
    folder = tmp_path_factory.mktemp("checkout")
    (folder / "workloads").symlink_to(ROOT / "workloads")
    return folder


def environment(job: Mapping[str, str]) -> dict[str, str]:
    """That of a job, with this Python's own `perf` first."""
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    return {**os.environ, "PATH": path, "LC_ALL": "C.UTF-8", **job}


@pytest.mark.slow
@pytest.mark.parametrize("name", small())
def test_each_job_runs_twice(name: str, checkout: Path) -> None:
    """The second execution finds what the first left."""
    cell = small()[name]
    env = environment(cell.env)
    text = cell.workload.prepare(checkout, checkout / "generated", env) if cell.workload else ""
    for _ in range(2):
        done = subprocess.run(
            cell.argv(text), cwd=checkout, env=env, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr


def test_each_limit_is_of_a_job_and_a_metric_that_it_measures() -> None:
    cells = matrix(load(ROOT / RULES_FILE))
    measured = {
        (" ".join(cell.label.split()[:2]), metric)
        for cell in cells
        for metric in cell.collector.metrics
    }
    limits = tomllib.loads((ROOT / "workloads/limits.toml").read_text())
    limited = {(job, metric) for metric, jobs in limits.items() for job in jobs}
    assert limited <= measured
    counted = {job for job, metric in measured if metric == "instructions"}
    assert counted == set(limits["instructions"])


def test_the_repositories_are_the_same_each_time(tmp_path: Path) -> None:
    """Otherwise two revisions would not be comparable."""
    said = []
    for turn in ("one", "two"):
        folder = tmp_path / turn
        folder.mkdir()
        command = [sys.executable, str(ROOT / "workloads/repository.py"), "pair", "2"]
        env = environment(load(ROOT / RULES_FILE).env)
        done = subprocess.run(command, cwd=folder, env=env, capture_output=True, check=True)
        said.append(done.stdout)
    assert said[0] == said[1]


def test_a_figure_above_its_limit_fails(tmp_path: Path) -> None:
    (tmp_path / "perf").write_text(
        '#!/bin/sh\necho \'{"trends": [{"benchmark": "help", "metric": "instructions",'
        ' "values": [9e15, 9e15]}]}\'\n'
    )
    (tmp_path / "perf").chmod(0o755)
    env = os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    command = [sys.executable, str(ROOT / "workloads/limits.py")]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 3
    above = [line.split()[:2] for line in done.stdout.splitlines() if line.endswith("ABOVE")]
    assert above == [["help", "instructions"]]
