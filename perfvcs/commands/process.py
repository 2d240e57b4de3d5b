"""``perf process``."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

import click

from perfvcs.commands._completion import words_or_files
from perfvcs.commands._options import FilePath
from perfvcs.commands._output import echo
from perfvcs.commands._wanted import arguments
from perfvcs.text.examples import examples
from perfvcs.text.words import counted

SUFFIXES = (".json", ".gz", ".z", ".csv", ".perf")
HELP = ("-h", "--help")


class Members(click.Group):
    """A group whose members are the postprocessors; the options of each are the fields of its
    dataclass.
    """

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """The postprocessors, as they are written in perf.toml."""
        from perfvcs import plugins

        return [name.replace("_", "-") for name in plugins.names("postprocessors")]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """The postprocessor of that name; None when there is none."""
        from perfvcs.errors import UsageError
        from perfvcs.plugins import find

        try:
            find("postprocessors", cmd_name)
        except UsageError:
            return None
        return _command(cmd_name)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does, with a suggestion; ``perf process NAME --help`` is about the postprocessor
        NAME.
        """
        from perfvcs.errors import nearest

        name, rest = args[0], args[1:]
        if name in HELP and not rest:
            name, rest = ctx.params["target"], [name]
            # a revision: help on all of them
            if "did you mean" not in nearest(name, self.list_commands(ctx)):
                echo(ctx.get_help())
                ctx.exit()
        command = self.get_command(ctx, name)
        if command is None:
            raise click.UsageError(
                f"there is no postprocessor `{name}`{nearest(name, self.list_commands(ctx))}", ctx
            )
        return name, command, rest


@examples(
    ("perf process HEAD outliers", "mark them in all profiles"),
    ("perf process HEAD regression --help", "the options of a postprocessor"),
)
@click.group(cls=Members, invoke_without_command=True, subcommand_metavar="POSTPROCESSOR [OPTIONS]")
@click.argument("target", metavar="REVISION|PROFILE|BENCHMARK|FILE", shell_complete=words_or_files)
@click.pass_context
def command(ctx: click.Context, target: str) -> None:
    """Apply a postprocessor to stored profiles or to a file.

    Processes all profiles of a revision, one by its path or id, or those of a benchmark's job at
    HEAD; the results replace the profiles in the store. `perf process HEAD regression --help` lists
    the options of a postprocessor; perf.toml takes the same ones.
    """
    if ctx.invoked_subcommand is None:
        from perfvcs.errors import UsageError

        names = command.list_commands(ctx)
        if target in names:
            raise UsageError(
                f"name what to process before `{target}`, such as: perf process HEAD {target}"
            )
        raise UsageError(
            f"name a postprocessor after {target!r:.100}; there are: {', '.join(names)}"
        )


def _command(name: str) -> click.Command:
    """The command of one postprocessor."""
    from perfvcs import plugins

    name = name.replace("_", "-")
    member = plugins.find("postprocessors", name)
    hints = get_type_hints(member)
    options: list[click.Parameter] = [
        _option(field.name, hints[field.name], field.default) for field in fields(member)
    ]
    options += [
        click.Option(["-j", "--job", "_jobs"], **arguments("stored")),
        click.Option(
            ["-o", "--output", "_output"],
            type=FilePath(path_type=Path),
            help="With a file: where to write the result.",
        ),
        click.Option(["--json", "_json"], is_flag=True, help="Print JSON."),
    ]

    @click.pass_context
    def run(
        ctx: click.Context,
        /,
        *,
        _jobs: tuple[str, ...],
        _output: Path | None,
        _json: bool,
        **given: Any,
    ) -> None:
        assert ctx.parent is not None
        target = ctx.parent.params["target"]
        values = {
            key: _value(key, value, hints[key])
            for key, value in given.items()
            if value is not None and value != ()
        }
        built = plugins.build("postprocessors", name, values, f"perf process {target}")
        _run(target, name, built, _jobs, _output, as_json=_json)

    text = (member.__doc__ or "").replace("``", "`")
    return examples(
        (f"perf process HEAD {name}", "all profiles of HEAD"),
        (f"perf process HEAD {name} -j sort", "those of one job"),
    )(
        click.Command(
            name, callback=run, params=options, help=text, short_help=text.partition(".")[0]
        )
    )


