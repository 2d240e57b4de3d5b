"""By what a change is judged: the baseline's rules in every command, and what the change does to
its judge is said in every form.
"""

from __future__ import annotations

import time
from pathlib import Path

import msgspec
import pytest
from conftest import Perf, Project, Said
from samples import interleaved, noisy

from perfvcs.check.answer import criteria
from perfvcs.check.change import Difference, JudgedBy
from perfvcs.git.blobs import ChangedFile, Links
from perfvcs.jobs.benchmark_files import of_files
from perfvcs.jobs.configchanges import of_settings
from perfvcs.repository import Repository

JOB = '[[job]]\nname = "sort"\ncmd = "sh bench/sort.sh"\n'
LOOSE = '[[check]]\ndelta = "1000%"\n'
FORMS = ((), ("-v",), ("-q",), ("--json",), ("--markdown",))
ACCEPTED = """\
abcdef1.benchmark = "sort"
abcdef1.uid = "sort"
abcdef1.metric = "{metric}"
abcdef1.effect = {effect}
abcdef1.baseline = "{baseline}"
abcdef1.target = "{target}"
abcdef1.reason = "wanted"
"""


def changed(
    project: Project, before: dict[str, str], after: dict[str, str], slower: float = 5.9
) -> list[str]:
    """Two commits with these files, measured in turns; ``sort`` takes ``slower`` times as long on
    the second.
    """
    commits = [project.commit("base", **{"work.py": "1", **before})]
    for name in before.keys() - after.keys():
        (project.root / name).unlink()
    commits.append(project.commit("change", **{"work.py": "2", **after}))
    walls = [noisy(0.010, seed=1), noisy(0.010 * slower, seed=2)]
    Repository.find(create=True).store.add(interleaved(commits, walls), "test")
    return commits


def flat(said: Said) -> str:
    return said.flat.replace("\\", "").replace("`", "")


def judged_by(perf: Perf, *words: str, code: int = 3) -> dict[str, object]:
    found: dict[str, object] = perf("check", "--json", *words, code=code).document["judged_by"]
    return found | {"differences": named(msgspec.convert(found["differences"], list[Difference]))}


def named(differences: list[Difference]) -> list[str]:
    """Differences as reports name them, each by itself."""
    each = [criteria(JudgedBy(differences=[one])) for one in differences]
    return [said.removeprefix("This change also changes how it is judged: ") for said in each]


@pytest.mark.parametrize("form", FORMS)
def test_a_change_does_not_choose_its_own_judge_and_every_form_says_that_it_tried(
    project: Project, perf: Perf, form: tuple[str, ...]
) -> None:
    changed(project, {"perf.toml": JOB}, {"perf.toml": JOB + LOOSE})
    said = flat(perf("check", *form, code=3))
    assert (
        "This change also changes how it is judged: perf.toml (new [[check]] delta 1000%, ignored)"
        in said
    )


def test_the_pair_may_be_named_and_the_command_line_overrides_the_tables_of_the_baseline_too(
    project: Project, perf: Perf
) -> None:
    commits = changed(project, {"perf.toml": JOB + LOOSE}, {"perf.toml": JOB + LOOSE})
    perf("check", *commits, code=0)
    said = perf("check", *commits, "--delta", "1", code=3)
    assert "judged" not in said.out
    assert "+490" in said.out


def test_the_audits_of_a_gate_are_judged_by_the_baseline_too(project: Project, perf: Perf) -> None:
    """Else a change could have its own gate refused."""
    base, change = changed(
        project, {"perf.toml": JOB}, {"perf.toml": f'{JOB}[[check]]\nmethod = "visual"\n'}
    )
    repository = Repository.find()
    rules = [
        repository.criteria_reader.rules(base, commit).rules.rules for commit in (base, change)
    ]
    assert rules == [(), ()]
    assert len(repository.rules.rules) == 1
    perf("check", "--gate", code=3)


def test_tables_that_are_not_committed_judge_and_the_headline_says_so(
    project: Project, perf: Perf
) -> None:
    changed(project, {"perf.toml": JOB}, {"perf.toml": JOB})
    perf("check", code=3)
    project.write("perf.toml", JOB + LOOSE)
    assert "The [[check]] tables that judge are not committed in perf.toml." in flat(
        perf("check", code=0)
    )
    assert judged_by(perf, code=0)["rules"] == "working tree"
    project.commit("they are now")
    assert "not committed" not in perf("check", "HEAD~2", "HEAD~1", code=3).out


def test_an_edit_elsewhere_in_perf_toml_does_not_bring_the_changes_own_tables_into_force(
    project: Project, perf: Perf
) -> None:
    changed(project, {"perf.toml": JOB}, {"perf.toml": JOB + LOOSE})
    project.write("perf.toml", f"{JOB}executions = 7\n{LOOSE}")
    assert judged_by(perf)["rules"] == "baseline"


