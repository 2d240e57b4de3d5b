"""How often the kind of an injected error is named rightly, on the grid of Stupinsky 2018, chapter
6, and past it.

    python benchmarks/error_kinds.py [--repetitions 200] [--every] [--apart] [--offset]

Five baseline curves over 500 sizes; injected nothing, a constant, a linear or a quadratic error of
10 % of the curve at its right end; multiplicative noise of 1, 5 and 10 % on both sides,
independent. Prints the share of right answers by noise, and by curve and error. ``--every`` lets
all eight kinds compete, ``--apart`` measures the two sides at different sizes, ``--offset`` lets
the linear and the quadratic error begin at 3 % where the curve does.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter

import numpy as np

from perfvcs.statistics.regression.kind import KINDS, PUBLISHED, kind
from perfvcs.statistics.regression.models import MODELS

SIZES = np.arange(1.0, 501.0)
BASELINES = {
    "linear": lambda x: 100 + 2 * x,
    "quadratic": lambda x: 100 + 0.01 * x**2,
    "logarithmic": lambda x: 50 + 100 * np.log(x),
    "power": lambda x: 3 * x**1.5,
    "exponential": lambda x: 50 * 1.01**x,
}
ERRORS = {
    "none": lambda x: 0 * x,
    "constant": lambda x: 0.1 + 0 * x,
    "linear": lambda x: 0.1 * x / SIZES[-1],
    "quadratic": lambda x: 0.1 * (x / SIZES[-1]) ** 2,
}
NOISES = (0.01, 0.05, 0.1)


def named(
    baseline: str,
    error: str,
    noise: float,
    repetitions: int,
    family: tuple[str, ...],
    apart: bool,
    offset: float,
) -> Counter[str | None]:
    """What the error is called, and how often."""
    seed = [list(BASELINES).index(baseline), list(ERRORS).index(error), int(noise * 100)]
    random = np.random.default_rng(seed)
    number = np.repeat(np.arange(repetitions), len(SIZES))
    x1 = x2 = np.tile(SIZES, repetitions)
    if apart:
        x1, x2 = random.uniform(1, SIZES[-1], (2, len(number)))
    begin = offset if error in ("linear", "quadratic") else 0.0
    curve, end = BASELINES[baseline], BASELINES[baseline](SIZES[-1])
    y1 = curve(x1) * (1 + noise * random.standard_normal(len(number)))
    y2 = (curve(x2) + end * (begin + (1 - begin / 0.1) * ERRORS[error](x2))) * (
        1 + noise * random.standard_normal(len(number))
    )
    found = kind(x1, y1, x2, y2, number, number, family=family)
    return Counter(KINDS[place] for place in found.index.tolist())


def main() -> None:
    """Print the shares."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repetitions", type=int, default=200)
    parser.add_argument("--every", action="store_true")
    parser.add_argument("--apart", action="store_true")
    parser.add_argument("--offset", action="store_true")
    options = parser.parse_args()
    family = MODELS if options.every else PUBLISHED
    begin = time.perf_counter()
    print(
        f"{'noise':>5} {'baseline':12}"
        + "".join(f"{error:>11}" for error in ERRORS)
        + "   mistaken for"
    )
    for noise in NOISES:
        rights = []
        for baseline in BASELINES:
            row, mistakes = [], []
            for error in ERRORS:
                counts = named(
                    baseline,
                    error,
                    noise,
                    options.repetitions,
                    family,
                    options.apart,
                    0.03 * options.offset,
                )
                row.append(counts[error] / options.repetitions)
                wrong = Counter({name: count for name, count in counts.items() if name != error})
                mistakes += [f"{error[:5]}: {count} {name}" for name, count in wrong.most_common(2)]
            rights.append(row)
            print(
                f"{noise:5.0%} {baseline:12}"
                + "".join(f"{share:11.1%}" for share in row)
                + "   "
                + ", ".join(mistakes)
            )
        means = np.mean(rights, axis=0)
        print(
            f"{noise:5.0%} {'mean':12}"
            + "".join(f"{share:11.1%}" for share in means)
            + f"   all kinds {means.mean():.1%}"
        )
    print(f"{time.perf_counter() - begin:.0f} s")


if __name__ == "__main__":
    main()
