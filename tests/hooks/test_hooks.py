"""Git hooks with real commits and real pushes; hooks that were there before, and other tools',
survive.
"""

# ruff: noqa: ARG001 - fixtures that only prepare
from __future__ import annotations

import fcntl
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
from click.testing import CliRunner
from conftest import processes_in
from waiting import happens

from perfvcs import cli, hooks
from perfvcs.git.project import Project as Repository
from perfvcs.hooks import push
from perfvcs.hooks import script as hookscript
from perfvcs.measure import announcement
from perfvcs.repository import Repository as History

SCRIPTS = Path(sys.executable).parent
STUB = """
import errno, os, subprocess, sys, time
if "hook" in sys.orig_argv and "STUB_NO_FORK" in os.environ:
    def refuse(*args, **options):
        raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))
    subprocess.Popen = os.posix_spawn = refuse
if "perfvcs" in sys.orig_argv and ("check" in sys.orig_argv or "collect" in sys.orig_argv):
    if "collect" in sys.orig_argv:
        while os.path.exists(os.environ.get("STUB_HELD", "")):
            time.sleep(0.02)
    said = sys.orig_argv[sys.orig_argv.index("-C"):]
    own = sorted({"GIT_DIR", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_WORK_TREE", "GIT_CONFIG_PARAMETERS"} & set(os.environ))
    with open(os.environ["STUB_LOG"], "a") as log:
        log.write(f"{said} git={own} leader={os.getsid(0) == os.getpid()} skip={os.environ.get('PERFVCS_SKIP')}\\n")
    print(os.environ.get("STUB_SAID", "a verdict"), flush=True)
    print("perf: a reason", file=sys.stderr)
    os._exit(int(os.environ.get("STUB_EXIT", "0")))
"""


