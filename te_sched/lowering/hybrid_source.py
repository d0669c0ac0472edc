"""`te.hybrid.build`: the loops of a schedule as the text of a hybrid script.

Statements and expressions become Python's own syntax trees. What hybrid scripts do not have is
refused: calls of functions, tensor intrinsics, data that threads share.
"""

from __future__ import annotations

import ast
import keyword
import math
from collections.abc import Callable, Sequence
from typing import Any

from te_sched.errors import LoweringError
from te_sched.ir import expr as E
from te_sched.ir import stmt as S
from te_sched.ir.expr import Buffer, Expr, Var
from te_sched.ir.printer.names import UniqueNames, identifier
from te_sched.lowering.bounds import is_private
from te_sched.lowering.pipeline import lower
from te_sched.schedule.schedule import Schedule
from te_sched.signatures import checked
from te_sched.te.hybrid.modules import HybridModule
from te_sched.te.hybrid.runtime import HYBRID_GLOBALS, SYMBOLIC
from te_sched.te.operation import PlaceholderOp, ScanOp
from te_sched.te.tensor import Tensor

_BINARY: dict[type, type[ast.operator]] = {
    E.Add: ast.Add,
    E.Sub: ast.Sub,
    E.Mul: ast.Mult,
    E.FloorDiv: ast.FloorDiv,
    E.FloorMod: ast.Mod,
}
_COMPARED: dict[type, type[ast.cmpop]] = {
    E.EQ: ast.Eq,
    E.NE: ast.NotEq,
    E.LT: ast.Lt,
    E.LE: ast.LtE,
    E.GT: ast.Gt,
    E.GE: ast.GtE,
}
_BITWISE: dict[str, type[ast.operator]] = {
    "tir.bitwise_and": ast.BitAnd,
    "tir.bitwise_or": ast.BitOr,
    "tir.bitwise_xor": ast.BitXor,
    "tir.shift_left": ast.LShift,
    "tir.shift_right": ast.RShift,
}
_WORDS = {"tir.fabs": "abs", "tir.pow": "power"}  # other intrinsics have their own names
_LOOPS = {
    "serial": "range",
    "parallel": "parallel",
    "vectorized": "vectorize",
    "unrolled": "unroll",
}
# Attributes without an effect on values.
_HINTS = ("extern_scope", "double_buffer_scope", "buffer_dim_align")
_TAKEN = (*keyword.kwlist, *HYBRID_GLOBALS, "range", "len", "min", "max", "abs")


@checked
def build(
    sch: Schedule,
    inputs: Sequence[Tensor | Var],
    outputs: Sequence[Tensor],
    name: str = "hybrid_func",
) -> HybridModule:
    """The loops of a schedule as a hybrid script, which runs as Python and can be scheduled again.

    Threads become loops. A schedule that is wrong is not refused, as by `te_sched.lower`.

    Parameters
    ----------
    inputs : the parameters of the script, tensors and variables.
    outputs : the tensors that it returns.
    name : of the function.

    Raises
    ------
    LoweringError where the schedule cannot be turned into loops, or these into a script.

    >>> A = te.placeholder((8,), name="A")
    >>> B = te.compute((8,), lambda i: A[i] + 1, name="B")
    >>> s = te.create_schedule(B.op)
    >>> xo, xi = s[B].split(B.op.axis[0], 4)
    >>> print(te.hybrid.build(s, [A], [B]).get_source())
    def hybrid_func(A):
        B = output_tensor((8,), 'float32')
        for i_outer in range(2):
            for i_inner in range(4):
                B[i_inner + i_outer * 4] = A[i_inner + i_outer * 4] + 1.0
        return B
    """
    name = identifier(name)
    tensors = {tensor for tensor in inputs if isinstance(tensor, Tensor)}
    for stage in sch.stages:
        if isinstance(stage.op, ScanOp):
            tensors.update(stage.op.state_placeholder)
    for stage in sch.stages:
        if isinstance(stage.op, PlaceholderOp) and stage.op.output(0) not in tensors:
            raise _refused(f"tensor {stage.op.name}, which is not an input")
    module = lower(sch, [*inputs, *outputs], name, stop_after="schedule_ops")
    tree = _SourceWriter(module[name], name, len(inputs)).tree
    return HybridModule(ast.unparse(ast.fix_missing_locations(tree)), name)


