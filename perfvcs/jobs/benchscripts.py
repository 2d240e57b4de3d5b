"""Scripts that are benchmarks by their name and by their content, in any language, and the tests of
projects in Perl, Lua, Ruby and shell.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from perfvcs.jobs.ownfiles import OF_SUFFIX, file_text, language_of, module_names, own_files
from perfvcs.jobs.starter import Proposal

BENCHMARK_FOLDERS = ("bench", "benches", "benchmark", "benchmarks", "perf")
# a program may have these of its own: they are folders of benchmarks where a benchmark is in them
MAYBE_FOLDERS = ("performance", "speed")
MOST_SCRIPTS = 8  # benchmarks beside each other that are proposed together
MOST_READ = 200  # files that are read
NAME = re.compile(r"(?:.*[-_.])?(?:bench|perf|speed|timing)\w*(?:[-_.].*)?", re.IGNORECASE)
# these prepare benchmarks, whatever else their names say
PREPARES = re.compile(
    r"(?:get|set-?up|install|download|fetch|gen|generate|build|clean|conftest|_|test_)"
    r"(?![a-z]).*|_.*",
    re.IGNORECASE,
)
# so do these, in a folder of benchmarks, where they are not called benchmarks
HELPS = re.compile(
    r"(?:.*[-_.])?(?:plot|report|make|helpers?|util\w*|common|config|update|compare|results?"
    r"|times?|timers?)"
    r"(?:[-_.].*)?",
    re.IGNORECASE,
)
# what runs all of them; and what measures other versions than the one that is checked out
RUNNER = re.compile(r"(?:run|all|main|suite)(?:[-_.].*)?", re.IGNORECASE)
OTHER_VERSIONS = re.compile(
    r"\b(?:rvm|rbenv|pyenv|nvm|chruby|asdf|perlbrew)[ \t]+[a-z$]|\bgit[ \t]+(?:checkout|co|clone)\b"
)
LOOP = r"^[ \t]{0,99}(?:for|while|until)\b"
# how a script times something, or does it again and again
TIMES = {
    "python": r"\bperf_counter|\btimeit\b|\bprocess_time\b|\btime\.time\(|\bmonotonic\(|\bpyperf\b"
    r"|\bperfvcs_bench\b|\bcProfile\b|\btracemalloc\b",
    "shell": rf"(?:^|[\s;(])time\s|\bhyperfine\b|\bperf stat\b|\bdate \+%s|{LOOP}",
    "node": r"\bperformance\.now\b|\bhrtime\b|\bconsole\.time\b|\bbenchmark\b|\btinybench\b"
    r"|\bmitata\b|\bbenny\b|\bDate\.now\(",
    "perl": r"\buse Benchmark\b|\bTime::HiRes\b|\b(?:cmpthese|timethis|timethese)\b",
    "lua": r"\bos\.clock\b|\bgettime\b|\bbench",
    "ruby": r"\bBenchmark\b|\bclock_gettime\b|\bTime\.now\b",
}
# how it imports the module NAME of the project, or something beside itself
IMPORTS = {
    "python": r"^[ \t]{0,99}(?:from|import)[ \t]{1,9}(?:NAME)\b",
    "shell": r"(?:^|[\s;./])(?:NAME)\b",
    "node": r"(?:require\(|from |import\()[ \t]{0,9}['\"](?:\.{1,2}/|(?:NAME)['\"/])",
    "perl": r"^[ \t]{0,99}(?:use|require)[ \t]{1,9}(?:NAME)\b",
    "lua": r"['\"](?:\.{1,2}/){0,9}(?:\w{1,80}[./]){0,9}(?:NAME)(?:\.lua)?['\"]",
    "ruby": r"\brequire(?:_relative)?[ \t]{1,9}['\"][./\w]{0,200}(?:NAME)\b",
}
# what a script for Node takes from a package, which npm has to install
TAKEN = r"(?:\brequire\(|\bfrom |\bimport\(|\bimport )[ \t]{0,9}['\"]"
PACKAGE = re.compile(
    rf"{TAKEN}(?!\.|node:|(?:assert|buffer"
    r"|child_process|cluster|crypto|events|fs|os|path|perf_hooks|process|stream|url|util"
    r"|worker_threads)(?:/\w{1,20})?['\"])"
)
# with which a script of pyperf reports
PYPERF = re.compile(r"\bpyperf\.Runner\b|\bfrom pyperf import\b.{0,200}\bRunner\b")
# These take turns for some seconds, however slow one is: as a whole they tell nothing. What starts
# pyperf as a program is among them.
FOR_SECONDS = {
    "python": re.compile(
        r"\bpyperf\b|\bautorange\(|\btimeit\.main\(|-m['\", ]{0,9}timeit\b(?!.{0,200}-n)"
    ),
    "shell": re.compile(r"-m ?(?:pyperf|timeit)\b(?!.{0,200}-n)"),
    "node": re.compile(
        r"\bBenchmark\.Suite\b|(?:\brequire\(|\bfrom |\bimport\(|\bimport )[ \t]{0,9}['\"]"
        r"(?:benchmark|tinybench|mitata|benny)['\"]"
    ),
    "perl": re.compile(r"\b(?:cmpthese|timethese|timethis)\b[\s('\"]{0,9}(?:-|0\b)"),
    "ruby": re.compile(r"\bBenchmark\.ips\b"),
}
# Python's modules alone do nothing: something at the top level has to run
RUNS = re.compile(r"^(?:if __name__|for |while |with |print|[A-Za-z_][\w.]*\()", re.MULTILINE)
ABOVE = re.compile(r"['\"\s]\.\./")  # a path from the script's own folder
SIBLING = re.compile(r"\b(?:loadfile|dofile)\b|require[ \t]{0,9}\(?['\"]util\b")
FOLDER_FIRST = ("lua", "shell", "perl")  # in which such a path is the working folder's


class BenchmarkScript(NamedTuple):
    """A script that is a benchmark: its path, its language, and whether it ``imports`` something of
    the project.
    """

    path: str
    language: str
    imports: bool
    inside: bool  # it expects to run in its own folder
    alone: bool = False  # it needs no package for Node
    pyperf: bool = False  # it reports by pyperf

    @property
    def name(self) -> str:
        """What its job is called."""
        return PurePosixPath(self.path).stem

    def command(self, root: Path, *, inside: bool) -> str:
        """The command that runs it, in its own folder or at the project's top."""
        folder, _, name = self.path.rpartition("/")
        up = "/".join([".."] * len(folder.split("/"))) if folder else "."
        lib = "lib" if not inside else f"{up}/lib"
        program = {"python": "python", "node": "node", "lua": "lua"}.get(self.language, "")
        if self.language in ("perl", "ruby"):
            program = f"{self.language} -I{lib}" if (root / "lib").is_dir() else self.language
        if self.language == "shell":
            program = shell_of(root, self.path)
        if inside and folder:
            return f"env -C {shlex.quote(folder)} {program} {shlex.quote(name)}"
        return f"{program} {shlex.quote(self.path)}"