class Stub:
    """Stands for ``perf collect`` and ``perf check``: notes how it was called and exits as told."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        folder.mkdir()
        (folder / "sitecustomize.py").write_text(STUB)
        self.log = folder / "log"
        self.setenv = monkeypatch.setenv
        self.setenv("PYTHONPATH", str(folder))
        self.setenv("STUB_LOG", str(self.log))
        self.held = folder / "held"

    def hold(self) -> None:
        """Let what is measured from now on go on until ``release``."""
        self.held.touch()
        self.setenv("STUB_HELD", str(self.held))

    def release(self) -> None:
        self.held.unlink(missing_ok=True)

    def calls(self, count: int = 1) -> list[str]:
        """What was called, as soon as there are that many calls."""
        assert happens(lambda: len(self._lines()) >= count), (
            f"{count} calls were expected, these came: {self._lines()}"
        )
        return self._lines()

    def settled(self) -> list[str]:
        """What was called, once nothing works below this folder any more."""
        assert happens(lambda: not processes_in(Path.cwd())), processes_in(Path.cwd())
        return self._lines()

    def _lines(self) -> list[str]:
        return self.log.read_text().splitlines() if self.log.exists() else []


@pytest.fixture
def stub(tmp_path, monkeypatch):
    made = Stub(tmp_path / "stub", monkeypatch)
    yield made
    made.release()


@pytest.fixture
def hooked(project, stub):
    """A project with one commit, a ``.perf`` and both hooks."""
    project.commit("first")
    prepare(project.root)
    perf("install")
    return project


@pytest.fixture
def remote(hooked, tmp_path):
    """A bare repository ``origin`` that has ``main``."""
    subprocess.run(
        ["git", "init", "--quiet", "--bare", "--initial-branch=main", tmp_path / "origin.git"],
        check=True,
    )
    hooked.git("remote", "add", "origin", str(tmp_path / "origin.git"))
    hooked.git("push", "--quiet", "--no-verify", "origin", "main")
    return tmp_path / "origin.git"


def perf(*args: str, code: int = 0, **options: object) -> str:
    done = CliRunner().invoke(cli.group, ["hook", *args], catch_exceptions=False, **options)
    assert done.exit_code == code, done.output
    return done.output


def prepare(root: Path) -> None:
    """Make ``.perf`` as `perf init` does, without a perf.toml."""
    History.find(root, create=True)


def run(*args: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["git", *args], cwd=cwd, capture_output=True, text=True, check=False)


def existing(project, name: str, text: str, mode: int = 0o755) -> Path:
    path = project.write(f".git/hooks/{name}", text)
    path.chmod(mode)
    return path


# installing and uninstalling


def test_install_writes_both_hooks_and_status_says_where(project):
    project.commit()
    assert "post-commit: not installed\npre-push: not installed\n" in perf("status")
    said = perf("install")
    for name in ("post-commit", "pre-push"):
        path = project.root / ".git" / "hooks" / name
        assert f"{name}: installed ({path})" in said
        assert os.access(path, os.X_OK)
        assert subprocess.run(["sh", "-n", path], check=False).returncode == 0
    assert said == perf("status")


def test_before_init_it_says_that_the_hooks_wait_for_it(project):
    project.commit()
    assert "note: there is no .perf here yet, so the hooks do nothing: run `perf init`" in perf(
        "install"
    )
    prepare(project.root)
    assert "note" not in perf("status")


def test_one_hook_can_be_had_alone(project):
    perf("install", "pre-push")
    assert "post-commit: not installed" in perf("status")
    perf("uninstall", "post-commit")
    assert "pre-push: installed" in perf("status")


def test_status_as_json(project):
    perf("install", "pre-push")
    path = str(project.root / ".git" / "hooks" / "pre-push")
    assert json.loads(perf("status", "--json"))[1] == {
        "name": "pre-push",
        "path": path,
        "state": "installed",
        "ours": path,
        "kept": None,
    }


def test_installing_twice_is_installing_once(project):
    existing(project, "pre-push", "#!/bin/sh\nexit 0\n")
    perf("install")
    folder = project.root / ".git" / "hooks"
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    perf("install")
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_a_hook_of_another_version_is_renewed(project):
    perf("install")
    path = project.root / ".git" / "hooks" / "pre-push"
    path.write_text(path.read_text() + "# of another version\n")
    assert (
        "pre-push: installed by another version or Python, renew it with `perf hook install`"
        in perf("status")
    )
    perf("install")
    assert "another version" not in perf("status")


@pytest.mark.parametrize("mode", [0o755, 0o644, 0o700])
def test_uninstall_restores_what_was_there_byte_for_byte(project, mode):
    text = "#!/bin/sh\r\n# \u00e9\nexit 0 "
    path = existing(project, "pre-push", text, mode)
    perf("install")
    assert path.read_bytes() != text.encode()
    said = perf("uninstall")
    assert f"pre-push: removed, and the hook that was there before is back: {path}" in said
    assert "post-commit: removed" in said
    assert path.read_bytes() == text.encode()
    assert path.stat().st_mode & 0o777 == mode
    assert not list(path.parent.glob("*perfvcs*")) + list(path.parent.glob("post-commit"))
    assert "post-commit: not installed\npre-push: not installed" in perf("uninstall").replace(
        f"{path} is not a hook of perfvcs and was left alone", "not installed"
    )


@pytest.mark.parametrize("target", ["shared", "missing/broken"])
def test_uninstall_restores_a_symlink_as_a_symlink(project, target):
    folder = project.root / ".git" / "hooks"
    folder.mkdir(exist_ok=True)
    (folder / "shared").write_text("#!/bin/sh\n")
    (folder / "post-commit").symlink_to(target)
    perf("install")
    assert not (folder / "post-commit").is_symlink()
    perf("uninstall")
    assert (folder / "post-commit").readlink() == Path(target)
    assert (folder / "shared").read_text() == "#!/bin/sh\n"


def test_a_hook_that_another_tool_wrote_over_ours_is_left_alone(project):
    existing(project, "pre-push", "#!/bin/sh\n# first\n")
    perf("install")
    path = existing(project, "pre-push", "#!/bin/sh\n# another tool\n")
    kept = path.with_name("pre-push.before-perfvcs")
    assert (
        f"pre-push: not installed, {path} belongs to another tool; the hook kept by an earlier"
        f" install is still there: {kept}" in perf("status")
    )
    assert (
        f"pre-push: {path} is not a hook of perfvcs and was left alone; so was the one that was"
        f" kept: {kept}" in perf("uninstall")
    )
    assert path.read_text() == "#!/bin/sh\n# another tool\n"
    assert kept.read_text() == "#!/bin/sh\n# first\n"
    done = CliRunner().invoke(cli.group, ["hook", "install"])
    assert done.exit_code == 1
    assert f"perf: {kept} of an earlier install is in the way" in done.output


def test_ours_is_found_where_pre_commit_moves_it(project):
    """``pre-commit install`` renames a hook to ``.legacy`` and calls it there."""
    existing(project, "pre-push", "#!/bin/sh\n# first\n")
    perf("install")
    path = project.root / ".git" / "hooks" / "pre-push"
    path.rename(path.with_suffix(".legacy"))
    existing(project, "pre-push", "#!/bin/sh\n# pre-commit's\n")
    assert f"called by the hook of another tool, {path}" in perf("status")
    perf("install")
    assert path.read_text() == "#!/bin/sh\n# pre-commit's\n"
    perf("uninstall")
    assert path.read_text() == "#!/bin/sh\n# pre-commit's\n"
    assert path.with_suffix(".legacy").read_text() == "#!/bin/sh\n# first\n"


def test_an_install_that_was_cut_off_is_undone_by_uninstall(project):
    existing(project, "pre-push.before-perfvcs", "#!/bin/sh\n# first\n")
    assert "the hook that was there before is back" in perf("uninstall")
    assert (project.root / ".git" / "hooks" / "pre-push").read_text() == "#!/bin/sh\n# first\n"


def test_hooks_that_are_switched_off_are_one_line(project):
    project.git("config", "core.hooksPath", "/dev/null")
    assert "pre-push: not installed" in perf("status")
    done = CliRunner().invoke(cli.group, ["hook", "install"])
    assert done.exit_code == 1
    assert done.output.startswith(
        "perf: /dev/null is not a folder, and git looks for hooks there: see `git config"
    )


def test_outside_a_repository_it_exits_with_ten(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert "git init" in CliRunner().invoke(cli.group, ["hook", "install"]).output
    assert CliRunner().invoke(cli.group, ["hook", "install"]).exit_code == 10


# where git looks for hooks


@pytest.mark.parametrize("kind", ["absolute", "relative", "home"])
def test_core_hooks_path_is_respected(project, tmp_path, kind, stub):
    project.commit()
    prepare(project.root)
    value = {
        "absolute": str(tmp_path / "elsewhere"),
        "relative": "tools/hooks",
        "home": "~/own-hooks",
    }[kind]
    place = {
        "absolute": tmp_path / "elsewhere",
        "relative": project.root / "tools/hooks",
        "home": Path.home() / "own-hooks",
    }[kind]
    project.git("config", "core.hooksPath", value)
    said = perf("install")
    assert f"post-commit: installed ({place}/post-commit)" in said
    assert ("is among the project's own files: do not commit the hooks there" in said) == (
        kind == "relative"
    )
    commit = project.commit()
    assert commit in stub.calls()[0]
    perf("uninstall")
    assert not list(place.glob("*"))


def test_an_ignored_hooks_folder_inside_the_project_is_nothing_to_warn_about(project):
    project.write(".gitignore", "/hooks/\n")
    project.git("config", "core.hooksPath", "hooks")
    assert "do not commit" not in perf("install")


def test_a_global_hooks_path_is_named_and_other_projects_stay_untouched(project, tmp_path, stub):
    project.commit()
    run("config", "--global", "core.hooksPath", str(tmp_path / "global"))
    try:
        assert (
            f"note: core.hooksPath ({tmp_path}/global) is git's global setting, for all"
            " repositories" in perf("install")
        )
        assert project.git("commit", "--allow-empty", "--message", "no .perf here")
        prepare(project.root)
        commit = project.commit()
        assert len(stub.calls()) == 1
        assert commit in stub.settled()[0]
    finally:
        run("config", "--global", "--unset", "core.hooksPath")


def test_a_linked_worktree_shares_the_hooks_and_the_profiles(hooked, stub, tmp_path):
    tree = tmp_path / "linked tree"
    hooked.git("worktree", "add", "--quiet", str(tree), "-b", "side")
    done = run("commit", "--allow-empty", "--message", "there", cwd=tree)
    assert "perf: measuring" in done.stderr
    assert f"'-C', '{tree}', 'collect'" in stub.calls()[0]
    assert (hooked.root / ".perf" / "log" / "post-commit.log").exists()
    assert not (tree / ".perf").exists()


def test_the_worktree_of_a_bare_repository_is_measured(project, tmp_path, monkeypatch, stub):
    project.commit()
    bare, tree = tmp_path / "bare.git", tmp_path / "tree"
    run("clone", "--quiet", "--bare", str(project.root), str(bare))
    run("worktree", "add", "--quiet", str(tree), "-b", "side", cwd=bare)
    prepare(bare)
    monkeypatch.chdir(tree)
    assert f"({bare}/hooks/post-commit)" in perf("install")
    run("commit", "--allow-empty", "--message", "x", cwd=tree)
    assert str(tree) in stub.calls()[0]


def test_a_submodule_has_hooks_of_its_own(project, tmp_path, monkeypatch, stub):
    project.commit()
    outer = tmp_path / "outer"
    run("init", "--quiet", str(outer))
    run(
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "--quiet",
        "add",
        str(project.root),
        "inner",
        cwd=outer,
    )
    monkeypatch.chdir(outer / "inner")
    prepare(outer / "inner")
    assert f"({outer}/.git/modules/inner/hooks/post-commit)" in perf("install")
    run("commit", "--allow-empty", "--message", "x", cwd=outer / "inner")
    assert str(outer / "inner") in stub.calls()[0]
    run("commit", "--allow-empty", "--message", "x", cwd=outer)
    assert len(stub.settled()) == 1


# after a commit


def test_a_commit_is_measured_in_the_background_and_says_so_in_one_line(hooked, stub):
    done = run("commit", "--allow-empty", "--quiet", "--message", "second")
    commit = hooked.git("rev-parse", "HEAD")
    assert (
        done.stderr
        == f"perf: measuring {commit[:10]} in the background, log in .perf/log/post-commit.log\n"
    )
    assert done.stdout == ""
    parent = hooked.git("rev-parse", "HEAD^")
    arguments = [
        "-C",
        str(hooked.root),
        "collect",
        "--wait",
        "--committed",
        "--announced=3",
        parent,
        commit,
    ]
    assert stub.calls() == [f"{arguments} git=[] leader=True skip=1"]
    stub.settled()  # what it prints comes after that line
    log = hooked.root / ".perf" / "log" / "post-commit.log"
    assert commit in log.read_text().splitlines()[0]
    assert "a verdict\nperf: a reason\n" in log.read_text()


def test_a_commit_does_not_wait_for_the_measurement(hooked, stub):
    stub.hold()
    run("commit", "--allow-empty", "--message", "second")
    assert not stub.log.exists()
    stub.release()
    assert len(stub.calls()) == 1


def test_two_quick_commits_are_both_measured(hooked, stub):
    commits = [hooked.commit(f"{number}") for number in range(2)]
    calls = stub.calls(2)
    assert all(any(commit in call for call in calls) for commit in commits)


def test_a_commit_made_in_a_subfolder_and_with_files_named_is_measured(hooked, stub):
    """Git then sets GIT_PREFIX and GIT_INDEX_FILE; neither reaches perf."""
    hooked.write("deep/er/file", "1")
    hooked.git("add", ".")
    run("commit", "--message", "only", "--", "file", cwd=hooked.root / "deep" / "er")
    assert "git=[]" in stub.calls()[0]


@pytest.mark.parametrize("folder", ["with space", "d\u00e9j\u00e0 'vu' $HOME"])
def test_odd_folder_names_are_no_obstacle(folder, tmp_path, monkeypatch, stub):
    root = tmp_path / folder
    run("init", "--quiet", str(root))
    monkeypatch.chdir(root)
    prepare(root)
    perf("install")
    run("commit", "--allow-empty", "--message", "x")
    assert str(root) in stub.calls()[0].replace("\\'", "'").replace('"', "'")


def test_nothing_is_measured_while_rebasing(hooked, stub):
    hooked.git("-c", "core.hooksPath=/dev/null", "commit", "--quiet", "--allow-empty", "-m", "a")
    hooked.git(
        "rebase",
        "--quiet",
        "--force-rebase",
        "--root",
        "--exec",
        "git commit --quiet --amend --no-edit --allow-empty",
    )
    assert stub.settled() == []


def test_nothing_is_measured_while_picking_several_commits(hooked, stub):
    hooked.git("switch", "--quiet", "--create", "side")
    for name in ("a", "b"):
        hooked.write(name, name)
        hooked.git("add", ".")
        hooked.git("-c", "core.hooksPath=/dev/null", "commit", "--quiet", "-m", name)
    hooked.git("switch", "--quiet", "main")
    hooked.git("cherry-pick", "side~1", "side")
    assert stub.settled() == []


def test_perfvcs_skip_skips(hooked, stub, monkeypatch):
    monkeypatch.setenv("PERFVCS_SKIP", "1")
    assert run("commit", "--allow-empty", "--quiet", "--message", "x").stderr == ""
    assert perf("run", "post-commit") == ""
    assert stub.settled() == []


def test_the_log_starts_anew_when_it_is_long(hooked, stub):
    log = hooked.root / ".perf" / "log" / "post-commit.log"
    log.parent.mkdir()
    log.write_text("x" * 1_000_001)
    hooked.commit()
    stub.calls()
    assert log.stat().st_size < 1000
    assert log.with_name("post-commit.log.1").stat().st_size == 1_000_001


def test_a_log_that_cannot_be_written_is_one_line(hooked, stub):
    (hooked.root / ".perf" / "log").write_text("in the way")
    done = run("commit", "--allow-empty", "--quiet", "--message", "x")
    assert (done.returncode, done.stderr.count("\n")) == (0, 1)
    assert "perf: not measuring" in done.stderr
    assert stub.settled() == []


def test_a_python_that_is_gone_is_one_line_and_no_obstacle(hooked, remote):
    for name in ("post-commit", "pre-push"):
        (hooked.root / ".git" / "hooks" / name).write_bytes(hookscript.script(name, "/gone/python"))
    done = run("commit", "--allow-empty", "--quiet", "--message", "x")
    said = "does nothing, /gone/python is gone: run `perf hook install` again, or delete"
    assert said in done.stderr
    done = run("push", "--quiet", "origin", "main")
    assert (done.returncode, done.stderr.count("\n")) == (0, 1)
    assert said in done.stderr


def test_a_client_with_a_poor_path_is_served(hooked, stub, tmp_path):
    poor = tmp_path / "poor"
    poor.mkdir()
    for tool in ("git", "sh", "setsid", "cat", "cut", "date", "mkdir", "wc"):
        found = subprocess.run(
            ["sh", "-c", f"command -v {tool}"], capture_output=True, text=True, check=True
        ).stdout.strip()
        (poor / tool).symlink_to(found)
    subprocess.run(
        [poor / "git", "commit", "--allow-empty", "-m", "x"],
        env=os.environ | {"PATH": str(poor)},
        check=True,
        capture_output=True,
    )
    assert len(stub.calls()) == 1


def test_a_module_of_the_project_does_not_stand_before_pythons_own(hooked, stub):
    hooked.write("click.py", "raise SystemExit('the project was run')")
    hooked.commit()
    stub.calls()
    assert (
        "the project was run" not in (hooked.root / ".perf" / "log" / "post-commit.log").read_text()
    )


def test_the_part_that_is_ours_can_be_called_from_a_hook_of_ones_own(project, stub):
    project.commit()
    prepare(project.root)
    existing(
        project, "post-commit", f'#!/bin/sh\nexec "{SCRIPTS}/perf" hook run post-commit "$@"\n'
    )
    commit = project.commit()
    assert commit in stub.calls()[0]


# hooks that were there before


@pytest.mark.parametrize("shebang", ["#!/bin/sh", "#!/bin/sh -e", "#!/usr/bin/env bash"])
def test_the_earlier_hook_of_a_shell_runs_first_under_its_own_name(project, stub, shebang):
    """Husky's and others find out by it what they are."""
    project.commit()
    prepare(project.root)
    existing(project, "post-commit", f'{shebang}\necho "earlier $0 in $(pwd) with $#"\n')
    perf("install")
    done = run("commit", "--quiet", "--allow-empty", "-m", "x")
    assert done.stderr.splitlines()[0] == f"earlier .git/hooks/post-commit in {project.root} with 0"
    assert "perf: measuring" in done.stderr
    assert len(stub.calls()) == 1


