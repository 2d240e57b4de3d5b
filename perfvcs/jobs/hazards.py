"""What the files of a command would do beside measuring: remove, download, install, or write
outside the project. `perf init` names it before it runs anything.
"""

from __future__ import annotations

import json
import posixpath
import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, pairwise
from pathlib import Path
from typing import NamedTuple

from msgspec.structs import replace

from perfvcs.jobs.commandwords import ENTERING, entered, parts, started
from perfvcs.jobs.makefile import Makefile
from perfvcs.jobs.ownfiles import file_text
from perfvcs.jobs.starter import Proposal
from perfvcs.profile.rules import LARGEST_RULES
from perfvcs.text.words import counted, listed

LONGEST_LINE = 1_000  # characters of a line that are searched
MOST_FILES = 30  # scripts of a command, and those that they start
MOST_HAZARDS = 20
MOST_MAKEFILES = 20  # of one command
MAKE = re.compile(r"\b[bg]?make\b")
MAKEFILES = ("-f", "--file", "--makefile")  # before the name of one
NAMED = re.compile(r"(?:-f|--(?:make)?file=)([^=].*)")
LOOPED = re.compile(r"\$\$[({]?\w{1,50}[)}]?")  # the variable of a loop in a recipe
START = r"(?:^|[\s;&|(){}`'\"@!-])(?:/[\w./-]{0,99}/)?"  # before a word that a shell runs
DONE = {
    "removes": rf"{START}(?:rm|rmdir|shred)['\"]?,?\s|\bshutil\.rmtree\(|\brmSync\(|\brimraf\b"
    r"|\bfind\s[^|;]{0,200}-delete\b|\bos\.removedirs\(|\bremove_tree\(",
    "downloads": rf"{START}(?:curl|wget)['\"]?,?\s|\burlretrieve\(",
    "installs": r"\bpip3?['\"]?,?\s+['\"]?install\b|\b(?:npm|pnpm)\s+(?:install|ci|i)\b"
    r"|\byarn\s+(?:add|install)\b|\b(?:apt|apt-get|brew|dnf|yum|gem|cargo|luarocks|cpan|go)\s+"
    rf"(?:-\S+\s+)?install\b|{START}cpanm?\s",
    "asks for root": rf"{START}(?:sudo|doas)\s",
    "changes the repository": rf"{START}git\s+(?:-[cC]\s*\S+\s+)?"
    r"(?:push|reset|clean|checkout|stash)\b",
}
PATTERNS = {what: re.compile(pattern) for what, pattern in DONE.items()}
# of shells only: elsewhere it compares; devices, and files in a folder for temporary ones, are no
# harm
OUTSIDE = re.compile(
    r"[^-=>]>{1,2}\s*['\"]?(?:/(?!dev/(?:null|std|tty|fd)|(?:var/)?tmp/\w[\w.-]*(?:['\"\s;&|)]|$))"
    r"|~|\.\./|\$\{?HOME\b)"
)
UNSEEN, TOO_LARGE = "is not searched to its end", f"it has over {LARGEST_RULES >> 20} MiB"
SHELLS = (".sh", ".bash", ".ksh", ".zsh", "")
SCRIPTS = (*SHELLS, ".py", ".js", ".mjs", ".cjs", ".pl", ".lua", ".rb", ".bat")
COMMENTS = ("#", "//", "--", ";", "*")
AUTOCONF = "GNU Autoconf"  # whose scripts remove only what they made
WORD = re.compile(r"[\w./-]{2,200}")
LEFT_OUT = re.compile(r"--ignore=\S{1,1000}")  # files that pytest does not run
# what a loop of a shell runs over
TURNS = re.compile(r"\bfor\s{1,9}\w{1,50}\s{1,9}in\s([^;]{1,500})")
PATTERN = re.compile(r"[\w./-]{0,200}\*[\w.-]{0,50}")
NPM_INSTALLS = ("preinstall", "install", "postinstall", "prepare")


