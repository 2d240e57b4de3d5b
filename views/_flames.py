"""Shared by views of call stacks: the number of boxes, and the groups that are drawn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

from perfvcs.check.subject import Subject
from perfvcs.pictures.flame import BOX_POINTS, flames
from perfvcs.pictures.stacks import StackGroup, Traces, traces
from perfvcs.plugins import Count
from perfvcs.plugins.view import Scope, Unfit, View


@dataclass(frozen=True)
class FlameView(View[dict[StackGroup, Traces]]):
    """A view of the groups of profiles with call stacks, of two revisions or of one (``of_two``);
    ``unfit`` says which it lacks.
    """

    points: Count = 2500
    scope: ClassVar[Scope] = "stacks"
    of_two: ClassVar[bool]
    unfit: ClassVar[str]

    def bounded(self, *, points: int, both: bool) -> Self:
        """With fewer boxes."""
        return super().bounded(points=max(1, points // BOX_POINTS), both=both)

    def cut(self, subject: Subject) -> dict[StackGroup, Traces]:
        """The groups that it draws; two revisions measured differently are two groups of one."""
        if not (groups := traces(subject)):
            raise Unfit("it draws call stacks, such as the collector `samples` takes")
        if not (
            drawn := {name: group for name, group in groups.items() if group.of_two == self.of_two}
        ):
            raise Unfit(self.unfit)
        deep = {name: group for name, group in drawn.items() if flames({name: group}, 1)}
        if not deep:
            raise Unfit("every call stack has one frame: there are no calls to draw")
        return deep
