"""Stops where a checkout has no symbolic links: the three families would be missing from what is built."""

import sys
from pathlib import Path

from setuptools import setup

HERE = Path(__file__).parent
for family in ("collectors", "postprocessors", "views"):
    if (HERE / "perfvcs" / family).is_file():
        sys.exit(
            f"perfvcs/{family} is a file and not a link to {family}/: check out with `git -c core.symlinks=true`, or build from the sdist"
        )

setup()
