"""Primitives that find blocks and loops, and change nothing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from te_sched.errors import FunctionError, ScheduleError, kind_of, repr_of
from te_sched.tensorir.base import ScheduleBase, of_block
from te_sched.tensorir.blocks import buffers_of, consumers, output_buffers, producers
from te_sched.tensorir.handles import ATTRIBUTE, BY_PLACE, BlockRV, LoopRV, instruction
from te_sched.tensorir.state import BlockKey


def _function(schedule: Any, name: str | None) -> Any:
    return schedule.func_working_on if name is None else name


class FindingPrimitives(ScheduleBase):
    """Primitives that find blocks and loops."""

    __slots__ = ()

    @instruction(name=ATTRIBUTE, func_name=ATTRIBUTE._replace(record=_function))
    def get_block(self, name: str, func_name: str | None = None) -> BlockRV:
        """The block that has a name.

        Parameters
        ----------
        func_name : its function; without it the one that the schedule works on (`work_on`).

        Raises
        ------
        ScheduleError if no block has the name, or several have it.

        >>> sch = tir.Schedule(matmul_relu)
        >>> sch.get(sch.get_block("C")).iter_vars[0].var
        vi
        """
        func = self.function_named(func_name)
        if not isinstance(name, str):
            raise ScheduleError(
                f"the name of a block is a text, got {kind_of(name)}", "", 'get_block("B")'
            )
        return BlockRV(self.named_block(name, func))

    @instruction()
    def get_loops(self, block: BlockRV | str) -> list[LoopRV]:
        """The loops around a block, up to the next block, outermost first.

        >>> sch = tir.Schedule(matmul_relu)
        >>> [loop.name for loop in sch.get_loops(sch.get_block("C"))]
        ['i', 'j', 'k']
        """
        key = self.block_key(block, "get_loops")
        return [LoopRV(loop) for loop in self.loops_above(key)]

    @instruction(block_or_loop=BY_PLACE)
    def get_child_blocks(self, block_or_loop: BlockRV | LoopRV) -> list[BlockRV]:
        """The blocks directly in a block or loop, in program order.

        >>> sch = tir.Schedule(matmul_relu)
        >>> [block.name for block in sch.get_child_blocks(sch.get_block("root"))]
        ['C', 'D']
        """
        return self.blocks_rv(self.blocks_of(self.key_from(block_or_loop, "get_child_blocks")))

    @instruction()
    def get_producers(self, block: BlockRV | str) -> list[BlockRV]:
        """The blocks of the same scope that write what a block reads.

        >>> sch = tir.Schedule(matmul_relu)
        >>> [block.name for block in sch.get_producers("D")]
        ['C']
        """
        return self.blocks_rv(producers(self, self.block_key(block, "get_producers")))

    @instruction()
    def get_consumers(self, block: BlockRV | str) -> list[BlockRV]:
        """The blocks of the same scope that read what a block writes.

        >>> sch = tir.Schedule(matmul_relu)
        >>> [block.name for block in sch.get_consumers("C")]
        ['D']
        """
        return self.blocks_rv(consumers(self, self.block_key(block, "get_consumers")))

    @instruction()
    def get_output_blocks(self, block: BlockRV | str) -> list[BlockRV]:
        """The blocks in a scope, also nested ones, that write results of the function.

        >>> sch = tir.Schedule(matmul_relu)
        >>> [block.name for block in sch.get_output_blocks("root")]
        ['D']
        """
        key = self.block_key(block, "get_output_blocks")
        results = output_buffers(self, key)
        return self.blocks_rv(
            [
                block_key
                for block_key in _inside(self, key)
                if results & {*buffers_of(self.block(block_key).writes)}
            ]
        )

    def function_named(self, name: Any) -> str:
        """The name of a function, by default of the one that the schedule works on."""
        if name is None:
            name = self.working_on
        if name is None:
            raise FunctionError(
                "the schedule does not know which function to be working on",
                f"the module has {', '.join(self.functions)}, and none is main",
                "give func_name=, or call sch.work_on(name) first",
            )
        if not isinstance(name, str) or name not in self.functions:
            raise ScheduleError(
                f"the module has no function {name if isinstance(name, str) else repr_of(name)}",
                "",
                f"use one of {', '.join(self.functions)}" if self.functions else "",
            )
        return str(name)


def _inside(schedule: ScheduleBase, key: Any) -> Iterator[BlockKey]:
    """All blocks in a block, the outer ones first."""
    for block_key in schedule.blocks_of(key):
        yield block_key
        yield from _inside(schedule, block_key)


def check_not_root(schedule: ScheduleBase, block: Any, action: str) -> None:
    """Refuse the root block of a function."""
    if schedule.parents[block] is None:
        raise ScheduleError(
            f"cannot {action} the root block",
            "it is the body of the function",
            "use a block in it",
            of_block(block.name),
        )
