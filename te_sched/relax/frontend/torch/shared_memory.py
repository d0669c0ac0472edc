"""Writes to memory that tensors share, as new values of all of them.

A graph computes values. Where a call writes to a view, the tensor that it is a view of gets the new
elements at their places, and other views that are used later are read anew:

    row = x[:, 0]; row.copy_(y); x + 1   ->   x1 = select_scatter(x, y, 0, 0); x1 + 1

What torch alone can tell (whether a reshape copies) is left to its decompositions. Must not know
programs.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence, Set
from dataclasses import dataclass, field

import numpy as np

from te_sched.ir.graph import GraphExpr
from te_sched.relax.frontend.torch.importer import ROWS, Importer
from te_sched.relax.frontend.torch.memory import changed_arguments, is_in_place, is_node, is_view
from te_sched.relax.frontend.torch.nodes import base_name
from te_sched.relax.frontend.torch.values import FxNode, Value

# The new value of a tensor, of its value, that of a view of it, and the arguments of the view.
Write = Callable[..., Value]


def _by_row(name: str) -> Write:
    return lambda imp, x, new, *args: ROWS[name].rule(imp, x, new, *args)


def _reshaped(imp: Importer, x: GraphExpr, new: GraphExpr, *_: object) -> GraphExpr:
    return imp.reshape(new, imp.shape(x))


def _itself(imp: Importer, x: GraphExpr, new: GraphExpr, *_: object) -> GraphExpr:
    del imp, x
    return new


def _transposed(imp: Importer, x: GraphExpr, new: GraphExpr, *axes: int) -> Value:
    del x
    return ROWS["transpose" if axes else "t"].rule(imp, new, *axes)


def _permuted(imp: Importer, x: GraphExpr, new: GraphExpr, axes: Sequence[int]) -> Value:
    del x
    inverse = np.argsort([axis % len(axes) for axis in axes])
    return ROWS["permute"].rule(imp, new, [int(axis) for axis in inverse])


# How the value of a view gives that of its source, by the operator that makes the view.
_WRITES: dict[str, Write] = {
    **{name: _by_row(f"{name}_scatter") for name in ("select", "slice", "diagonal")},
    **dict.fromkeys(("view", "unsqueeze", "squeeze"), _reshaped),
    **dict.fromkeys(("detach", "alias", "dropout", "feature_dropout"), _itself),
    **dict.fromkeys(("transpose", "t"), _transposed),
    "permute": _permuted,
}


@dataclass(slots=True)
class SharedMemory:
    """The nodes whose values lie in one memory, in the order of the graph."""

    nodes: list[FxNode] = field(default_factory=list)
    sources: dict[FxNode, FxNode] = field(default_factory=dict)  # what a node is a view of
    last_uses: dict[FxNode, int] = field(default_factory=dict)  # also through views of it
    writers: list[FxNode] = field(default_factory=list)

    def part(self, nodes: Set[FxNode]) -> SharedMemory:
        """The memory of some of the nodes."""
        sources = {view: source for view, source in self.sources.items() if source in nodes}
        return SharedMemory(
            [node for node in self.nodes if node in nodes],
            {view: source for view, source in sources.items() if view in nodes},
            writers=[node for node in self.writers if nodes & {*changed_arguments(node, {})}],
        )

    @property
    def owner(self) -> FxNode:
        """The node that is not a view."""
        return self.nodes[0]


def written_memory(nodes: Sequence[FxNode]) -> list[SharedMemory]:
    """The memory that calls of a graph write."""
    of_nodes: dict[FxNode, SharedMemory] = {}
    for node in nodes:
        source = _source(node)
        memory = SharedMemory() if source is None else of_nodes[source]
        memory.nodes.append(node)
        if source is not None:
            memory.sources[node] = source
        of_nodes[node] = memory
        for changed in changed_arguments(node, {}):
            of_nodes[changed].writers.append(node)
    places = {node: position for position, node in enumerate(nodes)}
    of_owners = [memory for node, memory in of_nodes.items() if memory.owner is node]
    written = [part for memory in of_owners for part in _separated(memory, places)]
    for memory in written:
        uses = memory.last_uses
        for node in reversed(memory.nodes):
            uses[node] = max(
                [_last_use(node, places), *(uses.get(user, -1) for user in node.users)]
            )
    return written


def _separated(memory: SharedMemory, places: Mapping[FxNode, int]) -> list[SharedMemory]:
    """The parts of memory that are written, divided at views that may be copies if that makes no
    difference: no node of one side is used after a write to the other one.
    """
    if not memory.writers:
        return []
    for node in memory.sources:
        if not _is_known(node):
            views: set[FxNode] = set()
            for view in memory.nodes:
                if view is node or memory.sources.get(view) in views:
                    views.add(view)
            inner, outer = memory.part(views), memory.part({*memory.nodes} - views)
            if not any(
                places[node]
                < places[writer]
                < max(_last_use(other, places) for other in side.nodes)
                for writers, side in ((inner.writers, outer), (outer.writers, inner))
                for writer in writers
            ):
                return [*_separated(outer, places), *_separated(inner, places)]
    return [memory]


def _last_use(node: FxNode, places: Mapping[FxNode, int]) -> int:
    """The place of the last user of a node; inputs are read after all, as results."""
    if node.op == "placeholder":
        return len(places)
    return max((places[user] for user in node.users), default=-1)


def _source(node: FxNode) -> FxNode | None:
    """The node whose memory a value lies in; None of new memory."""
    first = next(iter(node.args), None)
    if node.op != "call_function" or not is_node(first):
        return None
    is_part = base_name(node) == "getitem" and not is_view(first)
    return first if is_in_place(node) or (is_view(node) and not is_part) else None


def is_known(memory: SharedMemory, inputs: Collection[str]) -> bool:
    """Whether writes are new values that the importer knows.

    inputs : the names of placeholders that may be written.
    """
    owner = memory.owner
    if owner.op == "get_attr" or (owner.op == "placeholder" and owner.name not in inputs):
        return False
    dtype = getattr(owner.meta.get("val"), "dtype", None)
    if dtype is None or dtype.is_complex or not all(map(is_in_place, memory.writers)):
        return False
    return all(map(_is_known, memory.sources))


def _is_known(node: FxNode) -> bool:
    """Whether the value of a node gives that of its source."""
    if is_in_place(node):
        return len(changed_arguments(node, {})) == 1
    is_plain = hasattr(node.target, "_schema") and not node.kwargs
    is_bits = base_name(node) == "view" and not isinstance(node.args[1], list | tuple)
    return is_plain and not is_bits and base_name(node) in _WRITES


class MemoryWriter:
    """Keeps the values of all nodes of memory up to date that calls write.

    places : the places of all nodes in the graph.
    """

    def __init__(self, memory: Sequence[SharedMemory], places: Mapping[FxNode, int]) -> None:
        self._memory = {node: part for part in memory for node in part.nodes}
        self._places = places

    def write(self, imp: Importer, changed: FxNode) -> None:
        """Pass on the new value of a node that the current node has changed."""
        memory = self._memory.get(changed)
        if memory is None:
            return
        writer, now, node = imp.node, self._places[imp.node], changed
        fresh = {node}
        while (source := memory.sources.get(node)) is not None:
            write = _itself if is_in_place(node) else _WRITES[base_name(node)]
            args = [imp.value(arg) for arg in node.args[1:]]
            imp.values[source] = write(imp, imp.value(source), imp.value(node), *args)
            fresh.add(source)
            node = source
        for view, source in memory.sources.items():
            if view in imp.values and view not in fresh and memory.last_uses[view] > now:
                imp.node = view
                imp.values[view] = (
                    imp.values[source]
                    if is_in_place(view)
                    else imp.call(view, ROWS[base_name(view)].rule)
                )
        imp.node = writer
