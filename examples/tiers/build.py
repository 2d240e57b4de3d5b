"""Build the git repository of a small shop of three tiers, five commits of which made it worse.

    python examples/tiers/build.py FOLDER

`main` has the shop as the sources beside this script, tagged `good`, and five commits that change
nothing that matters, tagged `same-1` to `same-5`. Each fault is one commit on top of `good`, tagged
by its name.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from building import BuildError, git, reported, repository  # noqa: E402

SOURCES = ("database.py", "load.py", "perf.toml", "web.py")
SAME = 5
SESSION = """        session = {
            "page": page,
            "key": hashlib.pbkdf2_hmac("sha256", page.encode(), b"salt", 1_000).hex(),
        }
"""
INDEX = """    base.execute("create index by_customer on orders (customer)")
"""
SEARCH = """        query = "select rowid, words from found where words match ? order by rowid"
        return self.base.execute(query, (word,)).fetchall()
"""
# tag: message, file, what is replaced, and by what
FAULTS = {
    "memory": (
        "sessions: remember where a customer came from",
        "web.py",
        SESSION,
        SESSION
        + """\
        session["history"] = bytearray(b"x" * 16_384)
""",
    ),
    "cpu": ("sessions: a stronger key", "web.py", SESSION, SESSION.replace("1_000", "6_000")),
    "index": ("database: nobody asks by customer", "database.py", INDEX, ""),
    "text": (
        "search: words need no index of their own",
        "database.py",
        SEARCH,
        """\
        query = "select id, words from items where ' ' || words || ' ' like ? order by id"
        return self.base.execute(query, (f"% {word} %",)).fetchall()
""",
    ),
    "io": (
        "log: say more",
        "web.py",
        SESSION,
        SESSION
        + """\
        for line in range(40):
            self.log.write(f"{line} {self.path} {session['key']}\\n".encode())
""",
    ),
}


def build(folder: Path) -> str:
    """Make the repository in `folder`, which is missing or empty; returns the id of the commit
    `good`.
    """
    with repository(folder) as part:
        (part / ".gitignore").write_text("__pycache__/\n")
        for name in SOURCES:
            shutil.copyfile(HERE / name, part / name)
        commit(part, "good", "A shop: web server, database, customers", 5)
        for number in range(1, SAME + 1):
            with (part / "web.py").open("a") as file:
                file.write(f"# reviewed {number} times\n")
            commit(part, f"same-{number}", f"Reviewed once more ({number})", 5 + number)
        for day, (tag, (message, name, old, new)) in enumerate(FAULTS.items(), start=12):
            git(part, "checkout", "--quiet", "good")
            text = (part / name).read_text()
            if text.count(old) != 1:
                raise BuildError(
                    f"{name} has changed: correct the fault `{tag}` in {Path(__file__).name}"
                )
            (part / name).write_text(text.replace(old, new))
            commit(part, tag, message, day)
        git(part, "checkout", "--quiet", "main")
    return git(folder, "rev-parse", "good")


def commit(folder: Path, tag: str, message: str, day: int) -> None:
    """Commit everything with a fixed date, and tag it."""
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", message, date=f"2026-02-{day:02}T12:00:00+00:00")
    git(folder, "tag", tag)


def main() -> int:
    """Read the command line, build, and print what was built."""
    parser = argparse.ArgumentParser(
        description="Build the git repository of a shop with five faults."
    )
    parser.add_argument("folder", type=Path, help="where the repository is made; missing or empty")
    chosen = parser.parse_args()

    def made() -> str:
        head = build(chosen.folder)
        return (
            f"{chosen.folder}: a shop, good ({head[:12]}), same-1 to same-{SAME}, and"
            f" {', '.join(FAULTS)}"
        )

    return reported(made)


if __name__ == "__main__":
    sys.exit(main())
