"""The contract of the postprocessors, which are found by their names in ``postprocessors/``.

A postprocessor is a frozen dataclass; its fields are its options in perf.toml and of ``perf
process``, and each has a default. Its docstring begins with one sentence, the help of ``perf
process``.
"""

from __future__ import annotations

from typing import Protocol

from perfvcs.profile import Profile


class Postprocessor(Protocol):
    """What every member of the family offers."""

    def apply(self, profile: Profile) -> Profile:
        """A new profile with what was computed added; the rows of the old one stay as they are.

        Results are new columns or entries of ``models``, and one entry of ``postprocessors``, as
        docs/format.md has them; what the same member added before is replaced, so that applying it
        twice gives what applying it once gives. The profile can be encoded: no number in it is
        infinite or NaN. Raises UsageError, in one line, where the profile has not what is needed.
        """
        ...
