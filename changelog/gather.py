"""Gathers the fragments of this folder into CHANGELOG.md and removes them: ``python
changelog/gather.py VERSION [--date DAY]``.

A version that CHANGELOG.md has already gets what is new, so that it can be run again until the
version is tagged.
"""

from __future__ import annotations

import argparse
import re
import sys
from datetime import date
from pathlib import Path

HERE = Path(__file__).resolve().parent
HEAD = (
    "# Changelog\n\nWhat changed for users, the newest version first. Numbers in brackets are those"
    " of issues.\n"
)
KINDS = ("added", "changed", "fixed", "removed")
FRAGMENT = re.compile(rf"(?P<issue>\d+)-(?P<word>[a-z0-9-]+)\.(?P<kind>{'|'.join(KINDS)})\.md")
VERSION = re.compile(r"\d+\.\d+\.\d+")


def entry(path: Path) -> tuple[str, int, str]:
    """The kind, the issue and the text of a fragment; raises ValueError for one that is not named
    as README.md says, or empty.
    """
    named = FRAGMENT.fullmatch(path.name)
    text = " ".join(path.read_text(encoding="utf-8").split())
    if not named or not text:
        raise ValueError(
            f"{path.name} is not a fragment: name it <issue>-<word>.<{'|'.join(KINDS)}>.md and"
            " write a sentence"
        )
    return named["kind"], int(named["issue"]), f"- {text} ({named['issue']})"


def sections(text: str) -> dict[str, list[str]]:
    """The entries of one version by kind."""
    found: dict[str, list[str]] = {}
    for line in text.splitlines():
        if line.startswith("### "):
            kind = found.setdefault(line[4:].lower(), [])
        elif line.startswith("- "):
            kind.append(line)
    return found


def gathered(document: str, version: str, day: str, entries: list[tuple[str, int, str]]) -> str:
    """The changelog with entries of a version, behind those that it has."""
    head, *parts = re.split(r"^(?=## )", document or HEAD, flags=re.MULTILINE)
    title = f"## {version}"
    others = [part for part in parts if part.split(" (")[0].strip() != title]
    found = sections("".join(part for part in parts if part not in others))
    for kind, _, text in sorted(entries, key=lambda one: one[1]):
        if text not in found.setdefault(kind, []):
            found[kind].append(text)
    body = "\n".join(
        f"### {kind.capitalize()}\n\n" + "\n".join(found[kind]) + "\n"
        for kind in KINDS
        if found.get(kind)
    )
    return (
        "\n".join([head.rstrip("\n") + "\n", f"{title} ({day})\n", body, *others]).rstrip("\n")
        + "\n"
    )


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("version")
    parser.add_argument(
        "--date", default=date.today().isoformat(), help="Day of the release; today by default."
    )
    parser.add_argument("--folder", type=Path, default=HERE, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if not VERSION.fullmatch(options.version):
        parser.error(f"{options.version} is not a version such as 0.2.0")
    fragments = sorted(path for path in options.folder.glob("*.md") if path.name != "README.md")
    try:
        entries = [entry(path) for path in fragments]
    except ValueError as error:
        parser.error(str(error))
    target = options.folder.parent / "CHANGELOG.md"
    before = target.read_text(encoding="utf-8") if target.exists() else ""
    target.write_text(gathered(before, options.version, options.date, entries), encoding="utf-8")
    for path in fragments:
        path.unlink()
    print(f"gathered {len(fragments)} fragments into {options.version} of {target.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
