"""Names: one means one thing, and variables are nouns of the field rather than pronouns."""

from __future__ import annotations

import ast
import re
from collections import Counter, defaultdict

from tests.syntax_trees import LIBRARY, syntax_trees, walk

FACE = "compat"  # has TVM's names for what te_sched has too


def test_public_classes_have_names_of_their_own() -> None:
    places: dict[str, list[str]] = defaultdict(list)
    for path, tree in syntax_trees().items():
        if FACE in path.relative_to(LIBRARY).parts:
            continue
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(str(path.relative_to(LIBRARY)))
    assert {name: where for name, where in places.items() if len(where) > 1} == {}


# These may only become fewer; write a smaller number down where there are fewer.
MOST_PRONOUNS = 56
PRONOUNS = {"one", "found", "place", "given", "known", "made", "told"}
MOST_SHARERS = 3  # private classes of one name, in as many files
MOST_ANY = {"ir": 18, "trace": 21}  # `Any` for each 1,000 lines of a package
MOST_ANY_IN_GRAPHS = 462  # `Any` in relax, the largest package


def test_variables_are_nouns_of_the_field() -> None:
    """`for variable in group.variables` says more than `for one in found`."""
    count = sum(
        (isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id in PRONOUNS)
        or (isinstance(node, ast.arg) and node.arg in PRONOUNS)
        for tree in syntax_trees().values()
        for node in walk(tree)
    )
    assert count <= MOST_PRONOUNS


def test_private_classes_do_not_share_a_name_with_many() -> None:
    names = Counter(
        node.name
        for tree in syntax_trees().values()
        for node in tree.body
        if isinstance(node, ast.ClassDef) and node.name.startswith("_")
    )
    name, count = names.most_common(1)[0]
    assert count <= MOST_SHARERS, name


def test_annotations_say_what_values_are() -> None:
    """`Any` is for values that no type describes; what is only printed or compared is `object`."""
    for package, most in MOST_ANY.items():
        texts = _texts_of(package)
        lines = sum(text.count("\n") for text in texts)
        assert 1000 * _uses_of_any(texts) / lines <= most, package


def test_annotations_of_graphs_say_what_values_are() -> None:
    assert _uses_of_any(_texts_of("relax")) <= MOST_ANY_IN_GRAPHS


def _texts_of(package: str) -> list[str]:
    return [path.read_text() for path in (LIBRARY / package).rglob("*.py")]


def _uses_of_any(texts: list[str]) -> int:
    return sum(len(re.findall(r"\bAny\b", text)) for text in texts)
