"""`perf select` keeps the benchmark of a function whose head a macro has written, or may have: what
is not understood is kept.
"""

from __future__ import annotations

import re
import subprocess

import pytest

INNER = "volatile int i; for (i = 0; i < 1000 * n; i++); return i;"
BODY = "{ " + INNER + " }"
TEXTS = {
    "BODY": BODY,
    "BARE": BODY.replace("return i;", ""),
    "INNER": INNER,
    "POINTER": BODY.replace("return i", "return i ? other : 0"),
}
OTHER = "int other(int n) { return n + 1; }\n"
# each with its name, how `main` calls it, and "(any)" where the names that a macro composes may be
# those of any function
HEADS = r"""
== a macro: third(3)
#define DEFINE(name) int name(int n)
DEFINE(third) BODY
== a macro behind static: third(3)
#define DEFINE(name) name(int n)
static int DEFINE(third) BODY
== a macro in small letters: third(3)
#define define(name) name(int n)
static int define(third) BODY
== a system call: sys_third(3) (any)
#define SYSCALL_DEFINE1(name, t, a) int sys_##name(t a)
SYSCALL_DEFINE1(third, int, n) BODY
== a function of PHP: zif_third(3) (any)
#define PHP_FUNCTION(name) int zif_##name(int n)
PHP_FUNCTION(third) BODY
== a test: third_one(3) (any)
#define TEST(a, b) int a##_##b(int n)
TEST(third, one) BODY
== a name in brackets: third(3)
int (third)(int n) BODY
== a name from a macro: lib_third(3) (any)
#define NAME(name) lib_##name
int NAME(third)(int n) BODY
== a type from a macro: third(3)
#define RETURNS(type) type
RETURNS(int) third(int n) BODY
== parameters in a macro: third(3)
#define PARAMS(list) list
int third PARAMS((int n)) BODY
== an attribute in a macro: third(3)
#define HOT(level) __attribute__((hot))
HOT(3) int third(int n) BODY
== an attribute: third(3)
__attribute__((noinline)) int third(int n) BODY
== a macro behind: third(3)
#define CHECKED(n)
int third(int n) CHECKED(n) BODY
== the heads of 1978: third(3)
int third(n) int n; BODY
== a pointer to a function: (third(3) != 0)
int (*third(int n))(int) POINTER
== two heads for one body: third(3)
#ifdef FAST
int fourth(int n)
{
#else
int third(int n)
{
#endif
BODY }
== a head with a condition: third(3)
int
#ifdef FAST
fourth
#else
third
#endif
(int n) BODY
== macros for the braces: third(3)
#define BEGIN {
#define END }
int third(int n) BEGIN  INNER  END
== a body in a macro's brackets: third(3) (any)
#define DEFINE(name, body) int name(int n) body
DEFINE(third, BODY)
== a renamed function: lib_third(3)
#define third lib_third
int third(int n) BODY
#undef third
int lib_third(int);
== what the linker calls: 0
static int n = 3;
__attribute__((constructor)) static void third(void) BARE
== a pasted call: CALL(third)(3) (any)
#define CALL(name) do_##name
int do_third(int n) BODY
== a table of pasted names: rows[0](3) (any)
#define ROW(x) do_##x
int do_third(int n) BODY
int (*rows[])(int) = { ROW(third) };
== a name as a parameter elsewhere: third(3)
#define DEFINE(name) int name(int n)
int second(int third) { return third; }
DEFINE(third) BODY
== a condition of a template: third(3) (C++)
template <typename T, ENABLE_IF(sizeof(T) > 2)> int third(T n) BODY
== a method that another tool finds: Box().third(3) (C++)
struct Box { Q_INVOKABLE int third(int n) BODY };
== a method behind a macro: Box().third(3) (C++)
struct Box { PROPERTY(int) int third(int n) BODY };
== an operator: Box() + 3 (C++)
struct Box { int a; };
int operator+(Box, int n) BODY
== an operator in a macro: Box() + 3 (C++)
struct Box { int a; };
#define OPERATOR(sign) int operator sign
OPERATOR(+)(Box, int n) BODY
== a conversion: int(Box()) (C++)
struct Box { int n; operator int() const BODY };
== initialisers in a macro: Box(3).a (C++)
struct Box { int a; Box(int n) : SET(a, n) BARE };
== initialisers in braces: Box(3).a (C++)
struct Box { int a; Box(int n) : a{n} BARE };
== a macro for extern C: third(3) (C++)
BEGIN_DECLS
int third(int n) BODY
END_DECLS
== a lambda outside of functions: third(3) (C++)
auto third = [](int n) BODY;
== a value from a call: 0 (C++)
static int third(int n) BODY
static int begun = third(3);
== a block of try: third(3) (C++)
int third(int n) try BODY catch (...) { return 0; }
== a type behind: third(3) (C++)
auto third(int n) -> decltype(n + 1) BODY
== a class from a macro: Box().third(3) (C++)
#define CLASS(name) struct name
CLASS(Box) { int third(int n) BODY };
"""
CASES = re.findall(r"== (.*): (.*?)( \(C\+\+\))?( \(any\))?\n((?:(?!==).*\n)+)", HEADS)
CPP = """#include <type_traits>
#define ENABLE_IF(...) typename std::enable_if<(__VA_ARGS__), int>::type = 0
#define Q_INVOKABLE
#define PROPERTY(type)
#define SET(a, n) a(n)
#define BEGIN_DECLS extern "C" {
#define END_DECLS }
"""