def shell_of(root: Path, path: str) -> str:
    """The shell that runs a script, by its first line."""
    first = file_text(root / path).partition("\n")[0]
    return "bash" if "bash" in first or path.endswith(".bash") else "sh"


def benchmark_scripts(root: Path, files: Sequence[str], main: str = "") -> list[BenchmarkScript]:
    """The scripts that are benchmarks: in the folders of benchmarks, and at the top. Those that
    import something of the project come first, of these the ones in its ``main`` language.
    """
    modules = [re.escape(name) for name in module_names(files)]
    names = "|".join(modules[:500]) or r"\b\B"
    candidates = [name for name in files if _is_named(root, name)]
    read = [_read(root, name, names) for name in candidates[:MOST_READ]]
    scripts = [script for script in read if script is not None]
    return sorted(
        scripts,
        key=lambda script: (not script.imports, script.language != main, script.path.count("/")),
    )


def beside_each_other(scripts: Sequence[BenchmarkScript]) -> list[BenchmarkScript]:
    """The first script, and those beside it that are as good and in the same language."""
    first = scripts[0]
    folder = first.path.rpartition("/")[0]
    return [
        script
        for script in scripts
        if (script.path.rpartition("/")[0], script.language, script.imports, script.pyperf)
        == (folder, first.language, first.imports, first.pyperf)
    ][:MOST_SCRIPTS]


def _is_named(root: Path, path: str) -> bool:
    """Whether a file is a benchmark by its name, and by the folder in which it lies."""
    folders, stem = path.split("/")[:-1], PurePosixPath(path).stem
    is_called = NAME.fullmatch(stem) is not None
    if PREPARES.fullmatch(stem) or not path.isprintable():
        return False
    if HELPS.fullmatch(stem) and not is_called:
        return False
    if not folders:
        return is_called and bool(language_of(root, path))
    # a folder inside has what the benchmarks share; packages have tests beside their benchmarks
    inside = len(folders) == 1 and folders[0] in (*BENCHMARK_FOLDERS, *MAYBE_FOLDERS)
    return inside and _suffix(path) in OF_SUFFIX


def _suffix(path: str) -> str:
    return PurePosixPath(path).suffix.lower()


def _read(root: Path, path: str, names: str) -> BenchmarkScript | None:
    """A script that is a benchmark by its content; None for any other file."""
    language = language_of(root, path)
    if language not in TIMES:
        return None
    text = file_text(root / path)
    if language == "python" and not RUNS.search(text):
        return None
    pyperf = language == "python" and PYPERF.search(text) is not None
    for_seconds = FOR_SECONDS.get(language)
    if for_seconds and not pyperf and for_seconds.search(text):
        return None
    times = re.search(TIMES[language], text, re.MULTILINE) is not None
    imports = re.search(IMPORTS[language].replace("NAME", names), text, re.MULTILINE) is not None
    stem = PurePosixPath(path).stem
    is_called = any(pattern.fullmatch(stem) for pattern in (NAME, RUNNER))
    if not times and not (imports and is_called):
        return None
    if language == "shell" and OTHER_VERSIONS.search(text):
        return None
    inside = language in FOLDER_FIRST and bool(ABOVE.search(text) or SIBLING.search(text))
    alone = language == "node" and not PACKAGE.search(text)
    return BenchmarkScript(path, language, imports, inside and "/" in path, alone, pyperf)


