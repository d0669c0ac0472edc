"""Matrix products for a CPU, written in TE primitives. Must not know measurements.

The best schedule gives threads the columns of C, whose panels of B each packs for itself: no panel
moves from the cache of one core to that of another. A part of a panel, 128 x 64, stays in the
first-level cache while a block of rows is multiplied by it, and tiles of 4 x 64 sums in registers.
Packing pads operands with zeros to multiples of the tiles, so that the inner loops have no
conditions; only the copy of a block to C has.
"""

from __future__ import annotations

import importlib
import os
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from benchmarks.processor import halide_products
from benchmarks.processor.workload import PEAK, Array, Call, Program, Workload

SIZES = (512, 1024, 2048, 4096)
ODD = ((67, 45, 51), (131, 257, 601), (5, 3, 1), (260, 128, 509))
_LANES = 16
_WASTE = 1.1  # limit of padded columns, relative to the least padding
_BLOCK = 32  # of the tutorial


@dataclass(frozen=True, slots=True)
class Cut:
    """A size divided into `count` equal parts of `part`, which is a multiple of `unit`."""

    size: int
    unit: int
    count: int
    part: int

    @property
    def padded(self) -> int:
        """The size with padding."""
        return self.count * self.part

    @property
    def is_exact(self) -> bool:
        """Whether there is no padding."""
        return self.padded == self.size


def cut(size: int, unit: int, most: int, share: int = 1) -> Cut:
    """Parts of at most `most` with the least padding, whose number is a multiple of `share`.

    A single part that is not a multiple of `unit` is divided into two.
    """
    fewest = _up(_parts(size, most), share)
    counts = range(fewest, 2 * fewest + share + 1, share)
    cuts = [Cut(size, unit, count, _up(_parts(size, count), unit)) for count in counts]
    usable = [one for one in cuts if one.is_exact or one.count > 1]
    return min(usable, key=lambda one: (one.padded, one.count))


