"""From the Python text of a hybrid script to the statement of an extern operation.

A script is walked as Python would run it, with expressions for elements and loop variables: what
does not depend on them is computed at once, what does becomes a statement. Must not know schedules.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import operator
import textwrap
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from functools import partial, reduce
from types import FunctionType
from typing import Any, NoReturn

from te_sched.errors import DeclarationError, SourceLocation, TeSchedError
from te_sched.ir import dtypes, intrinsics, ops
from te_sched.ir.buffer import decl_buffer
from te_sched.ir.builder import BufferVar, IRBuilder
from te_sched.ir.expr import (
    Buffer,
    BufferLoad,
    Expr,
    FloatImm,
    IntImm,
    IterVar,
    Operand,
    StringImm,
    Var,
)
from te_sched.ir.stmt import AssertStmt, AttrStmt, Evaluate
from te_sched.ir.structural import structural_equal
from te_sched.ir.verify import undefined_variables
from te_sched.ir.visitor import walk
from te_sched.python_expressions import (
    BINARY,
    COMPARE,
    EXPRESSIONS,
    UNARY,
    ExpressionEvaluator,
    Limits,
)
from te_sched.te.declare import as_shape, thread_axis
from te_sched.te.hybrid.runtime import LOOPS, SYMBOLIC
from te_sched.te.operation import HybridOp
from te_sched.te.reduction_axes import check_reduced
from te_sched.te.tag import tag_or_current
from te_sched.te.tensor import Tensor

_NO_OPERATORS = (ast.Pow, ast.MatMult, ast.Is, ast.IsNot, ast.In, ast.NotIn)
OPERATORS: dict[type, Callable[..., Any]] = {
    kind: combine
    for kind, combine in (BINARY | COMPARE | UNARY | {ast.UAdd: lambda value: value}).items()
    if kind not in _NO_OPERATORS
}

TEXT_ATTRIBUTES = ("shape", "dtype")  # those that a text may read

# Methods that change what Python keeps.
_CHANGING = (
    *("append", "extend", "insert", "pop", "remove", "clear", "sort", "reverse"),
    *("update", "setdefault", "popitem", "add", "discard"),
)

# The threads that loops are bound to, by their tag, and how many there are.
Threads = dict[str, tuple[IterVar, Expr]]


class WrittenLoops:
    """A Python function that is a hybrid script; `source` is its text where no file has it."""

    def __init__(self, function: FunctionType, source: str = "") -> None:
        self.function, self.source = function, source
        self.limits: Limits | None = None  # of a translation of a text

    def names(self) -> dict[str, Any]:
        """What names mean that the function does not bind: those captured, global, of Python."""
        captured = inspect.getclosurevars(self.function).nonlocals
        return {**vars(builtins), **self.function.__globals__, **captured}


def translate(script: WrittenLoops, args: tuple[Any, ...]) -> Any:
    """The output tensors of a script for tensors, variables and values known now."""
    inputs: dict[Tensor, Buffer] = {}
    outputs: list[Buffer] = []
    threads: Threads = {}
    builder = IRBuilder()

    def output(shape: Any, dtype: str, name: str) -> BufferVar:
        outputs.append(decl_buffer(as_shape(shape, name), dtypes.spelled(dtype), name))
        return builder.buffer_ptr(outputs[-1])

    script.limits = Limits(script.source) if script.source else None
    arguments = [_read(builder, inputs, arg) for arg in args]
    constant = frozenset(inputs.values())
    returned = _Walk(script, builder, output, threads, constant, arguments).result
    values = returned if isinstance(returned, tuple) else (returned,)
    named = [value.buffer for value in values if isinstance(value, BufferVar)]
    if not outputs or len(named) != len(values) or {*named} != {*outputs}:
        raise DeclarationError(
            f"the hybrid script {script.function.__name__}",
            "it returns something else than all its output tensors",
            "end it with `return` and the names of what output_tensor gave",
        )
    body = builder.get()
    for axis, extent in threads.values():
        body = AttrStmt(axis, "thread_extent", extent, body)
    what = f"hybrid script {script.function.__name__}"
    check_reduced(undefined_variables(body), (), what, "write a loop over {axis} in the script")
    op = HybridOp(
        script.function.__name__,
        tag_or_current(""),
        None,
        tuple(inputs),
        tuple(inputs.values()),
        tuple(named),
        body,
    )
    return op.output(0) if op.num_outputs == 1 else list(op.outputs)


def _read(builder: IRBuilder, inputs: dict[Tensor, Buffer], value: Any) -> Any:
    """An argument as the script sees it."""
    if isinstance(value, list | tuple):
        return [_read(builder, inputs, element) for element in value]
    if isinstance(value, Tensor):
        if value not in inputs:
            inputs[value] = decl_buffer(value.shape, value.dtype, value.name)
        return _Input(builder, inputs[value])
    return _known(value)


class _Input(BufferVar):
    """An input tensor, which a script reads and does not write."""

    __slots__ = ()


class _Walk(ExpressionEvaluator):
    """One run through a script; the one of a text is limited."""

    def __init__(
        self,
        script: WrittenLoops,
        builder: IRBuilder,
        output: Callable[[Any, str, str], BufferVar],
        threads: Threads,
        constant: frozenset[Buffer],
        args: list[Any],
    ) -> None:
        self.builder, self.output, self.threads = builder, output, threads
        self.constant = constant  # what no statement writes
        self.written: set[Buffer] = set()
        self.result: Any = None
        self.ifs = 0  # conditions enclosing this place within its loop
        self.nesting = 0  # enclosing loops and conditions
        self.depth = 0  # enclosing expressions
        self.bound_here: set[str] = set()
        self.outside = script.names()
        source, self.first_line, self.file = _source(script)
        self.limits = script.limits
        tree = _definition(script, source, self.first_line, self.file)
        names = [arg.arg for arg in tree.args.args]
        if len(names) != len(args) or tree.args.vararg or tree.args.kwonlyargs:
            wanted = f"it takes the parameters {', '.join(names)}, got {len(args)} arguments"
            self._refuse(tree, wanted, "give one argument for each parameter")
        self.values: dict[str, Any] = dict(zip(names, args, strict=True))
        self.stores = Counter(assigned_names(tree))
        self._body(tree.body)

    # Statements

    def _body(self, stmts: list[ast.stmt]) -> None:
        for stmt in stmts:
            if self.result is not None:
                self._refuse(stmt, "a statement follows the return", "put the return last")
            handler = getattr(self, f"_do_{type(stmt).__name__}", None)
            if handler is None:
                self._refuse(stmt, f"no {type(stmt).__name__} statements are supported", "")
            try:
                handler(stmt)
            except TeSchedError as error:
                if all(
                    subject.file != self.file
                    for subject in error.about
                    if isinstance(subject, SourceLocation)
                ):
                    error.about += (self._line(stmt),)
                raise
            except RecursionError:
                raise
            except Exception as error:  # of what the statement calls
                fault = f"{type(error).__name__}: {error}"
                self._refuse(stmt, fault, "correct the statement, or its arguments")

    @contextmanager
    def _inside(self, scope: Any, is_if: bool = False) -> Iterator[None]:
        """A scope, with which its names end; variables of a condition end with its loop."""
        before = self.values, self.bound_here, self.ifs
        self.values, self.bound_here = dict(self.values), set()
        self.ifs = self.ifs + 1 if is_if else 0
        self.nesting += 1
        with scope:
            yield
        self.nesting -= 1
        variables = {
            name: value for name, value in self.values.items() if isinstance(value, _Scalar)
        }
        self.values, self.bound_here, self.ifs = before
        if is_if:
            self.values = {**self.values, **variables}

    def _do_Pass(self, stmt: ast.Pass) -> None:
        """No operation."""

    def _do_Expr(self, stmt: ast.Expr) -> None:
        value = self.value(stmt.value)
        if isinstance(value, Expr):
            self.builder.emit(value)

    def _do_Assert(self, stmt: ast.Assert) -> None:
        held = self.value(stmt.test)
        if isinstance(held, Operand):
            text = self.value(stmt.msg) if stmt.msg is not None else ast.unparse(stmt)
            nothing = Evaluate(IntImm(0))
            self.builder.emit(AssertStmt(ops.convert(held), StringImm(str(text)), nothing))
        elif not held:
            self._refuse(stmt, "the assertion fails", "correct the values, or the assertion")

    def _do_Return(self, stmt: ast.Return) -> None:
        if self.nesting:
            fault = "a return inside of a loop or a condition is not supported"
            self._refuse(stmt, fault, "put the return last, outside of loops and conditions")
        self.result = self.value(stmt.value) if stmt.value is not None else ()

    def _do_If(self, stmt: ast.If) -> None:
        condition = self.value(stmt.test)
        if not isinstance(condition, Operand):
            self._body(stmt.body if condition else stmt.orelse)
            return
        with self._inside(self.builder.if_scope(condition), is_if=True):
            self._body(stmt.body)
        if stmt.orelse:
            with self._inside(self.builder.else_scope(), is_if=True):
                self._body(stmt.orelse)

    def _do_For(self, stmt: ast.For) -> None:
        call = stmt.iter
        if not isinstance(stmt.target, ast.Name) or stmt.orelse:
            self._refuse(stmt, "a loop has one variable and no else", "write for i in range(n)")
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name) or call.keywords:
            self._refuse(stmt, "a loop must be over range(...) or a word like it", "use range(n)")
        word, args = call.func.id, [self._now(self.value(arg)) for arg in call.args]
        name = stmt.target.id
        if name in self.values:
            fault = f"the loop would overwrite {name}, which has a value before it"
            self._refuse(stmt, fault, "give the loop a variable of another name")
        if word == "const_range":
            for number in range(*args):
                with self._inside(self.builder.new_scope()):
                    self._loop_body(name, number, stmt.body)
        elif word == "bind" and len(args) == 2:
            with self._inside(self.builder.new_scope()):
                self._loop_body(name, self._thread(stmt, *args), stmt.body)
        elif word in LOOPS and 1 <= len(args) <= 2:
            low, high = (0, args[0]) if len(args) == 1 else args
            extent = ops.convert(high - low)
            variable = Var(name, extent.dtype)
            with self._inside(self.builder.loop(variable, extent, LOOPS[word])):
                self._loop_body(name, variable + low, stmt.body)  # from 0 on, as in TVM
        else:
            words = ", ".join((*LOOPS, "const_range", "bind"))
            fault = f"{word} with {len(args)} arguments does not make a loop"
            self._refuse(stmt, fault, f"use one of {words}")

    def _thread(self, stmt: ast.stmt, tag: str, extent: Any) -> Expr:
        """The variable of a tag's axis, which all loops bound to the tag share."""
        number = ops.convert(extent)
        axis, before = self.threads.setdefault(tag, (thread_axis(tag), number))
        if before is not number and not structural_equal(before, number):
            self._refuse(
                stmt,
                f"{tag} is bound to {number} threads here but to {before} before",
                "bind it to the same number everywhere, and guard with `if`",
            )
        return axis.var

    def _loop_body(self, name: str, variable: Any, stmts: list[ast.stmt]) -> None:
        if self.limits is not None:
            self.limits.spend(20)  # for the statements of an iteration that is unrolled
        self._bind(name, variable)
        self._body(stmts)

    def _bind(self, name: str, value: Any) -> None:
        self.values[name] = value
        self.bound_here.add(name)

    def _do_AugAssign(self, stmt: ast.AugAssign) -> None:
        self._check_operator(stmt.op, stmt)
        changed = self.combine(type(stmt.op), self.value(stmt.target), self.value(stmt.value))
        self._store(stmt, stmt.target, changed)

    def _do_Assign(self, stmt: ast.Assign) -> None:
        if len(stmt.targets) != 1:
            self._refuse(stmt, "an assignment must have one target", "write several assignments")
        target = stmt.targets[0]
        if isinstance(target, ast.Name) and isinstance(stmt.value, ast.Call):
            word = stmt.value.func
            if isinstance(word, ast.Name) and word.id in ("output_tensor", "allocate"):
                self._bind(target.id, self._room(word.id, stmt.value, target.id))
                return
        value = self.value(stmt.value)
        names = target.elts if isinstance(target, ast.Tuple | ast.List) else [target]
        parts = value if isinstance(target, ast.Tuple | ast.List) else [value]
        if not isinstance(parts, list | tuple) or len(parts) != len(names):
            fault = f"the value cannot be unpacked into {len(names)} names"
            self._refuse(stmt, fault, "give as many values as names")
        # the first one is stored before anything changes
        for name_node, part in zip(names, [*parts[:1], *map(self._now, parts[1:])], strict=True):
            self._store(stmt, name_node, part)

    def _now(self, value: Any) -> Any:
        """The value at this place, read before later writes."""
        if isinstance(value, list | tuple):
            return type(value)([self._now(element) for element in value])
        if not isinstance(value, Expr) or not self._may_change(value):
            return value
        return self.builder.let("value", value)

    def _may_change(self, value: Expr) -> bool:
        loads = [part for part in walk(value) if type(part) is BufferLoad]
        return any(load.buffer not in self.constant for load in loads)

    def _room(self, word: str, call: ast.Call, name: str) -> BufferVar:
        args = [self.value(arg) for arg in call.args]
        named = {
            keyword.arg: self.value(keyword.value)
            for keyword in call.keywords
            if keyword.arg is not None
        }
        shape, dtype, *scope = [*args, *named.values()]
        if word == "output_tensor":
            return self.output(shape, dtype, name)
        scopes = [*scope, "global"]
        return self.builder.realize(dtype, as_shape(shape, name), name, scopes[0], self.ifs)

    def _store(self, stmt: ast.stmt, target: ast.expr, value: Any) -> None:
        if isinstance(target, ast.Subscript):
            buffer, index = self.value(target.value), self.value(target.slice)
            self._write(stmt, buffer, index, value)
            return
        if not isinstance(target, ast.Name):
            self._refuse(stmt, "only names and elements can be assigned", "")
        variable = self.values.get(target.id)
        if isinstance(variable, _Scalar):
            self._write(stmt, variable, 0, value)
        elif target.id in self.values and target.id not in self.bound_here:
            fault = f"{target.id} is a compile-time constant, which cannot change at run time"
            self._refuse(stmt, fault, "use a variable of another name")
        elif not isinstance(value, Expr | float | int) or (
            self.stores[target.id] == 1 and isinstance(value, FloatImm | IntImm | float | int)
        ):
            self._bind(target.id, self._now(value))
        else:
            first = ops.convert(value)
            room = self.builder.realize(first.dtype, (1,), target.id, outside=self.ifs)
            self._bind(target.id, _Scalar(self.builder, room.buffer))
            self._write(stmt, self.values[target.id], 0, first)

    def _write(self, stmt: ast.stmt, buffer: Any, index: Any, value: Any) -> None:
        if not isinstance(buffer, BufferVar) or isinstance(buffer, _Input):
            self._refuse(
                stmt,
                "inputs and constants cannot be written",
                "write to memory of output_tensor or allocate",
            )
        self._check_index(stmt, buffer, index)
        stored = ops.convert(value)
        if isinstance(buffer, _Scalar) and _loses(stored, buffer.dtype):
            fault = f"{buffer.buffer.name} has dtype {buffer.dtype}, but the value {stored.dtype}"
            begun = "0.0" if stored.dtype == "float32" else f"{stored.dtype}(0)"
            self._refuse(stmt, fault, f"begin with {begun}, or cast with {buffer.dtype}(...)")
        self.written.add(buffer.buffer)
        buffer[index] = ops.cast(buffer.dtype, stored)

    # Expressions

    def value(self, node: ast.expr) -> Any:
        """The value of an expression: a Python value, a buffer, or an expression of the IR."""
        self.depth += 1
        value = self.evaluate(node)
        self.depth -= 1
        if isinstance(value, _Scalar):
            return BufferLoad(value.buffer, (ops.const(0),))
        return _known(value)

    def _of_Name(self, node: ast.Name) -> Any:
        if node.id in self.values:
            return self.values[node.id]
        if self.stores[node.id]:
            fault = f"name {node.id} is not defined here"
            self._refuse(node, fault, "assign it before, outside of the loop")
        value = SYMBOLIC.get(node.id, self.outside.get(node.id, self))
        if value is self:
            help = "define it outside of the script, or use one of the words of hybrid scripts"
            self._refuse(node, f"name {node.id} is not defined", help)
        return value

    def _of_Attribute(self, node: ast.Attribute) -> Any:
        owner = self.value(node.value)
        if isinstance(owner, BufferVar) and node.attr == "shape":
            return owner.buffer.shape
        if isinstance(owner, list | dict | set) and node.attr in _CHANGING:
            fault = "a Python collection cannot change at run time"
            self._refuse(node, fault, "use memory: allocate(shape, dtype)")
        return self.attribute(owner, node.attr)

    def attributes_of(self, holder: Any) -> Collection[str]:
        """The attributes that a text may read."""
        return TEXT_ATTRIBUTES

    def _of_Subscript(self, node: ast.Subscript) -> Any:
        owner, index = self.value(node.value), self.value(node.slice)
        if isinstance(owner, BufferVar):
            self._check_index(node, owner, index)
        elif isinstance(owner, list | tuple) and isinstance(index, tuple):
            return reduce(operator.getitem, index, owner)
        return owner[index]

    def _of_BinOp(self, node: ast.BinOp) -> Any:
        self._check_operator(node.op, node)
        return self.combine(type(node.op), self.value(node.left), self.value(node.right))

    def _of_UnaryOp(self, node: ast.UnaryOp) -> Any:
        operand = self.value(node.operand)
        if isinstance(node.op, ast.Not):
            return ops.logical_not(operand) if isinstance(operand, Operand) else not operand
        self._check_operator(node.op, node)
        return OPERATORS[type(node.op)](operand)

    def _of_Compare(self, node: ast.Compare) -> Any:
        terms = [self.value(operand) for operand in (node.left, *node.comparators)]
        for kind in node.ops:
            self._check_operator(kind, node)
        held = [
            OPERATORS[type(kind)](low, high)
            for kind, low, high in zip(node.ops, terms, terms[1:], strict=False)
        ]
        return _together(ops.logical_and, held)

    def _of_BoolOp(self, node: ast.BoolOp) -> Any:
        is_and = isinstance(node.op, ast.And)
        held = [self.value(operand) for operand in node.values]
        return _together(ops.logical_and if is_and else ops.logical_or, held)

    def _of_IfExp(self, node: ast.IfExp) -> Any:
        condition = self.value(node.test)
        if not isinstance(condition, Operand):
            return self.value(node.body if condition else node.orelse)
        return intrinsics.select(condition, self.value(node.body), self.value(node.orelse))

    def _of_Call(self, node: ast.Call) -> Any:
        function = self.value(node.func)
        args, named = self.arguments(node)
        if isinstance(function, WrittenLoops):
            return self._inline(node, function, [self._now(arg) for arg in args])
        if function is len and isinstance(args[0], BufferVar):
            return args[0].buffer.shape[0]
        try:
            return self.call(function, args, named)
        except TypeError as error:
            if isinstance(error, TeSchedError):
                raise
            self._refuse(node, f"wrong arguments: {error}", "correct the call")

    def _inline(self, node: ast.Call, function: WrittenLoops, args: list[Any]) -> Any:
        """The result of another script, whose statements are emitted before this one."""
        inner = partial(self._inner_output, function.function.__name__)
        callee = _Walk(function, self.builder, inner, self.threads, self.constant, args)
        changed = [
            arg for arg in args if isinstance(arg, BufferVar) and arg.buffer in callee.written
        ]
        self.written |= callee.written
        if changed and self.depth > 1:
            name = changed[0].buffer.name
            fault = f"the call writes {name}, which the expression around it may read"
            self._refuse(node, fault, "call it in a statement of its own")
        return callee.result

    def _inner_output(self, function: str, shape: Any, dtype: str, name: str) -> BufferVar:
        del name
        return self.builder.realize(dtype, as_shape(shape, function), function, outside=self.ifs)

    # Errors

    def refuse(self, node: Any, fault: str, help: str) -> NoReturn:
        """Raise the error of an expression."""
        self._refuse(node, fault, help)

    def _check_operator(self, kind: ast.AST, node: ast.AST) -> None:
        if type(kind) not in OPERATORS:
            self._refuse(node, f"operator {type(kind).__name__} is not supported", "")

    def _check_index(self, node: ast.AST, buffer: BufferVar, index: Any) -> None:
        count = len(index) if isinstance(index, tuple) else 1
        expected = len(buffer.buffer.shape)
        if count != expected:
            fault = f"{buffer.buffer.name} has {expected} dimensions but {count} indices are given"
            self._refuse(node, fault, "give one index for each, as in a[i, j]")

    def _line(self, node: ast.AST) -> _Line:
        return _Line(self.file, self.first_line + getattr(node, "lineno", 1) - 1)

    def _refuse(self, node: ast.AST, fault: str, help: str) -> NoReturn:
        text = ast.unparse(node).partition("\n")[0]
        help = help or "use te.extern with tir.ir_builder for what hybrid scripts do not have"
        if not isinstance(node, ast.Name) or node.id not in fault.split():
            fault = f"{fault}: {text}"
        raise DeclarationError(f"hybrid script: {fault}", "", help, [self._line(node)])


