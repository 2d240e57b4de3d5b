from pathlib import Path

import pytest
from cases import each

from perfvcs.jobs import matrix
from perfvcs.jobs.config import BadConfig, load, read, seconds


@each(
    "table message",
    [
        ({"jobs": []}, "there is no key `jobs`; did you mean `job`?"),
        (
            {"job": [{"cmd": "a", "worklods": []}]},
            r"\[\[job\]\] no. 1: there is no key `worklods`; did you mean `workloads`",
        ),
        ({"job": [{"cmd": "a"}, {"name": "b"}]}, r"\[\[job\]\] no. 2: `cmd` is missing"),
        (
            {"job": [{"cmd": "a", "executions": "ten"}]},
            "no. 1, executions: 'ten' is not known: give a whole number, .auto.",
        ),
        ({"job": {"cmd": "a"}}, "job: expected a list, got a table"),
        (
            {"job": [{"cmd": "a", "timeout": True}]},
            "expected a whole number or a number or a string, got true or false",
        ),
        ({"env": {"A": 1}}, "env: expected a string, got a whole number"),
        ({"build": [""]}, "build: '' names no program"),
        ({"build": ["make '"]}, "build: .* check its quotes"),
        ({"build_timeout": "soon"}, "build_timeout: 'soon' is not a time"),
        ({"hook": {"wait": "soon"}}, "\\[hook\\] wait: 'soon' is not a time"),
        ({"hook": {"wait": -1}}, "\\[hook\\] wait: -1 is not a time"),
        ({"submodules": "libs"}, "submodules: expected true or false or a list, got a string"),
        ({"submodules": ["../libs"]}, r"submodules: '\.\./libs' is not the path of a submodule"),
        ({"submodules": [""]}, r"submodules: '' is not the path of a submodule"),
        ({"submodules": ["libs/"]}, r"submodules: 'libs/' is not the path of a submodule"),
        ({"hook": {"wiat": "1s"}}, "hook: there is no key `wiat`; did you mean `wait`?"),
        ({"overlay": ["bench", "a\0b"]}, "'overlay' has a NUL"),
        ({"job": [{"cmd": "a", "env": {"A\0": "b"}}]}, "has a NUL"),
        ({"python": {"keep": 0}}, "keep is 0: give a number of environments from 1"),
        ({"python": {"keep": "3"}}, "python.keep: expected a whole number"),
        (
            {"python": {"version": ["3.11"]}},
            "python: there is no key `version`; did you mean `versions`",
        ),
        ({"hosts": {"shh": []}}, "hosts: there is no key `shh`; did you mean `ssh`?"),
        ({"judge": {"corect": []}}, "judge: there is no key `corect`; did you mean `correct`?"),
        (
            {"job": [{"cmd": "a", "executions": {"leest": 1}}]},
            "no. 1, executions: there is no key `leest`; did you mean `least`?",
        ),
        (
            {"job": [{"cmd": "a", "exact": "often"}]},
            'no. 1, exact: \'often\' is neither "auto" nor "always" nor "never"',
        ),
        ({"check_rules": "some"}, 'check_rules: \'some\' is neither "first" nor "all"'),
        ({"knobs": {"zzz": 1}}, "knobs: there is no key `zzz`; there are: pin, aslr, padding"),
    ],
)
def test_a_wrong_key_or_type_is_named_with_its_place_and_the_right_one(
    table: dict[str, object], message: str
) -> None:
    with pytest.raises(BadConfig, match=message) as caught:
        read(table)
    assert caught.value.exit_code == 2
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"a = 1\njob = \n", "perf.toml is not TOML: .*line 2"),
        (b"\xff\xfe", "perf.toml is not TOML"),
        (b"x = 1\nx = 2", "is not TOML"),
    ],
)
def test_what_is_not_toml_is_said(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "perf.toml").write_bytes(content)
    with pytest.raises(BadConfig, match=message):
        load(tmp_path / "perf.toml")


