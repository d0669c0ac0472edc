"""The iterations of annotated loops overlap, and results stay the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import te_sched
from te_sched import tir
from te_sched.errors import BlockError
from te_sched.lowering.blocks.inject_pipelines import inject_pipelines
from te_sched.lowering.simplify import simplify
from te_sched.script import from_source


def loop(
    body: str, stages: object, orders: object, extent: str = "16", kind: str = "serial"
) -> str:
    """A function with a pipeline of these statements in a block."""
    notes = f'{{"software_pipeline_stage": {stages}, "software_pipeline_order": {orders}}}'
    inner = "\n".join(" " * 12 + line for line in body.strip("\n").splitlines())
    return f"""
@T.prim_func
def main(a: T.handle, d: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n,), "float32")
    D = T.match_buffer(d, (n,), "float32")
    for i in T.{kind}({extent}, annotations={notes}):
        with T.block(""):
            T.reads(A[i])
            T.writes(D[i])
{inner}
"""


TWO = """
B = T.alloc_buffer((1,))
B[0] = A[i] * T.float32(2)
D[i] = B[0] + T.float32(1)
"""
THREE = """
B = T.alloc_buffer((1,))
C = T.alloc_buffer((1,))
B[0] = A[i] * T.float32(2)
C[0] = B[0] + T.float32(1)
D[i] = C[0] * C[0]
"""


def text(source: str) -> str:
    return str(simplify(inject_pipelines(from_source(source, check_well_formed=False))).body)


def results(source: str, size: int) -> tuple[Any, Any]:
    """The input and the output of a function on the CPU."""
    a = np.arange(1, size + 1, dtype="float32")
    out = te_sched.nd.array(np.zeros(size, "float32"))
    te_sched.build(from_source(source, check_well_formed=False))(te_sched.nd.array(a), out)
    return a, out.numpy()


def test_text_of_two_stages() -> None:
    lines = [line.strip() for line in text(loop(TWO, [0, 1], [0, 1])).splitlines()]
    assert [line for line in lines if "T.alloc" in line or "for " in line or "] = " in line] == [
        "B = T.alloc_buffer((2, 1))",
        "B[0, 0] = A[0] * T.float32(2)",
        "for i in range(15):",
        "B[(i + 1) % 2, 0] = A[i + 1] * T.float32(2)",
        "D[i] = B[i % 2, 0] + T.float32(1)",
        "D[15] = B[1, 0] + T.float32(1)",
    ]


def test_other_loops_stay() -> None:
    func = from_source(
        "@T.prim_func\ndef main(A: T.Buffer((4,), 'float32')):\n"
        "    for i in range(4):\n        A[i] = 1.0\n"
    )
    assert inject_pipelines(func).body is func.body


@pytest.mark.parametrize("size", [1, 2, 3, 16])
@pytest.mark.parametrize("extent", ["n", ""])
@pytest.mark.parametrize("stages", [[0, 1], [0, 3], [0, 0], [1, 2]])
def test_results_of_two_stages(size: int, extent: str, stages: list[int]) -> None:
    a, out = results(loop(TWO, stages, [0, 1], extent or str(size)), size)
    np.testing.assert_array_equal(out, a * 2 + 1)


@pytest.mark.parametrize("size", [1, 2, 3, 4, 9])
@pytest.mark.parametrize("extent", ["n", ""])
@pytest.mark.parametrize(
    ("stages", "orders"),
    [
        ([0, 1, 2], [0, 1, 2]),
        ([0, 1, 2], [2, 1, 0]),
        ([0, 0, 3], [1, 2, 0]),
        ([0, 2, 2], [0, 1, 2]),
    ],
)
def test_results_of_three_stages(
    size: int, extent: str, stages: list[int], orders: list[int]
) -> None:
    a, out = results(loop(THREE, stages, orders, extent or str(size)), size)
    np.testing.assert_array_equal(out, (a * 2 + 1) ** 2)


def test_loops_need_not_begin_at_0() -> None:
    a, out = results(loop(THREE, [0, 1, 2], [0, 1, 2], "2, n"), 9)
    expected = (a * 2 + 1) ** 2
    expected[:2] = 0
    np.testing.assert_array_equal(out, expected)


def test_guarded_blocks() -> None:
    source = loop(TWO, [0, 1], [0, 1], "n").replace(
        '        with T.block(""):\n', '        with T.block(""):\n            T.where(i < n - 2)\n'
    )
    a, out = results(source, 8)
    np.testing.assert_array_equal(out, [*(a * 2 + 1)[:6], 0, 0])


def test_one_version_where_reads_precede_writes() -> None:
    assert "B = T.alloc_buffer((1,))" in text(loop(TWO, [0, 1], [1, 0]))
    a, out = results(loop(TWO, [0, 1], [1, 0], "n"), 8)
    np.testing.assert_array_equal(out, a * 2 + 1)


def test_annotated_buffers_are_doubled() -> None:
    body = """
B = T.alloc_buffer((1,))
with T.block("B"):
    T.block_attr({"double_buffer_scope": 0})
    B[0] = A[i] * T.float32(2)
D[i] = B[0] + T.float32(1)
"""
    assert "B = T.alloc_buffer((2, 1))" in text(loop(body, [0, 1], [1, 0]))


def test_nested_pipelines() -> None:
    inner = """
B = T.alloc_buffer((4,))
for j in range(4):
    B[j] = A[i * 4 + j]
