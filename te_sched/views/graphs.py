"""The dataflow of schedules, functions of blocks, and graphs: boxes, and what each reads. Must not
know how they are drawn.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from te_sched.ir.blocks import BlockRealize
from te_sched.ir.expr import Buffer
from te_sched.ir.graph import GraphCall, GraphFunction, GraphVar, Tuple, TupleGetItem
from te_sched.ir.op import Op
from te_sched.ir.root_block import is_root
from te_sched.ir.stmt import For, PrimFunc
from te_sched.ir.visitor import parts_of, walk
from te_sched.schedule.schedule import Schedule
from te_sched.schedule.state import AttachType, StageState
from te_sched.te.operation import PlaceholderOp, ScanOp
from te_sched.views.notation import Notation, array_type, value_type


@dataclass(frozen=True, slots=True)
class GraphBox:
    """A stage, a block, or a buffer of the caller. `stage` is the one whose lines it belongs to,
    `kind` "input", "output", "inlined" or "stage", `labels` its name, type and notes.
    """

    stage: str
    kind: str
    labels: tuple[str, ...]

    @property
    def name(self) -> str:
        """The name of the stage or block."""
        return self.labels[0]


@dataclass(slots=True)
class Graph:
    """The boxes with the numbers of those that each reads, which are smaller than its own, and the
    pairs of boxes of which the first is computed in a loop of the second, which reads it.
    """

    outputs: list[str] = field(default_factory=list)
    boxes: list[GraphBox] = field(default_factory=list)
    reads: list[list[int]] = field(default_factory=list)
    attached: set[tuple[int, int]] = field(default_factory=set)

    def add(self, box: GraphBox, reads: Iterable[int] = ()) -> int:
        """Add a box; returns its number."""
        self.boxes.append(box)
        self.reads.append(list(dict.fromkeys(reads)))
        return len(self.boxes) - 1


def graph_of_stages(schedule: Schedule) -> Graph:
    """The stages of a schedule."""
    stages = list(schedule.stages)
    number = {stage.op: index for index, stage in enumerate(stages)}
    reads = [
        [number[tensor.op] for tensor in stage.op.input_tensors if tensor.op in number]
        for stage in stages
    ]
    states = {
        tensor.op
        for stage in stages
        if isinstance(stage.op, ScanOp)
        for tensor in stage.op.state_placeholder
    }
    order = _in_order(reads)
    position = {index: at for at, index in enumerate(order)}
    graph = Graph([op.name for op in schedule.outputs])
    for index in order:
        stage = stages[index]
        graph.add(_of_stage(stage, stage.op in states), [position[stage] for stage in reads[index]])
    attached = [stages[index].attach_spec.attach_stage for index in order]
    graph.attached = {
        (box, reader)
        for reader, read in enumerate(graph.reads)
        for box in read
        if attached[box] is stages[order[reader]]
    }
    return graph


def _in_order(reads: list[list[int]]) -> list[int]:
    """The numbers of the stages, each after those that it reads."""
    done: dict[int, None] = {}
    for root in range(len(reads)):
        stack = [(root, False)]
        while stack:
            item, is_ready = stack.pop()
            if is_ready:
                done[item] = None
            elif item not in done:
                stack.append((item, True))
                stack += [(below, False) for below in reversed(reads[item]) if below not in done]
    return list(done)


def _of_stage(stage: StageState, is_state: bool) -> GraphBox:
    op = stage.op
    kind, note = "stage", ""
    spec = stage.attach_spec
    if is_state:
        note = "state of a scan"
    elif isinstance(op, PlaceholderOp):
        kind = note = "input"
    elif stage.attach_type in (AttachType.INLINE, AttachType.INLINED_ALREADY):
        kind = note = "inlined"
    elif spec.attach_stage is not None and spec.attach_ivar is not None:
        note = f"at {spec.attach_stage.origin_op.name}: {spec.attach_ivar.var.name}"
    elif spec.attach_stage is not None:
        note = f"in the loop of {spec.attach_stage.origin_op.name}"
    elif stage.is_output:
        kind = note = "output"
    notes = [note] if note else []
    notes += [f"in {stage.scope}"] if stage.scope else []
    name = stage.origin_op.name
    return GraphBox(name, kind, (name, _type(op.output(0)), *notes))


def _type(tensor: Any) -> str:
    return array_type(tensor.dtype, tensor.shape, Notation().text)


def graph_of_blocks(functions: Iterable[PrimFunc]) -> Graph:
    """The outermost blocks of functions, and the buffers of callers that they read before any block
    writes them. A block reads what blocks before it wrote, or the last one that updated it.
    """
    graph = Graph()
    for func in functions:
        _Blocks(graph, func).add()
    return graph


def graph_of_functions(functions: Iterable[GraphFunction]) -> Graph:
    """The bindings of functions of graphs (Relax): what each calls, and the values that it reads.

    Constants have no boxes; a value that only has another name is its source.
    """
    graph = Graph()
    for func in functions:
        _Bindings(graph, func).add()
    return graph


class _Bindings:
    """Adds the bindings of a function of a graph to a picture."""

    def __init__(self, graph: Graph, func: GraphFunction) -> None:
        self.graph, self.func = graph, func
        self.boxes: dict[Any, list[int]] = {}  # of variables

    def add(self) -> None:
        """Add the parameters and the bindings in the order of the program."""
        body: Any = self.func.body
        if body is None:
            return
        for param in self.func.params:
            labels = (param.name_hint, value_type(param.struct_info_), "input")
            self._box(param, "input", labels, [])
        results = self._names(body.body)
        for block in body.blocks:
            for binding in block.bindings:
                self._binding(binding, results)
        self.graph.outputs += [variable.name_hint for variable in results]

    def _binding(self, binding: Any, results: list[Any]) -> None:
        value, var = binding.value, binding.var
        if isinstance(value, GraphVar | TupleGetItem | Tuple):
            self.boxes[var] = self._sources(value)
            return
        kind = "output" if any(variable is var for variable in results) else "stage"
        labels = (called(value), value_type(var.struct_info_), var.name_hint)
        self._box(var, kind, labels, self._sources(value))

    def _box(self, var: Any, kind: str, labels: tuple[str, ...], reads: list[int]) -> None:
        self.boxes[var] = [self.graph.add(GraphBox(var.name_hint, kind, labels), reads)]

    def _names(self, result: Any) -> list[Any]:
        parts = result.fields if isinstance(result, Tuple) else [result]
        return [part for part in parts if isinstance(part, GraphVar)]

    def _sources(self, value: Any) -> list[int]:
        boxes = [box for part in walk(value) for box in self.boxes.get(part, ())]
        return list(dict.fromkeys(boxes))


def called(value: Any) -> str:
    """What an expression of a graph calls, or its kind."""
    if not isinstance(value, GraphCall):
        return type(value).__name__
    if isinstance(value.op, Op):
        name = str(value.op).removeprefix("relax.")
        of_functions = name.startswith("call_") and value.args
        target = getattr(value.args[0], "global_symbol", value.args[0]) if of_functions else None
        return name if target is None else str(target)
    return str(getattr(value.op, "name_hint", value.op))


class _Blocks:
    """Adds the blocks of a function to a graph."""

    def __init__(self, graph: Graph, func: PrimFunc) -> None:
        self.graph, self.func = graph, func
        self.writers: dict[Buffer, list[int]] = {}
        self.loops: dict[int, list[For]] = {}  # around the blocks, by the numbers of their boxes

    def add(self) -> None:
        """Add the blocks in the order of the program."""
        param_buffers = {*self.func.buffer_map.values()}
        blocks = list(_outermost_blocks(self.func.body))
        written = [buffer for realize, _ in blocks for buffer in _buffers(realize.block.writes)]
        self.graph.outputs += [
            buffer.name for buffer in dict.fromkeys(written) if buffer in param_buffers
        ]
        readers = self._readers([realize for realize, _ in blocks])
        for block_number, (realize, loops) in enumerate(blocks):
            reads = [
                box
                for buffer in _buffers(realize.block.reads)
                for box in self._sources(buffer, param_buffers)
            ]
            near = next((blocks[reader][1] for reader in readers[block_number]), [])
            number = self.graph.add(_of_block(realize, loops, near, param_buffers), reads)
            self.loops[number] = loops
            for box in self.graph.reads[number]:
                if _common(self.loops.get(box, []), loops):
                    self.graph.attached.add((box, number))
            updated = {*_buffers(realize.block.reads)}
            for buffer in _buffers(realize.block.writes):
                before = [] if buffer in updated else self.writers.get(buffer, [])
                self.writers[buffer] = [*before, number]

    def _readers(self, blocks: list[BlockRealize]) -> list[list[int]]:
        """The places of the later blocks that read what each block writes."""
        reads = [{*_buffers(block.block.reads)} for block in blocks]
        return [
            [
                later
                for later in range(number + 1, len(blocks))
                if not reads[later].isdisjoint(_buffers(block.block.writes))
            ]
            for number, block in enumerate(blocks)
        ]

    def _sources(self, buffer: Buffer, param_buffers: set[Buffer]) -> list[int]:
        """The boxes of what a block finds in a buffer that it reads."""
        if buffer not in self.writers and buffer in param_buffers:
            box = GraphBox(buffer.name, "input", (buffer.name, _type(buffer), "input"))
            self.writers[buffer] = [self.graph.add(box)]
        return self.writers.get(buffer, [])


def _of_block(
    realize: BlockRealize, loops: list[For], near: list[For], param_buffers: set[Buffer]
) -> GraphBox:
    """A block; `near` are the loops around the first block that reads its results."""
    block, written = realize.block, _buffers(realize.block.writes)
    name = written[0].name if written else ""
    is_output = any(buffer in param_buffers for buffer in written)
    common = _common(loops, near)
    notes = [f"in loop {common[-1].loop_var.name}"] if common else []
    notes += ["output"] if is_output else []
    scope = written[0].data.scope if written else None
    notes += [f"in {scope}"] if scope and scope != "global" else []
    types = [_type(buffer) for buffer in written[:1]]
    return GraphBox(
        name, "output" if is_output else "stage", (block.name_hint or "block", *types, *notes)
    )


def _common(loops: list[For], other: list[For]) -> list[For]:
    """The loops that are around both of two blocks."""
    return [a for a, b in zip(loops, other, strict=False) if a is b]


def _buffers(regions: Iterable[Any]) -> list[Buffer]:
    return list(dict.fromkeys([region.buffer for region in regions]))


def _outermost_blocks(body: Any) -> Iterator[tuple[BlockRealize, list[For]]]:
    """The blocks of a body that are in no other one than the root, with the loops around them."""
    stack: list[tuple[Any, list[For]]] = [(body, [])]
    while stack:
        node, loops = stack.pop()
        if type(node) is BlockRealize and not is_root(node):
            yield node, loops
            continue
        inner = [*loops, node] if type(node) is For else loops
        stack += [(part, inner) for part in reversed(parts_of(node))]
