"""`perf hook`: measure after each commit, check before each push."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from perfvcs.commands._options import flag
from perfvcs.commands._output import echo
from perfvcs.text.examples import examples

if TYPE_CHECKING:
    from collections.abc import Sequence

    from perfvcs.git.project import Project
    from perfvcs.hooks import Hook
    from perfvcs.hooks.push import Checked, Push

HOOK = click.Choice(["post-commit", "pre-push"])


@examples(("perf hook install", "install both"), ("perf hook status", "which are installed"))
@click.group()
def command() -> None:
    """Measure after each commit and check before each push, by git hooks.

    post-commit measures the new commit in the background; pre-push compares the pushed commits with
    what the remote has, and stops a degradation. An existing hook is kept and called first.
    PERFVCS_SKIP=1 skips both hooks once; `git push --no-verify` skips pre-push.
    """


@examples(("perf hook install", "both"), ("perf hook install pre-push", "one of them"))
@command.command()
@click.argument("names", nargs=-1, type=HOOK, metavar="[post-commit] [pre-push]")
def install(names: tuple[str, ...]) -> None:
    """Install both hooks, or those named; run it again to update them."""
    from perfvcs import hooks
    from perfvcs.git.project import Project

    project = Project.find()
    for hook in hooks.install(project, names or hooks.HOOKS):
        echo(_line(hook))
    for note in hooks.notes(project):
        echo(f"note: {note}")


@examples(("perf hook uninstall", "both"), ("perf hook uninstall pre-push", "one of them"))
@command.command()
@click.argument("names", nargs=-1, type=HOOK, metavar="[post-commit] [pre-push]")
def uninstall(names: tuple[str, ...]) -> None:
    """Remove the hooks and put back those that were there before."""
    from perfvcs import hooks
    from perfvcs.git.project import Project

    for removal in hooks.uninstall(Project.find(), names or hooks.HOOKS):
        path = click.format_filename(removal.path)
        outcome = {
            "removed": f"removed {path}",
            "restored": f"removed, and the hook that was there before is back: {path}",
            "left alone": f"{path} is not a hook of perfvcs and was left alone",
            "not installed": "not installed",
        }[removal.done]
        if removal.done == "left alone" and removal.kept:
            outcome += f"; so was the one that was kept: {click.format_filename(removal.kept)}"
        echo(f"{removal.name}: {outcome}")


@examples(("perf hook status", "in words"), ("perf hook status --json", "for programs"))
@command.command()
@flag("--json", "as_json", "Print JSON.")
def status(*, as_json: bool) -> None:
    """Say which hooks are installed, and where."""
    from perfvcs import hooks
    from perfvcs.git.project import Project

    project = Project.find()
    installed = hooks.status(project)
    if as_json:
        import json

        rows = [
            {key: value and str(value) for key, value in vars(hook).items()} for hook in installed
        ]
        echo(json.dumps(rows, indent=2))
        return
    for hook in installed:
        echo(_line(hook))
    for note in hooks.notes(project):
        echo(f"note: {note}")


@examples(
    ("perf hook run post-commit", "measure HEAD in the background"),
    ("perf hook run pre-push origin", "judge the pushes on standard input"),
)
@command.command(context_settings={"ignore_unknown_options": True})
@click.argument("name", type=HOOK)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@click.pass_context
def run(ctx: click.Context, name: str, arguments: tuple[str, ...]) -> None:
    """Run a hook's work from a hook of your own: `perf hook run pre-push "$@"`."""
    import os

    from perfvcs.gate import made
    from perfvcs.git.project import Project

    if os.environ.get("PERFVCS_SKIP"):
        return
    if name == "pre-push":
        ctx.exit(
            _let_through(
                os.environ.get("PRE_COMMIT_REMOTE_NAME") or next(iter(arguments), "origin")
            )
        )
    project = Project.find()
    if made(project):
        _measure(project)


def _measure(project: Project) -> None:
    from perfvcs.hooks.commit import HOOK_LOG, measure

    if commit := measure(project):
        echo(f"perf: measuring {commit[:10]} in the background, log in .perf/{HOOK_LOG}", err=True)


def _let_through(remote: str) -> int:
    """The exit status before a push: 3 stops a degradation, and 0 lets everything else through.

    pre-commit calls that "Passed", so that what was not checked is 4 there, which it shows as
    failed.
    """
    import os

    from perfvcs.errors import PerfError
    from perfvcs.hooks import push

    framework = bool(push.pre_commit_lines(os.environ))
    so = "; to push anyway: SKIP=perf-check git push" if framework else "; the push goes on"
    try:
        status = _check_push(remote, so)
    except (
        PerfError,
        OSError,
    ) as error:  # whatever fails, the fork of a process too, is not a reason to stop a push
        echo(f"perf: nothing is checked: {error}{so}", err=True)
        status = push.UNCHECKED
    return 0 if status == push.UNCHECKED and not framework else status


