"""Every class of nodes is known to the walker, the verifier, both printers and the comparer."""

from __future__ import annotations

import dataclasses
import importlib
import pkgutil

import pytest

import te_sched.ir
from te_sched.ir import expr as E
from te_sched.ir import stmt as S
from te_sched.ir import term_keys, verify
from te_sched.ir.expr import Expr, Node, Var, node
from te_sched.ir.roles import Role, role, roles_of
from te_sched.ir.visitor import FIELD_ROLES

# Families of operations, of which no node is one itself.
ABSTRACT = {E.BinaryOp, E.CompareOp}
PRINTERS = {
    "script": ("script_expr._METHODS", "script._STATEMENTS"),
    "primfn": ("primfn._EXPRESSIONS", "primfn._STATEMENTS"),
}
PLAIN_TYPES = {"str", "int", "float", "bool", "tuple[int, ...]", "PointerType | None", "Op"}
PLAIN_TYPES |= {"np.ndarray[Any, Any]", "str | None", "SourceLines"}


def node_classes() -> list[type]:
    """The classes of nodes that any module of te_sched.ir defines."""
    modules = [
        importlib.import_module(found.name)
        for found in pkgutil.walk_packages(te_sched.ir.__path__, "te_sched.ir.")
    ]
    found = {
        value: None
        for module in modules
        for value in vars(module).values()
        if isinstance(value, type) and issubclass(value, Node) and dataclasses.is_dataclass(value)
    }
    return list(found)


def is_printed(kind: type, printer: str) -> bool:
    """Whether a table of a printer has a class of nodes."""
    places = [place.split(".") for place in PRINTERS[printer]]
    modules = [importlib.import_module(f"te_sched.ir.printer.{module}") for module, _ in places]
    return any(
        kind in getattr(module, table) for module, (_, table) in zip(modules, places, strict=True)
    )


def missing(kind: type) -> list[str]:
    """Where a class of nodes is not known."""
    is_value, is_statement = issubclass(kind, Expr), issubclass(kind, S.Stmt)
    allowed = {one for level in verify.LEVELS.values() for one in level.nodes}
    types = {field.name: str(field.type) for field in dataclasses.fields(kind)}
    wrong = [
        f"role of {kind.__name__}.{name}"
        for name, what in roles_of(kind).items()
        if (what is Role.VALUE) != (types[name] in PLAIN_TYPES)
    ]
    if kind not in FIELD_ROLES:
        wrong.append("walker, mappers and comparer (visitor.NODE_CLASSES)")
    if kind in ABSTRACT or not (is_value or is_statement):
        return wrong
    if kind not in allowed:
        wrong.append("level of the verifier (verify.LEVELS)")
    printers = (
        PRINTERS if is_value else ("script",)
    )  # primfn shows newer statements by their fields
    wrong += [f"printer {name}" for name in printers if not is_printed(kind, name)]
    if is_value and kind not in term_keys._KEYS:
        wrong.append("term_key")
    return wrong


@pytest.mark.parametrize("kind", node_classes(), ids=lambda kind: kind.__name__)
def test_class_of_nodes_is_known_everywhere(kind):
    assert missing(kind) == []


def test_new_class_of_nodes_is_missed_by_name():
    @node
    class Fake(Expr):
        value: Expr = role(Role.CHILD)
        var: Var

    assert missing(Fake) == [
        "role of Fake.var",
        "walker, mappers and comparer (visitor.NODE_CLASSES)",
        "level of the verifier (verify.LEVELS)",
        "printer script",
        "printer primfn",
        "term_key",
    ]


@pytest.mark.parametrize("name", sorted(verify.LEVELS))
def test_levels_allow_no_family(name):
    assert not ABSTRACT & verify.LEVELS[name].nodes
