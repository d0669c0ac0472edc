"""Loops whose bodies are graphs of a model, as importers write them.

    y = Loop(x, body)       ->      loop(goes_on, x):       a function of the module, private
                                        if goes_on:
                                            goes_on, x = step(x)
                                            return loop(goes_on, x)
                                        return x

A loop is a function that returns a call of itself, which the virtual machine runs as a jump. Its
step is a function of its own, so that one of constant shapes becomes native code.

Must not know the format of a model.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from te_sched.errors import GraphError, counted
from te_sched.ir.expr import Expr, Var
from te_sched.ir.graph import (
    GraphCall,
    GraphExpr,
    GraphFunction,
    GraphString,
    GraphVar,
    If,
    SeqExpr,
    Tuple,
    TupleGetItem,
)
from te_sched.ir.stmt import GlobalVar
from te_sched.ir.struct_info import (
    FuncStructInfo,
    ObjectStructInfo,
    ShapeExpr,
    TensorStructInfo,
    TupleStructInfo,
    erase_unknown,
)
from te_sched.ir.term_keys import term_key
from te_sched.relax.analysis.symbolic import free_symbolic_vars
from te_sched.relax.analysis.variables import free_vars
from te_sched.relax.block_builder import BlockBuilder
from te_sched.relax.copying import copy_with_new_vars
from te_sched.relax.core.sizes import own_variables, tensor_sizes
from te_sched.relax.frontend.tensors import prim_value, shape_expr, tensor_info
from te_sched.relax.operators.calls import call_pure_packed, null_value
from te_sched.relax.operators.reshaping import permute_dims


class LoopStep(NamedTuple):
    """What a step of a loop computes: whether there is another one (a tensor of one bool), the
    state for it, and the tensors that it adds to each list.
    """

    goes_on: GraphExpr
    state: Sequence[GraphExpr]
    added: Sequence[Sequence[GraphExpr]] = ()


# What a loop repeats: it emits the bindings of a step for variables of the state.
Body = Callable[[Sequence[GraphVar]], LoopStep]


def loop(
    builder: BlockBuilder,
    goes_on: GraphExpr,
    body: Body,
    state: Sequence[GraphExpr],
    lists: Sequence[GraphExpr] = (),
    keeps_sizes: bool = False,
) -> tuple[list[GraphVar], list[GraphVar]]:
    """The state and the lists after the last step of a loop. Sizes that a step changes are
    variables, whose values a call knows.

    Parameters
    ----------
    goes_on : whether there is a first step, a tensor of one bool.
    body : writes a step. It is called again if a size of the state is not the same afterwards.
    state : the tensors that the first step is given.
    lists : those to which steps add tensors (`empty_list`, `stacked`).
    keeps_sizes : refuse a step that changes a size.

    Raises
    ------
    GraphError for a step whose state has other dtypes or ranks than it was given.

    >>> from te_sched import relax
    >>> x = relax.Var("x", relax.TensorStructInfo([4], "float32"))
    >>> builder = BlockBuilder()
    >>> def double(state):
    ...     y = builder.emit(relax.op.add(state[0], state[0]))
    ...     is_small = builder.emit(relax.op.less(relax.op.sum(y), relax.const(9.0, "float32")))
    ...     return LoopStep(is_small, [y])
    >>> with builder.function("main", [x]):
    ...     (y,), _ = loop(builder, relax.const(True), double, [x])
    ...     name = builder.emit_func_output(y)
    >>> list(builder.get().functions)
    ['step', 'loop', 'main']
    """
    _check_condition(goes_on)
    written = _WrittenStep.of(builder, body, state, keeps_sizes)
    captured = written.captured()
    name = written.loop_function(captured)
    result = builder.emit(GraphCall(name, (goes_on, *state, *lists, *captured)))
    values = [builder.emit(TupleGetItem(result, n)) for n in range(len(state) + len(lists))]
    finals = [
        value if value.struct_info == info else builder.match_cast(value, info)
        for value, info in zip(values[: len(state)], written.final_infos(), strict=True)
    ]
    return finals, values[len(state) :]


@dataclass
class _WrittenStep:
    """A step whose state has one struct info before and after it; `changing` are sizes that are
    others in each step.
    """

    builder: BlockBuilder
    params: list[GraphVar]
    step: LoopStep
    body: SeqExpr
    changing: set[Var]

    @classmethod
    def of(
        cls, builder: BlockBuilder, body: Body, state: Sequence[GraphExpr], keeps_sizes: bool
    ) -> _WrittenStep:
        """Write the step, again and again until no size changes in it that did not before."""
        infos = [_shaped_info(value, n) for n, value in enumerate(state)]
        changing: set[Var] = set()
        while True:
            written = cls._once(builder, body, infos, changing)
            for n, (info, value) in enumerate(zip(infos, written.step.state, strict=True)):
                after = tensor_info(value)
                if info.dtype != after.dtype or info.ndim != after.ndim:
                    raise _changed(n, info, after, "rank and dtype")
            new = written.infos_before_steps()
            if new == infos:
                return written
            for n, (info, other) in enumerate(zip(infos, new, strict=True)):
                if keeps_sizes and info != other:
                    raise _changed(n, info, tensor_info(written.step.state[n]), "shape")
            infos = new

    @classmethod
    def _once(
        cls,
        builder: BlockBuilder,
        body: Body,
        infos: Sequence[TensorStructInfo],
        changing: set[Var],
    ) -> _WrittenStep:
        params = [GraphVar(f"state{n}", info) for n, info in enumerate(infos)]
        steps: list[LoopStep] = []

        def write() -> GraphExpr:
            step = body(params)
            _check_condition(step.goes_on)
            steps.append(step)
            added = [element for elements in step.added for element in elements]
            return builder.emit(Tuple((step.goes_on, *step.state, *added)))

        sequence = builder.sequence(write, params)
        if len(steps[0].state) != len(params):
            raise GraphError(
                "a step of a loop gives another state",
                f"it is given {counted(len(params), 'tensor')}, and gives {len(steps[0].state)}",
                "give a new value for each tensor of the state",
            )
        return cls(builder, params, steps[0], sequence, changing)

    def infos_before_steps(self) -> list[TensorStructInfo]:
        """What is known of the state before each step: sizes that change are variables, and those
        that change alike are one.
        """
        rows = [
            [
                _SizeOfStep(size, _after(value, n), f"{param.name_hint} {n}")
                for n, size in enumerate(tensor_sizes(param.struct_info))
            ]
            for param, value in zip(self.params, self.step.state, strict=True)
        ]
        changes: dict[Expr, set[Hashable]] = {}
        for size in [size for row in rows for size in row if size.before in self.changing]:
            changes.setdefault(size.before, set()).add(size.change)
        new: dict[Hashable, Expr] = {}

        def before(size: _SizeOfStep) -> Expr:
            if size.before in self.changing:
                is_kept = len(changes[size.before]) == 1
            else:
                is_kept = size.after is not None and self.builder.analyzer.can_prove_equal(
                    size.before, size.after
                )
            key = term_key(size.before), size.change
            return size.before if is_kept else new.setdefault(key, Var("size", "int64"))

        infos = [
            TensorStructInfo(tuple(map(before, row)), tensor_info(param).dtype)
            for param, row in zip(self.params, rows, strict=True)
        ]
        self.changing.update(var for var in new.values() if isinstance(var, Var))
        return infos

    def final_infos(self) -> list[TensorStructInfo]:
        """What is known of the state after the loop."""
        sizes: dict[Expr, Expr] = {size: Var("size", "int64") for size in self.changing}
        infos = [tensor_info(param) for param in self.params]
        return [
            TensorStructInfo(
                tuple([sizes.get(size, size) for size in tensor_sizes(info)]), info.dtype
            )
            for info in infos
        ]

    def captured(self) -> list[GraphExpr]:
        """What the step takes beside the state: variables and sizes of the functions around it."""
        values = free_vars(GraphFunction(tuple(self.params), self.body, None))
        params = (*self.params, *values)
        sizes = free_symbolic_vars(GraphFunction(params, self.body, None))
        return [*values, *([ShapeExpr(tuple(sizes))] if sizes else [])]

    def step_function(self, captured: Sequence[GraphExpr]) -> GlobalVar:
        """The step as a function of the module."""
        params = [
            value if isinstance(value, GraphVar) else GraphVar("sizes", value.struct_info)
            for value in captured
        ]
        func = copy_with_new_vars(GraphFunction((*self.params, *params), self.body, None))
        return self.builder.add_func(self.builder.normalize(func), "step")

    def loop_function(self, captured: Sequence[GraphExpr]) -> GlobalVar:
        """The loop as a function of the module: its parameters are whether there is a step, the
        state, lists of elements, and what the step takes beside the state.
        """
        builder, step = self.builder, self.step_function(captured)
        count, sizes = len(self.params), [len(added) for added in self.step.added]
        flag = GraphVar("goes_on", TensorStructInfo((), "bool"))
        lists = [GraphVar(f"list{n}", ObjectStructInfo()) for n in range(len(sizes))]
        names = [value.name_hint if isinstance(value, GraphVar) else "sizes" for value in captured]
        rest = [
            GraphVar(name, value.struct_info) for name, value in zip(names, captured, strict=True)
        ]
        params = (flag, *self.params, *lists, *rest)
        size_vars = {size for param in params for size in own_variables(param.struct_info)}
        infos = [
            erase_unknown(param.struct_info, size_vars - self.changing) for param in self.params
        ]
        result = TupleStructInfo((*infos, *[ObjectStructInfo()] * len(lists)))
        with builder.function("loop", params, private=True) as name:
            name.struct_info_ = FuncStructInfo(
                tuple([param.struct_info for param in params]), result
            )

            def repeat() -> GraphExpr:
                values = builder.emit(GraphCall(step, (*self.params, *rest)))
                parts = iter(
                    [builder.emit(TupleGetItem(values, n)) for n in range(1 + count + sum(sizes))]
                )
                new = [next(parts) for _ in range(1 + count)]
                longer = [
                    extended(builder, elements, [next(parts) for _ in range(size)])
                    for elements, size in zip(lists, sizes, strict=True)
                ]
                return builder.emit(GraphCall(name, (*new, *longer, *rest)))

            again = builder.sequence(repeat)
            end = builder.sequence(lambda: builder.emit(Tuple((*self.params, *lists))))
            whole = builder.emit_func_output(builder.emit(If(flag, again, end)))
        func = builder.get()[whole]
        assert isinstance(func, GraphFunction)
        builder.update_func(whole, copy_with_new_vars(func))
        return whole


class _SizeOfStep(NamedTuple):
    """A size of a tensor of the state before and after a step, if it is known then."""

    before: Expr
    after: Expr | None
    place: str

    @property
    def change(self) -> Hashable:
        """What sizes have in common that change alike."""
        return self.place if self.after is None else term_key(self.after)


def _after(value: GraphExpr, axis: int) -> Expr | None:
    """A size of a tensor, if it is known."""
    sizes = tensor_sizes(value.struct_info)
    return sizes[axis] if sizes else None


def _shaped_info(value: GraphExpr, number: int) -> TensorStructInfo:
    """The struct info of a tensor of the state; GraphError if its shape is not known."""
    info = tensor_info(value)
    if len(tensor_sizes(info)) != info.ndim:
        raise GraphError(
            f"tensor {number} of the state of a loop has a shape that is not known",
            f"it is {info}",
            "say what it is before: R.match_cast(value, R.Tensor((n, m), dtype))",
        )
    return info


def _changed(
    number: int, before: TensorStructInfo, after: TensorStructInfo, what: str
) -> GraphError:
    return GraphError(
        f"a step of a loop changes the {what} of tensor {number} of its state",
        f"it is given {before}, and gives {after}",
        f"give the tensor the same {what} in all steps",
    )


def _check_condition(condition: GraphExpr) -> None:
    """GraphError for what is not a tensor of one bool."""
    info = tensor_info(condition)
    if info.dtype != "bool" or info.ndim != 0:
        raise GraphError(
            f"the condition of a loop is {info}",
            'expected R.Tensor((), dtype="bool")',
            "reduce it to one value, such as by all(), and cast it to bool",
        )


# Lists of the virtual machine


def empty_list(builder: BlockBuilder) -> GraphVar:
    """A list without elements."""
    return builder.emit(null_value())


def extended(builder: BlockBuilder, elements: GraphExpr, added: Sequence[GraphExpr]) -> GraphExpr:
    """A list with more elements."""
    name = "relax.run.append"
    for element in added:
        call = call_pure_packed(name, elements, element, sinfo_args=ObjectStructInfo())
        elements = builder.emit(call)
    return elements


def stacked(
    builder: BlockBuilder, elements: GraphExpr, info: TensorStructInfo, like: GraphExpr
) -> GraphVar:
    """The elements of a list along a new first axis.

    Parameters
    ----------
    info : what is known of an element.
    like : a tensor on the device of the result.
    """
    rank = TensorStructInfo(None, info.dtype, None, info.ndim + 1)
    shape, dtype = _shape_of_none(builder, info), GraphString(info.dtype)
    name = "relax.run.stack"
    result = builder.emit(call_pure_packed(name, elements, like, shape, dtype, sinfo_args=rank))
    sizes = [Var("steps", "int64"), *_named_sizes(builder, info)]
    return builder.match_cast(result, TensorStructInfo(tuple(sizes), info.dtype))


def moved_axis(builder: BlockBuilder, stack: GraphExpr, axis: int) -> GraphExpr:
    """A tensor whose first axis becomes another one, which may count from the end."""
    rank = tensor_info(stack).ndim
    if axis % rank == 0:
        return stack
    order = list(range(1, rank))
    order.insert(axis % rank, 0)
    return builder.emit(permute_dims(stack, order))


def joined(
    builder: BlockBuilder, elements: GraphExpr, info: TensorStructInfo, like: GraphExpr, axis: int
) -> GraphVar:
    """The elements of a list one after the other along an axis; see `stacked`."""
    rank = TensorStructInfo(None, info.dtype, None, info.ndim)
    shape, dtype = _shape_of_none(builder, info), GraphString(info.dtype)
    axis_value, name = prim_value(axis % info.ndim), "relax.run.join"
    call = call_pure_packed(name, elements, like, shape, dtype, axis_value, sinfo_args=rank)
    sizes = _named_sizes(builder, info)
    sizes[axis % info.ndim] = Var("size", "int64")
    return builder.match_cast(builder.emit(call), TensorStructInfo(tuple(sizes), info.dtype))


def item(
    builder: BlockBuilder, elements: GraphExpr, info: TensorStructInfo, position: GraphExpr
) -> GraphVar:
    """An element of a list, whose position is a tensor of one int."""
    rank = TensorStructInfo(None, info.dtype, None, info.ndim)
    result = builder.emit(call_pure_packed("relax.run.item", elements, position, sinfo_args=rank))
    sizes = tuple(_named_sizes(builder, info))
    return builder.match_cast(result, TensorStructInfo(sizes, info.dtype))


def length(builder: BlockBuilder, elements: GraphExpr) -> GraphVar:
    """The number of elements of a list, as a tensor."""
    info = TensorStructInfo((), "int64")
    return builder.emit(call_pure_packed("relax.run.length", elements, sinfo_args=info))


def _sizes_outside(builder: BlockBuilder, info: TensorStructInfo) -> list[Expr | None]:
    """The sizes of an element that are known where the list is read."""
    sizes: list[Expr | None] = [*tensor_sizes(info)] or [None] * info.ndim
    return [size if size is not None and builder.has_value(size) else None for size in sizes]


def _named_sizes(builder: BlockBuilder, info: TensorStructInfo) -> list[Expr]:
    sizes = _sizes_outside(builder, info)
    return [Var("size", "int64") if size is None else size for size in sizes]


def _shape_of_none(builder: BlockBuilder, info: TensorStructInfo) -> ShapeExpr:
    """The shape of an element for lists that have none: sizes that are not known are 0."""
    sizes = _sizes_outside(builder, info)
    return shape_expr([0 if size is None else size for size in sizes])