def test_without_a_perf_toml_of_the_baseline_the_targets_judges_and_that_is_said(
    project: Project, perf: Perf
) -> None:
    changed(project, {}, {"perf.toml": JOB + LOOSE})
    found = judged_by(perf, code=0)
    assert found["rules"] == "target"
    assert found["differences"] == ["perf.toml (new)"]
    assert "are those of the target's perf.toml, the baseline has none" in flat(
        perf("check", code=0)
    )


@pytest.mark.parametrize(
    "broken",
    ["[[check]\n", '[[check]]\nmethod = "of-another-version"\n', '[[check]]\nalpha = "1%"\n'],
)
def test_a_baseline_that_cannot_be_used_leaves_it_to_the_target_and_that_is_said(
    project: Project, perf: Perf, broken: str
) -> None:
    changed(project, {"perf.toml": JOB + broken}, {"perf.toml": JOB + LOOSE})
    assert "are those of the target's perf.toml, that of the baseline cannot be used: " in flat(
        perf("check", code=0)
    )


def test_without_any_perf_toml_the_working_trees_judges(project: Project, perf: Perf) -> None:
    commits = changed(project, {}, {})
    project.commit("tables", **{"perf.toml": JOB + LOOSE})
    assert judged_by(perf, *commits, code=0)["rules"] == "working tree"


def job(text: str) -> str:
    return f'[[job]]\nname = "sort"\n{text}\n'


ATTACKS = {
    "removes the job": ('[[job]]\ncmd = "true"\n', "job sort removed; new job true"),
    "renames the job": (
        '[[job]]\nname = "other"\ncmd = "sh bench/sort.sh"\n',
        "job sort removed; new job other",
    ),
    "takes its history": (
        '[[job]]\nname = "new"\nformerly = ["sort"]\ncmd = "true"\n',
        "job sort removed; new job new",
    ),
    "runs another command": (job('cmd = "true"'), "job sort: cmd"),
    "executes it once": (f"{JOB}executions = 1\n", "job sort: executions 1"),
    "ends it early": (f'{JOB}timeout = "1ms"\n', "job sort: timeout 1ms"),
    "measures something else": (f'{JOB}collectors = ["memory"]\n', "job sort: collectors"),
    "sets a variable": (f'{JOB}env = {{ FAST = "1" }}\n', "job sort: env"),
    "builds otherwise": (f'build = ["cp fast work"]\n{JOB}', "build"),
    "lays files over both": (f'overlay = ["fast/"]\n{JOB}', "overlay"),
    "pins it elsewhere": (f'{JOB}[knobs]\npin = "none"\n', "knobs"),
    "sends it elsewhere": (f'{JOB}[hosts]\nssh = ["evil"]\n', "hosts"),
    "hides files": (f'{JOB}[dirty]\nignore = ["*"]\n', "dirty"),
    "raises delta": (JOB + LOOSE, "new [[check]] delta 1000%, ignored"),
    "settles all": (f'{JOB}[[check]]\nwithin = "1000%"\n', "new [[check]] within 1000%, ignored"),
    "asks a blind method": (
        f'{JOB}[[check]]\nmethod = "visual"\n',
        "new [[check]] method visual, ignored",
    ),
}


@pytest.mark.parametrize(("after", "words"), ATTACKS.values(), ids=ATTACKS)
def test_what_a_change_does_to_perf_toml_is_said_and_does_not_help_it(
    project: Project, perf: Perf, after: str, words: str
) -> None:
    commits = changed(project, {"perf.toml": JOB}, {"perf.toml": after})
    # what the working tree has now decides about nothing that is committed
    project.write("perf.toml", JOB)
    project.commit("back again")
    said = flat(perf("check", *commits, code=3))
    assert f"This change also changes how it is judged: perf.toml ({words}" in said


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        (
            f'{JOB}{LOOSE}[[check]]\njob = "x"\n',
            f'{JOB}[[check]]\njob = "x"\n{LOOSE}',
            "perf.toml (the order of the [[check]] tables, ignored)",
        ),
        (
            f'{JOB}[[check]]\ndelta = "5%"\n',
            f'{JOB}[[check]]\ndelta = "9%"\n',
            "perf.toml ([[check]] delta 5% -> 9%, ignored)",
        ),
        (f"{JOB}{LOOSE}", JOB, "perf.toml (without [[check]] delta 1000%, ignored)"),
        (
            f'check_rules = "all"\n{JOB}',
            JOB,
            "perf.toml (the order of the [[check]] tables, ignored)",
        ),
        (
            f"{JOB}executions = 10\nwarmup = 1\n",
            f"{JOB}executions = 1\n",
            "perf.toml (job sort: executions 10 -> 1, no warmup)",
        ),
        (JOB + JOB, JOB, "perf.toml (job sort: others of that name)"),
        (
            JOB,
            "".join(f"{JOB}\n" if not n else f'[[job]]\ncmd = "c{n}"\n' for n in range(9)),
            "perf.toml (new job c1; new job c2; new job c3; new job c4; 4 more)",
        ),
        (
            JOB,
            "".join(f'[[job]]\ncmd = "c{n}"\n' for n in range(9)),
            "perf.toml (job sort removed; new job c0; new job c1; new job c2; 6 more)",
        ),
        (JOB, "# nothing else\n" + JOB, None),
        (JOB, JOB.replace("\n", "\r\n"), None),
    ],
)
def test_differences_of_perf_toml_are_named(
    project: Project, perf: Perf, before: str, after: str, words: str | None
) -> None:
    changed(project, {"perf.toml": before}, {"perf.toml": after})
    assert judged_by(perf, code=0 if LOOSE in before else 3)["differences"] == (
        [words] if words else []
    )