def test_the_earlier_hook_may_be_any_program(project, stub):
    project.commit()
    prepare(project.root)
    existing(
        project,
        "post-commit",
        "#!/usr/bin/env python3\nimport sys; print('a program', len(sys.argv))\n",
    )
    perf("install")
    assert "a program 1" in run("commit", "--quiet", "--allow-empty", "-m", "x").stderr
    assert len(stub.calls()) == 1


def test_an_earlier_hook_that_was_switched_off_stays_off(project, stub):
    prepare(project.root)
    existing(project, "post-commit", "#!/bin/sh\necho wrong\n", mode=0o644)
    perf("install")
    assert "wrong" not in run("commit", "--quiet", "--allow-empty", "-m", "x").stderr
    assert len(stub.calls()) == 1


def test_a_failing_earlier_post_commit_hook_does_not_keep_us_from_measuring(project, stub):
    """Git ignores its status, so that many end with a bad one by accident."""
    prepare(project.root)
    existing(project, "post-commit", "#!/bin/sh\nfalse && true\n")
    perf("install")
    project.commit()
    assert len(stub.calls()) == 1
    done = subprocess.run(
        [project.root / ".git/hooks/post-commit"], capture_output=True, check=False
    )
    assert done.returncode == 1


def test_the_earlier_pre_push_hook_gets_the_same_arguments_and_lines(project, stub, tmp_path):
    project.commit()
    prepare(project.root)
    run("init", "--quiet", "--bare", str(tmp_path / "origin.git"))
    project.git("remote", "add", "origin", str(tmp_path / "origin.git"))
    project.git("push", "--quiet", "origin", "main")
    first, second = project.git("rev-parse", "HEAD"), project.commit()
    existing(
        project, "pre-push", f'#!/bin/sh\necho "$@" >"{tmp_path}/seen"\ncat >>"{tmp_path}/seen"\n'
    )
    perf("install")
    assert run("push", "origin", "main").returncode == 0
    assert (
        (tmp_path / "seen").read_text()
        == f"origin {tmp_path}/origin.git\nrefs/heads/main {second} refs/heads/main {first}\n"
    )
    assert f"'check', '--gate', '{first}', '{second}'" in stub.calls()[0]


