"""Features of programs: a row of numbers for each store, for cost models.

The features are those of Ansor (Zheng and others, "Ansor: Generating High-Performance Tensor
Programs for Deep Learning", OSDI 2020, appendix B), with TVM's names and in TVM's order; what the
paper leaves open was measured with TVM 0.19. Every number x is stored as log2(1 + x). "All" means
over all iterations of the loops around the store.

1. Operations and loops
   - 16 numbers: operations of all iterations: of floats (additions, products, divisions, minima
     and maxima, pure and other calls), of integers (the same, with comparisons and with the
     simplified indices of loads), of truth values, selections. The first number of each type,
     fused multiply-adds, is 0: their parts are counted. (Paper: "numbers of float and integer
     operations".)
   - 11 numbers each for vectorized, unrolled and parallel loops: how many, the product of their
     lengths, the length of the innermost one, and 8 flags of its position, of which TVM uses
     "none" and "mixed". (Paper: "vectorization, unrolling, parallelization related features".)
   - 8 numbers: whether the target is a GPU; the lengths of blockIdx.x/y/z, threadIdx.x/y/z and of
     virtual threads, 1 without. (Paper: "GPU thread binding related features".)
2. 18 numbers for each of the `buffers_per_store` buffers with the most accessed cache lines (then
   bytes, then by name), zeros for missing ones. (Paper: "buffer access features".)
   - 3 flags: read, written, or both.
   - The bytes that all accesses move, the bytes of the region that is accessed, the cache lines
     that are moved (consecutive iterations in one line count once), and those of the region.
   - 3 flags: whether data are used again because a loop does not move the access, because an
     earlier store in a common loop has used the buffer, or not at all. The innermost such loop
     counts.
   - Its distance, in iterations and in bytes that stores touch meanwhile, and how often it uses
     them again (the length of the loop, or the number of earlier stores).
   - The four amounts above divided by that number; by 1/2 if data are not used again.
   - The stride of the innermost loop, in elements.
3. `arith_intensity_curve_num_samples` numbers: operations of floats per touched byte after each
   tenth (say) of the iterations, interpolated between the loops. (Paper: "arithmetic intensity".)
4. 4 numbers: bytes of the buffer that is written; its elements times the iterations around its
   allocation; these iterations; the iterations from there to the store. (Paper: "allocation".)
5. 3 numbers: iterations, loops, the largest step of automatic unrolling. (Paper: "other".)

Differs from TVM in numbers that measure nothing there: the lines of a region whose rows are not
accessed as a whole (TVM: a line a byte), regions that are larger than their buffer (padding) or not
known, several axes of virtual threads, loops of one iteration with annotations (TVM counts them,
and data used again once). Must not know models.
"""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from te_sched import nd
from te_sched.errors import DeclarationError, repr_of
from te_sched.ir import dtypes
from te_sched.ir.expr import Buffer
from te_sched.meta_schedule.feature_extractor.base import FeatureExtractor
from te_sched.meta_schedule.feature_extractor.index_sums import (
    IndexSum,
    LoopLevel,
    bounds_by_depth,
    loops_of,
    stride,
)
from te_sched.meta_schedule.feature_extractor.stores import FLOATS, INTS, Program, Store, read
from te_sched.meta_schedule.search_strategy import MeasureCandidate
from te_sched.tir.schedule import Schedule

if TYPE_CHECKING:
    from te_sched.meta_schedule.tune_context import TuneContext

_THREADS = ("blockIdx.x", "blockIdx.y", "blockIdx.z", "threadIdx.x", "threadIdx.y", "threadIdx.z")
_GPUS = frozenset(["cuda", "rocm", "metal", "vulkan", "opencl"])
_OF_A_BUFFER = 18
_OTHERS = 57 + 7  # numbers of groups 1, 4 and 5
_NO_POSITION = [1.0] + [0.0] * 7
_MIXED_POSITION = [0.0] * 7 + [1.0]