def test_a_perf_toml_that_cannot_be_read_is_named(project: Project, perf: Perf) -> None:
    commits = changed(project, {"perf.toml": JOB}, {"perf.toml": "[[job]\n"})
    project.commit("mended", **{"perf.toml": JOB})
    (said,) = judged_by(perf, *commits)["differences"]  # type: ignore[misc]
    assert said.startswith("perf.toml (cannot be used: ")


@pytest.mark.parametrize(
    ("to", "words"),
    [
        ("ci/perf.toml", "perf.toml (a link; new [[check]] delta 1000%, ignored)"),
        ("/dev/zero", "perf.toml (cannot be used: it is a link out of the project)"),
        ("nowhere", "perf.toml (cannot be used: it is a link to nothing)"),
        ("perf.toml", "perf.toml (cannot be used: it is a link to itself)"),
        ("ci", "perf.toml (cannot be used: it is not a file)"),
    ],
)
def test_a_perf_toml_that_becomes_a_link_is_named(
    project: Project, perf: Perf, to: str, words: str
) -> None:
    base = project.commit("base", **{"perf.toml": JOB, "work.py": "1"})
    project.write("ci/perf.toml", JOB + LOOSE)
    (project.root / "perf.toml").unlink()
    (project.root / "perf.toml").symlink_to(to)
    change = project.commit("change", **{"work.py": "2"})
    store = Repository.find(create=True).store
    store.add(interleaved([base, change], [noisy(0.01, seed=1), noisy(0.06, seed=2)]), "test")
    (project.root / "perf.toml").unlink()
    project.commit("mended", **{"perf.toml": JOB})
    assert judged_by(perf, base, change)["differences"] == [words]


def test_what_a_link_leads_to_is_read_and_compared(project: Project, perf: Perf) -> None:
    project.write("ci/perf.toml", JOB)
    (project.root / "perf.toml").symlink_to("ci/perf.toml")
    changed(project, {}, {"ci/perf.toml": JOB + LOOSE})
    assert judged_by(perf)["differences"] == ["perf.toml (new [[check]] delta 1000%, ignored)"]


FILES = {
    "overlay": ({"overlay": "lib"}, "lib/deep/a.py", "the overlay lib/deep/a.py"),
    "benchmark": ({}, "bench/sort.sh", "the benchmark bench/sort.sh"),
    "beside": ({}, "benchmarks/common.py", "the benchmark benchmarks/common.py"),
    "called": ({}, "src/sort_bench.rs", "the benchmark src/sort_bench.rs"),
    "named": ({"cmd": "python3 tools/run.py"}, "tools/run.py", "the benchmark tools/run.py"),
    "module": ({"cmd": "python3 -m pkg.run"}, "pkg/run.py", "the benchmark pkg/run.py"),
    "build": ({"build": "sh make.sh"}, "make.sh", "the benchmark make.sh"),
    "workload": ({"workloads": "data/"}, "data/1k.txt", "the workload data/1k.txt"),
    "test": ({"cmd": "python3 -m pytest"}, "tests/test_a.py", "the test tests/test_a.py"),
    "collector": ({"collectors": "pytest"}, "tests/test_a.py", "the test tests/test_a.py"),
    "service": ({}, ".github/workflows/perf.yml", "the service's job .github/workflows/perf.yml"),
}


def settings(cmd: str = "sh bench/sort.sh", build: str = "", overlay: str = "", **job: str) -> str:
    lists = "".join(
        f"{key} = [{value!r}]\n"
        for key, value in {"build": build, "overlay": overlay}.items()
        if value
    )
    return f"{lists}[[job]]\nname = 'sort'\ncmd = '{cmd}'\n" + "".join(
        f"{key} = ['{value}']\n" for key, value in job.items()
    )


@pytest.mark.parametrize(("about", "path", "words"), FILES.values(), ids=FILES)
def test_a_file_that_measures_is_named_if_it_differs(
    project: Project, perf: Perf, about: dict[str, str], path: str, words: str
) -> None:
    config = {"perf.toml": settings(**about)}
    changed(project, {**config, path: "sleep 1"}, {**config, path: "exit 0"})
    for form in FORMS:
        assert f"This change also changes how it is judged: {words}" in flat(
            perf("check", *form, code=3)
        )


