"""Every command that writes: what it needs, and what may not happen to it when it is stopped."""

from __future__ import annotations

import shutil
import sys
import tomllib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

from ..repositories import PERF
from .profiles import BATCHES, sized, timed
from .project import SLOWER, Project
from .wholeness import (
    EXCLUDED,
    FILES,
    OWN_HOOK,
    Try,
    accepts,
    adds,
    keeps,
    removes,
    replaces,
    whole_files,
    whole_hooks,
    whole_init,
    whole_page,
    whole_site,
    whole_table,
)

ADDING = Path(__file__).with_name("adding.py")


@dataclass(frozen=True)
class Command:
    """One command that writes.

    ``words`` prepares what the try of a number needs, and returns the arguments of ``program``.
    ``lost`` says what was lost, or is there by half; when the command is asked to stop, it may keep
    a part that it names (``partial``). ``codes`` are the right exit statuses.
    """

    name: str
    words: Callable[[Project, int], Sequence[str]]
    lost: Callable[[Project, Try], Iterable[str]]
    codes: tuple[int, ...] = (0,)
    partial: bool = False
    program: Sequence[str] = PERF


def _fixed(*words: str) -> Callable[[Project, int], Sequence[str]]:
    return lambda _project, _number: words


def _importing(project: Project, number: int) -> Sequence[str]:
    folder = project.out / f"import-{number}"
    folder.mkdir()
    for file in range(FILES):
        profile = timed(project.commits[file % 3], "foreign", 1000 * number + file)
        (folder / f"{file}.json").write_bytes(profile.encode())
    return ("import", str(folder))


def _adding(_: Project, number: int) -> Sequence[str]:
    return (str(number + 100_000),)  # numbers below 0 repeat a try


def _processing(project: Project, number: int) -> Sequence[str]:
    fresh = [sized(project.commits[0], f"model{number}", 10 * number + part) for part in range(3)]
    project.store.add(fresh, "To be processed")
    return ("process", project.commits[0], "regression", "--job", f"model{number}")


def _removing(project: Project, number: int) -> Sequence[str]:
    fresh = [timed(project.commits[1], f"away{number}", 10 * number + part) for part in range(5)]
    project.store.add(fresh, "To be removed")
    return ("rm", project.commits[1], "--job", f"away{number}")


def _pushing(project: Project, number: int, name: str = "") -> Sequence[str]:
    """To a remote that has what was here before, or in every other try nothing."""
    remote = project.out / (name or f"remote-{number // 2}.git")
    if not remote.exists():
        project.git("init", "--quiet", "--bare", str(remote))
    project.store.add(
        [timed(project.commits[1], f"push{number}", 10 * number + part) for part in range(5)],
        "To be pushed",
    )
    return ("push", str(remote))


def _pulling(project: Project, number: int) -> Sequence[str]:
    """From a remote that has five more."""
    store = ("--git-dir", str(project.home / "store"))
    before = project.git(*store, "rev-parse", "main").strip()
    name = f"pulled-{number}.git"
    project.must(*_pushing(project, number, name))
    project.git(*store, "update-ref", "refs/heads/main", before)
    return ("pull", str(project.out / name))


def _accepting(*words: str) -> Callable[[Project, int], Sequence[str]]:
    """With a register of three, or of all four where one is to be taken back."""

    def prepare(project: Project, _: int) -> Sequence[str]:
        path, three, four = (
            project.root / "perf-accepted.toml",
            project.out / "three",
            project.out / "four",
        )
        if not four.exists():
            three.write_bytes(path.read_bytes())
            project.must("accept", SLOWER[3], "--reason", "wanted")
            four.write_bytes(path.read_bytes())
        path.write_bytes((four if "--remove" in words else three).read_bytes())
        if "--remove" not in words:
            return words
        tables = tomllib.loads(four.read_text())
        return (
            *words,
            next(name for name, table in tables.items() if table["benchmark"] == SLOWER[3]),
        )

    return prepare


def _beginning(project: Project, number: int) -> Sequence[str]:
    root = project.out / f"new-{number}"
    root.mkdir()
    project.git("-C", str(root), "init", "--quiet")
    (root / "Makefile").write_text("all:\n\ttrue\n")
    (root / ".git/info/exclude").write_text(EXCLUDED)
    return ("-C", str(root), "init")


