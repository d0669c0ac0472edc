"""Declaring operations made by a statement: calls of functions, hand-written loops."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from te_sched.errors import DeclarationError, Subject, kind_of, repr_of
from te_sched.ir import dtypes
from te_sched.ir.buffer import decl_buffer
from te_sched.ir.expr import Buffer, Expr, Var
from te_sched.ir.stmt import Evaluate, PrimFunc, Stmt
from te_sched.ir.structural import structural_equal
from te_sched.ir.verify import check_definitions, undefined_variables
from te_sched.signatures import check_function
from te_sched.te.declare import as_shape, check_labels, declaration
from te_sched.te.operation import ExternOp
from te_sched.te.reduction_axes import check_reduced
from te_sched.te.tag import tag_or_current
from te_sched.te.tensor import Tensor


def extern(
    shape: Any,
    inputs: Sequence[Tensor],
    fcompute: Callable[..., Any],
    name: str = "extern",
    dtype: str | Sequence[str] | None = None,
    in_buffers: Buffer | Sequence[Buffer] | None = None,
    out_buffers: Buffer | Sequence[Buffer] | None = None,
    tag: str = "",
    attrs: Mapping[str, Any] | None = None,
) -> Any:
    """Tensors computed by a statement: a call of a function, or hand-written loops.

    Parameters
    ----------
    shape : of the output, or a list of shapes for several outputs.
    fcompute : (input buffers, output buffers) -> a call, or a statement of `tir.ir_builder`.
    dtype : of the outputs; that of the inputs by default.
    in_buffers, out_buffers : buffers to use in place of compact ones.

    Returns
    -------
    A tensor, or a list of them for several outputs.

    Example
    -------
    >>> A = te.placeholder((4,), name="A")
    >>> def double(ins, outs):
    ...     return tir.call_packed("double", ins[0], outs[0])
    >>> te.extern((4,), [A], double, name="B")
    Tensor(shape=[4], op.name=B)
    """
    what = declaration("extern", name)
    check_labels(tag, attrs, what)
    check_function(fcompute, 2, what, "lambda ins, outs: tir.call_packed(...)")
    tensors = _tensors(inputs, what)
    ins = _input_buffers(tensors, in_buffers, what)
    outs = _output_buffers(shape, tensors, dtype, out_buffers, what, name)
    help = "return tir.call_packed(...), tir.call_extern(...) or the get() of an ir_builder"
    result = fcompute(list(ins), list(outs))
    body = as_statement(result, what, "a call or a statement", help)
    loop = "write a loop over {axis} in the statement: with ib.for_range(...) as {axis}"
    check_reduced(undefined_variables(body), (), what, loop)
    op = ExternOp(name, tag_or_current(tag), attrs, tensors, ins, outs, body)
    return op.output(0) if op.num_outputs == 1 else list(op.outputs)


def _tensors(inputs: Any, what: str) -> tuple[Tensor, ...]:
    tensors = tuple(inputs) if isinstance(inputs, list | tuple) else (inputs,)
    for tensor in tensors:
        if not isinstance(tensor, Tensor):
            raise DeclarationError(
                f"an input of {what} is {repr_of(tensor)}, expected a tensor",
                "",
                "give a list of tensors of te.placeholder and te.compute",
            )
    return tensors


def _buffers(buffers: Any) -> tuple[Buffer, ...]:
    return tuple(buffers) if isinstance(buffers, list | tuple) else (buffers,)


def _placeholder_buffer(shape: tuple[Expr, ...], dtype: str, name: str) -> Buffer:
    return decl_buffer(shape, dtype, name, elem_offset=Var("elem_offset", "int32"))


def _input_buffers(tensors: tuple[Tensor, ...], in_buffers: Any, what: str) -> tuple[Buffer, ...]:
    if in_buffers is None:
        buffer_of: dict[Tensor, Buffer] = {}
        for tensor in tensors:
            if tensor not in buffer_of:
                buffer_of[tensor] = _placeholder_buffer(tensor.shape, tensor.dtype, tensor.op.name)
        return tuple([buffer_of[tensor] for tensor in tensors])
    buffers = _buffers(in_buffers)
    if len(buffers) != len(tensors):
        raise DeclarationError(
            f"{what} has {len(tensors)} inputs but {len(buffers)} in_buffers",
            "",
            "give one buffer for each input, or leave in_buffers out",
        )
    for tensor, buffer in zip(tensors, buffers, strict=True):
        check_buffer_of(tensor, buffer, what)
    return buffers


def check_buffer_of(tensor: Tensor, buffer: Buffer, what: str) -> None:
    """Raise where the type or shape of a buffer differs from that of its tensor."""
    if not isinstance(buffer, Buffer):
        raise DeclarationError(
            f"{what} has {repr_of(buffer)} for tensor {tensor.name}, expected a buffer",
            "",
            "declare it with decl_buffer(tensor.shape, tensor.dtype, ...)",
        )
    if buffer.dtype != tensor.dtype:
        problem = f"dtype {buffer.dtype}, expected {tensor.dtype}"
    elif len(buffer.shape) != tensor.ndim:
        problem = f"{len(buffer.shape)} dimensions, expected {tensor.ndim}"
    elif not all(map(structural_equal, tensor.shape, buffer.shape)):
        problem = "another shape than the tensor"
    else:
        return
    raise DeclarationError(
        f"buffer {buffer.name} of {what} for tensor {tensor.name} has {problem}",
        "",
        "declare it with decl_buffer(tensor.shape, tensor.dtype, ...)",
        Subject("buffer", buffer.name),
    )


def _output_buffers(
    shape: Any, tensors: tuple[Tensor, ...], dtype: Any, out_buffers: Any, what: str, name: str
) -> tuple[Buffer, ...]:
    if out_buffers is not None:
        buffers = _buffers(out_buffers)
        for buffer in buffers:
            if not isinstance(buffer, Buffer):
                raise DeclarationError(
                    f"out_buffers of {what} is {repr_of(out_buffers)}, expected buffers",
                    "",
                    "declare one with decl_buffer for each output",
                )
        return buffers
    shapes = _shapes(shape, what)
    types = _dtypes(dtype, len(shapes), tensors, what)
    return tuple(
        [_placeholder_buffer(dims, kind, name) for dims, kind in zip(shapes, types, strict=True)]
    )


def _shapes(shape: Any, what: str) -> list[tuple[Expr, ...]]:
    if isinstance(shape, list | tuple) and any(isinstance(dims, list | tuple) for dims in shape):
        return [as_shape(dims, what) for dims in shape]
    return [as_shape(shape, what)]


def _dtypes(dtype: Any, count: int, tensors: tuple[Tensor, ...], what: str) -> list[str]:
    if dtype is None:
        kinds = {tensor.dtype for tensor in tensors}
        if len(kinds) != 1:
            raise DeclarationError(
                f"{what} needs a dtype",
                f"its inputs have several: {', '.join(sorted(kinds))}"
                if kinds
                else "it has no inputs to take it from",
                'give one, for example dtype="float32", or a list with one for each output',
            )
        return [*kinds] * count
    many = isinstance(dtype, list | tuple)
    types = [dtypes.spelled(dtype) for dtype in (dtype if many else [dtype] * count)]
    if len(types) != count:
        raise DeclarationError(
            f"{what} has {count} outputs but {len(types)} dtypes",
            "",
            "give one dtype for each output, or a single one for all",
        )
    return types


def as_statement(value: Any, what: str, expected: str, help: str) -> Stmt:
    """The statement that a function of the user returned, or that evaluates what it returned."""
    if isinstance(value, Stmt):
        check_definitions(PrimFunc((), value, {}), DeclarationError)
        return value
    if isinstance(value, Expr):
        return Evaluate(value)
    raise DeclarationError(
        f"the function of {what} returns {kind_of(value)}, expected {expected}", "", help
    )
