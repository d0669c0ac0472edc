"""Expressions of scripts: Python's, with `and`, `or`, `not` and comparisons of program values.

The tree is evaluated directly, so that an error points at the smallest expression that is wrong.
The text of a program may use the words of scripts alone (`OpenModule`). Must not know statements.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import sys
from collections.abc import Callable, Collection, Mapping
from itertools import islice
from types import ModuleType
from typing import Any, NoReturn

import numpy as np

from te_sched.arith.analyzer import Analyzer
from te_sched.errors import DeclarationError, ScriptError, did_you_mean
from te_sched.ir import dtypes, ops
from te_sched.ir.expr import (
    Buffer,
    BufferRegion,
    CommReducer,
    Expr,
    FloatImm,
    IntImm,
    Mul,
    Node,
    Operand,
    PointerType,
    Ramp,
    Range,
    StringImm,
    Var,
    lanes_of,
)
from te_sched.ir.graph import DataTypeImm, ExternFunc, GraphString, PrimValue, TupleGetItem
from te_sched.ir.intrinsics import if_then_else
from te_sched.ir.stmt import GlobalVar
from te_sched.ir.struct_info import GraphExpr, ShapeExpr
from te_sched.ir.visitor import CHILD_FIELDS, INIT_FIELDS, NAMES, walk
from te_sched.python_expressions import (
    COMPARE,
    EXPRESSIONS,
    SAFE_BUILTINS,
    UNARY,
    ExpressionEvaluator,
    Limits,
    check_public,
)
from te_sched.script.source import Source
from te_sched.signatures import advise, raise_unbound
from te_sched.tir.kinds import CallEffectKind, ForKind

_CONDITIONS: dict[type, Callable[[Any, Any], Any]] = {
    ast.Eq: ops.equal,
    ast.NotEq: ops.not_equal,
    ast.Lt: ops.less,
    ast.LtE: ops.less_equal,
    ast.Gt: ops.greater,
    ast.GtE: ops.greater_equal,
}
# The modules whose names the text of a program may use.
_OPEN = (
    *("te_sched", "te_sched.script", "te_sched.script.tir", "te_sched.script.ir", "te_sched.tir"),
    "te_sched.script.relax",
)
_OPERATORS = "te_sched.relax.op"  # and the groups of operators in it
_OF_GRAPHS = (_OPEN[-1], _OPERATORS)
# What is a word: instances of te_sched's classes, functions of these modules, and these classes.
_HOMES = (
    *("te_sched.script.words", "te_sched.script.graph_words", "te_sched.script.decorators"),
    *("te_sched.script.ir", "te_sched.script.annotations", "te_sched.tir"),
    *(
        "te_sched.relax.operators",
        "te_sched.ir.calls",
        "te_sched.ir.intrinsics",
        "te_sched.ir.ops",
        "te_sched.te.reducer",
    ),
    *("te_sched.relax.constant", "te_sched.runtime.device"),
)
_CLASSES = (
    *(CallEffectKind, ForKind, CommReducer, PointerType, Buffer),
    *(GlobalVar, ShapeExpr, TupleGetItem, ExternFunc, DataTypeImm, GraphString, PrimValue),
)
_NO_WORDS = frozenset(("rewriter",))  # which read the source of what they are given


class OpenModule:
    """A module as the text of a program sees it: the words of scripts, and no other modules."""

    def __init__(self, module: ModuleType) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(f"a script has no attribute {name}")
        attribute = getattr(self._module, name)
        home = _own_name(self._module)
        if isinstance(attribute, ModuleType):
            is_group = home == _OPEN[-1] or home.startswith(_OPERATORS)
            if is_open(attribute) or (is_group and _own_name(attribute).startswith(_OPERATORS)):
                return OpenModule(attribute)
        elif home != _OPEN[0] and name not in _NO_WORDS and _is_word(attribute):
            return attribute
        raise ScriptError(
            f"the text of a script cannot use {self._module.__name__}.{name}",
            "",
            "use the names of T, R and I, or give the value in extra_vars",
        )


def is_open(module: ModuleType) -> bool:
    """Whether a module has words of scripts."""
    return _own_name(module) in _OPEN


def _has_words(module: ModuleType) -> bool:
    """Whether the names of a module are words of scripts: also of groups of operators."""
    name = _own_name(module)
    return name in _OPEN or name.startswith(_OPERATORS)


def _is_word(value: Any) -> bool:
    """Whether a value of a module is a word of scripts, and not what the module imports."""
    if isinstance(value, type):
        return value in _CLASSES or value.__name__ == "meta_var"
    if inspect.isroutine(value):
        home = str(value.__module__)
        return any(home == prefix or home.startswith(f"{prefix}.") for prefix in _HOMES)
    return type(value).__module__.startswith("te_sched.")


# Words of older scripts, and what stands for them now.
_OTHERS = {"range": "write range(...), or one of T.serial, T.parallel, T.vectorized, T.unroll"}
_REMOVED = {
    "load": "write A[i], with A = T.Buffer(shape, dtype, data=pointer)",
    "store": "write A[i] = value, with A = T.Buffer(shape, dtype, data=pointer)",
    "preflattened_buffer": "declare the parameter with its shape before flattening",
}


def _absent_word(text: str, name: str, module: Any) -> ScriptError:
    advice = _REMOVED.get(name) or _OTHERS.get(name)
    home = sys.modules[_own_name(module)]
    if hasattr(getattr(home, "axis", None), name):
        advice = f"write {text.partition('.')[0]}.axis.{name}"
    words = {word: getattr(home, word, None) for word in dir(home) if word[0] != "_"}
    candidates = [word for word, value in words.items() if value is not None and _is_word(value)]
    elsewhere = word_of_graphs(name) if _own_name(module).startswith(_OF_GRAPHS) else ""
    if elsewhere:
        advice = f"use {text.partition('.')[0]}.{elsewhere}"
    owner, near = text.rpartition(".")[0], did_you_mean(name, candidates)
    return ScriptError(
        f"scripts have no {text}",
        "it is of an older version of TVMScript" if name in _REMOVED else "",
        advice or (f"use a name that exists{near}" if near else f"dir({owner}) lists the words"),
    )


def word_of_graphs(name: str) -> str:
    """An operator of a name as scripts of graphs write it after `R.`, or "".

    >>> word_of_graphs("relu"), word_of_graphs("exp"), word_of_graphs("dense")
    ('nn.relu', 'exp', '')
    """
    words = sys.modules[_OPEN[-1]]
    if _is_word(getattr(words, name, None)):
        return name
    groups = [
        word
        for word, value in vars(words).items()
        if isinstance(value, ModuleType) and _own_name(value).startswith(_OPERATORS)
    ]
    holders = [group for group in groups if hasattr(getattr(words, group), name)]
    return f"{holders[0]}.{name}" if holders else ""


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


# The attributes that the text of a program may read.
_OF_NODES = (
    *("READ", "WRITE", "access_ptr", "astype", "attr_key", "axis", "byte_offset", "checked_type"),
    *("dtype", "elem_offset", "equal", "get_flattened_buffer", "index", "indices", "inverse"),
    *("kind", "map_indices", "map_shape", "name", "ndim", "offset_of", "op", "scope", "shape"),
    *("strides", "struct_info", "type_annotation", "value_index", "vload", "vstore"),
)
_OF_NAMES = ("name", "name_hint", "struct_info")
_OF_ARRAYS = ("dtype", "ndim", "shape", "size")
_LEAVES = (Var, IntImm, FloatImm, StringImm, Buffer)


class ScriptEvaluator(ExpressionEvaluator):
    """Evaluates expressions of one source."""

    def __init__(self, source: Source, names: Mapping[str, Any], is_trusted: bool = True) -> None:
        self.source, self.names, self.is_trusted = source, names, is_trusted
        self.builtins = vars(builtins) if is_trusted else SAFE_BUILTINS
        self.scopes: list[dict[str, Any]] = [{}]
        self.limits = None if is_trusted else Limits(source.text)

    def value(self, node: Any) -> Any:
        """The value of an expression."""
        try:
            return self.evaluate(node)
        except RecursionError:
            raise
        except ScriptError as error:
            if error.excerpt:
                raise
            raise self.source.error(node, error) from None
        except Exception as error:  # of a function of the user's: shown at its place
            raise self.source.error(node, error) from None

    def refuse(self, node: Any, fault: str, help: str) -> NoReturn:
        """Raise the error of an expression."""
        raise self.source.error(node, fault, help)

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
            value = self.lookup(node.id)
        except NameError as error:
            why, help = self.about_undefined(node.id)
            raise ScriptError(str(error), why, help) from None
        if self.limits is not None and any(node.id in scope for scope in self.scopes):
            self.limits.spend(self.size(value))
        return value

    def about_undefined(self, name: str) -> tuple[str, str]:
        """Why a name stands for nothing, if that is known, and what to do."""
        candidates = [*self.names, *(variable for scope in self.scopes for variable in scope)]
        return "", f"define it before this line{did_you_mean(name, candidates)}"

    def all_names(self) -> dict[str, Any]:
        """Every name that is visible."""
        names = dict(self.names)
        for scope in self.scopes:
            names.update(scope)
        return names

    def _attribute(self, node: ast.Attribute) -> Any:
        if not self.is_trusted:
            check_public(node.attr)
        holder = self.value(node.value)
        module = getattr(holder, "_module", holder) if isinstance(holder, OpenModule) else holder
        is_of_scripts = isinstance(module, ModuleType) and _has_words(module)
        if is_of_scripts and not hasattr(module, node.attr):
            raise _absent_word(ast.unparse(node), node.attr, module)
        is_word = isinstance(holder, OpenModule)
        return getattr(holder, node.attr) if is_word else self.attribute(holder, node.attr)

    def attributes_of(self, holder: Any) -> Collection[str]:
        """The attributes that a text may read: of modules those that `OpenModule` has, of nodes
        their fields, of values that are given by name all that are public.
        """
        if isinstance(holder, Node):
            return INIT_FIELDS.get(type(holder), ()) + _OF_NODES
        if isinstance(holder, NAMES):
            return _OF_NAMES
        if isinstance(holder, np.ndarray | np.generic):
            return _OF_ARRAYS
        if holder is CallEffectKind or holder is ForKind:
            return list(holder.__members__)
        return super().attributes_of(holder) or self._attributes_given(holder)

    def _attributes_given(self, holder: Any) -> Collection[str]:
        """The attributes of an object or module that the caller of from_source gives by name."""
        if all(holder is not value for value in self.names.values()):
            return ()
        return dir(holder)

    def _call(self, node: ast.Call) -> Any:
        function = self.value(node.func)
        self.define_bound(function, node)
        args, named = self.arguments(node)
        try:
            return self.call(function, args, named)
        except DeclarationError as error:
            if inspect.isfunction(function):  # not written in C, which may have no signature
                advise(error, function, ast.unparse(node.func), args, named)
            raise
        except TypeError:
            text = ast.unparse(node.func)
            if isinstance(function, Buffer):
                element = ast.unparse(ast.Subscript(node.func, ast.Tuple(node.args)))
                raise ScriptError(
                    f"{text} is a buffer, not a function", "", f"write {element}"
                ) from None
            made_by = getattr(function, "make", function)  # of an annotation
            if inspect.isroutine(made_by) or type(function).__module__.startswith("te_sched."):
                raise_unbound(made_by, text, args, named)
            raise

    def define_bound(self, function: Any, node: ast.Call) -> None:
        """Define the variables that a call binds."""

    def size_of_node(self, value: Any) -> int:
        """The number of nodes of an expression, or of what is known of a variable of a graph."""
        if isinstance(value, GraphExpr):
            value = value.struct_info_
        if type(value) not in CHILD_FIELDS or type(value) in _LEAVES:
            return 0
        assert self.limits is not None
        return sum(1 for _ in islice(walk(value), max(self.limits.left, 0) + 1))

    def is_collection(self, value: Any) -> bool:
        """Whether a value of the program is a collection, with an end."""
        return isinstance(value, np.ndarray | GraphExpr)

    def _subscript(self, node: ast.Subscript) -> Any:
        holder, key = self.value(node.value), self.value(node.slice)
        if isinstance(holder, Buffer):
            return element_at(holder, key)
        return holder[key]

    def _unary(self, node: ast.UnaryOp) -> Any:
        value = self.value(node.operand)
        if isinstance(node.op, ast.Not):
            if isinstance(value, Operand):
                return ops.logical_not(value)
            return not _checked_condition(value)
        return UNARY[type(node.op)](value)

    def _bool(self, node: ast.BoolOp) -> Any:
        is_and = isinstance(node.op, ast.And)
        combine = _both if is_and else _either
        result = _checked_condition(self.value(node.values[0]))
        for operand in node.values[1:]:
            if not isinstance(result, Operand):
                if bool(result) is not is_and:
                    return result
                value = self.value(operand)
                result = value if not isinstance(value, Operand) else combine(bool(result), value)
            else:
                result = combine(result, self.value(operand))
        return result

    def _compare(self, node: ast.Compare) -> Any:
        left, result = self.value(node.left), None
        for op, right_node in zip(node.ops, node.comparators, strict=True):
            right = self.value(right_node)
            kind = type(op)
            if kind in _CONDITIONS and (isinstance(left, Operand) or isinstance(right, Operand)):
                comparison = _CONDITIONS[kind](left, right)  # Python would turn `1 < x` around
            else:
                if kind in (ast.In, ast.NotIn):
                    self.iterate(right)
                comparison = COMPARE[kind](left, right)
            if result is None:
                result = comparison
            elif isinstance(result, Expr) or isinstance(comparison, Expr):
                result = ops.logical_and(result, comparison)
            else:
                result = result and comparison
            left = right
        return result

    def _choice(self, node: ast.IfExp) -> Any:
        condition = _checked_condition(self.value(node.test))
        if isinstance(condition, Operand):
            return if_then_else(condition, self.value(node.body), self.value(node.orelse))
        return self.value(node.body if condition else node.orelse)


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
    element = buffer[tuple([_stepped(key) for key in keys])]
    if not isinstance(element, BufferRegion):
        return element
    analyzer = Analyzer()
    ranges = [
        interval
        if type(interval.extent) is IntImm
        else Range(interval.min, analyzer.simplify(interval.extent))
        for interval in element.region
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


ScriptEvaluator.syntax = EXPRESSIONS | {
    ast.Name: ScriptEvaluator._name,
    ast.Attribute: ScriptEvaluator._attribute,
    ast.Call: ScriptEvaluator._call,
    ast.Subscript: ScriptEvaluator._subscript,
    ast.UnaryOp: ScriptEvaluator._unary,
    ast.BoolOp: ScriptEvaluator._bool,
    ast.Compare: ScriptEvaluator._compare,
    ast.IfExp: ScriptEvaluator._choice,
}
