"""The page of the Python API does what it shows."""

from __future__ import annotations

import doctest
import re
from math import log
from pathlib import Path
from random import Random

from conftest import ROOT, Project

PAGE = ROOT / "docs" / "api.md"


def write_table(name: str, seed: int, slope: float) -> None:
    """Two units at 8 sizes in 10 runs; ``search`` is logarithmic, and ``insert`` has a linear
    part.
    """
    random = Random(seed)
    rows = []
    for run in range(10):
        for size in range(1000, 9000, 1000):
            for uid, linear in (("search", 0.0), ("insert", slope)):
                rows.append(
                    f"{uid},{size},{run},{(0.003 * log(size) + linear * size) * random.lognormvariate(0, 0.005):.8f}\n"
                )
    Path(name).write_text("uid,size,run,wall [ms]\n" + "".join(rows))


def test_the_page_of_the_api_does_what_it_shows(project: Project) -> None:
    project.commit("one")
    project.commit("two")
    write_table("old.csv", 1, 0.0)
    write_table("new.csv", 2, 0.001)
    text = "".join(re.findall(r"```pycon\n(.*?)```", PAGE.read_text(), re.DOTALL))
    example = doctest.DocTestParser().get_doctest(text, {}, "api.md", str(PAGE), 0)
    assert len(example.examples) > 20
    told: list[str] = []
    result = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(example, out=told.append)
    assert not result.failed, "".join(told)
