"""Conditions whose branches are graphs of a model, as importers write them.

    y = If(cond, A, B)      ->      if cond:
                                        y = ...
                                    else:
                                        y = ...

A function with a condition, or with a loop (`loops`), is written without dataflow blocks, which
have no control flow; its blocks are found when it is whole. Must not know the format of a model.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext

from te_sched.errors import GraphError
from te_sched.ir.expr import Expr, Var
from te_sched.ir.graph import GraphExpr, GraphVar, If, SeqExpr, Tuple, TupleGetItem, VarBinding
from te_sched.ir.stmt import IRModule
from te_sched.ir.struct_info import TensorStructInfo
from te_sched.relax.block_builder import BlockBuilder
from te_sched.relax.core.sizes import tensor_sizes
from te_sched.relax.frontend.tensors import tensor_info
from te_sched.relax.transform.convert_to_dataflow import ConvertToDataflow
from te_sched.relax.transform.dead_code_elimination import without_unused_functions

# What a branch computes: it emits its bindings and returns its results.
Branch = Callable[[], Sequence[GraphExpr]]


def bindings(builder: BlockBuilder, has_conditions: bool) -> AbstractContextManager[None]:
    """The block of a function: a dataflow block, unless conditions stand in it."""
    return nullcontext() if has_conditions else builder.dataflow()


def bind_result(builder: BlockBuilder, value: GraphExpr) -> GraphVar:
    """Bind a result of a function, so that it is visible outside of the block."""
    is_dataflow = builder.current_block_is_dataflow()
    return builder.emit_output(value) if is_dataflow else builder.emit(value)


def finished(builder: BlockBuilder, has_conditions: bool) -> IRModule:
    """The module of a builder, with dataflow blocks around conditions."""
    module = builder.finalize()
    if not has_conditions:
        return module
    called = without_unused_functions(module, lambda name, func: "global_symbol" in func.attrs)
    return ConvertToDataflow()(called)


def conditional(
    builder: BlockBuilder,
    condition: GraphExpr,
    true: Branch,
    false: Branch,
    help: str = "give both branches a result of one rank and one dtype",
) -> list[GraphVar]:
    """The results of one of two branches, which have the same ranks and dtypes. Sizes in which they
    differ are variables, whose values a call knows.

    Parameters
    ----------
    condition : a tensor of one bool.
    help : that of the error for results of other ranks or dtypes.

    Raises
    ------
    GraphError for branches with other results.

    >>> from te_sched import relax
    >>> x = relax.Var("x", relax.TensorStructInfo([4], "float32"))
    >>> builder = BlockBuilder()
    >>> with builder.function("main", [x]):
    ...     is_small = builder.emit(relax.op.less(relax.op.sum(x), relax.const(9.0, "float32")))
    ...     (y,) = conditional(
    ...         builder,
    ...         is_small,
    ...         lambda: [builder.emit(relax.op.exp(x))],
    ...         lambda: [builder.emit(relax.op.concat([x, x], 0))],
    ...     )
    ...     name = builder.emit_func_output(y)
    >>> y.struct_info
    R.Tensor((size,), dtype="float32")
    """
    branches = _sequence(builder, true), _sequence(builder, false)
    infos = [[tensor_info(field) for field in _fields(branch)] for branch in branches]
    if len(infos[0]) != len(infos[1]):
        raise GraphError(
            "the branches of a condition have other results",
            f"one has {len(infos[0])}, the other {len(infos[1])}",
            "give both the same number of results",
        )
    pairs = zip(*infos, strict=True)
    joined = [_joined(builder, first, second, help) for first, second in pairs]
    result = builder.emit(If(condition, branches[0], branches[1]))
    values = [builder.emit(TupleGetItem(result, n)) for n in range(len(joined))]
    return [
        value if value.struct_info == info else builder.match_cast(value, info)
        for value, info in zip(values, joined, strict=True)
    ]


def _sequence(builder: BlockBuilder, branch: Branch) -> SeqExpr:
    """A branch, whose last binding is the tuple of its results."""
    return builder.sequence(lambda: builder.emit(Tuple(tuple(branch()))))


def _fields(branch: SeqExpr) -> tuple[GraphExpr, ...]:
    binding = branch.blocks[-1].bindings[-1]
    assert isinstance(binding, VarBinding)
    assert isinstance(binding.value, Tuple)
    return binding.value.fields


def _joined(
    builder: BlockBuilder, first: TensorStructInfo, second: TensorStructInfo, help: str
) -> TensorStructInfo:
    """What is known of a result, with names for sizes that the branches do not share."""
    if first.dtype != second.dtype or first.ndim != second.ndim:
        raise GraphError(
            "the branches of a condition give different values",
            f"one gives {first}, the other {second}",
            help,
        )
    sizes: list[Expr] = []
    pairs = zip(tensor_sizes(first), tensor_sizes(second), strict=False)
    for size, other in pairs:
        is_shared = builder.analyzer.can_prove_equal(size, other) and builder.has_value(size)
        sizes.append(size if is_shared else Var("size", "int64"))
    unknown = [Var("size", "int64") for _ in range(first.ndim - len(sizes))]
    return TensorStructInfo((*sizes, *unknown), first.dtype)
