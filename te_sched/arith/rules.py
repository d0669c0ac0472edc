"""Rewrite rules as lines of text, and their compilation to functions.

    (x - y) + y -> x                            where the left side is found, the right one is built
    x - y * c1 -> x + y * -c1 if c1 < 0         only where a condition holds
    x * y + x => x * (y + 1)                    the result is rewritten once more
    min([x + y], [x + z]) -> x + min(y, z)      [x + y] is x + y or y + x
    dual min(x, y) - x -> min(0, y - x)         and the same with min and max exchanged

In a pattern, names match
    c, c1, c2, ...   an integer constant        n, m          a number of lanes
    any other        an expression (the same name twice: the same expression)
and the functions are those of `_FUNCTIONS`. A condition, which may stand on a line of its own, is
Python over the constants (as ints), and over
    low(x), high(x)  the constant bounds of x, and the other predicates of `rewrite.Rewriter`

Because rules are text, tests evaluate both sides on integers. They are compiled when an operator
is first rewritten. Must not know the rules.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Iterator
from itertools import product
from math import gcd
from typing import Any, NamedTuple

from te_sched.arith import build
from te_sched.ir import dtypes
from te_sched.ir import expr as E
from te_sched.ir.expr import Expr, IntImm
from te_sched.ir.term_keys import same

# Functions of numbers for conditions and constant parts of results.
_NUMBERS = frozenset(("abs", "gcd", "max", "min"))


class Row(NamedTuple):
    """An identity: `pattern` may be replaced by `result` if `when` holds.

    `again`: the result is rewritten once more.
    """

    pattern: str
    result: str
    when: str = ""
    again: bool = False

    def __str__(self) -> str:
        arrow = "=>" if self.again else "->"
        return f"{self.pattern} {arrow} {self.result}" + (f" if {self.when}" if self.when else "")


_LINE = re.compile(r"^ *(dual )?(.+?) ([-=]>) (.+?)(?:\s+if (.+))?$", re.MULTILINE)
_DUALS = {"min": "max", "max": "min"}


def rows_of(text: str) -> Iterator[Row]:
    """The rows of lines of text; lines without an arrow are comments."""
    for is_dual, pattern, arrow, result, when in _LINE.findall(text):
        for variant in _in_all_orders(pattern):
            yield Row(variant, result, when, arrow == "=>")
            if is_dual:
                yield Row(_dual(variant), _dual(result), _dual(when), arrow == "=>")


def _dual(side: str) -> str:
    return re.sub(r"\b(min|max)\b", lambda name: _DUALS[name[0]], side)


def _in_all_orders(pattern: str) -> Iterator[str]:
    """The expansions of a pattern with operations in brackets."""
    if "[" not in pattern:
        yield pattern
        return
    for swaps in product((False, True), repeat=pattern.count("[")):
        yield ast.unparse(_Ordered(swaps).visit(parse_side(pattern)))


class _Ordered(ast.NodeTransformer):
    """Removes brackets around operations, and exchanges the operands of some."""

    def __init__(self, swaps: tuple[bool, ...]) -> None:
        self.swaps = iter(swaps)

    def visit_List(self, node: ast.List) -> ast.AST:
        is_swapped = next(self.swaps)
        self.generic_visit(node)
        (operation,) = node.elts
        if not is_swapped:
            return operation
        if isinstance(operation, ast.BinOp):
            return ast.BinOp(operation.right, operation.op, operation.left)
        if isinstance(operation, ast.BoolOp):
            return ast.BoolOp(operation.op, operation.values[::-1])
        assert isinstance(operation, ast.Call)
        return ast.Call(operation.func, operation.args[::-1], [])


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


def _fitting(operation: Callable[[int, int], int], builder: Rule) -> Rule:
    """A builder for sides of rules, which raises Overflow for constants that do not fit."""

    def build_fitting(a: Any, b: Any) -> Any:
        if type(a) is IntImm and type(b) is IntImm:
            return build.fitting(operation(a.value, b.value), a.dtype)
        return builder(a, b)

    return build_fitting


_BUILDERS: dict[str, Callable[..., Any]] = {
    **{kind.__name__: builder for kind, builder in build.BINARY.items()},
    "Add": _fitting(operator.add, build.add),
    "Sub": _fitting(operator.sub, build.sub),
    "Mul": _fitting(operator.mul, build.mul),
    "Not": build.negate,
    "Select": build.select,
    "Call": build.if_then_else,
    "Ramp": E.Ramp,
    "Broadcast": E.Broadcast,
}
_CLASSES: dict[str, type] = {name: getattr(E, name) for name in (*_BUILDERS, "IntImm")}
_NAMESPACE: dict[str, Any] = {
    **_CLASSES,
    **{f"build_{name}": builder for name, builder in _BUILDERS.items()},
    "same": same,
    "gcd": gcd,
    "imm": build.fitting,
    "truth": build.truth,
    "element": dtypes.element,
}


def parse_side(text: str) -> ast.expr:
    """The syntax tree of one side of a row."""
    return ast.parse(text, mode="eval").body


def _head(tree: ast.expr) -> tuple[str, tuple[str, ...], list[ast.expr]]:
    """The node class, the fields and the operands of a syntax tree."""
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
    """Whether a name of a pattern matches an integer constant."""
    return name[0] == "c"


def is_lanes_name(name: str) -> bool:
    """Whether a name of a pattern matches a number of lanes."""
    return name in ("n", "m")


class _Compiler:
    """Compiles a row to the source of a function."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.bound: set[str] = set()
        self.count = 0

    def reject(self, condition: str) -> None:
        self.lines.append(f"    if {condition}: return None")

    def match(self, tree: ast.expr, subject: str) -> None:
        """Emit the checks that the expression `subject` matches the tree."""
        if isinstance(tree, ast.Name):
            self.match_name(tree.id, subject)
        elif _is_constant(tree):
            self.reject(f"type({subject}) is not IntImm or {subject}.value != {ast.unparse(tree)}")
        else:
            self.match_operator(tree, subject)

    def match_name(self, name: str, subject: str) -> None:
        value = subject
        if is_constant_name(name):
            self.reject(f"type({subject}) is not IntImm")
            value = f"{subject}.value"
        if name not in self.bound:
            self.lines.append(f"    {name} = {value}")
        elif is_constant_name(name) or is_lanes_name(name):
            self.reject(f"{value} != {name}")
        else:
            self.reject(f"{subject} is not {name} and not same({subject}, {name})")
        self.bound.add(name)

    def match_operator(self, tree: ast.expr, subject: str) -> None:
        kind, fields, operands = _head(tree)
        self.count += 1
        local = f"t{self.count}"
        self.lines.append(f"    {local} = {subject}")
        self.reject(f"type({local}) is not {kind}")
        if kind == "Call":
            self.reject(f'{local}.op != "tir.if_then_else"')
        pending = list(zip(fields, operands, strict=True))
        # The cheap checks (classes and constants of the operands) precede the deep ones.
        for field, operand in pending:
            if (wanted := _class_of(operand)) is not None:
                self.reject(f"type({local}.{field}) is not {wanted}")
        for field, operand in pending:
            self.match(operand, f"{local}.{field}")

    def result(self, tree: ast.expr) -> str:
        """The source that builds a side; parts with only constants are computed as integers."""
        if isinstance(tree, ast.Constant) and isinstance(tree.value, bool):
            return f"truth({tree.value!r}, e.dtype)"
        if _is_constant(tree):
            return f"imm({ast.unparse(tree)}, d)"
        if isinstance(tree, ast.Name):
            return tree.id
        kind, _, operands = _head(tree)
        return f"build_{kind}({', '.join(map(self.result, operands))})"


