"""`perf select` keeps the benchmark of a function whose head a macro has written, or may have: what is not understood is kept."""

from __future__ import annotations

import json
import subprocess
from typing import NamedTuple

import pytest

BODY = "{ volatile int i; for (i = 0; i < 1000 * n; i++); return i; }"
OTHER = "int other(int n) { return n + 1; }\n"


class Case(NamedTuple):
    """A source whose function runs BODY, and how ``main`` calls it; ``apart``: a change of ``other`` is seen to be another's."""

    name: str
    source: str
    call: str = "third(3)"
    suffix: str = "c"
    apart: bool = True


CASES = [
    Case("a macro", f"#define DEFINE(name) int name(int n)\nDEFINE(third) {BODY}"),
    Case("a macro behind static", f"#define DEFINE(name) name(int n)\nstatic int DEFINE(third) {BODY}"),
    Case("a macro in small letters", f"#define define(name) name(int n)\nstatic int define(third) {BODY}"),
    Case("a system call", f"#define SYSCALL_DEFINE1(name, t, a) int sys_##name(t a)\nSYSCALL_DEFINE1(third, int, n) {BODY}", "sys_third(3)", apart=False),
    Case("a function of PHP", f"#define PHP_FUNCTION(name) int zif_##name(int n)\nPHP_FUNCTION(third) {BODY}", "zif_third(3)", apart=False),
    Case("a test", f"#define TEST(a, b) int a##_##b(int n)\nTEST(third, one) {BODY}", "third_one(3)", apart=False),
    Case("a name in brackets", f"int (third)(int n) {BODY}"),
    Case("a name from a macro", f"#define NAME(name) lib_##name\nint NAME(third)(int n) {BODY}", "lib_third(3)", apart=False),
    Case("a type from a macro", f"#define RETURNS(type) type\nRETURNS(int) third(int n) {BODY}"),
    Case("parameters in a macro", f"#define PARAMS(list) list\nint third PARAMS((int n)) {BODY}"),
    Case("an attribute in a macro", f"#define HOT(level) __attribute__((hot))\nHOT(3) int third(int n) {BODY}"),
    Case("an attribute", f"__attribute__((noinline)) int third(int n) {BODY}"),
    Case("a macro behind", f"#define CHECKED(n)\nint third(int n) CHECKED(n) {BODY}"),
    Case("the heads of 1978", f"int third(n) int n; {BODY}"),
    Case("a pointer to a function", f"int (*third(int n))(int) {BODY.replace('return i', 'return i ? other : 0')}", "(third(3) != 0)"),
    Case("two heads for one body", f"#ifdef FAST\nint fourth(int n)\n{{\n#else\nint third(int n)\n{{\n#endif\n{BODY} }}"),
    Case("a head with a condition", f"int\n#ifdef FAST\nfourth\n#else\nthird\n#endif\n(int n) {BODY}"),
    Case("macros for the braces", f"#define BEGIN {{\n#define END }}\nint third(int n) BEGIN {BODY[1:-1]} END"),
    Case("a body in a macro's brackets", f"#define DEFINE(name, body) int name(int n) body\nDEFINE(third, {BODY})", apart=False),
    Case("a renamed function", f"#define third lib_third\nint third(int n) {BODY}\n#undef third\nint lib_third(int);", "lib_third(3)"),
    Case("what the linker calls", f"static int n = 3;\n__attribute__((constructor)) static void third(void) {BODY.replace('return i;', '')}", "0"),
    Case("a pasted call", f"#define CALL(name) do_##name\nint do_third(int n) {BODY}", "CALL(third)(3)", apart=False),
    Case("a table of pasted names", f"#define ROW(x) do_##x\nint do_third(int n) {BODY}\nint (*rows[])(int) = {{ ROW(third) }};", "rows[0](3)", apart=False),
    Case("a name as a parameter elsewhere", f"#define DEFINE(name) int name(int n)\nint second(int third) {{ return third; }}\nDEFINE(third) {BODY}"),
    Case("a condition of a template", f"template <typename T, ENABLE_IF(sizeof(T) > 2)> int third(T n) {BODY}", suffix="cc"),
    Case("a method that another tool finds", f"struct Box {{ Q_INVOKABLE int third(int n) {BODY} }};", "Box().third(3)", "cc"),
    Case("a method behind a macro", f"struct Box {{ PROPERTY(int) int third(int n) {BODY} }};", "Box().third(3)", "cc"),
    Case("an operator", f"struct Box {{ int a; }};\nint operator+(Box, int n) {BODY}", "Box() + 3", "cc"),
    Case("an operator in a macro", f"struct Box {{ int a; }};\n#define OPERATOR(sign) int operator sign\nOPERATOR(+)(Box, int n) {BODY}", "Box() + 3", "cc"),
    Case("a conversion", f"struct Box {{ int n; operator int() const {BODY} }};", "int(Box())", "cc"),
    Case("initialisers in a macro", f"struct Box {{ int a; Box(int n) : SET(a, n) {BODY.replace('return i;', '')} }};", "Box(3).a", "cc"),
    Case("initialisers in braces", f"struct Box {{ int a; Box(int n) : a{{n}} {BODY.replace('return i;', '')} }};", "Box(3).a", "cc"),
    Case("a macro for extern C", f"BEGIN_DECLS\nint third(int n) {BODY}\nEND_DECLS", suffix="cc"),
    Case("a lambda outside of functions", f"auto third = [](int n) {BODY};", suffix="cc"),
    Case("a value from a call", f"static int third(int n) {BODY}\nstatic int begun = third(3);", "0", "cc"),
    Case("a block of try", f"int third(int n) try {BODY} catch (...) {{ return 0; }}", suffix="cc"),
    Case("a type behind", f"auto third(int n) -> decltype(n + 1) {BODY}", suffix="cc"),
    Case("a class from a macro", f"#define CLASS(name) struct name\nCLASS(Box) {{ int third(int n) {BODY} }};", "Box().third(3)", "cc"),
]  # fmt: skip
CPP = (
    "#include <type_traits>\n#define ENABLE_IF(...) typename std::enable_if<(__VA_ARGS__), int>::type = 0\n#define Q_INVOKABLE\n"
    "#define PROPERTY(type)\n#define SET(a, n) a(n)\n#define BEGIN_DECLS extern \"C\" {\n#define END_DECLS }\n"
)