CONFIG = {"cmd": "sh bench/run.sh"}
LINKED = {  # settings, links, the file that does less, what is said
    "overlay": (
        {**CONFIG, "overlay": "bench"},
        {"bench": "shared"},
        "shared/n.py",
        "the overlay shared/n.py",
    ),
    "its parent": (
        {**CONFIG, "overlay": "bench/a"},
        {"bench": "shared"},
        "shared/a/n.py",
        "the overlay shared/a/n.py",
    ),
    "link to a link": (
        {**CONFIG, "overlay": "ov.h"},
        {"ov.h": "real/../to/n.h", "to": "real"},
        "real/n.h",
        "the overlay real/n.h",
    ),
    "in the overlay": (
        {**CONFIG, "overlay": "tools"},
        {"tools/n.py": "../lib/n.py"},
        "lib/n.py",
        "the benchmark lib/n.py",
    ),
    "folder in it": (
        {**CONFIG, "overlay": "tools"},
        {"tools/n": "../lib/n"},
        "lib/n/m.py",
        "the benchmark lib/n/m.py",
    ),
    "benchmark": (
        CONFIG,
        {"bench/run.c": "../src/impl.c"},
        "src/impl.c",
        "the benchmark src/impl.c",
    ),
    "called so": (CONFIG, {"benchmarks": "shared"}, "shared/n.py", "the benchmark shared/n.py"),
    "workload": (
        {**CONFIG, "workloads": "d.txt"},
        {"d.txt": "data/d.txt"},
        "data/d.txt",
        "the workload data/d.txt",
    ),
    "in a workload": (
        {**CONFIG, "workloads": "in"},
        {"in/d.txt": "../data/d.txt"},
        "data/d.txt",
        "the workload data/d.txt",
    ),
    "named": (
        {"cmd": "sh tools/run.sh"},
        {"tools": "scripts"},
        "scripts/run.sh",
        "the benchmark scripts/run.sh",
    ),
    "absolute": (
        {**CONFIG, "overlay": "bench"},
        {"bench": "{root}/shared"},
        "shared/n.py",
        "the overlay shared/n.py",
    ),
    "circles": (
        {**CONFIG, "overlay": "bench"},
        {"bench": "bench/bench", "a": "a", "bench2": "a/.."},
        "overlay/n.py",
        None,
    ),
    "to all of it": (CONFIG, {"bench/root": ".."}, "src/n.py", None),
    "out of it": (
        {**CONFIG, "overlay": "bench"},
        {"bench/out": "../../../shared"},
        "shared/n.py",
        None,
    ),
}


@pytest.mark.parametrize(("about", "links", "path", "words"), LINKED.values(), ids=LINKED)
def test_what_a_link_leads_to_is_named_as_what_the_link_is(
    project: Project, about: dict[str, str], links: dict[str, str], path: str, words: str | None
) -> None:
    for name, to in links.items():
        (project.root / name).parent.mkdir(parents=True, exist_ok=True)
        (project.root / name).symlink_to(to.replace("{root}", str(project.root)))
    project.commit("base", **{"perf.toml": settings(**about), "lib/core.py": "1", path: "20"})
    project.commit("change", **{"lib/core.py": "2", path: "0"})
    assert judged_by_pair("HEAD~1", "HEAD") == ([words] if words else [])


def test_a_link_that_is_changed_leads_to_both_places(project: Project) -> None:
    (project.root / "bench").symlink_to("shared")
    files = {"shared/n.py": "1", "easy/n.py": "1", "lib/core.py": "1"}
    project.commit("base", **{"perf.toml": settings(**CONFIG, overlay="bench"), **files})
    (project.root / "bench").unlink()
    (project.root / "bench").symlink_to("easy")
    project.commit("change", **dict.fromkeys(files, "2"))
    assert judged_by_pair("HEAD~1", "HEAD") == ["the overlay bench and 2 more files"]


def test_links_that_lead_to_more_places_than_anybody_needs_are_named_and_end_soon() -> None:
    """Of the forty links on each way every one leads to two places."""
    links = Links([("bench/a", "a/b"), ("bench/a", "../bench/a/c")])
    found = of_files({"overlay": ["bench/a"]}, {}, [ChangedFile("bench/x", "M", "")], links)
    assert named(found) == ["links (too many to follow)", "the benchmark bench/x"]


@pytest.mark.parametrize("prose", ["README.md", "docs/guide.rst", "CHANGES", "doc/Copying.txt"])
def test_a_source_that_a_build_names_is_the_program_itself_also_beside_prose(prose: str) -> None:
    made = {"build": ["gcc -o test tests.c lib.c"], "job": [{"cmd": "./test"}]}
    source, other = ChangedFile("lib.c", "M", ""), ChangedFile("more.c", "M", "")
    assert of_files(made, made, [source, ChangedFile(prose, "M", "")]) == []
    assert named(of_files(made, made, [source, other])) == ["the benchmark lib.c"]
    asked = made | {"job": [{"cmd": f"./test {prose}"}]}
    (difference,) = of_files(asked, asked, [source, ChangedFile(prose, "M", "")])
    assert sorted(difference.files) == sorted(["lib.c", prose]), "where a command reads it"


