"""A report of `perf check` as text, as a line, as JSON and as Markdown, with what is known beside
it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import msgspec

from perfvcs.check.answer import criteria

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from perfvcs.check.change import Report
    from perfvcs.check.markdown import FalseAlarms
    from perfvcs.check.movement import JobUnit

Form = Literal["text", "json", "markdown", "line"]


class Background(msgspec.Struct, frozen=True):
    """What a report says beyond its verdicts: causes by unit, files that differ, the function that
    was blamed, the next steps, and which ``pairs`` it is by.
    """

    causes: Mapping[JobUnit, list[str]]
    files: Sequence[str] = ()
    blamed: str = ""
    following: Sequence[str] = ()
    pairs: str = ""

    @property
    def sentences(self) -> list[str]:
        """What stands below the changes: the files that differ, the function that was blamed, the
        next steps.
        """
        from perfvcs.reports.causes import changed_files

        texts = [self.pairs, changed_files(self.files), self.blamed, *self.following]
        return list(filter(None, texts))


def _unknown() -> None:
    """Nothing, of files that no audit is about."""


def rendered(
    report: Report,
    form: Form,
    background: Callable[[], Background],
    *,
    verbose: bool = False,
    why: str = "",
    false_alarms: Callable[[], FalseAlarms | None] = _unknown,
) -> str:
    """A report in a form, with ``why`` these two were compared; the ``background`` is asked for
    unless the form is a line, the ``false_alarms`` for JSON.
    """
    from perfvcs.check.doubts import first_said
    from perfvcs.check.renewal import offer
    from perfvcs.check.text import settlement, summary, text

    if form == "line":
        counts = [first_said(report), summary(report), settlement(report.comparisons)]
        return "; ".join(filter(None, [*counts, criteria(report.judged_by), offer(report)]))
    context = background()
    after = context.sentences
    if form == "text" and verbose:
        from perfvcs.check.screen import lead

        return "\n".join([*lead(report, why=why), text(report, following=after)])
    if form == "json":
        from perfvcs.check.markdown import document
        from perfvcs.text.document import json_text

        causes = {": ".join(unit): lines for unit, lines in context.causes.items()}
        return json_text(
            document(
                report,
                causes=causes,
                files=context.files,
                next="\n".join(context.following),
                pair=why,
                false_alarms=false_alarms(),
            )
        )
    if form == "markdown":
        from perfvcs.check.markdown import markdown

        return markdown(report, causes=context.causes, following=after, verbose=verbose, why=why)
    from perfvcs.check.screen import screen

    return screen(report, causes=context.causes, following=after, why=why)
