"""Turn vectorized loops into vector expressions (TVM's VectorizeLoop).

Before::

    for i in vectorized(4): C[i * 2] = A[i] + x

After::

    C[ramp(0, 2, 4)] = A[ramp(0, 1, 4)] + broadcast(x, 4)

The loop variable becomes a ramp; operations with a vector operand become vectors. A statement
without a vector form (a condition that differs between lanes, a call that does not support vectors)
becomes a serial loop. Where predicates are asked for, a condition `i < n` on the lanes becomes the
predicate of all accesses under it; in programs to run it becomes that of stores and of loads of
vectors, and the condition of the first lane stays around them. For targets with scalable vectors,
a loop may have `T.vscale() * 4` steps.
"""

from __future__ import annotations

import dataclasses
from contextlib import suppress
from functools import reduce
from operator import is_
from typing import Any, NamedTuple

from te_sched.arith.analyzer import Analyzer
from te_sched.arith.conditions import conjuncts
from te_sched.config import AS_TVM, Lowering
from te_sched.errors import DeclarationError, LoweringError, Subject
from te_sched.ir import dtypes, ops
from te_sched.ir import expr as E
from te_sched.ir import stmt as S
from te_sched.ir.expr import Broadcast, Buffer, Expr, IntImm, Ramp, Var, lanes_of
from te_sched.ir.intrinsic_table import INTRINSICS
from te_sched.ir.message_text import spelled
from te_sched.ir.stmt import PrimFunc, Stmt
from te_sched.ir.visitor import (
    AccessMapper,
    Mapper,
    StatementMapper,
    parts_of,
    replace,
    statements,
    substitute,
    variables_of,
    walk,
)
from te_sched.lowering.statements import binds_threads, rebuilt

# Calls whose arguments may be vectors.
_VECTOR_CALLS = frozenset(
    f"tir.{intrinsic.name}" for intrinsic in INTRINSICS.values() if intrinsic.takes_vectors
)
# Those of float32 that TVM calls for each lane, and of which te_sched has a vector form.
_RUN_AS_VECTORS = frozenset({"tir.erf", "tir.expm1", "tir.log1p"})
# Their first arguments name the called function.
_LEADING_SCALARS = {"tir.call_llvm_pure_intrin": 2}


def has_vector_form(call: E.Call, to_run: bool) -> bool:
    """Whether the arguments of a call may be vectors, in programs to run or in TVM's texts."""
    if call.op in _VECTOR_CALLS:
        return True
    return to_run and call.op in _RUN_AS_VECTORS and dtypes.element(call.dtype) == "float32"


def vectorize_loops(func: PrimFunc, settings: Lowering = AS_TVM, target: object = None) -> PrimFunc:
    """Turn vectorized loops into vector expressions, or serial loops where that is chosen.

    `target` is that of functions without one of their own.
    """
    if not any(type(stmt) is S.For and stmt.kind == "vectorized" for stmt in statements(func.body)):
        return func
    loops = _loops_of(func, settings, target) if settings.vectorize else _SerialLoops()
    return func.with_body(loops.visit(func.body))


class Obstacle(NamedTuple):
    """The reason why a statement of a vectorized loop has no vector form: a "condition", a
    "choice", the "extent" of a loop or of memory, or the "index" of an outer dimension differs
    between lanes; a "call" takes no vectors; a while "loop" ends at different times; "vectors"
    would be made of vectors. `part` is the expression concerned.
    """

    kind: str
    part: Expr | None = None


class VectorizedLoop(NamedTuple):
    """The result of vectorizing a loop: `obstacles` of statements that became serial loops, and
    whether `is_serial`, without any vectors.
    """

    loop: S.For
    obstacles: tuple[Obstacle, ...]
    is_serial: bool


def vectorized_loops(
    func: PrimFunc, settings: Lowering = AS_TVM, target: object = None
) -> list[VectorizedLoop]:
    """What `vectorize_loops` makes of each vectorized loop of a function, and why.

    Loops inside of other vectorized loops have the obstacle "vectors".
    """
    loops = _loops_of(func, settings, target)
    loops.visit(func.body)
    return loops.results


