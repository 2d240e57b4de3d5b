"""A pull request does not choose its own judge: the recipes, through `perf ci`, in real
repositories.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import Perf, Project, Said
from test_ci_command import WORK, Change, drawn_page, no_service, page_of_a_job

from perfvcs.ci.artifacts import REPORTS

__all__ = ["drawn_page", "no_service", "page_of_a_job"]  # fixtures

IGNORED = (
    "This change also changes how it is judged: perf.toml (new [[check]] delta 1000%, ignored)"
)


@pytest.fixture
def change(project: Project, perf: Perf, tmp_path: Path) -> Change:
    """A program in lib.sh, whose benchmark is bench/run.sh; the change has a branch of its own."""
    loose = '[[check]]\nunit = "work"\ndelta = "1000%"\n'  # what the shell takes
    project.configure(
        f'cmd = "sh bench/run.sh"\n{loose}', top=f'env = {{ RUNS = "{tmp_path}/runs" }}'
    )
    project.write("bench/run.sh", ". ./lib.sh")
    made = Change.__new__(Change)
    made.project, made.run, made.runs = project, perf, tmp_path / "runs"
    made.base = lib(project, "1000")
    project.git("switch", "--quiet", "--create", "change")
    return made


def lib(project: Project, level: str, **files: str) -> str:
    return project.commit(f"level {level}", **{"lib.sh": WORK.replace("LEVEL", level)}, **files)


def more(change: Change, text: str) -> dict[str, str]:
    return {"perf.toml": (change.project.root / "perf.toml").read_text() + text}


def flat(said: Said) -> str:
    return " ".join(said.out.split())


@pytest.mark.parametrize("options", [(), ("--delta", "1")])
@pytest.mark.usefixtures("drawn_page")
def test_tables_of_the_change_are_ignored_and_every_report_says_so(
    change: Change, options: tuple[str, ...]
) -> None:
    lib(change.project, "5900", **more(change, '[[check]]\ndelta = "1000%"\n'))
    assert IGNORED in flat(change.ci(*options, code=3))
    folder = change.project.root / "perf-ci"
    for name in {*REPORTS, "index.html"} - {"metrics.txt", "gl-code-quality-report.json"}:
        assert IGNORED in (folder / name).read_text().replace("\\", "").replace("`", "").replace(
            "&#91;", "["
        ), name
    assert "perf_judge_differences 1.0" in (folder / "metrics.txt").read_text()


def test_a_check_that_measures_ignores_them_too(change: Change) -> None:
    lib(change.project, "5900", **more(change, '[[check]]\ndelta = "1000%"\n'))
    for options in ((), ("--delta", "1")):
        assert IGNORED in flat(
            change.run("check", "--measure", *options, change.base, "HEAD", code=3)
        )
    assert IGNORED in flat(change.run("check", change.base, "HEAD", "--delta", "1", code=3))


def test_a_benchmark_that_does_nothing_any_more_is_named(change: Change) -> None:
    """On the older side, too, where the change lays it over both."""
    overlay = change.project.root / "perf.toml"
    early = {
        "bench/run.sh": WORK.replace("LEVEL", "2000"),
        "perf.toml": f'overlay = ["bench"]\n{overlay.read_text()}',
    }
    lib(change.project, "5900", **early)
    said = flat(change.ci())
    assert "became slower" not in said
    assert (
        "This change also changes how it is judged: perf.toml (overlay), the overlay bench/run.sh"
        in said
    )
    assert change.verdict.speaks


def test_a_benchmark_behind_a_link_that_does_nothing_any_more_is_named(change: Change) -> None:
    """On both sides: what an overlay's link leads to is laid over them."""
    root, early = change.project.root, {"shared/run.sh": WORK.replace("LEVEL", "1000")}
    (root / "bench" / "run.sh").unlink()
    (root / "bench").rmdir()
    (root / "bench").symlink_to("shared")
    change.base = change.project.commit(
        "linked",
        **{
            "shared/run.sh": ". ./lib.sh",
            "perf.toml": f'overlay = ["bench"]\n{(root / "perf.toml").read_text()}',
        },
    )
    lib(change.project, "5900", **early)
    assert "This change also changes how it is judged: the overlay shared/run.sh" in flat(
        change.ci()
    )


