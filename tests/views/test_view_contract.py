"""Every view against every kind of subject: it draws or says why not, what it draws is only ever
text and numbers, and stays small.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any, get_args, get_type_hints

import msgspec
import pictures
import pytest
from browsing import LIMIT, documents
from cases import each
from samples import sample_profile

from perfvcs import plugins
from perfvcs.check import Report
from perfvcs.check.subject import Series, Subject
from perfvcs.errors import UsageError
from perfvcs.pictures.canvas import CAPTION
from perfvcs.plugins.view import Scope, View
from perfvcs.profile import REPEATED, Environment, Profile, Resources
from perfvcs.reports import page

if TYPE_CHECKING:
    from bokeh.plotting import figure

VIEWS = plugins.names("views")
TERSE = ("scatter", "history", "intervals", "effects", "flamediff", "table")
REASON = 120  # characters of why a view does not fit: it stands inside a line of an error
SENTENCE = 1500  # characters of any text in a figure that is not data
ROWS = 1_000_000
FEWER = 100_000  # still more than a small page could hold
COUNTED = "[\\d,]{%d,} (rows|measurements|pairs|observations)|samples to a cell"
NO_SERIES = Series("a", "a", None, "wall", "s", "lower", "e", [])


def built(name: str, **options: Any) -> View[Any]:
    view: View[Any] = plugins.find("views", name)(**options)
    return view


def of(wall: list[float | None], **overrides: Any) -> Subject:
    """One revision with these values."""
    rows = Resources(["sort"], [0] * len(wall), list(range(len(wall))), metrics={"wall": wall})
    return Subject("values", [sample_profile(resources=rows, **overrides)])


def few(*, factor: float = 1.0) -> list[Profile]:
    """Repeated measurements, some over sizes, some over time, and call stacks: as few as every view
    can draw.
    """
    folded = {("main (a.py)",): 5.0, ("main (a.py)", "f (b.py)"): 7.0 * factor}
    return [
        pictures.measured(executions=5, iterations=6, metrics=["wall"], factor=factor),
        pictures.called(executions=2, calls=40, slope=1e-9 * (factor - 1)),
        pictures.counted(executions=2, moments=8, only=("rss", "cpu_use"), factor=factor),
        pictures.heaped(moments=3, only=("site_bytes",), folded=folded),
    ]


def both(made: Callable[[], Subject]) -> Callable[[], Subject]:
    """Two revisions with the same profile."""

    def subject() -> Subject:
        found = made()
        return replace(
            found,
            baseline=[
                msgspec.structs.replace(one, commit=pictures.BASELINE) for one in found.target
            ],
        )

    return subject


def stretched(value: float) -> Subject:
    """All that was measured, with every tenth number replaced."""

    def odd(profile: Profile) -> Profile:
        rows = profile.resources
        columns = {
            name: [
                value if row % 10 == 3 and one is not None else one
                for row, one in enumerate(column)
            ]
            for name, column in rows.metrics.items()
        }
        return msgspec.structs.replace(profile, resources=replace(rows, metrics=columns))

    return Subject("odd", [odd(profile) for profile in few()])


def level(value: float) -> Subject:
    """All that was measured, all of it the same number."""
    profiles = few()
    for profile in profiles:
        rows = profile.resources
        rows.metrics = {
            name: [None if one is None else value for one in column]
            for name, column in rows.metrics.items()
        }
    return Subject("equal", profiles)


def without(column: str) -> Subject:
    """All that was measured, without an optional column."""
    profiles = few()
    for profile in profiles:
        setattr(profile.resources, column, None)
    return Subject(f"without {column}", profiles)


def repeated() -> Subject:
    """All that was measured, nothing of which counts."""
    profiles = few()
    for profile in profiles:
        profile.resources.mark = [REPEATED] * len(profile.resources)
    return Subject("repeated", profiles)


def taken(profile: Profile, kept: list[int]) -> Profile:
    """These rows of a profile."""
    rows = profile.resources
    names = ("uid", "execution", "iteration", "mark", "trace", "size")
    cut = {
        name: [column[row] for row in kept]
        for name in names
        if (column := getattr(rows, name)) is not None
    }
    metrics = {name: [column[row] for row in kept] for name, column in rows.metrics.items()}
    return msgspec.structs.replace(profile, resources=replace(rows, metrics=metrics, **cut))


def first_executions() -> Subject:
    """All that was measured in the first execution."""
    executions = [one.resources.execution for one in few()]
    rows = [
        [row for row, execution in enumerate(column) if execution == 0] for column in executions
    ]
    return Subject("one execution", [taken(*pair) for pair in zip(few(), rows, strict=True)])


def first_rows() -> Subject:
    """Of every collector a single row."""
    profiles = few()
    valued = [zip(*one.resources.metrics.values(), strict=True) for one in profiles]
    rows = [
        next(row for row, values in enumerate(column) if values != (None,) * len(values))
        for column in valued
    ]
    return Subject(
        "one row each", [taken(one, [row]) for one, row in zip(profiles, rows, strict=True)]
    )


def hostile_of_two() -> Subject:
    before, after = [
        [pictures.attacked(one) for one in few(factor=factor)] for factor in (1.0, 1.3)
    ]
    return Subject(pictures.ATTACKS[6], after, before, pictures.report(before, after))


def in_two_places() -> Subject:
    other = Environment({"cpu": "other"}, "ffff")
    return Subject(
        "places", [*few(), *(msgspec.structs.replace(one, environment=other) for one in few())]
    )


SUBJECTS: Mapping[str, Callable[[], Subject]] = {
    "nothing": lambda: Subject("nothing"),
    "empty profile": lambda: Subject("empty", [sample_profile(wall=())]),
    "no values": lambda: of([None, None]),
    "one row": lambda: of([0.01]),
    "one row of two": both(lambda: of([0.01])),
    "one row of every collector": first_rows,
    "one row of every collector of two": both(first_rows),
    "one execution": first_executions,
    "nothing that counts": repeated,
    "equal values of two": both(lambda: level(0.01)),
    "zeros": lambda: level(0.0),
    "enormous values": lambda: level(1.5e300),
    "tiny values": lambda: level(4e-320),
    "zeros, less and more": lambda: of([0.0, -1.0, 2.0] * 30),
    "not a number here and there": lambda: stretched(float("nan")),
    "infinity here and there": lambda: stretched(float("inf")),
    "less than zero here and there": both(lambda: stretched(-1.0)),
    "nothing but what is no number": lambda: of([float("nan")] * 5),
    "nothing but infinity": lambda: of([float("inf")] * 5),
    "no sizes": lambda: without("size"),
    "no stacks": lambda: without("trace"),
    "sizes": lambda: Subject("sizes", [pictures.measured(sizes=[10, 100, 1000], metrics=["wall"])]),
    "several environments": in_two_places,
    "two revisions": lambda: pictures.two(4),
    "only a report": lambda: replace(pictures.two(4), target=(), baseline=()),
    "an empty report": lambda: Subject(
        "empty", report=Report(baseline="a", target="b", method="auto", changes=[])
    ),
    "one revision as every collector saw it": pictures.all_of_one,
    "two revisions as every collector saw them": pictures.all_of_two,
    "a history": lambda: pictures.history(30),
    "a history of one commit": lambda: pictures.history(1),
    "a history of nothing": lambda: Subject("none", history=[NO_SERIES]),
    "a history in two places": lambda: pictures.history(30, environments=2),
    "hostile history": lambda: replace(
        pictures.hostile_history(), history=pictures.hostile_history().history[:4]
    ),
    "everything hostile": lambda: Subject(
        pictures.ATTACKS[0] * 20, [pictures.attacked(one) for one in few()]
    ),
    "everything hostile of two": hostile_of_two,
}


@cache
def subject(name: str) -> Subject:
    """A subject, made once: views must not change what they draw."""
    return SUBJECTS[name]()


def drawn(name: str, about: Subject, **options: Any) -> dict[str, Any]:
    """The document that a view makes of a subject, as the browser gets it."""
    return packed(name, pictures.rendered(built(name, **options), about))


def packed(name: str, layout: Any) -> dict[str, Any]:
    document, plots = pictures.packed(layout)
    assert plots or name == "table"
    return document


def texts(part: object, *, data: bool = True) -> Iterator[str]:
    """Every text in a document that is not packed numbers; without ``data`` those that bokeh might
    take for a formula.
    """
    if isinstance(part, str):
        yield part
    elif isinstance(part, list):
        for one in part:
            yield from texts(one, data=data)
    elif (
        isinstance(part, dict)
        and part.get("type") not in ("bytes", "ndarray")
        and (data or part.get("name") != "ColumnDataSource")
    ):
        for one in part.values():
            yield from texts(one, data=data)


@pytest.mark.parametrize("name", VIEWS)
def test_a_view_is_a_frozen_dataclass_with_fields_that_can_be_set(name: str) -> None:
    member = plugins.find("views", name)
    assert is_dataclass(member) and member.__dataclass_params__.frozen and member.__doc__
    hints = get_type_hints(member, include_extras=True)
    assert all(hints[field.name] is not Any for field in fields(member))
    assert built(name) == built(name), "it needs no options"
    assert issubclass(member, View) and isinstance(member.asked, bool)
    assert built(name).scope in get_args(Scope)


HOSTILE = [about for about in SUBJECTS if "hostile" in about]


def check_reason(reason: str) -> None:
    assert reason.strip() == reason and 0 < len(reason) < REASON and not reason.endswith(".")


def check_numbers(document: dict[str, Any]) -> None:
    """No text of a document says what is not a number."""
    # numbers in JSON
    found = [text for text in texts(document) if text not in ("nan", "inf", "-inf")]
    assert [text for text in found if re.search(r"\b(nan|inf|None)\b", text)] == []


def check_titles(plots: list[figure]) -> None:
    """A title has two lines at most, and a caption below has the rest."""
    for plot in plots:
        assert len(plot.title.text.split("\n")) <= 2 and "…" not in plot.title.text
        assert CAPTION not in [one.name for one in plot.below[:-1]], "the caption is below all else"


@pytest.mark.slow
@pytest.mark.parametrize("name", VIEWS)
@each("about", [about for about in SUBJECTS if about not in HOSTILE])
def test_a_view_draws_a_subject_or_says_why_not(name: str, about: str) -> None:
    reason = pictures.refusal(built(name), subject(about))
    if reason is None:
        layout = pictures.rendered(built(name), subject(about))
        check_numbers(packed(name, layout))
        check_titles(pictures.plots(layout))
    else:
        check_reason(reason)


@pytest.mark.parametrize("name", VIEWS)
def test_every_view_fits_something(name: str) -> None:
    assert any(pictures.refusal(built(name), subject(about)) is None for about in SUBJECTS)


@pytest.mark.parametrize("name", VIEWS)
def test_hostile_names_are_only_ever_text(name: str) -> None:
    reasons = {about: pictures.refusal(built(name), subject(about)) for about in HOSTILE}
    for reason in filter(None, reasons.values()):
        check_reason(reason)
    for about in [subject(about) for about, reason in reasons.items() if reason is None] or [
        pictures.hostile()
    ]:
        document = drawn(name, about)
        check_numbers(document)
        said = list(texts(document))
        if name == "table":  # which is the text of a page, and its only element that takes any
            (table,) = [text for text in said if text.startswith("<table>")]
            said = re.sub(r"</?(table|caption|tr|th|td)>", "\n", table).split("\n")
            assert not any("<" in text for text in said)
        else:
            formulas = [
                text
                for text in texts(document, data=False)
                if any(mark in text for mark in ("$$", "\\(", "\\["))
            ]
            assert formulas == []
        for text in said:
            assert len(text) <= SENTENCE and "\x00" not in text and "\u202e" not in text
        packed = json.dumps(document)
        forbidden = r"CustomJS\w*|MathText|TeX|Ascii|MathML|PreText|HTML|RawHTML" + (
            "" if name == "table" else "|Div"
        )
        assert not re.search(rf'"name": "({forbidden})"', packed)
        for tooltips in re.findall(r'"tooltips": (\[\[.*?\]\])', packed):
            assert "<" not in tooltips and "onerror" not in tooltips


def odd(kind: str) -> list[Any]:
    """Values of an option that somebody may try, by its annotation."""
    if "Literal" in kind or "bool" in kind:
        return [True, False]
    numbers: list[Any] = (
        [0, 1, -1, 10**9]
        if "int" in kind
        else [0.0, -1.0, 1e300, 1e-300]
        if "float" in kind
        else []
    )
    return numbers + ([] if numbers else ["", "wall", "no such name", pictures.ATTACKS[0]])


OPTIONS = [
    (name, field.name, value)
    for name in VIEWS
    for field in fields(plugins.find("views", name))
    for value in odd(str(field.type))
]


@cache
def smallest(name: str) -> Subject:
    """The smallest subject that a view fits."""
    ones = [Subject("one", [profile]) for profile in few()]
    before, after = few(), few(factor=1.5)
    twos = [
        Subject("two", [new], [old], pictures.report([old], [new]))
        for old, new in zip(before, after, strict=True)
    ]
    others = [pictures.two(1, metrics=["wall"]), pictures.history(12, labels=["sort"])]
    return next(
        about for about in [*ones, *twos, *others] if pictures.refusal(built(name), about) is None
    )


@pytest.mark.slow
@each("name option value", OPTIONS)
def test_odd_options_are_refused_in_a_line_or_drawn(name: str, option: str, value: Any) -> None:
    try:
        view: View[Any] = plugins.build("views", name, {option: value}, "--set")
        reason = pictures.refusal(view, smallest(name))
        assert reason is not None or drawn(name, smallest(name), **{option: value})
    except UsageError as error:
        assert "\n" not in str(error) and name in str(error)


def columns(line: str) -> int:
    """How many columns of a terminal a line takes."""
    return sum(
        0
        if unicodedata.combining(letter) or unicodedata.category(letter) == "Cf"
        else 1 + (unicodedata.east_asian_width(letter) in "WF")
        for letter in line
    )


@pytest.mark.parametrize("name", TERSE)
def test_what_a_terminal_gets_fits_its_width(name: str) -> None:
    view: Any = built(name)
    for about in SUBJECTS:
        for width in (40, 80, 200) if pictures.refusal(view, subject(about)) is None else ():
            said: str = pictures.written(view, subject(about), width)
            assert said and not said.endswith("\n"), about
            for line in said.split("\n"):
                assert columns(line) <= width, f"{about}: {line}"
                odd = [
                    letter
                    for letter in line
                    if unicodedata.category(letter) in ("Cc", "Cs")
                    or letter in "\u202a\u202b\u202d\u202e"
                ]
                assert not odd, f"{about}: {line}"


def test_only_these_views_have_a_text() -> None:
    every = {
        name: next(
            about for about in SUBJECTS if pictures.refusal(built(name), subject(about)) is None
        )
        for name in VIEWS
    }
    asked = {
        name: built(name).text(built(name).cut(subject(about)), 80) for name, about in every.items()
    }
    assert sorted(name for name, text in asked.items() if text is not None) == sorted(TERSE)


@each("name", VIEWS)
def test_a_view_that_does_not_exist_gets_a_suggestion(name: str) -> None:
    wrong = name[:-2] + name[-1]
    with pytest.raises(UsageError, match=f"there is no view `{wrong}`; did you mean `{name}`"):
        page.render(subject("one row"), wrong)


# which lists whatever was measured
@pytest.mark.parametrize("name", [name for name in VIEWS if name != "table"])
def test_a_view_that_does_not_fit_says_which_do(name: str) -> None:
    view = built(name)
    others = ("a history", "two revisions", "one row")
    about, reason = next(
        (about, reason) for about in others if (reason := pictures.refusal(view, subject(about)))
    )
    with pytest.raises(UsageError, match=re.escape(reason)) as refused:
        page.render(subject(about), name)
    fitting = str(refused.value).rpartition("these do: ")[2].split(", ")
    assert fitting and all(
        pictures.refusal(built(other), subject(about)) is None for other in fitting
    )


MANY: Mapping[str, Callable[[int], Subject]] = {
    "measurements": lambda rows: Subject(
        "many", [pictures.measured(executions=100, iterations=rows // 100, metrics=["wall"])]
    ),
    "calls": lambda rows: Subject("many", [pictures.called(executions=5, calls=rows // 10)]),
    "moments": lambda rows: Subject(
        "many",
        [pictures.counted(executions=5, moments=rows // 10, only=("rss", "cpu_use", "threads"))],
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("about", MANY)
def test_a_million_rows_are_a_small_page_that_says_what_it_left_out(about: str) -> None:
    """Each view draws a million rows of the first kind that it fits, and a tenth of them of the
    others.
    """
    many, fewer = MANY[about](ROWS), MANY[about](FEWER)
    assert len(many.target[0].resources) >= ROWS and len(fewer.target[0].resources) >= FEWER
    fitting = [name for name in VIEWS if pictures.refusal(built(name), fewer) is None]
    earlier = [MANY[one](1000) for one in list(MANY)[: list(MANY).index(about)]]
    first = {name for name in fitting if all(pictures.refusal(built(name), one) for one in earlier)}
    assert first
    for name in fitting:
        html = page.render(many if name in first else fewer, name)
        assert len(html.encode()) < LIMIT, name
        told = " ".join(
            " ".join(text.split())
            for document in documents(html)
            for text in texts(document, data=False)
        )
        counted = re.compile(COUNTED % (7 if name in first else 6))
        assert name == "table" or counted.search(told), (
            f"{name} does not say how many rows it stands for"
        )
