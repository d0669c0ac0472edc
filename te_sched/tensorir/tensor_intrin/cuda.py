"""Intrinsics of NVIDIA's GPUs: fragments of matrices (wmma), of 16 x 16 elements.

A warp loads fragments from shared memory, fills an accumulator, multiplies, and stores the
accumulator. Fragments of B whose names have `trans` are stored by columns in memory.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from te_sched.errors import DeclarationError, repr_of
from te_sched.ir import ops
from te_sched.ir.expr import Buffer, BufferLoad, Call, Expr, IntImm, StringImm, Var
from te_sched.ir.stmt import BufferStore, Evaluate, Stmt
from te_sched.tensorir.facts.axes import REDUCTION, SPATIAL
from te_sched.tensorir.tensor_intrin.building import Pair, function, loops, parameter, updated
from te_sched.tensorir.tensor_intrin.dot_product_common import (
    DP4A_S8S8S32_INTRIN as DP4A_S8S8S32_INTRIN,
)

_SIZE = 16
_SIZES = (IntImm(_SIZE), IntImm(_SIZE), IntImm(_SIZE))
_SHORT = {"float16": "f16", "float32": "f32", "int8": "s8", "int32": "s32"}


def _matrix(name: str, dtype: str, scope: str, is_strided: bool) -> Buffer:
    return parameter(name, (_SIZE, _SIZE), dtype, scope, offset_factor=_SIZE, is_strided=is_strided)


def _number(matrix: Buffer) -> Expr:
    """The number of a fragment among those of its buffer."""
    row = matrix.strides[0]
    offset = matrix.elem_offset
    return offset // row // _SIZE * (row // _SIZE) + offset % row // _SIZE


def _call(name: str, *args: Expr) -> Stmt:
    return Evaluate(Call("handle", f"tir.{name}", args))


def _moved(source: Buffer, target: Buffer, name: str) -> Stmt:
    """The description of a copy."""
    return loops(
        "ij",
        (SPATIAL, SPATIAL),
        (_SIZE, _SIZE),
        lambda i, j: BufferStore(target, BufferLoad(source, (i, j)), (i, j)),
        name,
        "v{}",
    )


def _synchronized(name: str, fragment: Buffer, memory: Buffer, access: int, order: str) -> Stmt:
    """A copy between a fragment and memory."""
    row = memory.strides[0]
    kind = Call(memory.dtype, "tir.type_annotation", ())
    start = (kind, memory.data, memory.elem_offset, row * _SIZE, IntImm(access))
    pointer = Call("handle", "tir.tvm_access_ptr", start)
    number = _number(fragment)
    return _call(name, fragment.data, *_SIZES, number, pointer, row, StringImm(order))


def _load(dtype: str, matrix: str, is_trans: bool, scope: str) -> Pair:
    def buffers(is_strided: bool) -> tuple[Buffer, Buffer]:
        a = _matrix("A", dtype, scope, is_strided)
        return a, _matrix("C", dtype, f"wmma.matrix_{matrix}", is_strided)

    a, c = buffers(False)
    described = function((a, c), _moved(a, c, "load"), (a,))
    a, c = buffers(True)
    order = "col_major" if is_trans else "row_major"
    body = _synchronized("tvm_load_matrix_sync", c, a, 1, order)
    return described, function((a, c), body, (a,))


def _store(dtype: str, scope: str) -> Pair:
    def buffers(is_strided: bool) -> tuple[Buffer, Buffer]:
        a = _matrix("A", dtype, "wmma.accumulator", is_strided)
        return a, _matrix("C", dtype, scope, is_strided)

    a, c = buffers(False)
    described = function((a, c), _moved(a, c, "store"), (a,))
    a, c = buffers(True)
    body = _synchronized("tvm_store_matrix_sync", a, c, 2, "row_major")
    return described, function((a, c), body, (a,))


def _fill(dtype: str) -> Pair:
    zero = ops.const(0, dtype)
    c = _matrix("C", dtype, "wmma.accumulator", False)
    body = loops(
        "ij",
        (SPATIAL, SPATIAL),
        (_SIZE, _SIZE),
        lambda i, j: BufferStore(c, zero, (i, j)),
        "init",
        "v{}",
    )
    described = function((c,), body, ())
    c = _matrix("C", dtype, "wmma.accumulator", True)
    return described, function(
        (c,), _call("tvm_fill_fragment", c.data, *_SIZES, _number(c), ops.const(0.0)), ()
    )


def _sync(dtype: str, result: str, is_trans: bool) -> Pair:
    def buffers(is_strided: bool) -> tuple[Buffer, Buffer, Buffer]:
        a, b = [_matrix(n.upper(), dtype, f"wmma.matrix_{n}", is_strided) for n in "ab"]
        return a, b, _matrix("C", result, "wmma.accumulator", is_strided)

    a, b, c = buffers(False)

    def product(i: Var, j: Var, k: Var) -> BufferStore:
        row = (j, k) if is_trans else (k, j)
        return updated(BufferLoad(c, (i, j)), BufferLoad(a, (i, k)), BufferLoad(b, row))

    kinds = (SPATIAL, SPATIAL, REDUCTION)
    body = loops("ijk", kinds, (_SIZE, _SIZE, _SIZE), product, "", "v{}")
    described = function((a, b, c), body, (c, a, b))
    own = buffers(True)
    places: list[Expr] = []
    for buffer in (own[2], own[0], own[1], own[2]):
        places += (buffer.data, _number(buffer))
    return described, function(own, _call("tvm_mma_sync", *places), (own[2], own[0], own[1]))


WMMA_LOAD_16x16x16_F16_A_INTRIN = "wmma_load_16x16x16_f16_a_shared"
WMMA_LOAD_16x16x16_F16_A_DYN_INTRIN = "wmma_load_16x16x16_f16_a_shared_dyn"
WMMA_LOAD_16x16x16_F16_B_INTRIN = "wmma_load_16x16x16_f16_b_shared"
WMMA_LOAD_16x16x16_F16_B_DYN_INTRIN = "wmma_load_16x16x16_f16_b_shared_dyn"
WMMA_LOAD_16x16x16_F16_B_TRANS_INTRIN = "wmma_load_16x16x16_f16_b_trans_shared"
WMMA_LOAD_16x16x16_F16_B_TRANS_DYN_INTRIN = "wmma_load_16x16x16_f16_b_trans_shared_dyn"
WMMA_LOAD_16x16x16_S8_A_INTRIN = "wmma_load_16x16x16_s8_a_shared"
WMMA_LOAD_16x16x16_S8_A_DYN_INTRIN = "wmma_load_16x16x16_s8_a_shared_dyn"
WMMA_LOAD_16x16x16_S8_B_INTRIN = "wmma_load_16x16x16_s8_b_shared"
WMMA_LOAD_16x16x16_S8_B_DYN_INTRIN = "wmma_load_16x16x16_s8_b_shared_dyn"
WMMA_LOAD_16x16x16_S8_B_TRANS_INTRIN = "wmma_load_16x16x16_s8_b_trans_shared"
WMMA_LOAD_16x16x16_S8_B_TRANS_DYN_INTRIN = "wmma_load_16x16x16_s8_b_trans_shared_dyn"
WMMA_FILL_16x16x16_F32_INTRIN = "wmma_fill_16x16x16_f32"
WMMA_FILL_16x16x16_F16_INTRIN = "wmma_fill_16x16x16_f16"
WMMA_FILL_16x16x16_S32_INTRIN = "wmma_fill_16x16x16_s32"
WMMA_SYNC_16x16x16_f16f16f32_INTRIN = "wmma_sync_16x16x16_f16f16f32"
WMMA_SYNC_16x16x16_f16f16f32_TRANS_INTRIN = "wmma_sync_16x16x16_f16f16f32_trans"
WMMA_SYNC_16x16x16_f16f16f16_INTRIN = "wmma_sync_16x16x16_f16f16f16"
WMMA_SYNC_16x16x16_f16f16f16_TRANS_INTRIN = "wmma_sync_16x16x16_f16f16f16_trans"
WMMA_SYNC_16x16x16_s8s8s32_INTRIN = "wmma_sync_16x16x16_s8s8s32"
WMMA_SYNC_16x16x16_s8s8s32_TRANS_INTRIN = "wmma_sync_16x16x16_s8s8s32_trans"
WMMA_STORE_16x16x16_F32_SHARED_INTRIN = "wmma_store_16x16x16_f32_shared"
WMMA_STORE_16x16x16_F32_SHARED_DYN_INTRIN = "wmma_store_16x16x16_f32_shared_dyn"
WMMA_STORE_16x16x16_F16_SHARED_INTRIN = "wmma_store_16x16x16_f16_shared"
WMMA_STORE_16x16x16_F16_SHARED_DYN_INTRIN = "wmma_store_16x16x16_f16_shared_dyn"
WMMA_STORE_16x16x16_S32_SHARED_INTRIN = "wmma_store_16x16x16_s32_shared"
WMMA_STORE_16x16x16_S32_SHARED_DYN_INTRIN = "wmma_store_16x16x16_s32_shared_dyn"
WMMA_STORE_16x16x16_F32_GLOBAL_INTRIN = "wmma_store_16x16x16_f32_global"
WMMA_STORE_16x16x16_F16_GLOBAL_INTRIN = "wmma_store_16x16x16_f16_global"
WMMA_STORE_16x16x16_S32_GLOBAL_INTRIN = "wmma_store_16x16x16_s32_global"


def _made() -> dict[str, Callable[[], Pair]]:
    """The intrinsics by their names."""
    intrinsics: dict[str, Callable[[], Pair]] = {}
    for dtype in ("float16", "int8"):
        for matrix, is_trans in (("a", False), ("b", False), ("b", True)):
            for scope in ("shared", "shared.dyn"):
                of = f"{matrix}_trans" if is_trans else matrix
                name = f"wmma_load_16x16x16_{_SHORT[dtype]}_{of}_{scope.replace('.', '_')}"
                intrinsics[name] = partial(_load, dtype, matrix, is_trans, scope)
    for dtype in ("float32", "float16", "int32"):
        short = _SHORT[dtype]
        intrinsics[f"wmma_fill_16x16x16_{short}"] = partial(_fill, dtype)
        for scope in ("shared", "shared.dyn", "global"):
            name = f"wmma_store_16x16x16_{short}_{scope.replace('.', '_')}"
            intrinsics[name] = partial(_store, dtype, scope)
    for dtype, result in (("float16", "float32"), ("float16", "float16"), ("int8", "int32")):
        for is_trans in (False, True):
            name = f"wmma_sync_16x16x16_{_SHORT[dtype] * 2}{_SHORT[result]}{'_trans' * is_trans}"
            intrinsics[name] = partial(_sync, dtype, result, is_trans)
    return intrinsics


INTRINSICS = _made()


def get_wmma_intrin_group(
    load_scope: str, store_scope: str, in_dtype: str, out_dtype: str, trans_b: bool
) -> dict[str, str]:
    """The names of the intrinsics of a product of matrices in fragments: "init", "load_a",
    "load_b", "compute" and "store".

    Parameters
    ----------
    load_scope, store_scope : the memory of the operands ("shared", "shared.dyn") and of the result
        (also "global").
    in_dtype, out_dtype : of the operands ("float16", "int8") and of the result ("float32", ...).
    trans_b : whether the second operand is transposed.

    >>> get_wmma_intrin_group("shared", "shared", "float16", "float32", False)["compute"]
    'wmma_sync_16x16x16_f16f16f32'
    """
    for name, option, legal in (
        ("load_scope", load_scope, ("shared", "shared.dyn")),
        ("store_scope", store_scope, ("global", "shared", "shared.dyn")),
        ("in_dtype", in_dtype, ("float16", "int8")),
        ("out_dtype", out_dtype, ("float16", "float32", "int32")),
    ):
        if option not in legal:
            raise DeclarationError(
                f"{name} of a group of wmma intrinsics is {repr_of(option)}",
                "",
                f"give one of {', '.join(map(repr, legal))}",
            )
    loaded, stored, kind, result = (
        load_scope.replace(".", "_"),
        store_scope.replace(".", "_"),
        _SHORT[in_dtype],
        _SHORT[out_dtype],
    )
    trans = "_trans" * bool(trans_b)
    return {
        "init": f"wmma_fill_16x16x16_{result}",
        "load_a": f"wmma_load_16x16x16_{kind}_a_{loaded}",
        "load_b": f"wmma_load_16x16x16_{kind}_b{trans}_{loaded}",
        "compute": f"wmma_sync_16x16x16_{kind}{kind}{result}{trans}",
        "store": f"wmma_store_16x16x16_{result}_{stored}",
    }
