"""The files that are a project's own, how many lines of each language they have, and their texts
without comments.
"""

from __future__ import annotations

import fnmatch
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath

from perfvcs.git.command import GitError, git
from perfvcs.profile.rules import LARGEST_RULES
from perfvcs.system.foreign import beginning

MOST_FILES = 2_000  # files of one pattern that are looked at
MOST_COUNTED = 3_000  # sources whose lines are counted
LONGEST_LINE = 500  # characters of a line on average; what has longer ones was generated
HEAD = 2_000  # characters of a file in which it says that it was generated
# what somebody else's packages, and builds, leave in a tree
VENDORED = frozenset(
    {
        *("node_modules", "vendor", "vendored", "_vendor", "third_party", "third-party"),
        *("thirdparty", "3rdparty", "external", "extern", "site-packages", "dist", "__pycache__"),
    }
)
# folders of tests and of what they read: their languages are not the project's
BESIDE = frozenset({"t", "test", "tests", "testing", "testdata", "spec", "specs", "fixtures"})
BESIDE |= {"samples", "example", "examples", "doc", "docs", "corpus", "fuzz"}
GENERATED = re.compile(r"@generated\b|\bDO NOT EDIT\b|\b[Gg]enerated (?:by|from)\b")
LANGUAGES = {
    "python": (".py", ".pyx"),
    "native": (".c", ".cc", ".cpp", ".cxx", ".h", ".hh", ".hpp", ".hxx"),
    "rust": (".rs",),
    "go": (".go",),
    "node": (".js", ".mjs", ".cjs", ".ts", ".mts", ".tsx", ".jsx"),
    "perl": (".pl", ".pm", ".t", ".xs"),
    "lua": (".lua",),
    "ruby": (".rb",),
    "shell": (".sh", ".bash"),
    "java": (".java",),
}
OF_SUFFIX = {suffix: language for language, suffixes in LANGUAGES.items() for suffix in suffixes}
SHEBANG = re.compile(r"#!.*?\b(python|perl|lua|ruby|node|bash|sh)[\d.]{0,9}(?!\w)")
OF_PROGRAM = {"sh": "shell", "bash": "shell"}


