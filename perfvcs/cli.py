"""The command line: finds the commands in ``commands/``, imports the one that is called, and turns
errors into exit codes.
"""

from __future__ import annotations

import errno
import importlib
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import takewhile
from typing import Any

import click

from perfvcs.errors import CURES, PerfError, UsageError
from perfvcs.system import interruption
from perfvcs.text.examples import examples

COMMANDS = os.path.join(os.path.dirname(__file__), "commands")  # noqa: PTH118, PTH120 - pathlib is not needed for --help
LONGEST_ERROR = 2000  # characters of an error
INTERRUPTED = 130  # 128 + SIGINT
READER_GONE = 141  # 128 + SIGPIPE, as git does
FOLDER_GONE = 10  # as where there is no repository
OF_BOTH = ("check", "help", "version")  # commands that Linux perf has, too


class Commands(click.Group):
    """A group whose members are the files of ``perfvcs/commands``: each has an attribute
    ``command`` and is named like its file.

    ``import_.py`` is the command ``import``. Listing reads the files' text and imports none of
    them.
    """

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """The names, sorted."""
        return sorted(_files())

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """The command of that name, imported now; None when there is no such file."""
        stem = _files().get(cmd_name)
        if stem is None:
            return None
        found: click.Command = importlib.import_module(f"perfvcs.commands.{stem}").command
        return found

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does; what only Linux perf has is handed to it, and for anything else the
        closest name is suggested.

        Raises UsageError also where Linux perf's `diff` is asked to compare revisions.
        """
        name = args[0]
        command = self.get_command(ctx, name)
        if ctx.resilient_parsing:  # a shell completes
            return name, command, args[1:]
        if name == "diff" and (sides := _revisions(args[1:])):
            raise UsageError(
                "`perf diff` of Linux perf compares recordings: compare revisions with `perf check"
                f" {' '.join(sides)}`"
            )
        if ctx.info_name == "perf" and (command is None or name in OF_BOTH):
            from perfvcs.system import linuxperf

            if linuxperf.owns(args, _is_here):
                linuxperf.hand_over(args)
        if command is not None:
            from perfvcs.system import children

            interruption.unwind()
            ctx.with_resource(children.keeping())
            return name, command, args[1:]
        raise click.UsageError(f"there is no command {name!r}{_suggestion(name)}", ctx)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List all commands with the first sentence of their help."""
        rows = [
            (name, _summary(stem) or self._imported_summary(ctx, name))
            for name, stem in sorted(_files().items())
        ]
        if rows:
            with formatter.section("Commands"):
                formatter.write_dl(rows)

    def _imported_summary(self, ctx: click.Context, name: str) -> str:
        command = self.get_command(ctx, name)
        return command.get_short_help_str(100) if command else ""

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: Any,
    ) -> click.Context:
        """Parse."""
        with _exit_codes():
            return super().make_context(info_name, args, parent, **extra)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command that was named."""
        with _exit_codes():
            return super().invoke(ctx)


@contextmanager
def _exit_codes() -> Iterator[None]:
    """Every error that was raised on purpose becomes one line on stderr and its exit code; all
    others stay tracebacks.
    """
    try:
        yield
    except PerfError as error:
        _leave(str(error), error.exit_code)
    except click.UsageError as error:
        where = error.ctx.command_path if error.ctx else "perf"
        _leave(f"{error.format_message().rstrip('.')}: see {where} --help", error.exit_code)
    except click.ClickException as error:
        _leave(error.format_message(), error.exit_code)
    except click.Abort:
        _leave("aborted; nothing changed", 1)
    except KeyboardInterrupt:
        _leave("interrupted", INTERRUPTED)
    except OSError as error:
        if error.errno == errno.EPIPE:
            if not _reader_gone():  # click would end quietly on any broken pipe
                raise RuntimeError("a process that we started stopped reading") from error
            _silence()
            raise click.exceptions.Exit(READER_GONE) from None
        if error.errno == errno.ENOENT and _folder_is_gone():
            _leave(
                "the current folder was deleted: go to another one (cd), or name one (perf -C DIR)",
                FOLDER_GONE,
            )
        if error.errno not in CURES:
            raise
        where = f"{error.filename}: " if error.filename else ""
        _drop_unwritten()
        _leave(f"{where}{CURES[error.errno]}", 1)


def _leave(message: str, status: int) -> None:
    if interruption.stopped():  # what cleaning up complains of is not why the program ends
        raise interruption.Stopped
    from perfvcs.text.characters import shorten

    # it may quote names from profiles and files: one line, and nothing that a terminal obeys
    click.echo(f"perf: {shorten(message, LONGEST_ERROR)}", err=True)  # noqa: TID251
    raise click.exceptions.Exit(status) from None


def _reader_gone() -> bool:
    """Whether it is our own stdout or stderr that nobody reads; a broken pipe to a process of ours
    is an error like any other.
    """
    import select

    poll = select.poll()
    for stream in (sys.stdout, sys.stderr):
        with_number = getattr(stream, "fileno", None)
        if with_number is not None:
            try:
                poll.register(with_number(), 0)  # POLLERR is always reported
            except (OSError, ValueError):
                continue
    return any(event & select.POLLERR for _, event in poll.poll(0))


def _folder_is_gone() -> bool:
    try:
        os.getcwd()  # noqa: PTH109
    except FileNotFoundError:
        return True
    return False


def _silence() -> None:
    """Let what is still buffered go nowhere, or Python complains about it when it ends."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        os.dup2(nowhere, stream.fileno())


