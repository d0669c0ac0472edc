"""The declaration of tensor intrinsics: a computation, and the statement that does it on hardware.

Must not know how they are called.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from te_sched.absent_names import tell_of_absent_names as _tell_of_absent_names
from te_sched.errors import DeclarationError, repr_of
from te_sched.ir.buffer import decl_buffer
from te_sched.ir.expr import Buffer, Var
from te_sched.ir.stmt import Stmt
from te_sched.signatures import check_function, is_sequence
from te_sched.te.declare import checked_name
from te_sched.te.extern import as_statement
from te_sched.te.intrin_call import TensorIntrin
from te_sched.te.operation import ComputeOp, Operation, PlaceholderOp
from te_sched.te.tensor import Tensor, tensor_label


def decl_tensor_intrin(
    op: Operation,
    fcompute: Callable[..., Any],
    name: str = "tensor_intrin",
    binds: Mapping[Tensor, Buffer] | None = None,
    scalar_params: Sequence[Var] | None = None,
    default_buffer_params: Mapping[str, Any] | None = None,
) -> TensorIntrin:
    """A tensor intrinsic.

    Parameters
    ----------
    op : the computation, over placeholders.
    fcompute : (input buffers, output buffers[, scalars]) -> the statement that does it; for a
        reduction also a tuple (body, reset, update), of which `body`, or both others, may be None.
    binds : buffers for some of the tensors; the others get compact ones.
    scalar_params : further arguments of the intrinsic.
    default_buffer_params : arguments of `tir.decl_buffer` for the tensors that are not bound.

    Example
    -------
    >>> A = te.placeholder((4,), name="A")
    >>> B = te.compute((4,), lambda i: A[i] + 1, name="B")
    >>> intrin = te.decl_tensor_intrin(
    ...     B.op, lambda ins, outs: tir.call_extern("int32", "add_one", outs[0].access_ptr("w"))
    ... )
    >>> intrin.body
    B = T.handle("float32", "global")
    T.call_extern("int32", "add_one", T.tvm_access_ptr(T.type_annotation("float32"), B, 0, 4, 2))
    """
    what = f"tensor intrinsic {checked_name(name, 'tensor_intrin')}"
    scalars = tuple(scalar_params) if isinstance(scalar_params, list | tuple) else ()
    if scalar_params is not None and len(scalars) != sum(isinstance(p, Var) for p in scalars):
        scalars = ()
    if not scalars and not (
        scalar_params is None or (is_sequence(scalar_params) and not len(scalar_params))
    ):
        raise DeclarationError(
            f"scalar_params of {what} is {repr_of(scalar_params)}, expected a list of variables",
            "",
            "give a list of te.var",
        )
    if not isinstance(op, ComputeOp):
        raise DeclarationError(
            f"{what} needs the operation of a te.compute, got {repr_of(op)}",
            "",
            "pass tensor.op",
        )
    for tensor in op.input_tensors:
        if not isinstance(tensor.op, PlaceholderOp):
            raise DeclarationError(
                f"input {tensor.name} of {what} is computed, expected a placeholder",
                "an intrinsic describes a single computation",
                f"declare {tensor.name} with te.placeholder",
                tensor_label(tensor),
            )
    for label, option in (("binds", binds), ("default_buffer_params", default_buffer_params)):
        if option is not None and not isinstance(option, Mapping):
            raise DeclarationError(
                f"{label} of {what} is {repr_of(option)}, expected a dict", "", "give a dict"
            )
    buffers = {
        tensor: _buffer(tensor, binds or {}, default_buffer_params or {}, what)
        for tensor in (*op.input_tensors, *op.outputs)
    }
    ins = [buffers[tensor] for tensor in op.input_tensors]
    outs = [buffers[tensor] for tensor in op.outputs]
    check_function(fcompute, 3 if scalars else 2, what, "lambda ins, outs: tir.call_extern(...)")
    result = fcompute(ins, outs, list(scalars)) if scalars else fcompute(ins, outs)
    body, init, update = _statements(result, what)
    return TensorIntrin(name, op, op.input_tensors, tuple(ins + outs), scalars, body, init, update)


def _buffer(
    tensor: Tensor, binds: Mapping[Tensor, Buffer], defaults: Mapping[str, Any], what: str
) -> Buffer:
    bound = binds.get(tensor)
    if bound is not None:
        if not isinstance(bound, Buffer):
            raise DeclarationError(
                f"{what} binds {tensor.name} to {repr_of(bound)}, expected a buffer",
                "",
                "declare it with decl_buffer(tensor.shape, tensor.dtype, ...)",
            )
        return bound
    try:
        return decl_buffer(tensor.shape, tensor.dtype, tensor.op.name, **defaults)
    except TypeError as error:
        raise DeclarationError(
            f"default_buffer_params of {what} are not arguments of decl_buffer: {error}",
            "",
            "give keyword arguments of decl_buffer",
        ) from None


def _statements(result: Any, what: str) -> tuple[Stmt | None, Stmt | None, Stmt | None]:
    parts = list(result) if isinstance(result, list | tuple) else [result]
    statements = [_statement(part, what) for part in parts]
    if not 1 <= len(statements) <= 3:
        raise DeclarationError(
            f"the function of {what} returns {len(statements)} statements, expected 1 to 3",
            "they are the body, the reset and the update",
            "return a statement, or a tuple (body, reset, update)",
        )
    statements += [None] * (3 - len(statements))
    body, init, update = statements
    if body is None and (init is None or update is None):
        raise DeclarationError(
            f"{what} has neither a body nor both a reset and an update",
            "",
            "return a call, a statement, or a tuple (body, reset, update)",
        )
    return body, init, update


def _statement(part: Any, what: str) -> Stmt | None:
    expected = "a call, a statement, or a tuple (body, reset, update) of them"
    help = "return tir.call_extern(...) or the get() of an ir_builder"
    return None if part is None else as_statement(part, what, expected, help)


_tell_of_absent_names(__name__)
