"""Nodes of TensorIR with TVM's constructors: blocks, regions, declared buffers, functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from te_sched.errors import DeclarationError, kind_of, repr_of
from te_sched.ir import blocks, dtypes, ops, stmt
from te_sched.ir.buffer import buffer_region
from te_sched.ir.builder import BufferVar
from te_sched.ir.expr import Buffer, BufferRegion, DataProducer, IterVar, Var
from te_sched.ir.expr import Range as _Range
from te_sched.ir.stmt import Stmt
from te_sched.signatures import is_sequence
from te_sched.tir.constructors import Constructor, _as_statement
from te_sched.tir.ranges import Range as _make_range


def _ranges(ranges: Any) -> tuple[_Range, ...]:
    if not is_sequence(ranges) or not all(
        isinstance(bound, _Range | list | tuple) for bound in ranges
    ):
        raise DeclarationError(
            f"a region is {repr_of(ranges)}, expected a range for each dimension",
            "",
            "give a list of tir.Range(begin, end)",
        )
    return tuple([bound if isinstance(bound, _Range) else _make_range(*bound) for bound in ranges])


def _regions(regions: Sequence[Any] | None) -> tuple[BufferRegion, ...]:
    return tuple([buffer_region(region) for region in regions or ()])


def _buffer_region(buffer: Buffer, region: Sequence[Any]) -> BufferRegion:
    ranges = _ranges(region)
    if len(ranges) != len(buffer.shape):
        raise DeclarationError(
            f"a region of buffer {buffer.name} has {len(ranges)} ranges, expected "
            f"{len(buffer.shape)}",
            "",
            "give a range for each dimension",
        )
    return BufferRegion(buffer, ranges)


def _match_buffer_region(buffer: Buffer, source: BufferRegion) -> blocks.MatchBufferRegion:
    return blocks.MatchBufferRegion(buffer, source)


def _block(
    iter_vars: Sequence[IterVar],
    reads: Sequence[Any],
    writes: Sequence[Any],
    name_hint: str,
    body: Any,
    init: Any = None,
    alloc_buffers: Sequence[Buffer] | None = None,
    match_buffers: Sequence[blocks.MatchBufferRegion] | None = None,
    annotations: Mapping[str, Any] | None = None,
    span: object = None,
) -> blocks.Block:
    return blocks.Block(
        tuple(iter_vars),
        _regions(reads),
        _regions(writes),
        name_hint,
        None if init is None else _as_statement(init),
        _as_statement(body),
        tuple(alloc_buffers or ()),
        tuple(match_buffers or ()),
        dict(annotations or {}),
    )


def _block_realize(
    iter_values: Sequence[Any], predicate: Any, block: blocks.Block, span: object = None
) -> blocks.BlockRealize:
    values = tuple([ops.convert(value) for value in iter_values])
    if len(values) != len(block.iter_vars):
        raise DeclarationError(
            f"block {block.name_hint} has {len(block.iter_vars)} iterators, got {len(values)} "
            "values",
            "",
            "give a value for each iterator",
        )
    return blocks.BlockRealize(values, ops.cast("bool", ops.convert(predicate)), block)


def _decl_buffer(buffer: Buffer, body: Any, span: object = None) -> blocks.DeclBuffer:
    return blocks.DeclBuffer(buffer, _as_statement(body))


def _allocate_const(
    buffer_var: Var,
    dtype: str,
    extents: Sequence[Any],
    data_or_idx: Any,
    body: Any,
    annotations: Mapping[str, Any] | None = None,
    span: object = None,
) -> blocks.AllocateConst:
    name = dtypes.spelled(dtype)
    data = data_or_idx.numpy() if hasattr(data_or_idx, "numpy") else data_or_idx
    sizes = tuple([ops.convert(extent) for extent in extents])
    array = np.asarray(data, name).reshape([int(size) for size in sizes])  # type: ignore[call-overload]
    return blocks.AllocateConst(
        buffer_var, name, sizes, array, _as_statement(body), dict(annotations or {})
    )


def _prim_func(
    params: Sequence[Any],
    body: Any,
    ret_type: Any = None,
    buffer_map: Mapping[Var, Buffer] | None = None,
    attrs: Any = None,
    span: object = None,
) -> stmt.PrimFunc:
    if isinstance(ret_type, Mapping):  # the third field of the node
        ret_type, buffer_map, attrs = None, ret_type, buffer_map or attrs
    variables, buffers = [], dict(buffer_map or {})
    for parameter in params:
        if isinstance(parameter, Buffer):
            var = Var(parameter.name, "handle")
            buffers[var] = parameter
            variables.append(var)
        elif isinstance(parameter, Var):
            variables.append(parameter)
        elif isinstance(parameter, BufferVar):
            variables.append(parameter.buffer.data)
        else:
            raise DeclarationError(
                f"a parameter of a function is {kind_of(parameter)}, expected a variable",
                "",
                "give variables, or buffers",
            )
    result = getattr(ret_type, "dtype", ret_type) or "void"
    return stmt.PrimFunc(
        tuple(variables), _as_statement(body), buffers, dict(attrs or {}), str(result)
    )


def _buffer_realize(
    buffer: Buffer, bounds: Sequence[Any], condition: Any, body: Any, span: object = None
) -> Stmt:
    held = ops.cast("bool", ops.convert(condition))
    return stmt.BufferRealize(buffer, _ranges(bounds), held, _as_statement(body))


def _producer_realize(
    producer: DataProducer,
    bounds: Sequence[Any],
    condition: Any,
    body: Any,
    storage_scope: str = "",
    span: object = None,
) -> Stmt:
    held = ops.cast("bool", ops.convert(condition))
    return stmt.ProducerRealize(producer, _ranges(bounds), held, _as_statement(body), storage_scope)


def _prefetch(buffer: Buffer, bounds: Sequence[Any], span: object = None) -> Stmt:
    return stmt.Prefetch(buffer, _ranges(bounds))


BufferRegion_ = Constructor(BufferRegion, _buffer_region)
MatchBufferRegion = Constructor(blocks.MatchBufferRegion, _match_buffer_region)
Block = Constructor(blocks.Block, _block)
BlockRealize = Constructor(blocks.BlockRealize, _block_realize)
DeclBuffer = Constructor(blocks.DeclBuffer, _decl_buffer)
AllocateConst = Constructor(blocks.AllocateConst, _allocate_const)
PrimFunc = Constructor(stmt.PrimFunc, _prim_func)
BufferRealize = Constructor(stmt.BufferRealize, _buffer_realize)
ProducerRealize = Constructor(stmt.ProducerRealize, _producer_realize)
Prefetch = Constructor(stmt.Prefetch, _prefetch)

__test__ = {
    name: constructor.__doc__
    for name, constructor in list(globals().items())
    if isinstance(constructor, Constructor)
}