def test_a_submodule_with_the_overlay_in_it_is_named() -> None:
    files = [ChangedFile("vendor/suite", "M", "160000"), ChangedFile("lib.c", "M", "")]
    assert named(of_files({"overlay": ["vendor/suite/bench"]}, {}, files)) == [
        "the overlay vendor/suite"
    ]


def test_by_what_git_writes_a_checkout_is_named(project: Project) -> None:
    """It can give the files of the overlay, of workloads and of benchmarks another content."""
    project.commit("base", **{"perf.toml": settings(), "data/d.txt": "1", "lib/core.py": "1"})
    attributes = {".gitattributes": "data/d.txt text eol=crlf\n"}
    project.commit("change", **{**attributes, "lib/core.py": "2"})
    assert judged_by_pair("HEAD~1", "HEAD") == ["the checkout's .gitattributes"]


READ = {
    "make": ({"cmd": "make -s bench"}, "Makefile"),
    "make in a folder": ({"cmd": "sh x.sh", "build": "make -C tools all"}, "tools/rules.mk"),
    "a named Makefile": ({"cmd": "make -fbuild/other"}, "build/other"),
    "cmake": ({"cmd": "ctest --test-dir build"}, "cpp/CMakeLists.txt"),
    "npm": ({"cmd": "npm run bench"}, "package.json"),
    "npm's settings": ({"cmd": "npm run bench"}, ".npmrc"),
    "cargo": ({"cmd": "cargo run --release"}, "Cargo.toml"),
    "pytest.ini": ({"cmd": "python3 -m pytest tests"}, "pytest.ini"),
    "pyproject": ({"collectors": "pytest"}, "pyproject.toml"),
    "compiled": ({"cmd": "python3 bench/run.py"}, "bench/__pycache__/n.cpython-311.pyc"),
    "behind =": ({"cmd": "./run --conf=conf.ini"}, "conf.ini"),
    "behind @": ({"cmd": "cc @args/run.rsp"}, "args/run.rsp"),
    "in a list": ({"cmd": "./run --with a.ini,b.ini"}, "b.ini"),
    "of a shell": ({"cmd": 'sh -c "cd tools && ./run <in.txt"'}, "tools/in.txt"),
    "of an option": ({"cmd": "go -C tools run x.go"}, "tools/x.go"),
    "of a workload": ({"cmd": "./run data/{workload}.txt", "workloads": "big"}, "data/big.txt"),
    "a folder's program": ({"cmd": "python3 tools"}, "tools/__main__.py"),
}


@pytest.mark.parametrize("fresh", [False, True])
@pytest.mark.parametrize(("about", "path"), READ.values(), ids=READ)
def test_what_a_command_reads_by_its_own_rules_belongs_to_the_benchmark(
    project: Project, about: dict[str, str], path: str, fresh: bool
) -> None:
    project.commit(
        "base",
        **{"perf.toml": settings(**about), "lib/core.py": "1", **({} if fresh else {path: "1"})},
    )
    project.commit("change", **{"lib/core.py": "2", path: "true"})
    assert judged_by_pair("HEAD~1", "HEAD") == [f"the benchmark {path}"]


def test_files_of_tools_that_no_command_runs_are_not_named(project: Project) -> None:
    others = (
        "Makefile",
        "package.json",
        "pyproject.toml",
        "Cargo.toml",
        "conf.ini",
        "tests/helpers.py",
    )
    project.commit("base", **{"perf.toml": settings(), **dict.fromkeys(others, "1")})
    project.commit("change", **dict.fromkeys(others, "2"))
    assert judged_by_pair("HEAD~1", "HEAD") == []


@pytest.mark.parametrize("folder", ["tests", "checks"])
def test_what_helps_tests_is_named_with_them(project: Project, folder: str) -> None:
    about = settings(f"python3 -m pytest -q {folder}")
    project.commit("base", **{"perf.toml": about, f"{folder}/helpers.py": "1", "lib/core.py": "1"})
    project.commit(
        "change", **{f"{folder}/helpers.py": "2", f"{folder}/test_new.py": "1", "lib/core.py": "2"}
    )
    assert judged_by_pair("HEAD~1", "HEAD") == [f"the test {folder}/helpers.py"]


def test_of_two_programs_that_a_command_names_one_may_feed_the_other(project: Project) -> None:
    project.commit(
        "base", **{"perf.toml": settings("./run --conf=conf.ini"), "run": "1", "conf.ini": "1"}
    )
    project.commit("change", **{"run": "2", "conf.ini": "2"})
    assert judged_by_pair("HEAD~1", "HEAD") == ["the benchmark conf.ini and 1 more file"]


