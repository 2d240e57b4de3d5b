"""How often `perf check` is wrong about functions whose calls were recorded with their sizes, and
what it says of injected errors.

    python benchmarks/curves.py [--repetitions 20] [--calls 1000] [--pattern NAME] [--share 0.2]
    [--noise 1.0] python benchmarks/curves.py --apart [--sessions 8] [--drift 0.03] python
    benchmarks/curves.py --time

Simulates two revisions of a program of twenty functions as the complexity collector records them,
ten executions a side: five curves (constant, O(log n), O(n), O(n log n), O(n^2)), to each nothing,
a constant, a linear and a quadratic error of ``--share`` of the curve at its right end. Calls are
skewed to the right (a log-normal scatter of 12 %), one in 300 is interrupted for 2 to 200 us, the
first ones of an execution are cold, executions differ by 2 % as a whole, and clocks tick every 20
ns.

Prints of each pattern of sizes: how often a sound function is the same, open, or something else
(false alarms, which are few if all is well); of each error how often it is found, its kind is named
rightly, and so is the change of order. ``--apart``: each revision in a session of its own,
``--sessions`` of them stored, which differ by ``--drift``. ``--time``: how long `compare` takes for
twenty functions of 100,000 calls a side.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter, defaultdict
from collections.abc import Callable

import msgspec
import numpy as np
from numpy.typing import NDArray

from perfvcs.check import Change, compare, earlier_sessions
from perfvcs.profile import Collected, Design, Environment, Job, Metric, Profile, Resources
from perfvcs.profile.summary import Measured

Floats = NDArray[np.float64]
Random = np.random.Generator

EXECUTIONS = 10
TICK = 20e-9
COMMITS = ("1" * 40, "2" * 40)
# the largest size, and the seconds of a call
CURVES: dict[str, tuple[float, Callable[[Floats], Floats]]] = {
    "constant": (10_000, lambda n: 8e-8 + 0 * n),
    "logarithmic": (10_000, lambda n: 6e-8 + 2.5e-8 * np.log(np.maximum(n, 1))),
    "linear": (10_000, lambda n: 1e-7 + 9e-9 * n),
    "linearithmic": (10_000, lambda n: 1e-7 + 2e-9 * n * np.log(np.maximum(n, 1))),
    "quadratic": (1_000, lambda n: 1e-7 + 1e-9 * n * n),
}
ERRORS: dict[str, Callable[[Floats], Floats]] = {
    "none": lambda x: 0 * x,
    "constant": lambda x: 1 + 0 * x,
    "linear": lambda x: x,
    "quadratic": lambda x: x * x,
}
ORDERS = {
    "constant": "O(1)",
    "logarithmic": "O(log n)",
    "linear": "O(n)",
    "linearithmic": "O(n log n)",
    "quadratic": "O(n^2)",
}
GROWTH = list(ORDERS)


def uniform(random: Random, most: float, calls: int) -> Floats:
    """Any whole number."""
    return random.integers(1, int(most) + 1, calls).astype(float)


def repeated(random: Random, most: float, calls: int) -> Floats:
    """Any of a hundred numbers."""
    return np.round(np.linspace(most / 100, most, 100))[random.integers(0, 100, calls)]


def spread(random: Random, most: float, calls: int) -> Floats:
    """Whole numbers, small ones as often as large ones by their logarithm."""
    return np.floor(np.exp(random.uniform(0, np.log(most), calls)))


def growing(_: Random, most: float, calls: int) -> Floats:
    """A structure that grows: each size once, in rising order."""
    return np.round(np.linspace(1, most, calls))


def few(random: Random, most: float, calls: int) -> Floats:
    """Eight sizes, each twice the one before."""
    return np.round(most / 2.0 ** random.integers(0, 8, calls))


def zero(random: Random, most: float, calls: int) -> Floats:
    """Any of a hundred numbers or zero, mostly small ones."""
    return np.round(most * (random.integers(0, 101, calls) / 100) ** 2)


PATTERNS = {one.__name__: one for one in (uniform, repeated, spread, growing, few, zero)}


def seconds(random: Random, curve: Floats, noise: float) -> Floats:
    """What calls take that would take so long on a perfect machine; shape (calls,)."""
    count = len(curve)
    cold = np.exp(-np.arange(count) / 3)
    found = (curve + 1e-6 * cold) * np.exp(
        noise * 0.12 * np.abs(random.standard_normal(count))
        + noise * 0.04 * random.standard_normal(count)
    )
    interrupted = random.random(count) < 1 / 300
    found += interrupted * np.exp(random.uniform(np.log(2e-6), np.log(2e-4), count))
    return np.asarray(TICK * np.floor(found / TICK + random.random(count)))


def side(
    random: Random,
    version: int,
    errors: list[tuple[str, str]],
    share: float,
    calls: int,
    pattern: str,
    apart: bool,
    noise: float,
    blocks: Floats,
) -> Profile:
    """The profile of one revision: a function per curve and error, called so often in each
    execution.
    """
    names, uid, execution, size, duration = [], [], [], [], []
    for number, (curve, error) in enumerate(errors):
        names.append(f"{curve} + {error} #{number}")
        most, shape = CURVES[curve]
        for block in range(EXECUTIONS):
            n = PATTERNS[pattern](random, most, calls)
            ideal = shape(n)
            if version:
                ideal = ideal + share * shape(np.array([most]))[0] * ERRORS[error](n / most)
            factor = np.exp(blocks[block] + noise * 0.01 * random.standard_normal())
            uid.append(np.full(calls, number))
            execution.append(np.full(calls, block))
            size.append(n)
            duration.append(seconds(random, ideal * factor, noise))
    rows = Resources(
        names,
        np.concatenate(uid).tolist(),
        np.concatenate(execution).tolist(),
        size=np.concatenate(size).tolist(),
        iteration=np.tile(np.arange(calls), len(errors) * EXECUTIONS).tolist(),
        metrics={"duration": np.concatenate(duration).tolist()},
    )
    session = f"s{version}" if apart else "s"
    return Profile(
        commit=COMMITS[version],
        job=Job("program", "complexity", "./program", engine="fentry"),
        collected=Collected(
            session, f"2026-11-2{version}T09:30:00Z", f"2026-11-2{version}T09:40:00Z", "perfvcs"
        ),
        environment=Environment({"cpu": "x"}, "0123456789ab"),
        metrics={"duration": Metric("s")},
        resources=rows,
        design=Design(
            executions=EXECUTIONS,
            order="sequential" if apart else "interleaved",
            version=0 if apart else version,
            versions=list(COMMITS),
        ),
    )


def outcomes(
    repetition: int, errors: list[tuple[str, str]], options: argparse.Namespace, pattern: str
) -> list[Change]:
    """The verdicts on two simulated revisions, in the order of the functions."""
    random = np.random.default_rng(
        [repetition, list(PATTERNS).index(pattern), int(1000 * options.share)]
    )
    blocks = options.noise * 0.02 * random.standard_normal((options.sessions, EXECUTIONS))
    if options.apart:
        blocks += options.drift * random.standard_normal((options.sessions, 1))
    else:  # in turns: what moves an execution moves its pair
        blocks[1] = blocks[0]
    both = [
        side(
            random,
            version,
            errors,
            options.share,
            options.calls,
            pattern,
            options.apart,
            options.noise,
            blocks[version],
        )
        for version in (0, 1)
    ]
    earlier = [
        msgspec.structs.replace(
            side(
                random, 0, errors, options.share, options.calls, pattern, True, options.noise, block
            ),
            commit=f"{number + 3:040x}",
            collected=Collected(
                f"e{number}", "2026-11-19T09:30:00Z", "2026-11-19T09:40:00Z", "perfvcs"
            ),
        )
        for number, block in enumerate(blocks[2:])
    ]
    history = (
        earlier_sessions(Measured.of(one) for one in [*earlier, *both]) if options.apart else {}
    )
    found: dict[str, list[Change]] = defaultdict(list)
    for change in compare(both[:1], both[1:], history=history).changes:
        found[change.uid].append(change)
    return [
        max(found[name], key=lambda change: change.size is None) for name in both[0].resources.names
    ]


def right(change: Change, curve: str, error: str) -> tuple[bool, bool, bool]:
    """Whether a change was found, its kind named, and the change of order as it is."""
    kind = change.curve.kind if change.curve else ""
    grew = GROWTH.index(error) > GROWTH.index(curve)
    expected = f"{ORDERS[curve]} -> {ORDERS[error]}" if grew else ""
    told = expected in change.finding if expected else "->" not in change.finding
    return change.word in ("degradation", "suspected"), kind == error, told


def study(options: argparse.Namespace, pattern: str) -> None:
    """Print the tables of one pattern of sizes."""
    errors = [(curve, error) for curve in CURVES for error in ERRORS]
    sound: Counter[str] = Counter()
    methods: Counter[str] = Counter()
    shares: dict[tuple[str, str], list[tuple[bool, bool, bool]]] = defaultdict(list)
    wrong: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for repetition in range(options.repetitions):
        for change in outcomes(
            repetition, [(curve, "none") for curve in CURVES for _ in range(4)], options, pattern
        ):
            sound[change.word] += 1
            if change.word not in ("same", "inconclusive"):
                wrong[change.uid.split(" #")[0].split(" +")[0], "A/A"][
                    f"{change.method} {change.effect:+.1%} {change.finding}"
                ] += 1
        for change, (curve, error) in zip(
            outcomes(10_000 + repetition, errors, options, pattern), errors, strict=True
        ):
            methods[f"{curve} by {change.method}"] += 1
            if error != "none":
                found = right(change, curve, error)
                shares[curve, error].append(found)
                if not all(found):
                    wrong[curve, error][
                        f"{change.word} {change.method}"
                        f" {change.curve.kind if change.curve else '-'} {change.finding}"
                    ] += 1
    total = sum(sound.values())
    print(
        f"\n{pattern}: sound functions: "
        + ", ".join(f"{word} {count / total:.1%}" for word, count in sound.most_common())
    )
    print("  " + ", ".join(f"{name} {count}" for name, count in sorted(methods.items())))
    print(
        f"  {'curve':13}"
        + "".join(f"{error:>20}" for error in ERRORS if error != "none")
        + "   (found / kind / order)"
    )
    for curve in CURVES:
        cells = [
            " / ".join(f"{part:4.0%}" for part in np.mean(shares[curve, error], axis=0))
            for error in ERRORS
            if error != "none"
        ]
        print(f"  {curve:13}" + "".join(f"{cell:>20}" for cell in cells))
    if options.verbose:
        for key, counts in wrong.items():
            for words, count in counts.most_common(3):
                print(f"    {' + '.join(key)}: {count} x {words}")


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repetitions", type=int, default=20)
    parser.add_argument("--calls", type=int, default=1000)
    parser.add_argument("--share", type=float, default=0.2)
    parser.add_argument("--noise", type=float, default=1.0)
    parser.add_argument("--pattern", choices=PATTERNS)
    parser.add_argument(
        "--apart", action="store_true", help="each revision in a session of its own"
    )
    parser.add_argument(
        "--sessions",
        type=int,
        default=2,
        help="with --apart: how many are stored, those of both revisions the last",
    )
    parser.add_argument(
        "--drift",
        type=float,
        default=0.03,
        help="with --apart: by how much sessions differ (standard deviation)",
    )
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("--time", action="store_true")
    options = parser.parse_args()
    begin = time.perf_counter()
    if options.time:
        both = [
            side(
                np.random.default_rng(version),
                version,
                [(curve, "none") for curve in CURVES for _ in range(4)],
                0.0,
                10_000,
                "uniform",
                False,
                1.0,
                np.zeros(EXECUTIONS),
            )
            for version in (0, 1)
        ]
        measured, given = (
            [Measured.of(profile, profile.commit) for profile in both],
            {profile.commit: profile for profile in both},
        )
        begin = time.perf_counter()
        compare(
            measured[:1],
            measured[1:],
            read=lambda headers: [given[header.commit] for header in headers],
        )
        print(
            "twenty functions of 100,000 calls a side, profiles read:"
            f" {time.perf_counter() - begin:.1f} s"
        )
        return
    for pattern in [options.pattern] if options.pattern else PATTERNS:
        study(options, pattern)
    print(f"\n{time.perf_counter() - begin:.0f} s")


if __name__ == "__main__":
    main()
