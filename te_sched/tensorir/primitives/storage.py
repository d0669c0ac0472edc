"""Primitives that change buffers: set_scope, storage_align, unsafe_set_dtype."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from te_sched.errors import ScheduleError, repr_of
from te_sched.ir import dtypes, ops
from te_sched.ir.blocks import Block
from te_sched.ir.buffer import decl_buffer
from te_sched.ir.expr import Buffer, BufferLoad, Expr
from te_sched.ir.stmt import BufferStore
from te_sched.ir.visitor import replace
from te_sched.tensorir.accesses import allocating, check_scope, place_from, place_of, region_of
from te_sched.tensorir.base import ScheduleBase, integer, listed, of_block
from te_sched.tensorir.handles import ATTRIBUTE, VALUE, BlockRV, BufferPlace, instruction
from te_sched.tensorir.rewriting import Swap
from te_sched.tensorir.state import with_block


class BufferPrimitives(ScheduleBase):
    """Primitives that change buffers."""

    __slots__ = ()

    def buffer_place(self, block: BlockRV, buffer: Any) -> BufferPlace:
        """A buffer that a block accesses: ("read", number) or ("write", number).

        Parameters
        ----------
        buffer : such a pair, the name of the buffer, or the buffer.

        >>> sch = tir.Schedule(matmul_relu)
        >>> sch.buffer_place(sch.get_block("C"), "B")
        BufferPlace(kind='read', number=1)
        """
        return place_from(self, self.block_key(block, "buffer_place"), buffer)

    @instruction(
        "Put a buffer of {block} into {storage_scope} memory",
        buffer_index=ATTRIBUTE,
        storage_scope=ATTRIBUTE,
    )
    def set_scope(
        self, block: BlockRV | str, buffer_index: int | str | Buffer, storage_scope: str
    ) -> None:
        """Set the kind of memory of a buffer that a block writes.

        Parameters
        ----------
        buffer_index : its number among the buffers that the block writes, its name, or itself.
        storage_scope : "global", "shared", "local", ...

        >>> sch = tir.Schedule(matmul_relu)
        >>> sch.set_scope("C", 0, "local")
        >>> sch.get(sch.get_block("C")).writes[0].buffer.scope()
        'local'
        """
        key = self.block_key(block, "set_scope")
        index = place_of(self, key, buffer_index, writes=True)
        buffer = self.block(key).writes[index].buffer
        scope = check_scope(storage_scope)
        if buffer.scope() == scope:
            return
        owner = allocating(self, key, buffer, "set the scope of")
        new = _like(buffer, buffer.dtype, scope)
        swap = Swap({buffer: new})
        self.draft.replace(owner, swap.visit(self.nodes[owner]), swap.continued)

    @instruction(
        "Align dimension {axis} of a buffer of {block}",
        buffer_index=ATTRIBUTE,
        axis=ATTRIBUTE,
        factor=ATTRIBUTE,
        offset=ATTRIBUTE,
    )
    def storage_align(
        self,
        block: BlockRV | str,
        buffer_index: int | str | Buffer,
        axis: int,
        factor: int,
        offset: int,
    ) -> None:
        """Lay a buffer out so that stride[axis] = factor * k + offset, against bank conflicts.

        Parameters
        ----------
        buffer_index : its number among the buffers that the block writes, its name, or itself.
        axis : the dimension; -1 is the last.

        >>> sch = tir.Schedule(matmul_relu)
        >>> sch.storage_align("C", 0, axis=0, factor=32, offset=8)
        >>> sch.get(sch.get_block("C")).annotations
        {'buffer_dim_align': [[0, 0, 32, 8]]}
        """
        key = self.block_key(block, "storage_align")
        index = place_of(self, key, buffer_index, writes=True)
        buffer = self.block(key).writes[index].buffer
        dim, multiple, rest = (
            integer(axis, "axis"),
            integer(factor, "factor"),
            integer(offset, "offset"),
        )
        if not -len(buffer.shape) <= dim < len(buffer.shape):
            raise ScheduleError(
                f"{buffer.name} has no dimension {dim}",
                f"it has {len(buffer.shape)}",
                f"give a number from {-len(buffer.shape)} to {len(buffer.shape) - 1}",
                of_block(key.name),
            )
        if multiple < 1:
            raise ScheduleError(
                f"the factor of an alignment must be at least 1, got {multiple}",
                "",
                "give a positive number",
                of_block(key.name),
            )
        allocating(self, key, buffer, "align")
        entry = [index, dim % len(buffer.shape), multiple, rest]
        now = self.block(key).annotations
        kept = [
            list(entry_list) for entry_list in now.get(_ALIGN, ()) if [*entry_list[:2]] != entry[:2]
        ]
        links: dict[Block, Block] = {}
        annotations = {**now, _ALIGN: [*kept, entry]}
        new = with_block(self.realize(key), links, annotations=annotations)
        self.draft.replace(key, new, links)

    @instruction("Hide accesses of {block}", buf_index_array=VALUE)
    def unsafe_hide_buffer_access(
        self, block: BlockRV | str, buf_type: str, buf_index_array: Sequence[int]
    ) -> None:
        """Leave buffers out of what a block says that it reads or writes.

        Primitives do not see these accesses any more, so that the program may become wrong; `build`
        judges the accesses themselves.

        Parameters
        ----------
        buf_type : "read" or "write".
        buf_index_array : the numbers of the buffers there.

        >>> sch = tir.Schedule(matmul_relu)
        >>> sch.unsafe_hide_buffer_access("C", "read", [1])
        >>> sch.get(sch.get_block("C")).reads
        (A[vi, vk],)
        """
        key = self.block_key(block, "unsafe_hide_buffer_access")
        if not isinstance(buf_type, str) or buf_type not in ("read", "write"):
            raise ScheduleError(
                f"buf_type is {repr_of(buf_type)}", "", 'give "read" or "write"', of_block(key.name)
            )
        writes = buf_type == "write"
        hidden = {
            place_of(self, key, buffer_index, writes)
            for buffer_index in listed(buf_index_array, "buf_index_array")
        }
        own = self.block(key)
        regions = own.writes if writes else own.reads
        kept = tuple([region for number, region in enumerate(regions) if number not in hidden])
        links: dict[Block, Block] = {}
        new = with_block(self.realize(key), links, **{f"{buf_type}s": kept})
        self.draft.replace(key, new, links)

    @instruction(
        "Change the type of a buffer of {block} to {dtype}", buffer_index=ATTRIBUTE, dtype=ATTRIBUTE
    )
    def unsafe_set_dtype(
        self, block: BlockRV | str, buffer_index: int | str | Buffer, dtype: str
    ) -> None:
        """Set the dtype of the elements of a buffer that a block writes; values are cast.

        The results of the program may change.

        >>> sch = tir.Schedule(matmul_relu)
        >>> sch.unsafe_set_dtype("C", 0, "float16")
        >>> sch.get(sch.get_block("C")).writes[0].buffer.dtype
        'float16'
        """
        key = self.block_key(block, "unsafe_set_dtype")
        buffer = region_of(self, key, buffer_index, writes=True).buffer
        owner = allocating(self, key, buffer, "set the dtype of")
        new = _like(buffer, dtypes.spelled(dtype), buffer.scope())
        if new.dtype == buffer.dtype:
            return
        swap = _Retype({buffer: new})
        self.draft.replace(owner, swap.visit(self.nodes[owner]), swap.continued)


_ALIGN = "buffer_dim_align"


def _like(buffer: Buffer, dtype: str, scope: str) -> Buffer:
    """A buffer of the same shape; its name tells the scope."""
    base = buffer.name
    name = base if scope == buffer.scope() else f"{base}_{scope}"
    return copy_of(buffer, name, scope, dtype)


def copy_of(buffer: Buffer, name: str, scope: str, dtype: str = "") -> Buffer:
    """A buffer of the same shape, with the same groups of dimensions, in other memory."""
    groups = buffer.axis_separators
    return decl_buffer(
        buffer.shape, dtype or buffer.dtype, name, scope=scope, axis_separators=groups
    )


class _Retype(Swap):
    """Replaces a buffer by one of another dtype, with casts where it or a view is accessed."""

    def visit_BufferLoad(self, node: BufferLoad) -> Expr:
        new = self.generic(node)
        return new if new.buffer.dtype == node.buffer.dtype else ops.cast(node.dtype, new)

    def visit_BufferStore(self, node: BufferStore) -> BufferStore:
        new = self.generic(node)
        if new.buffer.dtype == node.buffer.dtype:
            return new
        return replace(new, value=ops.cast(new.buffer.dtype, new.value))
