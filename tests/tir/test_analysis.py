"""tir.analysis: small programs whose properties are known."""

from __future__ import annotations

from typing import Any

import pytest

import te_sched
from te_sched import IRModule, te, tir
from te_sched.errors import BuildError, DeclarationError, IllFormedError, ScheduleError
from te_sched.script import tir as T
from te_sched.tir import analysis


def parsed(
    body: str, head: str = 'A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "int32")'
) -> Any:
    """The function of a script, which may be ill-formed."""
    lines = "\n    ".join(body.splitlines())
    text = f"@T.prim_func(check_well_formed=False)\ndef f({head}):\n    {lines}\n"
    return te_sched.script.from_source(text)


def flops(body: str) -> float:
    return analysis.estimate_tir_flops(IRModule({"f": parsed(body)}))


@pytest.mark.parametrize(
    ("body", "count"),
    [
        ("for i in range(8):\n    A[i + 8] = A[i] * 2.0 + 1.0", 16),
        ("for i in range(4):\n    for j in range(i + 2):\n        A[j] = A[i] + 1.0", 20),
        ("for i in range(16):\n    if i % 2 == 0:\n        A[i] = A[i] + 1.0\n    else:\n"
         "        A[i] = A[i] + 1.0 + A[0]", 32),
        ("A[0] = T.Select(A[0] + 1.0 < 2.0, A[0] + 1.0, A[0] + A[1] + 1.0)", 2),
        ("B[0] = T.min(B[0] * B[1], B[2] // B[3])", 3),
        ("A[0] = T.exp(A[0] + 1.0)", 1),
        ("B[B[0] + 1] = B[B[1] * 2]", 0),
        ("x: T.float32 = A[0] + 1.0\nA[0] = x", 1),
        ("for t in T.thread_binding(8, thread='threadIdx.x'):\n    A[t] = A[t] + 1.0", 8),
        ("t = T.launch_thread('threadIdx.x', 4)\nA[t] = A[t] + 1.0", 4),
        ("for i in range(4, 2):\n    A[0] = A[0] + 1.0", 0),
    ],
)  # fmt: skip
def test_operations_are_counted(body: str, count: int) -> None:
    assert flops(body) == count


def test_initializations_of_blocks_do_not_count() -> None:
    body = """
for i, k in T.grid(4, 8):
    with T.block("A"):
        vi, vk = T.axis.remap("SR", [i, k])
        with T.init():
            A[vi] = A[vi + 1] + 1.0
        A[vi] = A[vi] + A[vk] * 2.0"""
    assert flops(body) == 64


def test_stated_number_of_operations() -> None:
    func = parsed("while B[0] < 3:\n    B[0] = B[0] + 1")
    with pytest.raises(DeclarationError, match="cannot count the operations of a while loop"):
        analysis.estimate_tir_flops(func)
    assert analysis.estimate_tir_flops(func.with_attr("estimated_flops", 7)) == 7
    module = IRModule({"f": func.with_attr("estimated_flops", 7), "g": parsed("A[0] = A[0] + 1.0")})
    assert analysis.estimate_tir_flops(module) == 8


def test_anchor_is_the_largest_reduction() -> None:
    A, k = te.placeholder((8, 4), name="A"), te.reduce_axis((0, 4), "k")
    B = te.compute((8,), lambda i: te.sum(A[i, k], axis=k), name="small")
    r = te.reduce_axis((0, 64), "r")
    C = te.compute((8,), lambda i: te.sum(B[i] * r, axis=r), name="large")
    block = analysis.find_anchor_block(IRModule({"main": te.create_prim_func([A, C])}))
    assert block is not None
    assert block.name_hint == "large"
    assert analysis.find_anchor_block(IRModule({"f": parsed("A[0] = 1.0")})) is None


MEMORY = """
C = T.decl_buffer((8, 2), "float16", scope="global.texture")
with T.decl_buffer((3,), "int8") as D:
    D[0] = T.int8(1)
for i in range(4):
    E = T.decl_buffer((5,), "int8")
    E[0] = T.int8(1)"""


def test_memory_in_use_at_the_same_time() -> None:
    func = parsed(MEMORY)
    assert analysis.calculate_allocated_bytes(func) == {"main": {"global.texture": 32, "global": 5}}
    sizes = [analysis.calculate_workspace_bytes(func, one) for one in (1, 16)]
    assert sizes == [37, 48]


def test_memory_of_symbolic_size_counts_nothing() -> None:
    func = parsed("C = T.decl_buffer((n,), 'int8')\nC[0] = T.int8(0)", "n: T.int32")
    assert analysis.calculate_allocated_bytes(IRModule({"f": func})) == {"f": {"global": 0}}
    assert analysis.calculate_constant_bytes(func, 1) == 0


def test_alignment_must_be_positive() -> None:
    with pytest.raises(DeclarationError, match="alignment must be at least 1, got 0"):
        analysis.calculate_workspace_bytes(parsed("A[0] = 1.0"), 0)


@pytest.mark.parametrize(
    ("body", "is_pure"),
    [
        ("T.evaluate(A[0])", True),
        ("C = T.decl_buffer((4,), 'int32')\nC[0] = B[0]", True),
        ("with T.block('x'):\n    C = T.alloc_buffer((4,), 'int32')\n    C[0] = B[0]", True),
        ("T.evaluate(T.call_pure_extern('int32', 'f'))", True),
        ("T.evaluate(T.call_extern('int32', 'f'))", False),
        ("A[0] = 1.0", False),
    ],
)
def test_purity(body: str, is_pure: bool) -> None:
    assert analysis.is_pure_function(parsed(body)) is is_pure