_Walk.syntax = {kind: EXPRESSIONS[kind] for kind in (ast.Constant, ast.Tuple, ast.List)} | {
    ast.Name: _Walk._of_Name,
    ast.Attribute: _Walk._of_Attribute,
    ast.Subscript: _Walk._of_Subscript,
    ast.BinOp: _Walk._of_BinOp,
    ast.UnaryOp: _Walk._of_UnaryOp,
    ast.Compare: _Walk._of_Compare,
    ast.BoolOp: _Walk._of_BoolOp,
    ast.IfExp: _Walk._of_IfExp,
    ast.Call: _Walk._of_Call,
}


class _Line(SourceLocation):
    """A line of a script."""

    __slots__ = ()

    def __str__(self) -> str:
        return f"script {self.file}:{self.line}"


class _Scalar(BufferVar):
    """A variable that is assigned more than once, or an element: memory for one value."""

    __slots__ = ()


def _source(script: WrittenLoops) -> tuple[str, int, str]:
    """The text of a script, its first line and its file."""
    function = script.function
    if script.source:
        return script.source, 1, function.__code__.co_filename
    try:
        lines, first = inspect.getsourcelines(function)
    except OSError:
        raise DeclarationError(
            f"cannot read the source of hybrid script {function.__name__}",
            "scripts are translated from their source file",
            "define it in a file or a notebook, not by exec or on the interactive prompt",
        ) from None
    return textwrap.dedent("".join(lines)), first, inspect.getsourcefile(function) or ""


