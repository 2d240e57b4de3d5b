"""Work that is shared with a fork: the same results in the same order, whatever becomes of the fork."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Sequence

import pytest

from perfvcs import twin


@pytest.fixture(autouse=True)
def two_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(twin, "_processors", lambda: 2)


def where(items: Sequence[int]) -> list[tuple[int, int]]:
    return [(item, os.getpid()) for item in items]


@pytest.mark.parametrize("count", [16, 17, 1000])
def test_results_come_in_order_from_two_processes(count: int) -> None:
    found = twin.halved(where, range(count))
    assert [item for item, _ in found] == list(range(count))
    assert {place for _, place in found[::2]} == {os.getpid()}
    assert len({place for _, place in found}) == 2


def test_large_results_do_not_wait_for_each_other() -> None:
    found = twin.halved(lambda items: [bytes([item]) * 1_000_000 for item in items], range(20))
    assert [one[:1] for one in found] == [bytes([item]) for item in range(20)]


def test_alone_with_few_items_one_processor_or_other_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    assert {place for _, place in twin.halved(where, range(15))} == {os.getpid()}
    assert twin.halved(where, []) == []
    stop = threading.Event()
    thread = threading.Thread(target=stop.wait)
    thread.start()
    assert {place for _, place in twin.halved(where, range(100))} == {os.getpid()}
    stop.set()
    thread.join()
    monkeypatch.setattr(twin, "_processors", lambda: 1)
    assert {place for _, place in twin.halved(where, range(100))} == {os.getpid()}


def test_what_the_fork_could_not_do_is_done_here() -> None:
    here = os.getpid()

    def work(items: Sequence[int]) -> list[int]:
        if os.getpid() != here:
            os.kill(os.getpid(), signal.SIGKILL)
        return list(items)

    assert twin.halved(work, range(40)) == list(range(40))


def test_an_error_is_raised_once_and_leaves_no_process() -> None:
    def work(items: Sequence[int]) -> list[int]:
        return [1 // (item - 33) for item in items]  # an item of the fork

    with pytest.raises(ZeroDivisionError):
        twin.halved(work, range(40))
    with pytest.raises(ZeroDivisionError):
        twin.halved(work, range(1, 41))  # an item of this process
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)
