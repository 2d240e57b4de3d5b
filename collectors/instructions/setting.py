"""What is fixed so that a program executes the same instructions each time: environment, hashes, addresses."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from perfvcs.environment import PADDING

DROPPED = (PADDING, "VALGRIND_OPTS")  # the first is random on purpose, the second would change what is counted
FIXED = {"PYTHONHASHSEED": "0", "PERL_HASH_SEED": "0", "PERL_PERTURB_KEYS": "0"}
PAGE_BYTES = 4096  # bytes
NO_RANDOMISATION = 0x0040000
UNCHANGED = 0xFFFFFFFF  # asks personality() for the present value


def environment(given: Mapping[str, str], preload: Path | None = None) -> dict[str, str]:
    """The environment of a counted process: nothing random, hashes fixed where the job does not set them, ``preload`` in front.

    It fills whole pages. The stack begins below it, and string functions of the C library take other paths for other alignments, so that
    the length of a checkout's path would change what is counted.
    """
    found = FIXED | {name: value for name, value in given.items() if name not in DROPPED}
    if preload is not None:
        found["LD_PRELOAD"] = f"{preload}:{given['LD_PRELOAD']}" if given.get("LD_PRELOAD") else str(preload)
    return found | {PADDING: "x" * (-size(found | {PADDING: ""}) % PAGE_BYTES)}


def size(variables: Mapping[str, str]) -> int:
    """The bytes of an environment where a process begins: NAME=VALUE and a zero byte each."""
    return sum(len(os.fsencode(name)) + len(os.fsencode(value)) + 2 for name, value in variables.items())


@cache
def addresses_can_be_fixed() -> bool:
    """Whether address space randomisation can be switched off for a process; containers often forbid it."""
    personality = ctypes.CDLL(None).personality
    before = personality(UNCHANGED)
    done: bool = personality(before | NO_RANDOMISATION) != -1
    personality(before)
    return done
