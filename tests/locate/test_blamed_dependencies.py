"""`perf blame` where a dependency changed: real wheels of two versions in a folder, installed
without a network.
"""

from __future__ import annotations

import sys
import zipfile

import pytest
from test_blame import unwrapped

CONFIG = f"""
[python]
versions = ["{sys.executable}"]
install = ["--no-index", "--find-links", "@", "-r", "requirements.txt"]

[[job]]
name = "work"
cmd = "python run.py"
collectors = ["time"]
timeout = "60s"
"""
RUN = "import library\nprint(library.total())\n"
LIBRARY = (
    "import tiny\n\n\ndef total():\n    return sum(tiny.scaled(number) for number in range(500))\n"
)
TINY = {
    "1.0": "def scaled(number):\n    return 3 * number\n",
    "2.0": "import small\n\n\ndef scaled(number):\n    return sum(small.copies(number, 3))\n",
}
SMALL = "def copies(number, count):\n    return [number for _ in range(count)]\n"


def wheel(folder, name, version, text, needs=""):
    """A wheel of one module, as installers want it."""
    about = f"{name}-{version}.dist-info/"
    with zipfile.ZipFile(folder / f"{name}-{version}-py3-none-any.whl", "w") as file:
        file.writestr(f"{name}.py", text)
        metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
        file.writestr(about + "METADATA", metadata + (f"Requires-Dist: {needs}\n" if needs else ""))
        file.writestr(
            about + "WHEEL",
            "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        )
        file.writestr(about + "RECORD", "")


@pytest.fixture
def pinned(project, tmp_path):
    """A project that pins version 1.0 of what it needs."""
    folder = tmp_path / "wheels"
    folder.mkdir()
    wheel(folder, "tiny", "1.0", TINY["1.0"])
    wheel(folder, "tiny", "2.0", TINY["2.0"], "small")
    wheel(folder, "small", "1.0", SMALL)
    project.write("perf.toml", CONFIG.replace("@", str(folder)))
    project.commit(
        "first", **{"run.py": RUN, "library.py": LIBRARY, "requirements.txt": "tiny==1.0\n"}
    )
    return project


def blamed(perf):
    return perf("blame", "work", "--metric", "bytecodes", "-q", "--json").document


def test_the_new_version_of_a_dependency_in_the_old_environment_proves_that_it_is_the_cause(
    pinned, perf
):
    """Although the old revision pins the old version, and the new one needs a package that was not
    there.
    """
    pinned.commit(
        "upgrade",
        **{"library.py": LIBRARY.replace("number", "value"), "requirements.txt": "tiny==2.0\n"},
    )
    found = blamed(perf)
    assert found["notes"] == []
    assert (found["verdict"], found["dependencies"]["path"]) == (
        "not the code",
        "small==1.0, tiny==2.0",
    )
    assert found["elsewhere"] == ["installed: small not installed -> 1.0, tiny 1.0 -> 2.0"]
    said = unwrapped(perf("blame", "--stored").out)
    assert said[1] == f"other: {found['elsewhere'][0]}"
    assert said[2].startswith("not the code: ") and said[2].endswith(
        "with small==1.0, tiny==2.0: proved"
    )


def test_a_dependency_and_the_code_share_the_blame(pinned, perf):
    twice = LIBRARY.replace("tiny.scaled(number)", "max(tiny.scaled(number), tiny.scaled(number))")
    pinned.commit("both", **{"library.py": twice, "requirements.txt": "tiny==2.0\n"})
    found = blamed(perf)
    assert (found["verdict"], found["dependencies"]["word"]) == ("contributes", "contributes")
    said = "\n".join(unwrapped(perf("blame", "--stored").out))
    assert (
        "cause: total (library.py)" in said and " with small==1.0, tiny==2.0: contributes " in said
    )