class PerStoreFeature(FeatureExtractor):
    """Ansor's features of each store of a program, see the module.

    Parameters
    ----------
    buffers_per_store : the most buffers that are described.
    arith_intensity_curve_num_samples : points of the curve.
    cache_line_bytes : the size of a cache line.
    extract_workload : False; features of the unscheduled program are not supported.

    Raises
    ------
    DeclarationError for other options.
    """

    def __init__(
        self,
        buffers_per_store: int = 5,
        arith_intensity_curve_num_samples: int = 10,
        cache_line_bytes: int = 64,
        extract_workload: bool = False,
    ) -> None:
        for name, value in [
            ("buffers_per_store", buffers_per_store),
            ("arith_intensity_curve_num_samples", arith_intensity_curve_num_samples),
            ("cache_line_bytes", cache_line_bytes),
        ]:
            if value < 1:
                raise DeclarationError(
                    f"{name} is {repr_of(value)}, expected a number", "", "give 1 or more"
                )
        if extract_workload:
            raise DeclarationError(
                "features of the unscheduled program are not supported",
                "all candidates of a task have the same ones",
                "leave extract_workload False",
            )
        self.buffers_per_store = buffers_per_store
        self.num_samples = arith_intensity_curve_num_samples
        self.cache_line_bytes = cache_line_bytes
        self.feature_vector_length = (
            _OTHERS + _OF_A_BUFFER * buffers_per_store + arith_intensity_curve_num_samples
        )
        self._known: WeakKeyDictionary[Schedule, tuple[Any, Any]] = WeakKeyDictionary()

    def extract_from(self, context: TuneContext, candidates: list[MeasureCandidate]) -> list[Any]:
        """An array for each candidate, a row for each store of a value that is not constant.

        >>> from te_sched import te, tir
        >>> from te_sched import meta_schedule as ms
        >>> A = te.placeholder((64,), name="A")
        >>> B = te.compute((64,), lambda i: A[i] + 1.0, name="B")
        >>> candidate = ms.MeasureCandidate(tir.Schedule(te.create_prim_func([A, B])), None)
        >>> extractor = ms.feature_extractor.PerStoreFeature()
        >>> rows = extractor.extract_from(ms.TuneContext(target="llvm"), [candidate])[0].numpy()
        >>> rows.shape, float(rows[0, 1])  # log2(1 + 64 additions)
        ((1, 164), 6.022367813028454)
        """
        is_gpu = context.target.kind.name in _GPUS
        return [nd.array(self._rows(candidate.sch, is_gpu)) for candidate in candidates]

    def _rows(self, sch: Schedule, is_gpu: bool) -> NDArray[np.float64]:
        """The rows of a schedule, which are kept until it changes."""
        state = (is_gpu, *sch.functions.values())
        entry = self._known.get(sch)
        if entry is not None and all(a is b for a, b in zip(entry[0], state, strict=False)):
            features: NDArray[np.float64] = entry[1]
            return features
        rows: list[list[float]] = []
        for func in sch.functions.values():
            program = read(func)
            rows += [self._row(program, store, is_gpu) for store in program.stores]
        features = np.log2(1.0 + np.array(rows, "float64").reshape(-1, self.feature_vector_length))
        self._known[sch] = state, features
        return features

    def _row(self, program: Program, store: Store, is_gpu: bool) -> list[float]:
        nest = _Nest(program, store)
        row = [float(nest.total * count) for count in store.operations]
        for kind in ("vectorized", "unrolled", "parallel"):
            row += _annotated([loop.extent for loop in store.loops if loop.kind == kind])
        row += _threads(store.loops, is_gpu)
        row += self._buffers(nest)
        row += self._curve(nest, sum(store.operations[FLOATS:INTS]))
        row += nest.allocation()
        row += [nest.total, len(store.loops), store.unroll_step]
        nest.leave()
        return row

    def _buffers(self, nest: _Nest) -> list[float]:
        line = self.cache_line_bytes
        chosen = sorted(
            nest.uses, key=lambda use: (-nest.lines(use, line), -use.bytes, use.buffer.name)
        )
        features: list[float] = []
        for use in chosen[: self.buffers_per_store]:
            features += nest.description(use, line)
        return features + [0.0] * (_OF_A_BUFFER * self.buffers_per_store - len(features))

    def _curve(self, nest: _Nest, flops: int) -> list[float]:
        if not flops:
            return [0.0] * self.num_samples
        iterations = nest.inner[-2::-1] or [1]
        touched = nest.touched[-2::-1] or nest.touched
        values = [flops * n / max(1, size) for n, size in zip(iterations, touched, strict=True)]
        places = np.arange(1, self.num_samples + 1) * (nest.total / self.num_samples)
        curve: list[float] = np.interp(places, iterations, values).tolist()
        return curve


