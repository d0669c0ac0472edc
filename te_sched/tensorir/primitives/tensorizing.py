"""Primitives that put intrinsics in the place of blocks: tensorize."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping

from te_sched.errors import ScheduleError
from te_sched.ir import ops
from te_sched.ir.blocks import Block, BlockRealize, MatchBufferRegion
from te_sched.ir.expr import Buffer, BufferRegion, Expr, Range, Var
from te_sched.ir.index_dtype import with_index_dtype
from te_sched.ir.renew import renew_defs
from te_sched.ir.stmt import PrimFunc
from te_sched.ir.visitor import replace, substitute
from te_sched.tensorir.base import of_block
from te_sched.tensorir.handles import ATTRIBUTE, FLAG, BlockRV, LoopRV, instruction
from te_sched.tensorir.intrinsics import BlockIntrin, Match, Mismatch, matched, unknown
from te_sched.tensorir.primitives.blocking import BlockingPrimitives
from te_sched.tensorir.state import BlockKey


class TensorizingPrimitives(BlockingPrimitives):
    """Primitives that put intrinsics in the place of blocks."""

    __slots__ = ()

    @instruction(
        "Replace {block_or_loop} by intrinsic {tensor_intrin}",
        tensor_intrin=ATTRIBUTE,
        preserve_unit_iters=FLAG,
    )
    def tensorize(
        self,
        block_or_loop: BlockRV | LoopRV | str,
        tensor_intrin: str,
        preserve_unit_iters: bool = True,
    ) -> None:
        """Let an intrinsic compute a block: its description must be what the block computes.

        Parameters
        ----------
        block_or_loop : a block with loops in it (`blockize` makes one), or a loop, of which a block
            is made first.
        tensor_intrin : the name of a registered `tir.TensorIntrin`.
        preserve_unit_iters : whether the new block of a loop keeps iterators of one value.

        >>> from te_sched.script import from_source
        >>> text = '''@T.prim_func
        ... def relu(C: T.Buffer((8,), "float32"), D: T.Buffer((8,), "float32")):
        ...     with T.block("root"):
        ...         T.reads(C[0:8])
        ...         T.writes(D[0:8])
        ...         BODY'''
        >>> loop = '''for i in range(8):
        ...             with T.block("D"):
        ...                 vi = T.axis.spatial(8, i)
        ...                 D[vi] = T.max(C[vi], T.float32(0))'''
        >>> call = 'T.call_extern("int32", "relu8", C.access_ptr("r"), D.access_ptr("w"))'
        >>> desc = from_source(text.replace("BODY", loop))
        >>> text = text.replace('"float32")', '"float32", offset_factor=1)')
        >>> impl = from_source(text.replace("BODY", call))
        >>> tir.TensorIntrin.register("relu8", desc, impl, override=True)
        >>> sch = tir.Schedule(matmul_relu)
        >>> sch.tensorize(sch.get_loops("D")[1], "relu8")
        >>> [str(one.source) for one in sch.get(sch.get_block("D_o")).match_buffers]
        ['C[vi_o, 0:8]', 'D[vi_o, 0:8]']
        """
        intrinsic = BlockIntrin.get(tensor_intrin, allow_missing=True)
        if intrinsic is None:
            raise unknown(ScheduleError, tensor_intrin)
        if isinstance(block_or_loop, LoopRV):
            key = self._blockize(block_or_loop, bool(preserve_unit_iters), "tensorize")
        else:
            key = self.block_key(block_or_loop, "tensorize")
        realize = self.draft.realize(key)
        fault = f"block {key.name} is not what intrinsic {tensor_intrin} computes"
        matches = _matches(intrinsic.desc, realize, key, fault)
        impl = _with_index_dtype_of(matches.values(), _with_own_names(renew_defs(intrinsic.impl)))
        done = impl.body
        assert isinstance(done, BlockRealize)
        places = _places(intrinsic.desc, impl, matches, key, fault)
        _check_apart(places, {region.buffer for region in done.block.writes}, key, fault)
        views = [
            MatchBufferRegion(buffer, _region(places[buffer], _whole(buffer))) for buffer in places
        ]
        own = done.block
        links: dict[Block, Block] = {}
        new = replace(
            realize.block,
            reads=tuple([_region(places[region.buffer], region.region) for region in own.reads]),
            writes=tuple([_region(places[region.buffer], region.region) for region in own.writes]),
            init=None,
            body=own.body,
            alloc_buffers=own.alloc_buffers,
            match_buffers=tuple(views),
            annotations={**realize.block.annotations, **own.annotations},
        )
        links[new] = realize.block
        why = f"intrinsic {tensor_intrin} took its place"
        self.draft.replace(key, replace(realize, block=new), links, why)
        functions, name = self.draft.functions, self.draft.function_of(key)
        views_of = {buffer.name for buffer in impl.buffer_map.values()}
        lines = functions[name].lines.with_part(intrinsic.impl.lines, without=views_of)
        functions[name] = replace(functions[name], lines=lines)


def _matches(
    desc: PrimFunc, realize: BlockRealize, key: BlockKey, fault: str
) -> Mapping[Buffer, Match]:
    """What buffers of a description are in a block; refused if it computes something else."""
    described = desc.body
    assert isinstance(described, BlockRealize)
    try:
        if realize.block.init is not None:
            raise Mismatch("it has T.init, and the description has not")
        return matched(described.block.body, realize.block.body)
    except Mismatch as mismatch:
        raise ScheduleError(
            fault,
            f"it has {mismatch}" if "T.init" not in str(mismatch) else str(mismatch),
            "blockize a piece of the size of the intrinsic; decompose_reduction takes T.init "
            "away, cache_read and cache_write give buffers their storage scopes",
            of_block(key.name),
        ) from None


def _places(
    desc: PrimFunc, impl: PrimFunc, matches: Mapping[Buffer, Match], key: BlockKey, fault: str
) -> dict[Buffer, Match]:
    """What the buffers of an implementation are in a block."""
    places: dict[Buffer, Match] = {}
    for param, other in zip(desc.params, impl.params, strict=True):
        buffer = desc.buffer_map[param]
        if buffer not in matches:
            raise ScheduleError(
                fault, f"nothing accesses {buffer.name} of its description", "correct desc",
                of_block(key.name),
            )  # fmt: skip
        places[impl.buffer_map[other]] = matches[buffer]
    return places


def _check_apart(
    places: Mapping[Buffer, Match], written: Container[Buffer], key: BlockKey, fault: str
) -> None:
    """Refuse an intrinsic that gets a buffer twice and writes it."""
    for buffer, match in places.items():
        same = [twin.name for twin, other in places.items() if other.buffer is match.buffer]
        if buffer in written and len(same) > 1:
            raise ScheduleError(
                fault,
                f"it has {match.buffer.name} for {' and '.join(same)}, "
                "which the intrinsic may write and read in any order",
                "copy one of them with cache_read or cache_write",
                of_block(key.name),
            )


def _with_index_dtype_of(places: Iterable[Match], func: PrimFunc) -> PrimFunc:
    """A function whose indices have the dtype of those of the buffers for which it is used."""
    dtypes = {size.dtype for match in places for size in match.buffer.shape}
    return with_index_dtype(func, *dtypes) if dtypes == {"int64"} else func


def _with_own_names(func: PrimFunc) -> PrimFunc:
    """A function whose symbols of strides have TVM's names, those of their buffers."""
    names: dict[Var, Expr] = {}
    for buffer in func.buffer_map.values():
        for dimension, stride in enumerate(buffer.strides):
            if type(stride) is Var:
                names[stride] = Var(f"{buffer.name}_s{dimension}", stride.dtype)
    return substitute(func, names)


def _whole(buffer: Buffer) -> tuple[Range, ...]:
    return tuple([Range(ops.const(0, size.dtype), size) for size in buffer.shape])


def _region(match: Match, region: tuple[Range, ...]) -> BufferRegion:
    """The region of a program's buffer that a region of the intrinsic's stands for."""
    rank = len(match.begin) - len(region)
    ranges = [Range(index, ops.const(1, index.dtype)) for index in match.begin[:rank]]
    for begin, bound in zip(match.begin[rank:], region, strict=True):
        low: Expr = ops.cast(begin.dtype, bound.min)
        ranges.append(Range(ops.add(begin, low), ops.cast(begin.dtype, bound.extent)))
    return BufferRegion(match.buffer, tuple(ranges))