def test_what_is_new_or_ignored_does_not_hide_the_rest(project: Project, perf: Perf) -> None:
    config = f'overlay = ["lib"]\nbuild = ["true"]\n{JOB}'
    empty = {f"bench/{name}.c": "" for name in "abcd"}
    tables = "".join(f'[[check]]\njob = "{name}"\ndelta = "9%"\n' for name in "abcd")
    commits = changed(
        project,
        {"perf.toml": JOB, "bench/run.c": "1", "bench/z.c": "1"},
        {"perf.toml": config + tables, "bench/run.c": "", **empty},
    )
    short = (
        "perf.toml (build, overlay; new [[check]] job a, delta 9%, ignored; new [[check]] job b,"
        " delta 9%, ignored; "
    )
    assert (
        f"{short}new [[check]] job c, delta 9%, ignored; 1 more), the benchmark bench/run.c and 5"
        " more files" in flat(perf("check", *commits, code=3))
    )
    document = perf("check", "--json", code=3).document["judged_by"]["differences"]
    files = ["bench/run.c", "bench/z.c", *empty]
    rules = [f"new [[check]] job {name}, delta 9%, ignored" for name in "abcd"]
    assert document == [
        {"what": "perf.toml", "parts": ["build, overlay", *rules], "files": [], "more": 0},
        {"what": "the benchmark", "parts": [], "files": files, "more": 0},
    ]
    said = flat(perf("check", "-v", code=3))
    assert f"{rules[-1]}), the benchmark {' and '.join(files)}" in said


def test_a_new_module_that_python_would_take_for_one_of_the_benchmark_is_named(
    project: Project, perf: Perf
) -> None:
    before = {"perf.toml": JOB, "benchdata.py": "import random\n", "lib.py": "\n"}
    for path, is_named in (
        ("benchdata/__init__.py", True),
        ("random.py", True),
        ("tomllib.py", True),
        ("lib/__init__.py", False),
    ):
        commits = changed(project, before, {path: "\n"})
        assert (f"the stand-in {path}" in flat(perf("check", *commits, code=None))) == is_named
        (project.root / path).unlink()
        project.commit("back again")


def test_data_that_a_benchmark_finds_in_a_folder_is_named(project: Project, perf: Perf) -> None:
    bench = "import glob\nfor name in glob.glob('cases/*'): open(name)\n"
    before = {"perf.toml": JOB, "benchdata.py": bench, "cases/a.txt": "1\n", "other/a.txt": "1\n"}
    changes = {"cases/a.txt": "2\n", "cases/b.txt": "2\n", "other/a.txt": "2\n"}
    said = flat(perf("check", *changed(project, before, changes), code=None))
    assert "the stand-in cases/b.txt" in said
    assert "the input cases/a.txt" in said
    assert "other/a.txt" not in said.partition("files differ")[0]


def test_a_new_module_that_is_taken_for_an_installed_one_is_named(
    project: Project, perf: Perf
) -> None:
    before = {
        "perf.toml": settings("python3 -m other.tool"),
        "benchdata.py": "import os, random as r; import numpy.linalg\nfrom lib import x\n",
        "lib.py": "\n",
        "src/own.py": "\n",
        "test_own.py": "import own\nimport tests.data\n",
        "tests/data.py": "\n",
    }
    named = ("numpy/__init__.py", "other.py", "random.py")
    others = ("lib/__init__.py", "new.py", "own.py", "r.py", "tests/more.py")
    commits = changed(project, before, dict.fromkeys((*named, *others), "\n"))
    document = perf("check", "--json", *commits, code=None).document
    files = {one["what"]: one["files"] for one in document["judged_by"]["differences"]}
    assert files["the stand-in"] == list(named)


def test_a_new_module_that_is_taken_for_one_of_pythons_own_is_named(
    project: Project, perf: Perf
) -> None:
    """Wherever Python looks for it, whoever imports it."""
    before = {
        "perf.toml": settings('sh -c "python3 tools/run.py"')
        + 'env = {PYTHONPATH = "./own:deps"}\n',
        "tools/run.py": "import lib\n",
        "lib.py": "import csv\n",
    }
    named = (
        "bisect/__init__.py",
        "bisect/more.py",
        "deps/sitecustomize.py",
        "own/heapq.cpython-311-x86_64-linux-gnu.so",
        "src/csv.py",
        "tools/random.py",
    )
    others = ("calendar/more.py", "lib/random.py", "other/csv.py", "own/new.py", "sys.py")
    commits = [project.commit("base", **before)]
    (project.root / "textwrap").symlink_to("lib")
    commits.append(project.commit("change", **dict.fromkeys((*named, *others), "\n")))
    walls = [noisy(0.010, seed=1), noisy(0.020, seed=2)]
    Repository.find(create=True).store.add(interleaved(commits, walls), "test")
    document = perf("check", "--json", *commits, code=None).document
    files = {one["what"]: one["files"] for one in document["judged_by"]["differences"]}
    assert files["the stand-in"] == sorted([*named, "textwrap"])


def test_benchmarks_of_a_million_empty_lines_are_searched_at_once(
    project: Project, perf: Perf
) -> None:
    before = {"perf.toml": JOB, "benchdata.py": "import random\n" + "\n" * 900_000 + "x = 1\n"}
    commits = changed(project, before, {"random.py": "\n"})
    began = time.process_time()
    assert "the stand-in random.py" in flat(perf("check", *commits, code=None))
    assert time.process_time() - began < 10


