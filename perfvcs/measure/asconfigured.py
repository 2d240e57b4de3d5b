"""Whether what is stored was built as perf.toml has it now."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING

from perfvcs.environment import clean
from perfvcs.jobs.config import Config, installs
from perfvcs.profile.buildidentity import follows, stated, variables

if TYPE_CHECKING:
    from perfvcs.jobs.cell import Cell
    from perfvcs.profile.summary import Header, Measured


def is_present_build(header: Header, config: Config, cell: Cell) -> bool:
    """Whether a profile of a cell is of the build commands, flags and requirements of a
    configuration, so far as it is known; a product brings its own build.

    The versions of compilers do not count: they change with the machine, as its kernel does.
    """
    if header.design.product is not None or header.collected.is_foreign:
        return True
    fields = stated(config.build, installs(config))
    if config.build or config.python:
        fields |= variables(clean(os.environ, cell.env))
    return follows(header.environment.fields, fields)


def outdated(
    sides: Iterable[Iterable[Measured]], config: Config, cells: Iterable[Cell]
) -> set[str]:
    """The labels of the cells whose newest profile on a side is of another build than now."""
    by_name = {(cell.label, cell.collector_name): cell for cell in cells}
    labels: set[str] = set()
    for side in sides:
        newest: dict[tuple[str, str], Header] = {}
        for measured in sorted(side, key=lambda one: one.header.collected.started):
            newest[measured.header.job.label, measured.header.job.collector] = measured.header
        labels |= {
            name[0]
            for name, header in newest.items()
            if name in by_name and not is_present_build(header, config, by_name[name])
        }
    return labels