def _annotated(extents: list[int]) -> list[float]:
    """The features of the loops of a kind."""
    if not extents:
        return [0.0, 0.0, 0.0, *_NO_POSITION]
    return [len(extents), _product(extents), extents[-1], *_MIXED_POSITION]


def _threads(loops: tuple[LoopLevel, ...], is_gpu: bool) -> list[float]:
    lengths = {loop.tag: loop.extent for loop in loops}
    virtual = [extent for tag, extent in lengths.items() if tag.startswith(("vthread", "cthread"))]
    own = [lengths.get(tag, 1) for tag in _THREADS]
    return [float(is_gpu), *own, _product(virtual)] if is_gpu else [0.0] + [1.0] * 7


def _product(numbers: list[int]) -> int:
    product = 1
    for number in numbers:
        product *= number
    return product


class _Use:
    """The accesses of a store to one buffer.

    `elements` is how many a depth and the loops inside of it touch, for each depth; `strides` by
    how many elements each loop moves; `fixed` the loops that do not move the accesses.
    """

    __slots__ = ("buffer", "bytes", "elements", "fixed", "is_read", "is_written", "row", "strides")

    def __init__(
        self,
        buffer: Buffer,
        shape: tuple[int, ...],
        loops: tuple[LoopLevel, ...],
        accesses: list[Any],
    ) -> None:
        self.buffer = buffer
        self.is_read = any([not access.is_write for access in accesses])
        self.is_written = any([access.is_write for access in accesses])
        self.bytes = dtypes.storage_bytes(buffer.dtype)
        different = {
            access.indices if not access.indices else _key(access.indices): access
            for access in accesses
        }
        indices = [access.indices for access in different.values()]
        self.elements = [1] * (len(loops) + 1)
        self.row = 1  # the elements of a row that are accessed
        for dim, size in enumerate(shape):
            extents = _extents([index[dim] for index in indices], loops, size)
            self.elements = [a * b for a, b in zip(self.elements, extents, strict=True)]
            self.row = extents[0]
        moved = {id(loop) for index in indices for form in index for loop in loops_of(form)}
        self.fixed = [id(loop) not in moved for loop in loops]
        steps = list(accumulate([1, *shape[:0:-1]], int.__mul__))[::-1]
        self.strides = [
            0 if fixed else _smallest([_stride(index, steps, loop) for index in indices])
            for loop, fixed in zip(loops, self.fixed, strict=True)
        ]


def _key(indices: tuple[IndexSum, ...]) -> Any:
    return tuple([(index.base, frozenset(index.terms.items())) for index in indices])


def _extents(forms: list[IndexSum], loops: tuple[LoopLevel, ...], size: int) -> list[int]:
    """How many indices of a dimension are accessed, for each depth."""
    first = bounds_by_depth(forms[0], loops)
    for form in forms[1:]:
        more = bounds_by_depth(form, loops)
        first = [(min(a, c), max(b, d)) for (a, b), (c, d) in zip(first, more, strict=True)]
    return [min(size, max(0, last - low + 1)) for low, last in first]