def test_a_missing_or_unreadable_file_names_the_cure(tmp_path: Path) -> None:
    with pytest.raises(BadConfig, match="perf init"):
        load(tmp_path / "perf.toml")
    with pytest.raises(BadConfig, match="cannot be read"):
        load(tmp_path)


@pytest.mark.parametrize(
    ("text", "value"),
    [("60s", 60), ("500ms", 0.5), ("5min", 300), ("1.5 h", 5400), (7, 7), (0.5, 0.5)],
)
def test_times_are_written_as_people_do(text: str | float, value: float) -> None:
    assert seconds(text, "timeout") == value


@pytest.mark.parametrize("text", ["", "soon", "-1s", "0s", "5 fortnights", "1e3s"])
def test_what_is_no_time_is_an_error(text: str) -> None:
    with pytest.raises(BadConfig, match='write it like "60s"'):
        seconds(text, "timeout")


@each(
    "job message",
    [
        ({"cmd": ""}, "names no program"),
        ({"cmd": ["a", " "]}, "names no program"),
        ({"cmd": "''"}, "names no program"),
        ({"cmd": []}, "`cmd` is empty"),
        ({"cmd": "a", "args": []}, "`args` is empty"),
        ({"cmd": "a", "workloads": []}, "`workloads` is empty"),
        ({"cmd": "a", "collectors": []}, "`collectors` is empty"),
        ({"cmd": "a", "executions": 0}, "`executions` is 0, but must be 1 to 1,000,000"),
        ({"cmd": "a", "warmup": -1}, "`warmup` is -1"),
        ({"cmd": "a", "binaries": 10**30}, "`binaries` is 10+, but must be 1 to 1,000"),
        ({"cmd": "a", "name": "n" * 20_000}, "`name` has over 10,000 characters"),
        ({"cmd": "a 'b"}, "check its quotes"),
        ({"cmd": "a | b"}, "needs a shell: add `shell = true`"),
        ({"cmd": "a", "collectors": ["tiem"]}, "there is no collector `tiem`; did you mean `time`"),
        ({"cmd": "a", "collectors": ["_shared"]}, "there is no collector `_shared`"),
        (
            {"cmd": "a", "collectors": [{"name": "time", "repaet": 1}]},
            "no option `repaet`; did you mean `repeat`",
        ),
        (
            {"cmd": "a", "collectors": [{"name": "time", "repeat": "x"}]},
            "collector `time`: .*repeat",
        ),
        ({"cmd": "a", "collectors": [{"repeat": 1}]}, "needs a `name`"),
        ({"cmd": "a", "postprocessors": ["regresion"]}, "there is no postprocessor `regresion`"),
        ({"cmd": "a", "timeout": "never"}, "job `a`, timeout: 'never' is not a time"),
        ({"cmd": "a", "args": [str(n) for n in range(10_001)]}, "over the limit of 10,000"),
    ],
)
def test_a_job_that_cannot_be_run_says_why(job: dict[str, object], message: str) -> None:
    with pytest.raises(Exception, match=message) as caught:
        matrix(read({"job": [job]}))
    assert getattr(caught.value, "exit_code", None) == 2


def test_no_job_at_all_is_an_error() -> None:
    with pytest.raises(BadConfig, match=r"no \[\[job\]\]"):
        matrix(read({}))


def test_two_jobs_of_one_label_are_an_error() -> None:
    with pytest.raises(BadConfig, match="2 jobs are all `sort`"):
        matrix(read({"job": [{"name": "sort", "cmd": "./a"}, {"name": "sort", "cmd": "./b"}]}))


def test_an_unknown_job_is_named_with_the_nearest() -> None:
    with pytest.raises(Exception, match="no job is called `srot`; did you mean `sort`"):
        matrix(read({"job": [{"name": "sort", "cmd": "./a"}]}), ["srot"])