def kept(perf) -> bool:
    """Whether the change touches the only benchmark."""
    return bool(perf("select", "HEAD~1..HEAD", "--json").document["run"])


@pytest.mark.needs("g++")
@pytest.mark.parametrize("case", CASES, ids=[case[0] for case in CASES])
@pytest.mark.parametrize("called", [False, True], ids=["itself", "what it calls"])
def test_a_function_with_any_head_keeps_its_benchmark(project, perf, case, called):
    _, call, cpp, composed, text = case
    text = re.sub("|".join(TEXTS), lambda found: TEXTS[found[0]], text)
    source = f"{CPP if cpp else ''}{OTHER}{text}int main(void) {{ return {call} < 0; }}\n"
    if called:
        source = source.replace(OTHER, OTHER + "static int slow(int n) { return 1000 * n; }\n")
        source = source.replace("i < 1000 * n", "i < slow(n)")
    name, compiler = ("work.cc", "g++") if cpp else ("work.c", "gcc")
    slower = source.replace("1000", "1180")
    project.configure('cmd = "./work"')
    project.commit("begin", **{name: source})
    subprocess.run([compiler, "-fsyntax-only", name], cwd=project.root, check=True)
    project.commit("slower", **{name: slower})
    assert kept(perf)
    if not composed:
        project.commit("another", **{name: slower.replace("n + 1; }", "n + 2; }")})
        assert kept(perf) == ("POINTER" in case[-1])


def test_there_are_as_many_heads_as_are_written():
    assert len(CASES) == HEADS.count("== ") >= 20


@pytest.mark.needs("gcc", "valgrind")
def test_a_slower_function_with_a_macro_for_a_head_fails_the_check(project, perf):
    source = f"#define DEFINE(name) int name(int n)\nDEFINE(third) {BODY}\n{OTHER}"
    source += "int main(void) { return third(99) < 0; }\n"
    project.configure(
        'cmd = "./work"\ncollectors = ["instructions"]', top='build = ["gcc -o work work.c"]'
    )
    project.commit("begin", **{"work.c": source, ".gitignore": "work\n"})
    perf("collect", "-n", "3", "-q")
    project.commit("slower", **{"work.c": source.replace("1000", "1180")})
    assert "1 degradation" in perf("check", "--measure", "--select", "-n", "5", code=3).out


REGISTRY = """KNOWN = []
def known(f):
    KNOWN.append(f)
    return f
class Base:
    def __init_subclass__(cls): KNOWN.append(cls)
class Kind(type):
    def __new__(mcs, *words):
        made = super().__new__(mcs, *words)
        KNOWN.append(made)
        return made
"""
WORK = "import registry\nimport lib\nfor found in registry.KNOWN: found(3)\n"
CALL = "return sum(range(1000 * n))"


@pytest.mark.parametrize(
    "lib",
    [
        f"from registry import known\n@known\ndef third(n): {CALL}\n",
        (
            "import registry\nclass Third(registry.Base):\n    def __init__(self, n):"
            f" {CALL.replace('return', 'self.n =')}\n"
        ),
        (
            "import registry\nclass Third(metaclass=registry.Kind):\n    def __init__(self, n):"
            f" {CALL.replace('return', 'self.n =')}\n"
        ),
        (
            f"import registry\nif registry:\n    @registry.known\n    def third(n): {CALL}\nelse:\n"
            "    third = None\n"
        ),
        f"import registry\ndef third(n): {CALL}\nregistry.KNOWN.append(third)\n",
        f"import registry\ndef third(n): {CALL}\nregistry.known = third\n",
        (
            "import registry\nexec('registry.KNOWN.append(third)') if 0 else None\ndef third(n):"
            f" {CALL}\n"
        ),
        f"import registry\ndef __getattr__(name): n = 3; {CALL}\n",
        f"import registry\nclass Third:\n    @registry.known\n    def third(self, n=3): {CALL}\n",
    ],
)
def test_a_function_of_python_that_others_call_for_it_keeps_its_benchmark(project, perf, lib):
    project.configure('cmd = "python work.py"')
    project.commit("begin", **{"registry.py": REGISTRY, "work.py": WORK, "lib.py": lib})
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