def test_a_failing_earlier_pre_push_hook_wins(remote, hooked, stub):
    perf("uninstall")
    existing(hooked, "pre-push", "#!/bin/sh\necho no >&2\nexit 7\n")
    perf("install", "pre-push")
    hooked.commit()
    done = run("push", "origin", "main")
    assert done.returncode != 0
    assert done.stderr.startswith("no\n")
    assert stub.settled() == []


def test_an_earlier_pre_push_hook_that_reads_nothing_is_no_trouble(remote, hooked, stub):
    existing(hooked, "pre-push.before-perfvcs", "#!/bin/sh\nexit 0\n")
    hooked.commit()
    stub.calls(1)
    assert run("push", "origin", "main").returncode == 0
    assert "check" in stub.calls(2)[1]


# before a push


def checks(stub: Stub) -> list[list[str]]:
    """Baseline and target of every check that was asked for."""
    return [
        line.partition("]")[0].replace("'", "").split(", ")[-2:]
        for line in stub.settled()
        if "check" in line
    ]


@pytest.fixture
def quiet(hooked):
    """Only the pre-push hook is there."""
    perf("uninstall", "post-commit")
    return hooked


def test_a_degradation_stops_the_push_and_names_the_way_around(remote, quiet, stub):
    quiet.commit()
    stub.setenv("STUB_EXIT", "3")
    done = run("push", "origin", "main")
    assert done.returncode != 0
    assert done.stderr.startswith(
        "a verdict\nperf: main became slower; to push anyway: git push --no-verify\n"
    )
    assert run("push", "--no-verify", "origin", "main").returncode == 0


