"""Which files of the project an import or include means."""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any

from perfvcs.locate.sources import is_program, language
from perfvcs.locate.sources.parts import ANY_FILE
from perfvcs.profile.rules import REGISTER_FILE, RULES_FILE
from perfvcs.text.words import wordset

BY_FILE = "its language is known by file only"
DOCUMENTS = ("md", "markdown", "rst", "adoc", "asciidoc", "pod", "texi", "tex", "bib")
PICTURES = ("png", "svg", "gif", "jpg", "jpeg", "ico", "webp", "drawio")
_PLAIN = re.compile(
    r"(?:readme|changes|changelog|history|news|authors|contributors|thanks|credits|licen[cs]e|copying|copyright|notice|maintainers|todo|"
    r"contributing|code_of_conduct|security|install|faq|release[_-]?notes|citation|codeowners|funding|owners|governance|support)"
    r"(?:[-_.].*)?",
    re.IGNORECASE,
)
_FOLDERS = re.compile(r"(?:docs?|documentation|man)/", re.IGNORECASE)
# how other services, packagers and editors are to treat the project
_SERVICES = re.compile(
    r"(?:\.github|\.gitlab|\.circleci|\.buildkite|\.azure-pipelines|\.vscode|\.idea|\.changeset|\.devcontainer|\.tx|\.woodpecker"
    r"|conda\.recipe)/"
)
_OTHERS = re.compile(
    r"(?:.*/)?(?:\.gitignore|\.mailmap|\.editorconfig|\.pre-commit-config\.ya?ml|\.readthedocs\.ya?ml|readthedocs\.ya?ml|\.travis\.yml"
    r"|\.?appveyor\.yml|azure-pipelines\.yml|\.gitlab-ci\.yml|\.coveragerc|\.?codecov\.ya?ml|\.pylintrc|\.flake8|\.?ruff\.toml|mypy\.ini"
    r"|\.mypy\.ini|\.isort\.cfg|\.style\.yapf|\.yamllint(?:\.ya?ml)?|\.clang-format|\.clang-tidy|renovate\.json|\.git-blame-ignore-revs"
    r"|\.codespellrc|\.all-contributorsrc|\.bumpversion\.cfg|\.bumpversion\.toml|\.landscape\.ya?ml|\.coveralls\.yml|\.lgtm\.yml"
    r"|\.deepsource\.toml|\.sourcery\.ya?ml|\.pyup\.yml|dependabot\.yml|cliff\.toml|\.dockerignore|py\.typed|MANIFEST\.in|\.zenodo\.json"
    r"|\.gitlint|\.binstar\.yml|\.markdownlint[^/]*|\.prettierrc[^/]*|\.prettierignore|_config\.yml|netlify\.toml|\.nojekyll)"
)
_BUILD = re.compile(
    r"(?:.*/)?(?:setup\.py|setup\.cfg|pyproject\.toml|tox\.ini|pytest\.ini|noxfile\.py|[Mm]akefile[^/]*|GNUmakefile|CMakeLists\.txt|meson\.build"
    r"|meson_options\.txt|configure(?:\.ac|\.in)?|BUILD(?:\.bazel)?|WORKSPACE(?:\.bazel)?|SCons(?:truct|cript)|build\.(?:sh|rs)|Cargo\.(?:toml|lock)"
    r"|[^/]*\.(?:mk|cmake|am|ac|m4|pro|pri|gyp|gypi|bzl|ninja))"
)
_LOCKS = re.compile(
    r"(?:.*/)?(?:requirements/.*|(?=[^/]*requirements)[^/]*\.(?:txt|in)|(?=[^/]*constraints)[^/]*\.txt|[^/]*\.lock|Pipfile"
    r"|environment[^/]*\.ya?ml|conda[^/]*\.ya?ml)",
    re.DOTALL,
)
# tables of settings that decide neither what is built nor how tests run
_PROJECT = wordset(
    "version description readme license license-files authors maintainers keywords"
    " classifiers urls homepage repository documentation packages url author author_email"
    " maintainer maintainer_email long_description long_description_content_type project_urls"
    " license_file license_files platforms platform download_url name python_requires"
    " requires-python"
)
_TOOLS = wordset(
    "ruff black isort mypy pylint flake8 coverage towncrier bumpversion bumpver tbump"
    " commitizen pyright codespell check-manifest bandit pydocstyle docformatter interrogate"
    " vulture semantic_release typos tox gh-actions testenv upload_docs build_sphinx upload"
    " zest.releaser yapf pycodestyle pep8 cibuildwheel djlint doc8 repo-review ty scriv"
    " changelog git-cliff semantic-release nox pyupgrade doc wheel sdist egg_info cookiecutter"
    " upload_sphinx bdist_wheel"
)