def lowered(target: str, *axes: str) -> tir.PrimFunc:
    A = te.placeholder((8, 4), name="A")
    B = te.compute((8, 4), lambda i, j: A[i, j] + 1.0, name="B")
    s = te.create_schedule(B)
    for axis, tag in zip(B.op.axis, axes, strict=False):
        s[B].bind(axis, te.thread_axis(tag))
    return te_sched.lower(s, [A, B])["main"].with_attr("target", te_sched.target.Target(target))


def test_memory_of_the_device_is_accessed_in_kernels() -> None:
    assert analysis.verify_memory(lowered("cuda", "blockIdx.x", "threadIdx.x"))
    assert analysis.verify_memory(lowered("llvm"))
    assert not analysis.verify_memory(lowered("cuda"))
    with pytest.raises(BuildError, match="function main accesses argument B outside of kernels"):
        tir.transform.VerifyMemory()(IRModule({"main": lowered("cuda")}))
    with pytest.raises(DeclarationError, match="needs the target"):
        analysis.verify_memory(parsed("A[0] = 1.0"))


def test_limits_of_kernels() -> None:
    func = lowered("cuda", "blockIdx.x", "threadIdx.x")
    assert analysis.verify_gpu_code(func, {"max_threads_per_block": 4})
    assert not analysis.verify_gpu_code(func, {"max_threads_per_block": 3})


LET = "with T.LetStmt(42, var=i):\n"


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        (f"i = T.int32()\n{LET}    T.evaluate(i)\nT.evaluate(i)", "no longer in scope"),
        (f"i = T.int32()\n{LET}    {LET}        T.evaluate(i)", "multiple nested definitions of"),
        (f"i = T.int32()\n{LET}    T.evaluate(i)\n{LET}    T.evaluate(i)", "multiple definitions"),
        ("i = T.int32()\nT.evaluate(i)", "a use of variable i .* not defined"),
        ("C = T.Buffer((4,), 'int32')\nC[0] = 1", "a use of variable C"),
        (
            "for i in range(4):\n    with T.block('b'):\n        vi = T.axis.S(4, i)\n"
            "        A[i] = T.Cast('float32', vi)",
            "block b uses i, of a loop around it",
        ),
    ],
)
def test_ill_formed_functions(body: str, fault: str) -> None:
    func = parsed(body)
    with pytest.raises(IllFormedError, match=fault):
        analysis.verify_well_formed(func)
    assert not analysis.verify_well_formed(func, assert_mode=False)


def test_functions_do_not_share_variables() -> None:
    i = tir.Var("i")
    func = tir.PrimFunc([], tir.LetStmt(i, 1, tir.Evaluate(i)))
    assert analysis.verify_well_formed(func)
    with pytest.raises(ValueError, match="multiple definitions of variable i"):
        analysis.verify_well_formed(IRModule({"a": func, "b": func}))


def test_opaque_blocks_use_loops_around_them() -> None:
    body = "for i in range(4):\n    with T.block('b'):\n        A[i] = 0.0"
    assert analysis.verify_well_formed(parsed(body))


def test_single_assignment() -> None:
    x = tir.Var("x")
    one, two = tir.Let(x, 1, x + 1), tir.Let(x, 2, x + 1)
    assert analysis.verify_ssa(tir.PrimFunc([], tir.Evaluate(one + one)))
    assert not analysis.verify_ssa(tir.PrimFunc([], tir.Evaluate(one * two)))


def test_undefined_variables_of_statements() -> None:
    x, y = tir.Var("x"), tir.Var("y")
    A = tir.decl_buffer((4,), name="A")
    store = tir.BufferStore(A, 1.0, [x])
    assert analysis.undefined_vars(tir.LetStmt(x, y, store)) == [y, A.data]


def test_accesses_by_pointers_are_opaque() -> None:
    func = parsed(
        """
with T.block("b"):
    T.reads(A[0:16])
    T.writes(A[0:16])
    V = T.match_buffer(B[4:8], (4,), "int32", offset_factor=1)
    T.evaluate(A.access_ptr("rw"))
    T.evaluate(V.data)"""
    )
    buffers = {buffer.data: buffer for buffer in func.buffer_map.values()}
    assert str(analysis.get_block_access_region(func.body.block, buffers)[2]) == "[A[0:16], B[4:8]]"


def test_ancestor_of_global_memory_is_the_loop_of_blocks() -> None:
    @T.prim_func
    def copy(A: T.Buffer((4,), "int32"), B: T.Buffer((4,), "int32")) -> None:
        for i in T.thread_binding(1, thread="blockIdx.x"):
            for j in T.thread_binding(4, thread="threadIdx.x"):
                with T.block("B"):
                    B[i + j] = A[i + j]

    found = analysis.detect_buffer_access_lca(copy)
    assert {one.loop_var.name for one in found.values()} == {"i"}


def test_certain_overruns_are_refused() -> None:
    with pytest.raises(ScheduleError, match="access of buffer A is out of bounds"):
        analysis.OOBChecker()(IRModule({"f": parsed("for i in range(17):\n    A[i] = 0.0")}))
    module = IRModule({"f": parsed("A[B[0]] = 0.0")})
    assert analysis.OOBChecker()(module)["f"] is module["f"]
