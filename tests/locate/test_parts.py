"""Sources are cut into parts that say what changed between two versions, and what each part
names.
"""

from __future__ import annotations

import time

import pytest
from cases import each
from hypothesis import given, strategies

from perfvcs.locate.sources import language, read
from perfvcs.locate.sources.differences import _source_change
from perfvcs.locate.sources.parts import COMPUTED, GLOBAL, LISTING, Parts


def changed(old: str, new: str, path: str = "a.py") -> tuple[set[str], set[str], bool]:
    """The functions that differ, the names that the differing statements bind, and whether one of
    these may change anything.
    """
    found = _source_change(
        path, language(path), old.encode(), new.encode(), added=False, removed=False
    )
    assert not found.why
    names = {name for statement in found.statements for name in statement.binds}
    return set(found.functions), names, any(statement.effect for statement in found.statements)


NOTHING: tuple[set[str], set[str], bool] = (set(), set(), False)
F = "def f(a):\n    return a\n"


@pytest.mark.parametrize(
    "new",
    [
        "# why\ndef f( a ) :\n\n    return (a)  # so\n",
        'def f(a):\n    """Say why."""\n    return a\n',
        '"""A module."""\ndef f(a: int) -> "int":\n    return a\n',
    ],
)
def test_comments_layout_docstrings_and_annotations_change_nothing(new):
    assert changed(F, new) == NOTHING


@each(
    "old new functions names effect",
    [
        (F, "def f(a):\n    return a + 1\n", {"f"}, set(), False),
        (F, "def f(a=1):\n    return a\n", {"f"}, {"f"}, False),
        (F, f"@slow\n{F}", set(), {"f"}, False),
        (F, f"{F}def g(): return 2\n", {"g"}, {"g"}, False),
        (F, "async def f(a):\n    return a\n", {"f"}, set(), False),
        (
            "class A:\n    def m(self): pass\n",
            "class A:\n    def m(self): return 1\n",
            {"A.m"},
            set(),
            False,
        ),
        ("class A:\n    x = 1\n", "class A:\n    x = 2\n", set(), {"x", "A"}, False),
        ("class A(B): pass\n", "class A(C): pass\n", set(), {"A"}, False),
        (
            "class A(B): pass\n",
            "class A(B):\n    def run(self): pass\n",
            {"A.run"},
            {"run", "A"},
            False,
        ),
        ("class A: pass\n", "class A:\n    def run(self): pass\n", {"A.run"}, {"run"}, False),
        (
            "class A: pass\n",
            "class A:\n    def __eq__(self, o): pass\n",
            {"A.__eq__"},
            {"__eq__", "A"},
            False,
        ),
        ("N = 1\n", "N = 2\n", set(), {"N"}, False),
        ("N = 1\n", "N = 1\nregister(N)\n", set(), {"register"}, True),
        ("d = {}\n", "d = {}\nd['a'] = 1\n", set(), {"d"}, True),
        (
            "try: import c\nexcept ImportError: c = 0\n",
            "try: import c\nexcept Exception: c = 0\n",
            set(),
            {"c"},
            False,
        ),
        ("if A:\n    N = 1\n", "if B:\n    N = 1\n", set(), {"N"}, False),
        ("import os\n", "import os, re\n", set(), {"os", "re"}, False),
        (
            "x = 1\nx += f()\nfor i in x: g(i)\n",
            "x = 1\nfor i in x: g(i)\nx += f()\n",
            set(),
            {"g", "i", "x"},
            True,
        ),
        (
            "import a\nimport b\ndef f(): pass\ndef g(): pass\n",
            "import b\nimport a\ndef g(): pass\ndef f(): pass\n",
            set(),
            set(),
            False,
        ),
        (
            "if TYPE_CHECKING:\n    import a\n",
            "if TYPE_CHECKING:\n    import a, b\n",
            set(),
            set(),
            False,
        ),
        (
            "def f():\n    def g(): return 1\n    return g\n",
            "def f():\n    def g(): return 2\n    return g\n",
            {"f"},
            set(),
            False,
        ),
        (
            "import pytest\n",
            "import pytest\n@pytest.fixture(autouse=True)\ndef quick(): pass\n",
            {"quick"},
            {"quick"},
            True,
        ),
    ],
)
def test_a_change_of_python_is_that_of_functions_names_or_everything(
    old, new, functions, names, effect
):
    assert changed(old, new) == (functions, names, effect)


