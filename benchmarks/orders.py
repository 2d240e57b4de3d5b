"""Whether the models of twelve textbook algorithms, in Python and in C, have the orders that the textbooks give.

    python benchmarks/orders.py [--runs 5] [--executions 5] [--language python] [--language c]

The algorithms are those of benchmarks/orders. Every run has a seed of its own for the inputs; `perf collect` records each call of every
algorithm through the complexity collector. The model is chosen by AICc in two ways: as `perf check` and `perf show` do it, from the mean of
each size with outliers drawn in, and by the postprocessors outliers and regression, from all single calls. Right is the textbook's model; a
power or an exponential in its place is not, however close its exponent. Prints how often each algorithm was right and what else was
said of it; exits with 1 unless every run was right about at least eleven of twelve in the first way.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np

from perfvcs.postprocessors.outliers import Outliers
from perfvcs.postprocessors.regression import Regression
from perfvcs.profile import Profile
from perfvcs.repository import Repository
from perfvcs.statistics.regression.condensed import warm
from perfvcs.statistics.regression.course import course

Said = tuple[str, str, float]  # model, order, r2

HERE = Path(__file__).resolve().parent / "orders"
MODELS = {
    "insert": "constant",
    "binary_search": "logarithmic",
    "tree_lookup": "logarithmic",
    "heap_pop": "logarithmic",
    "linear_search": "linear",
    "memoised_fibonacci": "linear",
    "merge_sort": "linearithmic",
    "insertion_sort": "quadratic",
    "selection_sort": "quadratic",
    "matrix_product": "cubic",
    "floyd_warshall": "cubic",
    "naive_fibonacci": "exponential",
}
PYTHON = {
    "Table.insert": "self.count",
    "binary_search": "len(items)",
    "tree_lookup": "size",
    "heap_pop": "len(heap)",
    "linear_search": "len(items)",
    "memoised_fibonacci": "n",
    "merge_sort": "len(items)",
    "insertion_sort": "len(items)",
    "selection_sort": "len(items)",
    "matrix_product": "len(first)",
    "floyd_warshall": "len(distances)",
    "naive_fibonacci": "n",
}
C = {
    "table_insert": "table->count",
    "binary_search": "n",
    "tree_lookup": "root->count",
    "heap_pop": "heap->count",
    "linear_search": "n",
    "memoised_fibonacci": "n",
    "merge_sort": "n",
    "insertion_sort": "n",
    "selection_sort": "n",
    "matrix_product": "n",
    "floyd_warshall": "n",
    "naive_fibonacci": "n",
}
JOBS = {
    "python": ("python algorithms.py", "", [f"algorithms:{name}={size}" for name, size in PYTHON.items()]),
    "c": ("./algorithms", 'build = ["make"]', [f"{name}={size}" for name, size in C.items()]),
}
CONFIG = """\
{build}

[[job]]
name = "orders"
cmd = "{cmd}"
args = {args}
executions = {executions}
warmup = 1
collectors = [{{ name = "complexity", functions = {functions} }}]
"""


def measured(language: str, folder: Path, runs: int, executions: int) -> list[Profile]:
    """One profile per run."""
    cmd, build, functions = JOBS[language]
    shutil.copytree(HERE, folder, ignore=shutil.ignore_patterns("__pycache__", "*.o"))
    args = [str(run) for run in range(1, runs + 1)]
    config = CONFIG.format(build=build, cmd=cmd, args=args, executions=executions, functions=functions)
    (folder / "perf.toml").write_text(config)
    (folder / ".gitignore").write_text("*.o\n/algorithms\n__pycache__/\n")
    perf = str(Path(sys.executable).with_name("perf"))
    who = ["-c", "user.name=benchmark", "-c", "user.email=benchmark@example.org"]
    for command in (
        ["git", "init", "--quiet"], ["git", "add", "--all"], ["git", *who, "commit", "--quiet", "--message", "Algorithms"],
        [perf, "collect", "--quiet"],
    ):  # fmt: skip
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        if done.returncode:
            sys.exit(f"{' '.join(command)}: exit {done.returncode}\n{done.stdout}{done.stderr}")
    repository = Repository.find(folder)
    repository.refresh()
    return repository.profiles([one.header for one in repository.measured(repository.state("HEAD"))])


def by_means(profile: Profile) -> dict[str, Said]:
    """Of each algorithm the model that `perf check` takes."""
    rows = profile.resources
    unit, size, duration = np.array(rows.uid), rows.array("size"), rows.array("duration")
    execution, number = np.array(rows.execution), np.array(rows.integers("iteration"))
    found = {}
    for place, uid in enumerate(rows.names):
        here = unit == place
        here[here] = warm(number[here], execution[here])
        choice = course(size[here], duration[here], execution[here]).choice
        found[short(uid)] = (choice.model() or "none", choice.order(shape=True) or "none", float(choice.r2[0]))
    return found


def by_calls(profile: Profile) -> dict[str, Said]:
    """Of each algorithm the best model of the postprocessor regression, without what outliers marks."""
    entries = Regression().apply(Outliers().apply(profile)).models
    best = [entry for entry in entries if entry.get("best") and entry["metric"] == "duration"]
    return {short(entry["uid"]): (entry["model"], entry["order"], entry["r2"] or 0.0) for entry in best}


def short(uid: str) -> str:
    """The name that both languages share."""
    return uid.replace(":", ".").rpartition(".")[2].removeprefix("table_")


def table(name: str, found: list[dict[str, Said]]) -> list[int]:
    """Print what was said in each run; returns how many algorithms each was right about."""
    scores = [sum(said[name][0] == model for name, model in MODELS.items() if name in said) for said in found]
    print(f"\n{name}: {', '.join(map(str, scores))} of {len(MODELS)} right")
    for algorithm, model in MODELS.items():
        said = [one[algorithm] for one in found if algorithm in one]
        good = sum(chosen == model for chosen, *_ in said)
        orders = ", ".join(f"{count} {order}" for order, count in Counter(order for _, order, _ in said).most_common())
        r2 = np.median([share for *_, share in said]) if said else float("nan")
        print(f"{algorithm:20} {model:12} {good} of {len(said)}  r2 {r2:.3f}  {orders}", flush=True)
    return scores


def main() -> int:
    """Measure, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--executions", type=int, default=5)
    parser.add_argument("--language", action="append", choices=tuple(JOBS))
    options = parser.parse_args()
    enough = True
    for language in options.language or tuple(JOBS):
        with tempfile.TemporaryDirectory() as temporary:
            profiles = measured(language, Path(temporary) / language, options.runs, options.executions)
        scores = table(f"{language}, as perf check", [by_means(profile) for profile in profiles])
        table(f"{language}, outliers and regression", [by_calls(profile) for profile in profiles])
        enough &= min(scores, default=0) >= len(MODELS) - 1
    return 0 if enough else 1


if __name__ == "__main__":
    sys.exit(main())