def test_a_job_that_is_removed_is_named(change: Change) -> None:
    text = (change.project.root / "perf.toml").read_text().replace('name = "work"', 'name = "easy"')
    lib(
        change.project,
        "5900",
        **{
            "perf.toml": text.replace("bench/run.sh", "easy.sh"),
            "easy.sh": WORK.replace("LEVEL", "1000"),
        },
    )
    assert "perf.toml (job work removed; new job easy), the benchmark easy.sh" in flat(
        change.ci(code=None)
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[[job]\n", "perf.toml is not TOML"),
        ("", "perf.toml has no [[job]]"),
        ('[[job]]\ncmd = "true"\n[[check]]\nalpha = "50%"\n', "there is no key `alpha`"),
    ],
)
def test_a_perf_toml_that_cannot_be_used_is_an_error(change: Change, text: str, said: str) -> None:
    lib(change.project, "5900", **{"perf.toml": text})
    assert said in change.ci(code=2).err


@pytest.mark.parametrize("to", ["/dev/zero", "nowhere", "perf.toml"])
def test_a_perf_toml_that_leads_elsewhere_is_an_error(change: Change, to: str) -> None:
    (change.project.root / "perf.toml").unlink()
    (change.project.root / "perf.toml").symlink_to(to)
    lib(change.project, "5900")
    assert "perf.toml" in change.ci(code=2).err


def test_what_an_earlier_step_wrote_into_the_checkout_is_named(change: Change) -> None:
    """As a setup.py of the change can, before anything is measured: what measures is compared,
    whoever wrote it.
    """
    lib(change.project, "5900")
    text = (change.project.root / "perf.toml").read_text()
    change.project.write("easy.sh", WORK.replace("LEVEL", "1000"))
    change.project.write(
        "perf.toml", text.replace("bench/run.sh", "easy.sh") + '[[check]]\ndelta = "1000%"\n'
    )
    said = flat(change.ci(code=None))
    assert (
        "perf.toml (job work: cmd sh bench/run.sh -> sh easy.sh; new [[check]] delta 1000%,"
        " ignored), the benchmark easy.sh" in said
    )


def test_an_own_acceptance_is_honoured_and_said_first(change: Change) -> None:
    lib(change.project, "2000")
    change.ci(code=3)
    changes = [one for one in change.verdict.report.changes if one.word == "degradation"]
    assert changes
    entries = "".join(
        f'a{place}.benchmark = "{one.job}"\na{place}.uid = "{one.uid}"\na{place}.metric ='
        f' "{one.metric}"\na{place}.effect = 90\na{place}.baseline ='
        f' "{change.base}"\na{place}.target ='
        f' "{change.project.git("rev-parse", "HEAD")}"\na{place}.reason = "so"\n'
        for place, one in enumerate(changes)
    )
    change.project.commit("accept", **{"perf-accepted.toml": entries})
    said = flat(change.ci())
    assert f": this change accepts {len(changes)} degradation" in said
    assert "wall time +9,000 %" in said
    assert change.verdict.speaks


def test_a_gain_that_the_process_denies_is_not_to_be_relied_on(change: Change) -> None:
    """By the guard of `perf judge`: the work moved out of what is timed."""
    work = (
        "sleep 0.3\n"  # which takes as long however busy the machine is
        'printf \'{"uid": "inner", "wall": 0.%s%s}\\n\' LEVEL $(($$ % 10)) >> "$PERFVCS_SAMPLES"\n'
    )
    change.base = change.project.commit("slow", **{"lib.sh": work.replace("LEVEL", "2000")})
    change.project.commit("fast", **{"lib.sh": work.replace("LEVEL", "0010")})
    change.ci(code=None)
    notes = change.verdict.notes
    assert any("not to be relied on: work reports that it takes" in note for note in notes), notes
    assert "not to be relied on" in (change.project.root / "perf-ci/report.md").read_text()


def test_a_module_that_stands_before_one_of_the_benchmark_is_named(change: Change) -> None:
    change.base = lib(change.project, "1000", **{"benchdata.py": "\n"})
    lib(change.project, "1000", **{"benchdata/__init__.py": "\n"})
    assert "the stand-in benchdata/__init__.py" in flat(change.ci(code=None))
    change.base = lib(change.project, "1000", **{"tools.py": "\n"})
    lib(change.project, "1000", **{"tools/__init__.py": "\n"})
    assert "the stand-in" not in flat(change.ci(code=None))
