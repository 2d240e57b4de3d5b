"""What only Linux perf can do is handed to it, and never back to ourselves."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from perfvcs import cli
from perfvcs.system import linuxperf

SCRIPTS = Path(sys.executable).parent
SHOW = '#!/bin/sh\necho linux "$0" "$#" "$@"\n'
GIT = Path(shutil.which("git") or "git").parent
OURS = "#!{python}\nimport sys\nfrom perfvcs.cli import main\nsys.exit(main())\n"


def program(folder: Path, text: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "perf"
    path.write_text(text)
    path.chmod(0o755)
    return path


def perf(*args: str, path: list[Path], name: str = "perf") -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PATH": os.pathsep.join(map(str, [SCRIPTS, *path]))}
    return subprocess.run(
        [SCRIPTS / name, *args],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
        timeout=60,
    )


def test_a_command_of_linux_perf_is_handed_over_with_its_arguments_untouched(tmp_path):
    linux = program(tmp_path / "bin", SHOW)
    arguments = ["stat", "-h", "--", "sh", "-c", "a b", "", "-C", "*"]
    done = perf(*arguments, path=[linux.parent])
    assert done.stdout == f"linux {linux} {len(arguments)} {' '.join(arguments)}\n"


def test_its_exit_status_is_ours(tmp_path):
    linux = program(tmp_path / "bin", "#!/bin/sh\nexit 42\n")
    assert perf("record", path=[linux.parent]).returncode == 42


def test_help_about_a_command_of_linux_perf_is_handed_over(tmp_path):
    linux = program(tmp_path / "bin", SHOW)
    assert perf("help", "record", path=[linux.parent]).stdout.endswith("2 help record\n")


@pytest.mark.parametrize(
    "words",
    [
        "version --build-options",
        "check feature libelf",
        "check -q feature libelf,libdw",
        "diff",
        "diff perf.data.old perf.data",
        "diff -s dso",
    ],
)
def test_of_commands_that_both_have_linux_perf_gets_what_only_it_knows(tmp_path, words, project):
    project.commit()
    linux = program(tmp_path / "bin", SHOW)
    assert perf(*words.split(), path=[linux.parent]).stdout.endswith(f" {words}\n")


@pytest.mark.parametrize("words", ["help", "help check", "version", "version --help", "-v"])
def test_help_and_version_are_ours(tmp_path, words):
    linux = program(tmp_path / "bin", SHOW)
    done = perf(*words.split(), path=[linux.parent])
    assert done.returncode == 0
    assert "linux" not in done.stdout


def test_a_branch_called_feature_is_compared_and_not_asked_about(tmp_path, project):
    project.commit()
    linux = program(tmp_path / "bin", SHOW)
    project.git("branch", "feature")
    done = perf("check", "feature", "HEAD", path=[linux.parent, GIT])
    assert (done.returncode, done.stdout) == (10, "")
    assert "nothing was measured" in done.stderr


def test_without_linux_perf_a_feature_is_said_to_be_its_question(tmp_path, project):
    project.commit()
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "git").symlink_to(GIT / "git")
    done = perf("check", "feature", "libelf", path=[tmp_path / "bin"])
    assert done.returncode == 2
    assert "`check feature` belongs to Linux perf" in done.stderr


@pytest.mark.parametrize("words", ["HEAD~1 HEAD", "HEAD~1..HEAD", "main", "HEAD~1 HEAD sort"])
@pytest.mark.parametrize("name", ["perf", "perfvcs"])
def test_revisions_are_compared_with_check_and_not_with_diff(tmp_path, project, words, name):
    project.commit()
    project.commit()
    linux = program(tmp_path / "bin", SHOW)
    done = perf("diff", *words.split(), path=[linux.parent, GIT], name=name)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "perf: `perf diff` of Linux perf compares recordings: compare revisions with `perf check"
        f" {words}`\n"
    )


def test_a_file_that_is_called_like_a_revision_is_a_recording(tmp_path, project):
    project.commit()
    project.write("main", "a recording")
    linux = program(tmp_path / "bin", SHOW)
    assert perf("diff", "main", path=[linux.parent, GIT]).stdout.endswith("2 diff main\n")


def test_a_folder_is_changed_first(tmp_path):
    linux = program(tmp_path / "bin", "#!/bin/sh\npwd\n")
    (tmp_path / "there").mkdir()
    assert (
        perf("-C", str(tmp_path / "there"), "top", path=[linux.parent]).stdout
        == f"{tmp_path}/there\n"
    )


def test_without_linux_perf_one_line_says_how_to_get_it(tmp_path):
    done = perf("stat", "ls", path=[tmp_path])
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert (
        "perf: `stat` belongs to Linux perf, which is not on PATH: apt install linux-perf"
        in done.stderr
    )


def test_our_own_script_is_skipped_under_every_other_path(tmp_path):
    """A symlink to it, a copy, another environment's, one whose Python has too long a path for a #!
    line.
    """
    (tmp_path / "link").mkdir()
    (tmp_path / "link" / "perf").symlink_to(SCRIPTS / "perf")
    other = program(tmp_path / "other", OURS.format(python=sys.executable))
    long = program(
        tmp_path / "long",
        f"#!/bin/sh\n'''exec' \"{sys.executable}\" \"$0\" \"$@\"\n' '''\nfrom perfvcs.cli import"
        " main\nmain()\n",
    )
    linux = program(tmp_path / "bin", SHOW)
    done = perf("report", path=[tmp_path / "link", other.parent, long.parent, linux.parent])
    assert done.stdout == f"linux {linux} 1 report\n"


def test_a_wrapper_that_calls_us_again_is_tried_once(tmp_path):
    """As the shims of pyenv and asdf do."""
    shim = program(tmp_path / "shims", f'#!/bin/sh\nexec "{SCRIPTS}/perf" "$@"\n')
    linux = program(tmp_path / "bin", SHOW)
    assert perf("list", path=[shim.parent, linux.parent]).stdout == f"linux {linux} 1 list\n"


@pytest.mark.slow
def test_a_wrapper_that_starts_us_again_and_again_is_named(tmp_path):
    shim = program(tmp_path / "shims", f'#!/bin/sh\n"{SCRIPTS}/perf" "$@"\n')
    done = perf("list", path=[shim.parent])
    assert done.returncode == 2
    assert f"only call each other; the last was {shim}" in done.stderr


def test_linux_perf_may_itself_call_perf(tmp_path):
    linux = program(
        tmp_path / "bin", '#!/bin/sh\n[ "$1" = stat ] && { shift; "$@"; exit; }\necho inner "$@"\n'
    )
    assert perf("stat", "perf", "report", path=[linux.parent]).stdout == "inner report\n"


def test_a_program_that_cannot_run_is_passed_over(tmp_path):
    broken = program(tmp_path / "broken", "\x7fELF nonsense")
    linux = program(tmp_path / "bin", SHOW)
    assert perf("mem", path=[broken.parent, linux.parent]).stdout == f"linux {linux} 1 mem\n"


def test_linux_perf_dies_of_a_closed_pipe_as_it_would_alone(tmp_path):
    """Python ignores SIGPIPE, and an ignored signal would be inherited."""
    linux = program(
        tmp_path / "bin",
        '#!/bin/sh\nwhile read -r name value; do [ "$name" = SigIgn: ] && echo "$name $value"; done'
        " </proc/self/status\n",
    )
    ignored = int(perf("top", path=[linux.parent]).stdout.split()[1], 16)
    assert not ignored & (1 << (signal.SIGPIPE - 1))


def test_under_the_name_perfvcs_nothing_is_handed_over(tmp_path):
    linux = program(tmp_path / "bin", SHOW)
    done = perf("stat", path=[linux.parent], name="perfvcs")
    assert done.returncode == 2
    assert "there is no command 'stat'" in done.stderr


def test_no_command_of_ours_is_named_like_one_of_linux_perf():
    assert not linuxperf.COMMANDS & set(cli.group.list_commands(cli.click.Context(cli.group)))


@pytest.mark.needs("/usr/bin/perf")
def test_the_real_linux_perf_answers():
    done = perf("version", "--build-options", path=[Path("/usr/bin")])
    assert done.stdout.startswith("perf version")


@pytest.mark.needs("/usr/bin/perf")
def test_every_command_of_the_real_linux_perf_is_known():
    listed = subprocess.run(
        ["/usr/bin/perf", "--list-cmds"], capture_output=True, text=True, check=True
    ).stdout
    assert set(listed.split()) - {"help", "check", "version"} <= linuxperf.COMMANDS


def test_started_as_a_module_of_python_it_still_finds_linux_perf(tmp_path):
    """``sys.argv[0]`` is then no program on PATH."""
    linux = program(tmp_path / "bin", SHOW)
    code = "import sys; from perfvcs.system import linuxperf; linuxperf.hand_over(['stat', '-a'])"
    environment = os.environ | {"PATH": f"{SCRIPTS}:{linux.parent}"}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True
    )
    assert done.stdout == f"linux {linux} 2 stat -a\n"


def test_the_kernels_own_is_found_behind_ours(tmp_path):
    ours, linux = (
        program(tmp_path / "ours", OURS.format(python=sys.executable)),
        program(tmp_path / "bin", SHOW),
    )
    assert linuxperf.find(f"{ours.parent}:{linux.parent}") == str(linux)
    assert linuxperf.find(str(ours.parent)) is None and linuxperf.find("") is None
