"""Precision and recall of the kinds of change that `perf blame` names, per class, on changes
labelled by reading.

    python benchmarks/kinds.py FOLDER [--wrong]

The changes are those of blaming/kinds.toml: functions that commits of twelve ordinary projects
changed. Their repositories are cloned into FOLDER. ``--wrong`` prints what is named otherwise than
read.
"""

from __future__ import annotations

import argparse
import subprocess
import tomllib
from collections import Counter
from pathlib import Path

from perfvcs.git.project import Project
from perfvcs.locate.blame.kinds import kinds
from perfvcs.locate.sources.hunks import difference

LABELS = Path(__file__).parent / "blaming" / "kinds.toml"


def main() -> None:
    """Compare, and print a table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--wrong", action="store_true")
    options = parser.parse_args()
    right, named, read = Counter[str](), Counter[str](), Counter[str]()
    exact = hunks = 0
    for repository, table in tomllib.loads(LABELS.read_text()).items():
        place = options.folder / repository.replace("/", "-")
        if not place.exists():
            subprocess.run(
                [
                    "git",
                    "clone",
                    "-q",
                    "--bare",
                    f"https://github.com/{repository}",
                    place / ".git",
                ],
                check=True,
            )
            subprocess.run(["git", "-C", place, "config", "core.bare", "false"], check=True)
        project = Project.find(place)
        for commit, path, name, labels in table["hunks"]:
            target = project.resolve(commit)
            changed = difference(
                project,
                project.resolve(f"{commit}^"),
                target,
                skip=lambda other, path=path: other != path,
            )
            unit = changed.units[f"{path}:{name}"]
            found = {kind.name for kind in kinds(changed.files[path], name, unit.hunks)}
            wanted = set(labels.split(", "))
            right.update(found & wanted)
            named.update(found)
            read.update(wanted)
            hunks, exact = hunks + 1, exact + (found == wanted)
            if options.wrong and found != wanted:
                print(
                    f"{repository} {commit} {path}:{name}: {', '.join(sorted(found))}; read:"
                    f" {labels}"
                )
    print(f"{'':28} {'read':>5} {'named':>6} {'precision':>10} {'recall':>7}")
    for kind in sorted(read | named, key=lambda kind: -read[kind]):
        precision = f"{right[kind] / named[kind]:.2f}" if named[kind] else ""
        recall = f"{right[kind] / read[kind]:.2f}" if read[kind] else ""
        print(f"{kind:28} {read[kind]:5} {named[kind]:6} {precision:>10} {recall:>7}")
    print(f"{hunks} changes, {exact} with exactly the kinds that were read")


if __name__ == "__main__":
    main()
