"""Rewrite rules as rows of text, and the functions they are compiled to.

A row reads as algebra: `Row("cancel", "(x - y) + y", "x")`. In a pattern a name stands for
    c, c1, c2, ...   an integer constant        n, m          a number of lanes
    any other        an expression (the same name twice: the same expression)
and the functions are those of `_FUNCTIONS`. `when` is Python over the constants (as ints), and
over
    low(x), high(x)  the constant bounds of x, and the other predicates of `rewrite.Rewriter`

Because rows are text, tests evaluate both sides on integers. Rows are compiled when an operator
is first rewritten. Must not know which rules there are.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterable
from math import gcd
from typing import Any, NamedTuple

from te_sched.arith import build
from te_sched.arith.structural_equality import same
from te_sched.ir import expr as E
from te_sched.ir.expr import Expr, IntImm

# Functions of numbers that `when` and constant parts of results may call.
_NUMBERS = frozenset(("abs", "gcd", "max", "min"))


class Row(NamedTuple):
    """One identity: `pattern` may be replaced by `result` where `when` holds.

    `again`: the result is rewritten once more, because its parts are new. `newer`: TVM 0.9 did not
    have the rule (see `config.Lowering.as_older`).
    """

    name: str
    pattern: str
    result: str
    when: str = ""
    again: bool = False
    newer: bool = False


Rule = Callable[[Any, Any], Any]  # (expression, engine) -> the new expression or None

_OPERATORS: dict[type, str] = {
    ast.Add: "Add",
    ast.Sub: "Sub",
    ast.Mult: "Mul",
    ast.FloorDiv: "FloorDiv",
    ast.Mod: "FloorMod",
    ast.Lt: "LT",
    ast.LtE: "LE",
    ast.Eq: "EQ",
    ast.NotEq: "NE",
    ast.And: "And",
    ast.Or: "Or",
    ast.Not: "Not",
}
# Functions of the patterns: the node, and the fields of the operands in order.
_FUNCTIONS: dict[str, tuple[str, tuple[str, ...]]] = {
    "min": ("Min", ("a", "b")),
    "max": ("Max", ("a", "b")),
    "truncdiv": ("Div", ("a", "b")),
    "truncmod": ("Mod", ("a", "b")),
    "select": ("Select", ("condition", "true_value", "false_value")),
    "ramp": ("Ramp", ("base", "stride", "lanes")),
    "broadcast": ("Broadcast", ("value", "lanes")),
    "ite": ("Call", ("args[0]", "args[1]", "args[2]")),
}
_BUILDERS: dict[str, str] = {
    "Add": "add",
    "Sub": "sub",
    "Mul": "mul",
    "FloorDiv": "floordiv",
    "FloorMod": "floormod",
    "Min": "minimum",
    "Max": "maximum",
    "LT": "less",
    "LE": "less_equal",
    "EQ": "equal",
    "NE": "not_equal",
    "And": "both",
    "Or": "either",
    "Not": "negate",
    "Select": "select",
    "Call": "if_then_else",
    "Ramp": "ramp",
    "Broadcast": "broadcast",
    "Div": "truncdiv",
    "Mod": "truncmod",
}
_CLASSES: dict[str, type] = {name: getattr(E, name) for name in (*_BUILDERS, "IntImm")}


def _fitting(operation: Callable[[int, int], int], builder: Rule) -> Rule:
    """A builder for sides of rules, whose constants have to fit."""

    def build_fitting(a: Any, b: Any) -> Any:
        if type(a) is IntImm and type(b) is IntImm:
            return build.fitting(operation(a.value, b.value), a.dtype)
        return builder(a, b)

    return build_fitting


_NAMESPACE: dict[str, Any] = {
    **_CLASSES,
    "same": same,
    "gcd": gcd,
    "imm": build.fitting,
    "truth": build.truth,
    **{name: getattr(build, name) for name in _BUILDERS.values() if hasattr(build, name)},
    "add": _fitting(operator.add, build.add),
    "sub": _fitting(operator.sub, build.sub),
    "mul": _fitting(operator.mul, build.mul),
}


class _NegativeConstants(ast.NodeTransformer):
    """Makes `-1` one constant."""

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        self.generic_visit(node)
        operand = node.operand
        if (
            isinstance(node.op, ast.USub)
            and isinstance(operand, ast.Constant)
            and isinstance(operand.value, int)
        ):
            return ast.Constant(-operand.value)
        return node


def parse_side(text: str) -> ast.expr:
    """The syntax tree of one side of a row."""
    tree: ast.expr = _NegativeConstants().visit(ast.parse(text, mode="eval").body)
    return tree


def _head(tree: ast.expr) -> tuple[str, tuple[str, ...], list[ast.expr]]:
    """The node class, the fields and the operands that a tree asks for."""
    if isinstance(tree, ast.BinOp):
        return _OPERATORS[type(tree.op)], ("a", "b"), [tree.left, tree.right]
    if isinstance(tree, ast.Compare):
        return _OPERATORS[type(tree.ops[0])], ("a", "b"), [tree.left, tree.comparators[0]]
    if isinstance(tree, ast.BoolOp):
        return _OPERATORS[type(tree.op)], ("a", "b"), tree.values
    if isinstance(tree, ast.UnaryOp) and isinstance(tree.op, ast.Not):
        return "Not", ("a",), [tree.operand]
    assert isinstance(tree, ast.Call)
    assert isinstance(tree.func, ast.Name)
    kind, fields = _FUNCTIONS[tree.func.id]
    return kind, fields, tree.args


def is_constant_name(name: str) -> bool:
    """Whether a name of a pattern stands for an integer constant."""
    return name[0] == "c"


def is_lanes_name(name: str) -> bool:
    """Whether a name of a pattern stands for a number of lanes."""
    return name in ("n", "m")


class _Compiler:
    """Turns one row into the source of a function."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.bound: set[str] = set()
        self.count = 0

    def reject(self, condition: str) -> None:
        self.lines.append(f"    if {condition}: return None")

    def match(self, tree: ast.expr, place: str) -> None:
        """Emit the checks that `place` has the form of the tree."""
        if isinstance(tree, ast.Name):
            self.match_name(tree.id, place)
        elif isinstance(tree, ast.Constant):
            assert isinstance(tree.value, int)
            self.reject(f"type({place}) is not IntImm or {place}.value != {int(tree.value)}")
        else:
            self.match_operator(tree, place)

    def match_name(self, name: str, place: str) -> None:
        if is_lanes_name(name):
            self.lines.append(f"    if {name} != {place}: return None") if name in self.bound else (
                self.lines.append(f"    {name} = {place}")
            )
        elif is_constant_name(name):
            self.reject(f"type({place}) is not IntImm")
            if name in self.bound:
                self.reject(f"{place}.value != {name}")
            else:
                self.lines.append(f"    {name} = {place}.value")
        elif name in self.bound:
            self.reject(f"{place} is not {name} and not same({place}, {name})")
        else:
            self.lines.append(f"    {name} = {place}")
        self.bound.add(name)

    def match_operator(self, tree: ast.expr, place: str) -> None:
        kind, fields, operands = _head(tree)
        self.count += 1
        local = f"t{self.count}"
        self.lines.append(f"    {local} = {place}")
        self.reject(f"type({local}) is not {kind}")
        if kind == "Call":
            self.reject(f'{local}.op != "tir.if_then_else"')
        pending = list(zip(fields, operands, strict=True))
        # The cheap checks (classes and constants of the operands) come before the deep ones.
        for field, operand in pending:
            if not isinstance(operand, (ast.Name, ast.Constant)):
                self.reject(f"type({local}.{field}) is not {_head(operand)[0]}")
            elif isinstance(operand, ast.Name) and is_constant_name(operand.id):
                self.reject(f"type({local}.{field}) is not IntImm")
        for field, operand in pending:
            self.match(operand, f"{local}.{field}")

    def result(self, tree: ast.expr) -> str:
        """The source that builds a side; parts of constants alone are computed as integers."""
        if isinstance(tree, ast.Constant) and isinstance(tree.value, bool):
            return f"truth({tree.value!r}, e.dtype)"
        if _is_constant(tree):
            return f"imm({ast.unparse(tree)}, d)"
        if isinstance(tree, ast.Name):
            return tree.id
        kind, _, operands = _head(tree)
        parts = [part.id if _is_lanes(part) else self.result(part) for part in operands]  # type: ignore[attr-defined]
        return f"{_BUILDERS[kind]}({', '.join(parts)})"


