"""Names in Markdown are text, whoever wrote them: by GitHub's own reader, and by the rules of what
services do to its result.

The rules are those of GitHub's documentation ("Autolinked references and URLs", "Basic writing and
formatting syntax", "Writing mathematical expressions") and of GitLab's ("GitLab-specific
references", "Quick actions"). Both leave alone what is code, or in a link: html-pipeline's filters
of mentions and emoji skip `pre`, `code`, `tt`, `a`.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from html.parser import HTMLParser
from itertools import cycle
from typing import Any

import pytest
from comparisons import STEADY, profile
from hypothesis import example, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from perfvcs.check import Change, compare
from perfvcs.check.change import CounterCluster, Curve, Difference, JudgedBy
from perfvcs.check.markdown import escape
from perfvcs.ci.artifacts import comment, summary
from perfvcs.ci.civerdict import Alarms, CausesOfUnit, CiVerdict, CiWord, Receipt
from perfvcs.pictures.listing import Column, Listing, TableCell, TableRow
from perfvcs.pictures.writing import markdown as table_of
from perfvcs.text.characters import shorten

pytestmark = pytest.mark.needs("cmark-gfm")
EXTENSIONS = ("table", "strikethrough", "autolink", "tagfilter", "tasklist", "footnotes")
RULES = {  # what becomes a link or a picture in text
    "a mention": r"(?<![\w`])@[a-z0-9]",
    "an address of mail": r"\w@\w",
    "an issue": r"#\d|\bGH-\d",
    "a reference of the repository's own": r"[a-z]+-\d+(?!\w)",
    "an advisory": r"\b(?:GHSA-\w{4}|CVE-\d{4}-\d)",
    "a commit": r"(?<![0-9a-z])[0-9a-f]{7,40}(?![0-9a-z])",
    "an emoji": r":[\w+-]+:",
    "an address": r"[a-z]://|\bwww\.",
    "a formula": r"\$",
    "a reference of GitLab": (
        r"(?<!\w)(?:![0-9]|&[0-9]|~[\w\"']|%[\w\"']|\^alert#)|\[\w+:\w|\*iteration:"
    ),
    "a change, or contents, of GitLab": (
        r"\{\+.*?\+\}|\[\+.*?\+\]|\{-.*?-\}|\[-.*?-\]|\[\[|^\[toc\]$"
    ),
}
HOSTILE = (
    r"""
@ada \@ada @org/team ada@example.org #1 GH-1 ada/project#1 ada/project@0123456 ffffffffffffffffffffffffffffffffffffffff 0123456
JIRA-12 CVE-2024-12345 GHSA-cfgh-jmpq-rvwx :tada: :+1: https://x.y/z www.example.org ftp://a mailto:a@b.c <b> </td> <sub> </details>
<img,src=x,onerror=y> <!--,perfvcs-ci,main,--> &lt; &#64;ada ![x](http://x.y/z) [x](//y) [x]:,/y [^1] [^1]:,y -,[,],x -,x +,x *,x 1.,x
2),x #,x >,x --- -,-,- === *** ___ ~~x~~ ``` ~~~ ` `` | |,a,| || \ \| \` **x** __x__ *x* _x_ ,,,,x x,, $x$ $$x$$ $`x`$ !1 &1 ~bug %1.0
%"a,b" ^alert#1 [issue:1] *iteration:1 {+,x,+} [-,x,-] [[x]] [TOC] /close /assign,@ada @dependabot,merge ::error::x >,[!NOTE] http :// ,
""".replace("\n", " ")
    .strip(" ")
    .replace(",", "\t")
    .split(" ")
)
HOSTILE = [name.replace("\t", " ") for name in HOSTILE]
HOSTILE += [
    "x\n\n# y",
    "x\r\ny",
    "\tx",
    "x\u2028/close",
    "\u00a0" * 4 + "x",
    "`" * 100,
    "a" * 11_000,
]
HOSTILE += ["\u202ex", "\u200b@ada", "@\u200bada", "\u05d0\u05d1", "\ufe0f", ":\u200dtada:"]
NAMES = st.lists(
    st.sampled_from(HOSTILE)
    | st.text(max_size=8)
    | st.sampled_from(r"`|\*_<>[]()#@:!&~$%^/-+=.1 a"),
    max_size=8,
).map("".join)


class Page(HTMLParser):
    """The elements of a page, and its texts: those of code apart."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[str] = []
        self.texts: list[str] = [""]
        self.whole = ""
        self.coded = 0
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: object) -> None:  # noqa: ARG002
        self.coded += tag == "code"
        if tag != "code":
            self.elements.append(tag)
        self.texts.append("")

    def handle_endtag(self, tag: str) -> None:
        self.coded -= tag == "code"
        self.texts.append("")

    def handle_comment(self, data: str) -> None:
        self.elements.append(f"<!--{data}-->")

    def handle_data(self, data: str) -> None:
        self.whole += data
        if not self.coded:
            self.texts[-1] += data

    def acted_on(self) -> list[str]:
        """What a service would make something of."""
        found = [
            (rule, text)
            for text in self.texts
            for rule, pattern in RULES.items()
            if re.search(pattern, text, re.I | re.A)
        ]
        return [f"{rule} in {text!a:.200}" for rule, text in found]


def rendered(text: str) -> Page:
    extensions = [word for name in EXTENSIONS for word in ("-e", name)]
    done = subprocess.run(
        ["cmark-gfm", "--unsafe", *extensions], input=text.encode(), capture_output=True, check=True
    )
    return Page(done.stdout.decode())


def literal(name: str) -> str:
    return " ".join(shorten(name, 10_000).split())