def _drop_unwritten() -> None:
    """Let output that cannot be written go nowhere, or Python fails on it again when it ends, with
    exit status 120.
    """
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _files() -> dict[str, str]:
    """Command name -> module name, from the names of the files in ``commands/``."""
    stems = [
        name.removesuffix(".py")
        for name in os.listdir(COMMANDS)  # noqa: PTH208
        if name.endswith(".py") and not name.startswith("_")
    ]
    return {stem.rstrip("_").replace("_", "-"): stem for stem in stems}


def _summary(stem: str) -> str:
    """The first paragraph of the docstring of ``def command`` in a file, read as text: importing
    all of them takes longer.
    """
    with open(f"{COMMANDS}/{stem}.py", encoding="utf-8") as file:
        _, _, command = file.read().partition("\ndef command(")
    signature, _, docstring = command.partition('"""')
    if "\n\n" in signature:  # it has none, and this is the one of another function
        return ""
    lines = map(str.strip, docstring.partition('"""')[0].split("\n"))
    return " ".join(takewhile(bool, lines)).rstrip(".")


def _suggestion(name: str) -> str:
    from difflib import get_close_matches

    close = get_close_matches(name, _files(), n=1)
    return f", did you mean {close[0]!r}?" if close else ""


def _revisions(words: Sequence[str]) -> Sequence[str]:
    """The words, where the first two are revisions or ranges and no files; a benchmark may follow
    them.
    """
    sides = words[:2]
    named = all(not os.path.exists(word) and _is_here(word) for word in sides)  # noqa: PTH110
    return words if named else ()


def _is_here(name: str) -> bool:
    """Whether something here is called so: a file, or a revision or range of the repository."""
    from perfvcs.git.project import Project

    try:
        return os.path.exists(name) or bool(Project.find().fixed(name))  # noqa: PTH110
    except PerfError:
        return False


def _change_folder(
    ctx: click.Context,
    parameter: click.Parameter,  # noqa: ARG001
    folders: tuple[str, ...],
) -> None:
    for folder in folders:
        try:
            os.chdir(folder)
        except OSError as error:
            raise click.UsageError(f"-C {folder}: {error.strerror}", ctx) from None


def _show_version(ctx: click.Context, parameter: click.Parameter, asked: bool) -> None:  # noqa: ARG001, FBT001
    if asked and not ctx.resilient_parsing:
        from perfvcs.commands.version import show

        show()
        ctx.exit()


@examples(
    ("perf init", "begin: propose benchmarks in perf.toml"),
    ("perf check --measure HEAD~1 HEAD", "did the last commit make it slower?"),
)
@click.group(
    cls=Commands,
    name="perf",
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.option(
    "-v",
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_show_version,
    help="Show the version and exit.",
)
@click.option(
    "-C",
    "folder",
    metavar="DIR",
    multiple=True,
    expose_value=False,
    is_eager=True,
    callback=_change_folder,
    help="Run as if started in DIR; repeated, each DIR is relative to the one before.",
)
@click.pass_context
def group(context: click.Context) -> None:
    """Keep the performance history of a git repository beside its code history."""
    if context.invoked_subcommand is None:
        from perfvcs.commands._output import echo
        from perfvcs.reports.status import lines

        for line in lines():
            echo(line)


def main() -> None:
    """Run the command line of this process; ``perfvcs.entry`` has taken care of signals."""
    # where a standard stream is closed, a file of ours must not get its number: what we start would
    # write into it
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode))  # noqa: SIM115
    started_as = os.path.basename(sys.argv[0])  # noqa: PTH119
    group.main(prog_name="perf" if started_as == "perf" else "perfvcs")
