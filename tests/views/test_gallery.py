"""The gallery: every view has a picture of a real project, with the command that drew it."""

from __future__ import annotations

import re
from types import ModuleType

import pytest
from conftest import ROOT, script

from perfvcs import plugins

PAGE = (ROOT / "docs" / "views.md").read_text()


@pytest.fixture(scope="module")
def gallery() -> ModuleType:
    return script(ROOT / "docs" / "gallery.py")


@pytest.mark.parametrize("view", plugins.names("views"))
def test_every_view_has_a_picture_and_the_command_that_draws_it(
    gallery: ModuleType, view: str
) -> None:
    section = re.search(rf"^### {view}\n(.*?)(?=^##|\Z)", PAGE, re.MULTILINE | re.DOTALL)
    assert section is not None, f"docs/views.md has no section of `{view}`"
    command = gallery.PICTURES[view].command
    assert f"](images/views/{view}.png)" in section[1] and f"`perf {command}`" in section[1]
    assert f"--view {view}" in command


def test_the_pictures_are_those_that_the_script_draws(gallery: ModuleType) -> None:
    drawn = {f"{name}.png" for name in gallery.PICTURES}
    assert drawn == {path.name for path in gallery.IMAGES.glob("*.png")}, (
        "run: python docs/gallery.py"
    )
    assert drawn == set(re.findall(r"\]\(images/views/(.+?)\)", PAGE))
    assert all((gallery.IMAGES / name).stat().st_size <= 80_000 for name in drawn)


def test_every_picture_is_of_a_project_that_is_built_and_measured(gallery: ModuleType) -> None:
    assert {picture.project for picture in gallery.PICTURES.values()} == gallery.PROJECTS.keys()
    assert all(f"[{name}]" in PAGE or f"`{name}`" in PAGE for name in gallery.PROJECTS)
