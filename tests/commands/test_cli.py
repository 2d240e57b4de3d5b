"""The group: it finds commands by their files, and turns errors into one line and an exit code."""

from __future__ import annotations

import errno
import importlib
import os
import re
import subprocess
import sys
from pathlib import Path

import click
import pytest
from cases import each
from click.testing import CliRunner, Result
from conftest import ROOT, Project

from perfvcs import __version__, cli, errors
from perfvcs.ci import civerdict
from perfvcs.judge import ruling
from perfvcs.reports import check

SCRIPTS = Path(sys.executable).parent


def perf(*args: str, **options: object) -> Result:
    return CliRunner().invoke(cli.group, args, **options)


@pytest.fixture
def commands(tmp_path, monkeypatch):
    """A folder of commands beside the real ones, and a function that writes one."""
    import perfvcs.commands

    folder = tmp_path / "commands"
    folder.mkdir()
    monkeypatch.setattr(cli, "COMMANDS", str(folder))
    monkeypatch.setattr(perfvcs.commands, "__path__", [str(folder)])

    def write(name: str, body: str, head: str = "") -> None:
        text = f"import click\n{head}\n@click.command()\ndef command() -> None:\n" + "".join(
            f"    {line}\n" for line in body.split("\n")
        )
        (folder / f"{name}.py").write_text(text)

    forget()  # commands that another test has imported
    yield write
    forget()


def forget() -> None:
    for name in [name for name in sys.modules if name.startswith("perfvcs.commands.")]:
        del sys.modules[name]


def test_a_file_is_a_command(commands):
    commands("greet", 'click.echo("hello")')
    assert perf("greet").output == "hello\n"


@pytest.mark.parametrize("command", ["blame", "mutate", "compare", "ci"])
def test_a_budget_without_a_time_is_not_endless(command):
    said = perf(command, "--budget", "")
    assert said.exit_code == 2
    assert said.output.startswith("perf: --budget: '' is not a time")


def test_a_trailing_underscore_is_not_part_of_the_name(commands):
    commands("import_", '"""Take in foreign profiles."""\nclick.echo("imported")')
    assert perf("import").output == "imported\n"
    assert "import  Take in foreign profiles\n" in perf("--help").output


def test_help_lists_all_commands_with_the_first_paragraph_of_their_help(commands):
    commands("one", '"""Say one,\nand nothing else.\n\nMore about it.\n"""')
    commands("two", 'r"""Say two."""', head="import nonsense_that_is_not_there")
    path = Path(cli.COMMANDS) / "two.py"
    path.write_text(path.read_text().replace("None:", "None:"))
    listed = perf("--help").output
    assert "one  Say one, and nothing else\n" in listed
    assert "two  Say two\n" in listed


def test_help_of_a_command_without_the_usual_form_comes_from_the_command(commands):
    commands("odd", "pass", head='odd = click.Command("odd", help="Oddly made.")')
    path = Path(cli.COMMANDS) / "odd.py"
    path.write_text(path.read_text() + "command = odd\n")
    assert "odd  Oddly made.\n" in perf("--help").output


def test_every_command_that_we_have_says_in_one_line_what_it_does():
    listed = perf("--help").output.partition("Commands:\n")[2].partition("Examples:")[0]
    names = [line.split()[0] for line in listed.splitlines() if re.match(r"  \S", line)]
    assert names == sorted(names)
    assert all(re.search(rf"^  {name} +[A-Z]", listed, re.MULTILINE) for name in names)
    assert "hook" in names


@each("name", cli.group.list_commands(click.Context(cli.group)))
def test_the_listed_summary_is_the_command_s_own(name):
    command = cli.group.get_command(click.Context(cli.group), name)
    first = command.help.partition("\n\n")[0]
    assert cli._summary(cli._files()[name]) == " ".join(first.split()).rstrip(".")


def test_without_arguments_it_shows_how_things_stand_and_what_to_do(project):
    assert "run `perf init`" in perf().output
    perf("init")
    assert "make the first one with `git commit`" in perf().output
    project.commit()
    project.configure()
    assert "measure what is missing with `perf collect`" in perf().output
    assert perf().output.endswith("all commands: perf --help\n")
    assert perf().exit_code == 0


