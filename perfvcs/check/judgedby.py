"""By what a report was judged, in sentences, where that needs to be said."""

from __future__ import annotations

from typing import TYPE_CHECKING

from perfvcs.check.text import SENTENCE_NAME
from perfvcs.text.characters import shorten
from perfvcs.text.words import counted

if TYPE_CHECKING:
    from perfvcs.check.change import Difference, JudgedBy

# differences in how a change is judged that are named, and characters of one
MOST_CRITERIA, CRITERION = 10, 200
MOST_PARTS, PART = 4, 44  # of one of them, and characters of a part


def criteria(by: JudgedBy, *, whole: bool = False) -> str:
    """What the target changes about how it is judged, and who judged if not the baseline's rules,
    in sentences.

    Empty where there is nothing to say. ``whole``: all that is known of it.
    """
    sentences = [by.remark[:1].upper() + shorten(by.remark[1:], CRITERION)] if by.remark else []
    if by.differences:
        shown = by.differences if whole else by.differences[:MOST_CRITERIA]
        listed = [_written(difference, whole=whole) for difference in shown]
        if len(by.differences) > len(shown):
            listed.append(f"{len(by.differences) - len(shown):,} more")
        sentences.insert(0, f"This change also changes how it is judged: {', '.join(listed)}")
    return ". ".join(sentences)


def _written(difference: Difference, *, whole: bool) -> str:
    """A difference with its parts in brackets and its files; if not ``whole``, with the first of
    them.
    """
    parts, files, more = difference.parts, difference.files, difference.more
    if not whole:
        longest = PART if len(parts) > 1 else CRITERION
        more += len(parts[MOST_PARTS:]) + len(files[1:])
        parts, files = (
            [shorten(part, longest) for part in parts[:MOST_PARTS]],
            [shorten(file, PART) for file in files[:1]],
        )
    listed = [*parts, f"{more:,} more"] if parts and more else parts
    if files:
        files = [*files, counted(more, "more file")] if more else files
    brackets = f"({'; '.join(listed)})" if listed else ""
    return " ".join(
        filter(None, [shorten(difference.what, CRITERION), brackets, " and ".join(files)])
    )


def accepting(by: JudgedBy) -> str:
    """The degradations that the change accepts by itself; empty where there are none."""
    accepted = by.accepts
    if not accepted:
        return ""
    first = shorten(accepted[0], 2 * SENTENCE_NAME)
    return (
        f"this change accepts {counted(len(accepted), 'degradation')} of its own"
        f" ({first}{', ...' if len(accepted) > 1 else ''})"
    )