def test_files_that_measure_nothing_are_not_named(project: Project, perf: Perf) -> None:
    config = {
        "perf.toml": settings("python3 -m pytest"),
        "docs/a.md": "1",
        "src/performance.py": "1",
    }
    changed(
        project,
        config,
        {**config, "docs/a.md": "2", "src/performance.py": "2", "tests/test_new.py": "pass"},
    )
    assert judged_by(perf)["differences"] == []


def test_a_program_that_a_command_names_is_not_its_own_judge_where_nothing_else_changed(
    project: Project, perf: Perf
) -> None:
    config = {"perf.toml": settings("python3 work.py")}
    changed(project, config, config)
    assert judged_by(perf)["differences"] == []
    project.commit("both", **{"work.py": "3", "lib.py": "3"})
    assert judged_by_pair("HEAD~1", "HEAD") == ["the benchmark work.py"]


def judged_by_pair(*names: str) -> list[str]:
    repository = Repository.find(create=True)
    return named(repository.criteria(*map(repository.state, names)).judged_by.differences)


def test_of_many_files_one_is_named_and_the_others_are_counted(
    project: Project, perf: Perf
) -> None:
    config = {"perf.toml": JOB}
    files = {f"bench/{number}.py": "1" for number in range(30)}
    changed(project, config | files, config | dict.fromkeys(files, "2"))
    assert judged_by(perf)["differences"] == ["the benchmark bench/0.py and 29 more files"]


def test_uncommitted_files_are_named_where_they_are_the_target(
    project: Project, perf: Perf, tmp_path: Path
) -> None:
    runs = f'env = {{ RUNS = "{tmp_path}/runs" }}\n'
    script = 'printf \'{"uid": "a", "wall": 0.1%s}\\n\' $(($$ % 10)) >> "$PERFVCS_SAMPLES"\n'
    project.commit(
        "base", **{"perf.toml": runs + JOB, "bench/sort.sh": script, "bench/__pycache__/a.pyc": "1"}
    )
    project.write("bench/sort.sh", script.replace("0.1", "0.9"))
    project.write("bench/__pycache__/a.pyc", "2")
    project.write("perf.toml", f"{runs}{JOB}warmup = 0\n")
    said = flat(perf("check", "--measure", "-n", "2", "-q", code=None))
    assert said.endswith("judged: perf.toml (job sort: warmup 0), the benchmark bench/sort.sh")


@pytest.mark.parametrize("part", ["blob:none", "tree:0"])
def test_in_a_partial_clone_whose_remote_is_gone_a_check_says_what_it_cannot_see(
    project: Project, perf: Perf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, part: str
) -> None:
    commits = changed(project, {"perf.toml": JOB}, {"perf.toml": JOB + LOOSE})
    profiles = list(Repository.find().store.read_many(Repository.find().store.paths(commits[0])))
    profiles += Repository.find().store.read_many(Repository.find().store.paths(commits[1]))
    project.git("config", "uploadpack.allowFilter", "true")
    project.git(
        "clone",
        "--quiet",
        "--no-checkout",
        f"--filter={part}",
        f"file://{project.root}",
        str(tmp_path / "clone"),
    )
    project.root.rename(tmp_path / "gone")
    monkeypatch.chdir(tmp_path / "clone")
    Repository.find(create=True).store.add([profile for _, profile in profiles], "test")
    assert "git does not have" in flat(perf("check", "-q", *commits, "--delta", "1", code=3))


@pytest.mark.slow
def test_a_hostile_perf_toml_is_compared_within_bounds() -> None:
    """Each with each, or split as a shell does, these would take minutes to hours; the number is
    one that Python refuses to write.
    """
    many = {"check": [{"job": f"{number}"} for number in range(100_000)]}
    others = {"check": [{"job": f"x{number}"} for number in range(100_000)]}
    assert of_settings(many, others, ignored=True) == ["[[check]] tables, ignored"]
    number = {"job": [{"cmd": "true", "executions": 1 << 100_000, "name": 1 << 100_000}]}
    assert of_settings({"job": [{"cmd": "true"}]}, number, ignored=False) == [
        "job true: executions, name"
    ]
    entries = {
        "overlay": [f"e{number}" for number in range(50_000)],
        "job": [{"cmd": "a " * 400_000}],
    }
    files = [ChangedFile(f"{number}/" + "a/" * 2000, "M", "") for number in range(2000)]
    assert of_files(entries, entries, [*files, ChangedFile("e7/x", "M", "")]) == [
        Difference(what="the overlay", files=["e7/x"])
    ]


def accepting(project: Project, effect: float = 6.0, slower: float = 5.9) -> list[str]:
    """A change that accepts its own degradation, in a commit of its own as it is documented."""
    base, change = changed(project, {"perf.toml": JOB}, {"perf.toml": JOB}, slower)
    texts = [
        ACCEPTED.format(metric=metric, effect=effect, baseline=base, target=change).replace(
            "abcdef1", f"abcdef{place}"
        )
        for place, metric in enumerate(("wall", "cpu"))
    ]
    tip = project.commit("accept", **{"perf-accepted.toml": "".join(texts)})
    store = Repository.find().store
    store.add(
        interleaved(
            [base, tip],
            [noisy(0.01, seed=1), noisy(0.01 * slower, seed=2)],
            session="20261121T093000-abcdef",
        ),
        "test",
    )
    return [base, tip]


