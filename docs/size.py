"""Counts how much code there is, and how dense it is.

    python docs/size.py [CHECKOUT]

Counts the package and its three families, formatted to 88 columns in a copy, whatever trailing
commas and `fmt: skip` say, so that checkouts with different lines compare; comments and docstrings
keep their lines. Lines of code hold something besides these. A statement is a node of Python's
grammar; an import, a definition and a docstring are statements, too. The words of the documents for
users are those of docs/ without the evaluation, the commands (which are generated), blocks of code
and comments; a word has a letter or a digit.
"""

from __future__ import annotations

import argparse
import ast
import re
import subprocess
import sys
import tempfile
import tokenize
from collections import Counter
from collections.abc import Iterator
from io import StringIO
from pathlib import Path

from rooms import HERE, House

COLUMNS = 88
SMALL, LARGE = 60, 350  # lines
SKIP = "# fmt: skip"
COMMON = 100  # functions that bind a name
NO_WORDS = re.compile(r"^(`{3,}).*?^\1`*$|<!--.*?-->", re.MULTILINE | re.DOTALL)
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
NO_TOKENS = (
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
)


def formatted(modules: dict[str, Path]) -> dict[str, str]:
    """The text of each module at 88 columns, by ruff."""
    with tempfile.TemporaryDirectory() as folder:
        for number, path in enumerate(modules.values()):
            Path(folder, f"{number}.py").write_text(path.read_text().replace(SKIP, ""))
        command = [
            sys.executable,
            "-m",
            "ruff",
            "format",
            "--isolated",
            "--quiet",
            "--config",
            "format.skip-magic-trailing-comma = true",
            "--line-length",
            str(COLUMNS),
        ]
        subprocess.run([*command, folder], check=True)
        return {
            name: Path(folder, f"{number}.py").read_text() for number, name in enumerate(modules)
        }


def coded(text: str, tree: ast.Module) -> int:
    """How many lines hold something besides comments and docstrings."""
    documented: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(
            node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
        ) and ast.get_docstring(node):
            documented |= set(range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1))
    tokens = tokenize.generate_tokens(StringIO(text).readline)
    rows = {
        row
        for token in tokens
        if token.type not in NO_TOKENS
        for row in range(token.start[0], token.end[0] + 1)
    }
    return len(rows - documented)


def bound(function: ast.AST) -> set[str]:
    """The names to which a function gives a value, its parameters included."""
    names = {
        node.id
        for node in ast.walk(function)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }
    return names | {node.arg for node in ast.walk(function) if isinstance(node, ast.arg)} - {
        "self",
        "cls",
    }


def words(root: Path) -> int:
    """How many words the documents for users have: architecture.md is for contributors."""
    folder = root / "docs"
    pages = {*folder.glob("*.md"), *folder.glob("exchange/*.md")}
    others = {folder / f"{name}.md" for name in ("architecture", "cli", "evaluation")}
    return sum(
        re.search(r"\w", word) is not None
        for page in pages - others
        for word in NO_WORDS.sub("", page.read_text()).split()
    )


def figures(root: Path) -> Iterator[tuple[str, str]]:
    """Each figure with its name."""
    house = House(root)
    texts = formatted(house.modules)
    trees = {name: ast.parse(text) for name, text in texts.items()}
    lines = {name: text.count("\n") for name, text in texts.items()}
    nodes = Counter(type(node) for tree in trees.values() for node in ast.walk(tree))
    statements = sum(
        isinstance(node, ast.stmt) for tree in trees.values() for node in ast.walk(tree)
    )
    imports = sum(
        (node.end_lineno or node.lineno) - node.lineno + 1
        for tree in trees.values()
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
    )
    importers = Counter(
        other for others in house.imports.values() for other in others & house.modules.keys()
    )
    names = Counter(
        name
        for tree in trees.values()
        for node in ast.walk(tree)
        if isinstance(node, FUNCTIONS)
        for name in bound(node)
    )
    tokens = sum(
        token.type not in NO_TOKENS
        for text in texts.values()
        for token in tokenize.generate_tokens(StringIO(text).readline)
    )
    total = sum(lines.values())
    yield "modules", f"{len(lines):,}"
    yield f"lines at {COLUMNS} columns", f"{total:,}"
    yield (
        "of them lines of code",
        f"{sum(coded(texts[name], tree) for name, tree in trees.items()):,}",
    )
    yield "tokens", f"{tokens:,}"
    yield "imports, share of the lines", f"{100 * imports / total:.1f} %"
    yield f"modules below {SMALL} lines", f"{sum(count < SMALL for count in lines.values()):,}"
    yield "modules with one importer", f"{sum(count == 1 for count in importers.values()):,}"
    yield "file names in several folders", f"{len(house.repeated):,}"
    yield "statements per conditional expression", f"{statements / nodes[ast.IfExp]:.1f}"
    yield (
        "statements per comprehension",
        f"{statements / sum(nodes[kind] for kind in COMPREHENSIONS):.1f}",
    )
    common = [f"{name} {count}" for name, count in names.most_common() if count > COMMON]
    yield f"names bound in over {COMMON} functions", f"{len(common)}: {', '.join(common)}"
    given = {name: path.read_text() for name, path in house.modules.items()}
    yield "`fmt: skip`", f"{sum(text.count(SKIP) for text in given.values()):,}"
    large = sum(text.count("\n") > LARGE for text in given.values())
    yield f"modules above {LARGE} lines as they stand", f"{large:,}"
    yield "words of the documents for users", f"{words(root):,}"


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="size", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("checkout", nargs="?", type=Path, default=HERE)
    for name, figure in figures(parser.parse_args().checkout):
        print(f"{name}: {figure}")


if __name__ == "__main__":
    main()
