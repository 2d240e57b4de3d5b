"""Twenty-four textbook algorithms, in Python and in C.

The algorithms are those of benchmarks/orders: twelve, and twelve further ones by which no rule of the
choice was made. Every run has a seed of its own for the inputs; `perf collect` records each call of every
algorithm through the complexity collector. The model is chosen by AICc in two ways: as the picture of
`perf show` does it, and by the postprocessors outliers and regression. Right is the model of the
textbook; a power or an exponential in its place is not, however close its exponent, and a curve that is
told as O(1) is a constant.
"""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path

import numpy as np

from perfvcs.postprocessors.outliers import Outliers
from perfvcs.postprocessors.regression import Regression
from perfvcs.profile import Profile
from perfvcs.profile.fittedmodels import RegressionEntry
from perfvcs.repository import Repository
from perfvcs.statistics.regression.callcurves import course
from perfvcs.statistics.regression.choice import choose
from perfvcs.statistics.regression.condensed import level, warm
from perfvcs.statistics.regression.fitting import fit
from perfvcs.statistics.regression.models import MODELS as FITTED
from perfvcs.statistics.regression.models import ORDERS
from perfvcs.statistics.regression.robust import described

from .figures import Row
from .made import Array
from .registry import Wrong, benchmark
from .repositories import perf, repository, scratch

Said = tuple[str, str, float]  # model, order, r2

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
    ignored = "*.o\n/algorithms\n/further\n__pycache__/\n"
    repository(folder, {"perf.toml": config, ".gitignore": ignored})
    perf(folder, "collect", "--quiet")
    found = Repository.find(folder)
    found.refresh()
    return found.profiles([one.header for one in found.measured(found.state("HEAD"))])


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


def said_of(way: str, models: dict[str, str], found: list[dict[str, Said]]) -> Iterator[Row]:
    """What was said of each algorithm in all runs."""
    for algorithm, model in models.items():
        said = [one[algorithm] for one in found if algorithm in one]
        orders = Counter(order for _, order, _ in said).most_common()
        yield {
            "way": way,
            "algorithm": algorithm,
            "model": model,
            "right": sum(chosen == model for chosen, *_ in said),
            "of": len(said),
            "r2, median": f"{np.median([share for *_, share in said]):.3f}" if said else "",
            "said": ", ".join(f"{count} {order}" for order, count in orders),
        }


@benchmark(
    "curves",
    quick={"runs": 1, "executions": 2, "language": ("c",), "sets": ("algorithms",)},
    needs=("gcc", "make", "Python.h"),
)
def orders(
    *,
    runs: int = 5,
    executions: int = 5,
    language: tuple[str, ...] = tuple(PROGRAMS),
    sets: tuple[str, ...] = tuple(SETS),
) -> Iterator[Row]:
    """Have the models of textbook algorithms the orders that the textbooks give?"""
    fewest = len(SETS["algorithms"])
    for one, name in product(language, sets):
        models = {algorithm: model for algorithm, (model, *_) in SETS[name].items()}
        with scratch("orders") as folder:
            profiles = measured(one, name, folder / one, runs, executions)
        shown = [by_means(profile) for profile in profiles]
        for row in said_of("perf show", models, shown):
            yield {"language": one, "set": name, **row}
        for row in said_of("postprocessors", models, [by_calls(profile) for profile in profiles]):
            yield {"language": one, "set": name, **row}
        for said in shown:
            right = sum(said[key][0] == model for key, model in models.items() if key in said)
            fewest = min(fewest, right)
    if runs > 1 and fewest < len(SETS["algorithms"]) - 1:
        raise Wrong(f"a run was right about only {fewest} of {len(SETS['algorithms'])} algorithms")


CURVES: dict[str, Callable[[Array], Array]] = {
    "constant": lambda x: 100 + 0 * x,
    "logarithmic": lambda x: 20 + 30 * np.log(x),
    "linear": lambda x: 100 + 2 * x,
    "linearithmic": lambda x: 50 + 0.5 * x * np.log(x),
    "quadratic": lambda x: 200 + 0.02 * x**2,
    "cubic": lambda x: 300 + 1e-4 * x**3,
    "power": lambda x: 5 * x**1.5,
    "exponential": lambda x: 60 * 1.012**x,
}
LARGEST = -1.0


@benchmark("curves", quick={"repetitions": 5, "sizes": (20,)})
def orders_drawn(
    *, repetitions: int = 40, sizes: tuple[int, ...] = (20, 100, 500), seed: int = 3
) -> Iterator[Row]:
    """How often is the model of a simulated curve found where single sizes take 3 to 1,000 times as long?

    In percent: with all sizes alike / without those far off; 3 % noise.
    """
    random = np.random.default_rng(seed)
    for count in sizes:
        pauses = {"none": 0.0, "one size": 1 / count, "the largest": LARGEST, "6 %, anywhere": 0.06}
        for name, share in pauses.items():
            row: Row = {"sizes": count, "paused": name}
            for model, curve in CURVES.items():
                x = np.tile(np.linspace(500 / count, 500, count), repetitions)
                group = np.repeat(np.arange(repetitions), count)
                y = curve(x) * np.exp(0.03 * random.standard_normal(len(x)))
                for one in y.reshape(repetitions, count):
                    paused = np.array([-1])
                    if share != LARGEST:
                        paused = random.choice(count, round(share * count), replace=False)
                    one[paused] *= random.choice([3.0, 20.0, 1000.0])
                plain = choose(fit(x, y, group, 1 / level(x, y, group) ** 2, models=FITTED))
                robust = described(x, y, np.ones(len(x)), group)[0]
                hits = []
                for found in (plain, robust):
                    said = [
                        "constant" if found.order(number) == "O(1)" else found.model(number)
                        for number in range(repetitions)
                    ]
                    hits.append(said.count(model) / repetitions)
                row[model] = f"{hits[0]:.0%} / {hits[1]:.0%}"
            yield row
