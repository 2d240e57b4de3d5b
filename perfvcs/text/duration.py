"""Times that somebody waits, as they are said: 12 s, 5 min, 1 h 20 min."""

from __future__ import annotations


def duration(seconds: float) -> str:
    """A time in seconds, to the second below ten minutes and to the minute above.

    >>> duration(0.4), duration(12.3), duration(200), duration(300), duration(4800), duration(7200)
    ('under 1 s', '12 s', '3 min 20 s', '5 min', '1 h 20 min', '2 h')
    """
    if seconds < 1:
        return "under 1 s"
    if seconds < 60:
        return f"{seconds:.0f} s"
    if seconds < 600:
        minutes, rest = divmod(round(seconds), 60)
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    hours, minutes = divmod(round(seconds / 60), 60)
    parts = [f"{hours:,} h" if hours else "", f"{minutes} min" if minutes else ""]
    return " ".join(filter(None, parts))
