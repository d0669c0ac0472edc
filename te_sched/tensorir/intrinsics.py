"""Intrinsics of TensorIR: what a piece of a program computes, and what does it instead.

`matched` finds the buffers and offsets that a description stands for in a program. Must not know
any primitive.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from te_sched.arith.analyzer import Analyzer
from te_sched.arith.index_map import Indices
from te_sched.errors import (
    DeclarationError,
    ScheduleError,
    TeSchedError,
    did_you_mean,
    kind_of,
    listing,
    repr_of,
)
from te_sched.ir import expr as E
from te_sched.ir import ops
from te_sched.ir import stmt as S
from te_sched.ir.blocks import BlockRealize
from te_sched.ir.dtypes import is_integral
from te_sched.ir.expr import Buffer, Expr, Range, Var
from te_sched.ir.stmt import For, PrimFunc, SeqStmt, Stmt
from te_sched.ir.structural import plain_of, structural_equal
from te_sched.ir.visitor import reads_data, variables_of
from te_sched.tensorir.tensor_intrin import (
    arm_cpu,
    cuda,
    dot_product_common,
    hexagon,
    rocm,
    transpositions,
    x86,
)
from te_sched.tensorir.tensor_intrin.building import Pair

_Error = TypeVar("_Error", bound=TeSchedError)
_REGISTERED: dict[str, BlockIntrin] = {}
# Those that TVM brings, which are made when they are asked for.
_BROUGHT: dict[str, Callable[[], Pair]] = {
    **x86.INTRINSICS,
    **arm_cpu.INTRINSICS,
    **dot_product_common.INTRINSICS,
    **cuda.INTRINSICS,
    **rocm.INTRINSICS,
    **hexagon.INTRINSICS,
    **transpositions.INTRINSICS,
}


class BlockIntrin(NamedTuple):
    """An intrinsic: `desc` says what it computes, `impl` what does it. Both are functions with the
    same parameters, whose root block states what it reads and writes.

    >>> func = tir.Schedule(matmul_relu).mod["main"]
    >>> tir.TensorIntrin.register("example", desc=func, impl=func, override=True)
    >>> tir.TensorIntrin.get("example").desc is func
    True
    """

    desc: PrimFunc
    impl: PrimFunc

    @staticmethod
    def register(name: str, desc: PrimFunc, impl: PrimFunc, override: bool = False) -> None:
        """Register an intrinsic, for `tensorize`.

        Raises
        ------
        ScheduleError for a name that is taken, unless `override`, and for functions that differ in
        their parameters.
        """
        if not isinstance(name, str):
            raise ScheduleError(
                f"the name of an intrinsic is {repr_of(name)}, expected a str", "", "give a name"
            )
        for role, func in (("desc", desc), ("impl", impl)):
            if not isinstance(func, PrimFunc) or not isinstance(func.body, BlockRealize):
                raise ScheduleError(
                    f"{role} of intrinsic {name} is {kind_of(func)}, expected a function of blocks",
                    "its root block says what it reads and writes",
                    'write a function with T.block("root") in it',
                )
        if _registered(name) is not None and not override:
            raise ScheduleError(
                f"intrinsic {name} is registered already", "", "pass override=True to replace it"
            )
        shapes = [[func.buffer_map.get(param) for param in func.params] for func in (desc, impl)]
        if len(shapes[0]) != len(shapes[1]) or any(
            a is None or b is None or a.dtype != b.dtype or not _are_alike(a, b)
            for a, b in zip(*shapes, strict=False)
        ):
            raise ScheduleError(
                f"desc and impl of intrinsic {name} have other parameters",
                "each parameter is a buffer of the same dtype and shape in both",
                "give both functions the same buffers",
            )
        _REGISTERED[name] = BlockIntrin(desc, impl)

    @staticmethod
    def get(name: str, allow_missing: bool = False) -> BlockIntrin | None:
        """The intrinsic with a name; None for an unknown one if that is allowed."""
        intrin = _registered(name) if isinstance(name, str) else None
        if intrin is None and not allow_missing:
            raise unknown(DeclarationError, name)
        return intrin


def unknown(kind: type[_Error], name: Any) -> _Error:
    """The error for the name of an intrinsic that there is not."""
    names = sorted({*_REGISTERED, *_BROUGHT})
    return kind(
        f"there is no intrinsic {repr_of(name)}",
        f"registered are: {listing(names)}",
        f"register it: tir.TensorIntrin.register(name, desc, impl){did_you_mean(name, names)}",
    )


def _registered(name: str) -> BlockIntrin | None:
    """The intrinsic that is registered under a name, or that TVM brings."""
    if name not in _REGISTERED and name in _BROUGHT:
        _REGISTERED[name] = BlockIntrin(*_BROUGHT[name]())
    return _REGISTERED.get(name)


def _are_alike(a: Buffer, b: Buffer) -> bool:
    return structural_equal(a.shape, b.shape, map_free_vars=True)


class Match(NamedTuple):
    """A buffer of a program and the indices at which that of a description begins."""

    buffer: Buffer
    begin: tuple[Expr, ...]


class Mismatch(Exception):
    """A program is not what a description says; the text is the difference."""


def matched(desc: Stmt, target: Stmt, any_scope: bool = False) -> dict[Buffer, Match]:
    """What the buffers of a description stand for in a statement.

    Parameters
    ----------
    any_scope : whether the storage scopes of buffers may differ.

    Raises
    ------
    Mismatch if the statement computes something else.
    """
    matcher = _Matcher(any_scope)
    matcher.statement(desc, target)
    return matcher.buffers


class _Matcher:
    """Compares a description with a program."""

    def __init__(self, any_scope: bool) -> None:
        self.any_scope = any_scope
        self.values: dict[Var, Expr] = {}
        self.inside: set[Var] = set()
        self.buffers: dict[Buffer, Match] = {}
        self.analyzer = Analyzer()

    def define(self, desc: Var, target: Var) -> None:
        """Map a variable."""
        self.values[desc] = target
        self.inside.add(target)

    def check(self, holds: bool, desc: Any, target: Any) -> None:
        """Raise unless two parts fit."""
        if not holds:
            raise Mismatch(f"{_brief(target)} where the description has {_brief(desc)}")

    def statement(self, desc: Stmt, target: Stmt) -> None:
        """Compare two statements."""
        self.check(type(desc) is type(target), desc, target)
        method = _STATEMENTS.get(type(desc))
        if method is None:
            raise Mismatch(f"{_brief(desc)}, which a description cannot have")
        method(self, desc, target)

    def loop(self, desc: For, target: For) -> None:
        """Compare two loops."""
        self.check(
            desc.kind == target.kind and desc.annotations == target.annotations, desc, target
        )
        self.expression(desc.min, target.min)
        self.expression(desc.extent, target.extent)
        self.define(desc.loop_var, target.loop_var)
        self.analyzer.bind(target.loop_var, Range(target.min, target.extent))
        self.statement(desc.body, target.body)

    def instance(self, desc: BlockRealize, target: BlockRealize) -> None:
        """Compare two instances of blocks."""
        a, b = desc.block, target.block
        self.check(len(a.iter_vars) == len(b.iter_vars), a, b)
        self.check((a.init is None) == (b.init is None), a, b)
        self.check(not b.match_buffers and not b.alloc_buffers, a, b)
        self.expression(desc.predicate, target.predicate)
        for value, other in zip(desc.iter_values, target.iter_values, strict=True):
            self.expression(value, other)
        for axis, own in zip(a.iter_vars, b.iter_vars, strict=True):
            self.check(axis.kind == own.kind, axis, own)
            assert axis.dom is not None
            assert own.dom is not None
            self.expression(axis.dom.min, own.dom.min)
            self.expression(axis.dom.extent, own.dom.extent)
            self.define(axis.var, own.var)
            self.analyzer.bind(own.var, own.dom)
        if a.init is not None and b.init is not None:
            self.statement(a.init, b.init)
        self.statement(a.body, b.body)

    def sequence(self, desc: SeqStmt, target: SeqStmt) -> None:
        """Compare two sequences."""
        self.check(len(desc.seq) == len(target.seq), desc, target)
        for statement, other in zip(desc.seq, target.seq, strict=True):
            self.statement(statement, other)

    def store(self, desc: S.BufferStore, target: S.BufferStore) -> None:
        """Compare two stores."""
        self.access(desc, target)
        self.expression(desc.value, target.value)

    def expression(self, desc: Any, target: Any) -> None:
        """Compare two expressions."""
        kind = type(desc)
        if _is_index(desc) and _is_index(target):
            own = Indices(self.values).visit(desc)
            self.check(self.analyzer.can_prove_equal(own, target), desc, target)
        elif kind is Var:
            self.check(self.values.get(desc, desc) is target, desc, target)
        elif kind in (E.IntImm, E.FloatImm, E.StringImm):
            self.check(type(target) is kind and plain_of(desc) == plain_of(target), desc, target)
        elif kind is E.BufferLoad:
            self.check(type(target) is kind, desc, target)
            self.access(desc, target)
        else:
            self.check(type(target) is kind and desc.dtype == target.dtype, desc, target)
            for name in _PARTS.get(kind, ()):
                self.part(getattr(desc, name), getattr(target, name))
            self.check(kind in _PARTS, desc, target)

    def part(self, desc: Any, target: Any) -> None:
        """Compare two fields of expressions."""
        if isinstance(desc, tuple):
            self.check(len(desc) == len(target), desc, target)
            for component, other in zip(desc, target, strict=True):
                self.part(component, other)
        elif isinstance(desc, Expr):
            self.expression(desc, target)
        else:
            self.check(desc == target, desc, target)

    def access(self, desc: Any, target: Any) -> None:
        """Compare two accesses: the elements are those of the description, from some index on."""
        a, b = desc.buffer, target.buffer
        self.check(desc.predicate is None and target.predicate is None, desc, target)
        rank = len(target.indices) - len(desc.indices)
        has_scope = self.any_scope or a.scope() == b.scope()
        self.check(a.dtype == b.dtype and has_scope and rank >= 0, desc, target)
        mapper = Indices(self.values)
        begin = [self.analyzer.simplify(index) for index in target.indices[:rank]]
        for desc_index, other in zip(desc.indices, target.indices[rank:], strict=True):
            own = mapper.visit(desc_index)
            begin.append(self.analyzer.simplify(ops.subtract(other, ops.cast(other.dtype, own))))
        self.check(not variables_of(*begin) & self.inside, desc, target)
        match = self.buffers.setdefault(a, Match(b, tuple(begin)))
        same = match.buffer is b and all(
            self.analyzer.can_prove_equal(x, y) for x, y in zip(match.begin, begin, strict=True)
        )
        self.check(same, desc, target)


def _is_index(value: Any) -> bool:
    """Whether an expression is an integer of loops and iterators alone."""
    return isinstance(value, Expr) and is_integral(value.dtype) and not reads_data(value)


_STATEMENTS: dict[type, Callable[[_Matcher, Any, Any], None]] = {
    For: _Matcher.loop,
    BlockRealize: _Matcher.instance,
    SeqStmt: _Matcher.sequence,
    S.BufferStore: _Matcher.store,
}
_PARTS: dict[type, tuple[str, ...]] = {
    **{kind: ("a", "b") for kind in ops.BUILDERS},
    **{E.And: ("a", "b"), E.Or: ("a", "b"), E.Mod: ("a", "b"), E.Not: ("a",)},
    **{E.Cast: ("value",), E.Call: ("op", "args")},
    E.Select: ("condition", "true_value", "false_value"),
}


def _brief(node: Any) -> str:
    """The first line of a part of a program."""
    return str(node).splitlines()[0] if str(node) else type(node).__name__
