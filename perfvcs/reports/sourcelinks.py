"""Links from the frames of call stacks to the lines of their files on the project's forge."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from perfvcs.git.command import GitError
from perfvcs.pictures.stacks import split

if TYPE_CHECKING:
    from perfvcs.git.forge import Forge
    from perfvcs.git.project import Project
    from perfvcs.profile import Profile


def source_links(project: Project, profiles: Iterable[Profile], forge: Forge) -> dict[str, str]:
    """The address of each file of the project that a call stack names, as it was at the commit of
    the last profile that does; behind it a line's number may follow.

    Files of other programs have none, nor what was measured in a working tree.
    """
    named: dict[str, set[str]] = {}
    for profile in profiles if forge.source else ():
        if profile.stacks is not None and profile.dirty is None:
            files = named.setdefault(profile.commit, set())
            files.update(split(frame)[1] for frame in profile.stacks.frames)
    links: dict[str, str] = {}
    for commit, files in named.items():
        try:
            tracked = project.git("ls-tree", "-r", "-z", "--name-only", "--full-tree", commit)
        except GitError:  # a commit that this clone does not have
            continue
        links |= {
            file: forge.of_source(commit, file)
            for file in sorted(files.intersection(filter(None, tracked.split("\0"))))
        }
    return links
