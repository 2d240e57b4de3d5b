"""Paths that options name: a slash at the end means a folder, whether it is there or not."""

from __future__ import annotations

from typing import Any

import click


class FilePath(click.Path):
    """A file; what ends with a slash is refused."""

    def __init__(self, **more: Any) -> None:
        super().__init__(**{"dir_okay": False, **more})

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The path."""
        if str(value).endswith("/"):
            self.fail(f"{value} is a folder: name a file", param, ctx)
        return super().convert(value, param, ctx)
