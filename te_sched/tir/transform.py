"""te_sched.tir.transform: passes over programs, with TVM's names.

A pass maps an IRModule to another: `transform.Simplify()(module)`. The passes are the functions of
te_sched.lowering and te_sched.tir.passes; `prim_func_pass` makes a pass of a user's function.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any

from te_sched import config
from te_sched.absent_names import tell_of_absent_names as _tell_of_absent_names
from te_sched.analysis.kernels.gpu_code import host_access
from te_sched.config import Lowering
from te_sched.errors import BuildError, DeclarationError, LoweringError, Subject
from te_sched.ir.stmt import For, IRModule, PrimFunc, Stmt
from te_sched.ir.visitor import StatementMapper, replace
from te_sched.lowering.blocks.compact_buffers import alignments, compact_buffers
from te_sched.lowering.blocks.declarations import (
    declare_buffers,
    drop_declarations,
)
from te_sched.lowering.blocks.inject_pipelines import inject_pipelines
from te_sched.lowering.blocks.lower_cross_thread import lower_cross_thread
from te_sched.lowering.blocks.lower_init import lower_init
from te_sched.lowering.blocks.lower_match_buffers import lower_match_buffers
from te_sched.lowering.blocks.lower_opaque_blocks import lower_opaque_blocks
from te_sched.lowering.blocks.make_opaque import make_opaque
from te_sched.lowering.blocks.place_allocations import place_allocations
from te_sched.lowering.blocks.unify_threads import unify_equal_threads, unify_threads
from te_sched.lowering.eliminate_common_subexpressions import (
    eliminate_common_subexpressions,
    identify_equal_terms,
)
from te_sched.lowering.flatten_storage import flatten_storage
from te_sched.lowering.hoist_conditions import hoist_conditions
from te_sched.lowering.inject_double_buffer import inject_double_buffer
from te_sched.lowering.inject_prefetch import inject_prefetch
from te_sched.lowering.inject_virtual_threads import inject_virtual_threads
from te_sched.lowering.narrow_index_types import narrow_index_types
from te_sched.lowering.partition_loops import partition_loops
from te_sched.lowering.remove_no_op import remove_no_op
from te_sched.lowering.renormalize_split_patterns import renormalize_split_patterns
from te_sched.lowering.rewrite_storage import rewrite_storage
from te_sched.lowering.rewrite_unsafe_select import rewrite_unsafe_select
from te_sched.lowering.simplify import simplify
from te_sched.lowering.unroll_loops import unroll_loops
from te_sched.lowering.vectorize_loops import vectorize_loops
from te_sched.pass_context import HoistedConditionals, HoistedLetBindings, PassInfo
from te_sched.passes import (
    LoweringPass,
    ModulePass,
    Pass,
    PrimFuncPass,
    check_makers,
    info_of,
    pass_of,
)
from te_sched.runtime.device import DEVICE_TYPES
from te_sched.signatures import check_function, checked
from te_sched.target import Target
from te_sched.tir.passes.convert_ssa import convert_ssa
from te_sched.tir.passes.force_narrow_indices import force_narrow_indices
from te_sched.tir.passes.hoist_expressions import hoist_expressions
from te_sched.tir.passes.inline_private_functions import inline_private_functions
from te_sched.tir.passes.lower_intrinsics import lower_intrinsics
from te_sched.tir.passes.lower_packed_calls import lower_packed_calls
from te_sched.tir.passes.lower_thread_allreduce import lower_thread_allreduce
from te_sched.tir.passes.make_packed_api import make_packed_api
from te_sched.tir.passes.make_unpacked_api import make_unpacked_api
from te_sched.tir.passes.remove_hints import remove_assumptions, remove_undefined_stores
from te_sched.tir.passes.split_host_device import (
    annotate_device_regions,
    lower_kernel_launches,
    split_host_device,
)
from te_sched.tir.passes.synchronize_threads import synchronize_threads

__all__ = [
    "AnnotateDeviceRegions",
    "AnnotateEntryFunc",
    "Apply",
    "BindTarget",
    "CommonSubexprElimTIR",
    "CompactBufferAllocation",
    "ConvertBlocksToOpaque",
    "ConvertForLoopsToSerial",
    "ConvertSSA",
    "Filter",
    "FlattenBuffer",
    "ForceNarrowIndexToInt32",
    "HoistExpression",
    "HoistIfThenElse",
    "HoistedConditionals",
    "HoistedLetBindings",
    "InjectDoubleBuffer",
    "InjectPrefetch",
    "InjectSoftwarePipeline",
    "InjectVirtualThread",
    "InlinePrivateFunctions",
    "LiftThreadBinding",
    "LoopPartition",
    "LowerCrossThreadReduction",
    "LowerDeviceKernelLaunch",
    "LowerInitBlock",
    "LowerIntrin",
    "LowerMatchBuffer",
    "LowerOpaqueBlock",
    "LowerTVMBuiltin",
    "LowerThreadAllreduce",
    "MakePackedAPI",
    "MakeUnpackedAPI",
    "ModulePass",
    "NarrowDataType",
    "PassInfo",
    "PlanAndUpdateBufferAllocationLocation",
    "PrimFuncPass",
    "RemoveAssume",
    "RemoveNoOp",
    "RemoveStoreUndef",
    "RenormalizeSplitPattern",
    "RewriteUnsafeSelect",
    "Simplify",
    "SplitHostDevice",
    "StorageFlatten",
    "StorageRewrite",
    "ThreadSync",
    "UnifyThreadBinding",
    "UnrollLoop",
    "VectorizeLoop",
    "VerifyMemory",
    "prim_func_pass",
]


@checked
def prim_func_pass(
    pass_func: Callable[..., Any] | None = None,
    opt_level: int = 0,
    name: str | None = None,
    required: Sequence[str] | None = None,
    traceable: bool = False,
) -> Any:
    """Make a pass of a function (func, module, context) -> func, or of a class with a method
    `transform_function` of this form. A decorator, with or without arguments.

    >>> import te_sched
    >>> @prim_func_pass(opt_level=0)
    ... def mark(func, module, context):
    ...     return func.with_attr("marked", 1)
    >>> func = te_sched.tir.PrimFunc((), te_sched.tir.Evaluate(0), {})
    >>> mark(te_sched.IRModule({"main": func}))["main"].attrs["marked"]
    1
    """
    if pass_func is None:
        return lambda decorated: prim_func_pass(decorated, opt_level, name, required, traceable)
    info = info_of(pass_func, opt_level, name, required, traceable)
    return pass_of(PrimFuncPass, pass_func, "transform_function", info)


def of_each_function(run: Callable[[PrimFunc], PrimFunc], name: str) -> PrimFuncPass:
    """The pass of a function that asks neither the module nor the context."""
    info = PassInfo(name=name)
    passes: PrimFuncPass = pass_of(
        PrimFuncPass, lambda func, *_: run(func), "transform_function", info
    )
    return passes


@checked
def Apply(ftransform: Callable[[PrimFunc], PrimFunc]) -> PrimFuncPass:
    """The pass that applies `ftransform` to each function.

    >>> import te_sched
    >>> module = te_sched.IRModule({"f": te_sched.tir.PrimFunc((), te_sched.tir.Evaluate(0), {})})
    >>> Apply(lambda func: func.with_attr("marked", 1))(module)["f"].attrs["marked"]
    1
    """
    check_function(ftransform, 1, "tir.Apply", "lambda func: func")
    return of_each_function(ftransform, "tir.Apply")


@checked
def Filter(fcond: Callable[[PrimFunc], bool]) -> Pass:
    """The pass that keeps the functions for which `fcond` is true.

    >>> import te_sched
    >>> module = te_sched.IRModule({"f": te_sched.tir.PrimFunc((), te_sched.tir.Evaluate(0), {})})
    >>> Filter(lambda func: "global_symbol" in func.attrs)(module).get_global_vars()
    []
    """

    check_function(fcond, 1, "tir.Filter", "lambda func: True")

    def keep(functions: Mapping[str, PrimFunc]) -> Mapping[str, PrimFunc]:
        return {name: func for name, func in functions.items() if fcond(func)}

    return _of_functions(keep, "tir.Filter")


def VerifyMemory() -> PrimFuncPass:
    """The pass that refuses functions for a GPU that access their arguments outside of kernels.

    >>> from te_sched import IRModule
    >>> from te_sched.script import tir as T
    >>> @T.prim_func
    ... def clear(A: T.Buffer((8,), "int32")):
    ...     T.func_attr({"target": T.target("cuda")})
    ...     A[0] = 0
    >>> VerifyMemory()(IRModule({"clear": clear}))
    Traceback (most recent call last):
    te_sched.errors.BuildError: function clear accesses argument A outside of kernels
    ...
    """

    def verify(func: PrimFunc) -> PrimFunc:
        accessed = access_of_host(func)
        if accessed is not None:
            name = str(func.attrs.get("global_symbol", "main"))
            raise BuildError(
                f"function {name} accesses argument {accessed} outside of kernels",
                "the host cannot access device memory",
                "bind the loops around the access to threads",
                Subject("buffer", accessed),
            )
        return func

    return of_each_function(verify, "tir.VerifyMemory")


def access_of_host(func: PrimFunc) -> str | None:
    """The name of an argument that a function for a GPU accesses outside of kernels, or None."""
    attribute = func.attrs.get("target")
    if attribute is None:
        raise DeclarationError(
            "verification of memory needs the target of the function",
            "",
            'state it: func.with_attr("target", te_sched.target.Target("cuda"))',
        )
    target = attribute if isinstance(attribute, Target) else Target(attribute)
    return host_access(func) if "gpu" in target.keys else None


@checked
def VectorizeLoop(enable_vectorize: bool = True) -> PrimFuncPass:
    """The pass that replaces vectorized loops by vector operations; with False, by serial loops.

    >>> from te_sched import IRModule, tir
    >>> i, A = tir.Var("i"), tir.decl_buffer((4,), name="A")
    >>> loop = tir.For(i, 0, 4, "vectorized", tir.BufferStore(A, 1.0, [i]))
    >>> VectorizeLoop()(IRModule.from_expr(tir.PrimFunc((), loop, {})))["main"].body
    A = T.Buffer((4,))
    A[0:4] = T.Broadcast(T.float32(1), 4)
    """

    predicates = config.current().lowering.predicate_accesses
    settings = Lowering(vectorize=enable_vectorize, predicate_accesses=predicates)
    target = Target.current(allow_none=True)
    return of_each_function(
        lambda func: vectorize_loops(func, settings, target), "tir.VectorizeLoop"
    )


def StorageFlatten(cache_line_size: int = 64, create_bound_attribute: bool = False) -> PrimFuncPass:
    """The pass that makes buffers one-dimensional; both parameters are ignored.

    >>> import te_sched
    >>> A = te_sched.te.placeholder((4, 8), name="A")
    >>> B = te_sched.te.compute((4, 8), lambda i, j: A[i, j] + 1.0, name="B")
    >>> s = te_sched.te.create_schedule(B.op)
    >>> module = te_sched.lower(s, [A, B], stop_after="inject_prefetch")
    >>> StorageFlatten()(module)["main"].body
    for i, j in T.grid(4, 8):
        B = T.Buffer((32,))
        A = T.Buffer((32,))
        B[i * 8 + j] = A[i * 8 + j] + T.float32(1)
    """
    del cache_line_size, create_bound_attribute
    return LoweringPass(flatten_storage, info=PassInfo(name="tir.StorageFlatten"))


@checked
def NarrowDataType(target_bits: int = 32) -> PrimFuncPass:
    """The pass that computes indices in `target_bits` (32 or 16) where their values fit.

    >>> from te_sched import IRModule, tir
    >>> i = tir.Var("i", "int64")
    >>> loop = tir.For(i, 0, tir.IntImm("int64", 4), "serial", tir.Evaluate(i))
    >>> NarrowDataType()(IRModule.from_expr(tir.PrimFunc((), loop, {})))["main"].body
    for i in range(4):
        T.evaluate(i)
    """
    if target_bits not in (16, 32):
        raise LoweringError(
            f"cannot narrow indices to {target_bits} bits",
            "indices have 16, 32 or 64 bits",
            "use NarrowDataType(32)",
        )
    settings = config.current().lowering
    return of_each_function(
        lambda func: narrow_index_types(func, settings, target_bits), "tir.NarrowDataType"
    )


def InjectPrefetch() -> PrimFuncPass:
    """The pass that replaces prefetched regions by loops of prefetches.

    >>> import te_sched
    >>> A = te_sched.te.placeholder((8,), name="A")
    >>> B = te_sched.te.compute((8,), lambda i: A[i] + 1.0, name="B")
    >>> s = te_sched.te.create_schedule(B.op)
    >>> s[B].prefetch(A, B.op.axis[0], 2)
    >>> module = te_sched.lower(s, [A, B], stop_after="schedule_ops")
    >>> InjectPrefetch()(module)["main"].body
    B = T.Buffer((8,))
    with T.realize(B[0:8]):
        for i in range(8):
            A = T.Buffer((8,))
            for prefetch_A_0 in range(1):
                T.prefetch(T.address_of(A[i + 2 + prefetch_A_0 * 16]), 0, 3, 1)
            B[i] = A[i] + T.float32(1)
    """
    return LoweringPass(inject_prefetch)


def Simplify() -> PrimFuncPass:
    """The pass that simplifies expressions and conditions.

    >>> from te_sched import IRModule, tir
    >>> i = tir.Var("i")
    >>> loop = tir.For(i, 0, 4, "serial", tir.Evaluate(i * 2 // 8))
    >>> Simplify()(IRModule.from_expr(tir.PrimFunc((), loop, {})))["main"].body
    for i in range(4):
        T.evaluate(0)
    """
    return LoweringPass(simplify)


def LoopPartition() -> PrimFuncPass:
    """The pass that splits loops where their guards change.

    >>> from te_sched import IRModule, tir
    >>> i, n = tir.Var("i"), tir.SizeVar("n")
    >>> call = tir.Evaluate(tir.call_extern("int32", "f", i))
    >>> loop = tir.For(i, 0, n + 8, "serial", tir.IfThenElse(tir.likely(i < n), call))
    >>> LoopPartition()(IRModule.from_expr(tir.PrimFunc((n,), loop, {})))["main"].body
    n = T.int32(is_size_var=True)
    for i in range(n):
        T.call_extern("int32", "f", i)
    for i in range(8):
        if i + n < n:
            T.call_extern("int32", "f", i + n)
    """
    return LoweringPass(partition_loops)


def InjectVirtualThread() -> PrimFuncPass:
    """The pass that interleaves the statements of virtual threads.

    >>> from te_sched import IRModule, te, tir
    >>> thread = te.thread_axis((0, 2), "vthread")
    >>> body = tir.Evaluate(tir.call_extern("int32", "f", thread.var))
    >>> body = tir.AttrStmt(thread, "virtual_thread", 2, body)
    >>> InjectVirtualThread()(IRModule.from_expr(tir.PrimFunc((), body, {})))["main"].body
    T.call_extern("int32", "f", 0)
    T.call_extern("int32", "f", 1)
    """
    return LoweringPass(inject_virtual_threads)


def InjectDoubleBuffer() -> PrimFuncPass:
    """The pass that fills double buffers one iteration ahead.

    >>> import te_sched
    >>> A = te_sched.te.placeholder((4, 2), name="A")
    >>> B = te_sched.te.compute((4, 2), lambda i, j: A[i, j] + 1.0, name="B")
    >>> s = te_sched.te.create_schedule(B.op)
    >>> copy = s.cache_read(A, "local", [B])
    >>> s[copy].compute_at(s[B], B.op.axis[0])
    >>> s[copy].double_buffer()
    >>> module = te_sched.lower(s, [A, B], stop_after="inject_virtual_threads")
    >>> "allocate([4]" in str(InjectDoubleBuffer()(module))  # twice the 2 elements of a row
    True
    """
    return LoweringPass(inject_double_buffer)


def StorageRewrite() -> PrimFuncPass:
    """The pass that shares memory between allocations.

    >>> import te_sched
    >>> A = te_sched.te.placeholder((4,), name="A")
    >>> B = te_sched.te.compute((4,), lambda i: A[i] + 1.0, name="B")
    >>> C = te_sched.te.compute((4,), lambda i: B[i] * 2.0, name="C")
    >>> D = te_sched.te.compute((4,), lambda i: C[i] - 1.0, name="D")
    >>> s = te_sched.te.create_schedule(D.op)
    >>> module = te_sched.lower(s, [A, D], stop_after="inject_double_buffer")
    >>> [str(one).count("allocate") for one in (module, StorageRewrite()(module))]
    [2, 1]
    """
    return LoweringPass(rewrite_storage)


def HoistIfThenElse(variant: str | None = None) -> PrimFuncPass:
    """The pass that moves invariant conditions out of loops; `variant` is ignored.

    >>> from te_sched import IRModule, tir
    >>> i, n = tir.Var("i"), tir.SizeVar("n")
    >>> guard = tir.IfThenElse(n > 2, tir.Evaluate(tir.call_extern("int32", "f", i)))
    >>> loop = tir.For(i, 0, 4, "serial", guard)
    >>> HoistIfThenElse()(IRModule.from_expr(tir.PrimFunc((n,), loop, {})))["main"].body
    n = T.int32(is_size_var=True)
    if n > 2:
        for i in range(4):
            T.call_extern("int32", "f", i)
    """
    del variant
    return LoweringPass(hoist_conditions)


def HoistExpression() -> PrimFuncPass:
    """The pass that moves invariant conditions and lets out of loops, also those of expressions.

    >>> from te_sched import IRModule, tir
    >>> i, n = tir.Var("i"), tir.SizeVar("n")
    >>> value = tir.if_then_else(n > 2, i, 0)
    >>> loop = tir.For(i, 0, 4, "serial", tir.Evaluate(tir.call_extern("int32", "f", value)))
    >>> HoistExpression()(IRModule.from_expr(tir.PrimFunc((n,), loop, {})))["main"].body
    n = T.int32(is_size_var=True)
    if 2 < n:
        for i in range(4):
            T.call_extern("int32", "f", i)
    else:
        for i in range(4):
            T.call_extern("int32", "f", 0)
    """
    return LoweringPass(hoist_expressions)


def UnrollLoop() -> PrimFuncPass:
    """The pass that unrolls loops.

    >>> from te_sched import IRModule, tir
    >>> i = tir.Var("i")
    >>> loop = tir.For(i, 0, 2, "unrolled", tir.Evaluate(tir.call_extern("int32", "f", i)))
    >>> UnrollLoop()(IRModule.from_expr(tir.PrimFunc((), loop, {})))["main"].body
    T.call_extern("int32", "f", 0)
    T.call_extern("int32", "f", 1)
    """
    return LoweringPass(unroll_loops)


def RemoveNoOp() -> PrimFuncPass:
    """The pass that removes statements without effect.

    >>> from te_sched import IRModule, tir
    >>> i = tir.Var("i")
    >>> loop = tir.For(i, 0, 2, "serial", tir.Evaluate(i))
    >>> RemoveNoOp()(IRModule.from_expr(tir.PrimFunc((), loop, {})))["main"].body
    T.evaluate(0)
    """
    return LoweringPass(remove_no_op)


def RewriteUnsafeSelect() -> PrimFuncPass:
    """The pass that replaces selects with unsafe values by if_then_else.

    >>> from te_sched import IRModule, tir
    >>> i, A = tir.Var("i"), tir.decl_buffer((4,), name="A")
    >>> body = tir.Evaluate(tir.Select(i < 4, A[i], 0.0))
    >>> RewriteUnsafeSelect()(IRModule.from_expr(tir.PrimFunc((i,), body, {})))["main"].body
    i = T.int32()
    A = T.Buffer((4,))
    T.if_then_else(i < 4, A[i], T.float32(0))
    """
    return LoweringPass(rewrite_unsafe_select)


@checked
def CommonSubexprElimTIR(
    enable_cse_tir: bool = True, identify_equiv_terms: bool = False
) -> PrimFuncPass:
    """The pass that computes common subexpressions once; with `identify_equiv_terms` also those
    that differ only in their form.

    >>> from te_sched import IRModule, tir
    >>> i = tir.Var("i")
    >>> body = tir.Evaluate(tir.call_extern("int32", "f", i * 2 + 1, i * 2 + 1))
    >>> CommonSubexprElimTIR()(IRModule.from_expr(tir.PrimFunc((i,), body, {})))["main"].body
    i = T.int32()
    with T.LetStmt(i * 2 + 1) as cse_var_1:
        T.call_extern("int32", "f", cse_var_1, cse_var_1)
    """

    def eliminate(func: PrimFunc) -> PrimFunc:
        settings = config.current().lowering
        if not enable_cse_tir:
            return func
        if identify_equiv_terms:
            func = identify_equal_terms(func, settings)
        return eliminate_common_subexpressions(func, settings)

    return of_each_function(eliminate, "tir.CommonSubexprElimTIR")


def LowerCrossThreadReduction() -> PrimFuncPass:
    """The pass that combines the values of threads in reductions over loops of threads.

    >>> from te_sched import IRModule
    >>> from te_sched.script import tir as T
    >>> @T.prim_func
    ... def total(A: T.Buffer((32,), "int32"), S: T.Buffer((1,), "int32")):
    ...     for k in T.thread_binding(32, thread="threadIdx.x"):
    ...         with T.block("S"):
    ...             vk = T.axis.reduce(32, k)
    ...             with T.init():
    ...                 S[0] = 0
    ...             S[0] = S[0] + A[vk]
    >>> module = LowerCrossThreadReduction()(IRModule({"total": total}))
    >>> [name for name in ("S_cross_thread", "S_write_back") if name in str(module)]
    ['S_cross_thread', 'S_write_back']
    """
    return LoweringPass(lower_cross_thread)


def LowerInitBlock() -> PrimFuncPass:
    """The pass that replaces initializations of blocks by conditions.

    >>> from te_sched import IRModule
    >>> from te_sched.script import tir as T
    >>> @T.prim_func
    ... def total(A: T.Buffer((4,), "int32"), S: T.Buffer((), "int32")):
    ...     for k in range(4):
    ...         with T.block("S"):
    ...             vk = T.axis.reduce(4, k)
    ...             with T.init():
    ...                 S[()] = 0
    ...             S[()] = S[()] + A[vk]
    >>> print(LowerInitBlock()(IRModule({"total": total}))["total"])
    # from tvm.script import tir as T
    <BLANKLINE>
    @T.prim_func
    def total(A: T.Buffer((4,), "int32"), S: T.Buffer((), "int32")):
        # with T.block("root"):
        for k in range(4):
            with T.block("S"):
                vk = T.axis.reduce(4, k)
                T.reads(A[vk])
                T.writes(S[()])
                if vk == 0:
                    S[()] = 0
                S[()] = S[()] + A[vk]
    """
    return LoweringPass(lower_init)


def PlanAndUpdateBufferAllocationLocation() -> PrimFuncPass:
    """The pass that allocates the buffers of blocks in the loops that use them.

    >>> from te_sched import IRModule
    >>> from te_sched.script import tir as T
    >>> @T.prim_func
    ... def twice(A: T.Buffer((4,), "int32"), C: T.Buffer((4,), "int32")):
    ...     B = T.alloc_buffer((4,), "int32")
    ...     for i in range(4):
    ...         B[i] = A[i] + 1
    ...         C[i] = B[i] * 2
    >>> print(PlanAndUpdateBufferAllocationLocation()(IRModule({"twice": twice}))["twice"])
    # from tvm.script import tir as T
    <BLANKLINE>
    @T.prim_func
    def twice(A: T.Buffer((4,), "int32"), C: T.Buffer((4,), "int32")):
        # with T.block("root"):
        for i in range(4):
            with T.block(""):
                T.reads(A[i])
                T.writes(C[i])
                B = T.alloc_buffer((4,), "int32")
                B[i] = A[i] + 1
                C[i] = B[i] * 2
    """
    return LoweringPass(place_allocations)


def ConvertBlocksToOpaque() -> PrimFuncPass:
    """The pass that replaces the iterators of blocks by their values.

    >>> from te_sched import IRModule
    >>> from te_sched.script import tir as T
    >>> @T.prim_func
    ... def clear(A: T.Buffer((8,), "int32")):
    ...     for i, j in T.grid(2, 4):
    ...         with T.block("A"):
    ...             v = T.axis.spatial(8, i * 4 + j)
    ...             A[v] = 0
    >>> print(ConvertBlocksToOpaque()(IRModule({"clear": clear}))["clear"])
    # from tvm.script import tir as T
    <BLANKLINE>
    @T.prim_func
    def clear(A: T.Buffer((8,), "int32")):
        # with T.block("root"):
        for i, j in T.grid(2, 4):
            with T.block("A"):
                T.reads()
                T.writes(A[i * 4 + j])
                A[i * 4 + j] = 0
    """
    return LoweringPass(make_opaque)


def UnifyThreadBinding() -> PrimFuncPass:
    """The pass that gives each axis of threads of a kernel one loop and one variable.

    >>> from te_sched import IRModule
    >>> from te_sched.script import tir as T
    >>> @T.prim_func
    ... def clear(A: T.Buffer((2, 8), "int32")):
    ...     for k in range(2):
    ...         for i in T.thread_binding(8, thread="threadIdx.x"):
    ...             A[k, i] = 0
    >>> print(UnifyThreadBinding()(IRModule({"clear": clear}))["clear"])
    # from tvm.script import tir as T
    <BLANKLINE>
    @T.prim_func
    def clear(A: T.Buffer((2, 8), "int32")):
        for k in range(2):
            for threadIdx_x in T.thread_binding(8, thread="threadIdx.x"):
                A[k, threadIdx_x] = 0
    """
    return LoweringPass(unify_equal_threads)


def LiftThreadBinding() -> PrimFuncPass:
    """The pass that moves loops of threads outwards, which `UnifyThreadBinding` does, too.

    >>> LiftThreadBinding().info.name
    'tir.LiftThreadBinding'
    """
    return LoweringPass(unify_threads)


def InjectSoftwarePipeline() -> PrimFuncPass:
    """The pass that overlaps the iterations of loops that are annotated as pipelines.

    >>> from te_sched import IRModule
    >>> from te_sched.script import tir as T
    >>> stages = {"software_pipeline_stage": [0, 1], "software_pipeline_order": [0, 1]}
    >>> @T.prim_func
    ... def twice(A: T.Buffer((8,), "int32"), C: T.Buffer((8,), "int32")):
    ...     for i in T.serial(8, annotations=stages):
    ...         with T.block(""):
    ...             B = T.alloc_buffer((1,), "int32")
    ...             B[0] = A[i] * 2
    ...             C[i] = B[0] + 1
    >>> module = Simplify()(InjectSoftwarePipeline()(IRModule({"twice": twice})))
    >>> for line in str(module).splitlines():
    ...     if "] = " in line:
    ...         print(line.strip())
    B[0, 0] = A[0] * 2
    B[(i + 1) % 2, 0] = A[i + 1] * 2
    C[i] = B[i % 2, 0] + 1
    C[7] = B[1, 0] + 1
    """
    return LoweringPass(inject_pipelines)


@checked
def CompactBufferAllocation(is_strict: bool = True) -> PrimFuncPass:
    """The pass that shrinks the buffers of blocks to the regions that are accessed.

    Without `is_strict` buffers may become larger than they are declared.

    >>> from te_sched import IRModule
    >>> from te_sched.script import tir as T
    >>> @T.prim_func
    ... def twice(A: T.Buffer((4,), "int32"), C: T.Buffer((4,), "int32")):
    ...     for i in range(4):
    ...         with T.block(""):
    ...             B = T.alloc_buffer((4,), "int32")
    ...             B[i] = A[i] + 1
    ...             C[i] = B[i] * 2
    >>> "alloc_buffer((1,)" in str(CompactBufferAllocation()(IRModule({"twice": twice})))
    True
    """
    settings = config.current().lowering
    return of_each_function(
        lambda func: compact_buffers(func, settings, is_strict), "tir.CompactBufferAllocation"
    )


def LowerMatchBuffer() -> PrimFuncPass:
    """The pass that replaces views of regions by the buffers that they view.

    >>> from te_sched import IRModule
    >>> from te_sched.script import tir as T
    >>> @T.prim_func
    ... def clear(A: T.Buffer((4, 8), "int32")):
    ...     for i in range(4):
    ...         with T.block(""):
    ...             row = T.match_buffer(A[i, 0:8], (8,), "int32", offset_factor=1)
    ...             row[3] = 0
    >>> "A[i, 3] = 0" in str(LowerMatchBuffer()(IRModule({"clear": clear})))
    True
    """
    return LoweringPass(lower_match_buffers)


def LowerOpaqueBlock() -> PrimFuncPass:
    """The pass that replaces opaque blocks by their bodies.

    >>> from te_sched import IRModule
    >>> from te_sched.script import tir as T
    >>> @T.prim_func
    ... def clear(A: T.Buffer((8,), "int32")):
    ...     for i in range(8):
    ...         with T.block("A"):
    ...             T.where(i < 5)
    ...             A[i] = 0
    >>> print(LowerOpaqueBlock()(IRModule({"clear": clear}))["clear"])
    # from tvm.script import tir as T
    <BLANKLINE>
    @T.prim_func
    def clear(A: T.Buffer((8,), "int32")):
        for i in range(8):
            if i < 5:
                A[i] = 0
    """
    settings = config.current().lowering

    def lower(func: PrimFunc) -> PrimFunc:
        if func.origin == "schedule":
            return func
        lowered = lower_opaque_blocks(func, settings)
        return declare_buffers(lowered, settings, alignments(func.body))

    return of_each_function(lower, "tir.LowerOpaqueBlock")


def FlattenBuffer() -> PrimFuncPass:
    """The pass that makes the buffers of functions that are not made by a schedule flat.

    >>> from te_sched import IRModule
    >>> from te_sched.script import tir as T
    >>> @T.prim_func
    ... def clear(A: T.Buffer((4, 8), "int32")):
    ...     B = T.decl_buffer((4, 8), "int32")
    ...     for i, j in T.grid(4, 8):
    ...         B[i, j] = A[i, j]
    >>> print(FlattenBuffer()(IRModule({"clear": clear}))["clear"])
    # from tvm.script import tir as T
    <BLANKLINE>
    @T.prim_func
    def clear(A: T.Buffer((4, 8), "int32")):
        B = T.allocate([32], "int32", "global")
        for i, j in T.grid(4, 8):
            B_1 = T.Buffer((32,), "int32", data=B)
            A_1 = T.Buffer((32,), "int32", data=A.data)
            B_1[i * 8 + j] = A_1[i * 8 + j]
    """
    settings = config.current().lowering

    def flatten(func: PrimFunc) -> PrimFunc:
        if func.origin == "schedule":
            return func
        return flatten_storage(drop_declarations(func), settings)

    return of_each_function(flatten, "tir.FlattenBuffer")


def RenormalizeSplitPattern() -> PrimFuncPass:
    """The pass that brings divisions of split axes into the form that simplifies best.

    >>> from te_sched import IRModule, tir
    >>> i, j = tir.Var("i"), tir.Var("j")
    >>> body = tir.Evaluate(tir.call_extern("int32", "f", (i * 32 + j) // 8))
    >>> RenormalizeSplitPattern()(IRModule.from_expr(tir.PrimFunc((i, j), body, {})))["main"].body
    i = T.int32()
    j = T.int32()
    T.call_extern("int32", "f", i * 4 + j // 8)
    """
    return LoweringPass(renormalize_split_patterns)


def RemoveAssume() -> PrimFuncPass:
    """The pass that removes evaluations of `T.assume`, and statements without effect.

    >>> from te_sched import IRModule
    >>> from te_sched.script import tir as T
    >>> @T.prim_func
    ... def ten(A: T.Buffer((2,), "int32")):
    ...     T.evaluate(T.assume(A[0] == 5))
    ...     A[1] = 10
    >>> RemoveAssume()(IRModule({"ten": ten}))["ten"].body
    A = T.Buffer((2,), "int32")
    A[1] = 10
    """
    return LoweringPass(remove_assumptions)


def RemoveStoreUndef() -> PrimFuncPass:
    """The pass that removes stores of undefined values, and statements without effect.

    >>> from te_sched import IRModule
    >>> from te_sched.script import tir as T
    >>> @T.prim_func
    ... def nothing(A: T.Buffer((2,), "int32")):
    ...     A[1] = 1 + T.undef(dtype="int32")
    >>> RemoveStoreUndef()(IRModule({"nothing": nothing}))["nothing"].body
    T.evaluate(0)
    """
    return LoweringPass(remove_undefined_stores)


def ForceNarrowIndexToInt32() -> PrimFuncPass:
    """The pass that computes all int64 values in int32, without a proof that they fit.

    >>> from te_sched import IRModule
    >>> from te_sched.script import tir as T
    >>> @T.prim_func
    ... def clear(A: T.Buffer((T.int64(8),), "float32")):
    ...     for i in range(T.int64(8)):
    ...         A[i] = T.float32(0)
    >>> ForceNarrowIndexToInt32()(IRModule({"clear": clear}))["clear"].body
    for i in range(8):
        A = T.Buffer((8,))
        A[i] = T.float32(0)
    """
    return LoweringPass(force_narrow_indices)


def _of_functions(
    transform: Callable[[Mapping[str, PrimFunc]], Mapping[str, PrimFunc]], name: str
) -> Pass:
    """The pass of a function on all functions of a module together."""

    class OfFunctions(ModulePass, name=name):
        def transform_module(self, mod: IRModule, *_: object) -> Mapping[str, PrimFunc]:
            return transform(mod.functions)

    return OfFunctions()


def ConvertSSA() -> Pass:
    """The pass that gives each definition of a module a variable of its own.

    >>> from te_sched import IRModule, tir
    >>> x = tir.Var("x")
    >>> body = tir.SeqStmt([tir.LetStmt(x, 1, tir.Evaluate(x)), tir.LetStmt(x, 2, tir.Evaluate(x))])
    >>> first, second = ConvertSSA()(IRModule.from_expr(tir.PrimFunc((), body, {})))["main"].body
    >>> first.var.same_as(second.var)
    False
    """
    return _of_functions(convert_ssa, "tir.ConvertSSA")


def InlinePrivateFunctions() -> Pass:
    """The pass that puts the statements of private functions where these are called.

    >>> from te_sched import IRModule, tir
    >>> n = tir.Var("n")
    >>> private = tir.PrimFunc([n], tir.Evaluate(tir.call_extern("int32", "print", n)))
    >>> visible = tir.PrimFunc([], tir.Evaluate(tir.call_tir("f", 3)))
    >>> module = IRModule({"main": visible.with_attr("global_symbol", "main"), "f": private})
    >>> InlinePrivateFunctions()(module)["main"].body
    T.call_extern("int32", "print", 3)
    """
    return _of_functions(inline_private_functions, "tir.InlinePrivateFunctions")


def AnnotateEntryFunc() -> Pass:
    """The pass that marks the only function of a module as the one that callers see.

    >>> from te_sched import IRModule, tir
    >>> module = IRModule({"f": tir.PrimFunc((), tir.Evaluate(0), {})})
    >>> AnnotateEntryFunc()(module)["f"].attrs["tir.is_entry_func"]
    True
    """
    return _of_functions(_annotate_entry, "tir.AnnotateEntryFunc")


def _annotate_entry(functions: Mapping[str, PrimFunc]) -> Mapping[str, PrimFunc]:
    visible = [name for name, func in functions.items() if "global_symbol" in func.attrs]
    names = list(functions) if len(functions) == 1 else visible
    if len(names) != 1:
        raise LoweringError(
            f"cannot choose the entry function of a module of {len(functions)} functions",
            f"{len(visible)} of them have a global_symbol, expected 1",
            "give a global_symbol to the entry function only",
        )
    return {**functions, names[0]: functions[names[0]].with_attr("tir.is_entry_func", True)}


@checked
def BindTarget(target: Target) -> PrimFuncPass:
    """The pass that sets the attribute "target" of functions that have none.

    Functions with a global_symbol, which callers see, also get the host of the target.

    >>> from te_sched import IRModule, target, tir
    >>> module = IRModule({"f": tir.PrimFunc((), tir.Evaluate(0), {})})
    >>> BindTarget(target.Target("llvm"))(module)["f"].attrs["target"]
    llvm
    """

    def bind(func: PrimFunc) -> PrimFunc:
        is_visible = "global_symbol" in func.attrs
        bound = func.attrs.get("target")
        if bound is None:
            return func.with_attr("target", target if is_visible else Target(target.text))
        if not is_visible or target.host is None or bound.host is not None:
            return func
        return func.with_attr("target", Target(bound, target.host))

    return of_each_function(bind, "tir.BindTarget")


def AnnotateDeviceRegions() -> PrimFuncPass:
    """The pass that puts the attribute "target" around the parts of functions for a device.

    >>> from te_sched import IRModule
    >>> from te_sched.script import tir as T
    >>> @T.prim_func
    ... def clear(A: T.Buffer((16,), "int32")):
    ...     T.func_attr({"target": T.target("cuda", host="llvm")})
    ...     i = T.launch_thread("threadIdx.x", 16)
    ...     A[i] = 0
    >>> body = AnnotateDeviceRegions()(IRModule({"clear": clear}))["clear"].body
    >>> body.attr_key, body.node
    ('target', cuda)
    """

    def annotate(func: PrimFunc) -> PrimFunc:
        if "target" not in func.attrs:
            name = str(func.attrs.get("global_symbol", "main"))
            raise DeclarationError(
                f"function {name} has no target, whose device its parts would run on",
                "",
                "apply BindTarget first",
            )
        return annotate_device_regions(func, Target(Target(func.attrs["target"]).text))

    return of_each_function(annotate, "tir.AnnotateDeviceRegions")


def SplitHostDevice() -> Pass:
    """The pass that makes a function of each part with an attribute "target", and calls it.

    >>> from te_sched import IRModule
    >>> from te_sched.script import tir as T
    >>> @T.prim_func
    ... def clear(A: T.Buffer((16,), "int32")):
    ...     T.func_attr({"target": T.target("cuda", host="llvm")})
    ...     i = T.launch_thread("threadIdx.x", 16)
    ...     A[i] = 0
    >>> module = SplitHostDevice()(AnnotateDeviceRegions()(IRModule({"clear": clear})))
    >>> module["clear"].body
    A = T.handle("int32", "global")
    clear_kernel(A)
    >>> [param.name for param in module["clear_kernel"].params]
    ['A']
    """
    return _of_functions(
        lambda functions: split_host_device(functions, _is_processor), "tir.SplitHostDevice"
    )


def LowerDeviceKernelLaunch() -> Pass:
    """The pass that launches functions for a device, with their extents, instead of calling them.

    >>> from te_sched import IRModule
    >>> from te_sched.script import tir as T
    >>> @T.prim_func
    ... def clear(A: T.Buffer((16,), "int32")):
    ...     T.func_attr({"target": T.target("cuda", host="llvm")})
    ...     i = T.launch_thread("threadIdx.x", 16)
    ...     A[i] = 0
    >>> module = SplitHostDevice()(AnnotateDeviceRegions()(IRModule({"clear": clear})))
    >>> host = module["clear"].with_attr("target", Target("llvm"))
    >>> module = LowerDeviceKernelLaunch()(IRModule({**module.functions, "clear": host}))
    >>> module["clear"].body
    A = T.handle("int32", "global")
    T.call_packed("clear_kernel", A, 16)
    >>> module["clear_kernel"].attrs["tir.kernel_launch_params"]
    ['threadIdx.x']
    """
    return _of_functions(
        lambda functions: lower_kernel_launches(functions, _is_processor),
        "tir.LowerDeviceKernelLaunch",
    )


def LowerThreadAllreduce() -> PrimFuncPass:
    """The pass that combines the values of threads by shuffles and shared memory.

    >>> from te_sched import IRModule
    >>> from te_sched.script import tir as T
    >>> @T.prim_func
    ... def total(A: T.Buffer((32,), "int32"), S: T.Buffer((1,), "int32")):
    ...     T.func_attr({"target": T.target("cuda")})
    ...     i = T.launch_thread("threadIdx.x", 32)
    ...     R = T.decl_buffer((1,), "int32", scope="local")
    ...     add = T.comm_reducer(lambda x, y: x + y, [0])
    ...     with T.attr(add, "reduce_scope", T.reinterpret("handle", T.uint64(0))):
    ...         T.tvm_thread_allreduce(T.uint32(1), A[i], T.bool(True), R[0], i)
    ...     S[0] = R[0]
    >>> str(LowerThreadAllreduce()(IRModule({"f": total}))).count("tvm_warp_shuffle_down")
    5
    """

    def run(func: PrimFunc) -> PrimFunc:
        if "target" not in func.attrs:
            name = str(func.attrs.get("global_symbol", "main"))
            raise DeclarationError(
                f"function {name} has no target, whose threads are combined",
                "",
                "apply BindTarget first",
            )
        has_mask = Target(func.attrs["target"]).kind != "metal"
        return lower_thread_allreduce(func, has_mask, config.current().lowering)

    return of_each_function(run, "tir.LowerThreadAllreduce")


def MakePackedAPI() -> Pass:
    """The pass that gives functions that callers see the parameters of packed functions.

    >>> from te_sched import IRModule
    >>> from te_sched.script import tir as T
    >>> @T.prim_func
    ... def next_of(n: T.int32) -> T.int32:
    ...     T.func_attr({"target": T.target("llvm", host="llvm")})
    ...     return n + 1
    >>> func = MakePackedAPI()(IRModule({"next_of": next_of}))["next_of"]
    >>> [param.name for param in func.params]
    ['args', 'arg_type_ids', 'num_args', 'out_ret_value', 'out_ret_tcode', 'resource_handle']
    >>> func.body.message
    "next_of: num_args should be 1"
    """

    return _of_functions(
        lambda functions: make_packed_api(functions, _host_of), "tir.MakePackedAPI"
    )


def MakeUnpackedAPI() -> Pass:
    """The pass that gives functions that callers see pointers as parameters for buffers.

    >>> from te_sched import IRModule
    >>> from te_sched.script import tir as T
    >>> @T.prim_func
    ... def clear(A: T.Buffer((8,), "int32")):
    ...     T.func_attr({"target": T.target("llvm", host="llvm")})
    ...     A[0] = 0
    >>> func = MakeUnpackedAPI()(IRModule({"clear": clear}))["clear"]
    >>> func.params[0].type_annotation.element_type, func.ret_type
    ('int32', 'int32')
    """
    return _of_functions(
        lambda functions: make_unpacked_api(functions, _host_of), "tir.MakeUnpackedAPI"
    )


def _host_of(func: PrimFunc) -> tuple[Target, int] | None:
    """The target of the host of a function, and the type of its device."""
    target = _target_of(func, "which decides on its host")
    return None if target.host is None else (target.host, _device_type(target))


def LowerIntrin() -> PrimFuncPass:
    """The pass that lowers divisions that round down, and functions to LLVM's for that target.

    >>> from te_sched import IRModule
    >>> from te_sched.script import tir as T
    >>> @T.prim_func
    ... def eighth(A: T.Buffer((8,), "int32")):
    ...     T.func_attr({"target": T.target("llvm")})
    ...     A[0] = A[1] // 8
    >>> "A[0] = T.shift_right(A[1], 3)" in str(LowerIntrin()(IRModule({"f": eighth})))
    True
    """

    def lower(func: PrimFunc) -> PrimFunc:
        target = _target_of(func, "whose functions it would call")
        settings = config.current().lowering
        return lower_intrinsics(func, target.keys, target.kind == "llvm", settings)

    return of_each_function(lower, "tir.LowerIntrin")


def LowerTVMBuiltin() -> PrimFuncPass:
    """The pass that stores the arguments of packed calls on the stack, in functions for a host.

    >>> from te_sched import IRModule
    >>> from te_sched.script import tir as T
    >>> @T.prim_func
    ... def call(n: T.int32):
    ...     T.func_attr({"target": T.target("llvm")})
    ...     T.call_packed("f", n)
    >>> module = LowerTVMBuiltin()(IRModule({"call": call}))
    >>> for line in str(module["call"]).splitlines()[-3:]:
    ...     print(line.strip())
    T.tvm_struct_set(stack_value, 0, 12, T.Cast("int64", n))
    stack_tcode_1[0] = 0
    T.call_packed_lowered("f", stack_value, stack_tcode, 0, 1)
    """

    def lower(func: PrimFunc) -> PrimFunc:
        attribute = func.attrs.get("target")
        target = None if attribute is None else Target(attribute)
        is_of_host = func.attrs.get("tir.is_host_func", False)
        if not is_of_host and (target is None or "cpu" not in target.keys):
            return func
        return lower_packed_calls(func, None if target is None else _device_type(target))

    return of_each_function(lower, "tir.LowerTVMBuiltin")


def _target_of(func: PrimFunc, why: str) -> Target:
    attribute = func.attrs.get("target")
    if attribute is None:
        name = str(func.attrs.get("global_symbol", "main"))
        raise DeclarationError(
            f"function {name} has no target, {why}", "", "apply BindTarget first"
        )
    return attribute if isinstance(attribute, Target) else Target(attribute)


def _device_type(target: Target) -> int:
    """DLPack's number of the devices of a target."""
    return DEVICE_TYPES[next((key for key in target.keys if key in DEVICE_TYPES), "cpu")]


@checked
def ThreadSync(storage_scope: str) -> PrimFuncPass:
    """The pass that inserts barriers between accesses of threads to memory of a scope, "shared"
    or "shared.dyn".

    >>> from te_sched import IRModule
    >>> from te_sched.script import tir as T
    >>> @T.prim_func
    ... def reverse(A: T.Buffer((8,), "int32")):
    ...     i = T.launch_thread("threadIdx.x", 8)
    ...     B = T.decl_buffer((8,), "int32", scope="shared")
    ...     B[i] = A[i]
    ...     A[i] = B[7 - i]
    >>> 'T.tvm_storage_sync("shared")' in str(ThreadSync("shared")(IRModule({"f": reverse})))
    True
    """

    def run(func: PrimFunc) -> PrimFunc:
        return synchronize_threads(func, storage_scope, config.current().lowering)

    return of_each_function(run, "tir.ThreadSync")


def _is_processor(target: Any) -> bool:
    return "cpu" in Target(target).keys


def ConvertForLoopsToSerial() -> PrimFuncPass:
    """The pass that makes parallel loops serial.

    >>> from te_sched import IRModule
    >>> from te_sched.script import tir as T
    >>> @T.prim_func
    ... def clear(A: T.Buffer((8,), "float32")):
    ...     for i in T.parallel(8):
    ...         A[i] = T.float32(0)
    >>> ConvertForLoopsToSerial()(IRModule({"clear": clear}))["clear"].body
    for i in range(8):
        A = T.Buffer((8,))
        A[i] = T.float32(0)
    """

    def convert(func: PrimFunc) -> PrimFunc:
        return func.with_body(_SerialLoops().visit(func.body))

    return of_each_function(convert, "tir.ConvertForLoopsToSerial")


class _SerialLoops(StatementMapper):
    def visit_For(self, node: For) -> Stmt:
        loop: For = self.generic(node)
        return replace(loop, kind="serial") if loop.kind == "parallel" else loop


def __getattr__(name: str) -> Any:
    """Load the pass that schedules, which stands above, at its first use."""
    if name == "DefaultGPUSchedule":
        return import_module("te_sched.meta_schedule.default_gpu_schedule").DefaultGPUSchedule
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


check_makers(sys.modules[__name__])
_tell_of_absent_names(__name__)
