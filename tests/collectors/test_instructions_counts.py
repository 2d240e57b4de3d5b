"""Files of callgrind and cachegrind read exactly, functions with what they call, and paths out of a
call graph.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest
from cases import each
from hypothesis import given, settings
from hypothesis import strategies as st

from perfvcs.collectors.instructions import callgrind
from perfvcs.collectors.instructions.counts import (
    Context,
    Counts,
    FunctionCounts,
    combine,
    functions,
)
from perfvcs.collectors.instructions.paths import REST_OF_PATHS, paths
from perfvcs.plugins.collector import CollectError

CWD = Path("/nowhere")
HEAD = (
    "# callgrind format\nversion: 1\ncreator: by hand\ncmd: ./x\npart: 1\n\ndesc: Trigger: Program"
    " termination\n\n"
)

SMALL = """positions: line
events: Ir
summary: 1700

ob=(1) /bin/x
fl=(1) x.c
fn=(1) main
16 400
cfn=(2) once
calls=1 50
16 400
cfi=(2) y.c
cob=(2) /lib/liby.so
cfn=(3) often
calls=3 20
+2 300

fn=(2)
51 100
cob=(2)
cfi=(2)
cfn=(3)
calls=4 20
* 300

ob=(2)
fl=(2)
fn=(3)
20 700
-3 20
fi=(3) inlined.h
+0 -
"""


def counts_of(text: str) -> Counts:
    return callgrind.parse(text.encode(), "counts.1")


def own(counts: Counts) -> dict[str, float]:
    return dict(
        zip([context.name for context in counts.contexts], counts.exclusive.tolist(), strict=True)
    )


def edges(counts: Counts) -> dict[tuple[str, str], tuple[float, float]]:
    name = [context.name for context in counts.contexts]
    columns = zip(counts.caller, counts.callee, counts.calls, counts.inclusive, strict=True)
    return {(name[caller], name[callee]): (calls, cost) for caller, callee, calls, cost in columns}


def test_counts_belong_to_the_function_above_and_calls_to_both():
    counts = counts_of(HEAD + SMALL.replace("+0 -\n", "+0 30\nfe=(2)\n* 50\n\ntotals: 1700\n"))
    assert own(counts) == {"main": 400, "once": 100, "often": 800}
    assert edges(counts) == {
        ("main", "once"): (1, 400),
        ("main", "often"): (3, 300),
        ("once", "often"): (4, 300),
    }
    assert {context.name: context.image for context in counts.contexts} == {
        "main": "/bin/x",
        "once": "/bin/x",
        "often": "/lib/liby.so",
    }
    assert counts.total == 1300


def test_positions_may_be_addresses_and_events_several_of_which_some_are_left_out():
    text = (
        "positions: instr line\nevents: Dr Ir Dw\nfn=f\n0x1000 5 1 20 3\n+0x4 * 7 30\n* * 4\n*"
        " *\n-0x4 -1 0 50 1\ntotals: 12 100 4\n"
    )
    assert own(counts_of(text)) == {"f": 100}


ADDRESSED = """positions: instr line
events: Ir
ob=(1) /bin/x
fl=(1) x.c
fn=(1) main
0x1000 10 5
+4 +1 7
cfn=(2) leaf
calls=2 0x2000 50
* * 40
+8 3 11
+0x10 +1 13
cfn=(2)
calls=3 +20 50
* * 60
0x2010 -3 1
fn=(2)
0x2000 50 80
+4 * 20
totals: 137
"""


def inside(image: str, addresses: Iterable[int]) -> dict[int, list[tuple[str, str, int]]]:
    """At 0x1004 `middle` with `inner` in it, at 0x100c `middle`, elsewhere nothing but the
    function.
    """
    assert image == "/bin/x"
    chains = {0x1004: ["inner", "middle", "main"], 0x100C: ["middle", "main"], 0x101C: []}
    return {
        address: [(name, "x.c", 1) for name in chains.get(address, ["function"])]
        for address in addresses
    }


def test_functions_inside_others_are_distinguished_by_addresses():
    counts = callgrind.parse((HEAD + ADDRESSED).encode(), "counts.1", inside)
    table, caller = functions(counts, CWD), {}
    assert dict(zip(table.uid, table.exclusive, strict=True)) == {
        "main": 19,
        "leaf": 100,
        "middle": 11,
        "inner": 7,
    }
    assert dict(zip(table.uid, table.inclusive, strict=True)) == {
        "main": 137,
        "leaf": 100,
        "middle": 58,
        "inner": 47,
    }
    assert {
        name: calls
        for name, calls in zip(table.uid, table.calls, strict=True)
        if not np.isnan(calls)
    } == {"main": 0, "leaf": 5}
    for stack, amount in paths(counts, 0.0):
        caller["/".join(counts.contexts[context].name for context in stack)] = round(amount)
    assert caller == {
        "main": 19,
        "main/middle": 11,
        "main/middle/inner": 7,
        "main/middle/inner/leaf": 40,
        "main/leaf": 60,
    }


def test_a_file_without_addresses_where_they_are_needed_is_malformed():
    with pytest.raises(CollectError, match="line 6: there is no address"):
        callgrind.parse(
            b"# callgrind format\nversion: 1\npositions: instr\nevents: Ir\nfn=f\n+3 10\ntotals:"
            b" 10\n",
            "counts.1",
            inside,
        )


def test_jumps_are_no_counts():
    text = "events: Ir\nfn=f\n1 10\njump=4 20\n5\njcnd=3/4 6\n7\n8 90\ntotals: 100\n"
    assert own(counts_of(text)) == {"f": 100}


def test_parts_of_one_file_are_added_and_share_their_names():
    part = "part: {}\nevents: Ir\nfn=(1){}\n1 10\ncfn=(2){}\ncalls=2 1\n1 8\ntotals: 10\n"
    counts = counts_of(part.format(1, " f", " g") + "\n" + part.format(2, "", ""))
    assert own(counts) == {"f": 20, "g": 0} and edges(counts) == {("f", "g"): (4, 16)}


def test_recursion_is_a_level_and_no_name():
    text = (
        "events: Ir\nfn=(1) f\n1 10\ncfn=(2) f'2\ncalls=1 1\n1 8\nfn=(2)\n1 8\nfn=(3) g<a'b>\n1"
        " 1\ntotals: 19\n"
    )
    assert counts_of(text).contexts == [
        Context("f", "", 1),
        Context("f", "", 2),
        Context("g<a'b>", "", 1),
    ]


def test_functions_of_one_name_in_two_images_are_two():
    text = (
        "events: Ir\nob=(1) /a\nfn=(1) init\n1 10\nob=(2) /b\nfn=(2) init\n1 5\nob=(1)\nfn=(1)\n1"
        " 1\ntotals: 16\n"
    )
    table = functions(counts_of(text), CWD)
    assert dict(zip(table.uid, table.exclusive, strict=True)) == {"init (a)": 11, "init (b)": 5}


GRAPHS = st.integers(1, 6).flatmap(
    lambda n: st.tuples(
        st.lists(st.integers(0, 10**12), min_size=n, max_size=n),
        st.lists(
            st.tuples(
                st.integers(0, n - 1),
                st.integers(0, n - 1),
                st.integers(1, 10**9),
                st.integers(0, 10**12),
            ),
            max_size=8,
        ),
    )
)
NAMES = [
    "main",
    "operator()(int) const",
    "ns::List<std::string, (anonymous)>::insert",
    "π",
    "a=b",
    "f (x.c)",
]


@pytest.mark.slow
@given(GRAPHS, st.booleans())
def test_what_is_written_is_read(graph, compressed):
    exclusive, calls = graph
    known: set[int] = set()

    def name(function: int) -> str:
        text = (
            f"({function + 1})" + ("" if function in known else f" {NAMES[function]}")
            if compressed
            else NAMES[function]
        )
        known.add(function)
        return text

    lines = ["events: Ir"]
    for function, cost in enumerate(exclusive):
        lines += [f"fn={name(function)}", f"{function} {cost}"]
        for caller, callee, count, inclusive in calls:
            if caller == function:
                lines += [f"cfn={name(callee)}", f"calls={count} 1 ", f"+1 {inclusive}"]
    counts = counts_of("\n".join([*lines, f"totals: {sum(exclusive)}", ""]))
    expected: defaultdict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for caller, callee, count, inclusive in calls:
        expected[NAMES[caller], NAMES[callee]].update(calls=count, inclusive=inclusive)
    assert own(counts) == {NAMES[function]: cost for function, cost in enumerate(exclusive)}
    assert edges(counts) == {key: (one["calls"], one["inclusive"]) for key, one in expected.items()}


@each(
    "text says",
    [
        ("", "ends too early"),
        ("# callgrind format\nevents: Ir\nfn=f\n1 1\nfn=", "ends too early"),
        ("fn=f\n1 1\ntotals: 1\n", "counts no instructions"),
        ("events: Dr Dw\nfn=f\n1 1\ntotals: 1\n", "line 1 makes no sense"),
        ("events: Ir\nevents: Dr Ir\nfn=f\n1 1\ntotals: 1\n", "line 2 makes no sense"),
        ("events: Ir\nfn=f\n1 1\n", "ends too early"),
        ("events: Ir\nfn=f\n1 1x\ntotals: 1\n", "line 3: there is no count"),
        ("events: Ir\nfn=f\n1 1234567890123456\ntotals: 1\n", "line 3: there is no count"),
        ("events: Ir\n1 1\nfn=f\ntotals: 1\n", "line 2: a count without a function"),
        ("events: Ir\nfn=(1)\n1 1\ntotals: 1\n", "line 2 makes no sense"),
        ("events: Ir\nfn=f\ncalls=1 1\n1 1\ntotals: 1\n", "line 3 makes no sense"),
        ("events: Ir\nfn=f\ncfn=g\ncalls=x 1\n1 1\ntotals: 1\n", "line 4: there is no count"),
        ("events: Ir\nfn=f\ncfn=g\ncalls=\n1 1\ntotals: 1\n", "line 4: there is no count"),
        ("positions:\nevents: Ir\nfn=f\n1 1\ntotals: 1\n", "line 1 makes no sense"),
        ("events: Ir\nfn=f\ncfn=g\ncalls=1 1\ntotals: 1\n", "a call has no count"),
        (f"events: Ir\nfn={'f' * 70_000}\n1 1\ntotals: 1\n", "line 2 is too long"),
    ],
)
def test_a_malformed_file_is_one_line_that_names_the_place(text, says):
    with pytest.raises(CollectError, match=says) as caught:
        counts_of(text)
    assert str(caught.value).startswith("counts.1") and "\n" not in str(caught.value)


@given(st.binary(max_size=200), st.integers(0, 400))
def test_garbage_in_a_file_is_refused_or_read_but_nothing_else(garbage, place):
    content = (HEAD + SMALL.replace("+0 -\n", "totals: 1700\n")).encode()
    try:
        counts = callgrind.parse(content[:place] + garbage + content[place:], "counts.1")
    except CollectError as error:
        assert "\n" not in str(error)
    else:
        assert np.isfinite(counts.exclusive).all() and (counts.exclusive >= 0).all()


def test_a_file_that_the_program_made_endless_is_not_read(tmp_path, monkeypatch):
    monkeypatch.setattr(callgrind, "LARGEST_FILE", 1 << 20)
    path = tmp_path / "counts.1"
    with path.open("wb") as file:
        file.truncate(2 << 20)
    with pytest.raises(CollectError, match=r"counts\.1 has over 1 MiB"):
        callgrind.read(path)


def test_processes_are_added_by_function():
    one = counts_of("events: Ir\nob=/x\nfn=f\n1 10\ncfn=g\ncalls=2 1\n1 8\nfn=g\n1 8\ntotals: 18\n")
    other = counts_of("events: Ir\nob=/x\nfn=g\n1 5\nob=/y\nfn=f\n1 1\ntotals: 6\n")
    both = combine([one, other])
    assert both.total == 24 and len(both.contexts) == 3
    assert edges(both) == {("f", "g"): (2, 8)}


# functions


def table(counts: Counts) -> dict[str, tuple[float, float, float]]:
    found = functions(counts, CWD)
    return {
        uid: row
        for uid, *row in zip(found.uid, found.exclusive, found.inclusive, found.calls, strict=True)
    }


def test_what_a_function_took_with_its_callees_counts_recursion_once():
    # f(2) -> f(1) -> f(0), each 10 itself; callgrind adds a nested call to the edge again
    text = (
        "events: Ir\nfn=(1) f\n1 10\ncfn=(2) f'2\ncalls=1 1\n1 20\nfn=(2)\n1 20\ncfn=(2)\ncalls=1"
        " 1\n1 10\ntotals: 30\n"
    )
    assert table(counts_of(text)) == {"f": [30, 30, 2]}


def test_parts_that_a_compiler_split_off_belong_to_their_function():
    text = (
        "events: Ir\nfn=(1) f\n1 10\ncfn=(2) f.part.0\ncalls=4 1\n1 40\nfn=(2)\n1 40\nfn=(3)"
        " g@@GLIBC_2.34\n1 1\ntotals: 51\n"
    )
    assert table(counts_of(text)) == {"f": [50, 50, 4], "g": [1, 1, 0]}


def test_code_without_a_name_is_reported_by_its_image():
    inside = (
        "ob=(1) /lib/libx.so.1\nfn=(1) 0x0000000000001120\n1 1\nfn=(2) 0x0000000000001130\n1 2\n"
    )
    text = f"events: Ir\n{inside}ob=(2) ???\nfn=(3) ???\n1 4\ntotals: 7\n"
    assert table(counts_of(text)) == {"[unknown] (libx.so.1)": [3, 3, 0], "[unknown]": [4, 4, 0]}


# paths


def by_name(counts: Counts, least: float = 1e-9) -> dict[str, float]:
    names = [
        f"{context.name}{context.level if context.level > 1 else ''}" for context in counts.contexts
    ]
    return {
        ";".join("..." if one == REST_OF_PATHS else names[one] for one in path): value
        for path, value in paths(counts, least)
    }


def graph(
    own: dict[Context, float], called: dict[tuple[Context, Context], tuple[float, float]]
) -> Counts:
    contexts = list(own)
    place = {context: number for number, context in enumerate(contexts)}
    pairs = np.array(
        [[place[caller], place[callee]] for caller, callee in called], np.int64
    ).reshape(-1, 2)
    values = np.array(list(called.values()), float).reshape(-1, 2)
    return Counts(
        contexts, np.array(list(own.values())), pairs[:, 0], pairs[:, 1], values[:, 0], values[:, 1]
    )


MAIN, F, G, H = (Context(name, "x") for name in ("main", "f", "g", "h"))
F2, G2 = (one._replace(level=2) for one in (F, G))


def test_what_a_shared_function_took_is_divided_by_what_each_callers_calls_took():
    own = {MAIN: 10.0, F: 20.0, G: 30.0, H: 400.0}
    called = {(MAIN, F): (1, 120.0), (MAIN, G): (1, 330.0), (F, H): (1, 100.0), (G, H): (9, 300.0)}
    assert by_name(graph(own, called)) == pytest.approx(
        {"main": 10, "main;f": 20, "main;g": 30, "main;f;h": 100, "main;g;h": 300}
    )


def test_what_is_little_ends_together():
    own = {MAIN: 10.0, F: 4.0, G: 5.0, H: 81.0}
    called = {(MAIN, F): (1, 4.0), (MAIN, G): (1, 5.0), (MAIN, H): (1, 81.0)}
    assert by_name(graph(own, called), 6.0) == pytest.approx(
        {"main": 10, "main;...": 9, "main;h": 81}
    )


def test_recursion_is_one_more_frame_at_most():
    # five activations of f, each 10 itself: callgrind has 40 in the first nested call, 40+30+20+10
    # in all of them
    own = {MAIN: 1.0, F: 10.0, F2: 40.0}
    called = {(MAIN, F): (1, 50.0), (F, F2): (1, 40.0), (F2, F2): (3, 60.0)}
    assert by_name(graph(own, called)) == pytest.approx({"main": 1, "main;f": 10, "main;f;f2": 40})


def test_what_deep_recursion_calls_is_a_path_of_its_own():
    """One round of the recursion calls `h` for next to nothing; all rounds together for most of
    what there is.
    """
    own = {MAIN: 1.0, F: 1.0, F2: 600.0, H: 5400.0}
    called = {
        (MAIN, F): (1, 6001.0),
        (F, F2): (1, 6000.0),
        (F2, F2): (599, 1_797_000.0),
        (F2, H): (600, 5400.0),
    }
    found = by_name(graph(own, called), 60.0)
    assert found["main;f;f2;h"] == pytest.approx(5400) and found["main;f;f2"] == pytest.approx(600)


def test_functions_in_a_circle_keep_what_they_took():
    # f -> g -> f -> g -> f -> g: each f 10, each g 1
    own = {MAIN: 0.0, F: 10.0, G: 1.0, F2: 20.0, G2: 2.0}
    called = {
        (MAIN, F): (1, 33.0),
        (F, G): (1, 23.0),
        (G, F2): (1, 22.0),
        (F2, G2): (2, 13.0),
        (G2, F2): (1, 11.0),
    }
    found = by_name(graph(own, called))
    assert found == pytest.approx(
        {"main;f": 10, "main;f;g": 1, "main;f;g;f2": 20, "main;f;g;f2;g2": 2}
    )


def test_a_circle_that_nothing_calls_begins_somewhere():
    found = by_name(graph({F2: 10.0, G2: 20.0}, {(F2, G2): (5, 100.0), (G2, F2): (5, 100.0)}))
    assert sum(found.values()) == pytest.approx(30)


def test_a_circle_without_an_end_keeps_what_went_in():
    own = {MAIN: 10.0, F: 0.0, F2: 0.0}
    called = {(MAIN, F): (1, 100.0), (F, F2): (1, 100.0), (F2, F): (1, 100.0)}
    assert by_name(graph(own, called)) == pytest.approx({"main": 10, "main;f": 100})


TREES = st.recursive(
    st.tuples(st.integers(0, 3), st.integers(0, 100), st.just(())),
    lambda inner: st.tuples(
        st.integers(0, 3), st.integers(0, 100), st.lists(inner, max_size=4).map(tuple)
    ),
    max_leaves=40,
)


def executed(tree: tuple[int, int, tuple[object, ...]]) -> Counts:
    """What callgrind counts of a tree of activations (function, instructions of its own, what it
    calls).
    """
    own: defaultdict[Context, float] = defaultdict(float)
    called: defaultdict[tuple[Context, Context], list[float]] = defaultdict(lambda: [0.0, 0.0])

    def run(activation, caller: Context | None, active: tuple[int, ...]) -> float:
        function, cost, inner = activation
        context = Context("fghi"[function], "x", 2 if function in active else 1)
        own[context] += cost
        whole = cost + sum(run(one, context, (*active, function)) for one in inner)
        if caller is not None:
            called[caller, context][0] += 1
            called[caller, context][1] += whole
        return whole

    run(tree, None, ())
    return graph(dict(own), {edge: (count, cost) for edge, (count, cost) in called.items()})


def activations(tree, function: int) -> float:
    """What the outermost activations of a function took."""

    def whole(one) -> float:
        return one[1] + sum(whole(inner) for inner in one[2])

    return (
        whole(tree)
        if tree[0] == function
        else sum(activations(inner, function) for inner in tree[2])
    )


@given(TREES)
def test_whatever_is_called_functions_have_exactly_what_they_took(tree):
    counts = executed(tree)
    assert {uid: row[1] for uid, row in table(counts).items()} == {
        context.name: activations(tree, "fghi".index(context.name)) for context in counts.contexts
    }


@pytest.mark.slow
@given(TREES)
@settings(max_examples=300)
def test_whatever_is_called_no_instruction_is_lost_and_no_context_comes_twice(tree):
    counts = executed(tree)
    found = paths(counts, 1e-9)
    assert sum(value for _, value in found) == pytest.approx(counts.total, rel=1e-6, abs=1e-6)
    assert all(value > 0 and len(set(path)) == len(path) for path, value in found)
    if not any(context.level > 1 for context in counts.contexts):
        by_leaf = np.bincount(
            [path[-1] for path, _ in found], [value for _, value in found], len(counts.contexts)
        )
        assert by_leaf == pytest.approx(counts.exclusive, rel=1e-6, abs=1e-6)


# against other tools

PROGRAM = """
#include <stdio.h>
__attribute__((noinline)) long leaf(long n) { volatile long s = 0; for (long i = 0; i < n; i++) s += i; return s; }
long even(long n);
__attribute__((noinline)) long odd(long n) { return n <= 0 ? leaf(3) : even(n - 1) + leaf(7); }
__attribute__((noinline)) long even(long n) { return n <= 0 ? leaf(100) : odd(n - 1) + 1; }
__attribute__((noinline)) long fib(long n) { return n < 2 ? n : fib(n - 1) + fib(n - 2) + leaf(1); }
__attribute__((noinline)) long circle(void) { return even(30) + 1; }
__attribute__((noinline)) long tree(void) { return fib(12) + 1; }
int main(void) { printf("%ld\\n", circle() + tree() + leaf(50)); return 0; }
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    folder = tmp_path_factory.mktemp("program")
    (folder / "x.c").write_text(PROGRAM)
    subprocess.run(
        ["gcc", "-g", "-O1", "-fno-optimize-sibling-calls", "x.c", "-o", "x"],
        cwd=folder,
        check=True,
    )
    return folder / "x"


