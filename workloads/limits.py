"""Compares the newest figures of HEAD with limits.toml: ``python workloads/limits.py``.

Exits with 3 if one is above its limit. What was not measured is named, and is no failure, so that a
part of the jobs can be measured.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from pathlib import Path

LIMITS = Path(__file__).with_name("limits.toml")
ABOVE = 3  # exit status, as that of a degradation
SHOWN = {"instructions": (1e-6, "M"), "cpu": (1e3, "ms")}

Figures = dict[tuple[str, str], float]  # by job and metric


def limits() -> Figures:
    """What each job may cost."""
    tables = tomllib.loads(LIMITS.read_text())
    return {(job, metric): most for metric, jobs in tables.items() for job, most in jobs.items()}


def measured() -> Figures:
    """The newest figures of HEAD, each the centre of its executions."""
    command = ["perf", "log", "--json", "-n1", "HEAD"]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    figures: Figures = {}
    for trend in json.loads(done.stdout)["trends"]:
        job = " ".join(trend["benchmark"].split("[")[0].split()[:2])  # name and workload
        figures[job, trend["metric"]] = trend["values"][-1]
    return figures


def verdict(figure: float | None, most: float) -> str:
    """In one word, or two."""
    if figure is None:
        return "not measured"
    return "within" if figure <= most else "ABOVE"


def main() -> None:
    """A line for each limit."""
    figures, words = measured(), []
    for (job, metric), most in limits().items():
        scale, unit = SHOWN[metric]
        figure = figures.get((job, metric))
        words.append(verdict(figure, most))
        shown = "" if figure is None else f"{scale * figure:,.1f} {unit}"
        print(f"{job:26} {metric:12} {shown:>14} of {scale * most:,.0f} {unit}  {words[-1]}")
    if "ABOVE" in words:
        sys.exit(ABOVE)


if __name__ == "__main__":
    main()
