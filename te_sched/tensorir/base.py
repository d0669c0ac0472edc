"""The base of a schedule of blocks: its state, its handles, and how arguments are resolved. Must
not know any primitive.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Any

from te_sched.arith.analyzer import Analyzer
from te_sched.errors import (
    HandleError,
    ScheduleError,
    Subject,
    TeSchedError,
    counted,
    did_you_mean,
    kind_of,
    repr_of,
)
from te_sched.ir import ops
from te_sched.ir.expr import Expr, IntImm, Var
from te_sched.ir.source_lines import lines_of
from te_sched.ir.stmt import IRModule
from te_sched.ir.visitor import substitute, variables_of
from te_sched.signatures import is_sequence
from te_sched.tensorir.faults import keys_of, show_program
from te_sched.tensorir.handles import BlockRV, LoopRV
from te_sched.tensorir.random_numbers import RandomNumbers
from te_sched.tensorir.state import (
    SOURCES,
    BlockIndex,
    BlockIndexDraft,
    BlockKey,
    Key,
    foreign,
    missing,
)
from te_sched.trace.drafts import Changes

_NOT_RENDERED = "(not rendered)"  # TVM's words


class BlockScheduleDraft(BlockIndexDraft):
    """The new state of a schedule, which a primitive computes."""

    __slots__ = ()

    values: dict[Var, int]


class ScheduleBase(BlockIndex):
    """The state of a schedule of blocks.

    `values` has the sampled integers, `removed` the handles that the user removed, `declared` the
    module as it was before the first primitive. `lineage` is the same object in all copies.
    """

    __slots__ = (
        *("__weakref__", "changes", "declared", "lineage", "random", "removed", "render_level"),
        "trace",
        "working_on",
        *BlockIndex.__annotations__,
        "values",
    )

    changes: Changes | None
    declared: IRModule
    lineage: object
    values: dict[Var, int]
    trace: Any
    random: RandomNumbers
    working_on: str | None
    removed: set[Any]
    render_level: str

    @property
    def draft(self) -> BlockScheduleDraft:
        """The new state, inside of a primitive."""
        assert self.changes is not None
        draft: BlockScheduleDraft = self.changes.draft(self, BlockScheduleDraft)
        return draft

    # -- resolving arguments -----------------------------------------------------------------------

    def named_block(self, name: str, func_name: str) -> BlockKey:
        """The block of a function that has a name.

        Raises
        ------
        ScheduleError if there is none, or several.
        """
        named = [key for block, key in self.keys.items() if block.name_hint == name]
        matches = [key for key in named if self.function_of(key) == func_name]
        if len(matches) == 1:
            return matches[0]
        of_function = [key for key in self.keys.values() if self.function_of(key) == func_name]
        names = sorted({self.block(key).name_hint for key in of_function})
        if matches:
            raise ScheduleError(
                f"{len(matches)} blocks of {func_name} have the name {name}",
                "",
                "find it from a loop or from another block: get_child_blocks, get_producers, "
                "get_consumers",
                Subject("function", func_name),
            )
        raise ScheduleError(
            f"no block of {func_name} has the name {repr_of(name)}",
            "" if names else "the function has no blocks",
            f"use {', '.join(names)}{did_you_mean(name, names)}"
            if names
            else "schedule a program with blocks: with T.block(name)",
            Subject("function", func_name),
        )

    def block_key(self, block: Any, action: str) -> BlockKey:
        """The key of a block handle."""
        if not isinstance(block, BlockRV):
            raise ScheduleError(
                f"{action} needs a block, got {kind_of(block)}",
                "it is a loop" if isinstance(block, LoopRV) else "",
                "give a block: sch.get_block(name), or its name",
            )
        self._check_known(block, block.key, "block")
        return block.key

    def loop_key(self, loop: Any, action: str) -> Var:
        """The key of a loop handle."""
        if not isinstance(loop, LoopRV):
            raise ScheduleError(
                f"{action} needs a loop, got {kind_of(loop)}",
                "it is a block" if isinstance(loop, BlockRV) else "",
                _unpacked(loop, action) or "give one of sch.get_loops(block)",
            )
        self._check_known(loop, loop.key, "loop")
        return loop.key

    def _check_known(self, handle: Any, key: Key, what: str) -> None:
        if handle in self.removed:
            raise HandleError(
                f"the handle of {what} {handle.name} was removed",
                "by remove_rv",
                "find it again: get_block, get_loops",
                Subject(what, handle.name),
            )
        if isinstance(handle, LoopRV) and handle.lineage not in (None, self.lineage):
            raise foreign(handle.name, what)
        if key not in self.nodes:
            raise missing(self, key, handle.name, what)
        if handle not in self.trace.known:  # a program of the trace could not name it
            raise HandleError(
                f"{what} {handle.name} is a handle of the schedule that this one was copied from",
                "it was made after the copy, or for the trace of that schedule",
                f"take it from this schedule: {SOURCES[what]}",
                Subject(what, handle.name),
            )

    def key_from(self, handle: Any, action: str) -> Key:
        """The key of a loop or block handle."""
        is_loop = isinstance(handle, LoopRV)
        return self.loop_key(handle, action) if is_loop else self.block_key(handle, action)

    def value_of(self, value: Any, what: str) -> int | Expr:
        """An integer, or an expression of symbolic sizes; sampled integers have their values."""
        if type(value) is Var and value in self.values:
            return self.values[value]
        if isinstance(value, Expr):
            values: dict[Var, Expr] = {
                var: IntImm(self.values[var], var.dtype)
                for var in variables_of(value)
                if var in self.values
            }
            done = Analyzer().simplify(substitute(value, values))
            return done.value if isinstance(done, IntImm) else done
        return integer(value, what)

    def number_of(self, value: Any, what: str) -> int:
        """An integer; sampled ones have their values."""
        number = self.value_of(value, what)
        if isinstance(number, int):
            return number
        raise ScheduleError(
            f"{what} must be a number, got {repr_of(value)}",
            "it depends on symbolic sizes",
            "give an int, or what a sample_ primitive returned",
        )

    # -- errors ------------------------------------------------------------------------------------

    def render(self, error: ScheduleError, arguments: Iterable[Any]) -> None:
        """Make the error of a primitive show what the schedule's `error_render_level` asks for."""
        concerned = keys_of(error, self, arguments)
        error.about = tuple(lines_of(self.functions.values()).located(error.about, concerned))
        if self.render_level != "detail":
            error.brief = error.fault if self.render_level == "fast" else _NOT_RENDERED
            error.args = (error.brief,)
        elif error.program is None:
            show_program(error, self, concerned)

    # -- results -----------------------------------------------------------------------------------

    def blocks_rv(self, keys: list[BlockKey]) -> list[BlockRV]:
        """New handles of blocks."""
        return [BlockRV(key, self.block(key).name_hint) for key in keys]

    def handle_of(self, key: Key) -> Any:
        """A handle of a block or loop that no primitive has returned, for passes."""
        handle = BlockRV(key) if isinstance(key, BlockKey) else LoopRV(key)
        self.trace.known.add(handle)
        return handle

    def sampled(self, values: list[int], name: str = "v") -> list[Var]:
        """New handles of sampled integers."""
        variables = [Var(name, "int32") for _ in values]
        self.draft.values.update(zip(variables, values, strict=True))
        return variables