def _loops_of(func: PrimFunc, settings: Lowering, target: object) -> _Loops:
    """What vectorizes the loops of a function. Processors run accesses with predicates."""
    if settings.to_run:
        has_masks = settings.partition_for_speed and not binds_threads(func.body)
        settings = dataclasses.replace(settings, predicate_accesses=has_masks)
    return _Loops(settings, func.attrs.get("target", target))


class _SerialLoops(StatementMapper):
    def visit_For(self, node: S.For) -> Any:
        new = self.generic(node)
        return replace(new, kind="serial") if node.kind == "vectorized" else new


class _Loops(StatementMapper):
    """Finds the vectorized loops; those inside of others become serial."""

    def __init__(self, settings: Lowering, target: object) -> None:
        self.settings, self.target = settings, target
        self.results: list[VectorizedLoop] = []

    def visit_AttrStmt(self, node: S.AttrStmt) -> Any:
        if node.key != "target":
            return self.generic(node)
        outside, self.target = self.target, node.node
        new = self.generic(node)
        self.target = outside
        return new

    @property
    def is_scalable(self) -> bool:
        """Whether the target has scalable vectors."""
        return "+sve" in str(self.target)

    def visit_For(self, node: S.For) -> Any:
        if node.kind != "vectorized":
            return self.generic(node)
        body, var, lanes = node.body, node.loop_var, self._lanes(node)
        if lanes < 2:
            if lanes == 1:
                return self.visit(substitute(body, {var: node.min}))
            return replace(node, kind="serial", body=self.visit(body))
        for inner in statements(body):
            if type(inner) is S.For and inner.kind == "vectorized":
                self.results.append(VectorizedLoop(inner, (Obstacle("vectors"),), True))
        body = _SerialLoops().visit(body)
        if not ops.is_const(node.min, 0):
            body = substitute(body, {var: ops.add(node.min, var)})
        wanted, settings = self.settings.predicate_accesses, self.settings
        has_masks = self.is_scalable if wanted is None else wanted
        vectorizer = _Vectorizer(var, lanes, settings, has_masks)
        new = vectorizer.visit(body)
        is_serial = bool(vectorizer.obstacles) and not _has_other_leaves(new)
        self.results.append(VectorizedLoop(node, tuple(vectorizer.obstacles), is_serial))
        return new

    def _lanes(self, node: S.For) -> int:
        extent = node.extent
        if type(extent) is IntImm:
            return extent.value
        if self.is_scalable and type(extent) is E.Mul:
            with suppress(DeclarationError):
                return lanes_of(extent)
        target = "(nullptr)" if self.target is None else self.target
        raise LoweringError(
            f"cannot vectorize loop {node.loop_var.name}: its extent {spelled(extent)} is not "
            f"constant",
            "a vector has a constant number of lanes, or a constant multiple of T.vscale() where "
            "the target has scalable vectors",
            "split the axis by a constant factor and vectorize the inner part",
            where=Subject("axis", node.loop_var.name),
            in_tvm=f"Failed to vectorize loop with extent {extent} for target {target}",
        )


class _HasNoVectorForm(Exception):
    """Raised inside of an expression, caught by its statement."""

    def __init__(self, kind: str, part: Expr | None = None) -> None:
        super().__init__(kind)
        self.obstacle = Obstacle(kind, part)


def _has_other_leaves(root: Stmt) -> bool:
    """Whether a statement does something outside of loops over lanes."""
    stack: list[Stmt] = [root]
    while stack:
        node = stack.pop()
        if type(node) in (S.BufferStore, S.Evaluate):
            return True
        if not (type(node) is S.For and node.is_scalarized):
            stack += parts_of(node)
    return False


def _check_scalable(loop: int, of_statement: str) -> None:
    """Refuse to make vectors of vectors where one of them is scalable."""
    if isinstance(loop, dtypes.ScalableLanes):
        why = "the elements of a scalable vector are scalars"
        in_tvm = "Creating scalable vectors from existing vectors is not supported."
    elif dtypes.is_scalable(of_statement):
        why = "it is a scalable vector already"
        in_tvm = "Vectorizing over existing scalable vectors is not supported."
    else:
        return
    raise LoweringError(
        f"cannot vectorize a loop over {of_statement}",
        why,
        "vectorize a loop over scalar statements",
        in_tvm=in_tvm,
    )