def under_callgrind(program: Path, out: Path, *options: str) -> Path:
    command = [
        "valgrind",
        "-q",
        "--tool=callgrind",
        f"--callgrind-out-file={out}",
        *options,
        str(program),
    ]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return out


def whole(program: Path, out: Path, *options: str) -> tuple[FunctionCounts, Counts]:
    counts = callgrind.read(under_callgrind(program, out, *options))
    return functions(counts, program.parent), counts


@pytest.mark.needs("valgrind")
@pytest.mark.needs("gcc")
@pytest.mark.parametrize(("name", "inner"), [("circle", "even"), ("tree", "fib")])
def test_what_a_function_took_is_what_is_counted_while_it_runs(program, tmp_path, name, inner):
    found, _ = whole(program, tmp_path / "all")
    toggled = callgrind.read(
        under_callgrind(program, tmp_path / "toggled", f"--toggle-collect={name}")
    )
    rows = {uid: row for uid, *row in zip(found.uid, found.exclusive, found.inclusive, strict=True)}
    assert rows[name][1] == toggled.total > 1000
    assert rows[inner][1] == rows[name][1] - rows[name][0]


@pytest.mark.needs("callgrind_annotate")
@pytest.mark.needs("gcc")
def test_what_functions_took_themselves_is_what_valgrinds_own_reader_says(program, tmp_path):
    assert shutil.which("callgrind_annotate")
    out = under_callgrind(program, tmp_path / "all", "--separate-recs=1")
    said = subprocess.run(
        ["callgrind_annotate", "--threshold=100", out], capture_output=True, check=True, text=True
    ).stdout
    expected: Counter[str] = Counter()
    for line in said.splitlines():
        if found := re.fullmatch(r" *([\d,]+) \([\d. ]+%\)  \S+?:(\S+) \[(.*/x)\]", line):
            expected[found[2]] += int(found[1].replace(",", ""))
    table = functions(callgrind.read(out), program.parent)
    ours = dict(zip(table.frame, table.exclusive, strict=True))
    assert {"main", "leaf", "even", "odd", "fib"} <= expected.keys()
    assert {name: ours[f"{name} (x)"] for name in ("main", "leaf", "even", "odd", "fib")} == {
        name: expected[name] for name in ("main", "leaf", "even", "odd", "fib")
    }
