"""A project whose one function is judged, and its variants."""

from __future__ import annotations

from conftest import Project

WORK = """\
def total(count):
    value = 0
    for number in range(count):
        value += number % 7
    return value
"""
BENCH = "import work\n\nprint(work.total(1_200_000))\n"
SETTINGS = '[[job]]\nname = "total"\ncmd = "python3 -S bench_total.py"\n'
HALF = WORK.replace("range(count)", "range(count // 2)")
HARMLESS = WORK.replace("value = 0", "value = 0  # of all numbers")


def work(project: Project) -> Project:
    """The project with the function."""
    project.commit("Work", **{"work.py": WORK, "bench_total.py": BENCH, "perf.toml": SETTINGS})
    return project
