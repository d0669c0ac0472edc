"""Calls of tensor intrinsics in te.compute: their arguments, and the operation they make.

Must not know schedules.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from te_sched.errors import DeclarationError, counted, repr_of
from te_sched.ir import ops
from te_sched.ir.expr import Buffer, Expr, IntImm, IterVar, Range, Var
from te_sched.ir.visitor import reads_data, variables_of
from te_sched.te.operation import TensorComputeOp, domain_of
from te_sched.te.tensor import Tensor, TensorSlice

if TYPE_CHECKING:
    from te_sched.te.tensor_intrin import TensorIntrin


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
    for given, wanted, kind in (
        (tensors, intrin.inputs, "tensor argument"),
        (numbers, intrin.scalar_params, "scalar argument"),
    ):
        if len(given) != len(wanted):
            raise DeclarationError(
                f"{what} takes {counted(len(wanted), kind)}, got {len(given)}",
                f"its inputs are {', '.join([one.name for one in wanted])}" if wanted else "",
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
        given, declared = [", ".join(map(str, shape)) for shape in (extents, buffer.shape)]
        raise DeclarationError(
            f"{what} has a region of shape ({given}), but {buffer.name} of tensor intrinsic "
            f"{intrin.name} has ({declared})",
            "a region has the shape that the intrinsic declares, after dimensions of one element",
            "change the slices, or declare the intrinsic for this shape",
        )


def _reduced(reduce_axis: Any, intrin: TensorIntrin, what: str) -> tuple[IterVar, ...]:
    given = reduce_axis if isinstance(reduce_axis, list | tuple) else [reduce_axis]
    axes = tuple([] if reduce_axis is None else given)
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
    made = ops.const(value, param.dtype) if type(value) in (int, float) else ops.convert(value)
    if made.dtype != param.dtype or reads_data(made):
        problem = "reads a tensor" if reads_data(made) else f"has dtype {made.dtype}"
        raise DeclarationError(
            f"argument {made} for {param.name} of {what} {problem}, expected an expression of "
            f"axes and variables of dtype {param.dtype}",
            "",
            f'cast it, for example with .astype("{param.dtype}"); pass data as an input',
        )
    return made


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
