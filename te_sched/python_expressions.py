"""Python's expressions, evaluated node by node with the names of a program.

Scripts and hybrid scripts derive from `ExpressionEvaluator` what their values mean. A function of
the user's program may do what Python may. A text may not: its syntax is that of the evaluator,
attributes are those of a list, and `Limits` bound its time and memory. Nothing is passed to `eval`.
Must not know programs.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import operator
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from enum import Enum
from functools import partial
from types import GeneratorType, ModuleType
from typing import Any, ClassVar, NoReturn

from te_sched.errors import DeclarationError, kind_of

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
UNARY: dict[type, Callable[[Any], Any]] = {
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Invert: operator.invert,
}
COMPARE: dict[type, Callable[[Any, Any], Any]] = {
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
# What a text may call, besides the words of its language and the names that are given to it.
SAFE_BUILTINS: dict[str, Any] = {
    name: getattr(builtins, name)
    for name in (
        *("abs", "all", "any", "bool", "dict", "enumerate", "float", "int", "len", "list", "max"),
        *("min", "range", "reversed", "round", "set", "sorted", "str", "sum", "tuple", "zip"),
    )
}
_BUILTIN_FUNCTIONS = frozenset(SAFE_BUILTINS.values())
_LAZY = frozenset((enumerate, reversed, zip))  # a text gets lists: their lengths are counted
_SEQUENCES = (str, bytes, bytearray, list, tuple)
_ITERABLES = (
    *(*_SEQUENCES, dict, set, frozenset, range, GeneratorType),
    *map(type, ({}.keys(), {}.values(), {}.items())),
)
# The attributes of Python's values that a text may read.
_ATTRIBUTES: tuple[tuple[type | tuple[type, ...], frozenset[str]], ...] = (
    (str, frozenset(("endswith", "lower", "startswith", "strip", "upper"))),
    ((list, tuple), frozenset(("count", "index"))),
    (dict, frozenset(("get", "items", "keys", "values"))),
    ((range, slice), frozenset(("start", "step", "stop"))),
    (Enum, frozenset(("name", "value"))),
)
_CONVERSIONS: dict[int, Callable[[Any], Any]] = {-1: lambda value: value} | {
    ord(letter): convert for letter, convert in (("s", str), ("r", repr), ("a", ascii))
}
_MOST_ITEMS = 1_000_000  # of a sequence that a text makes
_MOST_BITS = 2048  # of an integer that a text computes


class Limits:
    """The steps and the memory that a text may take.

    >>> Limits("1 + 1").spend(10**9)
    Traceback (most recent call last):
        ...
    te_sched.errors.DeclarationError: a text takes more than 1000080 steps...
    """

    def __init__(self, text: str) -> None:
        self.steps = self.left = 1_000_000 + 16 * len(text)

    def spend(self, steps: int) -> None:
        """Count steps, or values that are made."""
        self.left -= steps
        if self.left < 0:
            raise DeclarationError(
                f"a text takes more than {self.steps} steps",
                "the loops and the memory of a text are limited, since others may have written it",
                "compute the values in Python and give them by name",
            )


def check_operation(kind: type, a: Any, b: Any) -> int:
    """The number of items that an operation of a text makes; refuses results that are too large.

    >>> check_operation(ast.Mult, [0, 0], 3)
    6
    """
    if isinstance(a, int) and isinstance(b, int):
        bits = _bits(kind, a, b)
        if bits > _MOST_BITS:
            raise _too_large(f"an integer of {bits} bits")
        return 1
    items = 1
    if isinstance(a, str | bytes) and kind is ast.Mod:
        raise DeclarationError("a text formats a string by %", "", 'write f"{value}"')
    if isinstance(a, _SEQUENCES) and kind is ast.Mult and isinstance(b, int):
        items = len(a) * max(b, 0)
    elif isinstance(b, _SEQUENCES) and kind is ast.Mult and isinstance(a, int):
        items = len(b) * max(a, 0)
    elif isinstance(a, _ITERABLES) and isinstance(b, _ITERABLES):
        items = length_of(a) + length_of(b)
    if items > _MOST_ITEMS:
        raise _too_large(f"{items} items")
    return items


def _bits(kind: type, a: int, b: int) -> int:
    """An upper bound of the bits of a result."""
    if kind is ast.Pow:
        return a.bit_length() * b if b > 0 and abs(a) > 1 else 1
    if kind is ast.LShift:
        return a.bit_length() + max(b, 0)
    if kind is ast.Mult:
        return a.bit_length() + b.bit_length()
    return max(a.bit_length(), b.bit_length())


def _too_large(what: str) -> DeclarationError:
    return DeclarationError(
        f"a text computes {what}",
        f"a text makes integers of {_MOST_BITS} bits and {_MOST_ITEMS} items at most",
        "correct the expression, or give the value by name",
    )


def length_of(value: Any) -> int:
    """The number of items of a value, 1 if it has no length."""
    if not isinstance(value, _ITERABLES) or isinstance(value, GeneratorType):
        return 1
    try:
        return len(value)  # type: ignore[arg-type]
    except OverflowError:  # of a range
        return _MOST_ITEMS + 1


def is_long(value: Any) -> bool:
    """Whether a value has more items than a text may make."""
    return length_of(value) > _MOST_ITEMS


class _Comprehension(dict[str, Any]):
    """The names of a comprehension, in which `:=` binds nothing."""


class ExpressionEvaluator:
    """Evaluates expressions; `scopes` has the names of a program, innermost last, and `limits` is
    None for a function of the user's.
    """

    syntax: ClassVar[Mapping[type, Callable[[Any, Any], Any]]]  # the expressions that exist
    limits: Limits | None = None
    scopes: list[dict[str, Any]]

    def value(self, node: Any) -> Any:
        """The value of an expression."""
        raise NotImplementedError

    def refuse(self, node: Any, fault: str, help: str) -> NoReturn:
        """Raise the error of an expression."""
        raise NotImplementedError

    def evaluate(self, node: Any) -> Any:
        """The value of an expression by its class."""
        method = self.syntax.get(type(node))
        if method is None:
            kind = type(node).__name__
            self.refuse(node, f"an expression of kind {kind} is not supported", "compute it before")
        if self.limits is not None:
            self.limits.spend(1)
        return method(self, node)

    # Names and attributes

    def attribute(self, holder: Any, name: str) -> Any:
        """An attribute of a value."""
        if self.limits is None:
            return getattr(holder, name)
        check_public(name)
        value = getattr(holder, name)
        is_inside = isinstance(value, ModuleType) and isinstance(holder, ModuleType)
        if is_inside or name not in self.attributes_of(holder):
            raise DeclarationError(
                f"a text cannot use the attribute {name} of {kind_of(holder)}",
                "a text reads attributes of programs and a few of Python's",
                "give the value by name",
            )
        return value

    def attributes_of(self, holder: Any) -> Collection[str]:
        """The attributes of a value that a text may read."""
        return next((names for kind, names in _ATTRIBUTES if isinstance(holder, kind)), ())

    # Calls

    def arguments(self, node: ast.Call) -> tuple[list[Any], dict[str, Any]]:
        """The values of the arguments of a call."""
        named: dict[str, Any] = {}
        for keyword in node.keywords:
            value = self.value(keyword.value)
            named.update(self.pairs(value) if keyword.arg is None else {keyword.arg: value})
        return self.items(node.args), named

    def call(self, function: Any, args: list[Any], named: dict[str, Any]) -> Any:
        """Call a function."""
        if self.limits is not None and _is_builtin(function):
            return self._call_builtin(function, args, named)
        return function(*args, **named)

    def _call_builtin(self, function: Any, args: list[Any], named: dict[str, Any]) -> Any:
        """Call a function of Python for a text; what it reads and makes is counted."""
        assert self.limits is not None
        if function is range:
            result = range(*args, **named)
            if is_long(result):
                raise _too_large(f"{result!r}")
            return result
        for argument in (*args, *named.values()):
            self.limits.spend(self.size(argument))
            if not isinstance(argument, _ITERABLES) and function in (*_LAZY, list, tuple, set):
                self.iterate(argument)
        if function is round and any(
            isinstance(digits, int) and abs(digits) > 400 for digits in (*args[1:], *named.values())
        ):
            raise _too_large("a rounded number of more than 400 digits")
        if function is sum:
            return self._sum(*args, **named)
        if function in (set, dict):
            self.limits.spend(sum(length_of(arg) ** 2 // 1000 for arg in args))
        output = function(*args, **named)
        return list(output) if function in _LAZY else output

    def _sum(self, values: Any, start: Any = 0) -> Any:
        for value in self.iterate(values):
            start = self.combine(ast.Add, start, value)
        return start

    def size(self, value: Any) -> int:
        """The steps that a walk through a value takes; a walk ends at the limit."""
        assert self.limits is not None
        steps, stack = 0, [value]
        while stack and steps <= self.limits.left:
            part = stack.pop()
            steps += 1
            if isinstance(part, list | tuple | set | frozenset):
                stack += part
            elif isinstance(part, dict):
                stack += [*part.keys(), *part.values()]
            elif isinstance(part, str | bytes | range):
                steps += length_of(part)
            else:
                steps += self.size_of_node(part)
        return steps

    def size_of_node(self, value: Any) -> int:
        """The number of nodes of a value of the program."""
        del value
        return 0

    # Sequences

    def items(self, nodes: list[Any]) -> list[Any]:
        """The values of expressions; a star stands for several."""
        values: list[Any] = []
        for node in nodes:
            if isinstance(node, ast.Starred):
                values += self.iterate(self.value(node.value))
            else:
                values.append(self.value(node))
        return values

    def iterate(self, value: Any) -> Any:
        """What a value yields; a text iterates over Python's collections alone."""
        if self.limits is not None:
            if not isinstance(value, _ITERABLES) and not self.is_collection(value):
                raise DeclarationError(
                    f"a text iterates over {kind_of(value)}", "", "give a list or a tuple"
                )
            self.limits.spend(length_of(value))
        return value

    def pairs(self, value: Any) -> Any:
        """The entries of a mapping, for `**`."""
        if self.limits is not None and not isinstance(value, dict):
            raise DeclarationError(f"** stands before {kind_of(value)}", "", "give a dictionary")
        return value

    def is_collection(self, value: Any) -> bool:
        """Whether a value of the program is a collection, with an end."""
        del value
        return False

    def unpack(self, target: Any, value: Any) -> Iterator[tuple[ast.Name, Any]]:
        """The names of a target with their values: names, tuples, and a star, as in Python."""
        if isinstance(target, ast.Name):
            yield target, value
        elif isinstance(target, ast.Starred):
            yield from self.unpack(target.value, list(value))
        elif isinstance(target, ast.Tuple | ast.List):
            values = self.unpacked(target, value)
            star = [
                index
                for index, element in enumerate(target.elts)
                if isinstance(element, ast.Starred)
            ]
            if star:
                end = len(values) - (len(target.elts) - star[0] - 1)
                values = [*values[: star[0]], values[star[0] : end], *values[end:]]
            if len(values) != len(target.elts):
                fault = f"{len(values)} values are assigned to {len(target.elts)} names"
                self.refuse(target, fault, "give a name for each value")
            for part, item in zip(target.elts, values, strict=True):
                yield from self.unpack(part, item)
        else:
            self.refuse(target, "this cannot be assigned to", "assign to a name")

    def unpacked(self, target: Any, value: Any) -> list[Any]:
        """The values that are assigned to several names."""
        del target
        return list(self.iterate(value))

    # Operators

    def combine(self, kind: type, a: Any, b: Any) -> Any:
        """The result of an operator."""
        if self.limits is not None:
            self.limits.spend(check_operation(kind, a, b))
        return BINARY[kind](a, b)

    def comprehension(self, node: Any, element: Callable[[], Any]) -> Iterator[Any]:
        """The elements of a comprehension, in the scopes of this place."""
        names = _Comprehension()
        inside = [*self.scopes, names]
        first = self.iterate(self.value(node.generators[0].iter))

        def elements(generators: list[ast.comprehension], values: Any) -> Iterator[Any]:
            clause, *inner = generators
            for value in values:
                if self.limits is not None:
                    self.limits.spend(1)
                if not self._in(inside, partial(self._enter, clause, names, value)):
                    continue
                if inner:
                    iterable = self._in(inside, lambda: self.iterate(self.value(inner[0].iter)))
                    yield from elements(inner, iterable)
                else:
                    yield self._in(inside, element)

        return elements(node.generators, first)

    def _enter(self, clause: ast.comprehension, names: dict[str, Any], value: Any) -> bool:
        """Bind the names of a clause; whether its conditions hold."""
        names.update({name.id: item for name, item in self.unpack(clause.target, value)})
        return all(self.value(test) for test in clause.ifs)

    def _in(self, scopes: list[dict[str, Any]], action: Callable[[], Any]) -> Any:
        outside, self.scopes = self.scopes, scopes
        try:
            return action()
        finally:
            self.scopes = outside


