"""A text of very many lines as arrays: where lines of each kind are, and the numbers in them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import TYPE_CHECKING

from perfvcs.system.numeric import Flags, Floats, Integers, np

if TYPE_CHECKING:
    from numpy.typing import NDArray

WIDEST = 15  # digits of a number, which a float holds exactly
KIND = 4  # bytes by which lines are told apart
# source files, which are many and say nothing about functions
IGNORED = (b"fl=", b"fi=", b"fe=", b"cfi=", b"cfl=")


@dataclass(frozen=True)
class TextLines:
    """Lines from ``starts`` to ``ends`` in ``text``; the other arrays are numbers of lines from 0,
    in order.

    ``counted`` begin with a position. ``functions`` are ``fn=``, ``callees`` ``cfn=``, ``calls``
    ``calls=``, ``jumps`` ``jump=`` and ``jcnd=``. ``words`` have to be read one by one: what else
    says something, and functions that are written out.
    """

    text: NDArray[np.uint8]
    starts: Integers
    ends: Integers
    counted: Integers
    functions: Integers
    callees: Integers
    calls: Integers
    jumps: Integers
    words: Integers

    @classmethod
    def of(cls, content: bytes) -> TextLines:
        """The lines of a content."""
        # so that there are so many bytes from any place on
        text = np.frombuffer(content + b"\n" + bytes(KIND), np.uint8)
        ends = np.flatnonzero(text == ord("\n"))
        starts = np.concatenate([[0], ends[:-1] + 1])
        first = text[starts]
        counts = (
            ((first >= ord("0")) & (first <= ord("9")))
            | (first == ord("+"))
            | (first == ord("-"))
            | (first == ord("*"))
        )
        telling = np.flatnonzero(~counts & (ends > starts) & (first != ord("#")))
        begins = (
            np.stack([text[starts[telling] + place] for place in range(KIND)], axis=1)
            .copy()
            .view(f"S{KIND}")
            .ravel()
        )
        functions, callees, calls, jumps, ignored = (
            np.flatnonzero(_begins(begins, names))
            for names in ((b"fn=",), (b"cfn=",), (b"call",), (b"jump", b"jcnd"), IGNORED)
        )
        made = cls(
            text,
            starts,
            ends,
            counted=np.flatnonzero(counts),
            functions=telling[functions],
            callees=telling[callees],
            calls=telling[calls],
            jumps=telling[jumps],
            words=telling,
        )
        read = np.ones(len(telling), bool)
        read[np.concatenate([calls, jumps, ignored])] = False
        for kind in (functions, callees):
            read[kind] = np.isnan(made.references(telling[kind]))
        return replace(made, words=telling[read])

    def counts(self, number: int) -> Floats:
        """The number in field ``number`` (from 0) of each line of counts, 0 where it ends before,
        NaN where there is no number.
        """
        starts, ends, spaces = self.starts[self.counted], self.ends[self.counted], self._spaces
        before = np.searchsorted(spaces, starts) + number - 1
        begin = spaces[np.minimum(before, len(spaces) - 1)]
        end = spaces[np.minimum(before + 1, len(spaces) - 1)]
        return self._numbers(np.where(begin < ends, begin + 1, ends), np.minimum(end, ends))

    def addresses(self) -> Floats:
        """The first position of each line of counts, which may be relative to the line before; NaN
        where there is no number.
        """
        begin, ends = self.starts[self.counted], self.ends[self.counted]
        end = np.minimum(self._spaces[np.searchsorted(self._spaces, begin)], ends)
        first = self.text[begin]
        sign, same = (first == ord("+")).astype(np.int64) - (first == ord("-")), first == ord("*")
        begin = begin + (sign != 0)
        is_hex = (self.text[begin] == ord("0")) & (self.text[begin + 1] == ord("x"))
        values = np.where(is_hex, self._numbers(begin + 2, end, 16), self._numbers(begin, end))
        values[same] = 0.0
        absolute = (sign == 0) & ~same
        passed = np.where(absolute, 0.0, sign * values).cumsum()
        last = np.maximum.accumulate(np.where(absolute, np.arange(len(begin)), -1))
        return np.where(last >= 0, values[last] + passed - passed[last], np.nan)

    def called(self) -> Floats:
        """How often, of the lines ``calls=3 16``; NaN where there is no number."""
        begin, ends, spaces = (
            self.starts[self.calls] + len("calls="),
            self.ends[self.calls],
            self._spaces,
        )
        numbers = self._numbers(begin, np.minimum(spaces[np.searchsorted(spaces, begin)], ends))
        return np.where(begin < ends, numbers, np.nan)

    def references(self, lines: Integers) -> Floats:
        """The number of each line that ends in ``=(12)``, NaN for others; of lines ``fn=`` or
        ``cfn=``.
        """
        begin, end = self.starts[lines] + 3, self.ends[lines] - 1
        begin = begin + (self.text[begin] == ord("="))  # cfn=
        fits = (end > begin + 1) & (self.text[begin] == ord("(")) & (self.text[end] == ord(")"))
        return np.where(fits, self._numbers(begin + 1, np.where(fits, end, begin)), np.nan)

    def position(self, lines: Integers, others: Integers) -> Integers:
        """The place among ``others`` of the last that is not behind each of the ``lines``; -1 for
        none.
        """
        passed = np.zeros(len(self.starts), np.int64)
        passed[others] = 1
        positions: Integers = np.where(lines < 0, 0, passed.cumsum()[lines]) - 1
        return positions

    def follows(self, others: Integers) -> Flags:
        """Which lines of counts come right behind one of ``others``."""
        behind = np.zeros(len(self.starts) + 1, bool)
        behind[others + 1] = True
        following: Flags = behind[self.counted]
        return following

    @cached_property
    def _spaces(self) -> Integers:
        """Where the spaces are, and one behind all."""
        return np.append(np.flatnonzero(self.text == ord(" ")), len(self.text))

    def _numbers(self, begin: Integers, end: Integers, base: int = 10) -> Floats:
        width, values = end - begin, np.zeros(len(begin))
        left = np.flatnonzero(width > 0)
        for digit in range(min(int(width.max(initial=0)), WIDEST)):
            left = left[width[left] > digit]
            read = _digits()[self.text[begin[left] + digit]]
            values[left] = np.where(read < base, base * values[left] + read, np.nan)
        values[width > WIDEST] = np.nan
        return values


@cache
def _digits() -> Integers:
    """The value of each byte as a digit; larger than any base for what is not a digit."""
    digits = np.full(256, 99, np.int64)
    digits[list(b"0123456789abcdef")] = range(16)
    return digits


def _begins(begins: NDArray[np.bytes_], names: Sequence[bytes]) -> Flags:
    """Which begin with one of the names; all names are of as many bytes as they begin with, or
    fewer.
    """
    mask = np.zeros(len(begins), bool)
    for name in names:
        mask |= begins.astype(f"S{len(name)}") == name
    return mask
