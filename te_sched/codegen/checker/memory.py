"""The elements of memory, and which of them are initialized.

    global   one row of elements                        (elements,)
    shared   for each element, that of each block        (elements, blocks)
    local    for each element, that of each thread       (elements, z, y, x, blocks)

so that an index that is equal for all threads selects a row. Must not know races.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from te_sched.codegen.checker.numbers import Value, numpy_dtype, plain
from te_sched.codegen.checker.space import all_dimensions
from te_sched.errors import BuildError
from te_sched.ir import dtypes

if TYPE_CHECKING:
    from te_sched.codegen.checker.shadow import AccessHistory

Mask = np.ndarray | None


_KNOWN = 512


class Index:
    """The elements that threads access, with the smallest and the largest of them."""

    __slots__ = ("high", "low", "masked", "rows", "values")

    def __init__(self, values: np.ndarray) -> None:
        self.values = all_dimensions(values).astype(np.intp, copy=False)
        self.low, self.high = int(self.values.min()), int(self.values.max())
        # What selects the elements if all threads access the same ones, else None.
        self.rows: Any = None
        if self.values.shape[-4:] == (1, 1, 1, 1):
            rows = self.values.reshape(-1)
            is_dense = self.high - self.low == len(rows) - 1 and bool((np.diff(rows) == 1).all())
            self.rows = slice(self.low, self.high + 1) if is_dense else rows
        # What is left of it under a mask, where some elements do not exist: (mask, size, rest).
        self.masked: tuple[Any, int, tuple[Any, Any] | None] | None = None


Place = int | Index


def elements_of(position: Place) -> np.ndarray:
    """The elements that threads access, as an array over threads."""
    return position.values if isinstance(position, Index) else np.full((1, 1, 1, 1), position)


class TrackedMemory:
    """The memory behind one pointer."""

    def __init__(
        self,
        name: str,
        dtype: str,
        scope: str,
        size: int,
        inner: tuple[int, ...],
        data: np.ndarray | None = None,
    ) -> None:
        self.name, self.dtype, self.scope, self.size = name, dtypes.element(dtype), scope, size
        self.inner = inner
        self.width = int(np.prod(inner, dtype=np.int64))
        kept = np.zeros((size, *inner), numpy_dtype(dtype)) if data is None else data
        self.data = kept
        self.views: dict[str, np.ndarray] = {self.dtype: kept}
        self.shadow: AccessHistory | None = None
        self.offsets = np.arange(self.width).reshape(inner)
        self.is_complete = False  # all of it was written
        self.rows = np.zeros(size, np.bool_)  # written for all of `inner`
        self.part: np.ndarray | None = None  # written for some of `inner`
        self.looked = 0
        # Accesses to what is written, by identity (kept alive): they need no second look.
        self.known: dict[tuple[int, int], tuple[Index, Mask]] = {}

    @property
    def itemsize(self) -> int:
        """Bytes of an element on the device."""
        return dtypes.storage_bytes(self.dtype)

    def view(self, dtype: str) -> np.ndarray:
        """The elements as those of a type of the same size."""
        elements = self.views.get(dtype)
        if elements is None:
            kind = numpy_dtype(dtype)
            odd = "bfloat16" in (dtypes.element(dtype), self.dtype)
            if kind.itemsize != self.data.dtype.itemsize or odd:
                raise BuildError(
                    f"cannot access {self.name}, of {self.dtype}, as {dtype} in the checked mode",
                    "the checked mode stores elements, not bytes",
                    f"use a separate buffer of {dtype}",
                )
            elements = self.views[dtype] = self.data.view(kind)
        return elements

    def has(self, position: Place) -> bool:
        """Whether all elements of an access exist."""
        if type(position) is int:
            return 0 <= position < self.size
        return position.low >= 0 and position.high < self.size  # type: ignore[union-attr]

    def forget(self) -> None:
        """Mark all elements uninitialized: the allocation is entered again."""
        self.is_complete, self.part = False, None
        self.known.clear()
        self.rows[...] = False

    def initialize(self) -> None:
        """All of it holds values."""
        self.is_complete = True

    # -- elements ----------------------------------------------------------------------------------

    def flat(self, values: Any) -> Any:
        """Positions in the row of all elements of all blocks or threads."""
        return values if self.width == 1 and not self.inner else values * self.width + self.offsets

    def get(self, dtype: str, position: Place) -> Value:
        """Elements; perhaps a view of the memory."""
        data = self.view(dtype)
        if type(position) is int:
            return data[position] if self.inner else plain(data[position])
        return _gather(self, data, position)

    def put(self, dtype: str, position: Place, mask: Mask, value: Value) -> None:
        """Write elements where the mask holds; of several threads, the last one wins."""
        data = self.view(dtype)
        if len(self.inner) == 4 and type(position) is int:
            if mask is None:
                data[position] = value
            else:
                np.copyto(data[position], value, where=mask, casting="unsafe")
            return
        values = elements_of(position)
        rows = position.rows if len(self.inner) == 4 and isinstance(position, Index) else None
        if rows is not None and (mask is None or isinstance(rows, slice)):
            shape = (*values.shape[:-4], *self.inner)
            if isinstance(rows, slice):
                there = data[rows].reshape(shape)
                np.copyto(there, value, where=True if mask is None else mask, casting="unsafe")
            else:
                data[rows] = np.broadcast_to(value, shape).reshape(-1, *self.inner)
            return
        if mask is None and len(self.inner) == 1 and values.shape[-1] == 1:
            shape = (*values.shape[:-1], self.width)
            if np.broadcast_shapes(shape, np.shape(value)) == shape:
                data[values[..., 0]] = value
                return
        flat, where, stored = np.broadcast_arrays(
            self.flat(values), True if mask is None else mask, value
        )
        row = data.reshape(-1)
        if mask is None:
            row[flat.reshape(-1)] = stored.reshape(-1)
        else:
            row[flat[where]] = stored[where]

    # -- what was written --------------------------------------------------------------------------

    def mark(self, position: Place, mask: Mask) -> None:
        """Elements are written."""
        if self.is_complete or (id(position), id(mask)) in self.known:
            return
        self.remember(position, mask)
        depth, values = len(self.inner), elements_of(position)
        if mask is None or (depth == 1 and mask.shape[-1] == 1) or depth == 0:
            if type(position) is int:
                self.rows[position] = True
                return
            if depth == 0 or values.shape[-depth:] == (1,) * depth:
                if mask is not None:
                    values, where = np.broadcast_arrays(values, mask)
                    values = values[where]
                self.rows[values] = True
                return
        if self.part is None:
            self.part = np.zeros((self.size, *self.inner), np.bool_)
        flat, where = np.broadcast_arrays(self.flat(values), True if mask is None else mask)
        self.part.reshape(-1)[flat[where]] = True

    def remember(self, position: Place, mask: Mask) -> None:
        """Whether all elements of this access are initialized."""
        if isinstance(position, Index):
            if len(self.known) >= _KNOWN:
                self.known.clear()
            self.known[id(position), id(mask)] = (position, mask)

    def unwritten(self, position: Place, mask: Mask) -> np.ndarray | None:
        """The reads of uninitialized elements; None if there are none."""
        if (id(position), id(mask)) in self.known:
            return None
        if type(position) is int and self.rows[position]:
            return None
        values = elements_of(position)
        is_written = self.rows[values]
        if is_written.all():
            self.looked += 1
            if self.looked & 7 == 0:
                self.is_complete = bool(self.rows.all())
            self.remember(position, mask)
            return None
        if self.part is not None:
            is_written = is_written | _gather(self, self.part, position)
        bad = ~is_written if mask is None else ~is_written & mask
        return bad if bad.any() else None


def _gather(memory: TrackedMemory, data: np.ndarray, position: Place) -> np.ndarray:
    depth, values = len(memory.inner), elements_of(position)
    if depth == 0:
        return data.take(values)
    if depth == 1 and values.shape[-1] == 1:
        return data.take(values[..., 0], axis=0)
    if depth == 4 and isinstance(position, Index) and position.rows is not None:
        return np.asarray(data[position.rows].reshape(*values.shape[:-4], *memory.inner))
    return np.asarray(data.reshape(-1).take(memory.flat(values)))