def kept(perf) -> bool:
    """Whether the change touches the only benchmark."""
    return bool(json.loads(perf("select", "HEAD~1..HEAD", "--json").out)["run"])


@pytest.mark.needs("g++")
@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
@pytest.mark.parametrize("called", [False, True], ids=["itself", "what it calls"])
def test_a_function_with_any_head_keeps_its_benchmark(project, perf, case, called):
    name = f"work.{case.suffix}"
    deep = "static int slow(int n) { return 1000 * n; }\n" if called else ""
    source = f"{CPP if case.suffix == 'cc' else ''}{OTHER}{deep}{case.source}\nint main(void) {{ return {case.call} < 0; }}\n"
    if called:
        source = source.replace("i < 1000 * n", "i < slow(n)")
    project.configure('cmd = "./work"')
    project.commit("begin", **{name: source})
    subprocess.run(["g++" if case.suffix == "cc" else "gcc", "-fsyntax-only", name], cwd=project.root, check=True, capture_output=True)
    project.commit("slower", **{name: source.replace("1000", "1180")})
    assert kept(perf)
    if case.apart:
        project.commit("another", **{name: source.replace("1000", "1180").replace("n + 1; }", "n + 2; }")})
        assert kept(perf) == ("other" in case.source)


@pytest.mark.needs("gcc", "valgrind")
def test_a_slower_function_with_a_macro_for_a_head_fails_the_check(project, perf):
    source = f"#define DEFINE(name) int name(int n)\nDEFINE(third) {BODY}\n{OTHER}int main(void) {{ return third(99) < 0; }}\n"
    project.configure('cmd = "./work"\ncollectors = ["instructions"]', top='build = ["gcc -o work work.c"]')
    project.commit("begin", **{"work.c": source, ".gitignore": "work\n"})
    perf("collect", "-n", "3", "-q")
    project.commit("slower", **{"work.c": source.replace("1000", "1180")})
    assert "1 degradation" in perf("check", "--measure", "--select", "-n", "5", code=3).out


PYTHON = {
    "registry.py": "KNOWN = []\ndef known(f):\n    KNOWN.append(f)\n    return f\n"
    "class Base:\n    def __init_subclass__(cls): KNOWN.append(cls)\n"
    "class Kind(type):\n    def __new__(mcs, *words):\n        made = super().__new__(mcs, *words)\n        KNOWN.append(made)\n        return made\n",
    "work.py": "import registry\nimport lib\nfor found in registry.KNOWN: found(3)\n",
}
CALL = "return sum(range(1000 * n))"


@pytest.mark.parametrize(
    "lib",
    [
        f"from registry import known\n@known\ndef third(n): {CALL}\n",
        f"import registry\nclass Third(registry.Base):\n    def __init__(self, n): {CALL.replace('return', 'self.n =')}\n",
        f"import registry\nclass Third(metaclass=registry.Kind):\n    def __init__(self, n): {CALL.replace('return', 'self.n =')}\n",
        f"import registry\nif registry:\n    @registry.known\n    def third(n): {CALL}\nelse:\n    third = None\n",
        f"import registry\ndef third(n): {CALL}\nregistry.KNOWN.append(third)\n",
        f"import registry\ndef third(n): {CALL}\nregistry.known = third\n",
        f"import registry\nexec('registry.KNOWN.append(third)') if 0 else None\ndef third(n): {CALL}\n",
        f"import registry\ndef __getattr__(name): n = 3; {CALL}\n",
        f"import registry\nclass Third:\n    @registry.known\n    def third(self, n=3): {CALL}\n",
    ],
)
def test_a_function_of_python_that_others_call_for_it_keeps_its_benchmark(project, perf, lib):
    project.configure('cmd = "python work.py"')
    project.commit("begin", **PYTHON, **{"lib.py": lib})
    project.commit("slower", **{"lib.py": lib.replace("1000", "1180")})
    assert kept(perf)
    project.commit("another", **{"apart.py": "def other(n): return n\n"})
    assert not kept(perf)


def test_a_new_getattr_of_a_module_may_change_anything_that_loads_it(project, perf):
    project.configure('cmd = "python work.py"')
    files = {"lib.py": "N = 3\n", "work.py": "import lib\nprint(hasattr(lib, 'fast'))\n"}
    project.commit("begin", **files)
    project.commit("falls back", **{"lib.py": "N = 3\ndef __getattr__(name): return 1\n"})
    assert kept(perf)
