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
        graph.add(_of_stage(stage, stage.op in states), [position[one] for one in reads[index]])
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
        self.graph.outputs += [one.name_hint for one in results]

    def _binding(self, binding: Any, results: list[Any]) -> None:
        value, var = binding.value, binding.var
        if isinstance(value, GraphVar | TupleGetItem | Tuple):
            self.boxes[var] = self._sources(value)
            return
        kind = "output" if any(one is var for one in results) else "stage"
        labels = (called(value), value_type(var.struct_info_), var.name_hint)
        self._box(var, kind, labels, self._sources(value))

    def _box(self, var: Any, kind: str, labels: tuple[str, ...], reads: list[int]) -> None:
        self.boxes[var] = [self.graph.add(GraphBox(var.name_hint, kind, labels), reads)]

    def _names(self, result: Any) -> list[Any]:
        parts = result.fields if isinstance(result, Tuple) else [result]
        return [one for one in parts if isinstance(one, GraphVar)]

    def _sources(self, value: Any) -> list[int]:
        found = [one for part in walk(value) for one in self.boxes.get(part, ())]
        return list(dict.fromkeys(found))


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
        given = {*self.func.buffer_map.values()}
        blocks = list(_outermost_blocks(self.func.body))
        written = [buffer for realize, _ in blocks for buffer in _buffers(realize.block.writes)]
        self.graph.outputs += [one.name for one in dict.fromkeys(written) if one in given]
        readers = self._readers([realize for realize, _ in blocks])
        for place, (realize, loops) in enumerate(blocks):
            reads = [
                box for one in _buffers(realize.block.reads) for box in self._sources(one, given)
            ]
            near = next((blocks[one][1] for one in readers[place]), [])
            number = self.graph.add(_of_block(realize, loops, near, given), reads)
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
        reads = [{*_buffers(one.block.reads)} for one in blocks]
        return [
            [
                later
                for later in range(place + 1, len(blocks))
                if not reads[later].isdisjoint(_buffers(one.block.writes))
            ]
            for place, one in enumerate(blocks)
        ]

    def _sources(self, buffer: Buffer, given: set[Buffer]) -> list[int]:
        """The boxes of what a block finds in a buffer that it reads."""
        if buffer not in self.writers and buffer in given:
            box = GraphBox(buffer.name, "input", (buffer.name, _type(buffer), "input"))
            self.writers[buffer] = [self.graph.add(box)]
        return self.writers.get(buffer, [])


def _of_block(
    realize: BlockRealize, loops: list[For], near: list[For], given: set[Buffer]
) -> GraphBox:
    """A block; `near` are the loops around the first block that reads its results."""
    block, written = realize.block, _buffers(realize.block.writes)
    name = written[0].name if written else ""
    is_output = any(buffer in given for buffer in written)
    common = _common(loops, near)
    notes = [f"in loop {common[-1].loop_var.name}"] if common else []
    notes += ["output"] if is_output else []
    scope = written[0].data.scope if written else None
    notes += [f"in {scope}"] if scope and scope != "global" else []
    types = [_type(buffer) for buffer in written[:1]]
    return GraphBox(
        name, "output" if is_output else "stage", (block.name_hint or "block", *types, *notes)
    )


def _common(one: list[For], other: list[For]) -> list[For]:
    """The loops that are around both of two blocks."""
    return [a for a, b in zip(one, other, strict=False) if a is b]


def _buffers(regions: Iterable[Any]) -> list[Buffer]:
    return list(dict.fromkeys([one.buffer for one in regions]))


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