class _Vectorizer(Mapper):
    """Vectorizes the body of one loop.

    `vectors` holds the variables whose values became vectors, `scalars` what they were.
    """

    def __init__(self, var: Var, lanes: int, settings: Lowering, has_masks: bool = False) -> None:
        self.var = var
        self.lanes = lanes
        self.has_masks = has_masks
        self.ramp = Ramp(IntImm(0, var.dtype), IntImm(1, var.dtype), lanes)
        self.vectors: dict[Var, Expr] = {var: self.ramp}
        self.scalars: dict[Var, Expr] = {}
        self.obstacles: list[Obstacle] = []
        self.analyzer = Analyzer(settings)

    # Expressions.

    def visit_Var(self, node: Var) -> Expr:
        return self.vectors.get(node, node)

    def binary(self, node: Any) -> Any:
        """Both operands get the lanes of the wider one."""
        a, b = self.visit(node.a), self.visit(node.b)
        if a is node.a and b is node.b:
            return node
        return type(node)(*_same_lanes(a, b))

    visit_BinaryOp = visit_CompareOp = binary

    def visit_Add(self, node: E.Add) -> Any:
        return self._sum(node, ops.add)

    def visit_Sub(self, node: E.Sub) -> Any:
        return self._sum(node, ops.sub)

    def _sum(self, node: Any, combine: Any) -> Any:
        """A ramp and a scalar make a ramp."""
        a, b = self.visit(node.a), self.visit(node.b)
        if a is node.a and b is node.b:
            return node
        if type(b) is Ramp and dtypes.lanes(a.dtype) == 1:
            zero = IntImm(0, b.stride.dtype)
            return Ramp(combine(a, b.base), combine(zero, b.stride), b.lanes)
        if type(a) is Ramp and dtypes.lanes(b.dtype) == 1:
            return Ramp(combine(a.base, b), a.stride, a.lanes)
        return combine(*_same_lanes(a, b))

    def visit_Mul(self, node: E.Mul) -> Any:
        """A ramp and a positive scalar make a ramp."""
        a, b = self.visit(node.a), self.visit(node.b)
        if a is node.a and b is node.b:
            return node
        for ramp, factor in ((a, b), (b, a)):
            if type(ramp) is Ramp and self._is_positive(factor):
                return Ramp(ops.mul(ramp.base, factor), ops.mul(ramp.stride, factor), ramp.lanes)
        return E.Mul(*_same_lanes(a, b))

    def _is_positive(self, factor: Expr) -> bool:
        if type(factor) is IntImm:
            return factor.value > 0
        is_scalar = dtypes.lanes(factor.dtype) == 1
        return is_scalar and self.analyzer.can_prove(ops.greater(factor, 0))

    def visit_Cast(self, node: E.Cast) -> Any:
        """In programs to run, a ramp in a wider type is a ramp: accesses and predicates are its."""
        value = self.visit(node.value)
        if value is node.value:
            return node
        is_to_run = self.analyzer.settings.to_run
        if is_to_run and isinstance(value, Ramp) and _is_wider(node.dtype, value.dtype):
            base, stride = (ops.cast(node.dtype, part) for part in (value.base, value.stride))
            return Ramp(base, stride, value.lanes)
        return E.Cast(dtypes.with_lanes(node.dtype, dtypes.lanes(value.dtype)), value)

    def visit_Select(self, node: E.Select) -> Any:
        old = (node.condition, node.true_value, node.false_value)
        new = tuple([self.visit(part) for part in old])
        return node if all(map(is_, new, old)) else E.Select(*_same_lanes(*new))

    def visit_Ramp(self, node: Ramp) -> Any:
        base, stride = self.visit(node.base), self.visit(node.stride)
        if base is node.base and stride is node.stride:
            return node
        _check_scalable(self.lanes, node.dtype)
        if type(base) is Ramp and dtypes.lanes(stride.dtype) == 1:
            step = ops.mul(stride, IntImm(node.lanes, stride.dtype))
            if self.analyzer.can_prove_equal(base.stride, step):
                return Ramp(base.base, stride, node.lanes * base.lanes)
        base, stride = _same_lanes(base, stride)
        count = dtypes.lanes(base.dtype)
        ramps = tuple(
            [
                Ramp(_lane(base, position), _lane(stride, position), node.lanes)
                for position in range(count)
            ]
        )
        return E.Shuffle(ramps, tuple([IntImm(i) for i in range(count * node.lanes)]))

    def visit_Broadcast(self, node: Broadcast) -> Any:
        value = self.visit(node.value)
        if dtypes.lanes(value.dtype) > 1:
            _check_scalable(self.lanes, node.dtype)
            raise _HasNoVectorForm("vectors", node)
        return replace(node, value=value)

    def visit_Let(self, node: E.Let | S.LetStmt) -> Any:
        """The variable becomes a vector with its value."""
        value = self.visit(node.value)
        var = self._bound(node.var, node.value, value)
        return replace(node, var=var, value=value, body=self.visit(node.body))

    def _bound(self, var: Var, old_value: Expr, value: Expr) -> Var:
        """The variable bound to a value; a new one if the value became a vector."""
        if value.dtype == old_value.dtype:
            return var
        vector = Var(var.name, value.dtype)
        self.vectors[var] = vector
        self.scalars[var] = substitute(old_value, self.scalars)
        return vector

    def visit_BufferLoad(self, node: E.BufferLoad) -> Any:
        indices, mask = self._indices(node.indices), node.predicate
        _check_elements(node.buffer)
        return replace(node, indices=indices, predicate=mask and self.visit(mask))

    def _indices(self, old: tuple[Expr, ...]) -> tuple[Expr, ...]:
        new = tuple([self.visit(index) for index in old])
        if all(map(is_, new, old)):
            return old
        for index, outer in zip(old, new[:-1], strict=False):
            if dtypes.lanes(outer.dtype) > 1:
                raise _HasNoVectorForm("index", index)
        return new

    def visit_Call(self, node: E.Call) -> Any:
        args = tuple([self.visit(arg) for arg in node.args])
        if all(map(is_, args, node.args)):
            return node
        count = max([dtypes.lanes(arg.dtype) for arg in args])
        if count == 1:
            return E.Call(node.dtype, node.op, args)
        scalars = _LEADING_SCALARS.get(node.op, 0)
        if node.op == "tir.if_then_else" and dtypes.lanes(args[0].dtype) == 1:
            scalars = 1
        elif (load := self._masked_load(node, args)) is not None:
            return load
        elif node.op != "tir.reinterpret" and not has_vector_form(
            node, self.analyzer.settings.to_run
        ):
            is_choice = node.op == "tir.if_then_else"
            raise _HasNoVectorForm(*(("choice", node.args[0]) if is_choice else ("call", node)))
        args = (*args[:scalars], *[_broadcast(arg, count) for arg in args[scalars:]])
        return E.Call(dtypes.with_lanes(node.dtype, count), node.op, args)

    def _masked_load(self, node: E.Call, args: tuple[Expr, ...]) -> Expr | None:
        """A choice between an element and zero as a load with a predicate, in programs to run; the
        conditions that all lanes share choose between it and zeros. None for other choices.
        """
        if node.op != "tir.if_then_else" or not self.analyzer.settings.to_run:
            return None
        if type(args[1]) is not E.BufferLoad or not _is_zero(node.args[2]):
            return None
        count = dtypes.lanes(args[0].dtype)
        conditions = [self.visit(part) for part in conjuncts(node.args[0])]
        is_plain = len(conditions) == 1 or count.bit_count() == 1  # LLVM takes other masks apart
        if not is_plain or not _is_maskable(args[1], count):
            return None
        masks = [self._bound_mask(part) for part in conditions if dtypes.lanes(part.dtype) > 1]
        if None in masks:
            return None
        load = replace(args[1], predicate=reduce(E.And, masks))  # type: ignore[arg-type]
        uniform = [part for part in conditions if dtypes.lanes(part.dtype) == 1]
        if not uniform:
            return load
        values = reduce(ops.logical_and, uniform), load, _broadcast(args[2], count)
        return E.Call(load.dtype, node.op, values)

    # Statements.

    def visit_Stmt(self, node: Stmt) -> Stmt:
        """A statement, or the loop over its lanes when it has no vector form."""
        try:
            vectorized: Stmt = _STATEMENTS.get(type(node), _Vectorizer.generic)(self, node)
            return vectorized
        except _HasNoVectorForm as error:
            self.obstacles.append(error.obstacle)
            return self._loop(node)

    def _loop(self, node: Stmt) -> Stmt:
        """The statement once for each lane."""
        var = Var(f"{self.var.name}.s", self.var.dtype)
        values: dict[Var, Expr] = {self.var: var}
        if self.scalars:
            node = substitute(node, dict(self.scalars))
        body = substitute(node, values)
        zero, count = IntImm(0, var.dtype), ops.cast(var.dtype, self.lanes)
        return S.For(var, zero, count, "serial", body, is_scalarized=True)

    def scalar(self, expr: Expr) -> Expr:
        """An expression that must be uniform across lanes."""
        new: Expr = self.visit(expr)
        if dtypes.lanes(new.dtype) != dtypes.lanes(expr.dtype):
            raise _HasNoVectorForm("condition" if expr.dtype == "bool" else "extent", expr)
        return new

    def store(self, node: S.BufferStore) -> Any:
        """The value and the last index get the same lanes."""
        indices, value, mask = self._indices(node.indices), self.visit(node.value), node.predicate
        mask = mask and self.visit(mask)
        if indices is node.indices and value is node.value and mask is node.predicate:
            return node
        _check_elements(node.buffer)
        element = dtypes.lanes(node.buffer.dtype)
        if isinstance(self.lanes, dtypes.ScalableLanes) and dtypes.lanes(node.value.dtype) > 1:
            _check_scalable(self.lanes, node.value.dtype)
        count = max(dtypes.lanes(indices[-1].dtype) * element, dtypes.lanes(value.dtype))
        last = _broadcast(indices[-1], count if element == 1 else count // element)
        places = (*indices[:-1], last)
        return S.BufferStore(node.buffer, _broadcast(value, count), places, mask)

    def conditional(self, node: S.IfThenElse) -> Any:
        """All lanes take the same branch, or the condition becomes the predicate of accesses."""
        if node.else_case is not None:
            return self.outer(node)
        if self.analyzer.settings.to_run:
            return self._masked(node)
        mask = self._mask(self.visit(node.condition))
        return (
            self.outer(node)
            if mask is None
            else _Predicated(mask).visit(self.visit(node.then_case))
        )

    def _masked(self, node: S.IfThenElse) -> Any:
        """A condition on the lanes as a predicate; the others, and its own of the first lane, stay:
        if that does not hold, it holds for no lane. Values in registers are stored without a branch
        for each row of a tile, in which their sums would be computed one after the other.
        """
        conditions = [self.visit(part) for part in conjuncts(node.condition)]
        of_lanes = [part for part in conditions if dtypes.lanes(part.dtype) > 1]
        mask = self._mask(of_lanes[0]) if len(of_lanes) == 1 else None
        if mask is None:
            return self.outer(node)
        uniform = [part for part in conditions if part is not of_lanes[0]]
        condition = reduce(ops.logical_and, [*uniform, E.LT(*mask.args)])
        body = self.visit(node.then_case)
        is_branch = not _is_of_registers(body, condition)
        if not is_branch and uniform:
            count = dtypes.lanes(mask.dtype)
            shared = _broadcast(reduce(ops.logical_and, uniform), count)
            mask = E.And(mask, shared)  # type: ignore[assignment]
        try:
            body = _Masked(mask).visit(body)
        except _HasNoVectorForm:
            raise _HasNoVectorForm("condition", node.condition) from None
        return replace(node, condition=condition, then_case=body) if is_branch else body

    def _mask(self, condition: Expr) -> E.Call | None:
        """The predicate of the lanes for which a condition holds; None for other conditions than
        that lanes are below a limit.
        """
        is_below = type(condition) is E.LT and self.has_masks
        return _lanes_below(condition.a, condition.b) if is_below else None  # type: ignore[attr-defined]

    def _bound_mask(self, condition: Any) -> Expr | None:
        """The same of an upper or a lower limit of lanes, which may be included."""
        kind = type(condition)
        if not self.has_masks or kind not in (E.LT, E.LE, E.GT, E.GE):
            return None
        low, high = (condition.a, condition.b)[:: 1 if kind in (E.LT, E.LE) else -1]
        if type(low) is Ramp:
            return _lanes_below(low, high, kind in (E.LE, E.GE))
        above = _lanes_below(high, low, kind in (E.LT, E.GT))
        return None if above is None else E.Not(above)

    def outer(self, node: Stmt) -> Any:
        """Lanes must take the same branches; bounds of loops and values of attributes must be
        uniform."""
        return rebuilt(node, self.scalar, self.visit)

    def while_loop(self, node: S.While) -> Any:
        """Lanes leave a while loop at different times."""
        raise _HasNoVectorForm("loop", node.condition)

    def allocation(self, node: S.Allocate) -> Any:
        """Give each lane its own copy of a buffer, interleaved."""
        condition = self.scalar(node.condition)
        extents = [self.scalar(extent) for extent in node.extents]
        extents[-1] = ops.mul(extents[-1], ops.cast(extents[-1].dtype, self.lanes))
        settings = self.analyzer.settings
        body = _LanesOfMemory(node.buffer_var, self.var, self.lanes, settings).visit(node.body)
        return replace(node, extents=tuple(extents), condition=condition, body=self.visit(body))


_STATEMENTS: dict[type, Any] = {
    S.BufferStore: _Vectorizer.store,
    S.LetStmt: _Vectorizer.visit_Let,
    S.IfThenElse: _Vectorizer.conditional,
    **dict.fromkeys((S.For, S.AttrStmt, S.AssertStmt), _Vectorizer.outer),
    S.While: _Vectorizer.while_loop,
    S.Allocate: _Vectorizer.allocation,
}


class _Predicated(Mapper):
    """Gives a predicate to all accesses; each must have the lanes of the predicate."""

    def __init__(self, mask: Expr) -> None:
        self.mask = mask

    def visit_BufferLoad(self, node: E.BufferLoad) -> Any:
        return self._under_mask(self.generic(node), node.dtype)

    def visit_BufferStore(self, node: S.BufferStore) -> Any:
        return self._under_mask(self.generic(node), node.value.dtype)

    def _under_mask(self, node: Any, dtype: str) -> Any:
        has_lanes = dtypes.lanes(dtype) == dtypes.lanes(self.mask.dtype)
        if not has_lanes or node.predicate is not None or type(node.indices[-1]) is not Ramp:
            raise _HasNoVectorForm("condition", self.mask)
        return replace(node, predicate=self.mask)

    def visit_Stmt(self, node: Stmt) -> Any:
        """A statement that is not of accesses alone, such as a call, cannot have a predicate."""
        if type(node) not in (S.SeqStmt, S.LetStmt, S.For, S.AttrStmt):
            raise _HasNoVectorForm("condition", self.mask)
        return self.generic(node)


class _Masked(_Predicated):
    """The same for programs to run: loads of one element for all lanes have no predicate, since the
    first lane needs them, and lanes that are not stored must not fail.
    """

    def visit_BufferLoad(self, node: E.BufferLoad) -> Any:
        return node if dtypes.lanes(node.dtype) == 1 else self._under_mask(node, node.dtype)

    def visit_Stmt(self, node: Stmt) -> Stmt:
        if type(node) not in (S.SeqStmt, S.AttrStmt):
            raise _HasNoVectorForm("condition", self.mask)
        masked: Stmt = self.generic(node)
        return masked

    def visit_Call(self, node: E.Call) -> Any:
        if dtypes.lanes(node.dtype) > 1 and not has_vector_form(node, True):
            raise _HasNoVectorForm("condition", self.mask)
        return self.generic(node)

    def binary(self, node: Any) -> Any:
        """Lanes without a value may have any divisor."""
        if dtypes.lanes(node.dtype) > 1 and not dtypes.is_float(node.dtype):
            raise _HasNoVectorForm("condition", self.mask)
        return self.generic(node)

    visit_Div = visit_Mod = visit_FloorDiv = visit_FloorMod = binary

    def _under_mask(self, node: Any, dtype: str) -> Any:
        if not _is_maskable(node, dtypes.lanes(self.mask.dtype)):
            raise _HasNoVectorForm("condition", self.mask)
        return super()._under_mask(node, dtype)


def _is_wider(dtype: str, ramp: str) -> bool:
    """Whether signed integers have more bits than the elements of a ramp."""
    wide, narrow = dtypes.parse(dtype), dtypes.parse(ramp)
    return wide.code == narrow.code == "int" and wide.bits > narrow.bits


def _is_of_registers(body: Stmt, condition: Expr) -> bool:
    """Whether vectors are stored that are computed of local memory, and what else is read for all
    lanes is there if a condition does not hold, of which it is not an element.
    """
    loads = [part for part in walk(body) if isinstance(part, E.BufferLoad)]
    if type(body) is not S.BufferStore or not any(load.buffer.scope() == "local" for load in loads):
        return False
    scalars = [load.indices for load in loads if dtypes.lanes(load.dtype) == 1]
    used = variables_of(*[index for indices in scalars for index in indices])
    return not used & variables_of(condition)


def _lanes_below(lanes: Expr, limit: Expr, or_equal: bool = False) -> E.Call | None:
    """The predicate of neighbors below a limit of all lanes; None for other operands."""
    limit = limit.value if type(limit) is Broadcast else limit
    if type(lanes) is not Ramp or not ops.is_const(lanes.stride, 1):
        return None
    if dtypes.lanes(limit.dtype) != 1:
        return None
    base = lanes.base - 1 if or_equal else lanes.base
    dtype = dtypes.with_lanes("bool", lanes.lanes)
    return E.Call(dtype, "tir.get_active_lane_mask", (base, limit))


def _is_zero(value: Expr) -> bool:
    """Whether all bits of a constant are 0."""
    return str(value.value) in ("0", "0.0") if isinstance(value, IntImm | E.FloatImm) else False


def _is_maskable(access: E.BufferLoad | S.BufferStore, lanes: int) -> bool:
    """Whether an access is of neighbors in memory, of which some can be left out."""
    index = access.indices[-1]
    return (
        access.predicate is None
        and type(index) is Ramp
        and index.lanes == lanes
        and ops.is_const(index.stride, 1)
        and dtypes.lanes(access.buffer.dtype) == 1
        and not dtypes.is_bool(access.buffer.dtype)
    )


def _check_elements(buffer: Buffer) -> None:
    if dtypes.is_scalable(buffer.dtype):
        raise LoweringError(
            f"cannot vectorize a loop over buffer {buffer.name} of {buffer.dtype}",
            "its elements are scalable vectors",
            "vectorize a loop over buffers of scalars",
            where=Subject("buffer", buffer.name),
            in_tvm="Vectorizing over scalable buffer elements is not supported in vectorizer.",
        )


class _LanesOfMemory(AccessMapper):
    """Moves the accesses to memory that is allocated inside of the loop to the part of their
    lane."""

    def __init__(self, memory: Var, lane: Var, lanes: int, settings: Lowering) -> None:
        self.memory = memory
        self.lane = lane
        self.lanes = lanes
        self.analyzer = Analyzer(settings)

    def visit_Buffer(self, buffer: Buffer) -> Buffer:
        """The wider buffer; as in TVM, one for each access."""
        if buffer.data is not self.memory:
            return buffer
        shape = (*buffer.shape[:-1], self.analyzer.simplify(self._times_lanes(buffer.shape[-1])))
        strides = tuple([self.analyzer.simplify(self._times_lanes(s)) for s in buffer.strides[:-1]])
        return replace(buffer, shape=shape, strides=strides + buffer.strides[-1:])

    def moved(self, buffer: Buffer, indices: tuple[Expr, ...]) -> tuple[Expr, ...]:
        index = ops.add(self._times_lanes(indices[-1]), self.lane)
        return (*indices[:-1], self.analyzer.simplify(index))

    def _times_lanes(self, expr: Expr) -> Expr:
        return ops.mul(expr, ops.cast(expr.dtype, self.lanes))


def _same_lanes(*exprs: Expr) -> tuple[Any, ...]:
    count = max([dtypes.lanes(expr.dtype) for expr in exprs])
    return tuple([_broadcast(expr, count) for expr in exprs])


def _broadcast(expr: Expr, count: int) -> Expr:
    """The expression with that many lanes."""
    lanes = dtypes.lanes(expr.dtype)
    if lanes == count:
        return expr
    if lanes != 1:
        _check_scalable(count, expr.dtype)
        if type(expr) is Broadcast and count % lanes == 0:
            return Broadcast(expr.value, count)
        raise _HasNoVectorForm("vectors", expr)
    return Broadcast(expr, count)


def _lane(vector: Expr, position: int) -> Expr:
    """One lane of a vector."""
    return E.Shuffle((vector,), (IntImm(position),))
