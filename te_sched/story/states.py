"""The program of one step of a story: what is shown of it, and what is built.

One class for schedules of tensors, whose steps show the loops that they are lowered to, and one for
modules of blocks. Must not know the order of steps, nor pages.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from te_sched import config
from te_sched.errors import Subject
from te_sched.ir.blocks import Block, BlockRealize
from te_sched.ir.expr import Buffer, Var
from te_sched.ir.printer.origins import lines_of_statements, script_lines
from te_sched.ir.scopes import loop_of
from te_sched.ir.stmt import BufferStore, For, IRModule, PrimFunc, Stmt
from te_sched.ir.visitor import statements
from te_sched.lowering.blocks.pipeline import passes_of
from te_sched.lowering.pipeline import lower
from te_sched.lowering.statements import binds_threads
from te_sched.passes import apply_passes
from te_sched.schedule.bindings import has_threads
from te_sched.schedule.schedule import Schedule
from te_sched.schedule.source_locations import stage_named
from te_sched.story.figures import figures_of_loops
from te_sched.story.model import Figures, Line, StoryStage
from te_sched.story.outputs import lines_of_rows, numbered, numbered_blocks
from te_sched.story.stage_list import of_buffer, of_stage
from te_sched.story.stages import Stages
from te_sched.views.lines import TreeLine
from te_sched.views.loop_tree import loop_tree
from te_sched.wording import BLOCKS

Described = Iterator[tuple[str, Callable[[int], StoryStage]]]


class TensorState:
    """A schedule of tensors, as the function `name` of `args`."""

    title = "As lowered"  # of the program that is shown

    def __init__(self, schedule: Schedule, args: Sequence[Any], name: str) -> None:
        self.inputs: Any = schedule  # what is built
        self.args, self.given, self.name = args, args, name  # parameters, and args of `build`
        self.stages = Stages.of_schedule(schedule)
        self.tree: Sequence[TreeLine] = loop_tree(schedule, args, name)
        self.is_bound = has_threads(schedule)

    @property
    def func(self) -> Any:
        """The function of the tree: none if the schedule cannot be lowered."""
        return self.tree[0].node

    @property
    def result_types(self) -> set[str]:
        """The types of the results."""
        return {tensor.dtype for op in self.inputs.outputs for tensor in op.outputs}

    def lowered(self) -> IRModule:
        """The program after all passes, for reading."""
        if isinstance(self.func, PrimFunc):
            return lower(self.func, name=self.name, simple_mode=True)
        return lower(self.inputs, self.args, self.name, simple_mode=True)

    def shown(self, lowered: IRModule | None) -> IRModule | None:
        """The program that is shown; none if there is only that of a failure."""
        return lowered

    def figures(self) -> dict[int, Figures]:
        """The figures of the functions and loops of the tree, by the identity of their nodes."""
        return figures_of_loops(self.func, self.stages.of_memory)

    def places(self, nodes: Sequence[Any], shown: IRModule) -> list[list[int]]:
        """The places of nodes of the tree in the text of the program that is shown."""
        return lines_of_rows(nodes, shown, self.stages)

    def numbered(self, program: Sequence[Line], compiled: Sequence[Line]) -> tuple[Line, ...]:
        """The lines of the program with the numbers of those that are compiled of them."""
        return numbered(program, compiled)

    def subject_of(self, name: str) -> Subject:
        """A stage as the subject of a finding."""
        return stage_named(self.inputs, name)

    def parts(self) -> Described:
        """The stages by name, and how they are described if a step of a number makes them."""
        for stage in self.inputs.stages:
            yield stage.op.name, partial(of_stage, stage)


class BlockState:
    """A module of functions of blocks, or of loops, of which the function `name` is called. Its
    stages are its buffers.
    """

    title = "As scheduled"

    def __init__(self, module: IRModule, name: str) -> None:
        self.inputs: Any = module
        self.given: Sequence[Any] | None = None
        self.name, self.func = name, module[name]
        params = [self.func.buffer_map.get(param, param) for param in self.func.params]
        self.args: Sequence[Any] = params
        self._buffers = list(_buffers(module))
        self.stages = Stages(_names(self._buffers), _of_data(module, self._buffers))
        self.tree: Sequence[TreeLine] = loop_tree(module)
        self.is_bound = any(binds_threads(func.body) for func in module.functions.values())

    @property
    def result_types(self) -> set[str]:
        """The types of the parameters that are written."""
        params = {buffer.data: buffer for buffer in self.args if isinstance(buffer, Buffer)}
        stores = [node for node in statements(self.func.body) if type(node) is BufferStore]
        return {store.buffer.dtype for store in stores if store.buffer.data in params}

    def lowered(self) -> IRModule:
        """The program after all passes, for reading."""
        return lower(self.inputs, simple_mode=True)

    def shown(self, lowered: IRModule | None) -> IRModule | None:
        """The module itself."""
        module: IRModule = self.inputs
        return module

    def figures(self) -> dict[int, Figures]:
        """The figures of the functions and loops of the tree, by the identity of their nodes: those
        of the loops that the blocks are lowered to, which have the same variables.
        """
        figures_of: dict[int, Figures] = {}
        for func in self.inputs.functions.values():
            looped = apply_passes(passes_of(func), func, config.current())
            own = figures_of_loops(looped, self.stages.of_memory)
            figures_of[id(func)] = own[id(looped)]
            of_loop = _by_loop(looped, own)
            for node in statements(func.body):
                if (figures := of_loop.pop(_loop_key(node), None)) is not None:
                    figures_of[id(node)] = figures
        return figures_of

    def places(self, nodes: Sequence[Any], shown: IRModule) -> list[list[int]]:
        """The places of nodes of the tree in the text of the module; a loop of several in one line
        has that line.
        """
        texts = script_lines(shown)
        first = {id(node): number - 1 for node, number in lines_of_statements(texts)}
        line_indices: list[list[int]] = []
        for before, node in zip([None, *nodes], nodes, strict=False):
            if id(node) in first:
                line_indices.append([first[id(node)]])
            else:
                is_inner = type(node) is For and type(before) is For and before.body is node
                line_indices.append(line_indices[-1] if is_inner else [])
        return line_indices

    def numbered(self, program: Sequence[Line], compiled: Sequence[Line]) -> tuple[Line, ...]:
        """The lines of the program with the numbers of those that are compiled of them."""
        return numbered_blocks(program, compiled)

    def subject_of(self, name: str) -> Subject:
        """A buffer as the subject of a finding."""
        return BLOCKS.subject(name)

    def parts(self) -> Described:
        """The buffers by name, and how they are described if a step of a number makes them."""
        buffer_args = [arg for arg in self.args if isinstance(arg, Buffer)]
        stores = [
            node
            for func in self.inputs.functions.values()
            for node in statements(func.body)
            if type(node) is BufferStore
        ]
        last = {self.stages.of_memory(store.buffer.data): store for store in stores}
        for buffer in self._buffers:
            store = last.get(buffer.name)
            yield buffer.name, partial(of_buffer, buffer, buffer in buffer_args, store)


State = TensorState | BlockState


def _buffers(module: IRModule) -> Iterator[Buffer]:
    """The parameters and the allocated buffers of a module."""
    for func in module.functions.values():
        yield from func.buffer_map.values()
        for block in _blocks(func):
            yield from block.alloc_buffers


def _blocks(func: PrimFunc) -> Iterator[Block]:
    for node in statements(func.body):
        if type(node) is BlockRealize:
            yield node.block


def _names(buffers: Sequence[Buffer]) -> dict[str, str]:
    return {name: buffer.name for buffer in buffers for name in (buffer.data.name, buffer.name)}


def _of_data(module: IRModule, buffers: Sequence[Buffer]) -> dict[Var, str]:
    """The buffers of memory by name, with views as what they are views of."""
    names = {buffer.data: buffer.name for buffer in buffers}
    for func in module.functions.values():
        for block in _blocks(func):
            for match in block.match_buffers:
                source = match.source.buffer
                names[match.buffer.data] = names.get(source.data, source.name)
    return names


def _loop_key(node: Stmt) -> object:
    """What lowering keeps of a loop: its variable, or the thread axis it is bound to."""
    loop = loop_of(node)
    if loop is None:
        return None
    return loop.tag if loop.is_launched else loop.var


def _by_loop(func: PrimFunc, figures: Mapping[int, Figures]) -> dict[object, Figures]:
    figures_of: dict[object, Figures] = {}
    for node in statements(func.body):
        if id(node) in figures:
            figures_of.setdefault(_loop_key(node), figures[id(node)])
    return figures_of