def _is_builtin(function: Any) -> bool:
    try:
        return function in _BUILTIN_FUNCTIONS
    except TypeError:  # it has no hash
        return False


def check_public(name: str) -> None:
    """Refuse a private attribute."""
    if name.startswith("_"):
        raise DeclarationError(
            f"a script cannot use the attribute {name}", "", "use the names of T and I"
        )


# Expressions by class: functions of an evaluator and a node.


def _attribute(evaluator: ExpressionEvaluator, node: ast.Attribute) -> Any:
    return evaluator.attribute(evaluator.value(node.value), node.attr)


def _slice(evaluator: ExpressionEvaluator, node: ast.Slice) -> slice:
    parts = (node.lower, node.upper, node.step)
    return slice(*[None if part is None else evaluator.value(part) for part in parts])


def _dict(evaluator: ExpressionEvaluator, node: ast.Dict) -> dict[Any, Any]:
    result: dict[Any, Any] = {}
    for key, value in zip(node.keys, node.values, strict=True):
        if key is None:
            result.update(evaluator.pairs(evaluator.value(value)))
        else:
            result[evaluator.value(key)] = evaluator.value(value)
    return result


def _binary(evaluator: ExpressionEvaluator, node: ast.BinOp) -> Any:
    return evaluator.combine(type(node.op), evaluator.value(node.left), evaluator.value(node.right))