@pytest.mark.parametrize("form", FORMS[:2] + FORMS[3:])
def test_what_a_change_accepts_by_itself_is_honoured_and_said_first(
    project: Project, perf: Perf, form: tuple[str, ...]
) -> None:
    base, tip = accepting(project)
    said = flat(perf("check", *form, base, tip, code=0))
    assert (
        "this change accepts 2 degradations of its own (sort: wall time +600 %, ...); nothing"
        " changed beyond" in said
    )


def test_a_wide_acceptance_says_how_wide_it_is(project: Project, perf: Perf) -> None:
    base, tip = accepting(project, effect=1e6)
    assert "(sort: wall time +1e8 %" in flat(perf("check", base, tip, code=0))


def test_beyond_what_it_accepts_itself_a_change_fails(project: Project, perf: Perf) -> None:
    base, tip = accepting(project, effect=1.0)
    assert "accepts 2 degradations of its own" in flat(perf("check", base, tip, code=3))


def test_what_was_accepted_before_is_not_the_changes_own(project: Project, perf: Perf) -> None:
    accepting(project)
    tip = Repository.find().project.head or ""
    later = project.commit("later", **{"work.py": "3"})
    store = Repository.find().store
    store.add(
        interleaved(
            [tip, later],
            [noisy(0.01, seed=1), noisy(0.01, seed=2)],
            session="20261122T093000-abcdef",
        ),
        "test",
    )
    found = judged_by(perf, tip, later, code=0)
    assert (found["accepts"], found["differences"]) == ([], [])


def test_what_is_accepted_of_an_earlier_change_is_not_its_own(project: Project) -> None:
    base, change = changed(project, {"perf.toml": JOB}, {"perf.toml": JOB})
    project.commit(
        "accept",
        **{
            "perf-accepted.toml": ACCEPTED.format(
                metric="wall", effect=9.0, baseline=base, target=change
            )
        },
    )
    repository = Repository.find()
    by = repository.criteria(*map(repository.state, (change, "HEAD"))).judged_by
    assert (by.accepts, named(by.differences)) == (
        [],
        ["perf-accepted.toml (1 acceptance of other changes)"],
    )
    by = repository.criteria(*map(repository.state, (base, "HEAD"))).judged_by
    assert (by.accepts, named(by.differences)) == (["sort: wall time +900 %"], [])


def test_withdrawn_acceptances_and_a_damaged_register_are_named(
    project: Project, perf: Perf
) -> None:
    accepting(project)
    project.commit("withdrawn", **{"perf-accepted.toml": ""})
    assert judged_by_pair("HEAD~1", "HEAD") == ["perf-accepted.toml (2 acceptances withdrawn)"]
    project.commit("damaged", **{"perf-accepted.toml": "x = 1"})
    (said,) = judged_by_pair("HEAD~1", "HEAD")
    assert said.startswith(
        "perf-accepted.toml (cannot be used: perf-accepted.toml: x is not an acceptance"
    )
    assert "x is not an acceptance" in perf("check", code=2).err


def test_names_from_a_change_are_text(project: Project, perf: Perf) -> None:
    hostile = '[[job]]\nname = "<img src=x> @ada [a](http://b) \\u001b[31m | `c`"\ncmd = "true"\n'
    changed(project, {"perf.toml": JOB}, {"perf.toml": JOB + hostile})
    assert "\x1b" not in perf("check", code=3).out
    markdown = perf("check", "--markdown", code=3).out
    assert "<img" not in markdown.replace("\\<img", "")
    assert "[a](" not in markdown


def test_a_history_judges_each_pair_as_a_check_does(project: Project, perf: Perf) -> None:
    base, change = changed(project, {"perf.toml": JOB}, {"perf.toml": JOB + LOOSE})
    last = project.commit("slower still", **{"work.py": "3"})
    store = Repository.find().store
    store.add(
        interleaved(
            [change, last],
            [noisy(0.059, seed=2), noisy(0.3, seed=3)],
            session="20261121T093000-abcdef",
        ),
        "test",
    )
    perf("check", base, change, code=3)
    assert "+408" in perf("check", change, last, code=0).out
    assert perf("check", "HEAD~2..HEAD", "-v", code=3).out.count("how it is judged") == 1
    from perfvcs.history.verdict import CommitPair, Verdicts

    repository = Repository.find()
    environment = next(iter(repository.index.lines().values())).environment.fingerprint
    pairs = [CommitPair(base, change, environment), CommitPair(change, last, environment)]
    found = Verdicts(repository, [base, change, last]).of(pairs)
    assert [{one.word for one in found[pair].values()} for pair in pairs] == [
        {"degradation"},
        {"same"},
    ]
