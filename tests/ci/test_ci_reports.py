"""The reports of `perf ci`: each is read by what its readers are made of, and none is larger than
they take.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import msgspec
import pytest
import xmlschema
from comparisons import NEW, OLD, STEADY, profile
from conftest import TESTS
from prometheus_client.openmetrics.parser import text_string_to_metric_families
from pydantic_sarif.model import StaticAnalysisResultsFormatSarifVersion210JsonSchema as Sarif

from perfvcs.check import Report, compare
from perfvcs.check.change import Difference, JudgedBy, LimitVerdict
from perfvcs.ci import artifacts, suites
from perfvcs.ci.artifacts import REPORTS, document
from perfvcs.ci.civerdict import Alarm, Alarms, CiVerdict, Detectable, Receipt, SourcePlace, decode
from perfvcs.ci.findings import code_quality, obeying_nothing, sarif, workflow_commands
from perfvcs.ci.suites import open_metrics
from perfvcs.errors import UsageError
from perfvcs.profile.validity import Malformed

HOSTILE = "a\n::error::b\x1b[31m %0A </script> ]]> \"'` | <!-- & \u202e @team __init__ \\"
MARKER = artifacts.marker("main")


def report(factor: float = 1.0, units: tuple[str, ...] = ("sort",), **more: object) -> Report:
    old, new = (
        {name: list(column) for name in units} for column in (STEADY[0], STEADY[1] * factor)
    )
    return msgspec.structs.replace(compare([profile(old)], [profile(new, 1)], overall=True), **more)


def verdict(word: str, found: Report, **more: object) -> CiVerdict:
    worse = [change for change in found.changes if change.word == "degradation"]
    alarms = [
        Alarm(
            one,
            [one],
            SourcePlace("bench/so rt.py", 3, 7),
            one.gate,
            f"{one.uid} became worse: wall time +50 %",
        )
        for one in worse
    ]
    errors = Receipt(
        comparisons=len(found.comparisons),
        settled=sum(change.settled for change in found.comparisons),
        pairs=[5, 30],
        detectable=Detectable(0.011, 0.02, 0.15),
        alarms=Alarms(300, 2, 0.004, 0.02),
    )
    return CiVerdict(
        **(
            {"word": word, "report": found, "receipt": errors, "alarms": alarms, "seconds": 61.5}
            | more
        )
    )  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def degraded() -> CiVerdict:
    return verdict("degraded", report(1.5, ("sort", "parse", HOSTILE)))


@pytest.fixture(scope="module")
def many() -> CiVerdict:
    """Three thousand benchmarks that became worse."""
    (one,) = report(1.5).changes
    changes = [
        msgspec.structs.replace(one, uid=f"test[{number}] {'long ' * 20}") for number in range(3000)
    ]
    return verdict(
        "degraded", Report(baseline=OLD[:10], target=NEW[:10], method="auto", changes=changes)
    )


UNSETTLED = verdict("unsettled", report(1.02))
UNTOUCHED = verdict(
    "untouched",
    Report(
        baseline="1",
        target="2",
        method="auto",
        changes=[],
        untouched=["sort", "parse"],
        inherits="1",
    ),
    receipt=Receipt(comparisons=0, settled=0),
    why=["no source, build or data file changed (README.md)"],
)
FAILED = verdict(
    "failed",
    Report(baseline="1", target="2", method="auto", changes=[]),
    why=["sort on 2: exited with status 1"],
)


JUDGED = JudgedBy(
    rules="target",
    remark="the tables are those of the target",
    accepts=["sort: wall time +490 %", HOSTILE],
    differences=[
        Difference(what="perf.toml", parts=["job sort removed"]),
        Difference(what="the overlay", files=[HOSTILE, "b"]),
    ],
)


@pytest.fixture(params=["degraded", "many", "unsettled", "untouched", "failed", "fine", "judged"])
def every(request: pytest.FixtureRequest, degraded: CiVerdict, many: CiVerdict) -> CiVerdict:
    fine = verdict("fine", report(1.0))
    judged = verdict("fine", report(1.0, judged_by=JUDGED))
    return {
        "degraded": degraded,
        "many": many,
        "unsettled": UNSETTLED,
        "untouched": UNTOUCHED,
        "failed": FAILED,
        "fine": fine,
        "judged": judged,
    }[request.param]


@pytest.mark.parametrize("word", ["fine", "failed", "unsettled", "untouched"])
def test_what_a_change_does_to_its_judge_is_in_every_report_whatever_came_of_it(word: str) -> None:
    found = verdict(word, report(1.0, judged_by=JUDGED), why=["so it is"])
    said = (
        "This change also changes how it is judged: perf.toml (job sort removed), the overlay",
        "The tables are those of the target",
    )
    first = "this change accepts 2 degradations of its own (sort: wall time +490 %"
    forms = {
        name: render(found).decode() for name, render in REPORTS.items() if name != "metrics.txt"
    }
    forms |= {
        "comment": artifacts.comment(found, "main"),
        "annotations": "\n".join(workflow_commands(found)),
    }
    for name, text in forms.items():
        plain = re.sub(r"\\([^n])", r"\1", text)
        assert all(one in plain for one in (*said, first)), name
    assert found.speaks
    assert "::warning title=perf ci::" in forms["annotations"]
    assert forms["comment"].splitlines()[1] in ("> [!IMPORTANT]", "> [!CAUTION]", "> [!WARNING]")
    assert "perf_judge_differences 4.0" in open_metrics(found).decode()


def test_a_change_that_leaves_its_judge_alone_says_nothing_of_it() -> None:
    found = verdict("fine", report(1.0, judged_by=JudgedBy(rules="baseline")))
    assert not found.speaks
    assert not any(b"judged:" in render(found) for render in REPORTS.values())
    assert code_quality(found) == b"[]"


def test_sarif_is_what_its_schema_says(every: CiVerdict) -> None:
    log = json.loads(sarif(every))
    Sarif.model_validate(log)
    results = log["runs"][0]["results"]
    assert len(results) == len(every.alarms) <= 5000
    assert {one["ruleId"] for one in results} <= {"performance-degradation"}
    prints = [one["partialFingerprints"]["primaryLocationLineHash"] for one in results]
    assert len(set(prints)) == len(prints)
    assert all(re.fullmatch(r"[0-9a-f]{16}:1", one) for one in prints)


def test_sarif_names_files_relative_to_the_repository(degraded: CiVerdict) -> None:
    where = json.loads(sarif(degraded))["runs"][0]["results"][0]["locations"][0]["physicalLocation"]
    assert where["artifactLocation"] == {"uri": "bench/so%20rt.py"}
    assert where["region"] == {"startLine": 3, "endLine": 7}


def test_a_finding_keeps_its_fingerprint_on_other_commits(degraded: CiVerdict) -> None:
    later = msgspec.structs.replace(degraded.report, baseline="f" * 10, target="e" * 10)
    other = msgspec.structs.replace(degraded, report=later)
    for render in (sarif, code_quality):
        assert re.findall(
            rb'"(?:fingerprint|primaryLocationLineHash)": "([^"]+)"', render(degraded)
        ) == re.findall(rb'"(?:fingerprint|primaryLocationLineHash)": "([^"]+)"', render(other))


def test_junit_is_what_its_schema_says(every: CiVerdict) -> None:
    text = suites.junit(every)
    xmlschema.XMLSchema(str(TESTS / "data" / "junit-10.xsd")).validate(text.decode())
    (suite,) = ElementTree.fromstring(text)
    cases = suite.findall("testcase")
    names = [(case.get("classname"), case.get("name")) for case in cases]
    assert len(set(names)) == len(names) == int(suite.get("tests", ""))
    for kind in ("failure", "error"):
        assert len(suite.findall(f"testcase/{kind}")) == int(suite.get(f"{kind}s", ""))
    assert len(suite.findall("testcase/failure")) == sum(alarm.certain for alarm in every.alarms)
    assert len(suite.findall("testcase/error")) == (every.word in ("failed", "unsettled"))


def test_what_fails_a_job_beside_comparisons_fails_in_every_report() -> None:
    held = {"job": "sort", "uid": "sort", "metric": "wall", "unit": "s", "better": "lower"}
    limits = [
        LimitVerdict(**held, word="degradation", limit=0.2, level=0.3, low=0.29, high=0.31),
        LimitVerdict(**held, word="suspected", statistic="p99", limit=0.3, level=0.3),
        LimitVerdict(**held, word="same", statistic="p50", limit=0.4, level=0.3),
    ]
    found = verdict("degraded", report(1.0, limits=limits, wrong=["parse"], outputs=["parse"]))
    suite = ElementTree.fromstring(suites.junit(found)).find("testsuite")
    assert suite is not None
    failed = [case.get("name") for case in suite if case.find("failure") is not None]
    assert failed == ["parse, output", "sort, limit of wall time"]
    assert suite.get("failures") == "2"
    (may,) = [case for case in suite if case.get("name") == "sort, limit of p99 of wall time"]
    assert may.find("skipped") is not None
    Sarif.model_validate_json(sarif(found))
    messages = [
        [result["message"]["text"] for result in json.loads(sarif(found))["runs"][0]["results"]],
        [entry["description"] for entry in json.loads(code_quality(found))],
        [line for line in workflow_commands(found) if line.startswith("::error")],
    ]
    for output, limit in messages:
        assert "the output of parse differs, and had to stay the same" in output
        assert "is above its limit of 200 ms" in limit
    assert "perf_unmet_demands 2.0" in open_metrics(found).decode()


@pytest.mark.slow
def test_junit_leaves_out_what_would_make_it_too_large(
    many: CiVerdict, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = len(suites.junit(many))
    monkeypatch.setattr(suites, "LARGEST_JUNIT", whole // 3)
    (suite,) = ElementTree.fromstring(suites.junit(many))
    assert 500 <= len(suite.findall("testcase/failure")) < 3000


def test_open_metrics_are_read_by_prometheus(every: CiVerdict) -> None:
    text = open_metrics(every).decode()
    assert text.endswith("\n# EOF\n")
    samples = [
        sample for family in text_string_to_metric_families(text) for sample in family.samples
    ]
    assert len({(one.name, *sorted(one.labels.items())) for one in samples}) == len(samples)
    assert {one.labels["word"] for one in samples if one.name == "perf_verdict"} == {every.word}
    effects = [one.value for one in samples if one.name == "perf_effect_ratio"]
    assert effects == [change.effect for change in every.report.changes]


def test_code_quality_has_what_gitlab_documents(every: CiVerdict) -> None:
    entries = json.loads(code_quality(every))
    assert len(entries) == len(every.alarms) + (
        every.word in ("failed", "unsettled") or not every.report.judged_by.is_plain
    )
    for entry in entries:
        assert entry.keys() == {"description", "check_name", "fingerprint", "severity", "location"}
        assert entry["severity"] in ("info", "minor", "major", "critical", "blocker")
        path, begin = entry["location"]["path"], entry["location"]["lines"]["begin"]
        assert path and not path.startswith(("/", "./")) and begin >= 1
    assert len({entry["fingerprint"] for entry in entries}) == len(entries)


def test_a_comment_is_never_larger_than_github_takes(every: CiVerdict) -> None:
    text = artifacts.comment(every, "main")
    assert text.startswith(f"{MARKER}\n> [!")
    assert len(text) <= 65_536
    assert len(artifacts.summary(every).encode()) <= 1 << 20


def test_a_summary_that_is_too_long_is_cut_at_a_line_with_a_note(many: CiVerdict) -> None:
    text = artifacts.summary(many, 10_000)
    assert len(text.encode()) <= 10_000
    assert "The rest does not fit here" in text
    assert "Smallest change that would have been found 4 times of 5: 2.0 %" in text
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert all(row.endswith("|") for row in rows)


@pytest.mark.parametrize("room", [1, 100, 400, 1000])
def test_even_a_summary_without_room_is_no_larger(degraded: CiVerdict, room: int) -> None:
    assert len(artifacts.summary(degraded, room).encode()) <= max(room, 600)


def test_names_are_text_in_every_report(degraded: CiVerdict) -> None:
    lines = artifacts.summary(degraded).splitlines()
    assert not any(line.lstrip().startswith(("::", "<!--")) for line in lines)
    assert not re.search(r"(?<![\\`])(@team|<!--|</script>)", "\n".join(lines))
    for name, render in REPORTS.items():
        text = render(degraded).decode()
        assert "\x1b" not in text and "\u202e" not in text, name


def test_annotations_are_ten_of_a_kind_at_most(many: CiVerdict) -> None:
    said = workflow_commands(many)
    assert len([line for line in said if line.startswith("::error ")]) == 10
    assert len(said) == 11


def test_an_annotation_is_one_line_whatever_it_says(degraded: CiVerdict) -> None:
    alarm = msgspec.structs.replace(
        degraded.alarms[0], text="one\ntwo % ::stop", place=SourcePlace("a,b:c.py", 2, 4)
    )
    (first, *_) = workflow_commands(msgspec.structs.replace(degraded, alarms=[alarm]))
    assert first == "::error file=a%2Cb%3Ac.py,line=2,endLine=4,title=perf ci::one␊two %25 ::stop"


def test_the_runner_obeys_nothing_until_the_end_whatever_happens() -> None:
    said: list[str] = []
    with pytest.raises(UsageError), obeying_nothing(said.append):
        raise UsageError("broken")
    begin, end = said
    assert end == f"::{begin.removeprefix('::stop-commands::')}::"


RENDERED: dict[str, Callable[[CiVerdict], bytes]] = {
    **REPORTS,
    "annotations": lambda found: "\n".join(workflow_commands(found)).encode(),
}


@pytest.mark.parametrize("name", RENDERED)
def test_every_report_has_the_error_receipt(name: str, degraded: CiVerdict) -> None:
    text = RENDERED[name](degraded).decode().replace("%25", "%")
    if name == "metrics.txt":
        assert (
            "perf_detectable_ratio 0.02\n" in text
            and "perf_false_alarms_ratio 0.004\n" in text
            and "perf_comparisons_settled 3.0\n" in text
        )
        return
    assert "Settled: 3 of 3 comparisons, in 5-30 pairs each." in text
    assert (
        "4 times of 5: 2.0 % in half of the comparisons, 1.1 % in the best and 15.0 % in the worst."
        in text
    )
    assert (
        "False alarms of this set-up: 2 of 300 A/A comparisons (0.4 % by resampling, at most 2 %)."
        in text
    )


@pytest.mark.parametrize("name", RENDERED)
def test_nothing_settled_is_never_silent(name: str) -> None:
    text = RENDERED[name](UNSETTLED).decode()
    assert (
        'perf_verdict{word="unsettled"} 1'
        if name == "metrics.txt"
        else "Nothing could be settled: 1 comparison stays undecided"
    ) in text
    assert UNSETTLED.status == 4 and UNSETTLED.speaks


def test_each_verdict_has_a_colour_of_its_own(degraded: CiVerdict) -> None:
    colours = [
        re.search(r"\[!(\w+)\]", artifacts.summary(one))[1]
        for one in (degraded, UNSETTLED, UNTOUCHED, verdict("fine", report()))
    ]  # type: ignore[index]
    assert colours[:3] == ["CAUTION", "WARNING", "NOTE"]
    assert len(set(colours)) == 4


def test_a_document_is_read_back(every: CiVerdict) -> None:
    assert decode(document(every)) == every


@pytest.mark.parametrize(
    "text", [b"", b"[]", b"{}", b'{"format": "perfvcs-ci/1"}', b"\xff", b"[" * 100_000]
)
def test_a_damaged_document_is_refused_in_one_line(text: bytes) -> None:
    with pytest.raises(Malformed, match=r"^it is not a report of `perf ci`: .+$"):
        decode(text)


def test_a_document_of_another_version_is_refused(degraded: CiVerdict) -> None:
    with pytest.raises(Malformed, match="its format is perfvcs-ci/9, not perfvcs-ci/1"):
        decode(document(msgspec.structs.replace(degraded, format="perfvcs-ci/9")))


def test_an_improvement_is_worth_a_comment_and_the_same_is_not() -> None:
    assert verdict("fine", report(0.5)).speaks
    assert not verdict("fine", report(1.0)).speaks
    assert not UNTOUCHED.speaks


def test_a_receipt_without_a_measurement_says_nothing() -> None:
    assert Receipt(comparisons=0, settled=0).lines() == []


def test_the_summary_of_a_step_keeps_what_others_wrote_and_its_limit(
    tmp_path: Path, many: CiVerdict
) -> None:
    path = tmp_path / "summary.md"
    path.write_text("x" * ((1 << 20) - 5000))
    assert artifacts.append(path, many) == ""
    text = path.read_text()
    assert text.startswith("xxx") and "perf ci" in text
    assert path.stat().st_size <= 1 << 20
    assert (
        artifacts.append(tmp_path / "none" / "summary.md", many)
        == "the summary of this step was not written: No such file or directory"
    )
