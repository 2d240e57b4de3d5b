"""``perf completion``."""

from __future__ import annotations

import click

from perfvcs.text.examples import examples

SHELLS = ("bash", "zsh", "fish")


@examples(
    ("perf completion bash", "the script for bash"), ("perf completion fish", "the script for fish")
)
@click.command()
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def command(context: click.Context, shell: str) -> None:
    """Print a script that completes commands, options, revisions, jobs and benchmarks in a shell.

    bash: add `eval "$(perfvcs completion bash)"` to ~/.bashrc. zsh: the same with zsh, to ~/.zshrc.
    fish: save the output as ~/.config/fish/completions/perf.fish.
    """
    from click.shell_completion import get_completion_class

    from perfvcs.commands._output import echo

    kind = get_completion_class(shell)
    assert kind
    if shell == "bash":
        echo("COMP_WORDBREAKS=${COMP_WORDBREAKS//:/}")  # names have colons: one name is one word
    for name in ("perf", "perfvcs"):
        echo(kind(context.find_root().command, {}, name, f"_{name.upper()}_COMPLETE").source())