@pytest.mark.slow
def test_the_rules_see_what_a_service_makes_of_names_that_nobody_minds() -> None:
    plain = [rendered(f"{name}\n") for name in HOSTILE]
    assert {said.partition(" in '")[0] for page in plain for said in page.acted_on()} == {*RULES}
    made = {element for page in plain for element in page.elements}
    assert made > {
        "a",
        "b",
        "blockquote",
        "del",
        "em",
        "h1",
        "hr",
        "img",
        "input",
        "li",
        "ol",
        "pre",
        "strong",
        "ul",
    }


@pytest.mark.slow
@given(NAMES)
@example("@\u200bada")
def test_a_name_is_a_paragraph_of_its_own_text(name: str) -> None:
    written = escape(name)
    page = rendered(f"{written}\n")
    assert page.whole.strip("\n") == literal(name)
    assert page.elements == (["p"] if literal(name) else [])
    assert page.acted_on() == []
    assert not re.match(r"/\w", written), (
        "a command of GitLab's, or of a program that reads comments"
    )


@given(NAMES, NAMES)
def test_a_name_stays_in_its_cell(name: str, other: str) -> None:
    page = rendered(f"| a | b |\n|---|---|\n| {escape(name)} | {escape(other)} |\n| c | d |\n")
    assert page.elements == [
        "table",
        "thead",
        "tr",
        "th",
        "th",
        "tbody",
        "tr",
        "td",
        "td",
        "tr",
        "td",
        "td",
    ]
    assert " ".join(page.whole.split()) == " ".join(
        f"a b {literal(name)} {literal(other)} c d".split()
    )
    assert page.acted_on() == []


def parts(names: Iterator[str]) -> CiVerdict:
    """A verdict in which every text that is not a word of our own is one of these names."""
    sides = [
        profile({"sort": list(STEADY[0]), "parse": list(STEADY[1] * factor)}, side)
        for side, factor in ((0, 1), (1, 1.5))
    ]
    report = compare([sides[0]], [sides[1]], overall=True)
    degraded, other = report.changes
    models, orders = (next(names), next(names)), (next(names), next(names))
    curve = Curve(models=models, orders=orders, r2=(0.9, 0.9), sizes=(1.0, 9.0), at=(1.0, 9.0))
    cluster = CounterCluster(
        counters=[next(names)], target=next(names), error=0.5, threshold=0.1, regressed=True
    )
    texts = ("job", "uid", "metric", "unit", "reason", "finding", "method")
    variants: list[tuple[Change, dict[str, Any]]] = [
        (degraded, {"clusters": [cluster]}),
        (degraded, {"finding": "", "curve": curve, "size": 3.0}),
        (degraded, {"effect": None, "shift": 2.0, "shift_low": 1.0}),
        (other, {"accepted": next(names)}),
        *((other, {"word": word}) for word in ("inconclusive", "new", "missing", "not comparable")),
    ]
    changes = [
        replace(change, **{name: next(names) for name in texts} | more) for change, more in variants
    ]
    whole = []
    for one, change in zip(report.overall * 2, changes, strict=False):
        whole.append(
            replace(
                one, job=next(names), metric=change.metric, reason=next(names), unit=next(names)
            )
        )
    differences = [Difference(what=next(names), parts=[next(names)] * 2, files=[next(names)] * 2)]
    judged = JudgedBy(
        rules="target", differences=differences, accepts=[next(names)], remark=next(names)
    )
    lists = {name: [next(names)] for name in ("failures", "renamed", "untouched")}
    ends = {name: next(names) for name in ("baseline", "target", "inherits")}
    return CiVerdict(
        word="degraded",
        report=replace(report, changes=changes, overall=whole, judged_by=judged, **lists, **ends),
        receipt=Receipt(comparisons=2, settled=1, pairs=[3], alarms=Alarms(300, 2, 0.004, 0.02)),
        why=[next(names), next(names)],
        notes=[next(names)],
        causes=[CausesOfUnit(change.job, change.uid, [next(names)]) for change in changes],
        following=[next(names)],
    )


OURS = {
    "<!-- perfvcs-ci main -->",
    "blockquote",
    "p",
    "strong",
    "sub",
    "ul",
    "li",
    "table",
    "thead",
    "tbody",
    "tr",
    "th",
    "td",
}


@pytest.mark.slow
@settings(max_examples=30)
@given(
    st.lists(NAMES, min_size=1, max_size=12),
    st.sampled_from(["degraded", "failed", "unsettled", "untouched"]),
)
def test_a_comment_and_a_summary_have_no_more_elements_than_ours(
    names: list[str], word: CiWord
) -> None:
    verdict = replace(parts(cycle(names)), word=word)
    for text in (comment(verdict, "main"), summary(verdict)):
        page = rendered(text)
        assert {*page.elements} <= OURS
        assert page.acted_on() == []
        assert not re.search(r"^/\w", text, re.MULTILINE)
        assert page.elements.count("td") % 2 == 0


@pytest.mark.slow
@given(st.lists(NAMES, min_size=1, max_size=5))
def test_an_exported_table_has_no_more_elements_than_ours(names: list[str]) -> None:
    name = cycle(names)
    rows = [
        TableRow(("a", "b", None), next(name), next(name), [TableCell(next(name)), None])
        for _ in range(3)
    ]
    found = Listing(
        f"Of {next(name)}",
        next(name),
        [Column(next(name)), Column(next(name), number=True)],
        rows,
        [next(name), next(name)],
    )
    page = rendered(table_of(found))
    assert {*page.elements} <= OURS
    assert page.elements.count("td") == 9
    assert page.acted_on() == []
