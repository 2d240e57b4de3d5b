"""`perf process`: postprocessors applied to what is stored already."""

from __future__ import annotations

import hashlib
import json
import subprocess
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Literal

import msgspec
import numpy as np
import pytest
from conftest import Perf, Project
from samples import noisy, sample_profile

from perfvcs.commands.process import _option, _value
from perfvcs.postprocessors import _entries
from perfvcs.postprocessors.regression import Regression
from perfvcs.profile import Collected, Environment, Job, Metric, Profile, Resources, Stacks
from perfvcs.profile.decoding import decode
from perfvcs.profile.fittedmodels import RegressionEntry
from perfvcs.profile.workloads import joined
from perfvcs.reports.process import equation, process
from perfvcs.repository import Repository

CALLS = Job(name="calls", collector="complexity", cmd="./calls")


def sized(commit: str, seed: int = 1) -> Profile:
    """Calls of a linear and a flat function."""
    random = np.random.default_rng(seed)
    size, uid = random.integers(1, 1000, 400).astype(float), np.arange(400) % 2
    value = np.where(uid == 0, 1e-6 + 1e-8 * size, 3e-6) * np.exp(
        0.02 * random.standard_normal(400)
    )
    rows = Resources(
        names=["List.insert", "List.size"],
        uid=uid.tolist(),
        execution=(np.arange(400) % 5).tolist(),
        size=size.tolist(),
        metrics={"duration": value.tolist()},
    )
    return sample_profile(
        commit=commit, job=CALLS, resources=rows, metrics={"duration": Metric("s")}
    )


@pytest.fixture
def commit(project: Project) -> str:
    """A commit with a profile that has sizes."""

    def make() -> str:
        head = project.commit()
        Repository.find(create=True).store.add([sized(head)], "test")
        return head

    return project.begin("a profile with sizes", make)


def stored() -> dict[str, Profile]:
    store = Repository.find().store
    return dict(store.read_many(store.paths()))


def test_a_new_version_takes_the_place_of_the_old_one(commit: str, perf: Perf) -> None:
    [(before, old)] = stored().items()
    document = Repository.find().store.raw(before)
    said = perf("process", "HEAD", "regression")
    assert said.out.splitlines() == [
        f"{commit[:10]} calls",
        "  List.insert                duration     O(n)         r² 0.999",
        f"    {equation(Regression().apply(old).models[2], 's')}",
        "  List.size                  duration     O(1)",
        f"    {equation(Regression().apply(old).models[11], 's')}",
        "stored 1 new version",
    ]
    [(after, new)] = stored().items()
    assert after != before
    assert new.origin == hashlib.sha256(document).hexdigest()
    assert msgspec.structs.replace(new, origin=None) == Regression().apply(old)


