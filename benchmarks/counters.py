"""Injected regressions among many counters, and good revisions.

The repository of examples/tiers: a shop (web server, database, customers), five revisions of it that
change nothing that matters, and five that have a fault. Either five are measured in turns with the
first revision by `perf collect`, then `perf check --method counters` compares each with it.
"""

from __future__ import annotations

import json
import runpy
from collections.abc import Iterator
from pathlib import Path

from .figures import ROOT, Row
from .registry import Wrong, benchmark
from .repositories import perf, scratch


@benchmark("collectors", quick="ten measurements of a service under load take minutes")
def counters(*, folder: str = "") -> Iterator[Row]:
    """Are injected regressions found among many counters, and good revisions left alone?"""
    tiers = runpy.run_path(str(ROOT / "examples" / "tiers" / "build.py"))
    good = [f"same-{number}" for number in range(1, tiers["SAME"] + 1)]
    wrong = 0
    with scratch("counters") as outside:
        place = Path(folder) if folder else outside / "tiers"
        if not (place / ".perf").exists():
            tiers["build"](place)
            perf(place, "init")
            for names in (good, tiers["FAULTS"]):
                perf(place, "collect", "good", *names)
        for name in [*good, *tiers["FAULTS"]]:
            said = json.loads(perf(place, "check", "--json", "--method", "counters", "good", name))
            (change,) = (one for one in said["changes"] if one["metric"] == "counters")
            clusters = change["clusters"] or []
            flagged = "; ".join(
                f"{one['target']} ({one['error']:.0%}, {one['threshold']:.0%})"
                for one in clusters
                if one["regressed"]
            )
            wrong += change["word"] != ("same" if name in good else "degradation")
            yield {
                "target": name,
                "word": change["word"],
                "clusters": len(clusters),
                "regressed (error, at most)": flagged or "none",
            }
    if wrong:
        raise Wrong(f"{wrong} comparisons came out wrong")
