"""Intrinsics of devices, of vectors and of calling conventions, as functions.

One row of the table is one function. `T.*` of TVMScript are the same functions. Must not know what
code generators make of them.
"""

from __future__ import annotations

from collections.abc import Callable
from inspect import Parameter, Signature
from typing import Any, NamedTuple

from te_sched.ir import dtypes, ops
from te_sched.ir.expr import Call


class _Row(NamedTuple):
    """An intrinsic: its parameters, the dtype of its value, and what it does.

    `result` is a dtype, or the name of a parameter: `dtype` itself, of others their dtype.
    """

    parameters: str
    result: str
    about: str


_PIECE = "d, index_d, a, index_a, b, index_b, c, index_c"
_FRAGMENT = "fragment, m, n, k, index, buffer_ptr, stride, layout"
_FRAGMENTS = "fragment_d, index_d, fragment_a, index_a, fragment_b, index_b, fragment_c, index_c"
_COPY = "dtype, shared_ptr, shared_offset, global_ptr, global_offset, bytes"
_MMA = (
    "dtype, shape, A_layout, B_layout, A_dtype, B_dtype, C_dtype, multiplicand_a, a_index, "
    "multiplicand_b, b_index, accumulator, c_index, "
)
_SHUFFLE = "value, warp_id, width, warp_size"
_TABLE = {
    # Vectors
    "vectorlow": _Row("dtype, vec", "dtype", "The first half of a vector."),
    "vectorhigh": _Row("dtype, vec", "dtype", "The second half of a vector."),
    "vectorcombine": _Row("dtype, vec1, vec2", "dtype", "Two vectors, one after the other."),
    "dp4a": _Row("vec1, vec2, acc=0", "int32", "The dot product of 4 pairs of int8, plus acc."),
    "get_active_lane_mask": _Row("dtype, base, limit", "dtype", "Which lanes are below a limit."),
    # Knowledge for the compiler
    "assume": _Row("cond=None", "bool", "A condition that holds here."),
    "undef": _Row("", "int32", "A value that may be anything."),
    "tvm_tuple": _Row("*value", "handle", "Several values, as the argument of an attribute."),
    "tvm_thread_invariant": _Row("cond", "cond", "A value that all threads of a block share."),
    # Threads
    "tvm_storage_sync": _Row("storage_scope", "int32", "Wait for the threads that share a scope."),
    "tvm_thread_allreduce": _Row("*freduce_args", "handle", "A reduction over threads."),
    "tvm_warp_activemask": _Row("", "uint32", "The threads of a warp that are active."),
    "tvm_warp_shuffle": _Row(f"mask, {_SHUFFLE}", "value", "The value of another thread."),
    "tvm_warp_shuffle_up": _Row(
        "mask, value, offset, width, warp_size", "value", "The value of an earlier thread."
    ),
    "tvm_warp_shuffle_down": _Row(
        "mask, value, offset, width, warp_size", "value", "The value of a later thread."
    ),
    # Matrices in registers
    "tvm_fill_fragment": _Row(
        "fragment, m, n, k, index, value", "handle", "Fill a matrix in registers."
    ),
    "tvm_load_matrix_sync": _Row(_FRAGMENT, "handle", "Read a matrix into registers."),
    "tvm_store_matrix_sync": _Row(_FRAGMENT, "handle", "Write a matrix from registers."),
    "tvm_mma_sync": _Row(_FRAGMENTS, "handle", "d = a * b + c, of matrices in registers."),
    "tvm_bmma_sync": _Row(_FRAGMENTS, "handle", "d = a * b + c, of matrices of bits."),
    "mma_fill": _Row(
        "dtype, local_size, local_ptr, offset", "dtype", "Fill the part of a matrix of a thread."
    ),
    "mma_store": _Row(
        "dtype, m, n, dst_ptr, src_ptr, src_offset, dst_stride",
        "dtype",
        "Write the part of a matrix of a thread.",
    ),
    "simdgroup_load": _Row(
        "d, index, ptr, stride, col=8, row=8, transpose_matrix=False",
        "handle",
        "Read a matrix into the registers of a SIMD group.",
    ),
    "simdgroup_store": _Row(
        "d, index, ptr, stride, col=8, row=8, transpose_matrix=False",
        "handle",
        "Write a matrix from the registers of a SIMD group.",
    ),
    "simdgroup_multiply_accumulate": _Row(
        _PIECE, "handle", "d = a * b + c, of matrices of a SIMD group."
    ),
    "make_filled_simdgroup_matrix": _Row(
        "d, index, value, col=8, row=8", "handle", "Fill a matrix of a SIMD group."
    ),
    # PTX
    "ptx_mma": _Row(
        _MMA + "saturate, operator=None", "dtype", "PTX mma: c += a * b, of matrices in registers."
    ),
    "ptx_mma_sp": _Row(
        _MMA + "metadata, meta_index, sparse_selector, saturate",
        "dtype",
        "PTX mma.sp: c += a * b, where half of a is zero.",
    ),
    "ptx_ldmatrix": _Row(
        "dtype, trans, num, type, local_ptr, local_offset, smem_ptr, smem_offset",
        "dtype",
        "PTX ldmatrix: read matrices of 8 by 8 from shared memory.",
    ),
    "ptx_cp_async": _Row(_COPY, "dtype", "PTX cp.async: begin to copy to shared memory."),
    "ptx_cp_async_bulk": _Row(
        _COPY + ", barrier_id", "dtype", "PTX cp.async.bulk: begin to copy a block of bytes."
    ),
    "ptx_commit_group": _Row("", "void", "PTX: the copies begun so far are one group."),
    "ptx_wait_group": _Row("num", "void", "PTX: wait until at most num groups are under way."),
    "ptx_cp_async_barrier": _Row("barrier_id", "void", "PTX: a barrier that awaits copies."),
    "ptx_init_barrier_thread_count": _Row(
        "barrier_id, thread_count", "void", "PTX: the number of threads that a barrier awaits."
    ),
    "ptx_arrive_barrier": _Row("barrier_id", "void", "PTX: arrive at a barrier."),
    "ptx_arrive_barrier_expect_tx": _Row(
        "barrier_id, byte_count", "void", "PTX: arrive at a barrier that also awaits bytes."
    ),
    "ptx_wait_barrier": _Row("barrier_id", "void", "PTX: wait at a barrier."),
    "create_barriers": _Row("barrier_count", "void", "Barriers in shared memory."),
    # Calling conventions
    "tvm_struct_get": _Row("arr, index, field, dtype", "dtype", "A field of a structure."),
    "tvm_struct_set": _Row("arr, index, field, value", "int32", "Set a field of a structure."),
    "tvm_stack_alloca": _Row("dtype_str, num", "handle", "Memory on the stack."),
    "tvm_stack_make_shape": _Row("*args", "handle", "A shape on the stack."),
    "tvm_stack_make_array": _Row(
        "data, shape, strides, ndim, arr_dtype, elem_offset", "handle", "An array on the stack."
    ),
    "tvm_check_return": _Row(
        "expected, return_unexpected, nested_call", "int32", "A call whose value is checked."
    ),
    "tvm_throw_last_error": _Row("", "handle", "Raise the last error."),
    "lookup_param": _Row("param_name", "handle", "A parameter of a program, by its name."),
    "TVMBackendAllocWorkspace": _Row(
        "device_type, device_id, nbytes, dtype_code_hint, dtype_bits_hint",
        "handle",
        "Memory for temporary values.",
    ),
    "TVMBackendFreeWorkspace": _Row(
        "device_type, device_id, ptr", "int32", "Free memory of temporary values."
    ),
    "anylist_getitem": _Row("list_handle, index", "handle", "An element of a list."),
    "anylist_resetitem": _Row("list_handle, index", "int32", "Clear an element of a list."),
    "anylist_setitem_call_packed": _Row(
        "list_handle, index, func_name, *args",
        "int32",
        "Keep the value of a packed call in a list.",
    ),
    "anylist_setitem_call_cpacked": _Row(
        "list_handle, index, func_name, *args", "int32", "Keep the value of a C call in a list."
    ),
    "start_profile_intrinsic": _Row("id", "handle", "Begin to count events."),
    "end_profile_intrinsic": _Row("id", "handle", "End to count events."),
    # Arithmetic
    "q_multiply_shift_per_axis": _Row(
        "x, y, ls, rs, q, is_lshift_required, is_rshift_required",
        "int32",
        "x * y * 2**(rs - ls - q), rounded, in fixed-point arithmetic.",
    ),
}