def _is_constant(tree: ast.expr) -> bool:
    names = (node.id for node in ast.walk(tree) if isinstance(node, ast.Name))
    return all(is_constant_name(name) or name in _NUMBERS for name in names)


def _class_of(tree: ast.expr) -> str | None:
    """The class that a part of a pattern requires; None for any expression."""
    if isinstance(tree, ast.Name) and not is_constant_name(tree.id):
        return None
    return "IntImm" if _is_constant(tree) else _head(tree)[0]


class _Condition(ast.NodeTransformer):
    """Replaces the predicates of `when` by methods of the engine."""

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
    build_result = compiler.result(parse_side(row.result))
    lines = [f"def {name}(e, s):", *compiler.lines]
    if "imm(" in build_result:
        # Constants have the type of the operands; those of logic are comparisons.
        compared = "e.a.a" if isinstance(pattern, ast.BoolOp) else "e.a"
        lines.append(f"    d = element({compared}.dtype)")
    lines.append(f"    return {f's.visit({build_result})' if row.again else build_result}")
    return "\n".join(lines)


def compile_row(row: Row) -> Rule:
    """The function of a row."""
    namespace = dict(_NAMESPACE)
    exec(compile(_source(row, "rule"), f"<rule {row}>", "exec"), namespace)
    rule: Rule = namespace["rule"]
    return rule


class RuleTable:
    """Rules, chosen by the class of an expression and those of its first two operands."""

    def __init__(self, **texts: str) -> None:
        """`texts` has the rules by class; those for other classes are omitted."""
        self.texts = texts
        self._rows: dict[str, list[tuple[Row, list[str | None]]]] = {}
        self._compiled: dict[Row, Rule] = {}
        self._chosen: dict[tuple[type, ...], tuple[Rule, ...]] = {}

    def rows(self, name: str) -> list[tuple[Row, list[str | None]]]:
        """The rows for a class, each with the required classes of the operands."""
        if name not in self._rows:
            rows = [(row, _head(parse_side(row.pattern))) for row in rows_of(self.texts[name])]
            self._rows[name] = [
                (row, list(map(_class_of, operands)))
                for row, (head, _, operands) in rows
                if head == name
            ]
        return self._rows[name]

    def rules(self, *kinds: type) -> tuple[Rule, ...]:
        """The rules that may match an expression of a class, with operands of these classes."""
        chosen = self._chosen.get(kinds)
        if chosen is None:
            chosen = self._chosen[kinds] = tuple(self._choose(*[kind.__name__ for kind in kinds]))
        return chosen

    def _choose(self, name: str, *operands: str) -> Iterator[Rule]:
        for row, classes in self.rows(name):
            if all(
                operand_class in (None, kind)
                for operand_class, kind in zip(classes, operands, strict=False)
            ):
                if row not in self._compiled:
                    self._compiled[row] = compile_row(row)
                yield self._compiled[row]


def apply(rules: tuple[Rule, ...], e: Expr, engine: Any) -> Expr | None:
    """The result of the first rule that matches e, or None."""
    for rule in rules:
        try:
            result: Expr | None = rule(e, engine)
        except build.Overflow:
            continue
        if result is not None:
            return result
    return None
