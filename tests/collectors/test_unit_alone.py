"""A program that runs one unit alone is counted from its start."""

from pathlib import Path

import pytest

from perfvcs.collectors._shared.testing.oneunit import Undivided, divide
from perfvcs.plugins.collector import DIVIDED, Observations, Run


def counting(run: Run) -> Observations:
    """What counts in a program that does not say when its unit begins."""
    if run.unit:
        raise Undivided("it does not say when sort begins")
    return Observations(engine="callgrind/1")


@pytest.mark.parametrize(
    ("alone", "engine", "said"),
    [
        (True, f"callgrind/1{DIVIDED}", "sort is counted with the start of its program"),
        (False, "callgrind/1", "counted over the whole program: it does not say"),
    ],
)
def test_the_engine_says_whether_the_unit_was_counted(
    tmp_path: Path, alone: bool, engine: str, said: str
) -> None:
    run = Run(("/bin/true",), tmp_path, {}, tmp_path, "bench", unit="sort", alone=alone)
    rows = divide(run, counting)
    assert rows.engine == engine
    assert said in rows.warnings[0]
