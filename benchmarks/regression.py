"""The postprocessor `regression`: how exact it is against statsmodels, how long a million rows
take, and `perf process` from end to end.

    python benchmarks/regression.py [--rows 1000000] [--units 1000] [--stored 100000] [--repeat 5]

Exactness: all linear and linearised models at group sizes from 3 to 100,000, the largest relative
difference of coefficients and of r2 from those of statsmodels' OLS on the same transformed columns.
Differences of r2 are relative to the larger of r2 and .001. Time: best of several, of the fit alone
and of the whole `Regression.apply` to calls and to means; memory beyond what the profile takes.
Then a process: `perf process HEAD regression` on a profile of 100,000 rows, each time with another
seed, so that a new version is stored.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from perfvcs.postprocessors.regression import Regression
from perfvcs.profile import Collected, Job, Metric, Profile, Resources
from perfvcs.statistics.regression.fitting import fit
from perfvcs.statistics.regression.models import LINEARISED, MODELS, transform

SIZES = (3, 4, 5, 10, 30, 100, 1000, 10_000, 100_000)
STRAIGHT = tuple(model for model in MODELS if model not in ("power", "exponential")) + LINEARISED


def memory(field: str) -> float:
    """What /proc says of this process in MB: VmRSS is what it has, VmHWM the most that it had."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(field)) / 1024


def grown(call: Callable[[], object]) -> float:
    """By how many MB one call makes the process grow at most."""
    Path("/proc/self/clear_refs").write_text("5")  # VmHWM begins anew
    before = memory("VmRSS")
    call()
    return memory("VmHWM") - before


def best(call: Callable[..., object], repeat: int, *arguments: object) -> str:
    """Seconds of the fastest call, and of the processor's time of the one that took least."""
    times, busy = [], []
    for _ in range(repeat):
        begin, before = time.perf_counter(), time.process_time()
        call(*arguments)
        times.append(time.perf_counter() - begin)
        busy.append(time.process_time() - before)
    return f"{min(times):8.2f} s {min(busy):6.2f} s of processors"


def profile(rows: int, units: int, commit: str = "a" * 40) -> Profile:
    """Calls of functions whose duration is linear in the size."""
    random = np.random.default_rng(1)
    unit, size = (
        np.sort(random.integers(0, units, rows)),
        random.integers(1, 1000, rows).astype(float),
    )
    value = (1e-6 + 1e-8 * size) * np.exp(0.05 * random.standard_normal(rows))
    columns = Resources(
        names=[f"unit {number}" for number in range(units)],
        uid=unit.tolist(),
        execution=(np.arange(rows) % 10).tolist(),
        size=size.tolist(),
        metrics={"duration": value.tolist()},
    )
    job = Job(name="calls", collector="complexity", cmd="./calls")
    collected = Collected("session", "2026-11-20T09:30:00Z", "2026-11-20T09:30:02Z", "benchmark")
    return Profile(
        commit=commit,
        job=job,
        collected=collected,
        metrics={"duration": Metric("s")},
        resources=columns,
    )


def expected(
    model: str, x: NDArray[np.float64], y: NDArray[np.float64]
) -> tuple[list[float], float]:
    """Coefficients and r2 of statsmodels, those of a linearised form on the original scale."""
    import statsmodels.api as sm

    design = np.ones((len(x), 1)) if model == "constant" else sm.add_constant(transform(model, x))
    done = sm.OLS(np.log(y) if model in LINEARISED else y, design).fit()
    if model not in LINEARISED:
        return done.params.tolist(), done.rsquared
    shape = done.params[1] if "power" in model else np.exp(done.params[1])
    away = y - np.exp(done.fittedvalues)
    return [np.exp(done.params[0]), shape], 1 - (away**2).sum() / ((y - y.mean()) ** 2).sum()


