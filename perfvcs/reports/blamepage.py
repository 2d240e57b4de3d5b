"""The page of a blame: what it says, the diff with the blamed hunks, tables of functions and trials, and both flame graphs."""

from __future__ import annotations

from perfvcs.locate.finding import Blame
from perfvcs.page.flames import rectangles
from perfvcs.page.report import render
from perfvcs.reports.blame import TIME_UNITS, lines
from perfvcs.text.quantity import micro_sign, percent, quantity

ROW_HEIGHT = 16  # units of a flame graph's height


@micro_sign()
def page(blame: Blame) -> str:
    """The page as one HTML document without scripts; nothing in it comes from another place."""
    cause = blame.cause
    flames = []
    for side, name in enumerate((blame.baseline, blame.target)):
        boxes = rectangles(blame.tree, side=side, blamed=cause.name if cause else "")
        if boxes:
            flames.append((name[:10], ROW_HEIGHT * (max(box.row for box in boxes) + 1), boxes))
    return render(
        "blame.html",
        title=f"{blame.job}: {blame.baseline[:10]} -> {blame.target[:10]}", said="\n".join(lines(blame)), cause=cause,
        suspects=blame.suspects, trials=blame.tried, dependencies=blame.dependencies, flames=flames, measure=blame.measure,
        baseline=blame.baseline[:10],
        share=lambda value: percent(value) if value else "", level=lambda value: quantity(value, TIME_UNITS.get(blame.metric, "")).strip(),
    )  # fmt: skip