class Finder:
    """Knows the ``paths`` of all sources, and which files define each module of Fortran
    (``provided``).
    """

    def __init__(self, paths: Iterable[str], provided: Mapping[str, list[str]]) -> None:
        self._provided = provided
        self._modules: dict[str, list[str]] = defaultdict(list)
        self._headers: dict[str, list[str]] = defaultdict(list)
        self._absolute: dict[str, list[str]] = {}
        every = set(paths)
        self._packages = {
            path.rpartition("/")[0] for path in every if path.endswith("/__init__.py")
        }
        for path in every:
            if language(path) == "python":
                parts = _dotted(path).split(".")
                for start in range(len(parts)):
                    if "/".join(parts[:start]) not in self._packages:
                        self._modules[".".join(parts[start:])].append(path)
                self._modules["/" + _dotted(path)].append(path)
            else:
                self._headers[path.rpartition("/")[2].lower()].append(path)

    def find(self, path: str, word: str) -> Iterator[str]:
        """The files that a word in an import of the file ``path`` can mean: several where settings
        decide, none of a library.
        """
        kind = language(path)
        if kind == "python":
            yield from self._imported(path, word)
        elif word == ANY_FILE:
            for others in self._headers.values():
                yield from others
        elif kind == "fortran" and word in self._provided:
            yield from self._provided[word]
        else:
            tail = os.path.normpath(word).lstrip("./").lower()
            for other in self._headers.get(tail.rpartition("/")[2], ()):
                if f"/{other.lower()}".endswith(f"/{tail}"):
                    yield other

    def _imported(self, path: str, word: str) -> Iterator[str]:
        """A module, and the packages around it, which are loaded before it."""
        name = word.lstrip(".")
        if level := len(word) - len(name):
            folder = PurePosixPath(path).parent
            for _ in range(level - 1):
                folder = folder.parent
            base = "" if str(folder) == "." else str(folder).replace("/", ".")
            full = ".".join(part for part in (base, name) if part)
            for start in range(len(base.split(".")) if base else 0, len(full.split(".")) + 1):
                yield from self._modules.get("/" + ".".join(full.split(".")[:start]), ())
            return
        if word not in self._absolute:  # which is the same for all files
            parts = name.split(".")
            self._absolute[word] = [
                path
                for end in range(1, len(parts) + 1)
                for path in self._modules.get(".".join(parts[:end]), ())
            ]
        yield from self._absolute[word]


def _dotted(path: str) -> str:
    """The dotted name of a Python file below the root; a package is named by its folder."""
    plain = path.rpartition(".")[0].removesuffix("/__init__")
    return ("" if plain == "__init__" else plain).replace("/", ".")


def why(path: str) -> str:
    """Why a file that is not a source may change any benchmark, in a few words; empty where none
    can notice it.

    Documents count as unnoticed; whoever knows the sources asks whether one of them names the
    document.
    """
    name = path.rpartition("/")[2]
    if name == RULES_FILE:
        return "it says what is measured"
    if is_service(path):
        return ""
    if _BUILD.fullmatch(path):
        return "it says how the project is built or run"
    if _LOCKS.fullmatch(path):
        return "it says which packages are installed"
    if is_document(path):
        return ""
    return BY_FILE if is_program(path) else "who reads it is not known"