class _SourceWriter:
    """Writes a function; `tree` is its definition."""

    def __init__(self, func: S.PrimFunc, name: str, inputs: int) -> None:
        self.unique = UniqueNames((*_TAKEN, name))
        self.names: dict[Var | Buffer, ast.expr] = {}
        self.launched: list[str] = []  # tags of threads
        self.lowest: dict[Buffer, tuple[Expr, ...]] = {}
        params = [func.buffer_map.get(param, param) for param in func.params]
        self.arguments = frozenset(params)
        texts = [self.declare(param) for param in params]
        for buffer in params[:inputs]:
            if isinstance(buffer, Buffer):
                self._sizes(buffer)
        body = [
            _assigned(text, "output_tensor", self.shape(buffer.shape), ast.Constant(buffer.dtype))
            for text, buffer in zip(texts[inputs:], params[inputs:], strict=True)
            if isinstance(buffer, Buffer)
        ]
        body += self.statement(func.body)
        returned: list[ast.expr] = [ast.Name(text) for text in texts[inputs:]]
        body.append(ast.Return(returned[0] if len(returned) == 1 else ast.Tuple(returned)))
        header = ast.arguments(
            [], [ast.arg(text) for text in texts[:inputs]], None, [], [], None, []
        )
        self.tree = ast.FunctionDef(name, header, body, [])

    def _sizes(self, buffer: Buffer) -> None:
        """Name the variables of a shape that are not parameters by the input's shape."""
        shape = ast.Attribute(self.names[buffer], "shape")
        for dimension, extent in enumerate(buffer.shape):
            if isinstance(extent, Var) and extent not in self.names:
                self.names[extent] = ast.Subscript(shape, ast.Constant(dimension))

    def declare(self, node: Var | Buffer) -> str:
        """The name of a variable or buffer, which is new."""
        text = self.unique.take(identifier(node.name))
        self.names[node] = ast.Name(text)
        return text

    def shape(self, extents: Sequence[Expr]) -> ast.expr:
        """A tuple of sizes."""
        return ast.Tuple([self.value(extent) for extent in extents])

    # Statements

    def statement(self, node: S.Stmt) -> list[ast.stmt]:
        """The Python statements of a statement."""
        stmts: list[ast.stmt] = _method(_STATEMENTS, node)(self, node)
        return stmts

    def block(self, node: S.Stmt) -> list[ast.stmt]:
        """The statements of a body, which must not be empty."""
        return self.statement(node) or [ast.Pass()]

    def _sequence(self, node: S.SeqStmt) -> list[ast.stmt]:
        return [stmt for part in node.seq for stmt in self.statement(part)]

    def _for(self, node: S.For) -> list[ast.stmt]:
        low = self.value(node.min)
        ends = [self.value(node.extent)]
        if not (isinstance(node.min, E.IntImm) and node.min.value == 0):
            ends = [low, self.value(node.min + node.extent)]
        return self._loop(node.loop_var, _call(_LOOPS[node.kind], *ends), node.body)

    def _loop(self, var: Var, domain: ast.expr, body: S.Stmt) -> list[ast.stmt]:
        target = ast.Name(self.declare(var))
        return [ast.For(target, domain, self.block(body), [])]

    def _attribute(self, node: S.AttrStmt) -> list[ast.stmt]:
        if node.key == "thread_extent":
            tag = node.node.thread_tag
            if tag in self.launched:
                raise _refused(f"a launch of {tag} inside another one")
            self.launched.append(tag)
            domain = _call("bind", ast.Constant(tag), self.value(node.value))
            loop = self._loop(node.node.var, domain, node.body)
            self.launched.pop()
            return loop
        if node.key in _HINTS or (
            node.key.startswith("pragma_") and not node.key.startswith("pragma_import")
        ):
            return self.statement(node.body)
        raise _refused(f"attribute {node.key}")

    def _realize(self, node: S.BufferRealize) -> list[ast.stmt]:
        buffer = node.buffer
        if buffer in self.arguments:
            return self.statement(node.body)
        scope = buffer.data.scope
        for tag in self.launched:
            if scope and not is_private(scope, tag):
                raise _refused(f"memory that the threads of {tag} share inside their loop")
        self.lowest[buffer] = tuple([bound.min for bound in node.bounds])
        shape = self.shape([bound.extent for bound in node.bounds])
        parts = (shape, ast.Constant(buffer.dtype), ast.Constant(buffer.scope()))
        return [_assigned(self.declare(buffer), "allocate", *parts), *self.statement(node.body)]

    def _store(self, node: S.BufferStore) -> list[ast.stmt]:
        return [ast.Assign([self._element(node)], self.value(node.value))]

    def _if(self, node: S.IfThenElse) -> list[ast.stmt]:
        other = self.statement(node.else_case) if node.else_case is not None else []
        return [ast.If(self.value(node.condition), self.block(node.then_case), other)]

    def _assert(self, node: S.AssertStmt) -> list[ast.stmt]:
        check = ast.Assert(self.value(node.condition), self.value(node.message))
        return [check, *self.statement(node.body)]

    def _let(self, node: S.LetStmt) -> list[ast.stmt]:
        value = self.value(node.value)
        return [ast.Assign([ast.Name(self.declare(node.var))], value), *self.statement(node.body)]

    def _evaluate(self, node: S.Evaluate) -> list[ast.stmt]:
        return [] if isinstance(node.value, E.IntImm) else [ast.Expr(self.value(node.value))]

    # Expressions

    def value(self, node: Expr) -> ast.expr:
        """The Python expression of an expression."""
        kind = type(node)
        if kind in _BINARY:
            return ast.BinOp(self.value(node.a), _BINARY[kind](), self.value(node.b))  # type: ignore[attr-defined]
        if kind in _COMPARED:
            return ast.Compare(self.value(node.a), [_COMPARED[kind]()], [self.value(node.b)])  # type: ignore[attr-defined]
        expr: ast.expr = _method(_EXPRESSIONS, node)(self, node)
        return expr

    def _variable(self, node: Var) -> ast.expr:
        if node not in self.names:
            raise _refused(f"variable {node.name}, which is not an input")
        return self.names[node]

    def _integer(self, node: E.IntImm) -> ast.expr:
        if node.dtype == "bool":
            return ast.Constant(bool(node.value))
        number = ast.Constant(node.value)
        return number if node.dtype == "int32" else _call(node.dtype, number)

    def _float(self, node: E.FloatImm) -> ast.expr:
        if math.isnan(node.value):
            raise _refused("the number nan")
        number = ast.Constant(node.value)
        return number if node.dtype == "float32" else _call(node.dtype, number)

    def _divided(self, node: E.Div) -> ast.expr:
        if not node.dtype.startswith("float"):
            raise _refused(f"division that rounds towards zero: {node}")
        return ast.BinOp(self.value(node.a), ast.Div(), self.value(node.b))

    def _logical(self, node: E.And | E.Or) -> ast.expr:
        joined = ast.And() if isinstance(node, E.And) else ast.Or()
        return ast.BoolOp(joined, [self.value(node.a), self.value(node.b)])

    def _extreme(self, node: E.Min | E.Max) -> ast.expr:
        word = "min" if isinstance(node, E.Min) else "max"
        return _call(word, self.value(node.a), self.value(node.b))

    def _not(self, node: E.Not) -> ast.expr:
        return ast.UnaryOp(ast.Not(), self.value(node.a))

    def _cast(self, node: E.Cast) -> ast.expr:
        if node.dtype not in SYMBOLIC:
            raise _refused(f"conversion to {node.dtype}")
        return _call(node.dtype, self.value(node.value))

    def _select(self, node: E.Select) -> ast.expr:
        parts = [
            self.value(operand) for operand in (node.condition, node.true_value, node.false_value)
        ]
        return ast.IfExp(*parts)

    def _element(self, node: E.BufferLoad | S.BufferStore) -> ast.expr:
        lowest = self.lowest.get(node.buffer)
        indices = node.indices
        if lowest is not None:
            indices = tuple([index - low for index, low in zip(indices, lowest, strict=True)])
        parts = [self.value(index) for index in indices]
        subscript = parts[0] if len(parts) == 1 else ast.Tuple(parts)
        return ast.Subscript(self.names[node.buffer], subscript)

    def _intrinsic(self, node: E.Call) -> ast.expr:
        args = [self.value(arg) for arg in node.args]
        if node.op in _BITWISE:
            return ast.BinOp(args[0], _BITWISE[node.op](), args[1])
        if node.op == "tir.bitwise_not":
            return ast.UnaryOp(ast.Invert(), args[0])
        if node.op == "tir.if_then_else":
            return ast.IfExp(*args)
        word = _WORDS.get(node.op, node.op.removeprefix("tir."))
        if word not in SYMBOLIC:
            raise _refused(f"function {node.op}")
        return _call(word, *args)