def _run(
    target: str,
    name: str,
    member: Any,
    jobs: tuple[str, ...],
    output: Path | None,
    *,
    as_json: bool,
) -> None:
    from perfvcs.errors import UsageError
    from perfvcs.reports import process as report

    if Path(target).is_file() and target.endswith(SUFFIXES):
        outcomes = [_file(Path(target), name, member, output)]
        stored = f"wrote {output}" if output else "the result for a file is not stored without -o"
    elif output:
        raise UsageError(f"-o is for files, and {target!r:.100} is in the store: use `perf export`")
    else:
        from perfvcs.git.project import UnknownRevision
        from perfvcs.profile.benchmarkfilter import FilterWords
        from perfvcs.repository import Repository
        from perfvcs.repository.arguments import read_profiles

        repository = Repository.find()
        try:
            cure = f"HEAD {name} -j {{}}"
            asked = read_profiles(repository, [target], FilterWords(jobs=jobs), otherwise=cure)
            outcomes = report.process(repository, asked.revision, asked.benchmarks, member, name)
        except UnknownRevision:
            if target.endswith(SUFFIXES):
                raise UsageError(
                    f"there is no file {target!r:.100}, and no such profile in the store"
                ) from None
            raise
        changed = sum(outcome.changed for outcome in outcomes)
        stored = f"stored {counted(changed, 'new version')}"
    echo(report.document(outcomes) if as_json else "\n".join([*report.lines(outcomes), stored]))
    for note in report.notes(outcomes):
        echo(note, err=True)


def _file(path: Path, name: str, member: Any, output: Path | None) -> Any:
    from hashlib import sha256

    from perfvcs.exchange.delivery import into_file
    from perfvcs.formats import read
    from perfvcs.reports.process import apply

    old = read(path)
    new, outcome = apply(old, member, name, sha256(old.encode()).hexdigest(), str(path))
    if output:
        into_file(output, new.encode(), force=True)
    return outcome


def _option(name: str, hint: Any, default: Any) -> click.Option:
    """An option from a field of a dataclass."""
    flag = f"--{name.replace('_', '-')}"
    usual = (
        "" if default in ("", (), None) else f"By default {', '.join(map(str, _listed(default)))}."
    )
    if hint is bool:
        return click.Option([f"{flag}/--no-{flag[2:]}", name], default=None, help=usual)
    words = _words(hint)
    multiple = any(get_origin(part) is tuple for part in _parts(hint))
    choices = ""
    if words:
        choices = f"{'Of' if multiple else 'One of'} {', '.join(words)}."
    help_ = " ".join(filter(None, [choices, usual]))
    kind = "WORD" if words else {int: "N", float: "X"}.get(_parts(hint)[0], "NAME")
    return click.Option(
        [flag, name],
        multiple=multiple,
        default=None,
        metavar=f"{kind}[,{kind}...]" if multiple else kind,
        help=help_,
    )


def _listed(default: Any) -> tuple[Any, ...]:
    return default if isinstance(default, tuple) else (default,)


def _parts(hint: Any) -> tuple[Any, ...]:
    """The members of a union, else the type itself."""
    import types
    import typing

    return get_args(hint) if get_origin(hint) in (types.UnionType, typing.Union) else (hint,)


def _words(hint: Any) -> list[str]:
    """The words that a type lists, those of its lists too."""
    inner = [get_args(part)[0] if get_origin(part) is tuple else part for part in _parts(hint)]
    return [str(word) for part in inner if get_origin(part) is Literal for word in get_args(part)]


def _value(option: str, given: Any, hint: Any) -> Any:
    """What an option's text means: a list where the field is one, numbers where it may be a
    number.
    """
    from perfvcs.errors import UsageError, nearest

    if isinstance(given, bool):
        return given
    parts = _parts(hint)
    if isinstance(given, tuple):
        words = [word for text in given for word in text.split(",")]
        alone = [word for part in parts if get_origin(part) is Literal for word in get_args(part)]
        inner = next(get_args(part)[0] for part in parts if get_origin(part) is tuple)
        if len(words) == 1 and words[0] in alone:
            return words[0]
        return [_value(option, word, inner) for word in words]
    if (words_allowed := _words(hint)) and len(parts) == 1 and given not in words_allowed:
        raise UsageError(
            f"--{option.replace('_', '-')} cannot be `{given[:80]}`{nearest(given, words_allowed)}"
        )
    for kind in (int, float):
        if kind in parts:
            try:
                return kind(given)
            except ValueError:
                continue
    if not {str, bool} & set(parts) and not words_allowed:
        what = "a number" if float in parts else "a whole number"
        raise UsageError(f"--{option.replace('_', '-')} is `{given[:80]}`: give {what}")
    return given
