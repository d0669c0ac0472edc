"""Expressions of scripts: Python's, with `and`, `or`, `not` and comparisons of program values.

The tree is evaluated directly, so that an error points at the smallest expression that is wrong.
What holds no program values by itself (comprehensions, f-strings) is left to Python. Must not know
statements.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import operator
import sys
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

from te_sched.arith.analyzer import Analyzer
from te_sched.errors import ScriptError, did_you_mean
from te_sched.ir import dtypes, ops
from te_sched.ir.expr import (
    Buffer,
    BufferRegion,
    Expr,
    IntImm,
    Mul,
    Operand,
    Ramp,
    Range,
    lanes_of,
)
from te_sched.ir.intrinsics import if_then_else
from te_sched.ir.struct_info import GraphExpr
from te_sched.script.source import Source

BINARY: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
    ast.MatMult: operator.matmul,
}
_UNARY: dict[type, Callable[[Any], Any]] = {
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Invert: operator.invert,
}
_COMPARE: dict[type, Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
    ast.In: lambda a, b: operator.contains(b, a),
    ast.NotIn: lambda a, b: not operator.contains(b, a),
}
_CONDITIONS: dict[type, Callable[[Any, Any], Any]] = {
    ast.Eq: ops.equal,
    ast.NotEq: ops.not_equal,
    ast.Lt: ops.less,
    ast.LtE: ops.less_equal,
    ast.Gt: ops.greater,
    ast.GtE: ops.greater_equal,
}
# What the text of a program may call, besides the names that are given to it.
SAFE_BUILTINS = {
    name: getattr(builtins, name)
    for name in (
        *("abs", "all", "any", "bool", "dict", "enumerate", "float", "int", "len", "list", "max"),
        *("min", "range", "reversed", "round", "set", "sorted", "str", "sum", "tuple", "zip"),
    )
}


# The modules whose names the text of a program may use.
_OPEN = (
    *("te_sched", "te_sched.script", "te_sched.script.tir", "te_sched.script.ir", "te_sched.tir"),
    "te_sched.script.relax",
)
_OPERATORS = "te_sched.relax.op"  # and the groups of operators in it


class OpenModule:
    """A module as the text of a program sees it: the words of scripts, and no other modules."""

    def __init__(self, module: ModuleType) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        _check_attribute(name)
        found = getattr(self._module, name)
        if isinstance(found, ModuleType) and _is_open(found):
            return OpenModule(found)
        home = getattr(found, "__module__", "") or ""
        is_other = self._module.__name__.startswith(_OPERATORS) and not home.startswith(_OPERATORS)
        if isinstance(found, ModuleType) or self._module.__name__ == _OPEN[0] or is_other:
            raise ScriptError(
                f"the text of a script cannot use {self._module.__name__}.{name}",
                "",
                "use the names of T, R and I, or give the value in extra_vars",
            )
        return found


def _is_open(module: ModuleType) -> bool:
    return module.__name__ in _OPEN or module.__name__.startswith(_OPERATORS)


def _is_word(value: Any) -> bool:
    """Whether a value of a module is a word of scripts, and not a class that it imports."""
    home = str(getattr(value, "__module__", "te_sched"))
    return home.startswith("te_sched") and (not isinstance(value, type) or "script" in home)


# Words of older scripts, and what stands for them now.
_REMOVED = {
    "load": "write A[i], with A = T.Buffer(shape, dtype, data=pointer)",
    "store": "write A[i] = value, with A = T.Buffer(shape, dtype, data=pointer)",
    "preflattened_buffer": "declare the parameter with its shape before flattening",
}


def _absent_word(text: str, name: str, module: Any) -> ScriptError:
    advice = _REMOVED.get(name)
    home = sys.modules[_own_name(module)]
    words = {word: getattr(home, word, None) for word in dir(home) if word[0] != "_"}
    known = [word for word, value in words.items() if value is not None and _is_word(value)]
    groups = [word for word in known if isinstance(words[word], ModuleType)]
    inside = [f"{group}.{name}" for group in groups if hasattr(words[group], name)]
    if inside:
        advice = f"use {text.partition('.')[0]}.{inside[0]}"
    return ScriptError(
        f"scripts have no {text}",
        "it is of an older version of TVMScript" if name in _REMOVED else "",
        advice or f"use a name that exists{did_you_mean(name, known)}",
    )


def _own_name(module: ModuleType) -> str:
    """The name of a module of te_sched, which programs may import as tvm's."""
    name = module.__name__
    return f"te_sched{name[3:]}" if name.partition(".")[0] == "tvm" else name


def _has_lanes(value: Any) -> bool:
    return dtypes.lanes(getattr(ops.convert(value), "dtype", "bool")) > 1


def _both(a: Any, b: Any) -> Expr:
    """`a and b`; of vectors lane by lane."""
    is_vector = _has_lanes(a) or _has_lanes(b)
    return ops.bitwise_and(a, b) if is_vector else ops.logical_and(a, b)