def commands(root: Path, scripts: Sequence[BenchmarkScript]) -> Iterator[dict[str, str]]:
    """The commands of some scripts by the names of their jobs: as they expect to be run, then in
    the other folder.
    """
    for other in (False, True):
        chosen: dict[str, str] = {}
        for script in scripts:
            chosen[script.name] = script.command(root, inside=script.inside != other)
        yield chosen
        if not any(script.inside for script in scripts):
            return


MOST_TESTS = 5  # test scripts that are proposed
MOST_TOGETHER = 8  # test scripts beside each other that are proposed together
# shell scripts that run all tests, and those that are one
RUNS_TESTS = re.compile(
    r"(?:(?:run|all)[-_]?)?tests?(?:[-_]?(?:all|runner|suite))?|tests?/(?:run|all|main)(?:[-_]?tests?)?"
)
OF_MINITEST = re.compile(r"test_(?!helper\.rb).*\.rb|.*_test\.rb")
IS_TEST = re.compile(r".*[-_]tests?|tests?[-_].*")


def perl(root: Path) -> Iterator[Proposal]:
    """Its tests by prove, with what its Makefile.PL builds where it has sources of C."""
    files = own_files(root)
    if not any(name.startswith("t/") and name.endswith(".t") for name in files):
        return
    built = ("perl Makefile.PL", "make") if (root / "Makefile.PL").is_file() else ()
    compiled = any(name.endswith((".xs", ".c")) for name in files if name.count("/") < 2)
    if built and compiled:
        yield Proposal("a Perl project with tests", "prove --blib t", "tests", built)
        return
    yield Proposal("a Perl project with tests", "prove --lib t", "tests")
    if built:
        yield Proposal("a Perl project with tests", "prove --blib t", "tests", built)


def lua(root: Path) -> Iterator[Proposal]:
    """Its tests by busted, or scripts that are tests."""
    files = own_files(root)
    if any(name.endswith("_spec.lua") for name in files):
        yield Proposal("a Lua project with tests", "busted", "tests")
    tests = [
        name
        for name in files
        if name.endswith(".lua") and "test" in PurePosixPath(name).stem and name.count("/") < 2
    ]
    for name in tests[:MOST_TESTS]:
        folder, _, script = name.rpartition("/")
        found = f"a Lua project with the test {name}"
        if folder:
            inside = f"env -C {shlex.quote(folder)} lua {shlex.quote(script)}"
            yield Proposal(found, inside, "tests")
        yield Proposal(found, f"lua {shlex.quote(name)}", "tests")


def ruby(root: Path) -> Iterator[Proposal]:
    """Its tests by rspec or by rake."""
    files = own_files(root)
    if any(name.startswith("spec/") and name.endswith("_spec.rb") for name in files):
        yield Proposal("a Ruby project with tests", "rspec", "tests")
    if (root / "Rakefile").is_file():
        yield Proposal("a Ruby project with tests", "rake test", "tests")
    named = [
        name
        for name in files
        if name.startswith("test/") and OF_MINITEST.fullmatch(name.rpartition("/")[2])
    ]
    lib = " -Ilib" if (root / "lib").is_dir() else ""
    commands = {
        PurePosixPath(name).stem: f"ruby{lib} -Itest {shlex.quote(name)}"
        for name in named[:MOST_TOGETHER]
    }
    yield from _beside("a Ruby project with tests", commands)


def shell(root: Path) -> Iterator[Proposal]:
    """Its tests by bats, by the script that runs all of them, or one by one."""
    files = own_files(root)
    folders = {name.rpartition("/")[0] for name in files if name.endswith(".bats")}
    for folder in sorted(folders)[:1]:
        yield Proposal("a shell project with tests", f"bats {shlex.quote(folder or '.')}", "tests")
    scripts = [
        name
        for name in files
        if name.count("/") < 2 and name.isprintable() and language_of(root, name) == "shell"
    ]
    runners = [name for name in scripts if RUNS_TESTS.fullmatch(name.rpartition(".")[0] or name)]
    for name in runners[:MOST_TESTS]:
        cmd = f"{shell_of(root, name)} {shlex.quote(name)}"
        yield Proposal(f"a shell project with the tests {name}", cmd, "tests")
    tests = [
        name
        for name in scripts
        if name not in runners and IS_TEST.fullmatch(PurePosixPath(name).stem)
    ]
    beside = [name for name in tests if name.rpartition("/")[0] == tests[0].rpartition("/")[0]]
    commands = {
        PurePosixPath(name).stem: f"{shell_of(root, name)} {shlex.quote(name)}"
        for name in beside[:MOST_TOGETHER]
    }
    yield from _beside("a shell project with tests", commands)


def _beside(found: str, commands: dict[str, str]) -> Iterator[Proposal]:
    """Commands by the names of their jobs, all at once: those that do not run are left out."""
    if commands:
        (name, cmd), *others = commands.items()
        yield Proposal(found, cmd, name, beside=tuple(others))