def _stride(indices: tuple[IndexSum, ...], steps: list[int], loop: LoopLevel) -> int:
    return abs(
        sum([stride(index, loop) * step for index, step in zip(indices, steps, strict=True)])
    )


def _smallest(strides: list[int]) -> int:
    """The smallest stride that is not 0; 1 if a loop moves no access in its first iterations."""
    return min([value for value in strides if value], default=1)


class _Nest:
    """A store in its loops.

    `inner` is the number of iterations from each depth inwards, `touched` the bytes that they
    touch.
    """

    def __init__(self, program: Program, store: Store) -> None:
        self.program, self.store, self.loops = program, store, store.loops
        extents = [max(1, loop.extent) for loop in self.loops]
        self.inner = list(accumulate([1, *extents[::-1]], int.__mul__))[::-1]
        self.total = self.inner[0]
        groups: dict[Buffer, list[Any]] = {}
        for access in store.accesses:
            groups.setdefault(access.buffer, []).append(access)
        self.uses = [
            _Use(buffer, program.shape(buffer), self.loops, accesses)
            for buffer, accesses in groups.items()
        ]
        self.touched = [0] * len(self.inner)
        for use in self.uses:
            self.touched = [
                sum_ + use.bytes * count
                for sum_, count in zip(self.touched, use.elements, strict=True)
            ]

    def leave(self) -> None:
        """Let the loops know what the store touches, for the stores that follow."""
        for depth, loop in enumerate(self.loops):
            loop.touched += self.touched[depth]
            for use in self.uses:
                loop.touches[use.buffer] = loop.touches.get(use.buffer, 0) + 1

    def lines(self, use: _Use, line: int) -> float:
        """The cache lines that the accesses of a buffer move."""
        repeated = 1
        for loop, step in zip(reversed(self.loops), reversed(use.strides), strict=True):
            if step:
                share = min(1.0, step * use.bytes / line)
                return max(1.0, self.total / repeated * share)
            repeated *= max(1, loop.extent)
        return 1.0

    def description(self, use: _Use, line: int) -> list[float]:
        """The features of a buffer."""
        both = use.is_read and use.is_written
        region = use.bytes * use.elements[0]
        row = max(1, min(line, use.bytes * use.row))
        amounts = [self.total * use.bytes, region, self.lines(use, line), max(1.0, region / row)]
        kind, iterations, distance, count = self._reuse(use)
        return [
            float(use.is_read and not both),
            float(use.is_written and not both),
            float(both),
            *amounts,
            *[float(kind == reuse_kind) for reuse_kind in ("loop", "serial", "none")],
            iterations,
            distance,
            count,
            *[amount / (count or 0.5) for amount in amounts],
            use.strides[-1] if use.strides else 0,
        ]

    def _reuse(self, use: _Use) -> tuple[str, int, int, int]:
        """How the data of a buffer are used again: the distance in iterations and bytes, and how
        often."""
        for depth in range(len(self.loops) - 1, -1, -1):
            loop, iterations = self.loops[depth], self.inner[depth + 1]
            if use.fixed[depth] and loop.extent > 1:
                inside = self.loops[depth + 1 : depth + 2]
                distance = self.touched[depth + 1] + sum(
                    [inner_loop.touched for inner_loop in inside]
                )
                return "loop", iterations, distance, loop.extent
            if use.buffer in loop.touches:
                distance = (loop.touched + self.touched[depth]) // max(1, loop.extent)
                return "serial", iterations, distance, loop.touches[use.buffer]
        return "none", 0, 0, 0

    def allocation(self) -> list[float]:
        """The features of the buffer that is written."""
        buffer = self.store.buffer
        elements = _product(list(self.program.shape(buffer)))
        inside = self.inner[min(self.program.depths.get(buffer, 0), len(self.loops))]
        outside = self.total // inside
        size = elements * dtypes.storage_bytes(buffer.dtype)
        return [size, elements * outside, outside, inside]
