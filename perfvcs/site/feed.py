"""The Atom feed of changes (RFC 4287): one entry per commit that changed something for good."""

from __future__ import annotations

import re
import uuid
from collections import Counter
from datetime import UTC, datetime
from html import escape
from urllib.parse import urlsplit

from perfvcs.check.vocabulary import SURE, WORDS
from perfvcs.errors import UsageError
from perfvcs.site.contents import Contents
from perfvcs.site.model import GroupData, StepData
from perfvcs.text.characters import shorten
from perfvcs.text.words import counted, tallied

BADGE_LABEL = "performance"
LETTER = 6.6  # pixels that a letter takes on average, in 11 pixels of Verdana
PAD = 8
# white on each has a contrast of at least 4.5
GREY, GREEN_PAPER, RED = "#4a4a4a", "#00684a", "#a33c00"
ENTRY_CHANGES = 50  # changes of one entry
SPACE = uuid.UUID("6f0c2a3e-52a1-5d0a-9c3c-1f6f8a7b2d10")  # of ids where there is no address
ADDRESS = re.compile(r"[!-~]+")  # characters of an address
EPOCH = "1970-01-01T00:00:00Z"


def badge(open_: int) -> bytes:
    """The badge for so many open degradations."""
    text = counted(open_, "open degradation") if open_ else "no open degradation"
    colour = RED if open_ else GREEN_PAPER
    sign = f"{WORDS['degradation'].sign} " if open_ else ""
    left, right = (round(LETTER * len(part) + 2 * PAD) for part in (BADGE_LABEL, sign + text))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + right}" height="20" role="img"'
        f' aria-label="{BADGE_LABEL}: {text}"><title>{BADGE_LABEL}: {text}</title><rect'
        f' width="{left + right}" height="20" rx="3" fill="{GREY}"/><path d="M{left}'
        f' 0h{right - 3}a3 3 0 0 1 3 3v14a3 3 0 0 1 -3 3h-{right - 3}z" fill="{colour}"/><g'
        ' fill="#ffffff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11"'
        f' text-anchor="middle"><text x="{left / 2:g}" y="14"'
        f' textLength="{left - 2 * PAD}">{BADGE_LABEL}</text><text x="{left + right / 2:g}" y="14"'
        f' textLength="{right - 2 * PAD}">{sign}{text}</text></g></svg>\n'
    ).encode()


def verified(address: str) -> str:
    """An address below which pages can be found; raises UsageError."""
    try:
        parts = urlsplit(address)
        sound = (
            parts.scheme in ("http", "https")
            and parts.hostname
            and not (parts.query or parts.fragment)
            and ADDRESS.fullmatch(address)
        )
    except ValueError:  # brackets that hold no address
        sound = None
    if not sound:
        raise UsageError(
            f"--base-url {shorten(address, 80)} is not an address of a folder: give one like"
            " https://example.org/perf/"
        )
    return address


def feed(contents: Contents, title: str, base_url: str) -> bytes:
    """The feed; its dates are those of the commits, so that the same history makes the same feed.

    Without ``base_url`` links are relative, and the ids are made from the project's first commit.
    """
    groups = contents.groups(contents.having("open", "accepted", "over", "improvement"))[:100]
    root = f"{base_url.rstrip('/')}/" if base_url else ""
    first = contents.record.commits[0] if contents.record.commits else title
    home = root or f"urn:uuid:{uuid.uuid5(SPACE, first)}"
    updated = max((moment(group.commit.when) for group in groups), default=EPOCH)
    lines = [
        '<?xml version="1.0" encoding="utf-8"?>',
        '<feed xmlns="http://www.w3.org/2005/Atom">',
        f"<title>{_text(title)}</title>",
        f"<id>{_text(home)}</id>",
        f"<updated>{updated}</updated>",
        f'<link href="{_text(root + "changes.html")}"/>',
        f'<link rel="self" href="{_text(root + "changes.atom")}"/>',
        *(_entry(group, home, root) for group in groups),
        "</feed>",
    ]
    return "\n".join([*lines, ""]).encode()


def _entry(group: GroupData, home: str, root: str) -> str:
    commit = group.commit
    words = Counter(step.word for step in group.steps)
    listed = [word for word in SURE if words[word]]
    counted = tallied((word, words[word]) for word in listed)
    address = f"{root}{commit.url or 'changes.html'}"
    name = f"{home}{commit.url}" if root else f"urn:uuid:{uuid.uuid5(SPACE, home + commit.id)}"
    more = (
        [f"and {len(group.steps) - ENTRY_CHANGES} more"] if len(group.steps) > ENTRY_CHANGES else []
    )
    content = "\n".join([*map(_sentence, group.steps[:ENTRY_CHANGES]), *more])
    title, author = f"{commit.short} {commit.title}: {counted}", commit.author or "unknown"
    return (
        f"<entry><title>{_text(title)}</title><id>{_text(name)}</id>"
        f"<updated>{moment(commit.when)}</updated><author><name>{_text(author)}</name></author>"
        f'<link href="{_text(address)}"/>'
        f"<content>{_text(content)}</content></entry>"
    )


def _sentence(step: StepData) -> str:
    return (
        f"{step.word} {step.benchmark}, {step.metric}, {step.environment}: {step.change},"
        f" {step.levels} ({step.state})"
    )


def _text(text: str) -> str:
    """Text as XML; what XML has no character for was made visible when the names were shortened."""
    return escape(
        "".join(character if character not in "\ufffe\uffff" else "\ufffd" for character in text)
    )


def moment(when: str) -> str:
    """A date of git as RFC 3339 in UTC; the epoch where it is none."""
    try:
        return datetime.fromisoformat(when).astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (ValueError, OverflowError):
        return EPOCH