@pytest.mark.parametrize("code", [0, 1, 2, 4, 5, 10, 12])
def test_nothing_else_stops_it_and_what_was_not_checked_is_said_in_one_line(
    remote, quiet, stub, code
):
    quiet.commit()
    stub.setenv("STUB_EXIT", str(code))
    done = run("push", "--quiet", "origin", "main")
    assert done.returncode == 0
    assert done.stderr == (
        "perf: main is not checked: a reason; the push goes on\n" if code else ""
    )


@pytest.mark.parametrize(
    ("code", "verdict", "said"),
    [
        (0, "9 of 12 comparisons settled", "main: 9 of 12 comparisons settled\n"),
        (
            4,
            "0 of 2 comparisons settled",
            (
                "main: 0 of 2 comparisons settled; the push goes on, to settle it: perf check"
                " --measure "
            ),
        ),
        (4, "0 of 0 comparisons settled", "main is not checked: a reason; the push goes on\n"),
        (
            0,
            "  suspected      wall time\n1 of 2 comparisons settled",
            "main is suspected to have changed, 1 of 2 comparisons settled; ",
        ),
        (
            4,
            "  suspected      wall time\n0 of 1 comparison settled",
            "main is suspected to have changed, 0 of 1 comparison settled; ",
        ),
    ],
)
def test_a_push_that_goes_on_says_how_much_was_settled(remote, quiet, stub, code, verdict, said):
    quiet.commit()
    stub.setenv("STUB_EXIT", str(code))
    stub.setenv("STUB_SAID", verdict)
    done = run("push", "--quiet", "origin", "main")
    assert (done.returncode, done.stderr.count("\n")) == (0, 1)
    assert done.stderr.startswith(f"perf: {said}")


