"""`perf completion`: what a shell offers, asked in a real one."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import Project, Said

ASKED = """
eval "$(perfvcs completion bash)"
COMP_WORDS=({words})
COMP_CWORD={place}
_perfvcs_completion perfvcs
printf '%s\\n' "${{COMPREPLY[@]}}"
"""


def offered(*words: str, shell: str = "bash") -> list[str]:
    """What bash offers for the last of these words; nothing may be said beside it."""
    quoted = " ".join(f"'{word}'" for word in ("perfvcs", *words))
    text = ASKED.format(words=quoted, place=len(words))
    done = subprocess.run([shell, "-c", text], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return [line for line in done.stdout.splitlines() if line]


@pytest.fixture
def named(project: Project) -> Project:
    project.write(
        "perf.toml",
        '[[job]]\nname = "sort"\ncmd = "true"\n[[job]]\nname = "odd: (name)"\ncmd = "true"\n',
    )
    project.commit("a commit")
    project.git("tag", "v1.0")
    project.git("branch", "feature/x")
    subprocess.run(["perfvcs", "init"], capture_output=True, check=True)
    return project


def test_commands_and_options(named: Project) -> None:  # noqa: ARG001
    assert offered("che") == ["check"]
    assert "--measure" in offered("check", "--m")


def test_revisions(named: Project) -> None:  # noqa: ARG001
    assert offered("check", "") == [
        *("HEAD", "feature/x", "main", "v1.0"),
        *("sort", r"odd:\ \(name\)"),
    ], "revisions, then benchmarks"
    assert offered("check", "v") == ["v1.0"]
    assert offered("check", "v1.0..f") == ["v1.0..feature/x"]


def test_jobs_whatever_they_are_called(named: Project) -> None:  # noqa: ARG001
    assert offered("collect", "--job", "") == ["sort", r"odd:\ \(name\)"]
    assert offered("collect", "--job", r"odd:\ ") == [r"odd:\ \(name\)"]


def test_benchmarks_that_were_measured(
    named: Project,  # noqa: ARG001
    perf: Callable[..., Said],
    tmp_path: Path,
) -> None:
    table = tmp_path / "table.csv"
    table.write_text("uid,wall\nparse [big],1.5\n" + f"{'n' * 10_000},2\n")
    perf("import", str(table), "--name", "nightly")
    assert r"nightly:\ parse\ \[big\]" in offered("show", "night")
    assert max(map(len, offered("show", ""))) < 1_000


def test_nothing_is_said_without_a_repository(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert offered("check", "") == []
    assert offered("collect", "--job", "") == []


def test_nothing_is_said_of_a_broken_perf_toml(named: Project) -> None:
    named.write("perf.toml", "[[job")
    assert offered("collect", "--job", "") == []


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_read_their_script(shell: str, tmp_path: Path) -> None:
    done = subprocess.run(
        ["perfvcs", "completion", shell], capture_output=True, text=True, check=True
    )
    assert done.stdout.count("_PERFVCS_COMPLETE=") == done.stdout.count("_PERF_COMPLETE=") >= 1
    if shutil.which(shell):
        (script := tmp_path / "script").write_text(done.stdout)
        assert subprocess.run([shell, "-n", str(script)], check=False).returncode == 0


def test_a_shell_that_is_not_known(perf: Callable[..., Said]) -> None:
    assert "tcsh" in perf("completion", "tcsh", code=2).err
