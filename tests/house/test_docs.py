"""The documentation is true: its console blocks are replayed, and the page of commands is what
``--help`` says.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from importlib import import_module
from itertools import zip_longest
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from cases import each
from click import Command, Context, Parameter
from conftest import ROOT, script
from pictures import refusal

from perfvcs import plugins
from perfvcs.check.method import names
from perfvcs.cli import group

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
NEEDS = re.compile(r"<!-- needs: ([^>]+?) -->")
BLOCK = re.compile(
    r"(?P<skip><!-- (?:not replayed|as in): [^>]+-->\s*\n)?(?:<!-- recorded: (?P<always>[^\n]+)"
    r" -->\n)?```console\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
SECONDS = 300  # for one document
WORDS = 45_000  # of all documents for users: what somebody reads in three hours
RECORDED = ROOT / "docs" / "recorded"
# what commands of these pages drew when they were recorded
DRAWN = ROOT / "docs" / "images" / "recorded"
# by `make docs`: those with a recording too, which is written anew
ALL = os.environ.get("PERFVCS_DOCUMENTS") == "run"
END = "end-of-the-output"

Step = tuple[str, str]


def steps(document: str, *, anew: bool = False) -> list[Step]:
    """The commands of a document's blocks, each with the output written below it.

    A command starts with ``$ ``; lines that start with ``> `` go on with it. The output below
    ``<!-- recorded: A | B -->`` is exactly that of the recording; one that is run ``anew`` has to
    have A, and B after it.
    """
    found: list[Step] = []
    for block in BLOCK.finditer(document):
        if block["skip"]:
            continue
        for line in block["text"].splitlines():
            if line.startswith("$ "):
                found.append((line[2:], ""))
                continue
            assert found, f"output before the first command: {line}"
            command, output = found[-1]
            found[-1] = (
                (f"{command}\n{line[2:]}", output)
                if line.startswith("> ") and not output
                else (command, f"{output}{line}\n")
            )
        if anew and block["always"]:
            found[-1] = (
                found[-1][0],
                "".join(f"...\n...{part}...\n" for part in block["always"].split(" | ")) + "...\n",
            )
    return found


def renewed(document: str, said: list[dict[str, str]]) -> dict[str, str]:
    """The recorded blocks of a document, each with what it becomes by new outputs; a block has one
    command.
    """
    outputs = {step["command"]: step["output"].strip("\n") for step in said}
    commands = {
        block["text"]: block["text"].partition("\n")[0]
        for block in BLOCK.finditer(document)
        if block["always"]
    }
    return {
        fenced(text): fenced(f"{command}\n{outputs[command[2:]]}\n")
        for text, command in commands.items()
    }


def fenced(text: str) -> str:
    return f"```console\n{text}```\n"


def matches(expected: str, actual: str) -> bool:
    """Whether an output is as documented: a line ``...`` stands for any lines, a word with ``...``
    for any text in its place.

    Runs of spaces are one space, since columns grow with what ``...`` stands for; spaces and empty
    lines at the end do not count.
    """
    pattern = ""
    for line in expected.splitlines():
        if line.strip() == "...":
            pattern += r"(?:.*\n)*?"
        else:
            words = " ".join(line.split())
            pattern += ".*?".join(re.escape(part) for part in words.split("...")) + r"\n"
    lines = [" ".join(line.split()) for line in actual.rstrip().splitlines()]
    return re.fullmatch(pattern, "".join(f"{line}\n" for line in lines)) is not None


def replay(commands: list[Step], folder: Path) -> Iterator[tuple[str, str, str]]:
    """Run commands in one shell (so that ``cd`` and variables last); gives each with its expected
    and its actual output.
    """
    environment = os.environ | {
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "LC_ALL": "C.UTF-8",
    }
    shell = subprocess.Popen(
        ["sh"],
        cwd=folder,
        env=environment,
        text=True,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    watchdog = threading.Timer(SECONDS, shell.kill)
    watchdog.start()
    with shell, ExitStack() as stack:
        stack.callback(watchdog.cancel)
        assert shell.stdin and shell.stdout
        for number, (command, expected) in enumerate(commands):
            script = folder.parent / f"step-{number}"
            script.write_text(f"{command}\n")
            shell.stdin.write(f". {script} </dev/null; printf '\\n%s\\n' {END}\n")
            shell.stdin.flush()
            lines = []
            for line in shell.stdout:
                if line.rstrip("\n") == END:
                    break
                lines.append(line)
            else:
                pytest.fail(
                    f"the shell ended, or took over {SECONDS} s, at: {command}\n{''.join(lines)}"
                )
            yield command, expected, "".join(lines)
        shell.stdin.close()


@pytest.fixture
def documented(project):
    """What every document starts from: a git repository with a Python program ``work.py`` and two
    commits.
    """
    project.write("work.py", "print(sum(number * number for number in range(20_000)))\n")
    project.commit("a program")
    project.write("work.py", "print(sum(number * number for number in range(30_000)))\n")
    project.commit("it does more")
    return project


def named(page: Path) -> str:
    """A page by its path from the top."""
    return str(page.relative_to(ROOT))


def documents() -> list[Path]:
    """The pages that have something to replay."""
    return [page for page in PAGES if steps(page.read_text())]


def needed(page: Path) -> list[str]:
    """The tools that a document needs for its blocks: it names them in ``<!-- needs: gcc, Python.h
    -->``.
    """
    return [tool for found in NEEDS.findall(page.read_text()) for tool in found.split(", ")]


def recording(page: Path) -> Path:
    """Where the output of a page that takes seconds is kept; `make docs` runs such a page, `make
    test` reads this.
    """
    name = named(page).removeprefix("docs/").removesuffix(".md").replace("/", "-")
    return RECORDED / f"{name}.json"


def run_for_real() -> list[Any]:
    pages = [page for page in documents() if ALL or not recording(page).exists()]
    return [
        pytest.param(page, id=named(page), marks=pytest.mark.needs(*needed(page))) for page in pages
    ]


@pytest.mark.parametrize("page", run_for_real())
def test_a_document_shows_what_happens(page, documented, pictures):
    said = []
    for command, expected, actual in replay(steps(page.read_text(), anew=True), documented.root):
        assert matches(expected, actual), (
            f"{page.name} says about `{command}`:\n{expected}\nbut it prints:\n{actual}"
        )
        said.append(
            {"command": command, "output": actual.replace(str(documented.root.parent), "/home/ada")}
        )
    if recording(page).exists():
        recording(page).write_text(json.dumps(said, indent=1, ensure_ascii=False) + "\n")
        for old, new in renewed(page.read_text(), said).items():
            page.write_text(page.read_text().replace(old, new))
            source = f"<!-- as in: {named(page)} -->\n"
            for other in PAGES:
                if source + old in (text := other.read_text()):
                    other.write_text(text.replace(source + old, source + new))
        for name in drawn(page):
            (file,) = documented.root.parent.rglob(name)
            (DRAWN / name).write_bytes(pictures.compact(file.read_bytes(), width=1200))


@each("page", [page for page in documents() if recording(page).exists()], ids=named)
def test_a_document_shows_what_happened_when_it_was_recorded(page):
    assert stale(steps(page.read_text()), json.loads(recording(page).read_text())) is None, (
        f"{named(page)}: run PERFVCS_DOCUMENTS=run .venv-test/bin/python -m pytest"
        f" 'tests/house/test_docs.py::test_a_document_shows_what_happens[{named(page)}]'"
    )


def stale(documented: list[Step], recorded: list[dict[str, str]]) -> str | None:
    """The first command of a document that was recorded otherwise, or not at all."""
    for step, known in zip_longest(documented, recorded):
        if (
            step is None
            or known is None
            or step[0] != known["command"]
            or not matches(step[1], known["output"])
        ):
            return step[0] if step else known["command"]
    return None


def drawn(page: Path) -> list[str]:
    """The pictures of a page that were recorded with it."""
    return re.findall(rf"]\({DRAWN.relative_to(RECORDED.parent)}/(.+?)\)", page.read_text())


def test_a_recorded_picture_is_drawn_by_a_command_of_its_page(pictures):
    for page in documents():
        written = [
            Path(name).name
            for command, _ in steps(page.read_text())
            for name in re.findall(r"-o (\S+)", command)
        ]
        assert set(drawn(page)) <= set(written if recording(page).exists() else ()), named(page)
    assert {path.name for path in DRAWN.iterdir()} == {
        name for page in documents() for name in drawn(page)
    }
    assert all(path.stat().st_size <= pictures.LARGEST for path in DRAWN.iterdir())


def test_an_output_that_a_page_takes_from_another_is_there():
    for page in PAGES:
        for name, block in re.findall(
            r"<!-- as in: (\S+) -->\n(```console\n.*?^```$)",
            page.read_text(),
            re.MULTILINE | re.DOTALL,
        ):
            source = dict(steps((ROOT / name).read_text()))
            for command, output in steps(block):
                assert matches(output, source.get(command, "")), (
                    f"{named(page)} shows an output of `{command}` that {name} has not"
                )


def test_only_a_page_with_a_recording_has_recorded_outputs():
    for page in documents():
        assert recording(page).exists() or "<!-- recorded: " not in page.read_text(), named(page)


def test_no_recording_is_left_of_a_document_that_is_gone():
    assert set(RECORDED.iterdir()) <= {recording(page) for page in documents()}


@pytest.mark.parametrize(
    ("documented", "first"),
    [
        ([("perf log", "a ...\n")], None),
        ([("perf log", "b\n")], "perf log"),
        ([("perf log -n1", "a ...\n")], "perf log -n1"),
        ([("perf log", "a ...\n"), ("perf status", "")], "perf status"),
        ([], "perf log"),
    ],
)
def test_a_recording_that_is_not_of_the_document_is_noticed(documented, first):
    assert stale(documented, [{"command": "perf log", "output": "a 5\n"}]) == first


def prose(page: Path) -> str:
    """A page's text without its blocks of code."""
    return re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)