def test_what_only_the_program_runs_is_marked():
    found = read("python", b"if __name__ == '__main__':\n    main()\n")
    assert found is not None and all(statement.main for statement in found.statements)


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("return getattr(self, 'visit_' + name)", COMPUTED),
        ("return vars(self)", COMPUTED),
        ("return globals()[name]", GLOBAL),
        ("return importlib.import_module(name)", LISTING),
        ("return folder.glob('*.py')", LISTING),
        ("return getattr(self, 'visit_a')", "visit_a"),
        ("return mock.patch('package.module.name')", "module"),
        ("return open('data/input.csv')", "input.csv"),
    ],
)
def test_names_in_strings_and_names_that_are_computed_are_mentioned(source, name):
    found = read("python", f"def f(self, name, folder):\n    {source}\n".encode())
    assert found is not None
    assert name in found.functions["f"].mentions


@pytest.mark.parametrize(
    "source",
    [
        b"def f(:\n",
        b"print 'hello'\n",
        b"a = 1\0",
        b"(" * 10_000,
        b"\xff\xfe",
        b"# " + b"x" * (5 << 20),
    ],
)
def test_what_no_parser_reads_is_said_to_be_so(source):
    assert read("python", source) is None


C = (
    "#define N 3\nstruct s { int a; };\nstatic int f(int a)\n{\n    return a * N;\n}\nint g(void) {"
    " return f(2); }\n"
)


@pytest.mark.parametrize(
    ("new", "functions", "names", "effect"),
    [
        (C.replace("a * N", "a /* so */ * N // why\n"), set(), set(), False),
        (C.replace("a * N", "a + N"), {"f"}, set(), False),
        (C.replace("N 3", "N 4"), set(), {"N"}, False),
        (C.replace("int a; }", "int a, b; }"), set(), {"a", "b"}, False),
        (C + "int h(void) { return 1; }\n", {"h"}, {"h"}, False),
        ("#include <math.h>\n" + C, set(), set(), True),
        ("#ifdef FAST\n" + C + "#endif\n", {"f", "g"}, {"N", "a", "s"}, False),
        (C + "int table[] = {1, 2, 3};\n", set(), {"table"}, False),
    ],
)
def test_a_change_of_c_is_that_of_functions_names_or_everything(new, functions, names, effect):
    assert changed(C, new, "a.c") == (functions, names, effect)


def test_functions_of_cpp_have_their_classes_and_namespaces():
    source = (
        b"namespace q { template <class T> class K : public L<T> { K() : a{1} {} int m() const {"
        b" return 1; } ~K() { free(a); } bool operator==(const K &o) const { return a == o.a; } int"
        b' a; };\nvoid K::d() { f(1); } }\nextern "C" { int e(void) { return R"(})"[0]; } }\nauto x'
        b" = [](int y) { return y; };\n"
    )
    found = read("c", source)
    assert found is not None
    assert {"q::K::m", "q::K::~K", "q::K::d", "e", "q::K::operator=="} <= set(found.functions)


def test_macros_in_a_declaration_are_not_the_function():
    found = read(
        "c",
        b"EXPORT(char *) make(int a) { return b(); }\nstatic API(void) end(void) { c(); }\nvoid"
        b" f(int a) NOEXCEPT(true) { d(); }\n",
    )
    assert found is not None and set(found.functions) == {"make", "end", "f"}


def test_a_parameter_is_not_the_function_of_its_name():
    found = read(
        "c",
        b"int f(int slow, const int *fast, int call, struct kind, S *s) { return slow + *fast +"
        b" call(1) + s->slow + kind; }\n",
    )
    assert found is not None and set(found.functions["f"].mentions) == {"S", "call", "kind", "slow"}
    found = read("c", b"int f(int slow, const int *fast) { return slow + *fast; }\n")
    assert found is not None and found.functions["f"].mentions == ()


def test_what_stands_inside_of_a_body_means_something_behind_it():
    found = read(
        "c",
        b'int f(void) {\n#define N 3\n#include "body.h"\n return N; }\nint g(void) { return'
        b' open("data/readme.txt"); }\n',
    )
    assert (
        found is not None
        and found.uses == ("body.h",)
        and "N" in {name for one in found.statements for name in one.binds}
    )
    assert "readme.txt" in found.functions["g"].mentions


@pytest.mark.slow
@pytest.mark.parametrize(
    "source",
    [
        "namespace a {" * 10_000 + "}" * 10_000,
        "int a = {" + "{1}, " * 40_000 + "};",
        "K::K() : " + "a{1}, " * 20_000 + "b(2) {}",
        "M(" * 100_000 + "{" * 5 + "}" * 5,
        "int f(" + "int (*a)(int), " * 20_000 + "int b) { return 1; }",
        "A<" * 200_000 + "int f(int a) { return 1; }",
        "int x = 1;\n#if A\n" * 20_000,
    ],
)
def test_time_to_read_grows_no_faster_than_the_source(source):
    began = time.process_time()
    read("c", source.encode())
    assert time.process_time() - began < 10


def test_braces_that_do_not_match_are_not_read():
    assert read("c", b"int f(void) {\n#ifdef X\nif (a) {\n#endif\nif (b) {\n} }\n") is None


