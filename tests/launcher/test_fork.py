"""Work that is shared with a fork: the same results in the same order, whatever becomes of the
fork.
"""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path
from time import process_time, sleep

import pytest
from conftest import children
from waiting import happens

from perfvcs.system import children as forks


@pytest.fixture(autouse=True)
def two_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two of them, and forks from the first item on, whatever threads tests before have left."""
    before = threading.active_count()
    monkeypatch.setattr(threading, "active_count", lambda: 1 + len(threading.enumerate()) - before)
    monkeypatch.setattr(forks, "processors", lambda: [0, 1])
    monkeypatch.setattr(forks, "_worth", lambda *_: True)


def where(item: int) -> tuple[int, int]:
    return item, os.getpid()


def busy(seconds: float) -> None:
    end = process_time() + seconds
    while process_time() < end:
        pass


@pytest.mark.slow
@pytest.mark.parametrize("count", [16, 17, 1024, 1025, 2000])
def test_results_come_in_order_from_two_processes(count: int, tmp_path: Path) -> None:
    def both(item: int) -> tuple[int, int]:
        """Wait until either process has begun, however long it takes to."""
        (tmp_path / str(os.getpid())).touch()
        assert happens(lambda: len([*tmp_path.iterdir()]) == 2)
        return where(item)

    found = forks.shared(both, range(count))
    assert [item for item, _ in found] == list(range(count))
    processes = {process for _, process in found}
    assert len(processes) == 2 and os.getpid() not in processes


@pytest.mark.slow
def test_forks_begin_where_the_first_items_show_that_the_rest_takes_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    threads = threading.active_count  # as the fixture counts them
    monkeypatch.undo()
    monkeypatch.setattr(threading, "active_count", threads)
    monkeypatch.setattr(forks, "processors", lambda: [0, 1])
    short = forks.shared(lambda item: (item, os.getpid()), range(100))
    assert short == [(item, os.getpid()) for item in range(100)]
    long = forks.shared(lambda item: (busy(0.03), item, os.getpid())[1:], range(40))
    assert [item for item, _ in long] == list(range(40))
    here = [process == os.getpid() for _, process in long]
    assert here[0] and not here[-1] and here == sorted(here, reverse=True), (
        "the first ones here, all others in the forks"
    )


def test_the_one_that_is_free_takes_the_next(tmp_path: Path) -> None:
    def work(item: int) -> int:
        if item == 0:
            assert happens(lambda: len([*tmp_path.iterdir()]) >= 35)
        (tmp_path / str(item)).touch()
        return os.getpid()

    found = forks.shared(work, range(40))
    assert sum(process == found[0] for process in found) <= 5 and len(set(found)) == 2


def test_large_results_do_not_wait_for_each_other() -> None:
    found = forks.shared(lambda item: (sleep(0.001), bytes([item]) * 1_000_000)[1], range(20))
    assert [one[:1] for one in found] == [bytes([item]) for item in range(20)]


def test_alone_with_few_items_one_processor_or_other_threads(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert {process for _, process in forks.shared(where, range(15))} == {os.getpid()}
    assert forks.shared(where, []) == []
    stop = threading.Event()
    thread = threading.Thread(target=stop.wait)
    thread.start()
    assert {process for _, process in forks.shared(where, range(100))} == {os.getpid()}
    stop.set()
    thread.join()
    monkeypatch.setattr(forks, "processors", lambda: [0])
    assert {process for _, process in forks.shared(where, range(100))} == {os.getpid()}


def test_what_the_forks_could_not_do_is_done_here() -> None:
    here = os.getpid()

    def work(item: int) -> int:
        sleep(0.001)
        if os.getpid() != here:
            os.kill(os.getpid(), signal.SIGKILL)
        return item

    assert forks.shared(work, range(40)) == list(range(40))


def test_an_interruption_from_the_keyboard_is_for_this_process_alone() -> None:
    def work(item: int) -> int:
        os.kill(os.getpid(), signal.SIGINT)  # as a terminal sends it to all processes
        return item

    assert forks.shared(work, range(40)) == list(range(40))


@pytest.mark.parametrize("wrong", [0, 1, 2, 3, 39])
def test_an_error_is_raised_once_and_leaves_no_process(wrong: int) -> None:
    before = children()
    with pytest.raises(ZeroDivisionError):
        forks.shared(lambda item: 1 // (item - wrong), range(40))
    assert not children() - before


def test_where_there_may_be_no_more_processes_it_works_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refused() -> int:
        raise BlockingIOError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(os, "fork", refused)
    assert {process for _, process in forks.shared(where, range(40))} == {os.getpid()}


def test_the_forks_end_with_their_parent() -> None:
    source, sink = os.pipe()
    child = os.fork()
    if not child:
        forks.shared(
            lambda _: (os.write(sink, f"{os.getpid()}\n".encode()), sleep(0.05)), range(1000)
        )
        os._exit(0)
    os.close(sink)
    with open(source) as lines:
        found: set[int] = set()
        while len(found) < 2:
            found.add(int(next(lines)))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        rest = lines.read().split()  # ends when nobody can write any more
    assert len(rest) < 500  # of a thousand, had they gone on