def _check_push(remote: str, so: str) -> int:
    """Print what `perf check --gate` finds in a push: 3 for a degradation, else 4 where something
    was not checked, else 0.

    ``so`` ends the line about what was not checked.
    """
    import os
    import sys

    from perfvcs.gate import enter, made
    from perfvcs.git.project import Project
    from perfvcs.hooks import push

    project = Project.find()
    lines = push.pre_commit_lines(os.environ)
    if not made(project):
        if lines:
            echo(
                "perf: nothing is checked, nothing was measured in this clone: run `perf init`,"
                f" then `perf collect`{so}",
                err=True,
            )
        return push.UNCHECKED
    if not lines and not sys.stdin.isatty():
        lines = os.fsdecode(sys.stdin.buffer.read()).split("\n")
    wanted = push.pushes(project, remote, lines)
    late = bool(push.measuring(enter(project), wanted)) and _waited(project, wanted)
    statuses = [_verdict(checked, so, late=late) for checked in push.check(project, wanted)]
    return next(
        (status for status in (push.EXIT_DEGRADED, push.UNCHECKED) if status in statuses), 0
    )


def _waited(project: Project, wanted: Sequence[Push]) -> bool:
    """Wait for the measurement of what is pushed, and show it; whether it still goes on after the
    time of perf.toml.
    """
    from perfvcs.gate import enter
    from perfvcs.hooks.push import wait, waiting_time
    from perfvcs.measure.progress import shown
    from perfvcs.text.quantity import duration

    seconds = waiting_time(project)
    if not seconds:
        return True
    branches = ", ".join(dict.fromkeys(push.branch for push in wanted))
    echo(
        f"perf: {branches} is being measured; waiting up to {duration(seconds)} (--no-verify does"
        " not wait)",
        err=True,
    )
    with shown(doing="waiting for the measurement") as progress:
        return wait(enter(project), wanted, seconds, progress)


def _verdict(checked: Checked, so: str, *, late: bool) -> int:
    """Print what was found about one branch; the exit status that it asks for."""
    from perfvcs.hooks import push

    branch = checked.push.branch
    if checked.status == push.EXIT_DEGRADED:
        echo(checked.output.rstrip(), err=True)
        echo(f"perf: {branch} became slower; to push anyway: git push --no-verify", err=True)
        return push.EXIT_DEGRADED
    if checked.settlement and (checked.suspected or checked.status == push.EXIT_OPEN):
        suspicion = (
            f"{branch} is suspected to have changed, " if checked.suspected else f"{branch}: "
        )
        cure = f"perf check --measure {checked.push.baseline[:10]} {checked.push.target[:10]}"
        echo(
            f"perf: {suspicion}{checked.settlement}; the push goes on, to settle it: {cure}",
            err=True,
        )
    elif checked.status:
        reason = "nothing to compare" if checked.status == push.EXIT_OPEN else "see `perf check`"
        reason = checked.error or reason
        if late:
            reason = "it is still being measured (see `perf status`)"
        echo(f"perf: {branch} is not checked: {reason}{so}", err=True)
        return push.UNCHECKED
    elif checked.settlement:
        parts = [f"perf: {branch}: {checked.settlement}", checked.judge]
        echo("; ".join(filter(None, parts)), err=True)
    return 0


def _line(hook: Hook) -> str:
    """One hook's state in a sentence."""
    path = click.format_filename(hook.ours or hook.path)
    if hook.state == "not installed":
        return f"{hook.name}: not installed"
    if hook.state == "another tool's":
        left = (
            "; the hook kept by an earlier install is still there:"
            f" {click.format_filename(hook.kept)}"
            if hook.kept
            else ""
        )
        return f"{hook.name}: not installed, {path} belongs to another tool{left}"
    more = (
        " by another version or Python, renew it with `perf hook install`"
        if hook.state == "outdated"
        else ""
    )
    if hook.ours != hook.path:
        more += f", called by the hook of another tool, {click.format_filename(hook.path)}"
    if hook.kept:
        more += f"; the hook that was there runs first: {click.format_filename(hook.kept)}"
    return f"{hook.name}: installed{more} ({path})"