_DEFAULTS: dict[str, Any] = {"": Parameter.empty, "None": None, "False": False, "0": 0, "8": 8}
_BY_PLACE = Parameter.POSITIONAL_OR_KEYWORD
# What stands for a parameter in an example; of others an index.
_SAMPLES = {
    **dict.fromkeys(("vec", "vec1", "vec2"), "v"),
    **dict.fromkeys(
        ("a", "b", "c", "d", "data", "shape", "strides", "arr", "ptr", "fragment"), "p"
    ),
    **dict.fromkeys(("multiplicand_a", "multiplicand_b", "accumulator", "metadata"), "p"),
    **dict.fromkeys(("storage_scope", "layout", "A_layout", "func_name", "type"), '"text"'),
    **dict.fromkeys(("param_name", "B_layout", "A_dtype", "B_dtype", "C_dtype"), '"text"'),
    "list_handle": "p",
    "arr_dtype": '"float32"',
    "dtype_str": '"shape"',
    "dtype": '"int8x2"',
}


def _parameters(row: _Row) -> list[Parameter]:
    parameters = []
    for text in filter(None, row.parameters.split(", ")):
        name, _, default = text.partition("=")
        if name[0] == "*":
            parameters.append(Parameter(name[1:], Parameter.VAR_POSITIONAL, annotation=Any))
        else:
            value = _DEFAULTS[default]
            parameters.append(Parameter(name, _BY_PLACE, default=value, annotation=Any))
    return parameters