def test_without_arguments_and_without_a_repository_it_is_no_error(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert "is not in a git repository: run `git init`" in perf().output
    assert perf().exit_code == 0


def test_the_version_names_us_and_not_linux_perf():
    assert re.fullmatch(
        rf"perfvcs {re.escape(__version__)} \([0-9a-f]{{10}}\+?\)\n", perf("--version").output
    )


@pytest.mark.parametrize("words", ["version", "-v"])
def test_the_version_can_be_asked_for_in_any_way(words):
    assert perf(words).output == perf("--version").output


def test_help_of_a_command_is_what_the_command_shows():
    assert perf("help").output == perf("--help").output
    assert perf("help", "check").output == perf("check", "--help").output
    assert perf("help", "hook", "install").output == perf("hook", "install", "--help").output
    assert perf("help", "process", "regression").output == (
        perf("process", "HEAD", "regression", "--help").output
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("chek", "there is no command 'chek', did you mean 'check'?"),
        ("check HEAD", "`perf check` has no commands of its own"),
        ("process regresion", "there is no postprocessor `regresion`; did you mean `regression`?"),
    ],
)
def test_help_of_what_is_not_there_names_the_closest(words, message):
    done = perf("help", *words.split())
    assert done.exit_code == 2
    assert message in done.output


def test_the_version_is_that_of_a_package_where_no_commit_is_known(monkeypatch, tmp_path):
    monkeypatch.setattr("perfvcs.repository.origin.CHECKOUT", tmp_path)
    assert perf("--version").output == f"perfvcs {__version__}\n"


def test_the_version_says_that_the_code_was_changed(monkeypatch, tmp_path):
    from perfvcs.repository import origin

    def git(*words):
        identity = ("-c", "user.name=a", "-c", "user.email=a@b.c")
        subprocess.run(["git", *identity, "-C", tmp_path, *words], check=True, capture_output=True)

    def known():
        origin._checked_out.cache_clear()
        return origin.commit()

    monkeypatch.setattr(origin, "CHECKOUT", tmp_path)
    (tmp_path / "perfvcs").mkdir()
    (tmp_path / "perfvcs" / "judge.py").write_text("answer = 1\n")
    git("init", "--quiet")
    git("add", ".")
    git("commit", "--quiet", "--message", "one")
    clean = known()
    assert re.fullmatch(r"[0-9a-f]{40}", clean)
    (tmp_path / "notes.md").write_text("not code")
    assert known() == clean
    (tmp_path / "perfvcs" / "method.py").write_text("answer = 2\n")  # a plugin is one file
    assert known() == f"{clean}+"


@pytest.mark.parametrize("flag", ["-h", "--help"])
def test_every_command_has_both_forms_of_help(flag):
    assert perf("hook", flag).output.startswith("Usage: perf hook")


def test_an_error_is_one_line_and_its_own_exit_code(commands):
    commands(
        "fail",
        'raise Locked("somebody else writes: wait")',
        head="from perfvcs.errors import PerfError\nclass Locked(PerfError): exit_code = 11",
    )
    done = perf("fail")
    assert (done.exit_code, done.output) == (11, "perf: somebody else writes: wait\n")


def test_a_returned_value_is_not_an_exit_code(commands):
    commands("seven", "return 7")
    assert perf("seven").exit_code == 0