def integer(value: Any, what: str) -> int:
    """An int of Python or numpy."""
    if not isinstance(value, bool):
        try:
            return operator.index(value)
        except (TypeError, TeSchedError):
            pass
    raise ScheduleError(
        f"{what} must be an integer, got {repr_of(value)}", "", "give an int"
    ) from None


def listed(values: Any, what: str) -> list[Any]:
    """The items of a list, a tuple or an array."""
    if not is_sequence(values):
        raise ScheduleError(f"{what} must be a list, got {repr_of(values)}", "", "give a list")
    return list(values)


def of_loop(name: str) -> Subject:
    """A loop, as the subject of an error."""
    return Subject("loop", name)


def names_apart(schedule: BlockIndex, *loops: Var) -> list[str]:
    """The names of loops, with a block inside each of them if several have one name."""
    names = [loop.name for loop in loops]
    if len({*names}) == len(names):
        return names
    blocks = [schedule.blocks_of(loop) for loop in loops]
    return [
        f"{name} (around block {inside[0].name})" if inside else name
        for name, inside in zip(names, blocks, strict=True)
    ]


def of_block(name: str) -> Subject:
    """A block, as the subject of an error."""
    return Subject("block", name)


def const_like(value: int | Expr, var: Var) -> Expr:
    """A number of the type of a variable."""
    if isinstance(value, int):
        return IntImm(value, var.dtype)
    return value if value.dtype == var.dtype else ops.cast(var.dtype, value)


def _unpacked(value: Any, action: str) -> str:
    """How to use the loops of a list, as split and get_loops return it, or "" for others."""
    if not is_sequence(value) or not value or not all(isinstance(part, LoopRV) for part in value):
        return ""
    if action in ("fuse", "reorder"):
        return f"pass each loop as an argument of its own: sch.{action}(*loops)"
    names = ", ".join(part.name for part in value)
    return f"unpack the list of {counted(len(value), 'loop')}: {names} = ..."
