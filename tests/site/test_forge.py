"""Links to the forge, guessed from the remote or given, and the pages of branches and pull
requests.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from cases import each
from conftest import Perf, Project
from histories import grow, measured, stepped, store
from hypothesis import given as drawn
from hypothesis import strategies as st

from perfvcs.errors import UsageError
from perfvcs.git.forge import Forge, given, guessed
from perfvcs.site.diffs import Diff

HASH = "0123456789abcdef0123456789abcdef01234567"


GITHUB = ("/commit/", "/pull/7")
GITLAB = ("/-/commit/", "/-/merge_requests/7")
BITBUCKET = ("/commits/", "/pull-requests/7")
GITEA = ("/commit/", "/pulls/7")
ENGINE = "https://github.com/ada/engine"


@each(
    "address project forge",
    [
        ("https://github.com/ada/engine.git", ENGINE, GITHUB),
        ("git@github.com:ada/engine.git", ENGINE, GITHUB),
        ("ssh://git@github.com:443/ada/engine", ENGINE, GITHUB),
        ("git://github.com/ada/engine/", ENGINE, GITHUB),
        ("https://github.example.org:8443/a/b", "https://github.example.org:8443/a/b", GITHUB),
        ("git@gitlab.com:group/sub/b.git", "https://gitlab.com/group/sub/b", GITLAB),
        ("https://gitlab.example.org/a/b.git", "https://gitlab.example.org/a/b", GITLAB),
        ("http://gitlab.local/a/b", "http://gitlab.local/a/b", GITLAB),
        ("git@bitbucket.org:a/b.git", "https://bitbucket.org/a/b", BITBUCKET),
        ("https://codeberg.org/a/b.git", "https://codeberg.org/a/b", GITEA),
        ("ssh://gitea@gitea.example.org:2222/a/b.git", "https://gitea.example.org/a/b", GITEA),
        ("git@git.sr.ht:~ada/engine", "https://git.sr.ht/~ada/engine", ("/commit/", None)),
        ("https://GitHub.com/Ada/Engine", "https://github.com/Ada/Engine", GITHUB),
        # names and passwords stay behind
        ("https://ada:pass%40word@github.com/a/b.git", "https://github.com/a/b", GITHUB),
        ("https://x-access-token:ghs_0@github.com/a/b", "https://github.com/a/b", GITHUB),
        ("https://oauth2:glpat@gitlab.com/a/b?token=secret#x", "https://gitlab.com/a/b", GITLAB),
        # what is not a word of an address is written as one
        (
            'https://github.com/a/b"onmouseover=x',
            "https://github.com/a/b%22onmouseover%3Dx",
            GITHUB,
        ),
    ],
)
def test_the_forge_is_known_by_the_address_of_the_remote(
    address: str, project: str, forge: tuple[str, str | None]
) -> None:
    commit, request = forge
    found = guessed(address)
    assert found.of_commit(HASH) == project + commit + HASH
    assert found.of_request(7) == (project + request if request else "")
    assert found.of_request(None) == ""


@each(
    "address",
    [
        "https://example.org/a/b.git",
        "/srv/git/a.git",
        "../forge",
        "file:///srv/github.com/a/b",
        "javascript://github.com/a/b",
        "https://github.com.evil.example/a/b",
        "https://evil.example/github.com/a/b",
        "https://github.com@evil.example/a/b",
        "https://github.com/a",
        "https://github.com/../b",
        "https://github.com/a/..",
        "https://github.com:port/a/b",
        "https://[::1/a/b",
        "ext::sh -c github.com/a/b",
        "github.com",
        "",
        "C:\\github.com\\a",
        "https://github.com/a/b\u202ec",
        "data:text/html,github.com/a/b",
        "git@git-hub:a/b",
    ],
)
def test_nothing_is_guessed_of_an_address_that_nobody_knows(address: str) -> None:
    found = guessed(address)
    assert (found.of_commit(HASH), found.of_request(7), found.of_request(None)) == ("", "", "")


@each(
    "address source",
    [
        ("https://github.com/a/b", "https://github.com/a/b/blob/HASH/FILE#L3"),
        ("https://gitlab.com/a/b", "https://gitlab.com/a/b/-/blob/HASH/FILE#L3"),
        ("https://bitbucket.org/a/b", "https://bitbucket.org/a/b/src/HASH/FILE#lines-3"),
        ("https://codeberg.org/a/b", "https://codeberg.org/a/b/src/commit/HASH/FILE#L3"),
        ("https://git.sr.ht/~a/b", "https://git.sr.ht/~a/b/tree/HASH/item/FILE#L3"),
    ],
)
def test_a_line_of_a_file_has_an_address(address: str, source: str) -> None:
    found = f"{guessed(address).of_source(HASH, 'src/{id} <a>.c')}3"
    assert found == source.replace("HASH", HASH).replace("FILE", "src/%7Bid%7D%20%3Ca%3E.c")
    assert Forge().of_source(HASH, "a.c") == ""


@pytest.mark.slow
@drawn(
    st.one_of(
        st.text(),
        st.builds(
            "{}{}github.com{}{}".format,
            st.text(),
            st.sampled_from(["@", "://", ""]),
            st.sampled_from("/:"),
            st.text(),
        ),
    )
)
def test_whatever_a_remote_is_called_a_link_leads_to_a_page_of_a_known_host(address: str) -> None:
    link = guessed(address).of_commit(HASH)
    assert not link or link.startswith(("https://github.", "http://github."))
    assert not set(link) & set("\"'<>` \\@\n")


def test_a_template_can_be_given() -> None:
    assert given("https://example.org/c?id={id}").of_commit("abc") == "https://example.org/c?id=abc"
    assert given("none") == Forge()


@each(
    "template",
    [
        "javascript:alert('{id}')",
        "https://example.org/",
        "//example.org/{id}",
        "{id}",
        "data:text/html,{id}",
        "https:///{id}",
        "",
        "https://example.org/\n{id}",
        "ftp://example.org/{id}",
        "https://[::1/{id}",
        "JavaScript://%0aalert(1)/{id}",
    ],
)
def test_a_template_that_is_not_the_address_of_a_commit_is_refused(template: str) -> None:
    with pytest.raises(
        UsageError,
        match=r"--commit-url .*is not the address of a commit: give one like https://example\.org/",
    ):
        given(template)


def test_a_template_with_a_password_is_refused_and_not_shown(project: Project, perf: Perf) -> None:
    project.commit()
    said = perf("publish", "site", "--commit-url", "https://ada:hunter2@example.org/{id}", code=2)
    assert "hunter2" not in said.err
    assert "--commit-url has a user's name in it" in said.err


def page(path: str) -> Any:
    return json.loads(Path("site", path).with_suffix(".json").read_text())["page"]


def everything() -> str:
    return "".join(
        path.read_text(errors="replace") for path in Path("site").rglob("*") if path.is_file()
    )


def test_commits_are_linked_to_the_forge_and_no_password_is_written(
    project: Project, perf: Perf
) -> None:
    commits = grow(project, 40)
    store(*measured(commits, stepped(40, 25)))
    project.git("remote", "add", "origin", "https://ada:hunter2@github.com/ada/engine.git")
    said = perf("publish", "site", "--profiles", "0")
    assert "hunter2" not in everything() + said.out + said.err
    assert (
        f'href="https://github.com/ada/engine/commit/{commits[25]}"'
        in Path(f"site/commits/{commits[25][:10]}.html").read_text()
    )
    assert (
        f'href="https://github.com/ada/engine/commit/{commits[25]}"'
        in Path("site/changes.html").read_text()
    )
    assert perf("publish", "site", "--profiles", "0").out.startswith("wrote 0 of ")
    project.git("remote", "set-url", "origin", "https://gitlab.com/ada/engine")
    perf("publish", "site", "--profiles", "0")
    assert "github.com" not in everything()
    assert f"https://gitlab.com/ada/engine/-/commit/{commits[3]}" in everything()
    perf("publish", "site", "--profiles", "0", "--commit-url", "none")
    assert "gitlab.com" not in everything()


def test_pages_of_profiles_are_written_again_where_their_sources_have_other_addresses(
    project: Project, perf: Perf
) -> None:
    store(*measured(grow(project, 3), [0.01] * 3))
    project.git("remote", "add", "origin", "https://github.com/ada/engine")
    perf("publish", "site")
    assert perf("publish", "site").out.startswith("wrote 0 of ")
    same = "https://github.com/ada/engine/commit/{id}"  # which says nothing about files
    assert perf("publish", "site", "--commit-url", same).out.startswith("wrote 1 of ")


@pytest.fixture
def branched(project: Project) -> dict[str, str]:
    """A measured line, and beside it a slower branch, a request that changes nothing, and a branch
    that nobody measured.
    """
    line = grow(project, 30)
    store(*measured(line, [0.010] * 30, spread=0.001))
    found = {"base": line[-2]}
    for name, level, number in (
        ("slow & <b>", 0.013, 1),
        ("same", 0.010, 2),
        ("unmeasured", None, 3),
    ):
        project.git("checkout", "--quiet", "--detach", line[-2])
        found[name] = project.commit(f"work on {name}")
        if level is not None:
            store(*measured([found[name]], [level], seed=number, spread=0.001))
    project.git("checkout", "--quiet", "main")
    project.git("update-ref", "refs/heads/slow-&-<b>", found["slow & <b>"])
    project.git("update-ref", "refs/remotes/origin/same-as-a-request", found["same"])
    project.git("update-ref", "refs/pull/12/head", found["same"])
    project.git("update-ref", "refs/heads/unmeasured", found["unmeasured"])
    return found


def test_branches_and_requests_that_were_measured_have_pages(
    project: Project, perf: Perf, branched: dict[str, str]
) -> None:
    project.git("remote", "add", "origin", "git@github.com:ada/engine.git")
    perf("publish", "site", "--profiles", "0")
    listed = {one["name"]: one for one in page("branches.html")["branches"]}
    assert set(listed) == {"slow-&-<b>", "#12"}
    slow, same = listed["slow-&-<b>"], listed["#12"]
    assert slow["newest"]["id"] == branched["slow & <b>"]
    assert slow["base"]["id"] == branched["base"]
    assert slow["word"] in ("degradation", "suspected")
    assert same["forge"] == "https://github.com/ada/engine/pull/12"
    assert slow["forge"] is None
    (row,) = page(slow["url"])["moved"]
    assert row["cell"]["effect"] == pytest.approx(0.3, abs=0.02)
    assert row["levels"].endswith(" ms")
    assert Path("site", row["url"]).exists()
    assert page(same["url"])["moved"] == []
    text = Path("site", slow["url"]).read_text()
    assert "slow-&amp;-&lt;b&gt;" in text
    assert "<b>" not in text
    assert 'href="branches.html"' in Path("site/index.html").read_text()
    assert perf("publish", "site", "--profiles", "0").out.startswith("wrote 0 of ")


def test_a_branch_and_a_commit_say_what_they_do_to_their_judge(
    project: Project, perf: Perf
) -> None:
    tables = '[[job]]\nname = "work"\ncmd = "true"\n'
    base = project.commit("base", **{"perf.toml": tables})
    tip = project.commit(
        "in a hurry", **{"perf.toml": f'{tables}[[check]]\ndelta = "1000%"\n', "work.py": "slow"}
    )
    last = project.commit("after", **{"work.py": "slower"})
    store(*measured([base, tip, last], [0.010, 0.010, 0.010], spread=0.001))
    project.git("switch", "--quiet", "--create", "loose", base)
    other = project.commit("elsewhere", **{"bench/run.sh": "exit 0"})
    store(*measured([other], [0.010], seed=2, spread=0.001))
    project.git("switch", "--quiet", "main")
    perf("publish", "site", "--profiles", "0")
    said = "This change also changes how it is judged: "
    assert (
        said + "perf.toml (new [[check]] delta 1000%, ignored)."
        in page(f"commits/{tip[:10]}.html")["sentence"]
    )
    assert said not in page(f"commits/{last[:10]}.html")["sentence"]
    # the first: there is none before with which it was compared, or whose judge it changes
    assert not Path(f"site/commits/{base[:10]}.html").exists()
    assert said not in Path("site/commits.html").read_text()
    (branch,) = page("branches.html")["branches"]
    assert branch["sentence"].endswith(f"{said}the benchmark bench/run.sh")
    assert said in Path("site", branch["url"]).read_text()


def test_a_commit_that_changes_its_judge_has_a_page_though_nothing_was_compared_there(
    project: Project, perf: Perf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("perfvcs.history.record.COMPARED", 0)
    tables = '[[job]]\nname = "work"\ncmd = "true"\n'
    eased = f'{tables}[[check]]\ndelta = "1000%"\n'
    base = project.commit("base", **{"perf.toml": tables})
    plain = project.commit("plain", **{"work.py": "slow"})
    eases = project.commit("in a hurry", **{"perf.toml": eased})
    unmeasured = project.commit("not measured", **{"perf.toml": tables})
    after = project.commit("after", **{"work.py": "slower"})
    accepts = project.commit("wanted", **{"perf-accepted.toml": ""})
    store(*measured([base, plain, eases, after, accepts], [0.010] * 5, spread=0.001))
    perf("publish", "site", "--profiles", "0", "--commit-url", "https://forge.example.org/{id}")
    assert {path.stem for path in Path("site/commits").glob("*.html")} == {eases[:10], accepts[:10]}
    sentence = page(f"commits/{eases[:10]}.html")["sentence"]
    assert "This change also changes how it is judged: perf.toml (new [[check]]" in sentence
    listed = Path("site/commits.html").read_text()
    assert f'href="https://forge.example.org/{plain}"' in listed and unmeasured not in listed


def test_many_files_do_not_hide_what_judges() -> None:
    files = [("A", f"a/{number}") for number in range(500)]
    found = Diff.of([*files, ("M", "perf-accepted.toml"), ("A", "z")])
    assert (len(found.files), found.more) == (401, 101)
    assert found.files[-1].path == "perf-accepted.toml"


def test_a_branch_that_was_merged_is_no_longer_listed(
    project: Project, perf: Perf, branched: dict[str, str]
) -> None:
    perf("publish", "site", "--profiles", "0")
    pages = len(list(Path("site/branches").glob("*.html")))
    project.git("merge", "--quiet", "-m", "Merge", branched["same"])
    store(*measured([project.git("rev-parse", "HEAD")], [0.010], seed=9))
    perf("publish", "site", "--profiles", "0")
    assert len(list(Path("site/branches").glob("*.html"))) == pages - 1
    project.git("update-ref", "-d", "refs/heads/slow-&-<b>")
    perf("publish", "site", "--profiles", "0")
    assert not Path("site/branches.html").exists()
    assert 'href="branches.html"' not in Path("site/index.html").read_text()


def test_a_branch_with_nothing_in_common_has_no_page(project: Project, perf: Perf) -> None:
    line = grow(project, 5)
    store(*measured(line, [0.010] * 5))
    project.git("checkout", "--quiet", "--orphan", "alone")
    alone = project.commit("another beginning", other="x")
    project.git("checkout", "--quiet", "main")
    store(*measured([alone], [0.010], seed=4))
    perf("publish", "site", "--profiles", "0")
    assert not Path("site/branches.html").exists()
