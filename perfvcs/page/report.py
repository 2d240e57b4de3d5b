"""Pages of one report: a heading, what the terminal says, and what a template adds; no script, and nothing from another place."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def render(name: str, **values: Any) -> str:
    """The page of a template in this folder; ``title`` and ``said`` are among its values."""
    from jinja2 import Environment, FileSystemLoader

    environment = Environment(loader=FileSystemLoader(Path(__file__).parent), autoescape=True, trim_blocks=True)
    return environment.get_template(name).render(values)
