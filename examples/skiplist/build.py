"""Build the git repository of a skip list that became slower three times, and was mended each time.

    python examples/skiplist/build.py {cpp,python} FOLDER

Seven commits, tagged v1 to v7. The odd ones are the sources beside this script; each even one has a
slip on top, the patch of that name, that makes insert slower by a constant, by something that grows
with the length, or with its square. Dates and author are fixed, so that the commit ids are the same
on every machine.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from building import git, reported, repository  # noqa: E402

SOURCES = {
    "cpp": ("Makefile", "perf.toml", "skiplist.cpp", "skiplist.hpp", "work.cpp"),
    "python": ("perf.toml", "skiplist.py", "work.py"),
}
IGNORED = {"cpp": "*.o\nwork\n", "python": "__pycache__/\n"}
SLIPS = {"v2": "constant", "v4": "linear", "v6": "quadratic"}
MESSAGES = {
    "v1": "A skip list",
    "v2": "insert: keep a journal",
    "v3": "insert: drop the journal, nobody reads it",
    "v4": "insert: make sure that the keys are in order",
    "v5": "insert: the keys are always in order",
    "v6": "insert: make sure that no key is there twice",
    "v7": "insert: no key can be there twice",
}


def build(language: str, folder: Path) -> str:
    """Make the repository in ``folder``, which is missing or empty; returns the id of its newest
    commit.
    """
    with repository(folder) as part:
        (part / ".gitignore").write_text(IGNORED[language])
        for day, (tag, message) in enumerate(MESSAGES.items(), start=5):
            for name in SOURCES[language]:
                shutil.copyfile(HERE / language / name, part / name)
            if tag in SLIPS:
                git(part, "apply", "-p0", str(HERE / language / f"{SLIPS[tag]}.patch"))
            git(part, "add", "--all")
            git(
                part,
                "commit",
                "--quiet",
                "--message",
                message,
                date=f"2026-01-{day:02}T12:00:00+00:00",
            )
            git(part, "tag", tag)
    return git(folder, "rev-parse", "HEAD")


def main() -> int:
    """Read the command line, build, and print what was built."""
    parser = argparse.ArgumentParser(
        description="Build the git repository of a skip list that became slower three times."
    )
    parser.add_argument("language", choices=SOURCES)
    parser.add_argument("folder", type=Path, help="where the repository is made; missing or empty")
    chosen = parser.parse_args()

    def made() -> str:
        head = build(chosen.language, chosen.folder)
        return (
            f"{chosen.folder}: {len(MESSAGES)} versions of a skip list, v1 to v{len(MESSAGES)},"
            f" HEAD {head[:12]}"
        )

    return reported(made)


if __name__ == "__main__":
    sys.exit(main())
