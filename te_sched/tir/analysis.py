"""te_sched.tir.analysis: analyses of programs, with TVM's names."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

from te_sched import config
from te_sched.absent_names import tell_of_absent_names as _tell_of_absent_names
from te_sched.analysis.checks.guard_accesses import guard_accesses
from te_sched.analysis.kernels.gpu_code import exceeded_limit
from te_sched.analysis.programs.memory_sizes import (
    allocated_bytes,
    constant_bytes,
    workspace_bytes,
)
from te_sched.analysis.programs.operations import anchor_block, count_operations
from te_sched.analysis.programs.purity import impurity
from te_sched.arith.regions import access_regions
from te_sched.deep_recursion import walks_deeply
from te_sched.errors import DeclarationError, IllFormedError, ScheduleError, Subject
from te_sched.ir import verify
from te_sched.ir.blocks import Block
from te_sched.ir.expr import Buffer, BufferRegion, Expr, Var
from te_sched.ir.stmt import For, IRModule, PrimFunc, Stmt
from te_sched.ir.term_keys import same
from te_sched.lowering.blocks.pipeline import passes_of
from te_sched.lowering.blocks.place_allocations import common_ancestors
from te_sched.passes import apply_passes, check_makers
from te_sched.signatures import checked
from te_sched.tir.transform import PrimFuncPass, access_of_host, of_each_function

__all__ = [
    "OOBChecker",
    "assert_pure_function",
    "calculate_allocated_bytes",
    "calculate_constant_bytes",
    "calculate_workspace_bytes",
    "detect_buffer_access_lca",
    "estimate_tir_flops",
    "expr_deep_equal",
    "find_anchor_block",
    "get_block_access_region",
    "get_block_read_write_region",
    "is_pure_function",
    "undefined_vars",
    "verify_gpu_code",
    "verify_memory",
    "verify_ssa",
    "verify_well_formed",
]

_deeply = walks_deeply("analyze a program", DeclarationError)


@checked
@_deeply
def expr_deep_equal(lhs: Expr, rhs: Expr) -> bool:
    """Whether two expressions have the same structure and the same variables.

    >>> from te_sched import te
    >>> x = te.var("x")
    >>> expr_deep_equal(x + 1, x + 1), expr_deep_equal(x + 1, x + 2)
    (True, False)
    """
    return same(lhs, rhs)


@checked
def undefined_vars(node: Expr | Stmt, defs: Sequence[Var] | None = None) -> list[Var]:
    """The variables that a statement or expression uses without defining them, except `defs`.

    >>> from te_sched import te
    >>> x, y = te.var("x"), te.var("y")
    >>> undefined_vars(x + y * x), undefined_vars(x + y, [x])
    ([x, y], [y])
    """
    return verify.undefined_variables(node, defs or ())


@checked
@_deeply
def verify_ssa(func: PrimFunc) -> bool:
    """Whether a function defines each variable once.

    >>> from te_sched import tir
    >>> x = tir.Var("x")
    >>> verify_ssa(tir.PrimFunc([x], tir.LetStmt(x, 1, tir.Evaluate(x))))
    False
    """
    return verify.is_ssa(func)


@checked
@_deeply
def verify_well_formed(obj: PrimFunc | IRModule, assert_mode: bool = True) -> bool:
    """Whether each variable is defined once and used inside of its scope, and blocks with iterators
    do not use loops around them.

    Raises
    ------
    IllFormedError for the first fault, in `assert_mode`.

    >>> from te_sched import tir
    >>> i = tir.Var("i")
    >>> verify_well_formed(tir.PrimFunc([], tir.Evaluate(i)), assert_mode=False)
    False
    """
    functions = [obj] if isinstance(obj, PrimFunc) else list(obj.functions.values())
    try:
        verify.check_well_formed(functions)
    except IllFormedError:
        if assert_mode:
            raise
        return False
    return True


@checked
def verify_memory(func: PrimFunc) -> bool:
    """Whether a function for a GPU accesses its arguments in kernels only. The target is the
    function's attribute "target".

    >>> import te_sched
    >>> from te_sched import te
    >>> A = te.placeholder((8,), name="A")
    >>> B = te.compute((8,), lambda i: A[i] + 1.0, name="B")
    >>> func = te_sched.lower(te.create_schedule(B), [A, B])["main"]
    >>> [verify_memory(func.with_attr("target", name)) for name in ("llvm", "cuda")]
    [True, False]
    """
    return access_of_host(func) is None


@checked
def verify_gpu_code(func: PrimFunc, constraints: Mapping[str, Any]) -> bool:
    """Whether the kernels of a function are within limits: max_local_memory_per_block,
    max_shared_memory_per_block (bytes), max_threads_per_block, max_thread_x, max_thread_y,
    max_thread_z, max_vthread, max_vector_bytes, max_kernels.

    >>> from te_sched.script import tir as T
    >>> @T.prim_func
    ... def clear(A: T.Buffer((64,), "float32")):
    ...     for i in T.thread_binding(64, thread="threadIdx.x"):
    ...         A[i] = T.float32(0)
    >>> verify_gpu_code(clear, {"max_thread_x": 64}), verify_gpu_code(clear, {"max_thread_x": 32})
    (True, False)
    """
    return exceeded_limit(func, {name: int(most) for name, most in constraints.items()}) is None


@checked
def is_pure_function(func: PrimFunc) -> bool:
    """Whether a function has no side effects: it writes its own memory only.

    >>> from te_sched.script import tir as T
    >>> @T.prim_func
    ... def first(A: T.Buffer((8,), "int32")) -> T.int32:
    ...     T.ret(A[0])
    >>> is_pure_function(first)
    True
    """
    return impurity(func) is None


@checked
def assert_pure_function(func: PrimFunc) -> bool:
    """True for a function without side effects; raises AssertionError for others.

    >>> from te_sched.script import tir as T
    >>> @T.prim_func
    ... def clear(A: T.Buffer((1,), "int32")):
    ...     A[0] = 0
    >>> assert_pure_function(clear)
    Traceback (most recent call last):
    AssertionError: function clear is not pure: it writes to A, which it does not allocate
    """
    reason = impurity(func)
    if reason is not None:
        name = func.attrs.get("global_symbol", "main")
        raise AssertionError(f"function {name} is not pure: {reason}")
    return True


@checked
@_deeply
def calculate_allocated_bytes(func_or_mod: PrimFunc | IRModule) -> dict[str, dict[str, int]]:
    """The bytes that functions allocate at the same time: by the name of the function ("main" for a
    single one) and by storage scope.

    >>> from te_sched.script import tir as T
    >>> @T.prim_func
    ... def first(A: T.Buffer((8,), "int32")):
    ...     B = T.decl_buffer((4,), "int32", scope="shared")
    ...     B[0] = A[0]
    >>> calculate_allocated_bytes(first)
    {'main': {'shared': 16}}
    """
    if isinstance(func_or_mod, PrimFunc):
        return {"main": allocated_bytes(func_or_mod.body)}
    return {name: allocated_bytes(func.body) for name, func in func_or_mod.functions.items()}


@checked
@_deeply
def calculate_workspace_bytes(func: PrimFunc, workspace_byte_alignment: int) -> int:
    """The bytes that a function allocates at the same time, in multiples of the alignment for each
    allocation.

    >>> from te_sched.script import tir as T
    >>> @T.prim_func
    ... def first(A: T.Buffer((8,), "int32")):
    ...     B = T.decl_buffer((5,), "int32")
    ...     B[0] = A[0]
    >>> calculate_workspace_bytes(first, 1), calculate_workspace_bytes(first, 16)
    (20, 32)
    """
    return workspace_bytes(func.body, _alignment(workspace_byte_alignment))


@checked
def calculate_constant_bytes(func: PrimFunc, constant_byte_alignment: int) -> int:
    """The bytes of the constant arrays of a function, in multiples of the alignment for each.

    >>> from te_sched.script import tir as T
    >>> @T.prim_func
    ... def constant():
    ...     B = T.allocate_const([1, 2, 3], "int8", [3])
    ...     T.evaluate(0)
    >>> calculate_constant_bytes(constant, 1), calculate_constant_bytes(constant, 8)
    (3, 8)
    """
    return constant_bytes(func.body, _alignment(constant_byte_alignment))


def _alignment(alignment: int) -> int:
    if alignment < 1:
        raise DeclarationError(
            f"alignment must be at least 1, got {alignment}", "", "give a number of bytes"
        )
    return alignment


@checked
@_deeply
def estimate_tir_flops(stmt_or_mod: Stmt | PrimFunc | IRModule) -> float:
    """The number of arithmetic operations of a program. Conditions, indices, calls and
    initializations of blocks do not count, of two branches the larger does. The attribute
    "estimated_flops" of a function states its number.

    >>> from te_sched import IRModule
    >>> from te_sched.script import tir as T
    >>> @T.prim_func
    ... def scale(A: T.Buffer((8,), "float32")):
    ...     for i in range(8):
    ...         A[i] = A[i] * 2.0 + 1.0
    >>> estimate_tir_flops(IRModule({"main": scale}))
    16.0
    """
    return float(count_operations(stmt_or_mod))


@checked
@_deeply
def find_anchor_block(mod: IRModule) -> Block | None:
    """The block of a module with an initialization and the most operations, or None.

    >>> import te_sched
    >>> from te_sched import te
    >>> A, k = te.placeholder((8, 4), name="A"), te.reduce_axis((0, 4), "k")
    >>> B = te.compute((8,), lambda i: te.sum(A[i, k], axis=k), name="B")
    >>> func = te.create_prim_func([A, te.compute((8,), lambda i: B[i] * 2.0)])
    >>> find_anchor_block(te_sched.IRModule({"main": func})).name_hint
    'B'
    """
    return anchor_block(mod)


@checked
@_deeply
def detect_buffer_access_lca(func: PrimFunc) -> dict[Buffer, For | Block | None]:
    """The innermost loop or block around all accesses of each buffer; None for the whole function.

    >>> from te_sched.script import tir as T
    >>> @T.prim_func
    ... def twice(A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32")):
    ...     for i in range(8):
    ...         B[i] = A[i]
    ...         B[i] = B[i] + A[i]
    >>> [(buffer.name, loop.loop_var) for buffer, loop in detect_buffer_access_lca(twice).items()]
    [('B', i), ('A', i)]
    """
    return common_ancestors(func)


@checked
@_deeply
def get_block_access_region(
    block: Block, buffer_var_map: Mapping[Var, Buffer]
) -> list[list[BufferRegion]]:
    """The regions that a block reads, writes, and accesses by a pointer, of these buffers.

    >>> from te_sched.script import tir as T
    >>> @T.prim_func
    ... def move(A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32")):
    ...     for i in range(4):
    ...         with T.block("B"):
    ...             B[i] = A[i + 2]
    >>> block = move.body.block.body.body.block
    >>> get_block_access_region(block, {b.data: b for b in move.buffer_map.values()})
    [[A[i + 2]], [B[i]], []]
    """
    views = {match.buffer.data: match.buffer for match in block.match_buffers}
    buffers = {**buffer_var_map, **views}
    own_buffers = set(buffers.values())
    return [
        [region for region in regions if region.buffer in own_buffers]
        for regions in access_regions(block, buffers)
    ]


@checked
@_deeply
def get_block_read_write_region(
    block: Block, buffer_var_map: Mapping[Var, Buffer]
) -> list[list[BufferRegion]]:
    """The regions that a block reads and writes; what it accesses by a pointer is in both.

    >>> from te_sched.script import tir as T
    >>> @T.prim_func
    ... def call(A: T.Buffer((8,), "int32")):
    ...     with T.block("A"):
    ...         T.reads(A[0:8])
    ...         T.writes(A[0:8])
    ...         T.evaluate(T.call_extern("int32", "f", A.data))
    >>> A = call.buffer_map[call.params[0]]
    >>> get_block_read_write_region(call.body.block, {A.data: A})
    [[A[0:8]], [A[0:8]]]
    """
    reads, writes, opaque = get_block_access_region(block, buffer_var_map)
    return [_joined(reads, opaque), _joined(writes, opaque)]


def _joined(some: list[BufferRegion], opaque: list[BufferRegion]) -> list[BufferRegion]:
    whole = {region.buffer for region in opaque}
    return [region for region in some if region.buffer not in whole] + opaque


def OOBChecker() -> PrimFuncPass:
    """The pass that refuses accesses that are certainly out of bounds.

    >>> from te_sched import IRModule
    >>> from te_sched.script import tir as T
    >>> @T.prim_func
    ... def late(A: T.Buffer((4,), "int32")):
    ...     A[4] = 0
    >>> OOBChecker()(IRModule({"late": late}))
    Traceback (most recent call last):
    te_sched.errors.ScheduleError: access of buffer A is out of bounds: ...
    """

    def check(func: PrimFunc) -> PrimFunc:
        lowered = apply_passes(passes_of(func), func, config.current())
        for finding in guard_accesses(lowered, insert=False).findings.refuted:
            raise ScheduleError(
                f"access of buffer {finding.buffer} is out of bounds: {finding.message}",
                finding.why,
                finding.help,
                Subject("buffer", finding.buffer),
            )
        return func

    return of_each_function(check, "tir.analysis.OOBChecker")


check_makers(sys.modules[__name__])
_tell_of_absent_names(__name__)