class Hazard(NamedTuple):
    """A line that does something beside measuring."""

    place: str
    what: str
    text: str

    def __str__(self) -> str:
        return f"{self.place} {self.what}: {self.text}"


class _Text(NamedTuple):
    """A line of a file, which a shell runs or another interpreter; without a number where it is
    put together from several.
    """

    path: str
    number: int | None
    line: str
    shell: bool


def hazards(root: Path, proposal: Proposal) -> list[Hazard]:
    """The lines of what a proposal runs and builds that do something beside measuring, in the
    order in which they are found.
    """
    found: dict[tuple[str, str], Hazard] = {}
    commands = [*proposal.build, *proposal.commands.values()]
    for text in chain(_copied(proposal), _texts(root, commands)):
        line = text.line[:LONGEST_LINE]
        comments = "#" if text.shell else COMMENTS
        if text.number is not None and line.lstrip().startswith(comments):
            continue
        what = next((what for what, pattern in PATTERNS.items() if pattern.search(line)), "")
        if text.line is TOO_LARGE:
            what = UNSEEN
        if not what and text.shell and OUTSIDE.search(f" {line}"):
            what = "writes outside the project"
        if what:
            place = text.path if text.number is None else f"{text.path}:{text.number}"
            found.setdefault((place, line), Hazard(place, what, line.strip()))
        if len(found) == MOST_HAZARDS:
            break
    return list(found.values())


def harmless(root: Path, proposal: Proposal) -> Proposal | None:
    """A proposal with hazards, without the jobs that have one; None where nothing is left."""
    names = [name for name in proposal.commands if not hazards(root, proposal.only([name]))]
    if not names:
        return None
    left = proposal.only(names)
    left_out = listed([name for name in proposal.commands if name not in names])
    return replace(left, found=f"found {counted(len(names), 'benchmark')}, without {left_out}")