def test_a_push_says_what_it_does_to_its_own_judge(remote, quiet, stub):
    quiet.commit()
    stub.setenv("STUB_EXIT", "0")
    said = (
        "a -> b: this change accepts 1 degradation of its own (sort:\n  wall time +6 %); nothing"
        " changed\n"
    )
    judge = (
        "  This change also changes how it is judged: perf.toml\n  (job sort removed).\n\n  same "
        " sort\n"
    )
    stub.setenv("STUB_SAID", f"{said}{judge}9 of 12 comparisons settled")
    done = run("push", "--quiet", "origin", "main")
    own = "this change accepts 1 degradation of its own (sort: wall time +6 %)"
    also = "This change also changes how it is judged: perf.toml (job sort removed)."
    assert done.stderr == f"perf: main: 9 of 12 comparisons settled; {own}; {also}\n"


def test_the_whole_push_is_compared_with_what_the_remote_has(remote, quiet, stub):
    base = quiet.git("rev-parse", "HEAD")
    quiet.commit("a")
    tip = quiet.commit("b")
    run("push", "origin", "main")
    assert checks(stub) == [[base, tip]]


def test_a_new_branch_is_compared_with_where_it_left_the_default_branch(remote, quiet, stub):
    base = quiet.git("rev-parse", "HEAD")
    quiet.git("switch", "--quiet", "--create", "topic")
    quiet.commit("a")
    tip = quiet.commit("b")
    run("push", "origin", "topic")
    assert checks(stub) == [[base, tip]]


def test_what_the_remote_has_but_was_not_fetched_is_as_unknown_as_a_new_branch(
    remote, quiet, stub, tmp_path
):
    run("clone", "--quiet", str(remote), str(tmp_path / "other"))
    base = quiet.git("rev-parse", "HEAD")
    run("commit", "--allow-empty", "-m", "elsewhere", cwd=tmp_path / "other")
    run("push", "--quiet", cwd=tmp_path / "other")
    tip = quiet.commit("here")
    assert run("push", "--force", "origin", "main").returncode == 0
    assert checks(stub) == [[base, tip]]


def test_several_branches_are_checked_and_one_degradation_stops_all(remote, quiet, stub):
    base = quiet.git("rev-parse", "HEAD")
    tips = []
    for name in ("one", "two"):
        quiet.git("switch", "--quiet", "--create", name, "main")
        tips.append(quiet.commit(name))
    stub.setenv("STUB_EXIT", "3")
    assert run("push", "origin", "one", "two").returncode != 0
    assert checks(stub) == [[base, tips[0]], [base, tips[1]]]


def test_the_same_commits_under_two_names_are_checked_once(remote, quiet, stub):
    quiet.commit()
    quiet.git("branch", "copy")
    run("push", "origin", "main", "copy")
    assert len(checks(stub)) == 1


def test_deletions_tags_and_old_commits_are_not_checked(remote, quiet, stub):
    quiet.git("branch", "old")
    run("push", "--no-verify", "origin", "old")
    quiet.git("tag", "v1")
    assert run("push", "origin", "v1", ":old").returncode == 0
    assert run("push", "origin", "main:again").returncode == 0
    assert checks(stub) == []


def test_a_first_push_has_nothing_to_be_compared_with(quiet, stub, tmp_path):
    run("init", "--quiet", "--bare", str(tmp_path / "new.git"))
    done = run("push", "--quiet", str(tmp_path / "new.git"), "main")
    assert (done.returncode, done.stderr) == (0, "")
    assert checks(stub) == []


def test_a_push_outside_a_project_with_profiles_is_let_through(remote, quiet, stub):
    shutil.rmtree(quiet.root / ".perf")
    quiet.commit()
    assert run("push", "--quiet", "origin", "main").stderr == ""
    assert checks(stub) == []


def test_perfvcs_skip_skips_the_check(remote, quiet, stub, monkeypatch):
    quiet.commit()
    monkeypatch.setenv("PERFVCS_SKIP", "1")
    assert run("push", "--quiet", "origin", "main").stderr == ""
    assert checks(stub) == []


def test_a_python_that_lost_perfvcs_lets_the_push_through(remote, quiet, tmp_path):
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\necho 'No module named perfvcs' >&2\nexit 1\n")
    python.chmod(0o755)
    (quiet.root / ".git/hooks/pre-push").write_bytes(hookscript.script("pre-push", str(python)))
    quiet.commit()
    done = run("push", "--quiet", "origin", "main")
    assert done.returncode == 0
    assert (
        "perf: not checked (exit status 1), the push goes on; should perfvcs be gone, run `perf"
        " hook install` again" in done.stderr
    )


