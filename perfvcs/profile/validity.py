"""What holds of every profile that the types of its fields do not say: lengths, ranges and
names.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import msgspec

from perfvcs.errors import PerfError
from perfvcs.system.foreign import MAX_DEPTH, is_flat

if TYPE_CHECKING:
    from collections.abc import Sequence

    from perfvcs.profile import Profile, Reached, Resources, Results, Stacks, Turns
    from perfvcs.profile.fittedmodels import AnyEntry

MAX_PROFILE = 1 << 30
MAX_ROWS = 50_000_000
MAX_NAME = 10_000
# bytes of all fields but the rows and the stacks, which become far more bytes of Python objects
MAX_HEADER = 1 << 24
MAX_STACKS = 1 << 28
MAX_INTEGER = (1 << 63) - 1  # what arrays hold
INTEGER_COLUMNS = ("execution", "binary", "iteration", "mark", "trace")
RESERVED = ("uid", "size", *INTEGER_COLUMNS)
PRODUCT_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,63}")
METRIC_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.:-]{0,63}")
FIELDS = msgspec.json.Decoder(dict[str, msgspec.Raw])  # of a document, undecoded
IDS = (  # fields, their pattern, and what it is called
    ("commit", r"[0-9a-f]{40}|[0-9a-f]{64}", "a full commit id"),
    ("dirty", r"[0-9a-f]{64}", "a SHA-256"),
    ("origin", r"[0-9a-f]{64}", "a SHA-256"),
)


class Malformed(PerfError):
    """A document is not a profile; the message names the place as a JSON path."""

    exit_code = 12

    def __init__(self, message: str) -> None:
        # names in a foreign document may hold line ends and terminal codes
        super().__init__("".join(char if char.isprintable() else "?" for char in message[:1000]))


def check(profile: Profile) -> None:
    """Raise Malformed, with the place of the first thing that does not hold."""
    for name, pattern, kind in IDS:
        value = getattr(profile, name)
        require(value is None or re.fullmatch(pattern, value), f"$.{name} is not {kind}")
    rows = profile.resources
    _check_rows(rows)
    _check_stacks(rows, profile.stacks)
    if profile.reached is not None:
        _check_reached(profile.reached)
    if profile.turns is not None:
        _check_turns(profile.turns)
    if profile.results is not None:
        _check_results(profile.results)
    for name in ("binaries", "executions", "warmup", "version", "failed"):
        require(
            0 <= getattr(profile.design, name) <= MAX_INTEGER,
            f"$.design.{name} is not between 0 and {MAX_INTEGER}",
        )
    _check_product(profile)
    for name, value in (
        ("job.options", profile.job.options),
        ("models", _open_fields(profile.models)),
        ("postprocessors", [[step.params] for step in profile.postprocessors]),
    ):
        require(is_flat(value), f"$.{name} is nested deeper than {MAX_DEPTH} levels")
    require(
        rows.metrics.keys() == profile.metrics.keys(),
        "$.metrics and the columns of $.resources differ",
    )
    for name, values in rows.metrics.items():
        require(
            METRIC_NAME.fullmatch(name) and name not in RESERVED,
            f"$.metrics has the unusable name {name[:80]!r}",
        )
        require(
            len(values) == len(rows),
            f"$.resources.{name} has {len(values)} rows, uid has {len(rows)}",
        )


def _check_product(profile: Profile) -> None:
    product = profile.design.product
    if product is None:
        return
    require(profile.dirty is not None, "$.dirty has no hash of the product in $.design.product")
    require(
        PRODUCT_NAME.fullmatch(product.name),
        "$.design.product.name is not a name of letters, digits and ._+-",
    )
    for name in ("command", "folder"):
        require(
            len(getattr(product, name)) <= MAX_NAME,
            f"$.design.product.{name} has over {MAX_NAME} characters",
        )


def _open_fields(models: Sequence[AnyEntry]) -> list[dict[str, Any]]:
    """The fields of the entries that may have any."""
    if not models:
        return []
    from perfvcs.profile.fittedmodels import OpenEntry

    return [entry.fields for entry in models if isinstance(entry, OpenEntry)]


def check_sizes(document: bytes) -> None:
    """Refuse a document whose header alone would fill the memory, before any of it becomes
    objects.
    """
    sizes = {name: len(memoryview(raw)) for name, raw in FIELDS.decode(document).items()}
    rest = sum(
        size for name, size in sizes.items() if name not in ("resources", "stacks", "reached")
    )
    require(
        rest <= MAX_HEADER,
        f"the fields other than $.resources have {rest:,} bytes, over the limit of {MAX_HEADER:,}",
    )
    for name in ("stacks", "reached"):
        size = sizes.get(name, 0)
        require(
            size <= MAX_STACKS, f"$.{name} has {size:,} bytes, over the limit of {MAX_STACKS:,}"
        )


def _check_rows(rows: Resources) -> None:
    count = len(rows)
    require(count <= MAX_ROWS, f"$.resources has {count:,} rows, over the limit of {MAX_ROWS:,}")
    require(len(set(rows.names)) == len(rows.names), "$.resources.uid.names repeats a name")
    require(
        all(len(name) <= MAX_NAME for name in rows.names),
        f"$.resources.uid.names has one over {MAX_NAME} characters",
    )
    require(
        not count or 0 <= min(rows.uid) <= max(rows.uid) < len(rows.names),
        "$.resources.uid.codes is out of range",
    )
    for name in INTEGER_COLUMNS:
        column: list[int] | None = getattr(rows, name)
        if column is not None:
            require(
                len(column) == count, f"$.resources.{name} has {len(column)} rows, uid has {count}"
            )
            least = -1 if name == "trace" else 0
            require(
                not count or min(column) >= least, f"$.resources.{name} has a value below {least}"
            )
            require(
                not count or max(column) <= MAX_INTEGER,
                f"$.resources.{name} has a value above {MAX_INTEGER}",
            )
    require(
        rows.size is None or len(rows.size) == count, "$.resources.size has another length than uid"
    )


def _check_stacks(rows: Resources, stacks: Stacks | None) -> None:
    if rows.trace:
        require(
            max(rows.trace) < (len(stacks.stacks) if stacks else 0),
            "$.resources.trace points outside $.stacks",
        )
    if stacks is not None:
        frames = len(stacks.frames)
        valid = all(0 <= frame < frames for stack in stacks.stacks for frame in stack)
        require(valid, "$.stacks.stacks points outside $.stacks.frames")


def _check_reached(reached: Reached) -> None:
    count = len(reached.functions)
    valid = all(
        0 <= function < count for functions in reached.units.values() for function in functions
    )
    require(valid, "$.reached.units points outside $.reached.functions")
    named = all(
        len(name) <= MAX_NAME for names in (reached.functions, reached.units) for name in names
    )
    require(named, f"$.reached has a name over {MAX_NAME} characters")


def _check_turns(turns: Turns) -> None:
    columns = {name: getattr(turns, name) for name in turns.__struct_fields__}
    for name, column in columns.items():
        require(
            len(column) == len(turns.execution),
            f"$.turns.{name} has {len(column)} rows, execution has {len(turns.execution)}",
        )
        valid = all(0 <= value <= MAX_INTEGER for value in column)
        require(valid, f"$.turns.{name} has a value that is not between 0 and {MAX_INTEGER}")
    require(len(set(turns.execution)) == len(turns.execution), "$.turns.execution repeats a number")


def require(holds: object, message: str) -> None:
    """Raise Malformed with this message unless something holds."""
    if not holds:
        raise Malformed(message)


def _check_results(results: Results) -> None:
    for name in ("output", "left"):
        column = getattr(results, name)
        require(
            len(column) == len(results.execution),
            f"$.results.{name} has {len(column)} rows, execution has {len(results.execution)}",
        )
        require(
            all(len(text) <= MAX_NAME for text in column),
            f"$.results.{name} has a text over {MAX_NAME} characters",
        )
    valid = all(0 <= value <= MAX_INTEGER for value in results.execution)
    require(valid, f"$.results.execution has a value that is not between 0 and {MAX_INTEGER}")