def _parts(size: int, part: int) -> int:
    return -(-size // part)


def _up(size: int, unit: int) -> int:
    return _parts(size, unit) * unit


@dataclass(frozen=True, slots=True)
class Tiles:
    """The sizes of tiles in registers (rows x columns), blocks in the cache, and parts of K."""

    rows: int = 4
    columns: int = 64
    block_rows: int = 512
    block_columns: int = 512
    depth: int = 128

    def fitting(self, columns: int) -> Tiles:
        """Tiles with the same number of sums, narrower and higher if the result has few columns."""
        shapes = [
            replace(self, rows=self.rows * part, columns=self.columns // part) for part in (1, 2, 4)
        ]
        added = [cut(columns, one.columns, one.block_columns).padded for one in shapes]
        return next(
            one for one, size in zip(shapes, added, strict=True) if size <= _WASTE * min(added)
        )


class Product:
    """The declaration of A B with packed operands, and the schedule except for its last stage."""

    unit = 1  # of the parts of K

    def __init__(
        self,
        te: Any,
        size: tuple[int, int, int],
        tiles: Tiles,
        dtypes: tuple[str, str] = ("float32", "float32"),
    ) -> None:
        m, n, k = size
        self.te, self.tiles = te, (tiles := tiles.fitting(n))
        self.rows = cut(m, tiles.rows, tiles.block_rows)
        self.columns = cut(n, tiles.columns, tiles.block_columns, os.cpu_count() or 1)
        self.depth = cut(k, self.unit, tiles.depth)
        self.A = te.placeholder((m, k), dtypes[0], name="A")
        self.B = te.placeholder((k, n), dtypes[1], name="B")
        self.panels = self._pack_columns()
        self.padded = None
        if not (self.rows.is_exact and self.depth.is_exact):
            self.padded = self._pad_rows()
        self.sums = self._sum()

    def _pack_columns(self) -> Any:
        """B in panels with the columns of a tile, ordered by blocks."""
        part, width, B = self.depth.part, self.tiles.columns, self.B
        return self.te.compute(
            (self.depth.count, self.columns.padded // width, part, width),
            lambda q, b, p, j: self._inside(
                B, (q * part + p, b * width + j), (self.depth, self.columns)
            ),
            name="panels",
        )

    def _pad_rows(self) -> Any:
        return self.te.compute(
            (self.rows.padded, self.depth.padded),
            lambda i, p: self._inside(self.A, (i, p), (self.rows, self.depth)),
            name="padded",
        )

    def _inside(self, operand: Any, index: tuple[Any, Any], cuts: tuple[Cut, Cut]) -> Any:
        """An element of an operand; zero out of bounds."""
        te = self.te
        conditions = [
            at < one.size for at, one in zip(index, cuts, strict=True) if not one.is_exact
        ]
        if not conditions:
            return operand[index]
        zero = te.const(0, operand.dtype)
        return te.if_then_else(te.all(*conditions), operand[index], zero)

    def _sum(self) -> Any:
        te, part, width = self.te, self.depth.part, self.tiles.columns
        r = te.reduce_axis((0, self.depth.padded), "r")
        A = self.A if self.padded is None else self.padded
        return te.compute(
            (self.rows.padded, self.columns.padded),
            lambda i, j: te.sum(
                A[i, r] * self.panels[r // part, j // width, r % part, j % width], axis=r
            ),
            name="sums",
        )

    def schedule(self, C: Any) -> Program:
        """Blocks of C, each summed in a temporary and then copied or finished."""
        s = self.te.create_schedule(C.op)
        i, j = C.op.axis
        block, _ = s[C].split(i, self.rows.part)
        across, _ = s[C].split(j, self.columns.part)
        row, column = s[C].leaf_iter_vars[1], s[C].leaf_iter_vars[3]
        s[C].reorder(across, block, row, column)
        s[C].parallel(across)
        if self.columns.is_exact:
            _vectorize(s[C], column)
        self._schedule_sums(s, C, block)
        s[self.panels].compute_at(s[C], across)
        self._schedule_packing(s)
        return s, [self.A, self.B, C]

    def _schedule_sums(self, s: Any, C: Any, block: Any) -> None:
        sums = self.sums
        s[sums].compute_at(s[C], block)
        rows, i = s[sums].split(sums.op.axis[0], self.tiles.rows)
        columns, j = s[sums].split(sums.op.axis[1], self.tiles.columns)
        outer, inner = s[sums].split(sums.op.reduce_axis[0], self.depth.part)
        s[sums].reorder(outer, columns, rows, inner, i, j)
        s[sums].unroll(i)
        s[sums].vectorize(j)
        if self.padded is not None:
            s[self.padded].compute_at(s[sums], outer)
            if self.rows.is_exact and self.depth.is_exact:
                _vectorize(s[self.padded], self.padded.op.axis[1])

    def _schedule_packing(self, s: Any) -> None:
        if self.columns.is_exact and self.depth.is_exact:
            s[self.panels].vectorize(self.panels.op.axis[-1])


def _vectorize(stage: Any, axis: Any) -> None:
    _, lanes = stage.split(axis, _LANES)
    stage.vectorize(lanes)


def best(te: Any, m: int, n: int, k: int, tiles: Tiles = Tiles()) -> Program:
    """Any M, N, K."""
    product = Product(te, (m, n, k), tiles)
    C = te.compute((m, n), lambda i, j: product.sums[i, j], name="C")
    return product.schedule(C)


def best_with_bias(te: Any, m: int, n: int, k: int) -> Program:
    """Bias and ReLU in the copy of a block to C."""
    product = Product(te, (m, n, k), Tiles())
    bias = te.placeholder((n,), name="bias")
    C = te.compute((m, n), lambda i, j: _relu(te, product.sums[i, j] + bias[j]), name="C")
    s, _ = product.schedule(C)
    return s, [product.A, product.B, bias, C]


def tutorial(te: Any, m: int, n: int, k: int) -> Program:
    """TVM's tutorial: packed B, blocks of 32 x 32, a write cache, all cores."""
    A, B, C = _declared(te, m, n, k)
    return _schedule_tutorial(te, C, C), [A, B, C]


def tutorial_with_bias(te: Any, m: int, n: int, k: int) -> Program:
    """The tutorial's schedule, then bias and ReLU for each block of rows."""
    A, B, sums = _declared(te, m, n, k)
    bias = te.placeholder((n,), name="bias")
    C = te.compute((m, n), lambda i, j: _relu(te, sums[i, j] + bias[j]), name="C")
    return _schedule_tutorial(te, sums, C), [A, B, bias, C]


def _relu(te: Any, value: Any) -> Any:
    return te.max(value, te.const(0, value.dtype))


def _declared(te: Any, m: int, n: int, k: int) -> tuple[Any, Any, Any]:
    A, B = te.placeholder((m, k), name="A"), te.placeholder((k, n), name="B")
    r, block = te.reduce_axis((0, k), "r"), _BLOCK
    packed = te.compute(
        (_parts(n, block), k, block),
        lambda b, p, j: te.if_then_else(
            b * block + j < n, B[p, b * block + j], te.const(0, "float32")
        ),
        name="packed",
    )
    C = te.compute(
        (m, n), lambda i, j: te.sum(A[i, r] * packed[j // block, r, j % block], axis=r), name="C"
    )
    return A, B, C


def _schedule_tutorial(te: Any, product: Any, C: Any) -> Any:
    s = te.create_schedule(C.op)
    packed = product.op.input_tensors[1]
    sums = product if product is not C else s.cache_write(C, "global")
    io, jo, _, ji = s[C].tile(*C.op.axis, _BLOCK, _BLOCK)
    s[sums].compute_at(s[C], jo)
    i, j = s[sums].op.axis
    ro, ri = s[sums].split(s[sums].op.reduce_axis[0], factor=4)
    s[sums].reorder(ro, i, ri, j)
    s[sums].unroll(ri)
    s[sums].vectorize(j)
    s[C].vectorize(ji)
    s[C].parallel(io)
    s[packed].vectorize(packed.op.axis[2])
    s[packed].parallel(packed.op.axis[0])
    return s


# -- peers -----------------------------------------------------------------------------------------


def _torch() -> Any:
    return importlib.import_module("torch")


def _by_numpy(a: Array, b: Array) -> Call:
    out = np.empty((a.shape[0], b.shape[1]), a.dtype)
    return lambda: np.matmul(a, b, out=out)


def _by_torch(a: Array, b: Array) -> Call:
    torch = _torch()
    x, y = torch.from_numpy(a), torch.from_numpy(b)
    out = torch.empty((a.shape[0], b.shape[1]))
    return lambda: torch.mm(x, y, out=out)


def _biased(a: Array, b: Array, bias: Array) -> Array:
    return np.asarray(np.maximum(a @ b + bias, 0))


def _biased_by_numpy(a: Array, b: Array, bias: Array) -> Call:
    out = np.empty((a.shape[0], b.shape[1]), a.dtype)

    def call() -> Array:
        np.matmul(a, b, out=out)
        np.add(out, bias, out=out)
        return np.maximum(out, 0, out=out)

    return call


def _biased_by_torch(a: Array, b: Array, bias: Array) -> Call:
    torch = _torch()
    x, y, z = map(torch.from_numpy, (a, b, bias))
    out = torch.empty((a.shape[0], b.shape[1]))
    return lambda: torch.addmm(z, x, y, out=out).relu_()


def _workload(size: int) -> Workload:
    return Workload(
        name=f"GEMM {size}",
        size=(size, size, size),
        best=best,
        tutorial=tutorial,
        reference=np.matmul,
        odd=ODD,
        flops=2.0 * size**3,
        peers={"numpy": _by_numpy, "torch": _by_torch, "Halide": halide_products.product},
        goals={"numpy": 1.0, "torch": 0.97, PEAK: 0.9},
    )


def _biased_workload(size: int) -> Workload:
    return Workload(
        name=f"GEMM + bias + ReLU {size}",
        size=(size, size, size),
        best=best_with_bias,
        tutorial=tutorial_with_bias,
        reference=_biased,
        odd=ODD,
        flops=2.0 * size**3,
        peers={"numpy": _biased_by_numpy, "torch": _biased_by_torch},
        goals={"torch": 1.0},
    )


WORKLOADS = (*map(_workload, SIZES), _biased_workload(1024))