def test_the_history_of_the_store_keeps_the_old_version(
    commit: str, perf: Perf, project: Project
) -> None:
    [before] = stored()
    document = Repository.find().store.raw(before)
    perf("process", "HEAD", "regression")
    git = ["git", f"--git-dir={project.root / '.perf' / 'store'}"]
    subjects = subprocess.run(
        [*git, "log", "--format=%s"], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    assert subjects == ["Process HEAD: regression", "test", "Create the store"]
    kept = subprocess.run(
        [*git, "show", f"main~1:{before}"], capture_output=True, check=True
    ).stdout
    assert kept == document
    assert commit in before


@pytest.mark.usefixtures("commit")
def test_the_same_again_changes_nothing(perf: Perf) -> None:
    perf("process", "HEAD", "regression")
    repository = Repository.find()
    paths, head = repository.store.paths(), repository.store.head()
    said = perf("process", "HEAD", "regression")
    assert "calls  unchanged" in said.out
    assert said.out.endswith("stored 0 new versions\n")
    assert (repository.store.paths(), repository.store.head()) == (paths, head)


@pytest.mark.usefixtures("commit")
def test_the_origin_is_the_first_version_however_many_follow(perf: Perf) -> None:
    perf("process", "HEAD", "regression")
    [first] = stored().values()
    perf("process", "HEAD", "regression", "--strategy", "interval")
    perf("process", "HEAD", "normalizer")
    [last] = stored().values()
    assert last.origin == first.origin
    assert [done.name for done in last.postprocessors] == ["regression", "normalizer"]


def test_a_processed_profile_is_counted_once_and_is_the_same_as_before(
    commit: str, perf: Perf, project: Project
) -> None:
    target = project.commit()
    Repository.find().store.add([sized(target, seed=2)], "test")
    before = perf("check", commit, target, code=None)
    perf("process", commit, "regression")
    assert perf("check", commit, target, code=None) == before
    assert "1 profile" in perf("log", commit).out
    assert perf("fsck").out.startswith("2 profiles can be read, all intact")


def test_profiles_without_what_is_needed_stay_as_they_are(commit: str, perf: Perf) -> None:
    Repository.find().store.add([sample_profile(noisy(0.01), commit=commit)], "test")
    said = perf("process", "HEAD", "regression")
    assert "stored 1 new version" in said.out
    assert "note: left as it is: sort has no sizes" in said.err
    assert "sort has no sizes" in perf("process", "HEAD", "regression", "-j", "sort", code=2).err
    assert sorted(profile.origin is None for profile in stored().values()) == [False, True]


def test_one_profile_is_named_by_its_path_or_id(commit: str, perf: Perf) -> None:
    Repository.find().store.add([sized(commit, seed=2)], "test")
    first, second = Repository.find().store.paths()
    perf("process", first, "regression")
    assert second in stored()
    perf("process", second.rpartition("-")[2].removesuffix(".json"), "regression")
    assert all(profile.origin for profile in stored().values())


@pytest.mark.usefixtures("commit")
def test_all_that_was_found_is_there_as_json(perf: Perf) -> None:
    [found] = perf("process", "HEAD", "regression", "--keep", "best", "--json").document
    [(path, profile)] = stored().items()
    assert found["after"] == path
    assert found["models"] == json.loads(profile.encode())["models"]
    assert found["changed"] is True


@pytest.mark.usefixtures("commit")
def test_options_are_those_of_the_postprocessor(perf: Perf) -> None:
    perf(
        "process",
        "HEAD",
        "regression",
        "--strategy",
        "interval",
        "--steps",
        "2",
        "--models",
        "linear,power",
        "--models=cubic",
        "--keep=best",
    )
    [profile] = stored().values()
    assert profile.postprocessors[0].params["models"] == ["linear", "power", "cubic"]
    assert [entry.uid for entry in profile.models] == ["List.insert"] * 2 + ["List.size"] * 2
    perf("process", "HEAD", "regression", "--models", "all")
    [profile] = stored().values()
    assert profile.postprocessors[0].params["models"] == "all"


@pytest.mark.usefixtures("commit")
def test_ranges_are_reported_where_a_unit_has_several(perf: Perf) -> None:
    said = perf("process", "HEAD", "regression", "--strategy", "interval", "--steps", "2").out
    assert "500: " in said or "499: " in said or "501: " in said
    assert max(map(len, said.splitlines())) <= 80


@pytest.mark.usefixtures("commit")
def test_columns_and_points_are_reported(perf: Perf) -> None:
    assert "  column duration.normalized\n" in perf("process", "HEAD", "normalizer").out
    assert (
        "  List.insert                duration         400 rows"
        not in perf("process", "HEAD", "regressogram").out
    )
    assert (
        "  List.insert                duration         200 rows  r² 0.9"
        in perf("process", "HEAD", "regressogram").out
    )


def test_one_size_makes_no_order_of_growth(commit: str, perf: Perf) -> None:
    profile = sized(commit)
    profile.resources.size = [7.0] * 400
    Repository.find().store.add([profile], "test")
    assert perf("process", "HEAD", "regression").out.count(" one size\n") == 2


def test_a_unit_without_a_model_says_why(commit: str, perf: Perf) -> None:
    profile = sized(commit)
    profile.resources.size = [7.0] * 400
    Repository.find().store.add([profile], "test")
    assert (
        "no model: all rows have one size"
        in perf("process", "HEAD", "regression", "--models", "linear").out
    )


@pytest.mark.parametrize(
    ("arguments", "cure"),
    [
        (("HEAD",), "there are: bootstrap"),
        (("HEAD", "regresion"), "did you mean `regression`"),
        (("HEAD", "regression", "--strategy", "ful"), "did you mean `full`"),
        (("HEAD", "regression", "--models", "linaer"), "did you mean `linear`"),
        (("HEAD", "regression", "--steps", "many"), "--steps is `many`: give a whole number"),
        (("HEAD", "bootstrap", "--share", "most"), "--share is `most`: give a number"),
        (("HEAD", "regression", "--steps", "0"), "from 1 to 1,000"),
        (("HEAD", "regression", "--stepz", "3"), "--stepz"),
        (("HEAD", "regression", "-o", "x.json"), "perf export"),
        (("nonsense", "regression"), "not a revision"),
        (("none.json", "regression"), "there is no file 'none.json'"),
        (("HEAD", "regression", "-j", "other"), "no job is called `other`; there are: calls"),
    ],
)
@pytest.mark.usefixtures("commit")
def test_what_cannot_be_done_names_the_cure(
    perf: Perf, arguments: tuple[str, ...], cure: str
) -> None:
    said = perf("process", *arguments, code=2)
    assert cure in said.err
    assert said.err.count("\n") == 1


@pytest.mark.usefixtures("commit")
def test_help_is_there_before_and_behind_the_revision(perf: Perf) -> None:
    group = perf("process", "--help").out
    assert "Fits models to values over sizes" in group
    whole = perf("process", "HEAD", "regression", "--help").out
    assert "One of full, iterative, initial-guess, interval, bisection. By" in " ".join(
        whole.split()
    )
    assert perf("process", "regression", "--help").out == whole
    assert "did you mean `regression`" in perf("process", "regresion", "--help", code=2).err
    assert perf("process", "HEAD", "--help").out == group


def test_a_file_is_processed_into_another(project: Project, perf: Perf, tmp_path: Path) -> None:
    file, output = tmp_path / "calls.json", tmp_path / "fitted.json"
    document = sized("a" * 40).encode()
    file.write_bytes(document)
    assert (
        "the result for a file is not stored without -o"
        in perf("process", str(file), "regression").out
    )
    assert f"wrote {output}" in perf("process", str(file), "regression", "-o", str(output)).out
    assert file.read_bytes() == document
    done = decode(output.read_bytes())
    assert done.origin == hashlib.sha256(document).hexdigest()
    assert len(done.models) == 22
    assert not (project.root / ".perf").exists()
    assert (
        "choose another -o"
        in perf(
            "process", str(file), "regression", "-o", str(tmp_path / "no" / "x.json"), code=2
        ).err
    )


def test_a_profile_with_an_origin_goes_through_files(
    commit: str, perf: Perf, tmp_path: Path
) -> None:
    perf("process", "HEAD", "regression")
    [(path, profile)] = stored().items()
    file = tmp_path / "kept.json"
    file.write_bytes(profile.encode())
    perf("rm", commit)
    perf("import", str(file))
    assert stored() == {path: profile}


def test_no_version_of_a_measurement_is_imported_beside_another(
    commit: str, perf: Perf, tmp_path: Path
) -> None:
    raw, fitted, scaled = (str(tmp_path / f"{name}.json") for name in ("raw", "fitted", "scaled"))
    perf("export", "HEAD", "-o", raw)
    perf("process", raw, "regression", "-o", fitted)
    perf("process", fitted, "normalizer", "-o", scaled)
    told = (
        "stored 0 profiles\nleft out {}: the same measurement is stored in another version, see"
        " `perf process`\n"
    )
    assert perf("import", fitted, scaled).out == told.format(2)
    assert perf("import", raw).out == "stored 0 profiles, 1 already stored\n"
    perf("process", "HEAD", "regression")
    assert perf("import", raw, scaled).out == told.format(2)
    assert perf("import", fitted).out == "stored 0 profiles, 1 already stored\n"
    assert len(stored()) == 1
    perf("rm", commit)
    assert perf("import", fitted, raw, fitted).out == told.replace(
        "0 profiles", "1 profile"
    ).format(1)
    assert len(stored()) == 1
    perf("import", raw, "--commit", Project(Path.cwd()).commit())
    assert len(stored()) == 2, "of another commit it is another measurement"


def test_an_origin_is_a_digest() -> None:
    document = sized("a" * 40).encode()
    assert b"origin" not in document, "older documents stay as they are"
    with pytest.raises(Exception, match=r"\$\.origin is not a SHA-256"):
        msgspec.structs.replace(sized("a" * 40), origin="short").encode()
    with pytest.raises(Exception, match=r"\$\.origin is not a SHA-256"):
        decode(document.removesuffix(b"}") + b',"origin":"abc"}')


def _process(place: str, strategy: str) -> None:
    repository = Repository.find(Path(place))
    process(repository, "HEAD", (), Regression(strategy=strategy), "regression")  # type: ignore[arg-type]


@pytest.mark.usefixtures("commit")
def test_two_at_once_leave_one_version(project: Project) -> None:
    context = get_context("spawn")
    running = [
        context.Process(target=_process, args=(str(project.root), strategy))
        for strategy in ("interval", "iterative")
    ]
    for one in running:
        one.start()
    for one in running:
        one.join()
        assert one.exitcode == 0
    [profile] = stored().values()
    assert [done.name for done in profile.postprocessors] == ["regression"]


@pytest.mark.usefixtures("commit")
def test_more_models_than_a_profile_holds_leave_it_as_it_is(
    perf: Perf, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = stored()
    monkeypatch.setattr(_entries, "LARGEST_ENTRIES", 5000)
    assert (
        "5,000 is the most: name fewer metrics" in perf("process", "HEAD", "regression", code=2).err
    )
    assert stored() == before
    perf("process", "HEAD", "regression", "--keep", "best")


@pytest.mark.usefixtures("commit")
def test_hostile_names_are_harmless_on_a_terminal(project: Project, perf: Perf) -> None:
    head = project.commit()
    profile = sized(head)
    rows = profile.resources
    rows.names[0] = "a\x1b[31m\nb" * 30
    Repository.find().store.add([profile], "test")
    said = perf("process", "HEAD", "regression").out
    assert "\x1b" not in said
    assert max(map(len, said.splitlines())) <= 80


def test_a_switch_and_a_list_of_numbers_are_options_too() -> None:
    switch = _option("deep_copy", bool, default=True)
    assert (switch.opts, switch.secondary_opts, switch.help) == (
        ["--deep-copy"],
        ["--no-deep-copy"],
        "By default True.",
    )
    assert _value("deep_copy", False, bool) is False
    assert _value("widths", ("1,2.5", "3"), tuple[float, ...]) == [1.0, 2.5, 3.0]
    assert _value("buckets", "7", int | Literal["auto"]) == 7
    assert _value("buckets", "auto", int | Literal["auto"]) == "auto"


# with a job


def test_a_job_names_what_is_applied_to_its_profiles(project: Project, perf: Perf) -> None:
    project.write("work.sh", "true\n")
    project.configure('cmd = "sh work.sh"\npostprocessors = ["normalizer"]')
    project.commit()
    perf("collect")
    [profile] = stored().values()
    assert "wall.normalized" in profile.metrics
    assert profile.origin is None
    perf("check", "HEAD", "HEAD", code=None)
    perf("log")
    perf("status")
    perf("show", "--no-open")


def test_what_cannot_be_processed_is_stored_all_the_same(project: Project, perf: Perf) -> None:
    project.write("work.sh", "true\n")
    project.configure('cmd = "sh work.sh"\npostprocessors = ["regression"]')
    project.commit()
    said = perf("collect")
    assert "not processed: work has no sizes" in " ".join((said.out + said.err).split())
    [profile] = stored().values()
    assert profile.postprocessors == []


def test_sizes_of_workloads_are_fitted_when_they_are_collected(
    project: Project, perf: Perf
) -> None:
    project.write("work.sh", "true\n")
    project.configure(
        'cmd = "sh work.sh"\nworkloads = [{ integers = [10, 20] }]\npostprocessors = [{ name ='
        ' "regression", models = ["constant"] }]'
    )
    project.commit()
    perf("collect")
    assert all(profile.models[0].model == "constant" for profile in stored().values())


@pytest.mark.parametrize(
    ("entry", "text"),
    [
        ({"model": "constant", "formula": "b0", "coefficients": [2e-6]}, "2 us"),
        (
            {"model": "linear", "formula": "b0 + b1 n", "coefficients": [2e-6, -3e-9]},
            "2 us - 3 ns n",
        ),
        (
            {"model": "linear", "formula": "b0 + b1 n", "coefficients": [-1e-20, 1e-6]},
            "0 s + 1 us n",
        ),
        (
            {"model": "linearithmic", "formula": "b0 + b1 n log n", "coefficients": [-2e-6, 3e-9]},
            "-2 us + 3 ns n log n",
        ),
        (
            {"model": "linearised power", "formula": "b0 n^b1", "coefficients": [2e-6, 1.5]},
            "2 us n^1.5",
        ),
        (
            {
                "model": "full-quadratic",
                "formula": "b0 + b1 n + b2 n^2",
                "coefficients": [2e-6, -3e-9, 1e-9],
            },
            "2 us - 3 ns n + 1 ns n^2",
        ),
        (
            {"model": "exponential", "formula": "b0 b1^n", "coefficients": [2e-6, 1.25]},
            "2 us 1.25^n",
        ),
    ],
)
def test_an_equation_has_units(entry: dict[str, object], text: str) -> None:
    nothing = dict.fromkeys(("order", "r2", "adjusted_r2", "aicc"))
    fitted = RegressionEntry(
        "f",
        "duration",
        "size",
        strategy="full",
        errors=[],
        x=(1.0, 9.0),
        rows=9,
        best=True,
        **nothing,
        **entry,
    )
    assert equation(fitted, "s") == text


def workload(commit: str, n: int, name: str = "", **overrides: Any) -> Profile:
    """The memory of one workload: three executions whose peak is 16 B per element, and a call stack
    that has no judged metric.
    """
    rows = Resources(
        names=["grow", "main"],
        uid=[0, 0, 0, 1],
        execution=[0, 1, 2, 0],
        size=[float(n)] * 4,
        trace=[-1, -1, -1, 0],
        metrics={"peak": [64.0 + 16 * n] * 3 + [None], "site_peak": [None] * 3 + [16.0 * n]},
    )
    source = {name: f"{n:x}"} if name else {}
    job = Job(
        "grow", "memory", "./grow {n}", workload=name or str(n), params={"n": n}, source=source
    )
    metrics = {"peak": Metric("B", kind="deterministic"), "site_peak": Metric("B", "none")}
    fields = {
        "commit": commit,
        "job": job,
        "resources": rows,
        "metrics": metrics,
        "stacks": Stacks(["main"], [[0]]),
    }
    return sample_profile(**(fields | overrides))


def test_models_over_the_sizes_of_workloads_are_printed_and_not_stored(
    project: Project, perf: Perf
) -> None:
    head = project.commit()
    Repository.find(create=True).store.add(
        [workload(head, n) for n in (10, 100, 1000, 2000, 5000)], "test"
    )
    said = perf("process", "HEAD", "regression").out
    assert said.splitlines()[-4:] == [
        f"{head[:10]} grow {{n}}  over 5 workloads, not stored",
        "  grow                       peak         O(n)         r² 1.000",
        "    64 B + 16 B n",
        "stored 5 new versions",
    ]
    assert all(
        entry.x[0] == entry.x[1] for profile in stored().values() for entry in profile.models
    )
    *_, last = perf("process", "HEAD", "regression", "--json").document
    assert (last["workloads"], last["before"], last["after"], last["changed"]) == (5, "", "", False)
    assert next(entry["order"] for entry in last["models"] if entry["best"]) == "O(n)"
    assert "over 5 workloads" in perf("process", "HEAD", "moving-average").out
    assert "workloads" not in perf("process", "HEAD", "normalizer").out
    assert "workloads" not in perf("process", sorted(stored())[0], "regression").out


def test_workloads_are_joined_where_nothing_but_their_size_differs() -> None:
    lengths = {
        "string-1-seed1": 1,
        "string-20-seed1": 20,
        "text-1kB": 1000,
        "text-1KiB": 1024,
        "text-10B": 10,
        "run3.py 3": 3,
    }
    head = "a" * 40
    found = joined([workload(head, n, name) for name, n in lengths.items()])
    assert {one.job.label: one.resources.size for one in found} == {
        "grow string-{n}-seed1": [1.0] * 3 + [20.0] * 3,
        "grow text-{n}": [10.0] * 3 + [1000.0] * 3 + [1024.0] * 3,
    }
    assert found[1].resources.execution == [0, 1, 2] * 3
    assert decode(found[1].encode()).stacks is None
    first, second, other = (
        workload(head, 10),
        workload(head, 20),
        Collected("other", "", "", "perfvcs"),
    )
    for differs in (
        {"commit": "b" * 40},
        {"dirty": "c" * 64},
        {"collected": other},
        {"environment": Environment({}, "ffff")},
    ):
        assert not joined([first, msgspec.structs.replace(second, **differs)]), differs
    assert not joined(
        [
            first,
            msgspec.structs.replace(
                second, job=msgspec.structs.replace(second.job, cmd="./grow -x {n}")
            ),
        ]
    )
    assert not joined([first, first])
    assert not joined([workload(head, 1 << 60), workload(head, 1 << 61)])


def test_units_with_sizes_of_their_own_are_not_joined() -> None:
    profiles = [workload("a" * 40, n) for n in (-5, 20)]
    for profile in profiles:
        profile.resources.size = [profile.resources.size[0], 7.0, 8.0, None]  # type: ignore[index]
    assert joined(profiles) == []
    unsized = [workload("a" * 40, n) for n in (-5, 20)]
    unsized[0].resources.size = None
    (found,) = joined(unsized)
    assert found.resources.size == [20.0] * 3
