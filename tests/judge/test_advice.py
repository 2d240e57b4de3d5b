"""The rules for coding agents in AGENTS.md."""

from __future__ import annotations

import pytest
from conftest import Perf, Project


@pytest.mark.parametrize("before", ["", "# Ours\n", "# Ours\n\nText without an end", "\n\n"])
def test_the_rules_come_and_go(project: Project, perf: Perf, before: str) -> None:
    file = project.root / "AGENTS.md"
    if before:
        file.write_text(before)
    perf("init", "--agent")
    text = file.read_text()
    assert text.startswith(before)
    assert text.count("perf judge --expect faster") == 1
    assert "stays as it is" in perf("init", "--agent").out
    assert file.read_text() == text
    perf("init", "--no-agent")
    assert not file.exists() or file.read_text().strip() == before.strip()
    assert "stays as it is" in perf("init", "--no-agent").out


def test_what_stands_behind_them_stays(project: Project, perf: Perf) -> None:
    file = project.root / "AGENTS.md"
    perf("init", "--agent")
    file.write_text("# Before\n\n" + file.read_text() + "# Behind\n")
    perf("init", "--agent")
    perf("init", "--no-agent")
    assert file.read_text() == "# Before\n# Behind\n"


def test_half_of_the_marks(project: Project, perf: Perf) -> None:
    (project.root / "AGENTS.md").write_text("<!-- perfvcs: begin -->\n")
    assert "perfvcs: end" in perf("init", "--agent", code=2).err


def test_other_text_than_utf_8(project: Project, perf: Perf) -> None:
    (project.root / "AGENTS.md").write_bytes(b"\xff\xfe")
    assert "not UTF-8" in perf("init", "--agent", code=2).err