def _definition(script: WrittenLoops, text: str, line: int, file: str) -> ast.FunctionDef:
    """The syntax tree of a script, which is a `def`."""
    try:
        tree = ast.parse(text).body[0]
    except SyntaxError:  # of a part of a statement
        tree = ast.Pass()
    if not isinstance(tree, ast.FunctionDef):
        raise DeclarationError(
            f"hybrid script {script.function.__name__} is not written as a `def`",
            "the source of a script is one function",
            "define it by `def`",
            [_Line(file, line)],
        )
    return tree


def assigned_names(tree: ast.AST) -> Iterator[str]:
    """The names that a script binds, twice those that it changes where they are."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            yield node.target.id


def _together(combine: Callable[[Any, Any], Any], conditions: list[Any]) -> Any:
    """Conditions joined; those that are Python's by Python."""

    def both(a: Any, b: Any) -> Any:
        if isinstance(a, Operand) or isinstance(b, Operand):
            return combine(a, b)
        return (a and b) if combine is ops.logical_and else (a or b)

    return reduce(both, conditions)


def _loses(value: Expr, target: str) -> bool:
    """Whether a type does not hold all values that an expression may have."""
    source = value.dtype
    if dtypes.is_float(target):
        return dtypes.is_float(source) and dtypes.bits(source) > dtypes.bits(target)
    if not dtypes.is_integral(source):
        return True
    low, high = ops.int_limits(target)
    values = (value.value,) if isinstance(value, IntImm) else ops.int_limits(source)
    return min(values) < low or max(values) > high


def _known(value: Any) -> Any:
    """What Python computes with as it is: constants of the types that its numbers have."""
    if isinstance(value, IntImm) and value.dtype in ("int32", "bool"):
        return bool(value.value) if value.dtype == "bool" else value.value
    return value.value if isinstance(value, StringImm) else value
