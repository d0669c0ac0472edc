"""Counts the accesses of loops by executing them in Python."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from te_sched.arith.evaluate import evaluate
from te_sched.ir import stmt as S
from te_sched.ir.occurrences import occurrences_of
from te_sched.ir.visitor import statements

Touch = tuple[str, tuple[int, ...], bool]  # buffer, element, whether it is written


class Runner:
    """Executes the loops of a function after `schedule_ops`, and returns the accessed elements.

    Elements of a temporary are counted from the beginning of its memory.
    """

    def __init__(self, func: S.PrimFunc) -> None:
        self.func = func
        self.begins: dict[Any, tuple[int, ...]] = {}
        self.open_tags: dict[str, Any] = {}

    def touches(self, node: Any, values: dict[Any, int]) -> Iterator[Touch]:
        """The accesses of a statement, in order."""
        if isinstance(node, S.For):
            yield from self.loop(node.loop_var, node.min, node.extent, node.body, values)
        elif isinstance(node, S.SeqStmt):
            for part in node.seq:
                yield from self.touches(part, values)
        elif isinstance(node, S.IfThenElse):
            taken = node.then_case if self.value(node.condition, values) else node.else_case
            if taken is not None:
                yield from self.touches(taken, values)
        elif isinstance(node, S.AttrStmt) and node.key in ("thread_extent", "virtual_thread"):
            yield from self.launch(node, values)
        elif isinstance(node, S.BufferRealize):
            self.begins[node.buffer.data] = tuple(
                self.value(bound.min, values) for bound in node.bounds
            )
            yield from self.touches(node.body, values)
        elif isinstance(node, S.BufferStore):
            yield from self.store(node, values)
        elif hasattr(node, "body"):
            yield from self.touches(node.body, values)

    def loop(self, var: Any, low: Any, extent: Any, body: Any, values: Any) -> Iterator[Touch]:
        start = self.value(low, values)
        for number in range(start, start + self.value(extent, values)):
            yield from self.touches(body, {**values, var: number})

    def launch(self, node: S.AttrStmt, values: dict[Any, int]) -> Iterator[Touch]:
        """Execute a launch of threads; inside of a launch of the same axis, with its thread."""
        tag, var = node.node.thread_tag, node.node.var
        known = self.open_tags.get(tag) if node.key == "thread_extent" else None
        if known is not None:
            yield from self.touches(node.body, {**values, var: values[known]})
            return
        self.open_tags[tag] = var
        yield from self.loop(var, 0, node.value, node.body, values)
        del self.open_tags[tag]

    def store(self, node: S.BufferStore, values: dict[Any, int]) -> Iterator[Touch]:
        for one in occurrences_of(node):
            if not all(self.value(guard, values) for guard in one.guards):
                continue
            arguments = {buffer.data for buffer in self.func.buffer_map.values()}
            begins = self.begins.get(one.data) if one.data not in arguments else None
            place = [self.value(index, values) for index in one.indices]
            low = begins or (0,) * len(place)
            yield (
                one.buffer.name,
                tuple(a - b for a, b in zip(place, low, strict=True)),
                one.writes,
            )

    @staticmethod
    def value(e: Any, values: dict[Any, int]) -> int:
        return e if isinstance(e, int) else int(np.asarray(evaluate(e, dict(values), {})))


def path_to(func: S.PrimFunc, loop: Any) -> list[Any]:
    """The statements around a loop, outermost first."""
    path: list[Any] = []

    def find(node: Any) -> bool:
        path.append(node)
        below = [getattr(node, name, None) for name in ("body", "then_case", "else_case")]
        below += list(getattr(node, "seq", ()))
        if node is loop or any(part is not None and find(part) for part in below):
            return True
        path.pop()
        return False

    assert find(func.body)
    return path[:-1]


def launched_round(func: S.PrimFunc, loop: Any) -> dict[str, Any]:
    """The variables of the thread axes launched around a loop, by tag."""
    launches = [node for node in path_to(func, loop) if isinstance(node, S.AttrStmt)]
    return {n.node.thread_tag: n.node.var for n in launches if n.key == "thread_extent"}


def middle_iterations(func: S.PrimFunc, loop: Any) -> dict[Any, int]:
    """The values of the loops around a loop, each in its middle iteration."""
    values: dict[Any, int] = {}
    for node in path_to(func, loop):
        if isinstance(node, S.For):
            low, extent = (Runner.value(e, values) for e in (node.min, node.extent))
            values[node.loop_var] = low + extent // 2
        elif isinstance(node, S.AttrStmt) and node.key in ("thread_extent", "virtual_thread"):
            values[node.node.var] = chosen_thread(node, values)
    return values


def chosen_thread(node: S.AttrStmt, values: dict[Any, int]) -> int:
    """The first thread, or the middle block."""
    is_thread = node.node.thread_tag.startswith("threadIdx")
    return 0 if is_thread else Runner.value(node.value, values) // 2


def loops_of(func: S.PrimFunc) -> list[Any]:
    """The loops of a function, including launched threads."""
    return [
        node
        for node in statements(func.body)
        if isinstance(node, S.For)
        or (isinstance(node, S.AttrStmt) and node.key in ("thread_extent", "virtual_thread"))
    ]


def counted(
    func: S.PrimFunc, loop: Any, size_of: Callable[[str], int]
) -> dict[str, tuple[int, int, int]]:
    """For each buffer: bytes of the middle iteration of a loop, of all iterations, and accesses."""
    values = middle_iterations(func, loop)
    runner = Runner(func)
    for node in statements(func.body):  # begins of memory round the loop
        if isinstance(node, S.BufferRealize):
            known = [e for b in node.bounds for e in (b.min,)]
            try:
                runner.begins[node.buffer.data] = tuple(runner.value(e, values) for e in known)
            except Exception:
                continue
    is_for = isinstance(loop, S.For)
    var, extent = (loop.loop_var, loop.extent) if is_for else (loop.node.var, loop.value)
    low = runner.value(loop.min, values) if is_for else 0
    one = low + runner.value(extent, values) // 2 if is_for else chosen_thread(loop, values)
    middle = {**values, var: one}
    runner.open_tags = launched_round(func, loop)
    whole = list(runner.touches(loop, values))
    runner.open_tags.update({} if is_for else {loop.node.thread_tag: var})
    once = list(runner.touches(loop.body, middle))
    names = dict.fromkeys(name for name, _, _ in whole)
    return {
        name: (
            len({place for other, place, _ in once if other == name}) * size_of(name),
            len({place for other, place, _ in whole if other == name}) * size_of(name),
            sum(other == name for other, _, _ in whole),
        )
        for name in names
    }
