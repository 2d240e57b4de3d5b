"""Whether the models of twenty-four textbook algorithms, in Python and in C, have the orders that
the textbooks give.

    python benchmarks/orders.py [--runs 5] [--executions 5] [--language python] [--language c]
    [--set algorithms] [--set further] python benchmarks/orders.py --simulate

The algorithms are those of benchmarks/orders: twelve, and twelve further ones by which no rule of
the choice was made. Every run has a seed of its own for the inputs; `perf collect` records each
call of every algorithm through the complexity collector. The model is chosen by AICc in two ways:
as the picture of `perf show` does it, and by the postprocessors outliers and regression. Right is
the model of the textbook; a power or an exponential in its place is not, however close its
exponent, and a curve that is told as O(1) is a constant. Prints how often each algorithm was right
and what else was said of it; exits with 1 unless every run was right about at least eleven of
twelve in the first way. ``--simulate`` records nothing: simulated curves, of which some sizes take
much longer in every execution.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from itertools import product
from pathlib import Path

import numpy as np
from needs import need
from numpy.typing import NDArray

from perfvcs.postprocessors.outliers import Outliers
from perfvcs.postprocessors.regression import Regression
from perfvcs.profile import Profile
from perfvcs.profile.models import RegressionEntry
from perfvcs.repository import Repository
from perfvcs.statistics.regression.choice import choose
from perfvcs.statistics.regression.condensed import level, warm
from perfvcs.statistics.regression.course import course
from perfvcs.statistics.regression.fitting import fit
from perfvcs.statistics.regression.models import MODELS as FITTED
from perfvcs.statistics.regression.models import ORDERS
from perfvcs.statistics.regression.robust import described

Said = tuple[str, str, float]  # model, order, r2
Floats = NDArray[np.float64]

HERE = Path(__file__).resolve().parent / "orders"
PROGRAMS = {"python": ("python {}.py", ""), "c": ("./{}", 'build = ["make"]')}
# Of each set every algorithm with its model, and the function with its size in Python and in C.
SETS: dict[str, dict[str, tuple[str, str, str]]] = {
    "algorithms": {
        "insert": ("constant", "Table.insert=self.count", "table_insert=table->count"),
        "binary_search": ("logarithmic", "binary_search=len(items)", "binary_search=n"),
        "tree_lookup": ("logarithmic", "tree_lookup=size", "tree_lookup=root->count"),
        "heap_pop": ("logarithmic", "heap_pop=len(heap)", "heap_pop=heap->count"),
        "linear_search": ("linear", "linear_search=len(items)", "linear_search=n"),
        "memoised_fibonacci": ("linear", "memoised_fibonacci=n", "memoised_fibonacci=n"),
        "merge_sort": ("linearithmic", "merge_sort=len(items)", "merge_sort=n"),
        "insertion_sort": ("quadratic", "insertion_sort=len(items)", "insertion_sort=n"),
        "selection_sort": ("quadratic", "selection_sort=len(items)", "selection_sort=n"),
        "matrix_product": ("cubic", "matrix_product=len(first)", "matrix_product=n"),
        "floyd_warshall": ("cubic", "floyd_warshall=len(distances)", "floyd_warshall=n"),
        "naive_fibonacci": ("exponential", "naive_fibonacci=n", "naive_fibonacci=n"),
    },
    "further": {
        "queue_turn": ("constant", "queue_turn=len(queue)", "queue_turn=queue->size"),
        "lookup": ("constant", "dict_lookup=len(known)", "table_lookup=slots"),
        "fenwick_sum": ("logarithmic", "fenwick_sum=len(sums)", "fenwick_sum=n"),
        "heap_push": ("logarithmic", "heap_push=len(heap)", "heap_push=n"),
        "largest_sum": ("linear", "largest_sum=len(items)", "largest_sum=n"),
        "counting_sort": ("linear", "counting_sort=len(items)", "counting_sort=n"),
        "heap_sort": ("linearithmic", "heap_sort=len(items)", "heap_sort=n"),
        "quick_sort": ("linearithmic", "quick_sort=len(items)", "quick_sort=n"),
        "bubble_sort": ("quadratic", "bubble_sort=len(items)", "bubble_sort=n"),
        "edit_distance": ("quadratic", "edit_distance=len(first)", "edit_distance=n"),
        "transitive_closure": ("cubic", "transitive_closure=len(reach)", "transitive_closure=n"),
        "hanoi": ("exponential", "hanoi=discs", "hanoi=n"),
    },
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


def measured(language: str, name: str, folder: Path, runs: int, executions: int) -> list[Profile]:
    """One profile of a set per run."""
    cmd, build = (text.format(name) for text in PROGRAMS[language])
    functions = [
        f"{name}:{python}" if language == "python" else c for _, python, c in SETS[name].values()
    ]
    shutil.copytree(HERE, folder, ignore=shutil.ignore_patterns("__pycache__", "*.o"))
    args = [str(run) for run in range(1, runs + 1)]
    config = CONFIG.format(
        build=build, cmd=cmd, args=args, executions=executions, functions=functions
    )
    (folder / "perf.toml").write_text(config)
    (folder / ".gitignore").write_text("*.o\n/algorithms\n/further\n__pycache__/\n")
    perf = str(Path(sys.executable).with_name("perf"))
    who = ["-c", "user.name=benchmark", "-c", "user.email=benchmark@example.org"]
    for command in (
        ["git", "init", "--quiet"],
        ["git", "add", "--all"],
        ["git", *who, "commit", "--quiet", "--message", "Algorithms"],
        [perf, "collect", "--quiet"],
    ):
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        if done.returncode:
            sys.exit(f"{' '.join(command)}: exit {done.returncode}\n{done.stdout}{done.stderr}")
    repository = Repository.find(folder)
    repository.refresh()
    return repository.profiles(
        [one.header for one in repository.measured(repository.state("HEAD"))]
    )


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
        found[short(uid)] = named(choice.model(), choice.order(shape=True), float(choice.r2[0]))
    return found


def by_calls(profile: Profile) -> dict[str, Said]:
    """Of each algorithm the best model of the postprocessor regression, without what outliers
    marks.
    """
    entries = Regression().apply(Outliers().apply(profile)).models
    best = [
        entry
        for entry in entries
        if isinstance(entry, RegressionEntry) and entry.best and entry.metric == "duration"
    ]
    return {short(entry.uid): named(entry.model, entry.order, entry.r2 or 0.0) for entry in best}


def named(model: str | None, order: str | None, r2: float) -> Said:
    """What was said; a curve that rises too little for an order counts as a constant."""
    return ("constant" if order == ORDERS["constant"] else model or "none", order or "none", r2)


def short(uid: str) -> str:
    """The name that both languages share."""
    return uid.replace(":", ".").rpartition(".")[2].removeprefix("table_").removeprefix("dict_")


def table(name: str, models: dict[str, str], found: list[dict[str, Said]]) -> list[int]:
    """Print what was said in each run; returns how many algorithms each was right about."""
    scores = [
        sum(said[name][0] == model for name, model in models.items() if name in said)
        for said in found
    ]
    print(f"\n{name}: {', '.join(map(str, scores))} of {len(models)} right")
    for algorithm, model in models.items():
        said = [one[algorithm] for one in found if algorithm in one]
        good = sum(chosen == model for chosen, *_ in said)
        orders = ", ".join(
            f"{count} {order}"
            for order, count in Counter(order for _, order, _ in said).most_common()
        )
        r2 = np.median([share for *_, share in said]) if said else float("nan")
        print(f"{algorithm:20} {model:12} {good} of {len(said)}  r2 {r2:.3f}  {orders}", flush=True)
    return scores


def simulated(repetitions: int = 40) -> None:
    """How often the model of a simulated curve is found, 3 % noise, where single sizes take 3 to
    1,000 times as long in every execution.
    """
    curves: dict[str, Callable[[Floats], Floats]] = {
        "constant": lambda x: 100 + 0 * x,
        "logarithmic": lambda x: 20 + 30 * np.log(x),
        "linear": lambda x: 100 + 2 * x,
        "linearithmic": lambda x: 50 + 0.5 * x * np.log(x),
        "quadratic": lambda x: 200 + 0.02 * x**2,
        "cubic": lambda x: 300 + 1e-4 * x**3,
        "power": lambda x: 5 * x**1.5,
        "exponential": lambda x: 60 * 1.012**x,
    }
    random = np.random.default_rng(3)
    print(
        f"{'sizes':6} {'paused':16}"
        + "".join(f"{curve:>18}" for curve in curves)
        + "   (all sizes alike, without those far off)"
    )
    for count in (20, 100, 500):
        for name, share in (
            ("none", 0.0),
            ("one size", 1 / count),
            ("the largest", -1.0),
            ("6 %, anywhere", 0.06),
        ):
            row = []
            for model, curve in curves.items():
                x, group = (
                    np.tile(np.linspace(500 / count, 500, count), repetitions),
                    np.repeat(np.arange(repetitions), count),
                )
                y = (curve(x) * np.exp(0.03 * random.standard_normal(len(x)))).reshape(
                    repetitions, count
                )
                for one in y:
                    paused = (
                        [-1]
                        if share < 0
                        else random.choice(count, round(share * count), replace=False)
                    )
                    one[paused] *= random.choice([3.0, 20.0, 1000.0])
                plain = choose(
                    fit(x, y.ravel(), group, 1 / level(x, y.ravel(), group) ** 2, models=FITTED)
                )
                for found in (plain, described(x, y.ravel(), np.ones(len(x)), group)[0]):
                    said = [
                        "constant" if found.order(number) == "O(1)" else found.model(number)
                        for number in range(repetitions)
                    ]
                    row.append(said.count(model) / repetitions)
            print(
                f"{count:<6} {name:16}"
                + "".join(f"{a:10.0%} {b:7.0%}" for a, b in zip(row[::2], row[1::2], strict=True)),
                flush=True,
            )


def main() -> int:
    """Measure, and print the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--executions", type=int, default=5)
    parser.add_argument("--language", action="append", choices=tuple(PROGRAMS))
    parser.add_argument("--set", action="append", choices=tuple(SETS), dest="sets")
    parser.add_argument(
        "--simulate", action="store_true", help="no recorded calls, but pauses at single sizes"
    )
    options = parser.parse_args()
    if options.simulate:
        simulated()
        return 0
    if "c" in (options.language or PROGRAMS):
        need("cc", "make")
    enough = True
    for language, name in product(options.language or tuple(PROGRAMS), options.sets or tuple(SETS)):
        models = {algorithm: model for algorithm, (model, *_) in SETS[name].items()}
        with tempfile.TemporaryDirectory() as temporary:
            profiles = measured(
                language, name, Path(temporary) / language, options.runs, options.executions
            )
        scores = table(
            f"{language}, {name}, as perf show", models, [by_means(profile) for profile in profiles]
        )
        table(
            f"{language}, {name}, outliers and regression",
            models,
            [by_calls(profile) for profile in profiles],
        )
        enough &= min(scores, default=0) >= len(models) - 1
    return 0 if enough else 1


if __name__ == "__main__":
    sys.exit(main())
