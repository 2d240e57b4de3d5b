"""The plugin that measures tests: each is run again and again by the whole protocol, or once, while
its functions are watched; or one of them is counted.

It does what the file in PERFVCS_TESTING asks and writes what it finds beside it, a line of JSON for
each thing; the environment is then made what it would be without us, for the tests and what they
start.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
from contextlib import suppress
from pathlib import Path

import pytest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Generator
    from typing import Any

    from perfvcs.collectors._shared.functions.inside.python.perfvcs_functions import RunningCode
    from perfvcs.collectors._shared.testing.inside.python.perfvcs_measurement import Measurement
    from perfvcs.collectors._shared.testing.inside.python.perfvcs_reports import (
        NoteFile,
        Reports,
        Study,
        clean,
    )
else:
    from perfvcs_functions import RunningCode
    from perfvcs_measurement import Measurement
    from perfvcs_reports import NoteFile, Study, clean

VARIABLE = "PERFVCS_TESTING"


def begin() -> tuple[NoteFile, dict[str, Any]] | None:
    """Read what is asked, and take our traces out of the environment; None when nothing is
    asked.
    """
    path = os.environ.pop(VARIABLE, "")
    if not path:
        return None
    with open(path, encoding="utf-8") as file:
        request: dict[str, Any] = json.load(file)
    for name, value in request["environment"].items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
    if request["mode"] == "count":
        importlib.import_module("perfvcs_counted")  # while it can be found
    here = os.path.realpath(os.path.dirname(__file__))  # noqa: PTH120 - pathlib takes its time
    sys.path[:] = [entry for entry in sys.path if os.path.realpath(entry) != here]
    with suppress(ImportError):
        importlib.import_module(
            "perfvcs_bench"
        )  # seeds the generators of random and numpy, before a conftest.py can do so itself
    notes = NoteFile(request["folder"])
    notes.add(
        "started",
        version=clean(pytest.__version__),
        python="{}.{}.{}".format(*sys.version_info[:3]),
    )
    return notes, request


asked = begin()


@pytest.hookimpl(hookwrapper=True)
def pytest_load_initial_conftests(early_config: Any) -> Generator[None, None, None]:
    """Switch off what measures the tests in another way, and by that slows them down."""
    options = early_config.known_args_namespace
    if asked and getattr(options, "cov_source", None):
        options.cov_source = []
        asked[0].add("note", what="coverage")
    yield


@pytest.hookimpl(hookwrapper=True)
def pytest_cmdline_main(config: Any) -> Generator[None, None, None]:
    """Keep all tests in this process: several at once would measure each other."""
    option = config.option
    if asked and (
        getattr(option, "numprocesses", None)
        or getattr(option, "tx", None)
        or getattr(option, "dist", "no") != "no"
    ):
        option.numprocesses, option.maxprocesses, option.tx, option.dist = None, None, [], "no"
        asked[0].add("note", what="xdist")
    default = "default", getattr(sys.modules.get("pytest_randomly"), "default_seed", None)
    if seed() is not None and getattr(option, "randomly_seed", "") in default:
        option.randomly_seed = seed()
    if asked and getattr(option, "looponfail", False):
        option.looponfail = False
    if asked and asked[1]["mode"] == "count" and hasattr(option, "benchmark_disable"):
        option.benchmark_disable = True  # it decides by the clock how often it calls
    if (
        asked
        and getattr(option, "benchmark_storage", None)
        and not getattr(option, "benchmark_compare", None)
    ):
        option.benchmark_storage = Path(
            asked[1]["folder"], "benchmarks"
        ).as_uri()  # pytest-benchmark makes the folder in any case
    yield


def seed() -> int | None:
    """What all versions share in this block; None where nothing is measured."""
    text = os.environ.get("PERFVCS_SEED", "")
    return int(text) if asked and text.isascii() and text.isdigit() and len(text) <= 20 else None


def pytest_collection_finish() -> None:
    """Have Hypothesis draw the same examples for all versions, where it is used and was given no
    seed.
    """
    core: Any = sys.modules.get("hypothesis.core")  # the option for it would load it
    if seed() is not None and getattr(core, "global_force_seed", 0) is None:
        core.global_force_seed = seed()


def pytest_configure(config: Any) -> None:
    """Begin."""
    if not asked:
        return
    notes, request = asked
    cache: Any = getattr(config, "cache", None)
    if hasattr(cache, "_cachedir"):
        # what pytest remembers of this run is not the project's
        cache._cachedir = Path(request["folder"], "cache")
    plugin: Reports
    if request["mode"] == "count":
        plugin = sys.modules["perfvcs_counted"].CountedTest(notes, request["left_out"])
    elif request["mode"] == "study":
        watched = RunningCode(request["root"]) if request["functions"] else None
        plugin = Study(notes, watched, request["left_out"])
    else:
        plugin = Measurement(
            notes, request["repeat"], request["budget"], request["once"], request["left_out"]
        )
    config.pluginmanager.register(plugin, "perfvcs-measuring")