def test_an_exit_code_can_be_given(commands):
    commands("four", "click.get_current_context().exit(4)")
    assert perf("four").exit_code == 4


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["hok"], "there is no command 'hok', did you mean 'hook'?: see perf --help"),
        (["zzzz"], "there is no command 'zzzz': see perf --help"),
        (["--nonsense"], "see perf --help"),
        (["hook", "install", "pre-pull"], "see perf hook install --help"),
        (["hook", "status", "--nonsense"], "see perf hook status --help"),
        (
            ["-C", "missing", "hook", "status"],
            "-C missing: No such file or directory: see perf --help",
        ),
    ],
)
def test_a_usage_error_is_one_line_and_two(args, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = perf(*args)
    assert done.exit_code == 2
    assert done.output.startswith("perf: ")
    assert done.output.endswith(message + "\n")
    assert done.output.count("\n") == 1


def test_another_click_exception_is_one_line(commands):
    commands("file", 'raise click.FileError("page.html", "is a directory")')
    done = perf("file")
    assert done.exit_code == 1
    assert done.output.startswith("perf: Could not open file 'page.html'")


def test_it_runs_as_if_started_in_another_folder(commands, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    commands("where", "import os\nclick.echo(os.getcwd())")
    (tmp_path / "a" / "b").mkdir(parents=True)
    assert perf("-C", "a", "-C", "b", "where").output == f"{tmp_path}/a/b\n"


@pytest.mark.parametrize("number", sorted(cli.CURES))
def test_a_disk_that_refuses_is_one_line_with_the_cure(commands, number):
    commands("write", f'raise OSError({number}, "refused", "/some/file")')
    done = perf("write")
    assert (done.exit_code, done.output) == (1, f"perf: /some/file: {cli.CURES[number]}\n")


def test_a_full_disk_under_the_output_is_named():
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [SCRIPTS / "perf", "--help"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 1
    assert done.stderr.startswith("perf: the disk is full")


@pytest.mark.parametrize(
    "error",
    [
        "ValueError('a bug')",
        f"OSError({errno.EISDIR}, 'a bug')",
        "BrokenPipeError(32, 'not our output')",
    ],
)
def test_anything_unexpected_stays_a_traceback(commands, error):
    commands("bug", f"raise {error}")
    done = perf("bug")
    assert done.exit_code == 1
    assert type(done.exception).__name__ in ("ValueError", "IsADirectoryError", "RuntimeError")


def test_an_unexpected_error_exits_with_one_and_a_traceback():
    done = subprocess.run(
        [sys.executable, "-c", "from perfvcs import cli; cli._files = None; cli.main()", "x"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "Traceback" in done.stderr


def test_an_interrupt_is_one_line_and_130(commands):
    commands("wait", "raise KeyboardInterrupt")
    done = perf("wait")
    assert (done.exit_code, done.output) == (130, "perf: interrupted\n")


def test_a_question_without_an_answer_changes_nothing(commands):
    commands("ask", 'click.confirm("Really?", abort=True)')
    done = perf("ask", input="")
    assert done.exit_code == 1
    assert "perf: aborted; nothing changed" in done.output


def test_a_reader_that_stops_reading_ends_it_quietly():
    """Like ``perf log | head -1``; the command writes until the pipe breaks."""
    writer = (
        "import click, sys; from perfvcs import cli\n"
        "@cli.group.command('forever')\n"
        "def forever():\n    while True: click.echo('line')\n"
        "cli.Commands.get_command = lambda self, ctx, name: forever\n"
        "sys.argv = ['perf', 'forever']; cli.main()"
    )
    for command in ([sys.executable, "-c", writer], ["perf", "--help"]):
        reading, writing = os.pipe()
        os.close(reading)
        environment = os.environ | {"PATH": f"{SCRIPTS}:{os.environ['PATH']}"}
        done = subprocess.run(
            command,
            stdout=writing,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
            check=False,
            timeout=60,
        )
        os.close(writing)
        assert (done.returncode, done.stderr) == (141, "")


@pytest.mark.parametrize("name", ["perf", "perfvcs"])
def test_both_console_scripts_and_the_module_are_the_same_program(name):
    script = subprocess.run(
        [SCRIPTS / name, "--version"], capture_output=True, text=True, check=True
    )
    module = subprocess.run(
        [sys.executable, "-m", "perfvcs", "--version"], capture_output=True, text=True, check=True
    )
    assert script.stdout == module.stdout
    assert script.stdout.startswith(f"perfvcs {__version__} ")


def test_help_calls_it_what_it_was_called():
    done = subprocess.run(
        [SCRIPTS / "perfvcs", "--help"], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("Usage: perfvcs ")


@pytest.mark.parametrize("closed", [(0,), (1,), (2,), (0, 1, 2)])
def test_closed_streams_do_not_disturb_a_measurement(project, closed):
    project.commit("one")
    words = "; ".join(f"os.close({number})" for number in closed)
    become = (
        f"import os, sys; {words}; os.execv(sys.executable, [sys.executable, '-m', 'perfvcs',"
        " *sys.argv[1:]])"
    )
    command = [
        sys.executable,
        "-c",
        become,
        "collect",
        "-n1",
        "--",
        "sh",
        "-c",
        "echo out; echo err >&2",
    ]
    assert subprocess.run(command, capture_output=True, check=False).returncode == 0
    assert (
        subprocess.run(
            [sys.executable, "-m", "perfvcs", "status"], capture_output=True, check=False
        ).returncode
        == 0
    )


@pytest.mark.parametrize(
    "words",
    [
        "status",
        "log",
        "init",
        "collect",
        "check",
        "show",
        "plan",
        "fsck",
        "gc",
        "hook status",
        "publish site",
    ],
)
def test_a_deleted_current_folder_is_one_line(project, words):
    project.commit()
    gone = project.root / "gone"
    gone.mkdir()
    script = 'cd gone && rmdir ../gone && exec "$@"'
    command = [sys.executable, "-P", "-m", "perfvcs", *words.split()]
    # it cannot start there
    uncovered = {
        name: value for name, value in os.environ.items() if not name.startswith("COVERAGE")
    }
    done = subprocess.run(
        ["sh", "-c", script, "sh", *command],
        env=uncovered,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 10
    assert (
        done.stderr
        == "perf: the current folder was deleted: go to another one (cd), or name one (perf -C"
        " DIR)\n"
    )


def test_another_folder_can_be_named_from_one_that_was_deleted(project):
    project.commit()
    (project.root / "gone").mkdir()
    command = [sys.executable, "-P", "-m", "perfvcs", "-C", str(project.root), "init"]
    done = subprocess.run(
        ["sh", "-c", 'cd gone && rmdir ../gone && exec "$@"', "sh", *command],
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "words",
    [
        "status",
        "log",
        "check",
        "show",
        "show --text",
        "history",
        "plan",
        "export",
        "process HEAD normalizer",
    ],
)
@pytest.mark.parametrize("orphan", [True, False])
def test_a_branch_without_commits_is_reported_in_one_line(project, perf, words, orphan):
    project.configure('cmd = "true"')
    if orphan:
        project.commit()
        perf("collect", "-q")
        project.git("checkout", "--quiet", "--orphan", "new")
    else:
        perf("init")
    said = perf(*words.split(), code=None)
    assert said.code in (2, 10)
    assert said.err.count("\n") == 1
    assert "no commits yet" in said.err


# -- the table of exit codes -----------------------------------------------------------------------

CODES = re.compile(r"^\| (\d+(?:, \d+)*) \|", re.MULTILINE)
SOURCES = Path(cli.__file__).parent


def of_errors(kind: type[errors.PerfError]) -> set[int]:
    return {kind.exit_code}.union(*map(of_errors, kind.__subclasses__()))


def test_the_table_of_exit_codes_has_those_of_the_code() -> None:
    for path in SOURCES.rglob("*.py"):
        if "native" not in path.parts and "exit_code = " in path.read_text():
            module = path.relative_to(SOURCES.parent).with_suffix("")
            importlib.import_module(".".join(module.parts).removesuffix(".__init__"))
    page = (ROOT / "docs" / "cli.md").read_text()
    rows = {int(code) for codes in CODES.findall(page) for code in codes.split(", ")}
    statuses = {0, check.DEGRADED, check.OPEN, *civerdict.STATUS.values(), *ruling.STATUS.values()}
    ended = {code for code in rows if code > 128}
    assert ended == {129, 130, 141, 143}
    assert rows - ended == statuses | of_errors(errors.PerfError)


READING = {
    ("log",): 0,
    ("history",): 0,
    ("status",): 0,
    ("check",): 4,
    ("show",): 4,
    ("plan",): 4,
    ("export",): 2,
    ("rm", "HEAD"): 2,
    ("process", "HEAD", "normalizer"): 2,
}


def test_commands_exit_as_the_table_says_where_nothing_is_measured(project: Project) -> None:
    def codes() -> dict[tuple[str, ...], int]:
        return {command: perf(*command).exit_code for command in READING}

    nowhere = dict.fromkeys(READING, 10)
    assert codes() == nowhere, "no commit"
    project.commit("one")
    assert codes() == nowhere, "no .perf"
    assert perf("init", "--no-try").exit_code == 0
    assert codes() == READING
    (project.root / ".git").rename(project.root / "elsewhere")
    assert codes() == nowhere, "no repository"