def test_the_variables_of_the_pre_commit_framework_are_understood(remote, quiet, stub, monkeypatch):
    base = quiet.git("rev-parse", "HEAD")
    tip = quiet.commit()
    monkeypatch.setenv("PRE_COMMIT_FROM_REF", base)
    monkeypatch.setenv("PRE_COMMIT_TO_REF", tip)
    monkeypatch.setenv("PRE_COMMIT_REMOTE_NAME", "origin")
    monkeypatch.setenv("PRE_COMMIT_REMOTE_BRANCH", "refs/heads/main")
    stub.setenv("STUB_EXIT", "3")
    assert "main became slower" in perf("run", "pre-push", code=3)
    assert checks(stub) == [[base, tip]]


# a push while its commit is being measured


def waiting(command: list[str], patience: str = "") -> subprocess.Popen[str]:
    """A push, or another command, as soon as it says that it waits, and how long."""
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    assert process.stderr.readline().startswith(
        f"perf: main is being measured; waiting up to {patience}"
    )
    return process


def hook_of(push: subprocess.Popen[str]) -> psutil.Process:
    """The process of ours in which the hook of a push waits."""
    return next(
        one
        for one in psutil.Process(push.pid).children(recursive=True)
        if "pre-push" in one.cmdline() and "-m" in one.cmdline()
    )


def test_a_push_waits_until_its_commit_is_measured(remote, hooked, stub):
    stub.hold()
    commit = hooked.commit()
    push = waiting(
        ["git", "push", "--quiet", "origin", "main"], "5 min (--no-verify does not wait)\n"
    )
    stub.release()
    assert push.communicate(timeout=120)[1] == ""
    assert push.returncode == 0
    collected, checked = stub.settled()
    assert "collect" in collected
    assert "check" in checked
    assert commit in checked


def test_a_push_that_brings_nothing_of_what_is_measured_does_not_wait(remote, hooked, stub):
    hooked.git("branch", "old")
    stub.hold()
    hooked.git("switch", "--quiet", "--orphan", "other")
    hooked.commit()
    hooked.git("switch", "--quiet", "old")
    hooked.git(
        "-c", "core.hooksPath=/dev/null", "commit", "--quiet", "--allow-empty", "-m", "not measured"
    )
    assert "being measured" not in run("push", "origin", "old").stderr


@pytest.mark.parametrize("wait", ["100ms", "0", "0s"])
def test_a_push_waits_no_longer_than_perf_toml_says(remote, hooked, stub, wait):
    stub.hold()
    stub.setenv("STUB_EXIT", "4")
    hooked.write("perf.toml", f'hook.wait = "{wait}"')
    hooked.commit()
    done = run("push", "--quiet", "origin", "main")
    assert done.returncode == 0
    said = (
        "perf: main is not checked: it is still being measured (see `perf status`); the push"
        " goes on"
    )
    assert done.stderr.splitlines()[-1] == said
    assert ("waiting up to under 1 s" in done.stderr) == (wait == "100ms")


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_hook_that_is_killed_while_it_waits_lets_the_push_through_and_the_measurement_go_on(
    remote, hooked, stub, number
):
    stub.hold()
    hooked.commit()
    push = waiting(["git", "push", "--quiet", "origin", "main"])
    hook_of(push).send_signal(number)
    _, said = push.communicate(timeout=60)
    stub.release()
    assert push.returncode == 0
    assert f"perf: not checked (exit status {128 + number}), the push goes on" in said
    assert [line for line in stub.settled() if "collect" in line]


def test_ctrl_c_while_a_push_waits_stops_the_push(remote, hooked, stub):
    stub.hold()
    hooked.commit()
    push = waiting(["git", "push", "--quiet", "origin", "main"])
    hook_of(push).send_signal(signal.SIGINT)
    assert "perf: interrupted" in push.communicate(timeout=60)[1]
    assert push.returncode != 0


def test_status_says_what_is_being_measured(hooked, stub):
    stub.hold()
    commit = hooked.commit()
    said = CliRunner().invoke(cli.group, ["status"]).output
    assert re.search(
        rf"^being measured for .* s: [0-9a-f]{{10}}, {commit[:10]}, not begun yet$",
        said,
        re.MULTILINE,
    ), said
    running = json.loads(CliRunner().invoke(cli.group, ["status", "--json"]).output)["running"]
    assert [run["commits"][-1] for run in running] == [commit]
    stub.release()
    stub.settled()
    assert "being measured" not in CliRunner().invoke(cli.group, ["status"]).output


def test_no_process_for_the_check_lets_the_push_through(remote, hooked, stub):
    hooked.commit()
    stub.calls(1)
    stub.settled()  # else the push waits for the measurement, and says so
    stub.setenv("STUB_NO_FORK", "1")
    done = run("push", "--quiet", "origin", "main")
    assert (done.returncode, done.stderr.count("\n")) == (0, 1)
    assert done.stderr.startswith("perf: nothing is checked: ")
    assert done.stderr.endswith("Resource temporarily unavailable; the push goes on\n")
    alone = subprocess.run(
        [SCRIPTS / "perf", "hook", "run", "pre-push"], capture_output=True, text=True, check=False
    )
    assert (alone.returncode, alone.stderr) == (0, done.stderr)