def _walrus(evaluator: ExpressionEvaluator, node: ast.NamedExpr) -> Any:
    value = evaluator.value(node.value)
    scopes = [scope for scope in evaluator.scopes if not isinstance(scope, _Comprehension)]
    scopes[-1][node.target.id] = value
    return value


def _pairs(evaluator: ExpressionEvaluator, node: ast.DictComp) -> dict[Any, Any]:
    pairs = list(
        evaluator.comprehension(
            node, lambda: (evaluator.value(node.key), evaluator.value(node.value))
        )
    )
    if evaluator.limits is not None:
        evaluator.limits.spend(len(pairs) ** 2 // 1000)  # keys may have one hash
    return dict(pairs)


def _elements(evaluator: ExpressionEvaluator, node: Any) -> Iterator[Any]:
    return evaluator.comprehension(node, lambda: evaluator.value(node.elt))


def _set(evaluator: ExpressionEvaluator, values: list[Any]) -> set[Any]:
    if evaluator.limits is not None:
        evaluator.limits.spend(len(values) ** 2 // 1000)
    return set(values)


def _text(evaluator: ExpressionEvaluator, node: ast.JoinedStr) -> str:
    return "".join([evaluator.value(part) for part in node.values])


def _formatted(evaluator: ExpressionEvaluator, node: ast.FormattedValue) -> str:
    value = evaluator.value(node.value)
    spec = "" if node.format_spec is None else evaluator.value(node.format_spec)
    if evaluator.limits is not None:
        evaluator.limits.spend(evaluator.size(value))
        if re.search(r"\d{4}", spec):
            raise _too_large(f"text of the format {spec[:20]!r}")
    text = format(_CONVERSIONS[node.conversion](value), spec)
    if evaluator.limits is not None:
        evaluator.limits.spend(len(text))
    return text


def _lambda(evaluator: ExpressionEvaluator, node: ast.Lambda) -> Any:
    scopes = [*evaluator.scopes]
    signature = _signature(evaluator, node.args)

    def function(*args: Any, **named: Any) -> Any:
        bound = signature.bind(*args, **named)
        bound.apply_defaults()
        inside = [*scopes, dict(bound.arguments)]
        return evaluator._in(inside, lambda: evaluator.value(node.body))

    function.__signature__ = signature  # type: ignore[attr-defined]
    return function


def _signature(evaluator: ExpressionEvaluator, args: ast.arguments) -> inspect.Signature:
    kinds = inspect.Parameter
    plain = [*args.posonlyargs, *args.args]
    defaults: list[Any] = [kinds.empty] * (len(plain) - len(args.defaults))
    defaults += [evaluator.value(node) for node in args.defaults]
    parameters = [
        kinds(
            param.arg,
            kinds.POSITIONAL_ONLY if param in args.posonlyargs else kinds.POSITIONAL_OR_KEYWORD,
            default=default,
        )
        for param, default in zip(plain, defaults, strict=True)
    ]
    if args.vararg is not None:
        parameters.append(kinds(args.vararg.arg, kinds.VAR_POSITIONAL))
    for arg, node in zip(args.kwonlyargs, args.kw_defaults, strict=True):
        default = kinds.empty if node is None else evaluator.value(node)
        parameters.append(kinds(arg.arg, kinds.KEYWORD_ONLY, default=default))
    if args.kwarg is not None:
        parameters.append(kinds(args.kwarg.arg, kinds.VAR_KEYWORD))
    return inspect.Signature(parameters)


EXPRESSIONS: dict[type, Callable[[Any, Any], Any]] = {
    ast.Constant: lambda evaluator, node: node.value,
    ast.Attribute: _attribute,
    ast.Slice: _slice,
    ast.Tuple: lambda evaluator, node: tuple(evaluator.items(node.elts)),
    ast.List: lambda evaluator, node: evaluator.items(node.elts),
    ast.Set: lambda evaluator, node: _set(evaluator, evaluator.items(node.elts)),
    ast.Dict: _dict,
    ast.BinOp: _binary,
    ast.Lambda: _lambda,
    ast.NamedExpr: _walrus,
    ast.ListComp: lambda evaluator, node: list(_elements(evaluator, node)),
    ast.SetComp: lambda evaluator, node: _set(evaluator, list(_elements(evaluator, node))),
    ast.DictComp: _pairs,
    ast.GeneratorExp: _elements,
    ast.JoinedStr: _text,
    ast.FormattedValue: _formatted,
}