def _either(a: Any, b: Any) -> Expr:
    """`a or b`; of vectors lane by lane."""
    is_vector = _has_lanes(a) or _has_lanes(b)
    return ops.bitwise_or(a, b) if is_vector else ops.logical_or(a, b)


class ScriptEvaluator:
    """Evaluates expressions of one source; `scopes` has the names of scripts, innermost last."""

    def __init__(self, source: Source, names: Mapping[str, Any], is_trusted: bool = True) -> None:
        self.source, self.names, self.is_trusted = source, names, is_trusted
        self.builtins = vars(builtins) if is_trusted else SAFE_BUILTINS
        self.scopes: list[dict[str, Any]] = [{}]

    def value(self, node: Any) -> Any:
        """The value of an expression."""
        method = _METHODS.get(type(node))
        try:
            if method is None:
                return self._by_python(node)
            return method(self, node)
        except ScriptError as error:
            if error.excerpt:
                raise
            raise self.source.error(node, error) from None
        except Exception as error:  # of a function of the user's: shown at its place
            raise self.source.error(node, error) from error

    def lookup(self, name: str) -> Any:
        """What a name stands for; NameError if it stands for nothing."""
        for scope in reversed(self.scopes):
            if name in scope:
                return scope[name]
        if name in self.names:
            return self.names[name]
        if name in self.builtins:
            return self.builtins[name]
        raise NameError(f"undefined variable {name}")

    def _name(self, node: ast.Name) -> Any:
        try:
            return self.lookup(node.id)
        except NameError as error:
            why, help = self.about_undefined(node.id)
            raise ScriptError(str(error), why, help) from None

    def about_undefined(self, name: str) -> tuple[str, str]:
        """Why a name stands for nothing, if that is known, and what to do."""
        known = [*self.names, *(one for scope in self.scopes for one in scope)]
        return "", f"define it before this line{did_you_mean(name, known)}"

    def all_names(self) -> dict[str, Any]:
        """Every name that is visible."""
        found = {"__builtins__": dict(self.builtins), **self.names}
        for scope in self.scopes:
            found.update(scope)
        return found

    def _by_python(self, node: Any) -> Any:
        if not self.is_trusted:
            for one in ast.walk(node):
                if isinstance(one, ast.Attribute):
                    _check_attribute(one.attr)
        code = compile(ast.Expression(node), self.source.file, "eval")
        return eval(code, self.all_names())

    def _attribute(self, node: ast.Attribute) -> Any:
        if not self.is_trusted:
            _check_attribute(node.attr)
        holder = self.value(node.value)
        module = getattr(holder, "_module", holder) if isinstance(holder, OpenModule) else holder
        is_of_scripts = isinstance(module, ModuleType) and _own_name(module) in _OPEN
        if is_of_scripts and not hasattr(module, node.attr):
            raise _absent_word(ast.unparse(node), node.attr, module)
        return self.attribute(holder, node.attr)

    def attribute(self, holder: Any, name: str) -> Any:
        """An attribute of a value."""
        return getattr(holder, name)

    def _call(self, node: ast.Call) -> Any:
        function = self.value(node.func)
        args: list[Any] = []
        for one in node.args:
            if isinstance(one, ast.Starred):
                args += self.value(one.value)
            else:
                args.append(self.value(one))
        named: dict[str, Any] = {}
        for keyword in node.keywords:
            if keyword.arg is None:
                named.update(self.value(keyword.value))
            else:
                named[keyword.arg] = self.value(keyword.value)
        try:
            return self.call(function, args, named)
        except TypeError:
            _check_arguments(function, args, named)
            raise

    def call(self, function: Any, args: list[Any], named: dict[str, Any]) -> Any:
        """Call a function; the parser treats macros."""
        return function(*args, **named)

    def _subscript(self, node: ast.Subscript) -> Any:
        holder, key = self.value(node.value), self.value(node.slice)
        if isinstance(holder, Buffer):
            return element_at(holder, key)
        return holder[key]

    def _slice(self, node: ast.Slice) -> slice:
        parts = (node.lower, node.upper, node.step)
        return slice(*[None if part is None else self.value(part) for part in parts])

    def _items(self, nodes: list[Any]) -> list[Any]:
        found: list[Any] = []
        for one in nodes:
            if isinstance(one, ast.Starred):
                found += self.value(one.value)
            else:
                found.append(self.value(one))
        return found

    def _dict(self, node: ast.Dict) -> dict[Any, Any]:
        found: dict[Any, Any] = {}
        for key, value in zip(node.keys, node.values, strict=True):
            if key is None:
                found.update(self.value(value))
            else:
                found[self.value(key)] = self.value(value)
        return found

    def _binary(self, node: ast.BinOp) -> Any:
        return BINARY[type(node.op)](self.value(node.left), self.value(node.right))

    def _unary(self, node: ast.UnaryOp) -> Any:
        value = self.value(node.operand)
        if isinstance(node.op, ast.Not):
            if isinstance(value, Operand):
                return ops.logical_not(value)
            return not _checked_condition(value)
        return _UNARY[type(node.op)](value)

    def _bool(self, node: ast.BoolOp) -> Any:
        is_and = isinstance(node.op, ast.And)
        combine = _both if is_and else _either
        found = _checked_condition(self.value(node.values[0]))
        for one in node.values[1:]:
            if not isinstance(found, Operand):
                if bool(found) is not is_and:
                    return found
                value = self.value(one)
                found = value if not isinstance(value, Operand) else combine(bool(found), value)
            else:
                found = combine(found, self.value(one))
        return found

    def _compare(self, node: ast.Compare) -> Any:
        left, found = self.value(node.left), None
        for op, right_node in zip(node.ops, node.comparators, strict=True):
            right = self.value(right_node)
            kind = type(op)
            if kind in _CONDITIONS and (isinstance(left, Operand) or isinstance(right, Operand)):
                one = _CONDITIONS[kind](left, right)  # Python would turn `1 < x` around
            else:
                one = _COMPARE[kind](left, right)
            if found is None:
                found = one
            elif isinstance(found, Expr) or isinstance(one, Expr):
                found = ops.logical_and(found, one)
            else:
                found = found and one
            left = right
        return found

    def _choice(self, node: ast.IfExp) -> Any:
        condition = _checked_condition(self.value(node.test))
        if isinstance(condition, Operand):
            return if_then_else(condition, self.value(node.body), self.value(node.orelse))
        return self.value(node.body if condition else node.orelse)

    def _lambda(self, node: ast.Lambda) -> Any:
        scopes = list(self.scopes)
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        signature = inspect.Signature([inspect.Parameter(a.arg, kind) for a in node.args.args])

        def function(*args: Any, **named: Any) -> Any:
            bound = signature.bind(*args, **named)
            outside, self.scopes = self.scopes, [*scopes, dict(bound.arguments)]
            try:
                return self.value(node.body)
            finally:
                self.scopes = outside

        function.__signature__ = signature  # type: ignore[attr-defined]
        return function