FORTRAN = """module heat
  use kinds, only: dp
  implicit none
  integer, parameter :: n = 10
contains
  subroutine step(u) ! one
    real :: u
    call advance(u, &
      n)
  end subroutine step
  pure real function norm(u)
    norm = u
  end function
end module
"""


@pytest.mark.parametrize(
    ("new", "functions", "names"),
    [
        (FORTRAN.replace("! one", "! another"), set(), set()),
        (FORTRAN.upper(), set(), set()),
        (FORTRAN.replace("norm = u", "norm = 2 * u"), {"norm"}, set()),
        (FORTRAN.replace("= 10", "= 20"), set(), {"n"}),
        (FORTRAN.replace("kinds", "sorts"), set(), {"kinds", "sorts", "dp"}),
    ],
)
def test_a_change_of_fortran_is_that_of_procedures_or_names(new, functions, names):
    assert changed(FORTRAN, new, "heat.f90") == (functions, names, False)


def test_fortran_says_which_modules_it_uses_and_defines():
    found = read("fortran", FORTRAN.encode())
    assert found is not None and found.uses == ("kinds",) and found.provides == ("heat",)
    fixed = (
        b"C     COMMENT\n      SUBROUTINE S(A)\n      REAL A\n      CALL T(A,\n     &  B)\n     "
        b" END\n"
    )
    found = read("fortran", fixed)
    assert found is not None and set(found.functions["s"].mentions) == {"a", "b", "t"}


@pytest.mark.parametrize(
    "source",
    [
        "MAKE(third)\n  x = 1\n  end subroutine\n",
        "module m\ncontains\nMAKE(third)\n  call slow()\nend subroutine\nend module\n",
        "call slow()\nend\n",
        (
            "submodule (m) s\ncontains\nmodule procedure third\n  call slow()\nend procedure\nend"
            " submodule\n"
        ),
    ],
)
def test_fortran_that_a_macro_began_is_not_read(source):
    assert read("fortran", source.encode()) is None


@pytest.mark.parametrize(
    "line",
    [
        "BEGIN(third)",
        "x = 1",
        "call slow()",
        "interface operator(+)\n procedure add\nend interface",
        "MAKE third",
    ],
)
def test_what_declares_nothing_in_a_module_of_fortran_is_not_certain(line):
    found = read("fortran", f"module m\n  integer :: n\n  {line}\nend module\n".encode())
    assert found is not None and [one.unclear for one in found.statements if one.unclear] == [True]


LOOPS = """module m
  interface norm
    module procedure norm_a, norm_b
  end interface
contains
  subroutine s(a)
    integer :: a, i
    do i = 1, a
      call t(i)
    end do
    if (a > 1) then
      call v(a)
    end if
    entry second(a)
    call w(a)
  end subroutine s
end module
"""


def test_what_belongs_together_in_fortran_is_read_as_one():
    found = read("fortran", LOOPS.encode())
    assert found is not None and {"t", "v", "w"} <= set(found.functions["s"].mentions)
    means = {statement.binds[0]: statement.mentions for statement in found.statements}
    assert {"norm_a", "norm_b"} <= set(means["norm"]) and means["second"] == ("s",)


@given(
    strategies.binary(max_size=200)
    | strategies.text(alphabet="{}()#\"'/*;\n ab=:&!", max_size=60).map(str.encode)
)
def test_any_content_is_read_or_not_and_never_fails(source):
    for kind in ("python", "c", "fortran"):
        assert isinstance(read(kind, source), Parts | None)


@pytest.mark.parametrize(
    ("source", "functions"),
    [
        (
            (
                "int f(int a) {\n#ifdef X\n  if (a) {\n#else\n  if (!a) {\n#endif\n  a++; }\n "
                " return a; }\nint g(void) { return 1; }\n"
            ),
            {"f", "g"},
        ),
        (
            (
                "#ifdef X\nint f(int a) {\n#else\nint h(long a) {\n#endif\n  return a; }\nint"
                " g(void) { return 1; }\n"
            ),
            {"g"},
        ),
        (
            (
                "int f(int a) {\n#if A\n  { a++;\n#elif B\n  { a--;\n#else\n  {\n#endif\n  } return"
                " a; }\nint g(void) { return 1; }\n"
            ),
            {"f", "g"},
        ),
        (
            (
                '#ifdef C\nextern "C" {\n#endif\nint f(void) { return 1; }\n#ifdef'
                " C\n}\n#endif\nint g(void) { return 1; }\n"
            ),
            {"f", "g"},
        ),
        ("int f(void) {\n#else\n#endif\n#endif\n}\n", set()),
    ],
)
def test_branches_of_conditions_are_alternatives(source, functions):
    found = read("c", source.encode())
    assert found is not None and set(found.functions) == functions
