"""One table says what a verdict's word is, how it looks and what it weighs; all else asks it."""

from __future__ import annotations

import re

import msgspec
import pytest
from conftest import ROOT

from perfvcs.check import Change
from perfvcs.check.vocabulary import ORDER, SURE, VERDICT_WORDS, WORDS, said
from perfvcs.git.forge import Forge
from perfvcs.pictures.canvas import COLOURS, SEEN
from perfvcs.site.template import Templates
from perfvcs.text.characters import columns

HOME = ROOT / "perfvcs" / "check" / "vocabulary.py"
DRAWN = re.compile(r"[\"'](▲|▼|◆|✕|↗|↘)[\"']")  # as a sign, not as a word of a legend
SETS = re.compile(r'"degradation",\s*"improvement"')


def change(word: str, accepted: str | None = None) -> Change:
    facts = {"job": "sort", "uid": "sort", "metric": "wall", "unit": "s", "better": "lower"}
    return Change(word=word, series="s", accepted=accepted, **facts)  # type: ignore[arg-type]


def test_each_word_has_a_row_and_nothing_else_has_one() -> None:
    assert [*WORDS] == [*VERDICT_WORDS, "accepted"]
    assert [*WORDS][: len(ORDER)] == [*ORDER]
    assert all(word == row.word for word, row in WORDS.items())


def test_signs_are_of_one_column_and_all_different() -> None:
    signs = [row.sign for row in WORDS.values()]
    assert len({*signs}) == len(signs)
    assert [columns(sign) for sign in signs] == [1] * len(signs)


def test_what_is_sure_moved_and_what_fails_is_sure() -> None:
    for row in WORDS.values():
        assert row.fails <= row.sure <= row.moved
        assert row.sure <= row.settled <= row.compared
    assert SURE == ("degradation", "improvement")


def test_an_accepted_degradation_is_called_so_and_fails_nothing() -> None:
    assert said(change("degradation")).fails
    accepted = said(change("degradation", "wanted"))
    assert (accepted.word, accepted.fails, accepted.settled) == ("accepted", False, True)


def test_the_glossary_has_each_word() -> None:
    glossary = (ROOT / "docs" / "glossary.md").read_text()
    defined = {
        name
        for bold in re.findall(r"^\| \*\*([^*]+)\*\*", glossary, re.MULTILINE)
        for name in bold.split(", ")
    }
    assert defined >= WORDS.keys()


def test_pages_list_the_signs_as_they_are_drawn() -> None:
    page = (ROOT / "docs" / "pages.md").read_text()
    for word, row in WORDS.items():
        assert f"| {row.sign} | {word} |" in page, word


def test_figures_draw_each_word_as_the_table_says() -> None:
    for word, row in WORDS.items():
        style = SEEN[word]
        assert (style.sign, style.marker, style.filled) == (row.sign, row.shape, not row.hollow)
        assert style.colour == COLOURS[row.colour]


def test_scripts_of_a_site_get_the_same_table() -> None:
    script = Templates("a project", (), Forge(), branches=False).assets["verdicts.js"].decode()
    table = script.removeprefix("globalThis.perf = {verdicts: ").removesuffix("};\n")
    assert msgspec.json.decode(table) == {word: row._asdict() for word, row in WORDS.items()}


@pytest.mark.parametrize("pattern", [DRAWN, SETS])
def test_no_other_file_has_a_table_of_signs_or_a_set_of_words(pattern: re.Pattern[str]) -> None:
    folders = [ROOT / "perfvcs", ROOT / "views", ROOT / "collectors", ROOT / "postprocessors"]
    files = [
        path
        for folder in folders
        for suffix in ("py", "js", "html")
        for path in folder.rglob(f"*.{suffix}")
        if path.resolve() != HOME
    ]
    assert len(files) > 500
    found = [path.name for path in files if pattern.search(path.read_text())]
    allowed = {"words.py", "finding.py", "history.py", "search.py"} if pattern is SETS else set()
    assert {*found} <= allowed