def own_files(root: Path) -> list[str]:
    """The paths of the project's own files below ``root``, those higher up first.

    What git ignores is left out, and what lies in a hidden folder or one of other people's
    packages.
    """
    try:
        listed = git(root, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    except GitError:  # a bare repository has no files
        return []
    names = {name for name in listed.split("\0") if name and _is_own(name)}
    return sorted(names, key=lambda name: (name.count("/"), name))


def _is_own(name: str) -> bool:
    folders = name.split("/")[:-1]
    hidden = any(folder.startswith(".") for folder in folders)
    return not hidden and not VENDORED.intersection(folders)


def file_text(path: Path) -> str:
    """The beginning of a file that a project wrote, which may be anything; empty without one."""
    return beginning(path, LARGEST_RULES).replace("\r\n", "\n")


def project_files(root: Path, pattern: str) -> list[Path]:
    """The own files below a folder whose path fits a pattern such as ``**/test_*.py``."""
    wanted = pattern.removeprefix("**/")
    fits = re.compile(fnmatch.translate(wanted)).match
    deep = wanted != pattern
    paths = (
        root / name for name in own_files(root) if fits(name.rpartition("/")[2] if deep else name)
    )
    return [path for path in paths if path.is_file()][:MOST_FILES]


def lines_by_language(root: Path, files: Sequence[str]) -> Counter[str]:
    """How many lines the own sources of each language have: those of tests, samples and documents
    only where there are no others. Generated sources have none.
    """
    sources = [name for name in files if language_of(root, name)]
    own = [name for name in sources if not BESIDE.intersection(name.split("/")[:-1])]
    chosen = own or sources
    counts: Counter[str] = Counter()
    for name in chosen[:: -(-len(chosen) // MOST_COUNTED) or 1]:
        counts[language_of(root, name)] += _lines(root / name)
    return counts


def language_of(root: Path, name: str) -> str:
    """The language of a file, by its suffix or the program in its first line; empty if none."""
    suffix = PurePosixPath(name).suffix
    if suffix or name.count("/") > 1:
        return OF_SUFFIX.get(suffix.lower(), "")
    match = SHEBANG.match(beginning(root / name, 100))
    return OF_PROGRAM.get(match[1], match[1]) if match else ""


def _lines(path: Path) -> int:
    """The lines of a source that somebody wrote."""
    try:
        if path.stat().st_size > LARGEST_RULES:
            return 0
    except OSError:
        return 0
    text = beginning(path, LARGEST_RULES)
    lines = text.count("\n") + 1
    if GENERATED.search(text[:HEAD]) or len(text) > LONGEST_LINE * lines:
        return 0
    return lines


def module_names(files: Sequence[str]) -> list[str]:
    """What other files import of the project: packages and modules at its top, below ``src`` and
    ``lib``.
    """
    names: dict[str, None] = {}
    for name in files:
        for module in _modules(PurePosixPath(name)):
            names[module] = None
    return [name for name in names if not UNTOLD.fullmatch(name)]


# files that others do not import, or that every project has
UNTOLD = re.compile(
    r"_.*|(?:index|main|setup|conftest|config|configure|init|utils?|common|helpers?|version)"
    r"|(?:tests?|docs?|examples?|samples?|tools?|scripts?|dev)|.*(?:bench|perf|test).*"
)


def _modules(path: PurePosixPath) -> Iterator[str]:
    """The names under which a source is imported."""
    language = OF_SUFFIX.get(path.suffix.lower())
    parts = path.parts[1:] if path.parts[0] in ("src", "lib") and path.parts[1:] else path.parts
    if language is None:
        return
    if len(parts) == 1:
        yield path.stem
    elif path.name in ("__init__.py", "init.lua") and len(parts) == 2:
        yield parts[0]
    elif path.suffix == ".pm":
        yield "::".join([*parts[:-1], path.stem])


MAKEFILE = r"(?:.*/)?(?:(?:GNU)?[Mm]akefile[^/]*|[^/]+\.ma?k)"
# a text in quotes, to its end or that of its line: what looks like a comment there is none
QUOTED = (
    r'"""[\s\S]*?(?:"""|\Z)'
    r"|'''[\s\S]*?(?:'''|\Z)"
    r'|"(?:\\[\s\S]|[^"\\\n])*"?'
    r"|'(?:\\[\s\S]|[^'\\\n])*'?"
)
NUMBER_SIGN = rf"(?m)(?P<text>{QUOTED})|(?:^|(?<=\s))#[^\n]*"
SLASHES = rf"(?m)(?P<text>{QUOTED})|(?:^|(?<=[\s;{{}}]))//[^\n]*|/\*[\s\S]*?(?:\*/|(?P<open>\Z))"
DASHES = rf"(?P<text>{QUOTED})|--[^\n]*"
BEGINNING = 100  # characters of a text in which its interpreter is looked for


COMMENTS: Mapping[str, str] = {
    **dict.fromkeys(("python", "perl", "ruby", "shell", "make"), NUMBER_SIGN),
    **dict.fromkeys(("native", "rust", "go", "node", "java"), SLASHES),
    "lua": DASHES,
}


def without_comments(path: str, text: str) -> str:
    """The text of a file without the comments that its language has; all of it where that is not
    known: what looks like a comment in data is data.

    >>> without_comments("cases.csv", "# 1\\n"), without_comments("cases.py", "x = 1  # 1\\n")
    ('# 1\\n', 'x = 1   \\n')
    """
    comments = COMMENTS.get(_language(path, text))
    return text if comments is None else re.sub(comments, _kept, text)


def _kept(comment: re.Match[str]) -> str:
    """What stays of a comment, or of a text in quotes: all of the latter, and of one without an
    end.
    """
    has_no_end = comment.groupdict().get("open") is not None
    return comment[0] if has_no_end or comment["text"] is not None else " "


def _language(path: str, text: str) -> str:
    """The language of a file, by its name or by the program in its first line."""
    if re.fullmatch(MAKEFILE, path):
        return "make"
    if suffix := PurePosixPath(path).suffix:
        return OF_SUFFIX.get(suffix.lower(), "")
    interpreter = SHEBANG.match(text[:BEGINNING])
    return OF_PROGRAM.get(interpreter[1], interpreter[1]) if interpreter else ""
