"""A badge for a README: the state of a project's performance as a small SVG."""

from __future__ import annotations

from perfvcs.text.words import counted

BADGE_LABEL = "performance"
LETTER = 6.6  # pixels that a letter takes on average, in 11 pixels of Verdana
PAD = 8
GREY, GREEN_PAPER, RED = "#4a4a4a", "#00684a", "#a33c00"  # white on each has a contrast of at least 4.5


def badge(open_: int) -> bytes:
    """The badge for so many open degradations."""
    text = counted(open_, "open degradation") if open_ else "no open degradation"
    colour = RED if open_ else GREEN_PAPER
    sign = "▲ " if open_ else ""
    left, right = (round(LETTER * len(part) + 2 * PAD) for part in (BADGE_LABEL, sign + text))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + right}" height="20" role="img" aria-label="{BADGE_LABEL}: {text}">'
        f"<title>{BADGE_LABEL}: {text}</title>"
        f'<rect width="{left + right}" height="20" rx="3" fill="{GREY}"/>'
        f'<path d="M{left} 0h{right - 3}a3 3 0 0 1 3 3v14a3 3 0 0 1 -3 3h-{right - 3}z" fill="{colour}"/>'
        f'<g fill="#ffffff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11" text-anchor="middle">'
        f'<text x="{left / 2:g}" y="14" textLength="{left - 2 * PAD}">{BADGE_LABEL}</text>'
        f'<text x="{left + right / 2:g}" y="14" textLength="{right - 2 * PAD}">{sign}{text}</text></g></svg>\n'
    ).encode()
