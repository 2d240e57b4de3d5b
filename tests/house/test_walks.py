"""A comparison of what is stored walks straight through the house: few rooms, and hardly a climb."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT, script

ROOMS, CLIMBS = 15, 4  # of `perf check A B`, at most


@pytest.fixture
def walks(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    return script(ROOT / "docs" / "walks.py")


@pytest.mark.slow
def test_a_check_enters_few_rooms_and_does_not_climb(walks: Any, tmp_path: Path) -> None:
    walks.repository(tmp_path)
    slower = json.loads((tmp_path / "sort.json").read_text())
    slower["results"][0]["times"] = [2 * time for time in walks.TIMES]
    (tmp_path / "slower.json").write_text(json.dumps(slower))
    files = ("sort.json", "slower.json", "--commit", "HEAD~4", "--commit", "HEAD", "--in-turns")
    walks.walked(ROOT, tmp_path, ("import", *files, "--quiet"))
    calls = walks.walked(ROOT, tmp_path, ("check", "HEAD~4", "HEAD"))
    rooms = {room for pair in calls for room in pair}
    assert {"commands", "reports", "check", "check.methods"} <= rooms
    assert len(rooms) <= ROOMS, sorted(rooms)
    up = walks.climbs(walks.House(ROOT), calls)
    assert up.total() <= CLIMBS, up
