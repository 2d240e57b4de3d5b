"""The same searches by others: `git bisect run` with a threshold, and `asv find`."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from pathlib import Path
from statistics import median

from .planting import COMMITS, git
from .projects import Planted
from .quiet import cpu, prepare

EXECUTIONS = 5  # of git bisect run


def naive(project: Planted, folder: Path, commits: list[str]) -> tuple[int, int, float]:
    """`git bisect run` with a threshold: the commit that it names, its builds, and its minutes."""
    begin, builds = time.monotonic(), 0

    def level(number: int) -> float:
        nonlocal builds
        builds += 1
        git(folder, "checkout", "--quiet", "--force", commits[number])
        prepare(project, folder)
        return median(cpu(project, folder) for _ in range(EXECUTIONS))

    good, bad = level(0), level(COMMITS - 1)
    low, high = 0, COMMITS - 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (
            (low, middle) if (level(middle) > (good + bad) / 2) == (bad > good) else (middle, high)
        )
    git(folder, "checkout", "--quiet", "--force", "main")
    return high, builds, (time.monotonic() - begin) / 60


ASV_INSTALL = """
import sys, sysconfig
with open(sysconfig.get_path("purelib") + "/task.pth", "w") as file:
    file.write(f"{sys.argv[1]}/src\\n{sys.argv[1]}\\n")
"""
ASV_TASK = """
import time
imports = compile({imports!r}, "imports", "exec")
work = compile({work!r}, "work", "exec")
space = {{}}


class Task:
    timer = time.process_time

    def setup(self):
        exec(imports, space)

    def time_task(self):
        exec(work, space)
"""


def asv_find(
    asv: str, project: Planted, folder: Path, commits: list[str]
) -> tuple[int, int, float]:
    """`asv find`: the commit that it names (-1: none), its builds, and its minutes."""
    place = folder.with_name(f"{folder.name}-asv").resolve()
    (place / "benchmarks").mkdir(parents=True, exist_ok=True)
    (place / "benchmarks" / "__init__.py").write_text("")
    lines = project.work.strip().split("\n")
    imports = [line for line in lines if re.match(r"(from|import)\b", line)]
    work = [line for line in lines if line not in imports]
    task = ASV_TASK.format(imports="\n".join(imports), work="\n".join(work))
    (place / "benchmarks" / "task.py").write_text(task)
    (place / "install.py").write_text(ASV_INSTALL)
    about = {
        "version": 1,
        "project": project.name,
        "repo": str(folder),
        "branches": ["main"],
        "environment_type": "virtualenv",
        "pythons": [f"{sys.version_info[0]}.{sys.version_info[1]}"],
        "build_command": [],
        "uninstall_command": [],
        "install_command": [f"python {place}/install.py {{build_dir}}"],
    }
    (place / "asv.conf.json").write_text(json.dumps(about))
    subprocess.run([asv, "machine", "--yes"], cwd=place, check=True, capture_output=True)
    begin = time.monotonic()
    words = [asv, "find", "--verbose", f"{commits[0]}..{commits[-1]}", "Task.time_task"]
    said = subprocess.run(words, cwd=place, capture_output=True, text=True, check=False)
    (place / "log").write_text(said.stdout + said.stderr)
    found = re.search(r"Greatest regression found: ([0-9a-f]+)", said.stdout)
    number = next(
        (number for number, one in enumerate(commits) if found and one.startswith(found[1])), -1
    )
    return (
        number,
        len(re.findall(r"Installing [0-9a-f]+", said.stdout)),
        (time.monotonic() - begin) / 60,
    )