def _is_constant(tree: ast.expr) -> bool:
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    helpers = _NUMBERS
    return all(is_constant_name(name) or name in helpers for name in names) and not any(
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id not in helpers
        for node in ast.walk(tree)
    )


def _is_lanes(tree: ast.expr) -> bool:
    return isinstance(tree, ast.Name) and is_lanes_name(tree.id)


class _Condition(ast.NodeTransformer):
    """Makes the predicates of `when` methods of the engine."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id not in _NUMBERS:
            node.func = ast.Attribute(ast.Name("s", ast.Load()), node.func.id, ast.Load())
        return node


def _source(row: Row, name: str) -> str:
    compiler = _Compiler()
    pattern = parse_side(row.pattern)
    compiler.match(pattern, "e")
    if row.when:
        condition = ast.unparse(_Condition().visit(parse_side(row.when)))
        compiler.reject(f"not ({condition})")
    if row.newer:
        compiler.reject("s.facts.is_older")
    build_result = compiler.result(parse_side(row.result))
    lines = [f"def {name}(e, s):", *compiler.lines]
    if "imm(" in build_result:
        lines.append("    d = s.operand_dtype(e)")
    lines.append(f"    return {f's.visit({build_result})' if row.again else build_result}")
    return "\n".join(lines)


def compile_row(row: Row) -> Rule:
    """The function of a row."""
    namespace = dict(_NAMESPACE)
    exec(compile(_source(row, "rule"), f"<rule {row.name}>", "exec"), namespace)
    rule: Rule = namespace["rule"]
    return rule


def _fits(tree: ast.expr, kind: type) -> bool:
    if isinstance(tree, ast.Name):
        return not is_constant_name(tree.id) or kind is IntImm
    if isinstance(tree, ast.Constant):
        return kind is IntImm
    return _CLASSES[_head(tree)[0]] is kind


class RuleTable:
    """The rules of one operator, chosen by the classes of its first two operands."""

    def __init__(self, rows: Iterable[Row]) -> None:
        self.rows = tuple(rows)
        self._rules: dict[str, Rule] = {}
        self._patterns: list[list[ast.expr]] | None = None
        self._chosen: dict[tuple[type, type], tuple[Rule, ...]] = {}

    def rules(self, first: type, second: type) -> tuple[Rule, ...]:
        """The rules that may match an expression whose operands are of these classes."""
        chosen = self._chosen.get((first, second))
        if chosen is None:
            chosen = self._chosen[first, second] = self._choose(first, second)
        return chosen

    def _choose(self, first: type, second: type) -> tuple[Rule, ...]:
        if self._patterns is None:
            self._patterns = [_head(parse_side(row.pattern))[2] for row in self.rows]
        chosen = []
        for row, operands in zip(self.rows, self._patterns, strict=True):
            kinds = (first, second)[: len(operands)]
            if all(_fits(tree, kind) for tree, kind in zip(operands, kinds, strict=False)):
                if row.name not in self._rules:
                    self._rules[row.name] = compile_row(row)
                chosen.append(self._rules[row.name])
        return tuple(chosen)


def apply(rules: tuple[Rule, ...], e: Expr, engine: Any) -> Expr | None:
    """What the first rule that matches makes of e, or None."""
    for rule in rules:
        try:
            found: Expr | None = rule(e, engine)
        except build.Overflow:
            continue
        if found is not None:
            return found
    return None