def _function(name: str, row: _Row) -> Callable[..., Call]:
    parameters = _parameters(row)
    signature = Signature(parameters, return_annotation=Call)

    def call(*args: Any, **named: Any) -> Call:
        try:
            bound = signature.bind(*args, **named)
        except TypeError as error:
            raise TypeError(f"{name}(): {error}") from None
        bound.apply_defaults()
        values: list[Any] = []
        result = row.result
        for parameter in parameters:
            value = bound.arguments[parameter.name]
            if parameter.kind is Parameter.VAR_POSITIONAL:
                values.extend([_argument(element) for element in value])
            elif parameter.name == "dtype":
                result = dtypes.spelled(value)
            elif value is not None:
                values.append(_argument(value))
                if parameter.name == row.result:
                    result = values[-1].dtype
        return Call(result, f"tir.{name}", tuple(values))

    call.__name__ = call.__qualname__ = name
    call.__signature__ = signature  # type: ignore[attr-defined]
    call.__doc__ = _docstring(name, row, parameters)
    return call


def _argument(value: Any) -> Any:
    return value if isinstance(value, Call) else ops.convert(value)


def _docstring(name: str, row: _Row, parameters: list[Parameter]) -> str:
    samples = [
        _sample(parameter) for parameter in parameters if parameter.default is Parameter.empty
    ]
    shown = [
        *([f'"{row.result}"'] if name == "dp4a" else []),
        *samples,
        *[
            _shown(parameter.default)
            for parameter in parameters
            if parameter.default not in (Parameter.empty, None)
        ],
    ]
    call = f"{name}({', '.join(samples)})"
    needed = {
        "v": '>>> v = tir.Var("v", "int8x4")',
        "p": '>>> p = tir.Var("p", "handle")',
    }
    lines = [line for key, line in needed.items() if key in samples]
    return "\n".join((row.about, "", *lines, f">>> tir.{call}", f"T.{name}({', '.join(shown)})"))


def _sample(parameter: Parameter) -> str:
    name = parameter.name
    if name.endswith("_ptr") or name.startswith("fragment_"):
        return "p"
    return _SAMPLES.get(name, "1")


def _shown(default: Any) -> str:
    return f"T.bool({default})" if isinstance(default, bool) else str(default)


NAMES = tuple(_TABLE)
globals().update({name: _function(name, row) for name, row in _TABLE.items()})