def exactness() -> None:
    """The largest relative differences from statsmodels."""
    print(
        f"{'model':24} {'coefficients':>12} {'r2':>12}    (largest relative difference, groups of"
        f" {SIZES[0]} to {SIZES[-1]:,})"
    )
    random = np.random.default_rng(2)
    for model in STRAIGHT:
        worst = [0.0, 0.0]
        for count in SIZES:
            x = random.uniform(1, 100, count)
            y = (5 + 3 * x) * np.exp(0.1 * random.standard_normal(count))
            found, (coefficients, r2) = fit(x, y, models=[model])[model], expected(model, x, y)
            for mine, theirs in zip(found.coefficients[0], coefficients, strict=False):
                worst[0] = max(worst[0], abs(mine - theirs) / abs(theirs))
            worst[1] = max(worst[1], abs(found.r2[0] - r2) / max(abs(r2), 1e-3))
        print(f"{model:24} {worst[0]:12.1e} {worst[1]:12.1e}")


def speed(rows: int, units: int, repeat: int) -> None:
    """Time and memory of the fit and of the whole postprocessor."""
    data = profile(rows, units)
    x, y = data.resources.array("size"), data.resources.array("duration")
    unit = np.array(data.resources.uid)
    print(
        f"{rows:,} rows, {units:,} units, {len(MODELS + LINEARISED)} models; before, the process"
        f" has {memory('VmRSS'):.0f} MB"
    )
    calls: dict[str, Callable[[], object]] = {
        "fit": lambda: fit(x, y, unit),
        "Regression, calls": lambda: Regression(fit="calls").apply(data),
        "Regression, means": lambda: Regression().apply(data),
    }
    for name, call in calls.items():
        more = grown(call)  # first: what it frees stays with the process
        print(f"{name:24} {best(call, repeat)} {more:6.0f} MB more", flush=True)
    for strategy in ("iterative", "initial-guess", "interval", "bisection"):
        print(
            f"{'  ' + strategy:24}"
            f" {best(Regression(fit='calls', strategy=strategy, keep='best').apply, 1, data)}",
            flush=True,
        )


def command(rows: int, repeat: int) -> None:
    """The whole command as a process; what numpy alone and an empty command take, to compare."""
    perf = str(Path(sys.executable).with_name("perf"))
    with tempfile.TemporaryDirectory() as place:
        git = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-C", place]
        subprocess.run([*git, "init", "--quiet"], check=True)
        subprocess.run([*git, "commit", "--quiet", "--allow-empty", "--message", "x"], check=True)
        commit = subprocess.run(
            [*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True
        ).stdout.strip()
        source = Path(place) / "calls.json"
        source.write_bytes(profile(rows, 20, commit).encode())
        subprocess.run([perf, "-C", place, "import", str(source)], check=True, capture_output=True)
        load = f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors"
        print(
            f"\nas processes ({rows:,} rows, 20 units, a new version stored; best of {repeat};"
            f" {load})"
        )
        number = iter(range(100, 10_000))

        def show(name: str, *words: str) -> None:
            seconds, busy = [], []
            for _ in range(repeat):
                begin, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
                whole = (
                    [*words, "--seed", str(next(number))]
                    if name.startswith("perf process")
                    else words
                )
                subprocess.run(whole, check=True, capture_output=True)
                after = resource.getrusage(resource.RUSAGE_CHILDREN)
                seconds.append(time.perf_counter() - begin)
                busy.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
            print(f"{name:24} {min(seconds):8.2f} s {min(busy):6.2f} s of processors")

        show("perf --help", perf, "--help")
        show("python -c import numpy", sys.executable, "-c", "import numpy")
        show("perf process", perf, "-C", place, "process", "HEAD", "regression")
        show(
            "the same again",
            perf,
            "-C",
            place,
            "process",
            "HEAD",
            "regression",
            "--seed",
            str(next(number) - 1),
        )


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--units", type=int, default=1_000)
    parser.add_argument("--stored", type=int, default=100_000)
    parser.add_argument("--repeat", type=int, default=5)
    options = parser.parse_args()
    speed(options.rows, options.units, options.repeat)
    command(options.stored, options.repeat)
    exactness()


if __name__ == "__main__":
    main()
