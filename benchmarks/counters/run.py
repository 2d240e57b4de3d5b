"""Are injected regressions found among many counters, and good revisions left alone?

``python benchmarks/counters/run.py FOLDER``.

FOLDER becomes the repository of ``examples/tiers``: a shop (web server, database, customers), five
revisions of it that change nothing that matters, and five that have a fault. Either five are
measured in turns with the first revision by ``perf collect``, then ``perf check
--method counters`` compares each with it. A FOLDER that has been measured is only judged again.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "examples" / "tiers"))
from build import FAULTS, SAME, build  # noqa: E402

GOOD = [f"same-{number}" for number in range(1, SAME + 1)]


def perf(folder: Path, *args: str, codes: tuple[int, ...] = (0,)) -> str:
    """What a command prints; other exit codes than ``codes`` end the script."""
    done = subprocess.run(
        [sys.executable, "-m", "perfvcs", *args],
        cwd=folder,
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    if done.returncode not in codes:
        raise SystemExit(f"perf {' '.join(args)} exited with {done.returncode}")
    return done.stdout


def judge(folder: Path) -> int:
    """A table of ten comparisons; how many came out wrong."""
    wrong = 0
    print(
        f"{'target':8} {'word':12} {'clusters':>8}  those that regressed: the counter (error of its"
        " prediction, at most)"
    )
    for name in [*GOOD, *FAULTS]:
        said = json.loads(
            perf(folder, "check", "--json", "--method", "counters", "good", name, codes=(0, 3, 4))
        )
        [change] = [one for one in said["changes"] if one["metric"] == "counters"]
        clusters = change["clusters"] or []
        flagged = [one for one in clusters if one["regressed"]]
        told = "; ".join(
            f"{one['target']} ({one['error']:.0%}, {one['threshold']:.0%})" for one in flagged
        )
        print(f"{name:8} {change['word']:12} {len(clusters):8}  {told or 'none'}")
        wrong += change["word"] != ("same" if name in GOOD else "degradation")
    print(f"{wrong} of {len(GOOD) + len(FAULTS)} wrong")
    return wrong


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    if not (folder / ".perf").exists():
        build(folder)
        perf(folder, "init")
        for names in (GOOD, FAULTS):
            perf(folder, "collect", "good", *names)
    raise SystemExit(judge(folder) > 0)


if __name__ == "__main__":
    main()