def _checked_condition(value: Any) -> Any:
    """A condition; values of graphs are known when they run, so that Python cannot test them."""
    if isinstance(value, GraphExpr):
        raise ScriptError(
            "a value of a graph is tested inside of an expression",
            "it is known when the graph runs",
            "write an if statement, or use R.where, R.logical_and, R.logical_or, R.logical_not",
        )
    return value


def element_at(buffer: Buffer, key: Any) -> Any:
    """An element of a buffer, or a region; the lengths of slices are simplified."""
    keys = tuple(key) if isinstance(key, list | tuple) else (key,)
    found = buffer[tuple([_stepped(one) for one in keys])]
    if not isinstance(found, BufferRegion):
        return found
    analyzer = Analyzer()
    ranges = [
        one if type(one.extent) is IntImm else Range(one.min, analyzer.simplify(one.extent))
        for one in found.region
    ]
    return BufferRegion(buffer, tuple(ranges))


def _stepped(key: Any) -> Any:
    """A slice with a step as a vector of indices, where its length is known."""
    if not isinstance(key, slice) or key.step is None or key.stop is None:
        return key
    start, step = ops.operands(0 if key.start is None else key.start, key.step)
    length = Analyzer().simplify(ops.ceildiv(ops.sub(key.stop, start), step))
    if type(length) is Mul:
        return Ramp(start, step, lanes_of(length))
    if type(length) is not IntImm or length.value < 1:
        return key
    return Ramp(start, step, length.value) if length.value > 1 else start


def _check_arguments(function: Any, args: list[Any], named: dict[str, Any]) -> None:
    """Refuse arguments that a function does not take."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # not a function of Python
        return
    try:
        signature.bind(*args, **named)
    except TypeError as error:
        name = getattr(function, "__name__", "the function")
        takes = ", ".join(signature.parameters) or "none"
        raise ScriptError(
            f"{name} does not take these arguments", str(error), f"its parameters are {takes}"
        ) from None


def _check_attribute(name: str) -> None:
    if name.startswith("_"):
        raise ScriptError(
            f"a script cannot use the attribute {name}", "", "use the names of T and I"
        )


_METHODS: dict[type, Callable[[Any, Any], Any]] = {
    ast.Constant: lambda evaluator, node: node.value,
    ast.Name: ScriptEvaluator._name,
    ast.Attribute: ScriptEvaluator._attribute,
    ast.Call: ScriptEvaluator._call,
    ast.Subscript: ScriptEvaluator._subscript,
    ast.Slice: ScriptEvaluator._slice,
    ast.Tuple: lambda evaluator, node: tuple(evaluator._items(node.elts)),
    ast.List: lambda evaluator, node: evaluator._items(node.elts),
    ast.Dict: ScriptEvaluator._dict,
    ast.BinOp: ScriptEvaluator._binary,
    ast.UnaryOp: ScriptEvaluator._unary,
    ast.BoolOp: ScriptEvaluator._bool,
    ast.Compare: ScriptEvaluator._compare,
    ast.IfExp: ScriptEvaluator._choice,
    ast.Lambda: ScriptEvaluator._lambda,
}
