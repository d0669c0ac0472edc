"""Primitives that change how a loop runs: parallel, vectorize, unroll, bind; and annotations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from te_sched.errors import ScheduleError, did_you_mean, kind_of, repr_of
from te_sched.ir.blocks import BlockRealize
from te_sched.ir.device_limits import BOUND_TAGS, check_thread_tag
from te_sched.ir.expr import Expr, FloatImm, IntImm, IterVar, StringImm, Var
from te_sched.ir.stmt import For
from te_sched.ir.visitor import replace
from te_sched.tensorir.base import ScheduleBase, of_block, of_loop
from te_sched.tensorir.blocks import (
    advice_to_initialize,
    first_not_compact,
    is_group,
    stated_blocks,
)
from te_sched.tensorir.dependences import mentioned
from te_sched.tensorir.facts.axes import REDUCTION, SPATIAL, bound_axes
from te_sched.tensorir.handles import ATTRIBUTE, VALUE, BlockRV, LoopRV, instruction
from te_sched.tensorir.state import BlockKey, with_block


class KindPrimitives(ScheduleBase):
    """Primitives that change how a loop runs."""

    __slots__ = ()

    @instruction("Run {loop} in parallel")
    def parallel(self, loop: LoopRV) -> None:
        """Run the iterations of a loop on several threads.

        >>> sch = tir.Schedule(matmul_relu)
        >>> sch.parallel(sch.get_loops("D")[0])
        >>> sch.get(sch.get_loops("D")[0]).kind
        'parallel'
        """
        _set_kind(self, loop, "parallel", "parallelize")

    @instruction("Vectorize {loop}")
    def vectorize(self, loop: LoopRV) -> None:
        """Run the iterations of a loop as the lanes of vectors.

        >>> sch = tir.Schedule(matmul_relu)
        >>> sch.vectorize(sch.get_loops("D")[1])
        >>> sch.get(sch.get_loops("D")[1]).kind
        'vectorized'
        """
        _set_kind(self, loop, "vectorized", "vectorize")

    @instruction("Unroll {loop}")
    def unroll(self, loop: LoopRV) -> None:
        """Write the iterations of a loop one after the other.

        >>> sch = tir.Schedule(matmul_relu)
        >>> sch.unroll(sch.get_loops("C")[2])
        >>> sch.get(sch.get_loops("C")[2]).kind
        'unrolled'
        """
        key = self.loop_key(loop, "unroll")
        self.draft.replace(key, replace(self.loop(key), kind="unrolled", thread_binding=None))

    @instruction("Bind {loop} to {thread_axis}", thread_axis=ATTRIBUTE)
    def bind(self, loop: LoopRV, thread_axis: str) -> None:
        """Run the iterations of a loop on the threads of an axis.

        Parameters
        ----------
        thread_axis : "blockIdx.x", "threadIdx.y", "vthread", "vthread.z", ...

        >>> sch = tir.Schedule(matmul_relu)
        >>> sch.bind(sch.get_loops("D")[0], "threadIdx.x")
        >>> sch.get(sch.get_loops("D")[0]).thread_binding.thread_tag
        'threadIdx.x'
        """
        check_thread_tag(thread_axis, ScheduleError, BOUND_TAGS)
        _set_kind(self, loop, "thread_binding", "bind", thread_axis)

    @instruction("Annotate {block_or_loop} with {ann_key}", ann_key=ATTRIBUTE, ann_val=VALUE)
    def annotate(self, block_or_loop: BlockRV | LoopRV | str, ann_key: str, ann_val: Any) -> None:
        """Annotate a block or loop. An annotation that it has already is kept: `unannotate` removes
        it.

        Parameters
        ----------
        ann_val : a text, a number, a sampled integer, or a list or dict of these.

        >>> sch = tir.Schedule(matmul_relu)
        >>> sch.annotate("C", "pragma_auto_unroll_max_step", 16)
        >>> sch.get(sch.get_block("C")).annotations
        {'pragma_auto_unroll_max_step': 16}
        """
        key = self.key_from(block_or_loop, "annotate")
        _check_annotation_key(ann_key)
        annotation = _annotation(self, ann_val)
        _set_annotations(self, key, {ann_key: annotation, **_annotations(self, key)})

    @instruction("Remove annotation {ann_key} of {block_or_loop}", ann_key=ATTRIBUTE)
    def unannotate(self, block_or_loop: BlockRV | LoopRV | str, ann_key: str) -> None:
        """Remove an annotation of a block or loop.

        >>> sch = tir.Schedule(matmul_relu)
        >>> sch.annotate("C", "note", "here")
        >>> sch.unannotate("C", "note")
        >>> sch.get(sch.get_block("C")).annotations
        {}
        """
        key = self.key_from(block_or_loop, "unannotate")
        _check_annotation_key(ann_key)
        now = _annotations(self, key)
        if ann_key not in now:
            raise ScheduleError(
                f"{block_or_loop.name} has no annotation {repr_of(ann_key)}",  # type: ignore[union-attr]
                "",
                f"it has {', '.join(now)}{did_you_mean(ann_key, now)}" if now else "it has none",
            )
        _set_annotations(self, key, {name: value for name, value in now.items() if name != ann_key})


def _set_kind(schedule: ScheduleBase, loop: Any, kind: str, action: str, thread: str = "") -> None:
    key = schedule.loop_key(loop, action)
    node = schedule.loop(key)
    _check_bindings(schedule, key, action, thread)
    for blocks in _by_scope(schedule, schedule.blocks_of(key)):
        if refuted := first_not_compact(schedule, blocks):
            block, why = refuted
            other = (
                "write every buffer in one block, which reads what is complete; decompose a "
                "reduction after its loops are parallel, vectorized or bound"
            )
            help = advice_to_initialize(schedule, block, other)
            where = [of_loop(key.name), of_block(block.name)]
            raise ScheduleError(f"cannot {action} loop {key.name}", why, help, where)
    bound = None
    if thread:
        bound = IterVar(None, Var(thread, node.loop_var.dtype), "ThreadIndex", thread)
    schedule.draft.replace(key, replace(node, kind=kind, thread_binding=bound))


def _by_scope(schedule: ScheduleBase, keys: Sequence[BlockKey]) -> Iterator[list[BlockKey]]:
    """Some blocks, and those in the groups among them, a list for each group."""
    groups = [block_key for block_key in keys if is_group(schedule, block_key)]
    yield [block_key for block_key in keys if block_key not in groups]
    for group in groups:
        yield from _by_scope(schedule, schedule.blocks_of(group))


def _check_bindings(schedule: ScheduleBase, key: Var, action: str, thread: str) -> None:
    for block in stated_blocks(schedule, schedule.blocks_of(key)):
        realize = schedule.realize(block)
        if key in mentioned(realize.block):
            raise ScheduleError(
                f"cannot {action} loop {key.name}",
                f"block {block.name} uses {key.name} in its body",
                f"bind an iterator to it: T.axis.spatial(extent, {key.name})",
                [of_loop(key.name), of_block(block.name)],
            )
        for axis in bound_axes(realize, key):
            is_reduction = axis.kind == REDUCTION
            is_legal = axis.kind == SPATIAL or (is_reduction and thread.startswith("threadIdx"))
            if not is_legal:
                raise ScheduleError(
                    f"cannot {action} "
                    f"{'reduction loop' if is_reduction else 'loop'} {key.name} of block "
                    f"{block.name}",
                    f"its iterator {axis.var.name} = {_value(realize, axis)} is "
                    + ("a reduction" if is_reduction else "not data parallel")
                    + ": its iterations depend on each other",
                    _HELP.get(action, "") if is_reduction else "use a loop of a spatial iterator",
                    [of_loop(key.name), of_block(block.name)],
                )


_HELP = {
    "bind": "bind it to threadIdx.x, y or z, whose threads can combine their results",
    "parallelize": "use a spatial loop; rfactor makes one of a reduction",
    "vectorize": "use a spatial loop; rfactor makes one of a reduction",
}


def _value(realize: BlockRealize, axis: IterVar) -> Expr:
    return realize.iter_values[realize.block.iter_vars.index(axis)]


def _check_annotation_key(key: Any) -> None:
    if not isinstance(key, str):
        raise ScheduleError(
            f"the name of an annotation is a text, got {kind_of(key)}",
            "",
            'annotate(loop, "name", 1)',
        )


def _annotation(schedule: ScheduleBase, value: Any) -> Any:
    """The value of an annotation; sampled integers have their values."""
    if isinstance(value, Var):
        return schedule.number_of(value, "an annotation")
    if isinstance(value, Expr):
        value = schedule.value_of(value, "an annotation")
        if isinstance(value, IntImm | FloatImm | StringImm):
            return value
    if isinstance(value, float):
        return FloatImm(value, "float32")
    if isinstance(value, str | bool | int):
        return value
    if isinstance(value, list | tuple):
        return [_annotation(schedule, element) for element in value]
    if isinstance(value, Mapping):
        return {str(name): _annotation(schedule, element) for name, element in value.items()}
    raise ScheduleError(
        f"an annotation cannot be {kind_of(value)}",
        "it must be data that a program can hold",
        "give a text, a number, a sampled integer, or a list or dict of these",
    )


def _annotations(schedule: ScheduleBase, key: Any) -> Mapping[str, Any]:
    node = schedule.nodes[key]
    return node.annotations if type(node) is For else schedule.block(key).annotations


def _set_annotations(schedule: ScheduleBase, key: Any, new: Mapping[str, Any]) -> None:
    node = schedule.nodes[key]
    if type(node) is For:
        schedule.draft.replace(key, replace(node, annotations=new))
        return
    links: dict[Any, Any] = {}
    schedule.draft.replace(key, with_block(schedule.realize(key), links, annotations=new), links)