def _copied(proposal: Proposal) -> Iterator[_Text]:
    """The commands that are text of the project's files, the long ones in parts that overlap."""
    for path, command in proposal.copied:
        for start in range(0, len(command), LONGEST_LINE // 2):
            yield _Text(path, None, command[start : start + LONGEST_LINE], shell=True)


def _texts(root: Path, commands: Iterable[str]) -> Iterator[_Text]:
    """The lines of Makefiles, packages and scripts that commands run, and of those that they
    start.
    """
    ahead: list[str] = []
    for command in commands:
        for text in _asked(root, command):
            ahead += _scripts(root, text.path.rpartition("/")[0], text.line)
            yield text
        ahead += _scripts(root, next(entered(command), ""), LEFT_OUT.sub("", command))
    seen: set[str] = set()
    while ahead and len(seen) < MOST_FILES:
        path = ahead.pop(0)
        if path in seen:
            continue
        seen.add(path)
        content = file_text(root / path)
        if len(content) >= LARGEST_RULES:
            yield _Text(path, 0, TOO_LARGE, shell=False)
        if AUTOCONF in content[:2000]:
            continue
        shell = _is_shell(path, content)
        for number, line in enumerate(content.split("\n"), 1):
            yield _Text(path, number, line, shell)
            if shell and len(ahead) < MOST_FILES:
                ahead += _scripts(root, path.rpartition("/")[0], line[:LONGEST_LINE])


def _asked(root: Path, command: str) -> Iterator[_Text]:
    """The lines that make or npm runs for a command."""
    yield from _made(root, command)
    words = shlex.split(command)
    if words[0] == "npm":
        text = file_text(root / "package.json")
        written = _package_scripts(text)
        for name in sorted(written.keys() & _npm_scripts(words[1:])):
            place = text.find(json.dumps(written[name], ensure_ascii=False))
            number = 1 + text.count("\n", 0, max(0, place))
            yield _Text("package.json", number, written[name], shell=True)


def _made(root: Path, command: str) -> Iterator[_Text]:
    """The lines that make runs for a command, and for the calls of make in them."""
    asked = [*_makes("", command)][:MOST_MAKEFILES]
    for folder, words in asked:  # which grows meanwhile
        makefile = Makefile(root / folder, _makefile(words))
        targets = [word for word in words if word in makefile.rules] or [makefile.first]
        for name, rule in chain.from_iterable(map(makefile.reached, targets)):
            for path, number, line in rule.recipe:
                place = posixpath.normpath(posixpath.join(folder, path))
                yield _Text(place, number, line, shell=True)
                again = makefile.expanded(line[:LONGEST_LINE].replace("$@", name))
                if MAKE.search(again) and len(asked) < MOST_MAKEFILES:
                    asked += [call for call in _makes(folder, again) if call not in asked]


def _makes(folder: str, command: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The folders of the project in which a command calls make, also those of a loop, and the words
    that may be targets; the command runs in a ``folder``.
    """
    split = parts(command)
    turns = [word for part in split if part[0] == "for" for word in part[3:]]
    for part in split:
        text = shlex.join(part)
        inside = posixpath.join(folder, *entered(text, 0))
        if "cd" in part:
            folder = inside
        for asked in started(text, 0):
            if not MAKE.fullmatch(asked.program):
                continue
            words = tuple(w for last, w in pairwise(("", *asked.given)) if last not in ENTERING)
            for turn in turns if "$$" in inside else [""]:
                place = posixpath.normpath(turn.join(LOOPED.split(inside)))
                if not place.startswith(("/", "..")):
                    yield place if place != "." else "", words


def _makefile(words: Sequence[str]) -> str:
    """The file that a call of make names in place of a Makefile; empty if none."""
    for before, word in pairwise(("", *words)):
        if before in MAKEFILES:
            return word
        if match := NAMED.fullmatch(word):
            return match[1]
    return ""


def _package_scripts(text: str) -> dict[str, str]:
    """The scripts in a package.json, on whichever of its lines."""
    try:
        package = json.loads(text.removeprefix("\ufeff"))
    except (ValueError, RecursionError):  # npm reads it neither
        return {}
    scripts = package.get("scripts") if isinstance(package, dict) else None
    pairs = scripts.items() if isinstance(scripts, dict) else ()
    return {name: script for name, script in pairs if isinstance(script, str)}


def _npm_scripts(words: Sequence[str]) -> set[str]:
    """The names of the package's scripts that npm runs."""
    plain = [word for word in words if not word.startswith("-")]
    if plain[0] in ("ci", "install"):
        return set() if "--ignore-scripts" in words else {*NPM_INSTALLS}
    name = plain[1] if plain[0] in ("run", "run-script") else plain[0]
    return {name, f"pre{name}", f"post{name}"}


def _scripts(root: Path, folder: str, text: str) -> Iterator[str]:
    """The scripts of the project that a line names, from its top or from a folder."""
    loops = "".join(TURNS.findall(text))
    for word in [*WORD.findall(text), *PATTERN.findall(loops)]:
        for start in dict.fromkeys(("", folder)):
            path = posixpath.normpath(posixpath.join(start, word))
            if path.startswith(("/", "..")):
                continue
            named = sorted(root.glob(path)) if "*" in path else [root / path]
            for script in named[:MOST_FILES]:
                if _is_script(script):
                    yield script.relative_to(root).as_posix()


def _is_script(path: Path) -> bool:
    if path.suffix not in SCRIPTS or not path.is_file():
        return False
    return bool(path.suffix) or file_text(path)[:2] == "#!"


def _is_shell(path: str, content: str) -> bool:
    """Whether a shell runs a script."""
    first = content.partition("\n")[0]
    if first.startswith("#!"):
        return re.search(r"\b(?:ba|da|k|z)?sh\b", first) is not None
    return Path(path).suffix in SHELLS