def anchors(page: Path) -> set[str]:
    """What a link to a heading of a page may name: its words in small letters, joined by
    hyphens.
    """
    headings = re.findall(r"^#+ (.+)$", prose(page), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@each("page", PAGES, ids=named)
def test_a_link_to_a_file_of_ours_leads_somewhere(page):
    for target, anchor in re.findall(r"\]\(([^)#:]*)(?:#([^)]*))?\)", prose(page)):
        file = page.parent / target if target else page
        assert file.exists(), f"{named(page)} links to {target}"
        assert not anchor or anchor in anchors(file), f"{named(page)} links to {target}#{anchor}"


def test_the_documents_for_users_are_short(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "docs")
    assert script(ROOT / "docs" / "size.py").words(ROOT) <= WORDS, (
        "leave out what another page, a recorded output or a message says already"
    )


def test_blocks_and_comments_do_not_count_as_words(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(ROOT / "docs")
    (tmp_path / "docs" / "exchange").mkdir(parents=True)
    for name in ("log.md", "cli.md", "evaluation.md", "exchange/csv.md"):
        (tmp_path / "docs" / name).write_text(
            "# A title\n\n<!--\nnot this\n-->\n```console\n$ nor this\n```\n| and `this` | - |\n"
        )
    assert script(ROOT / "docs" / "size.py").words(tmp_path) == 2 * 4


@pytest.mark.parametrize("folder", [ROOT / "docs" / "evaluation"], ids=named)
def test_the_page_of_headlines_leads_to_every_page_of_its_folder(folder):
    linked = re.findall(r"\]\(([^)#:]+)", prose(folder.with_suffix(".md")))
    assert {str(page.relative_to(folder.parent)) for page in folder.glob("*.md")} <= set(linked)


def code(page: Path) -> list[str]:
    """What stands in code font between the words of a page."""
    return re.findall(r"(?<!`)`([^`\n]+)`(?!`)", prose(page))


@each("page", PAGES, ids=named)
def test_a_module_or_a_script_in_code_font_exists(page):
    for text in code(page):
        for script_ in re.findall(
            r"(?:^|\s)((?:benchmarks|tests|docs|examples|perfvcs|collectors|views|postprocessors)/[\w/.-]+)",
            text,
        ):
            assert (ROOT / script_.rstrip("/.")).exists(), f"{named(page)} names {script_}"
        if re.fullmatch(r"perfvcs(\.[A-Za-z_]\w*)+", text) and not text.endswith(".h"):
            assert is_there(text), f"{named(page)} names {text}"


def is_there(name: str) -> bool:
    """Whether a dotted name is a module, or something in one; an entry point group is named like a
    module.
    """
    if name in {
        f"perfvcs.{family}"
        for family in ("collectors", "postprocessors", "views", "methods", "formats")
    }:
        return True
    if (ROOT / "perfvcs/native" / name).is_file():  # which programs in other languages include
        return True
    parts = name.split(".")
    for place in range(len(parts), 0, -1):
        with suppress(ModuleNotFoundError):
            found: object = import_module(".".join(parts[:place]))
            for part in parts[place:]:
                if not hasattr(found, part):
                    return False
                found = getattr(found, part)
            return True
    return False


@each("page", PAGES, ids=named)
def test_an_option_of_perf_in_code_font_exists(page):
    for text in code(page):
        if words := re.match(r"perf ([a-z]+)(?= |$)", text):
            command = group.get_command(Context(group), words[1])
            if command is None:
                continue  # of Linux perf
            options = {
                option
                for parameter in subcommands(command)
                for option in (*parameter.opts, *parameter.secondary_opts)
            }
            for option in re.findall(r"(?<= )--[a-z][a-z-]*", text.partition(" -- ")[0]):
                assert option in {*options, "--help", "--json"}, (
                    f"{named(page)} says `{text}`: there is no {option}"
                )


def subcommands(command: Command) -> list[Parameter]:
    """The parameters of a command, and of those below it."""
    below = getattr(command, "commands", {}).values()
    return [*command.params, *(parameter for each in below for parameter in each.params)]


@pytest.fixture(scope="module")
def generator() -> ModuleType:
    return script(ROOT / "docs" / "generate_cli.py")


@pytest.fixture(scope="module")
def pictures() -> ModuleType:
    return script(ROOT / "docs" / "pictures.py")


def test_the_page_of_commands_is_what_they_say_themselves(generator):
    assert generator.PAGE.read_text() == generator.page(), "run: python docs/generate_cli.py"


def test_every_method_is_explained_and_none_that_there_is_not():
    text = (ROOT / "docs" / "methods.md").read_text()
    explained = re.findall(r"^### (.+)$", text, flags=re.MULTILINE)
    assert sorted(explained) == names()
    assert re.findall(r"^\| \[`(.+?)`\]\(#\1\)", text, flags=re.MULTILINE) == explained, (
        "the table at the top has another order"
    )


@each("page", PAGES, ids=named)
def test_a_picture_says_in_words_what_it_shows(page):
    for words, target in re.findall(r"!\[(.*?)\]\((.*?)\)", page.read_text()):
        assert len(words.split()) >= 5, (
            f"{page.name}: {target} needs a text for those who cannot see it"
        )


def test_the_pictures_are_those_that_the_script_draws(pictures):
    drawn = {f"{name}.png" for name in (*pictures.PICTURES, *pictures.SITE)}
    there = {path.name for path in pictures.IMAGES.glob("*.png")}
    assert drawn == there, "run: python docs/pictures.py"
    assert all((pictures.IMAGES / name).stat().st_size <= pictures.LARGEST for name in drawn)


def test_every_picture_can_be_drawn(pictures, tmp_path):
    for name, picture in pictures.PICTURES.items():
        if picture.measured:
            continue  # by `make demo`
        folder = tmp_path / name
        folder.mkdir()
        assert refusal(plugins.find("views", picture.view)(), picture.subject(folder)) is None


# the comparison itself


@pytest.mark.parametrize(
    ("expected", "actual"),
    [
        ("", ""),
        ("a  b\n", "a b   \n\n"),
        ("wall ... ms\n", "wall   12.5 ms\n"),
        ("commit ...\n", "commit 8c7f6a1\n"),
        ("...\n", ""),
        ("...\n", "anything\nat all\n"),
        ("first\n...\nlast\n", "first\nlast\n"),
        ("first\n...\nlast\n", "first\n1\n2\nlast\n"),
        ("(1.0 +/- ...)*\n", "(1.0 +/- 2)*\n"),
    ],
)
def test_what_is_as_documented_matches(expected, actual):
    assert matches(expected, actual)


@pytest.mark.parametrize(
    ("expected", "actual"),
    [
        ("", "unexpected\n"),
        ("a\n", ""),
        ("a\n", "a\nb\n"),
        ("wall ... ms\n", "cpu 1 ms\n"),
        ("1.0\n", "1x0\n"),
        ("a ...\n", "a 1\nb\n"),
    ],
)
def test_what_is_not_as_documented_does_not(expected, actual):
    assert not matches(expected, actual)


def test_commands_and_outputs_are_distinguished():
    text = (
        "```console\n$ cat <<E\n> one\n> E\none\n$ true\n```\n\n<!-- not replayed: a reason"
        " -->\n```console\n$ rm -r /\n```\n"
    )
    assert steps(text) == [("cat <<E\none\nE", "one\n"), ("true", "")]


def test_a_recorded_output_has_to_say_the_same_when_it_is_run_again_and_is_written_anew():
    text = (
        "<!-- recorded: grew | status 3 -->\n```console\n$ check\nlist grew by 5 %\n\nstatus"
        " 3\n```\n"
    )
    assert steps(text) == [("check", "list grew by 5 %\n\nstatus 3\n")]
    ((_, expected),) = steps(text, anew=True)
    assert matches(expected, "it grew by 6 %\nand\nexit status 3\n")
    assert not matches(expected, "it grew by 6 %\nexit status 0\n")
    (new,) = renewed(text, [{"command": "check", "output": "it grew\nstatus 3\n\n"}]).values()
    assert new == "```console\n$ check\nit grew\nstatus 3\n```\n"


def test_a_replay_keeps_the_folder_and_the_variables(tmp_path):
    (tmp_path / "start").mkdir()
    commands = [
        ("mkdir inner && cd inner", ""),
        ("there=$(pwd)", ""),
        ('echo "$there"; cat', ""),
        ("echo wrong >&2; false", ""),
        ("echo $?", ""),
    ]
    said = [actual.strip() for _, _, actual in replay(commands, tmp_path / "start")]
    assert said[:4] == ["", "", str(tmp_path / "start" / "inner"), "wrong"]


def test_what_nobody_can_do_is_shown_by_tests_that_are_there():
    rows = re.findall(
        r"^\| .* \| `(\S+)::(\w+)` \|$",
        (ROOT / "docs" / "evaluation" / "trust.md").read_text(),
        re.MULTILINE,
    )
    assert len(rows) > 20
    missing = [
        name for file, name in rows if f"def {name}(" not in (ROOT / "tests" / file).read_text()
    ]
    assert not missing