@pytest.mark.skipif(
    os.geteuid() != 0, reason="a limit on processes needs another user, and root to become that"
)
def test_a_shell_that_cannot_fork_lets_the_push_through(hooked):
    """Root has no limit on its processes; the script needs nothing that another user may not
    read.
    """
    hook = (hooked.root / ".git/hooks/pre-push").read_text()

    def become_another() -> None:
        resource.setrlimit(resource.RLIMIT_NPROC, (1, 1))
        os.setgroups([])
        os.setresgid(54321, 54321, 54321)
        os.setresuid(54321, 54321, 54321)

    done = subprocess.run(
        ["/bin/sh", "-c", hook, "pre-push", "origin", "x"],
        preexec_fn=become_another,
        cwd="/",
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (done.returncode, done.stderr.count("perf: not checked")) == (0, 1), done.stderr


def test_no_process_for_the_measurement_is_one_line(hooked, stub):
    stub.setenv("STUB_NO_FORK", "1")
    done = run("commit", "--quiet", "--allow-empty", "--message", "x")
    assert (done.returncode, done.stderr.count("\n")) == (0, 1)
    assert done.stderr.startswith("perf: the system starts no more processes: end some")


def test_what_was_not_checked_fails_in_pre_commit_which_would_call_it_passed(
    remote, quiet, stub, monkeypatch
):
    monkeypatch.setenv("PRE_COMMIT_FROM_REF", quiet.git("rev-parse", "HEAD"))
    monkeypatch.setenv("PRE_COMMIT_TO_REF", quiet.commit())
    stub.setenv("STUB_EXIT", "4")
    assert perf("run", "pre-push", code=4).endswith(
        "not checked: a reason; to push anyway: SKIP=perf-check git push\n"
    )
    stub.setenv("STUB_EXIT", "0")
    assert perf("run", "pre-push") == ""
    shutil.rmtree(quiet.root / ".perf")
    said = perf("run", "pre-push", code=4)
    assert said.startswith(
        "perf: nothing is checked, nothing was measured in this clone: run `perf init`"
    )


def test_only_the_hook_announces_for_others(hooked):
    command = [SCRIPTS / "perf", "collect", "--announced", "1", "--", "true"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "--announced is for the hook after a commit" in done.stderr


def test_what_lies_among_the_announcements_is_left_out_and_ended_runs_are_forgotten(hooked):
    folder = hooked.root / ".perf" / "measuring"
    folder.mkdir()
    (folder / "ended.json").write_text("{}")
    (folder / "link.json").symlink_to("/etc/passwd")
    os.mkfifo(folder / "pipe.json")
    (folder / "folder").mkdir()
    (folder / "locked.json").write_text('{"commits": 7}')
    with (folder / "locked.json").open() as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        assert announcement.running(hooked.root / ".perf") == []
        run = announcement.Announcement.open(hooked.root / ".perf", ["a" * 40])
        assert [one.commits for one in announcement.running(hooked.root / ".perf")] == [("a" * 40,)]
        run.close()
        assert sorted(path.name for path in folder.iterdir()) == [
            "folder",
            "link.json",
            "locked.json",
            "pipe.json",
        ]


def test_lines_that_are_not_gits_are_ignored(quiet):
    assert push.pushes(Repository.find(), "origin", ["", "nonsense", "a b c d"]) == []
    assert push.pre_commit_lines({}) == []


def test_all_hooks_have_a_script():
    assert all(
        hookscript.script(name, "/usr/bin/python3").startswith(b"#!/bin/sh\n")
        for name in hooks.HOOKS
    )


# the whole of it, nothing stubbed


REPORTING = """
import json, os, time
while os.path.exists(HELD):
    time.sleep(0.02)
with open(os.environ["PERFVCS_SAMPLES"], "a") as samples:
    print(json.dumps({"uid": "inner", "wall": SECONDS}), file=samples)
"""
CONFIGURATION = f"""
[[job]]
name = "work"
cmd = "'{sys.executable}' work.py"
executions = 5
warmup = 0
"""


def test_a_slower_commit_is_measured_by_one_hook_and_stopped_by_the_other(project, tmp_path):
    """The program reports its own times, so that the verdict does not depend on this machine."""

    held, errors = tmp_path / "held", tmp_path / "errors"

    def changed(seconds: str) -> str:
        project.write(
            "work.py", REPORTING.replace("SECONDS", seconds).replace("HELD", repr(str(held)))
        )
        return project.commit()

    run("init", "--quiet", "--bare", str(tmp_path / "origin.git"))
    project.git("remote", "add", "origin", str(tmp_path / "origin.git"))
    project.write("perf.toml", CONFIGURATION)
    project.commit()
    subprocess.run([SCRIPTS / "perf", "init"], check=True, capture_output=True)
    perf("install")
    fast = changed("1.013")
    # there is nothing to compare it with
    assert run("push", "--quiet", "origin", "main").stderr == ""
    held.touch()
    changed("2.027")
    with errors.open("w") as file:
        push = subprocess.Popen(
            ["git", "push", "--quiet", "origin", "main"], cwd=project.root, stderr=file
        )
    assert happens(
        lambda: "perf: main is being measured" in errors.read_text() or push.poll() is not None
    )
    held.unlink()  # the push waits for the measurement
    assert push.wait(timeout=600) != 0
    said = errors.read_text()
    assert all(
        words in said for words in ("perf: main is being measured", "100 %", "inner", "degradation")
    ), said
    assert "perf: main became slower; to push anyway: git push --no-verify" in said
    assert project.git("ls-remote", "origin", "main").split()[0] == fast
