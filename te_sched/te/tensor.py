"""Tensors: outputs of operations, read by expressions.

Owns indexing. Must not know how a tensor is computed, scheduled or stored.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from te_sched.absent_names import tell_of_absent_names as _tell_of_absent_names
from te_sched.errors import DeclarationError, PositionError, Subject, counted, listing
from te_sched.ir import dtypes, ops
from te_sched.ir.expr import DataProducer, Expr, IntImm, IterVar, Operand, ProducerLoad, Range
from te_sched.ir.operators import refusal
from te_sched.nested_copies import DeeplyNested
from te_sched.public_members import PublicObject

if TYPE_CHECKING:
    from te_sched.te.operation import Operation


class Array(tuple[Any, ...]):
    """A tuple that prints as TVM prints arrays, [8, n], and whose slices can be added to lists.

    A slice of a TVM array is a list, so programs write `[batch] + A.shape[1:]`.
    """

    __slots__ = ()

    def __getitem__(self, index: Any) -> Any:
        try:
            part = tuple.__getitem__(self, index)
        except IndexError:
            raise self._out_of_range(index) from None
        return Array(part) if type(index) is slice else part

    def __add__(self, other: Any) -> Any:
        return [*self, *other] if isinstance(other, list) else tuple.__add__(self, other)

    def __radd__(self, other: Any) -> Any:
        return [*other, *self] if isinstance(other, list) else NotImplemented

    def __repr__(self) -> str:
        return f"[{', '.join(map(str, self))}]"

    def _out_of_range(self, index: Any) -> PositionError:
        """The error for an index, which names the axes, sizes or tensors that there are."""
        fault = f"index {index} is out of range"
        if not self:
            return PositionError(fault, "there are no values", "use it where there are some")
        is_axis = all(isinstance(value, IterVar) for value in self)
        names = [value.var.name if isinstance(value, IterVar) else str(value) for value in self]
        count = counted(len(self), *(("axis", "axes") if is_axis else ("value",)))
        verb = "is" if len(self) == 1 else "are"
        why = f"there {verb} {count}: {listing(names)}"
        return PositionError(fault, why, f"use an index from 0 to {len(self) - 1}")


class Tensor(DataProducer, Operand, PublicObject):
    """Output `value_index` of an operation. Equality is identity.

    `t[i, j]`, `t(i, j)` and `t[i][j]` read an element. A tensor without dimensions stands for its
    element.

    >>> A = te.placeholder((8, 4), name="A")
    >>> A.shape, A.dtype, A[1, 2]
    ([8, 4], 'float32', A[1, 2])
    """

    __slots__ = ("__weakref__", "dtype", "op", "shape", "value_index")

    op: Operation
    value_index: int

    __array__ = refusal(
        "numpy cannot make an array of",
        "build a function that computes it, call it with arrays, and read those: array.numpy()",
    )

    def __init__(
        self, shape: tuple[Expr, ...], dtype: str, op: Operation, value_index: int
    ) -> None:
        self.shape, self.dtype, self.op, self.value_index = Array(shape), dtype, op, value_index

    @property
    def name(self) -> str:  # type: ignore[override]
        """The name of the operation, with `.v0`, `.v1`, ... where it has several outputs."""
        return self.op.name if self.op.num_outputs == 1 else f"{self.op.name}.v{self.value_index}"

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return len(self.shape)

    @property
    def axis(self) -> tuple[IterVar, ...]:
        """The axes of the operation."""
        return self.op.axis

    def __call__(self, *indices: Any) -> ProducerLoad:
        """The element at these indices, one for each dimension."""
        if len(indices) != self.ndim:
            raise DeclarationError(
                f"tensor {self.name} has {counted(self.ndim, 'dimension')} but "
                f"{counted(len(indices), 'index', 'indices')} given",
                f"its shape is {self._shape_text()}",
                "give one index for each dimension",
                tensor_label(self),
            )
        return ProducerLoad(
            self, tuple([self.index(index, at) for at, index in enumerate(indices)])
        )

    def index(self, index: Any, at: int) -> Expr:
        """Index number `at` as an expression; a DeclarationError when it is not an integer.

        >>> A = te.placeholder((8, 4), name="A")
        >>> A.index(3, 0)
        3
        """
        if isinstance(index, slice):
            self._refuse_slice(at)
        value = ops.convert(index)
        if not dtypes.is_integral(value.dtype):
            raise DeclarationError(
                f"index {at} of tensor {self.name} has dtype {value.dtype}, expected an integer",
                "",
                'cast it, for example with .astype("int32")',
                tensor_label(self),
            )
        return value

    def _refuse_slice(self, at: int) -> NoReturn:
        raise DeclarationError(
            f"index {at} of tensor {self.name} is a slice, expected a single index",
            "expressions operate on single elements",
            f"to reduce over dimension {at}, declare k = te.reduce_axis((0, "
            f"{self.shape[at] if at < self.ndim else 'n'})), index with k, and write for example "
            "te.sum(..., axis=k)",
            tensor_label(self),
        )

    def _shape_text(self) -> str:
        return f"({', '.join(str(getattr(extent, 'value', '?')) for extent in self.shape)})"

    def __getitem__(self, indices: Any) -> TensorSlice:
        return TensorSlice(self, ())[indices]

    def _te_expr_(self) -> Expr:
        """The only element of a tensor without dimensions."""
        if self.ndim != 0:
            raise DeclarationError(
                f"tensor {self.name} with {counted(self.ndim, 'dimension')} is used as a scalar "
                "expression",
                "expressions operate on single elements",
                f"index it: {self.name}[{', '.join('ijklmnop'[: self.ndim])}]",
                tensor_label(self),
            )
        return self()

    def __eq__(self, other: Any) -> Any:
        """Whether this is the same tensor; with a number, a condition on the element."""
        if isinstance(other, Tensor) or other is None:
            return self is other
        return ops.equal(self, other)

    def __ne__(self, other: Any) -> Any:
        """The opposite of `==`."""
        if isinstance(other, Tensor) or other is None:
            return self is not other
        return ops.not_equal(self, other)

    __hash__ = object.__hash__

    if TYPE_CHECKING:  # of whole tensors (te_sched.topi)

        def __add__(self, other: Any) -> Tensor: ...  # type: ignore[override]
        def __radd__(self, other: Any) -> Tensor: ...  # type: ignore[override]
        def __sub__(self, other: Any) -> Tensor: ...  # type: ignore[override]
        def __rsub__(self, other: Any) -> Tensor: ...  # type: ignore[override]
        def __mul__(self, other: Any) -> Tensor: ...  # type: ignore[override]
        def __rmul__(self, other: Any) -> Tensor: ...  # type: ignore[override]
        def __truediv__(self, other: Any) -> Tensor: ...  # type: ignore[override]
        def __rtruediv__(self, other: Any) -> Tensor: ...  # type: ignore[override]
        def __neg__(self) -> Tensor: ...  # type: ignore[override]
        def astype(self, dtype: str) -> Tensor: ...  # type: ignore[override]

    def __bool__(self) -> bool:
        raise DeclarationError(
            f"tensor {self.name} has no truth value in Python",
            "its elements are known only when the program runs",
            f"compare with None (`if {self.name} is not None`), or use te.if_then_else on elements",
            tensor_label(self),
        )

    def __repr__(self) -> str:
        return f"Tensor(shape={self.shape}, op.name={self.op.name})"

    __str__ = __repr__


def tensor_label(tensor: Tensor) -> Subject:
    """ "tensor A (declared at a.py:3)", for the `where` of an error."""
    return Subject("tensor", tensor.name, f"tensor {tensor.name} (declared at {tensor.op.place})")


class TensorSlice(DeeplyNested, Operand, PublicObject):
    """A tensor with its first indices given: `t[i]`. With all of them it stands for the element.

    A slice `t[i, 0:4]` is a region, which a tensor intrinsic takes as argument.

    >>> A = te.placeholder((8, 4), name="A")
    >>> A[1, 2], A[1], A[1, 0:2]
    (A[1, 2], A[1, :], A[1, 0:2])
    >>> A[1][2] + 1
    A[1, 2] + T.float32(1)
    """

    __slots__ = ("indices", "tensor")

    def __init__(self, tensor: Tensor, indices: tuple[Any, ...]) -> None:
        self.tensor, self.indices = tensor, indices

    @property
    def dtype(self) -> str:
        """The type of an element."""
        return self.tensor.dtype

    def __getitem__(self, indices: Any) -> TensorSlice:
        more = indices if isinstance(indices, tuple) else (indices,)
        if len(self.indices) + len(more) > self.tensor.ndim:
            self.tensor(*self.indices, *more)  # raises, and says how many there should be
        first = len(self.indices)
        checked = [self._index(index, first + at) for at, index in enumerate(more)]
        return TensorSlice(self.tensor, (*self.indices, *checked))

    def _index(self, index: Any, at: int) -> Any:
        """An index as an expression, or a slice with expressions as its ends."""
        if not isinstance(index, slice):
            return self.tensor.index(index, at)
        extent = self.tensor.shape[at]
        zero = IntImm(0, extent.dtype)
        start, stop = [
            default if end is None else self.tensor.index(end, at)
            for end, default in ((index.start, zero), (index.stop, extent))
        ]
        start, stop = ops.match_types(start, stop)
        numbers = [end.value for end in (zero, start, stop, extent) if isinstance(end, IntImm)]
        is_empty = ops.is_const(stop - start, 0)
        if index.step not in (None, 1) or numbers != sorted(numbers) or is_empty:
            raise DeclarationError(
                f"index {at} of tensor {self.tensor.name} is the slice "
                f"{start}:{stop}{'' if index.step is None else f':{index.step}'}, which is not a "
                f"region of its {extent} elements",
                "a region has at least one element and no gaps",
                f"write start:stop with 0 <= start < stop <= {extent}",
                tensor_label(self.tensor),
            )
        return slice(start, stop)

    @property
    def region(self) -> tuple[Range, ...]:
        """The range of indices in each dimension; whole dimensions where no index is given.

        >>> A = te.placeholder((8, 4), name="A")
        >>> A[1, 0:2].region
        (I.Range(1, 2), I.Range(0, 2))
        """
        missing = self.tensor.shape[len(self.indices) :]
        whole = [slice(IntImm(0, extent.dtype), extent) for extent in missing]
        return tuple([_range(index) for index in (*self.indices, *whole)])

    def _te_expr_(self) -> Expr:
        """The element."""
        return self.tensor(*self.indices)

    def __repr__(self) -> str:
        """The element as in an expression, A[0, 1]; where indices are missing, A[0, :]."""
        indices = [*map(_index_text, self.indices), *":" * (self.tensor.ndim - len(self.indices))]
        return f"{self.tensor.name}[{', '.join(indices)}]"


def _range(index: Any) -> Range:
    if isinstance(index, slice):
        return Range(index.start, index.stop - index.start)
    return Range(index, IntImm(1, index.dtype))


def _index_text(index: Any) -> str:
    return f"{index.start}:{index.stop}" if isinstance(index, slice) else str(index)


_tell_of_absent_names(__name__)