_STATEMENTS: dict[type, Callable[[_SourceWriter, Any], list[ast.stmt]]] = {
    S.SeqStmt: _SourceWriter._sequence,
    S.For: _SourceWriter._for,
    S.AttrStmt: _SourceWriter._attribute,
    S.BufferRealize: _SourceWriter._realize,
    S.BufferStore: _SourceWriter._store,
    S.IfThenElse: _SourceWriter._if,
    S.AssertStmt: _SourceWriter._assert,
    S.LetStmt: _SourceWriter._let,
    S.Evaluate: _SourceWriter._evaluate,
    S.Prefetch: lambda writer, node: [],
}
_EXPRESSIONS: dict[type, Callable[[_SourceWriter, Any], ast.expr]] = {
    Var: _SourceWriter._variable,
    E.IntImm: _SourceWriter._integer,
    E.FloatImm: _SourceWriter._float,
    E.StringImm: lambda writer, node: ast.Constant(node.value),
    E.Div: _SourceWriter._divided,
    **dict.fromkeys((E.And, E.Or), _SourceWriter._logical),
    **dict.fromkeys((E.Min, E.Max), _SourceWriter._extreme),
    E.Not: _SourceWriter._not,
    E.Cast: _SourceWriter._cast,
    E.Select: _SourceWriter._select,
    E.BufferLoad: _SourceWriter._element,
    E.Call: _SourceWriter._intrinsic,
}


def _method(table: dict[type, Callable[..., Any]], node: Any) -> Callable[..., Any]:
    method = table.get(type(node))
    if method is None:
        raise _refused(f"{type(node).__name__}: {node}")
    return method


def _call(word: str, *args: ast.expr) -> ast.expr:
    return ast.Call(ast.Name(word), list(args), [])


def _assigned(text: str, word: str, *args: ast.expr) -> ast.stmt:
    return ast.Assign([ast.Name(text)], _call(word, *args))


def _refused(what: str) -> LoweringError:
    return LoweringError(
        f"hybrid scripts cannot express {what}",
        "te.hybrid.build writes the loops of a schedule as a Python function",
        "build the schedule with te_sched.build, or leave it out of the script",
    )