for j in T.serial(4, annotations={"software_pipeline_stage": [0, 1], "software_pipeline_order": [0, 1]}):
    with T.block(""):
        C = T.alloc_buffer((1,))
        C[0] = B[j] * T.float32(2)
        D[i * 4 + j] = C[0] + T.float32(1)
"""  # noqa: E501
    source = loop(inner, [0, 0, 1, 1], [0, 2, 1, 3], "4").replace("[i])", "[i * 4:i * 4 + 4])")
    a, out = results(source, 16)
    np.testing.assert_array_equal(out, a * 2 + 1)


def test_strided_buffers() -> None:
    body = TWO.replace("(1,))", "(2, 3), strides=(4, 1))").replace("B[0]", "B[1, 2]")
    assert "T.alloc_buffer((2, 2, 3), strides=(8, 4, 1))" in text(loop(body, [0, 1], [0, 1]))
    a, out = results(loop(body, [0, 1], [0, 1], "n"), 8)
    np.testing.assert_array_equal(out, a * 2 + 1)


def test_other_annotations_stay_at_the_body() -> None:
    source = loop(TWO, [0, 1], [0, 1]).replace("annotations={", 'annotations={"mark": 1, ')
    assert text(source).count('annotations={"mark": 1}') == 1


@pytest.mark.parametrize(
    ("stages", "orders", "fault"),
    [
        ([0, 1], [0], "has 2 statements, 2 stages and 1 orders"),
        ([0, 1], [1, 1], "has orders"),
        ([0, -1], [0, 1], "has software_pipeline_stage="),
        ([0, 0], [1, 0], "executes accesses to buffer B in another order"),
        ([1, 0], [0, 1], "executes accesses to buffer B in another order"),
    ],
)
def test_rejects_annotations(stages: list[int], orders: list[int], fault: str) -> None:
    with pytest.raises(BlockError, match=fault):
        text(loop(TWO, stages, orders))


def test_rejects_a_missing_annotation() -> None:
    source = loop(TWO, [0, 1], [0, 1]).replace(', "software_pipeline_order": [0, 1]', "")
    with pytest.raises(BlockError, match="has software_pipeline_order=None"):
        text(source)


def test_rejects_parallel_loops() -> None:
    with pytest.raises(BlockError, match="software pipeline of loop i is parallel"):
        text(loop(TWO, [0, 1], [0, 1], kind="parallel"))


def test_rejects_values_of_earlier_iterations() -> None:
    body = """
B = T.alloc_buffer((1,))
B[0] = A[i] + D[i - 1]
D[i] = B[0]
"""
    with pytest.raises(BlockError, match="executes accesses to buffer D in another order"):
        text(loop(body, [0, 1], [0, 1], "1, 15"))


def test_rejects_elements_of_other_threads() -> None:
    source = loop(TWO, [0, 1], [0, 1]).replace("    for i", "    for t in T.thread_binding(8, "
        'thread="threadIdx.x"):\n     for i').replace("D[i]", "A[i + t + 1]")  # fmt: skip
    with pytest.raises(BlockError, match="executes accesses to buffer A in another order"):
        text(source)


def test_rejects_pointers_to_versions() -> None:
    body = """
B = T.alloc_buffer((1,))
T.evaluate(T.call_extern("int32", "f", B.data))
D[i] = B[0]
"""
    with pytest.raises(BlockError, match="accesses buffer B by a pointer"):
        text(loop(body, [0, 1], [0, 1]))


def test_rejects_blocks_with_iterators() -> None:
    body = """
B = T.alloc_buffer((1,))
with T.block("B"):
    v = T.axis.spatial(1, 0)
    x = T.axis.spatial(n, i)
    B[v] = A[x]
D[i] = B[0]
"""
    with pytest.raises(BlockError, match="has a block with iterators or views"):
        text(loop(body, [0, 1], [0, 1]))
    a, out = results(loop(body, [0, 1], [0, 1], "n"), 4)
    np.testing.assert_array_equal(out, a)


def test_the_pass_by_the_name_of_tvm() -> None:
    module = te_sched.IRModule({"main": from_source(loop(TWO, [0, 1], [0, 1]))})
    assert "alloc_buffer((2, 1))" in str(tir.transform.InjectSoftwarePipeline()(module))


def test_threads_share_the_versions_of_a_buffer() -> None:
    """The thread t stores in shared memory what the thread 31 - t loads one iteration later."""
    source = """
@T.prim_func
def main(A: T.Buffer((8, 32), "float32"), D: T.Buffer((8, 32), "float32")):
    for b in T.thread_binding(1, thread="blockIdx.x"):
        for t in T.thread_binding(32, thread="threadIdx.x"):
            for i in T.serial(8, annotations={"software_pipeline_stage": [0, 1],
                                              "software_pipeline_order": [0, 1]}):
                with T.block(""):
                    T.reads(A[i, 0:32])
                    T.writes(D[i, 0:32])
                    S = T.alloc_buffer((32,), scope="shared")
                    S[t] = A[i, t] * T.float32(2)
                    D[i, t] = S[31 - t]
"""
    device = te_sched.emulated_cuda(0)
    a = np.arange(256, dtype="float32").reshape(8, 32)
    out = te_sched.nd.array(np.zeros_like(a), device)
    te_sched.build(from_source(source, check_well_formed=False), target="cuda")(
        te_sched.nd.array(a, device), out
    )
    np.testing.assert_array_equal(out.numpy(), a[:, ::-1] * 2)
