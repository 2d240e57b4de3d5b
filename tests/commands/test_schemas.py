"""The documents of `--json` are what the schemas in docs/schemas say, which stay as they are."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT


@pytest.mark.slow
def test_the_documents_are_what_the_schemas_say(tmp_path: Path) -> None:
    """In a process of its own, which imports what only the checker of types does."""
    writer = ROOT / "docs/generate_schemas.py"
    subprocess.run([sys.executable, str(writer), str(tmp_path)], check=True)
    written, shown = (
        {path.name: path.read_text() for path in folder.glob("*.json")}
        for folder in (tmp_path, ROOT / "docs/schemas")
    )
    assert written == shown, "python docs/generate_schemas.py"
