"""Files with one number of seconds on each line."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from typing import ClassVar

from perfvcs.formats import UNKNOWN
from perfvcs.profile import Collected, Design, Job, Metric, Profile, Resources
from perfvcs.profile.validity import Malformed


@dataclass(frozen=True)
class PlainList:
    """Each line is one execution's wall time in seconds."""

    suffixes: ClassVar[tuple[str, ...]] = (".seconds",)

    def recognises(self, name: str, head: bytes) -> bool:  # noqa: ARG002
        """By the suffix; the bytes could be anybody's."""
        return name.endswith(self.suffixes)

    def decode(self, document: bytes, stem: str = "") -> Profile:
        """The profile in a whole file; raises Malformed with the line."""
        values: list[float | None] = []
        for number, line in enumerate(document.decode(errors="replace").splitlines(), 1):
            try:
                values.append(float(line))
            except ValueError:
                raise Malformed(f"line {number}: `{line[:40]}` is not a number") from None
        # the same file imported again is the same profile
        session = f"plainlist-{sha256(document).hexdigest()[:12]}"
        return Profile(
            commit=UNKNOWN,
            job=Job(stem, "imported", stem),
            collected=Collected(session, "", "", "plainlist"),
            metrics={"wall": Metric("s")},
            design=Design(executions=len(values)),
            resources=Resources(
                names=[stem],
                uid=[0] * len(values),
                execution=list(range(len(values))),
                metrics={"wall": values},
            ),
        )
