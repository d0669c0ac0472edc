"""QuantizeWeights: products by constant matrices read them as small integers or bfloat16.

    y = R.matmul(x, w)      ->      y = R.call_tir(cls.product_of_int4, (x, w_int4, scales), ...)

A weight is kept as integers of 8 or 4 bits with a scale for each group of rows of a column, which
is known as group quantization. The new function multiplies while it reads: a product with one row
keeps its sums in registers, one with more rows converts a group of rows of a panel of columns at a
time. Must not know how models are imported.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from contextlib import AbstractContextManager
from functools import reduce

import numpy as np
import numpy.typing as npt

from te_sched import nd, te
from te_sched.errors import GraphError, repr_of
from te_sched.ir import builder, ops
from te_sched.ir.builder import BufferVar, IRBuilder
from te_sched.ir.expr import Buffer, Expr, IntImm, Var
from te_sched.ir.graph import Constant, GraphCall, GraphExpr, GraphFunction, GraphValue, GraphVar
from te_sched.ir.stmt import BaseFunc, IRModule, Stmt
from te_sched.passes import ModulePass
from te_sched.relax.analysis.unused import remove_all_unused
from te_sched.relax.analysis.variables import get_var2val
from te_sched.relax.core.values import is_call_of, shape_of_value, tensor_info
from te_sched.relax.expr_functor import PyExprMutator
from te_sched.relax.transform.rewriting import swaps_last_axes

DTYPES = ("int8", "int4", "bfloat16")
PANEL = 32  # columns that lie side by side in the memory of a quantized matrix
_ROWS = 4  # of a product that share a group of rows of a panel
_SUMS = 4  # of a product with one row, which hide the latency of additions
_WORTH = 1 << 18  # multiplications for which threads pay


class QuantizeWeights(ModulePass):
    """The pass that multiplies by quantized matrices.

    Products of float32 tensors by constant matrices, also transposed ones, are rewritten; other
    constants stay as they are.

    Parameters
    ----------
    dtype : "int8", "int4" or "bfloat16".
    group_size : how many rows of a column share a scale; an even number. Not used for bfloat16.
    least : matrices of fewer elements stay.

    Raises
    ------
    GraphError for other options.

    >>> from te_sched import relax
    >>> x = relax.Var("x", relax.TensorStructInfo([1, 64], "float32"))
    >>> w = relax.const(np.ones((64, 8), "float32"))
    >>> builder = relax.BlockBuilder()
    >>> with builder.function("main", [x]):
    ...     gv = builder.emit_func_output(builder.emit(relax.op.matmul(x, w)))
    >>> [str(name) for name in QuantizeWeights("int4", least=0)(builder.get()).functions]
    ['main', 'product_of_int4']
    """

    def __init__(self, dtype: str = "int8", group_size: int = 32, least: int = 1 << 12) -> None:
        if dtype not in DTYPES:
            raise GraphError(
                f"weights are quantized to {repr_of(dtype)}", "", f"use one of {', '.join(DTYPES)}"
            )
        if type(group_size) is not int or group_size < 2 or group_size % 2:
            raise GraphError(
                f"the size of a group is {repr_of(group_size)}",
                "two rows of int4 share a byte",
                "use an even number, as 32",
            )
        self.dtype, self.group_size, self.least = dtype, group_size, least

    def transform_module(self, mod: IRModule, *_: object) -> IRModule:
        """The module whose products read quantized matrices."""
        rewriter = _Rewriter(mod, self)
        changed: dict[str, BaseFunc] = {}
        for name, func in mod.functions.items():
            if isinstance(func, GraphFunction) and func.body is not None:
                new = rewriter.of(func)
                if new is not func:
                    changed[name] = remove_all_unused(new, True)
        return rewriter.builder_.get().with_functions(changed) if changed else mod


class _Rewriter(PyExprMutator):
    def __init__(self, mod: IRModule, options: QuantizeWeights) -> None:
        super().__init__(mod)
        self._options = options
        self._quantized: dict[tuple[int, bool], tuple[Constant, Constant | None]] = {}

    def of(self, func: GraphFunction) -> GraphFunction:
        """The function with products by quantized matrices."""
        self._values = get_var2val(func)
        return self.visit_expr(func)

    def visit_call_(self, op: GraphCall) -> GraphExpr:
        """The call, or the product by a quantized matrix."""
        call = self.visit_expr_post_order(op)
        if not is_call_of(call, "relax.matmul"):
            return call
        matrix, is_transposed = self._matrix(op.args[1])
        if matrix is None or not self._fits(call, matrix):
            return call
        options = self._options
        weight, scales = self._quantize(matrix, is_transposed)
        columns = matrix.data.shape[0 if is_transposed else 1]
        name = f"product_of_{options.dtype}"
        args = [call.args[0], weight] if scales is None else [call.args[0], weight, scales]
        return self.builder_.call_te(
            product, *args, columns=columns, dtype=options.dtype, primfunc_name_hint=name
        )

    def _matrix(self, value: GraphValue) -> tuple[Constant | None, bool]:
        """The constant matrix that a value is, and whether it is transposed."""
        if isinstance(value, GraphVar):
            value = self._values.get(value, value)
        is_transposed = is_call_of(value, "relax.permute_dims")
        if is_call_of(value, "relax.permute_dims"):
            if not swaps_last_axes(value.attrs["axes"], 2):
                return None, False
            value = value.args[0]
            value = self._values.get(value, value) if isinstance(value, GraphVar) else value
        if isinstance(value, Constant) and len(value.data.shape) == 2:
            return value, is_transposed
        return None, is_transposed

    def _fits(self, call: GraphCall, matrix: Constant) -> bool:
        size = int(np.prod(matrix.data.shape))
        info = tensor_info(call.args[0])
        sizes = shape_of_value(call.args[0])
        dtypes = {info.dtype, matrix.data.dtype, tensor_info(call).dtype}
        is_known = sizes is not None and len(sizes) > 1 and isinstance(sizes[-1], IntImm)
        return dtypes == {"float32"} and is_known and size >= max(self._options.least, 1)

    def _quantize(self, matrix: Constant, is_transposed: bool) -> tuple[Constant, Constant | None]:
        key = id(matrix.data), is_transposed
        if key not in self._quantized:
            values = matrix.data.numpy()
            values = values.T if is_transposed else values
            weight, scales = quantized(values, self._options.dtype, self._options.group_size)
            constants = Constant(weight), None if scales is None else Constant(scales)
            self._quantized[key] = constants
        return self._quantized[key]


def quantized(
    values: npt.NDArray[np.float32], dtype: str, group_size: int
) -> tuple[nd.NDArray, nd.NDArray | None]:
    """The panels of a matrix, [panels, rows, 32], and its scales, [panels, groups, 32].

    A byte of int4 has an even row in its low bits, and the next row in its high ones. Integers are
    values divided by the scale, rounded; those of int4 are stored with 8 added. Rows are a multiple
    of the size of a group, and columns of 32: elements outside are 0.

    >>> weight, scales = quantized(np.eye(4, dtype="float32"), "int4", 2)
    >>> weight.shape, scales.shape, hex(weight.numpy()[0, 0, 0])
    ((1, 2, 32), (1, 2, 32), '0x8f')
    """
    rows, columns = values.shape
    unit = 1 if dtype == "bfloat16" else group_size
    padded = np.zeros((-(-rows // unit) * unit, -(-columns // PANEL) * PANEL), "float32")
    padded[:rows, :columns] = values
    if not np.isfinite(padded).all():
        raise GraphError("a matrix with infinities or NaNs is quantized", "", "give finite weights")
    panels = padded.reshape(len(padded), -1, PANEL).transpose(1, 0, 2)
    if dtype == "bfloat16":
        return nd.array(np.ascontiguousarray(panels), dtype="bfloat16"), None
    groups = panels.reshape(len(panels), -1, group_size, PANEL)
    largest = 127 if dtype == "int8" else 7
    scales = np.abs(groups).max(2) / np.float32(largest)
    divisors = np.where(scales == 0, np.float32(1), scales)[:, :, None]
    numbers = np.clip(np.rint(groups / divisors), -largest, largest).astype("int8")
    numbers = numbers.reshape(panels.shape)
    if dtype == "int4":
        halves = (numbers + 8).astype("uint8")
        numbers = halves[:, ::2] | (halves[:, 1::2] << 4)
    return nd.array(np.ascontiguousarray(numbers)), nd.array(np.ascontiguousarray(scales))


def product(
    x: te.Tensor,
    weight: te.Tensor,
    scales: te.Tensor | None = None,
    *,
    columns: int,
    dtype: str,
) -> te.Tensor:
    """x multiplied by a quantized matrix of a number of columns, as tensor expressions.

    >>> x, weight = te.placeholder((2, 3, 64)), te.placeholder((2, 64, 32), "int8")
    >>> product(x, weight, te.placeholder((2, 2, 32)), columns=40, dtype="int8").shape
    [2, 3, 40]
    """
    inputs = [x, weight] if scales is None else [x, weight, scales]
    shape = [*x.shape[:-1], columns]

    def statement(ins: Sequence[Buffer], outs: Sequence[Buffer]) -> Stmt:
        ib = builder.create()
        _Product(
            ib, [ib.buffer_ptr(buffer) for buffer in (*ins, *outs)], x, weight, scales, dtype
        ).write()
        statement: Stmt = ib.get()
        return statement

    result: te.Tensor = te.extern(
        [shape], inputs, statement, name=f"product_of_{dtype}", dtype=["float32"]
    )
    return result


def _extent(size: Expr | int) -> int:
    """A size that is constant."""
    assert isinstance(size, IntImm | int)
    return size if isinstance(size, int) else size.value


class _Product:
    """Writes the loops of a product: panels of columns, rows, groups of rows of the matrix."""

    def __init__(
        self,
        ib: IRBuilder,
        buffers: list[BufferVar],
        x: te.Tensor,
        weight: te.Tensor,
        scales: te.Tensor | None,
        dtype: str,
    ) -> None:
        self.ib, self.dtype = ib, dtype
        self.x, self.weight, *rest = buffers
        self.scales, self.out = rest[0] if scales is not None else None, rest[-1]
        sizes = x.shape[:-1]
        self.lead = sizes
        self.rows: Expr = reduce(operator.mul, sizes, ops.const(1, "int64"))
        self.depth = _extent(x.shape[-1])
        self.columns = _extent(self.out.buffer.shape[-1])
        self.panels = _extent(weight.shape[0])
        padded = _extent(weight.shape[1]) * (2 if dtype == "int4" else 1)
        self.group = padded if scales is None else padded // _extent(scales.shape[1])

    def write(self) -> None:
        """All loops; panels are computed by several threads if that pays."""
        ib, rows = self.ib, self.rows
        is_one = isinstance(rows, IntImm) and rows.value == 1
        most = rows.value if isinstance(rows, IntImm) else 1 << 10
        is_worth = most * self.depth * self.columns >= _WORTH
        with ib.for_range(
            0, self.panels, "panel", "int64", "parallel" if is_worth else "serial"
        ) as p:
            if is_one:
                self._one_row(p)
                return
            blocks = ops.floordiv(rows + (_ROWS - 1), _ROWS)
            with ib.for_range(0, blocks, "block", "int64") as block:
                self._rows(p, block)

    def _vector(self) -> AbstractContextManager[Var]:
        return self.ib.for_range(0, PANEL, "c", "int64", "vectorize")

    def _number(self, panel: Expr, first: Expr, row: int, column: Expr) -> Expr:
        """The element of a row after an even one, before it is multiplied by its scale."""
        if self.dtype != "int4":
            return self.weight[panel, first + row, column].astype("float32")
        byte = self.weight[panel, ops.floordiv(first, 2) + row // 2, column]
        number = byte >> ops.const(4, "uint8") if row % 2 else byte & ops.const(15, "uint8")
        return number.astype("float32") - 8.0

    def _groups(self) -> list[tuple[int, int]]:
        """The groups that have rows of `x` alone, as a loop, and the last one with fewer rows."""
        whole, rest = divmod(self.depth, self.group)
        return [(whole, self.group), *([(1, rest)] if rest else [])]

    def _one_row(self, panel: Expr) -> None:
        ib = self.ib
        total = ib.allocate("float32", (PANEL,), "total", scope="local")
        parts = [ib.allocate("float32", (PANEL,), "part", scope="local") for _ in range(_SUMS)]
        with self._vector() as c:
            total[c] = ops.const(0, "float32")
        first = 0
        for count, size in self._groups():
            if not count:
                continue
            with ib.for_range(0, count, "group", "int64") as g:
                group = g + first
                for part in parts:
                    with self._vector() as c:
                        part[c] = ops.const(0, "float32")
                self._add(parts, panel, group, size)
                with self._vector() as c:
                    whole = reduce(operator.add, [part[c] for part in parts])
                    scale = 1.0 if self.scales is None else self.scales[panel, group, c]
                    total[c] = total[c] + whole * scale
            first += count
        self._store(total, 0, panel, [ops.const(0, "int64")] * len(self.lead))

    def _add(self, parts: list[BufferVar], panel: Expr, group: Expr, size: int) -> None:
        """Add the products of the rows of a group, of neighbors to different sums: an addition need
        not wait for the one before it.
        """
        index = [ops.const(0, "int64")] * len(self.lead)

        def add(first: Expr, count: int) -> None:
            for part, row in zip(parts, range(count), strict=False):
                x = self.x[(*index, first + row)]
                with self._vector() as c:
                    part[c] = part[c] + x * self._number(panel, first, row, c)

        with self.ib.for_range(0, size // _SUMS, "k", "int64") as k:
            add(group * self.group + k * _SUMS, _SUMS)
        if size % _SUMS:
            add(group * self.group + size // _SUMS * _SUMS, size % _SUMS)

    def _rows(self, panel: Expr, block: Var) -> None:
        """A few rows, which share each group of rows of the panel."""
        ib = self.ib
        total = ib.allocate("float32", (_ROWS * PANEL,), "total", scope="local")
        group_size = min(self.group, 64) if self.scales is None else self.group
        tile = ib.allocate("float32", (group_size * PANEL,), "tile", scope="local")
        last = self.rows - 1
        rows = [self._place(ops.minimum(block * _ROWS + r, last)) for r in range(_ROWS)]
        for r in range(_ROWS):
            with self._vector() as c:
                total[r * PANEL + c] = ops.const(0, "float32")
        first = 0
        whole, rest = divmod(self.depth, group_size)
        for count, size in [(whole, group_size), (1, rest)]:
            if not count or not size:
                continue
            with ib.for_range(0, count, "group", "int64") as g:
                group = g + first
                self._convert(tile, panel, group, group_size, size)
                with ib.for_range(0, size, "k", "int64") as k:
                    for r, row in enumerate(rows):
                        x = self.x[(*row, group * group_size + k)]
                        with self._vector() as c:
                            at = r * PANEL + c
                            total[at] = total[at] + x * tile[k * PANEL + c]
            first += count
        for r in range(_ROWS):
            with ib.if_scope(block * _ROWS + r < self.rows):
                self._store(total, r * PANEL, panel, rows[r])

    def _convert(
        self, tile: BufferVar, panel: Expr, group: Expr, group_size: int, size: int
    ) -> None:
        """The elements of a group of rows, with their scale."""
        step = 2 if self.dtype == "int4" else 1

        def scaled(value: Expr, c: Expr) -> Expr:
            return value if self.scales is None else value * self.scales[panel, group, c]

        with self.ib.for_range(0, -(-size // step), "k", "int64") as k, self._vector() as c:
            for row in range(step):
                number = self._number(panel, group * group_size + k * step, row, c)
                tile[(k * step + row) * PANEL + c] = scaled(number, c)

    def _place(self, row: Expr) -> list[Expr]:
        """The indices of a row of all rows of `x`."""
        indices: list[Expr] = []
        for size in reversed(self.lead):
            indices.insert(0, ops.floormod(row, size))
            row = ops.floordiv(row, size)
        if indices:
            indices[0] = row * self.lead[0] + indices[0]
        return indices

    def _store(self, total: BufferVar, offset: int, panel: Expr, indices: list[Expr]) -> None:
        """Write the sums of a row, in the last panel those of columns of the result."""
        ib, rest = self.ib, self.columns % PANEL
        if not rest:
            with self._vector() as c:
                self.out[(*indices, panel * PANEL + c)] = total[offset + c]
            return
        with ib.if_scope(panel < self.panels - 1), self._vector() as c:
            self.out[(*indices, panel * PANEL + c)] = total[offset + c]
        with ib.else_scope(), ib.for_range(0, rest, "c", "int64") as c:
            self.out[(*indices, panel * PANEL + c)] = total[offset + c]
