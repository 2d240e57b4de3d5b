"""The benchmarks by name: what each answers, needs and takes as options.

A benchmark is a function that yields rows; `@benchmark` registers it. Its keyword parameters are
its options, their defaults those of a full run.
"""

from __future__ import annotations

import importlib.util
import inspect
import os
import shutil
import sys
import sysconfig
from argparse import ArgumentParser
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from inspect import Parameter
from pathlib import Path
from typing import Any, get_args, get_origin

from .figures import Row

CURES = {
    "memray": "pip install memray",
    "pip": "python -m ensurepip",
    "py-spy": "pip install py-spy",
    "pytest": "pip install pytest",
    "distributed": "pip install distributed",
    "statsmodels": "pip install statsmodels",
    "/usr/bin/perf": "on Debian: apt-get install linux-perf",
    "Python.h": "on Debian: apt-get install python3-dev",
    "cc": "on Debian: apt-get install gcc",
    "g++": "on Debian: apt-get install g++",
    "gcc": "on Debian: apt-get install gcc",
    "hyperfine": "on Debian: apt-get install hyperfine",
    "make": "on Debian: apt-get install make",
    "valgrind": "on Debian: apt-get install valgrind",
}
MODULES = {"memray", "pip", "pytest", "distributed", "statsmodels"}
# what no look at the machine tells
GIVEN = {"clones of projects", "network", "results of asv"}
Rows = Iterable[Row]
HERE = Path(__file__).parent
_REGISTERED: dict[str, Benchmark] = {}


class Wrong(Exception):
    """What was measured is wrong, such as something lost; the benchmark ends with exit status 1."""


@dataclass(frozen=True)
class Benchmark:
    """A registered function.

    ``page`` is the page of docs/evaluation/ with its figures, ``quick`` the options with which it
    takes seconds, or why there are none; ``needs`` what it needs beside perfvcs and git.
    """

    function: Callable[..., Rows]
    page: str
    quick: Mapping[str, object] | str
    needs: tuple[str, ...]

    @property
    def name(self) -> str:
        return self.function.__name__

    @property
    def answers(self) -> str:
        """What is asked, in one sentence."""
        return " ".join((self.function.__doc__ or "").partition("\n\n")[0].split())

    @property
    def about(self) -> str:
        """All that is said of it."""
        module = inspect.getmodule(self.function)
        texts = (self.function.__doc__ or "", (module and module.__doc__) or "")
        return "\n\n".join(inspect.cleandoc(text) for text in texts)

    @property
    def options(self) -> dict[str, Parameter]:
        return dict(inspect.signature(self.function, eval_str=True).parameters)

    @property
    def required(self) -> list[str]:
        """The options without a default."""
        return [name for name, option in self.options.items() if option.default is Parameter.empty]

    @property
    def missing(self) -> list[str]:
        """What it needs and this machine lacks."""
        return missing(self.needs)

    def add_options(self, parser: ArgumentParser) -> None:
        """Add the options that the parser does not have; those that are not given are left out."""
        known = set(parser._option_string_actions)
        for name, option in self.options.items():
            flag = f"--{name.replace('_', '-')}"
            if flag not in known:
                parser.add_argument(flag, dest=name, **_parsed(option))

    def run(self, options: Mapping[str, Any]) -> Iterator[Row]:
        """The rows; of every seed, where several are given."""
        seeds = options.get("seed")
        if not isinstance(seeds, list):
            yield from self.function(**options)
        elif len(seeds) == 1:
            yield from self.function(**{**options, "seed": seeds[0]})
        else:
            for seed in seeds:
                for row in self.function(**{**options, "seed": seed}):
                    yield {"seed": seed, **row}


def _parsed(option: Parameter) -> dict[str, Any]:
    """How argparse reads an option."""
    words: dict[str, Any] = {"default": Parameter.empty, "help": _default(option)}
    if option.name == "seed":
        return words | {"type": int, "nargs": "+"}
    if option.annotation is bool:
        return words | {"action": "store_true"}
    if get_origin(option.annotation) is tuple:
        return words | {"type": get_args(option.annotation)[0], "nargs": "+"}
    return words | {"type": option.annotation}


def _default(option: Parameter) -> str:
    """The default, as the help has it."""
    if option.default is Parameter.empty:
        return "required"
    if isinstance(option.default, tuple):
        return " ".join(map(str, option.default)) or "all"
    return str(option.default).replace("%", "%%")


def benchmark(
    page: str, quick: Mapping[str, object] | str, needs: tuple[str, ...] = ()
) -> Callable[[Callable[..., Rows]], Callable[..., Rows]]:
    """Register a function under its name."""

    def register(function: Callable[..., Rows]) -> Callable[..., Rows]:
        name = function.__name__
        if name in _REGISTERED and _REGISTERED[name].function.__module__ != function.__module__:
            raise ValueError(f"two benchmarks are called {name}")
        _REGISTERED[name] = Benchmark(function, page, quick, needs)
        return function

    return register


def benchmarks() -> dict[str, Benchmark]:
    """All of them by name, those of a page together."""
    for path in sorted(HERE.glob("*.py")):
        if "\n@benchmark(" in path.read_text():
            import_module(f"{__package__}.{path.stem}")
    return dict(sorted(_REGISTERED.items(), key=lambda entry: (entry[1].page, entry[0])))


def missing(needs: Iterable[str]) -> list[str]:
    """What is not here, each with its cure: modules and headers of Python, commands (on PATH or
    beside the interpreter), and root's rights.
    """
    return [f"{need} is missing: {_cure(need)}" for need in needs if not _is_here(need)]


def _cure(need: str) -> str:
    return "sudo" if need == "root" else f"install it ({CURES[need]})"


def _is_here(need: str) -> bool:
    if need in GIVEN:
        return True
    if need == "root":
        return os.geteuid() == 0
    if need in MODULES:
        return importlib.util.find_spec(need) is not None
    if need.endswith(".h"):
        return Path(sysconfig.get_path("include"), need).exists()
    return shutil.which(need) is not None or Path(sys.executable).with_name(need).exists()
