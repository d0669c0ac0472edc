"""Tensor intrinsics, their calls in te.compute, and the operations that these calls make.

Must not know how an intrinsic is declared, or how a schedule finds its computation in a loop nest.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from te_sched.errors import DeclarationError, counted, repr_of
from te_sched.ir import ops
from te_sched.ir.expr import Buffer, Expr, IntImm, IterVar, Range, Var
from te_sched.ir.stmt import Stmt
from te_sched.ir.visitor import reads_data, variables_of
from te_sched.public_members import PublicObject
from te_sched.te.operation import ComputeOp, Operation, domain_of, with_replaced
from te_sched.te.tensor import Array, Tensor, TensorSlice


class TensorIntrin(PublicObject):
    """What `Stage.tensorize` puts in the place of loops, and what `te.compute` can call.

    `buffers` are those of the inputs, then those of the outputs. `body` does the whole computation;
    for a reduction `reduce_init` and `reduce_update` do its beginning and a step, where given.

    >>> A = te.placeholder((4,), name="A")
    >>> B = te.compute((4,), lambda i: A[i] + 1, name="B")
    >>> te.decl_tensor_intrin(B.op, lambda ins, outs: tir.call_extern("int32", "f"), name="f")
    TensorIntrin(f, op=B, inputs=[A])
    """

    def __init__(
        self,
        name: str,
        op: ComputeOp,
        inputs: tuple[Tensor, ...],
        buffers: tuple[Buffer, ...],
        scalar_params: tuple[Var, ...],
        body: Stmt | None,
        reduce_init: Stmt | None,
        reduce_update: Stmt | None,
    ) -> None:
        self.name, self.op, self.inputs, self.buffers = name, op, inputs, buffers
        self.scalar_params = scalar_params
        self.body, self.reduce_init, self.reduce_update = body, reduce_init, reduce_update

    def __call__(
        self, *args: Any, reduce_axis: IterVar | Sequence[IterVar] | None = None
    ) -> TensorIntrinCall:
        """A call for the function of `te.compute` to return.

        Parameters
        ----------
        args : a region of a tensor (`A[i, 0:16]`) for each input, and an expression for each of
            `scalar_params`.
        reduce_axis : axes over which the calls add up to one result: the reset comes first, then an
            update for each step. Without a reset, the first step is the body.

        >>> a, b = te.placeholder((4,), name="a"), te.placeholder((4,), name="b")
        >>> c = te.compute((4,), lambda i: a[i] + b[i], name="c")
        >>> def call(ins, outs):
        ...     pointers = [ins[0].access_ptr("r"), ins[1].access_ptr("r"), outs[0].access_ptr("w")]
        ...     return tir.call_extern("int32", "vadd", *pointers)
        >>> vadd = te.decl_tensor_intrin(c.op, call, name="vadd")
        >>> A, B = te.placeholder((8, 4), name="A"), te.placeholder((4,), name="B")
        >>> te.compute((8, 4), lambda i: vadd(A[i, 0:4], B[0:4]), name="C").op.input_regions
        [[I.Range(i, 1 + i), I.Range(0, 4)], [I.Range(0, 4)]]
        """
        return call_of(self, args, reduce_axis)

    def __repr__(self) -> str:
        inputs = ", ".join([tensor.name for tensor in self.inputs])
        return f"TensorIntrin({self.name}, op={self.op.name}, inputs=[{inputs}])"


class TensorComputeOp(Operation):
    """Computes a region of the outputs by each call of a tensor intrinsic.

    Of `axis`, the first `schedulable_ndim` have loops; the others, of kind Opaque, span the region
    that one call computes. `input_regions` has a range for each dimension of each of `inputs`, and
    `scalar_inputs` the values of the intrinsic's `scalar_params`.

    >>> a = te.placeholder((4,), name="a")
    >>> b = te.compute((4,), lambda i: a[i] + 1, name="b")
    >>> add_one = te.decl_tensor_intrin(b.op, lambda ins, outs: tir.call_packed("f", ins[0]))
    >>> A = te.placeholder((8, 4), name="A")
    >>> B = te.compute((8, 4), lambda i: add_one(A[i, 0:4]), name="B")
    >>> B.op.axis
    [T.iter_var(i, T.Range(0, 8), "DataPar", ""), T.iter_var(ax0, T.Range(0, 4), "Opaque", "")]
    """

    def __init__(
        self,
        name: str,
        tag: str,
        attrs: Mapping[str, Any] | None,
        axis: tuple[IterVar, ...],
        reduce_axis: tuple[IterVar, ...],
        intrin: TensorIntrin,
        inputs: tuple[Tensor, ...],
        input_regions: tuple[tuple[Range, ...], ...],
        scalar_inputs: tuple[Expr, ...],
    ) -> None:
        shape = tuple([domain_of(axis).extent for axis in axis])
        super().__init__(name, tag, attrs, [(shape, tensor.dtype) for tensor in intrin.op.outputs])
        self._axis, self._reduce_axis, self.intrin = Array(axis), Array(reduce_axis), intrin
        self.inputs, self.input_regions = Array(inputs), Array(map(Array, input_regions))
        self.scalar_inputs = Array(scalar_inputs)
        self.schedulable_ndim = sum(axis.kind != "Opaque" for axis in axis)
        self._inputs = Array(dict.fromkeys(inputs))

    def _reduced(self) -> tuple[IterVar, ...]:
        """The axes of the reduction whose steps the intrinsic does."""
        return self._reduce_axis

    def _reading(self, mapping: Mapping[Tensor, Tensor]) -> Operation:
        axes = (self._axis, self._reduce_axis, self.intrin)
        rest = (with_replaced(self.inputs, mapping), self.input_regions, self.scalar_inputs)
        return TensorComputeOp(self.name, self.tag, self.attrs, *axes, *rest)


@dataclass(frozen=True, slots=True)
class TensorIntrinCall:
    """A call of a tensor intrinsic, which the function given to `te.compute` returns."""

    intrin: TensorIntrin
    reduce_axis: tuple[IterVar, ...]
    inputs: tuple[Tensor, ...]
    input_regions: tuple[tuple[Range, ...], ...]
    scalar_inputs: tuple[Expr, ...]

    def operation(
        self, name: str, tag: str, attrs: Mapping[str, Any] | None, axis: tuple[IterVar, ...]
    ) -> TensorComputeOp:
        """The operation that computes its outputs by this call, with a loop for each axis that is
        not opaque.
        """
        extents = [domain_of(a).extent if a.kind == "Opaque" else IntImm(1) for a in axis]
        for buffer in self.intrin.buffers[len(self.inputs) :]:
            _check_region(f"compute {name}", extents, buffer, self.intrin)
        arguments = (self.intrin, self.inputs, self.input_regions, self.scalar_inputs)
        return TensorComputeOp(name, tag, attrs, axis, self.reduce_axis, *arguments)

    def variables(self) -> set[Var]:
        """The variables in its regions and scalar arguments."""
        bounds = [bound for region in self.input_regions for bound in region]
        return variables_of(*bounds, *self.scalar_inputs)


def call_of(intrin: TensorIntrin, args: Sequence[Any], reduce_axis: Any) -> TensorIntrinCall:
    """The call of an intrinsic with these arguments, checked."""
    what = f"tensor intrinsic {intrin.name}"
    tensors = [_whole(arg) for arg in args if isinstance(arg, Tensor | TensorSlice)]
    numbers = [arg for arg in args if not isinstance(arg, Tensor | TensorSlice)]
    for arguments, wanted, kind in (
        (tensors, intrin.inputs, "tensor argument"),
        (numbers, intrin.scalar_params, "scalar argument"),
    ):
        if len(arguments) != len(wanted):
            raise DeclarationError(
                f"{what} takes {counted(len(wanted), kind)}, got {len(arguments)}",
                f"its inputs are {', '.join([tensor.name for tensor in wanted])}" if wanted else "",
                "give an element or a region of a tensor, such as A[i, 0:16], for each input and "
                "an expression for each of scalar_params",
            )
    for argument, declared, buffer in zip(tensors, intrin.inputs, intrin.buffers, strict=False):
        if argument.dtype != declared.dtype:
            raise DeclarationError(
                f"argument {argument} of {what} has dtype {argument.dtype}, "
                f"expected {declared.dtype}",
                "",
                f"declare {declared.name} as {argument.dtype}, or convert the tensor",
            )
        extents = [bound.extent for bound in argument.region]
        _check_region(f"argument {argument}", extents, buffer, intrin)
    axes = _reduced(reduce_axis, intrin, what)
    scalars = [_scalar(*pair, what) for pair in zip(numbers, intrin.scalar_params, strict=True)]
    _check_reset(intrin, scalars, axes, what)
    inputs = tuple([argument.tensor for argument in tensors])
    regions = tuple([argument.region for argument in tensors])
    return TensorIntrinCall(intrin, axes, inputs, regions, tuple(scalars))


def _whole(argument: Tensor | TensorSlice) -> TensorSlice:
    return argument if isinstance(argument, TensorSlice) else TensorSlice(argument, ())


def _check_region(what: str, extents: Sequence[Expr], buffer: Buffer, intrin: TensorIntrin) -> None:
    """Refuse a region that an intrinsic's buffer cannot stand for: the last dimensions must match,
    and the others must have one element.
    """
    dropped = len(extents) - len(buffer.shape)
    wanted = [*[IntImm(1)] * dropped, *buffer.shape]
    pairs = zip(wanted, extents, strict=False)
    if dropped < 0 or any(
        isinstance(want, IntImm) and isinstance(have, IntImm) and want.value != have.value
        for want, have in pairs
    ):
        region_shape, declared = [", ".join(map(str, shape)) for shape in (extents, buffer.shape)]
        raise DeclarationError(
            f"{what} has a region of shape ({region_shape}), but {buffer.name} of tensor intrinsic "
            f"{intrin.name} has ({declared})",
            "a region has the shape that the intrinsic declares, after dimensions of one element",
            "change the slices, or declare the intrinsic for this shape",
        )


def _reduced(reduce_axis: Any, intrin: TensorIntrin, what: str) -> tuple[IterVar, ...]:
    axis_list = reduce_axis if isinstance(reduce_axis, list | tuple) else [reduce_axis]
    axes = tuple([] if reduce_axis is None else axis_list)
    for axis in axes:
        if not isinstance(axis, IterVar) or axis.kind != "CommReduce":
            raise DeclarationError(
                f"reduce_axis of {what} is {repr_of(axis)}, expected a reduction axis",
                "",
                "give te.reduce_axis((0, n)), or a list of them",
            )
    missing = intrin.reduce_update if axes else intrin.body
    if missing is None:
        part, when = ("update", "with") if axes else ("body", "without")
        raise DeclarationError(
            f"{what} is called {when} reduce_axis but has no {part}",
            "a call without reduce_axis executes the body, one with it the reset and the updates",
            "return (body, reset, update) from the function of the intrinsic",
        )
    return axes


def _scalar(value: Any, param: Var, what: str) -> Expr:
    scalar = ops.const(value, param.dtype) if type(value) in (int, float) else ops.convert(value)
    if scalar.dtype != param.dtype or reads_data(scalar):
        problem = "reads a tensor" if reads_data(scalar) else f"has dtype {scalar.dtype}"
        raise DeclarationError(
            f"argument {scalar} for {param.name} of {what} {problem}, expected an expression of "
            f"axes and variables of dtype {param.dtype}",
            "",
            f'cast it, for example with .astype("{param.dtype}"); pass data as an input',
        )
    return scalar


def _check_reset(
    intrin: TensorIntrin, scalars: Sequence[Expr], axes: Sequence[IterVar], what: str
) -> None:
    """Refuse a reset that depends on the steps of the reduction that follows it."""
    if not axes or intrin.reduce_init is None:
        return
    used = variables_of(intrin.reduce_init)
    for param, value in zip(intrin.scalar_params, scalars, strict=True):
        reduced = variables_of(value) & {axis.var for axis in axes}
        if param in used and reduced:
            names = ", ".join(sorted(var.name for var in reduced))
            raise DeclarationError(
                f"argument {value} for {param.name} of {what} depends on {names}, which has no "
                "value in the reset",
                "the reset precedes the loops of reduce_axis",
                f"leave {param.name} out of the reset",
            )
