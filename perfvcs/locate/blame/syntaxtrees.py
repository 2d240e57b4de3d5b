"""Counts what is in one side of a changed function, by tree-sitter: of all languages but Python."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import TYPE_CHECKING

from perfvcs.locate.blame.features import LOCKS, Features
from perfvcs.locate.sources import language
from perfvcs.locate.sources.grammars import language_of, text_of, tree, unread, unread_bytes
from perfvcs.text.words import wordset

if TYPE_CHECKING:
    from tree_sitter import Node


# kinds of nodes in the grammars of all languages, which agree where they use the same word
DECLARING = wordset("parameter_declaration for_range_loop")
LOOPS = wordset(
    "for_statement while_statement do_statement for_range_loop for_in_statement loop_statement"
    " enhanced_for_statement foreach_statement repeat_statement c_style_for_statement"
    " for_expression while_expression loop_expression for while until while_modifier"
    " until_modifier map_grep_expression postfix_for_expression postfix_loop_expression"
    " cstyle_for_statement"
)
CONDITIONS = wordset(
    "if_statement switch_statement conditional_expression ternary_expression if_expression"
    " match_expression if unless case if_modifier unless_modifier conditional switch_expression"
    " conditional_statement postfix_conditional_expression elseif_statement elif_clause"
    " expression_switch_statement type_switch_statement case_statement"
)
EXCEPTIONS = wordset(
    "try_statement throw_statement catch_clause goto_statement throw_expression rescue begin"
    " eval_expression try_with_resources_statement"
)
EXITS = wordset("break_statement return_statement break_expression return_expression return break")
CALLS = wordset(
    "call_expression invocation_expression method_invocation function_call call command"
    " function_call_expression method_call_expression ambiguous_function_call_expression"
    " func1op_call_expression macro_invocation"
)
# the field that has what is called, the first that a node has
CALLED = ("function", "method", "name", "macro")
# the field that has the last part of a qualified name
LAST = ("field", "property", "name", "method", "type")
MAKING = wordset("object_creation_expression new_expression delete_expression")
IMPORTING = wordset(
    "import_statement import_spec import_declaration use_declaration using_directive use_statement"
)
LOCKED = wordset("synchronized_statement lock_statement")
# functions that are given a block or a function, which they call again and again
REPEATING = wordset(
    "each each_with_index each_char each_byte each_line each_slice each_pair map flat_map select"
    " filter reject times upto downto step inject reduce sum forEach some every find loop"
    " sort_by min_by max_by group_by for_each"
)
BLOCKS = wordset("block do_block arrow_function function_expression closure_expression")
NAMES = re.compile(r"[\w$]+")
STANDARD = wordset(
    "vector list map set multimap multiset unordered_map unordered_set deque array queue"
    " stack priority_queue flat_map flat_set"
) | wordset(
    "Map Set WeakMap Array HashMap HashSet TreeMap TreeSet LinkedHashMap LinkedList ArrayList"
    " ArrayDeque Vec VecDeque BTreeMap BTreeSet List Dictionary SortedDictionary Queue Stack Hash"
)
PREPROCESSOR = frozenset({"preproc_if", "preproc_elif"})
BRANCH = re.compile(rb"(?m)^[ \t]*#[ \t]*(?:if|ifdef|ifndef|elif|else|endif)\b(?:.*\\\n)*.*")
# the fields of a loop that are evaluated before it begins
EVALUATED_ONCE = frozenset({"initializer", "right", "value", "list", "init", "receiver"})
ASSERTION = re.compile(r"(?i)\w*assert$")


def available(path: str) -> bool:
    """Whether the grammar of a file's language is installed."""
    name = _grammar(path)
    return bool(name) and not unread(name)


def _grammar(path: str) -> str:
    """The grammar that reads a file; empty where none does."""
    if language(path) == "c":
        return "c" if path.endswith(".c") else "c++"
    return language_of(path)


def features(path: str, text: str, lines: Collection[int]) -> Features:
    """What is in some lines of a source, counted from 1."""
    content = Features()
    root = _read(path, text.encode("utf-8", "surrogatepass"))
    if lines and root is not None:
        _walk_tree(root, 0, frozenset(lines), content)
    return content


def _read(path: str, text: bytes) -> Node | None:
    """The syntax tree of a source; of C, without its preprocessor's branches where it can be read
    better so: an `else` may follow `#endif`.
    """
    name = _grammar(path)
    whole = tree(name, text)
    if whole is None or not whole.has_error or language(path) != "c":
        return whole
    bare = tree(name, BRANCH.sub(lambda branch: b"\n" * branch[0].count(b"\n"), text))
    return whole if bare is None else min(whole, bare, key=unread_bytes)


