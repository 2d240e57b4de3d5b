"""The site of a real history for the pictures of the pages: that of Django's benchmarks.

The results are those that its project publishes: ``git clone
https://github.com/django/django-asv demo/django-asv``. Each of their commits is one of a repository
made for them, with the same date.
"""

from __future__ import annotations

import sys
from pathlib import Path

from perfvcs.repository import Repository
from perfvcs.site.publication import SiteOptions, publish

TOP = Path(__file__).parents[1]
sys.path.append(str(TOP))  # for a script, which has its own folder there alone
from benchmarks.publishing import history  # noqa: E402
from benchmarks.repositories import git, perf  # noqa: E402

RESULTS = TOP / "demo/django-asv/results/ubuntu-latest"
# the days of Django's releases, as its documentation has them
RELEASES = {
    "4.2": "2023-04-03",
    "5.0": "2023-12-04",
    "5.1": "2024-08-07",
    "5.2": "2025-04-02",
    "6.0": "2025-12-03",
}


def django(folder: Path) -> Path:
    """The site; pictures whose folders are side by side share it."""
    place = folder.parent / "django"
    if place.exists():
        return place / "site"
    if not RESULTS.exists():
        sys.exit("git clone https://github.com/django/django-asv demo/django-asv first")
    project, *parts = history(RESULTS, place)
    for part in parts:
        perf(project, "import", "--quiet", str(part))
    for name, day in RELEASES.items():
        newest = git(project, "rev-list", "-1", f"--before={day}T23:59:59Z", "main")
        git(project, "tag", name, newest.strip())
    publish(
        Repository.find(project), place / "site", title="Django", choice=SiteOptions(profiles=0)
    )
    return place / "site"
