"""Members of the families that other packages bring: found by their entry points, and checked
against the contract on loading.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from samples import sample_profile

from perfvcs import plugins
from perfvcs.check import compare, method
from perfvcs.errors import UsageError

HEAD = (
    "from __future__ import annotations\nfrom dataclasses import dataclass\nfrom"
    " perfvcs.plugins.view import Unfit, View\n"
)
WHOLE = '''
@dataclass(frozen=True)
class Count(View[int]):
    """How many profiles there are."""

    def cut(self, subject):
        if not subject.target:
            raise Unfit("it counts profiles")
        return len(subject.target)

    def render(self, data):
        raise NotImplementedError
'''


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """A function that installs one foreign member, of which it gets the source and the class."""

    def install(family: str, source: str, name: str = "Count") -> None:
        module = f"brought_{len(sys.modules)}"
        Path(tmp_path, f"{module}.py").write_text(HEAD + source)
        info = Path(tmp_path, "brought-1.dist-info")
        info.mkdir()
        Path(info, "METADATA").write_text("Metadata-Version: 2.1\nName: brought\nVersion: 1\n")
        Path(info, "entry_points.txt").write_text(f"[perfvcs.{family}]\ncount = {module}:{name}\n")
        monkeypatch.syspath_prepend(str(tmp_path))

    return install


def refused(family: str) -> str:
    with pytest.raises(UsageError) as error:
        plugins.find(family, "count")
    assert "\n" not in str(error.value) and error.value.exit_code == 2
    return str(error.value)


def test_a_foreign_view_inherits_what_it_does_not_define(installed) -> None:
    installed("views", WHOLE)
    view = plugins.find("views", "count")()
    assert "count" in plugins.names("views")
    assert (view.scope, view.asked, view.text(3, 80), view.table(3)) == (
        "sample",
        False,
        None,
        None,
    )
    assert view.bounded(points=5, both=False) == view


def test_a_view_without_a_method_is_refused_with_its_name(installed) -> None:
    installed("views", WHOLE.replace("def render", "def draw"))
    assert "lacks `render`, which perfvcs.plugins.view.View requires" in refused("views")


def test_a_view_that_does_not_inherit_lacks_the_defaults_as_well(installed) -> None:
    installed("views", WHOLE.replace("(View[int])", ""))
    assert (
        "lacks `asked`, `scope`, `telling`, `beside`, `text`, `table`, `bounded`, which"
        in refused("views")
    )


def test_a_member_that_is_not_a_dataclass_is_refused(installed) -> None:
    installed("views", WHOLE.replace("@dataclass(frozen=True)", ""))
    assert refused("views").endswith("is not a dataclass, whose fields are its options")


@pytest.mark.parametrize(
    ("family", "method"),
    [("postprocessors", "apply"), ("collectors", "collect"), ("formats", "decode")],
)
def test_the_other_families_are_checked_as_well(installed, family: str, method: str) -> None:
    installed(family, WHOLE.replace("(View[int])", ""))
    said = refused(family)
    assert f"`{method}`" in said and "which perfvcs." in said


def test_a_format_without_suffixes_is_refused(installed) -> None:
    installed("formats", WHOLE.replace("(View[int])", ""))
    assert "lacks `suffixes`, " in refused("formats")


def test_a_member_that_cannot_be_imported_is_named(installed) -> None:
    installed("views", "import no_such_module\n")
    assert "cannot be imported, No module named 'no_such_module'" in refused("views")


def test_a_foreign_view_that_lacks_something_ends_perf_show_in_a_line(installed) -> None:
    import pictures

    from perfvcs.reports import page

    installed("views", WHOLE.replace("def cut", "def take"))
    with pytest.raises(UsageError, match=r"the view `count` .* lacks `cut`"):
        page.render(pictures.one())


METHOD = """
from perfvcs.check.method import PairMethod
from perfvcs.check.statement import PairNumbers, PairVerdict, state

@dataclass(frozen=True)
class Count(PairMethod):
    def judge(self, pairs):
        centres = lambda pair: tuple(side[0][0] for side in (pair.baseline, pair.target))
        return [
            state(pair, PairVerdict("WORD", "count"), PairNumbers(centres(pair)))
            for pair in pairs
        ]
"""


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (
            "import no_such_module\n",
            (
                "cannot be imported, No module named 'no_such_module': install what it needs, or"
                " uninstall it"
            ),
        ),
        ("class Count(\n", "cannot be imported, SyntaxError: .*: fix it, or uninstall it"),
        (
            "1 / 0\n",
            "cannot be imported, ZeroDivisionError: division by zero: fix it, or uninstall it",
        ),
        (
            METHOD.replace("@dataclass(frozen=True)", "").replace("(PairMethod)", ""),
            "is not a dataclass",
        ),
        (
            METHOD.replace("def judge", "def judged"),
            "lacks `judge`, which perfvcs.check.method.Method requires",
        ),
        (
            METHOD.replace("(PairMethod)", ""),
            "lacks `delta`, `confidence`, `alpha`, `asked`, `least`, `compare`, which",
        ),
    ],
)
def test_a_method_that_cannot_be_used_is_refused_with_its_name(
    installed, source: str, message: str
) -> None:
    installed("methods", source)
    with pytest.raises(UsageError, match=rf"^the method `count` \(brought_\d+:Count\) {message}"):
        method.load("count")


def test_a_method_with_a_verdict_of_its_own_is_refused(installed) -> None:
    installed("methods", METHOD.replace("WORD", "slower"))
    sides = [sample_profile([1.0, 1.0]), sample_profile([2.0, 2.0], commit="b" * 40)]
    with pytest.raises(
        UsageError, match="Count gives the verdict `slower`, not one of degradation, improvement, "
    ):
        compare(*sides, method="count")


def test_a_method_of_another_package_is_used(installed) -> None:
    installed("methods", METHOD.replace("WORD", "degradation"))
    sides = [sample_profile([1.0, 1.0]), sample_profile([2.0, 2.0], commit="b" * 40)]
    assert [change.word for change in compare(*sides, method="count").changes] == ["degradation"]


@pytest.mark.parametrize("family", ["collectors", "views", "formats", "postprocessors"])
def test_a_member_that_fails_while_it_is_imported_is_named(installed, family: str) -> None:
    installed(family, "class Count(\n")
    assert "cannot be imported, SyntaxError: " in refused(family)