def _hooking(project: Project, _: int) -> Sequence[str]:
    hook = project.root / ".git/hooks/post-commit"
    for left in hook.parent.glob("*"):
        left.unlink()
    hook.write_text(OWN_HOOK)
    hook.chmod(0o755)
    return ("hook", "install")


def _unhooking(project: Project, number: int) -> Sequence[str]:
    project.must(*_hooking(project, number))
    return ("hook", "uninstall")


def _without_index(*words: str) -> Callable[[Project, int], Sequence[str]]:
    def prepare(project: Project, _: int) -> Sequence[str]:
        for path in [*project.home.glob("index.db*"), *project.home.glob("steps.db*")]:
            path.unlink()
        return words

    return prepare


def _checking(project: Project, _: int) -> Sequence[str]:
    for path in project.home.glob("verdicts.db*"):
        path.unlink()
    return ("check", "HEAD~1", "HEAD")


def _writing(suffix: str, *words: str) -> Callable[[Project, int], Sequence[str]]:
    return lambda project, number: (
        *words,
        "-o",
        str(project.out / f"{suffix.replace('#', str(number))}"),
    )


def _publishing(project: Project, number: int) -> Sequence[str]:
    """The whole site, or in every other try what one more profile changes."""
    if number % 2:
        shutil.rmtree(project.out / "site", ignore_errors=True)
    project.store.add([timed(project.commits[2], "job0", 5000 + number)], "One more")
    return ("publish", "../out/site")


def _exporting_table(project: Project, number: int) -> Sequence[str]:
    path = project.store.paths(project.commits[2])[0]
    return ("export", path, "--format", "csv", "-o", str(project.out / f"table-{number}.csv"))


COMMANDS = (
    Command("collect A B", _fixed("collect", "--json", "HEAD~1", "HEAD"), adds(4), partial=True),
    Command("collect", _fixed("collect"), adds(2), partial=True),
    Command(
        "collect -- COMMAND",
        _fixed("collect", "-n", "3", "--", "sleep", "0.005"),
        adds(1),
        partial=True,
    ),
    Command(
        "check --measure",
        _fixed("check", "--measure", "-n", "3", "HEAD~1", "HEAD"),
        adds(4),
        (0, 3, 4),
        partial=True,
    ),
    Command("check --audit", _fixed("check", "--audit", "-n", "5"), adds(4), partial=True),
    Command("check", _checking, keeps, (3,)),
    Command("import", _importing, adds(FILES)),
    Command(
        "Store.add", _adding, adds(*accumulate(BATCHES)), program=(sys.executable, str(ADDING))
    ),
    Command("process", _processing, replaces),
    Command("rm", _removing, removes),
    Command("push", _pushing, keeps),
    Command("pull", _pulling, adds(5), partial=True),
    Command("gc", _fixed("gc"), keeps),
    Command("fsck", _fixed("fsck"), keeps),
    Command("log (no index)", _without_index("log"), keeps),
    Command("status (no index)", _without_index("status"), keeps),
    Command("history (no index)", _without_index("history"), keeps),
    Command("accept", _accepting("accept", SLOWER[3], "--reason", "wanted"), accepts),
    Command("accept --remove", _accepting("accept", "--remove"), accepts),
    Command("init", _beginning, whole_init),
    Command("hook install", _hooking, whole_hooks),
    Command("hook uninstall", _unhooking, whole_hooks),
    Command("publish", _publishing, whole_site),
    Command("show", _fixed("show", "--no-open"), whole_page),
    Command("show -o", _writing("page.html", "show"), whole_page),
    Command("export", _writing("export-#", "export", "HEAD"), whole_files),
    Command("export -o FILE", _exporting_table, whole_table),
)
# these write nothing but what can be made again
READING = tuple(
    Command(words, _fixed(*words.split()), keeps)
    for words in (
        "--help",
        "--version",
        "log --json",
        "status --json",
        "history job0 --json",
        "show --text",
        "show job0 --text",
        "plan",
        "accept --list",
        "rm -n HEAD",
        "hook status",
    )
)


def chosen(names: Sequence[str], *, reading: bool = False) -> list[Command]:
    """The commands of these names, or all that write; those that only read, too, where asked."""
    commands = COMMANDS + READING if reading else COMMANDS
    unknown = set(names) - {command.name for command in commands}
    if unknown:
        raise SystemExit(
            f"there is no command {sorted(unknown)}; there are:"
            f" {', '.join(command.name for command in commands)}"
        )
    return [command for command in commands if not names or command.name in names]