def is_service(path: str) -> bool:
    """Whether a file is for other services, packagers and editors, or is made by Python or perf."""
    name = path.rpartition("/")[2]
    made = name == REGISTER_FILE or name.endswith((".pyc", ".pyo"))
    return made or bool(_SERVICES.match(path)) or bool(_OTHERS.fullmatch(path))


def is_build(path: str) -> bool:
    """Whether a file says how the project is built or run, a source or not."""
    return bool(_BUILD.fullmatch(path))


def is_about(path: str) -> bool:
    """Whether a file is about the project as a whole, by its name: README, LICENSE and the like."""
    return bool(_PLAIN.fullmatch(path.rpartition("/")[2]))


def is_document(path: str) -> bool:
    """Whether a file is for people: a text or picture by its name or folder."""
    name = path.rpartition("/")[2]
    suffix = name.rpartition(".")[2].lower() if "." in name.lstrip(".") else ""
    if suffix in DOCUMENTS or is_about(path):
        return True
    inside = bool(_FOLDERS.match(path))
    return inside and (
        suffix in (*PICTURES, "txt", "css", "html", "py", "js", "bat") or name == "Makefile"
    )


def settings(path: str, content: bytes) -> object:
    """What matters of a file of settings; None where it is not one whose parts are known."""
    name = path.rpartition("/")[2]
    try:
        if name == "pyproject.toml":
            import tomllib

            return _of_project(tomllib.loads(content.decode()))
        if name in ("setup.cfg", "tox.ini"):
            from configparser import RawConfigParser

            parser = RawConfigParser(strict=False)
            parser.read_string(content.decode())
            sections = {section: dict(parser[section]) for section in parser.sections()}
            return {
                section: table for section, table in _of_sections(sections, name).items() if table
            }
        if name == "setup.py":
            return _of_setup(content)
    except (
        ValueError,
        SyntaxError,
        RecursionError,
        MemoryError,
        LookupError,
        _configparser_error(),
    ):
        return None
    return None


def _configparser_error() -> type[Exception]:
    from configparser import Error

    return Error


def _of_project(table: dict[str, Any]) -> dict[str, Any]:
    tools = {name: value for name, value in table.get("tool", {}).items() if name not in _TOOLS}
    poetry = tools.get("poetry")
    if isinstance(poetry, dict):
        tools["poetry"] = {name: value for name, value in poetry.items() if name not in _PROJECT}
    project = {
        name: value for name, value in table.get("project", {}).items() if name not in _PROJECT
    }
    rest = {
        name: value
        for name, value in table.items()
        if name not in ("tool", "project", "dependency-groups")
    }
    return {**rest, "project": project, "tool": tools}


def _of_sections(sections: Mapping[str, Mapping[str, str]], name: str) -> dict[str, dict[str, str]]:
    if name == "tox.ini":  # tox calls perf, not the other way round
        return {section: dict(table) for section, table in sections.items() if section == "pytest"}
    relevant = {
        section: dict(table)
        for section, table in sections.items()
        if section.partition(":")[0].partition("-")[0] not in _TOOLS
    }
    if "metadata" in relevant:
        relevant["metadata"] = {
            key: value
            for key, value in relevant["metadata"].items()
            if key.replace("-", "_") not in _PROJECT
        }
    return relevant


def _of_setup(content: bytes) -> str:
    """The syntax tree of setup.py without what only describes the project."""
    import ast

    tree = ast.parse(content)
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            node.keywords = [
                argument
                for argument in node.keywords
                if argument.arg not in _PROJECT - {"packages", "name"}
            ]
    body = [node for node in tree.body if not _is_plain_text(node)]
    return ast.dump(ast.Module(body, []))


def _is_plain_text(node: Any) -> bool:
    """Whether a statement is a docstring, or gives a constant to a name such as ``__version__``."""
    import ast

    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Constant)
    names = (
        [target.id for target in node.targets if isinstance(target, ast.Name)]
        if isinstance(node, ast.Assign)
        else []
    )
    return (
        bool(names)
        and isinstance(node.value, ast.Constant)
        and all(name.strip("_").lower() in _PROJECT for name in names)
    )
