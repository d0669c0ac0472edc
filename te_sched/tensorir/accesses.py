"""The buffers that a block reads and writes, as primitives name them: by place, name or object.

Must not know any primitive.
"""

from __future__ import annotations

from typing import Any

from te_sched.errors import ScheduleError, repr_of
from te_sched.ir.expr import Buffer, BufferRegion
from te_sched.ir.storage_scopes import advice_on_scope, is_storage_scope
from te_sched.tensorir.base import ScheduleBase, integer, of_block
from te_sched.tensorir.handles import ATTRIBUTE, BUFFER_KINDS, BufferPlace
from te_sched.tensorir.state import BlockKey


def place_of(schedule: ScheduleBase, key: BlockKey, buffer: Any, writes: bool) -> int:
    """The place of a buffer among the regions that a block reads or writes.

    Parameters
    ----------
    buffer : the place, the name of the buffer, or the buffer.
    """
    block = schedule.block(key)
    regions = block.writes if writes else block.reads
    verb = "writes" if writes else "reads"
    if isinstance(buffer, str | Buffer):
        is_name = isinstance(buffer, str)
        places = [
            index
            for index, region in enumerate(regions)
            if (region.buffer.name == buffer if is_name else region.buffer is buffer)
        ]
        if len(places) == 1:
            return places[0]
        name = buffer if is_name else buffer.name  # type: ignore[union-attr]
        raise _unknown(key, regions, verb, f"buffer {name}" if not places else f"several {name}")
    number = integer(buffer, "a buffer of a block")
    if not 0 <= number < len(regions):
        raise _unknown(key, regions, verb, f"buffer number {number}")
    return number


def place_from(schedule: ScheduleBase, key: BlockKey, buffer: Any) -> BufferPlace:
    """A buffer that a block accesses, given as ("read", 0), by its name or itself."""
    if isinstance(buffer, BufferPlace):
        buffer = (buffer.kind, buffer.number)
    if isinstance(buffer, str | Buffer):
        block = schedule.block(key)
        matches = [
            BufferPlace(kind, index)
            for kind, regions in (("write", block.writes), ("read", block.reads))
            for index, region in enumerate(regions)
            if (
                region.buffer.name == buffer if isinstance(buffer, str) else region.buffer is buffer
            )
        ]
        name = buffer if isinstance(buffer, str) else buffer.name
        if not matches:
            raise _unknown(key, (*block.reads, *block.writes), "accesses", f"buffer {name}")
        return matches[0]
    if isinstance(buffer, list | tuple) and len(buffer) == 2 and buffer[0] in ("read", "write"):
        kind, number = buffer
        return BufferPlace(kind, place_of(schedule, key, number, writes=kind == "write"))
    raise ScheduleError(
        f"the buffer of block {key.name} is {repr_of(buffer)}",
        "",
        'give ("read", number) or ("write", number), the name of the buffer, or the buffer',
        of_block(key.name),
    )


BUFFER = ATTRIBUTE._replace(
    packed=lambda buffer: [buffer.number, BUFFER_KINDS.index(buffer.kind)],
    unpacked=lambda numbers: BufferPlace(BUFFER_KINDS[numbers[1]], numbers[0]),
    width=2,
)


def _unknown(
    key: BlockKey, regions: tuple[BufferRegion, ...], verb: str, what: str
) -> ScheduleError:
    names = [f"{index} ({region.buffer.name})" for index, region in enumerate(regions)]
    return ScheduleError(
        f"block {key.name} has no {what} that it {verb}"
        if not what.startswith("several")
        else f"block {key.name} {verb} {what}",
        f"it {verb} {', '.join(names)}" if names else f"it {verb} nothing",
        "give its number, its name or the buffer",
        of_block(key.name),
    )


def region_of(schedule: ScheduleBase, key: BlockKey, buffer: Any, writes: bool) -> BufferRegion:
    """A region that a block reads or writes."""
    block = schedule.block(key)
    index = place_of(schedule, key, buffer, writes)
    return (block.writes if writes else block.reads)[index]


def allocating(schedule: ScheduleBase, key: BlockKey, buffer: Buffer, action: str) -> BlockKey:
    """The block that allocates a buffer which a block accesses.

    Raises
    ------
    ScheduleError if it is a parameter of the function or a view.
    """
    for block_key in (key, *schedule.around(key)):
        if isinstance(block_key, BlockKey) and buffer in schedule.block(block_key).alloc_buffers:
            return block_key
    raise ScheduleError(
        f"cannot {action} {buffer.name} of block {key.name}",
        "no block allocates it: it is a parameter of the function, or a view of another buffer",
        "cache_read and cache_write make a buffer that is allocated",
        of_block(key.name),
    )


def check_scope(scope: Any) -> str:
    """A storage scope, such as "shared" or "shared.dyn"."""
    if isinstance(scope, str) and is_storage_scope(scope):
        return scope
    raise ScheduleError(f"there is no storage scope {repr_of(scope)}", "", advice_on_scope(scope))
