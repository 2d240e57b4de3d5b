"""Blocks over hosts: real workers on this machine stand for them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from clusters import DaskCluster, cluster, profiles
from conftest import Perf, Project
from measuring_machines import MeasuringMachine
from samples import interleaved, noisy

from perfvcs.profile import Collected, Environment
from perfvcs.repository import Repository

pytestmark = pytest.mark.slow

CONFIGURATION = """
overlay = ["bench.sh"]
[[job]]
name = "work"
cmd = "sh bench.sh"
executions = 4
warmup = 0
"""


@pytest.fixture(scope="module")
def hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaskCluster]:
    """Two workers."""
    with cluster(tmp_path_factory.mktemp("hosts"), 2) as found:
        yield found


@pytest.fixture
def versions(project: Project) -> list[str]:
    """Two commits whose program is the same."""
    project.write("perf.toml", CONFIGURATION)
    project.write("bench.sh", ": nothing\n")
    return [project.commit("first"), project.commit("second", other="x")]


def test_an_overlay_that_is_a_link_travels_as_what_it_leads_to(
    project: Project, perf: Perf, hosts: DaskCluster, versions: list[str]
) -> None:
    project.write(
        "perf.toml",
        CONFIGURATION.replace("bench.sh", "bench", 1).replace("sh bench.sh", "sh bench/run.sh"),
    )
    project.write("newest/run.sh", ": nothing\n")
    (project.root / "bench").symlink_to("newest")
    versions.append(project.commit("a link"))
    perf("collect", *versions, *hosts.options)
    perf("collect", *versions)
    assert len({one.job.source["bench"] for one in profiles(project)}) == 1


def test_blocks_are_shared_out_and_none_is_torn_apart(
    project: Project, perf: Perf, hosts: DaskCluster, versions: list[str]
) -> None:
    perf("collect", *versions, *hosts.options, "--seed", "7")
    found = profiles(project)
    by_host: dict[str, dict[str, set[int]]] = {}
    for one in found:
        by_host.setdefault(one.environment.notes["worker"], {})[one.commit] = set(
            one.resources.execution
        )
        assert one.collected.session == found[0].collected.session
        assert [value is not None for value in one.resources.metrics["host.others"]] == [
            True
        ] * len(one.resources)
    assert len(by_host) == 2, "both took some"
    assert all(set(sides) == set(versions) for sides in by_host.values())
    assert all(len(set(map(frozenset, sides.values()))) == 1 for sides in by_host.values()), (
        "a block is all on one host"
    )
    assert sorted(block for sides in by_host.values() for block in sides[versions[0]]) == [
        0,
        1,
        2,
        3,
    ]
    said = perf("check", *versions, "--json", code=None).document
    (wall,) = [change for change in said["changes"] if change["metric"] == "wall"]
    assert wall["paired"]
    assert wall["executions"] == [4, 4]


def test_a_check_measures_on_hosts(perf: Perf, hosts: DaskCluster, versions: list[str]) -> None:
    said = perf(
        "check", *versions, "--measure", "-n", "2", *hosts.options, "--json", code=None
    ).document
    assert {tuple(change["executions"]) for change in said["changes"]} == {(2, 2)}
    pair = " ".join(version[:10] for version in versions)
    assert f"perf check --measure {pair} --scheduler {hosts.address}" in said["next"]


# what it reports follows from the seed of its block, which is the same in each run
LEVEL = """
import os
drawn = (int(os.environ["PERFVCS_SEED"]) + {number} * 7919) * 16807 % 2147483647 / 2147483647
with open(os.environ["PERFVCS_SAMPLES"], "a") as file:
    file.write('{{"metric": "cost", "unit": "s", "better": "lower"}}\\n{{"uid": "task", "cost": %r}}\\n' % ({level} * (1 + drawn / 100)))
"""


def test_a_bisection_measures_several_candidates_at_a_time(
    project: Project, perf: Perf, hosts: DaskCluster
) -> None:
    project.configure(f'cmd = "{sys.executable} -S -E work.py"')
    # of so many none is likely enough to be measured along with its parent at once
    levels = [1.0] * 25 + [1.5] * 15
    commits = [
        project.commit(f"{number}", **{"work.py": LEVEL.format(level=level, number=number)})
        for number, level in enumerate(levels)
    ]
    said = perf(
        "bisect", commits[0], "-u", "task", "-m", "cost", "--seed", "7", *hosts.options, "--json"
    )
    assert [one["commit"] for one in said.document["named"]] == [commits[25]]
    candidates = [
        one
        for one in profiles(project)
        if len(one.design.versions) == 3 and one.design.version == 1
    ]
    assert len({one.commit for one in candidates}) > 1
    assert len({one.environment.notes["worker"] for one in candidates}) == 2, (
        "each host had a candidate of its own"
    )


def test_a_host_whose_audits_fail_gets_no_blocks_but_audits(
    project: Project, perf: Perf, hosts: DaskCluster, versions: list[str]
) -> None:
    perf("check", "--audit", "-n", "10", *hosts.options)
    bad, good = sorted({one.environment.notes["worker"] for one in profiles(project)})
    for number in range(3):
        collected = Collected(
            f"2026112{number}T093000-4f2a91",
            f"2026-11-2{number}T09:30:00Z",
            f"2026-11-2{number}T09:31:00Z",
            "test",
        )
        environment = Environment(notes={"worker": bad})
        walls = [noisy(wall, seed=number) for wall in (0.01, 0.02)]
        Repository.find().store.add(
            interleaved(versions[-1:] * 2, walls, collected=collected, environment=environment),
            "test",
        )
    said = perf("collect", "--missing", versions[0], *hosts.options)
    assert f"{bad} gets no blocks: in its newest audits" in said.err
    assert {
        one.environment.notes["worker"] for one in profiles(project) if one.commit == versions[0]
    } == {good}


def test_a_watch_measures_on_hosts(perf: Perf, hosts: DaskCluster, tmp_path: Path) -> None:
    machine = MeasuringMachine(tmp_path, perf)
    said = machine.watch(*hosts.options, "--last", "1").out
    assert ": measured " in said and "pushed 2 profiles" in said
    found = Repository.find(machine.clone)
    assert len({header.worker for header in found.index.headers()}) == machine.shared() == 2


def test_the_hosts_of_a_scheduler_are_listed_as_they_are_now(
    project: Project, perf: Perf, hosts: DaskCluster, versions: list[str]
) -> None:
    Repository.find(create=True)
    out = perf("hosts", *hosts.options).out
    assert out.count("  connected: ") == out.count("  has not measured anything here yet\n") == 2
    perf("collect", versions[0], *hosts.options)
    listed = perf("hosts", *hosts.options, "--json").document
    assert {host["name"] for host in listed} == {
        one.environment.notes["worker"] for one in profiles(project)
    }
    assert [(host["connected"]["memory"] > 0, host["profiles"]) for host in listed] == [
        (True, 1)
    ] * len(listed)
    assert "go with --scheduler" in perf("hosts", "--tls-ca", "x", code=2).err


def test_nothing_but_a_scheduler_imports_dask() -> None:
    modules = [
        "commands.collect",
        "commands.check",
        "measure.campaign",
        "hosts.client",
        "hosts.cluster",
        "hosts.connection",
        "hosts.work",
        "hosts.measurer",
    ]
    code = (
        f"import sys; {'; '.join(f'import perfvcs.{name}' for name in modules)};"
        " sys.exit('distributed' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