def _walk_tree(root: Node, depth: int, lines: frozenset[int], features: Features) -> None:
    """Add a node and all below it; the number of loops around each node is its depth."""
    first, last = min(lines), max(lines)
    waiting = [(root, depth)]
    while waiting:
        node, around = waiting.pop()
        line = node.start_point[0] + 1
        if line > last or node.end_point[0] + 1 < first:
            continue
        inner = around
        if line in lines:
            if _repeats(node):
                inner += 1
                features.loops[inner].append(line)
                if node.type in DECLARING:
                    _declared(node, line, features)
            else:
                _add(node, line, around, features)
        for number in range(node.child_count - 1, -1, -1):
            child = node.child(number)
            if child is None or not child.is_named:
                continue
            field = node.field_name_for_child(number)
            if not (node.type in PREPROCESSOR and field == "condition"):
                waiting.append(
                    (child, around if inner > around and field in EVALUATED_ONCE else inner)
                )


def _repeats(node: Node) -> bool:
    """Whether a node is a loop, or calls what it is given again and again."""
    if node.type in LOOPS:
        return node.is_named
    if node.type not in CALLS or _name(_called(node)) not in REPEATING:
        return False
    arguments = node.child_by_field_name("arguments")
    given = [*node.children, *(arguments.children if arguments is not None else ())]
    return any(child.type in BLOCKS for child in given)


def _add(node: Node, line: int, depth: int, features: Features) -> None:
    kind = node.type
    if not node.is_named:
        return
    if kind in CONDITIONS or ("binary" in kind and _operator(node) in ("&&", "and")):
        features.conditions.append(line)
    elif kind in EXITS:
        features.exits += [line] if depth else []
    elif kind in EXCEPTIONS:
        features.exceptions.append(line)
    elif kind in CALLS:
        _add_call(node, line, depth, features)
    elif kind in MAKING:
        features.calls[kind.partition("_")[0]].append((depth, line))
        _add_container(node.child_by_field_name("type"), line, depth, features)
        _add_container(node.child_by_field_name("constructor"), line, depth, features)
    elif kind in LOCKED:
        features.locks.append((depth, line))
    elif kind == "template_type":
        _add_container(node, line, depth, features)
    elif kind in DECLARING:
        _declared(node, line, features)
    elif kind == "preproc_include":
        path = node.child_by_field_name("path")
        if path is not None:
            features.imports[text_of(path).strip('<>"')] = line
    elif kind in IMPORTING:
        features.imports[" ".join(text_of(node).split()[1:])[:80].strip("'\";")] = line


def _add_call(node: Node, line: int, depth: int, features: Features) -> None:
    name = _name(_called(node))
    if ASSERTION.match(name):
        features.exceptions.append(line)
    elif name in ("require", "require_relative") and node.type != "command":
        features.imports[text_of(node)[:80]] = line
    elif name:
        features.calls[name].append((depth, line))
    if LOCKS.match(name):
        features.locks.append((depth, line))


def _add_container(node: Node | None, line: int, depth: int, features: Features) -> None:
    """Notes a container or a lock that is made or declared."""
    name = _name(node)
    if name in STANDARD:
        features.containers[name].append(line)
    elif LOCKS.match(name):
        features.locks.append((depth, line))


def _called(node: Node) -> Node | None:
    return next(filter(None, map(node.child_by_field_name, CALLED)), None)


def _declared(node: Node, line: int, features: Features) -> None:
    """Notes whether a parameter, or the variable of a loop over a range, is a reference."""
    declarator = node.child_by_field_name("declarator")
    is_reference = declarator is not None and declarator.type == "reference_declarator"
    if declarator is not None and (is_reference or declarator.type == "identifier"):
        name = text_of(declarator).lstrip("& ")
        features.references[name] = is_reference, line


def _operator(node: Node) -> str:
    operator = node.child_by_field_name("operator")
    return operator.type if operator is not None else ""


def _name(node: Node | None) -> str:
    """The last name of what is called or made: of ``a->b.c(...)`` and ``A::c<T>(...)``, ``c``."""
    while node is not None and "identifier" not in node.type.replace("scoped_identifier", ""):
        inner = next(filter(None, map(node.child_by_field_name, LAST)), None)
        if inner is None:
            names = NAMES.findall(text_of(node).partition("<")[0].partition("(")[0])
            return names[-1] if names else ""
        node = inner
    return text_of(node) if node is not None else ""
