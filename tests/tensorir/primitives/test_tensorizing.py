"""Intrinsics in the place of blocks: tensorize."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import te_sched
from te_sched import tir
from te_sched.errors import DeclarationError, ScheduleError
from te_sched.script import from_source
from tests.tensorir.programs import GIVEN, MATMUL, function

HEAD = """
@T.prim_func
def product(a: T.handle, b: T.handle, c: T.handle):
    A = T.match_buffer(a, (4, 4), offset_factor=1{strides})
    B = T.match_buffer(b, (4, 4), offset_factor=1{strides})
    C = T.match_buffer(c, (4, 4), offset_factor=1{strides})
    with T.block("root"):
        T.reads(C[0:4, 0:4], A[0:4, 0:4], B[0:4, 0:4])
        T.writes(C[0:4, 0:4])
"""
DESC = (
    HEAD
    + """
        for i, j, k in T.grid(4, 4, 4):
            with T.block("update"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
"""
)
# The columns of a row at once, and the rows from the last one on.
IMPL = (
    HEAD
    + """
        for i, k in T.grid(4, 4):
            for j in T.vectorized(4):
                C[3 - i, j] = C[3 - i, j] + A[3 - i, k] * B[k, j]
"""
)


def registered(name: str, desc: str = DESC, impl: str = IMPL) -> str:
    """The name of a new intrinsic, whose views may lie in larger buffers."""
    functions = [
        from_source(GIVEN + desc.replace("{strides}", "")),
        from_source(GIVEN + impl.replace("{strides}", ", strides=[T.int32(), 1]")),
    ]
    tir.TensorIntrin.register(name, *functions, override=True)
    return name


def tiled() -> Any:
    """A product of matrices in tiles, with its initialization apart."""
    sch = tir.Schedule(from_source(GIVEN + MATMUL))
    i, j, k = sch.get_loops("C")
    (i_0, i_1), (j_0, j_1), (k_0, k_1) = (sch.split(one, [None, 4]) for one in (i, j, k))
    sch.reorder(i_0, j_0, k_0, i_1, j_1, k_1)
    sch.decompose_reduction("C", k_0)
    return sch


def run(sch: Any) -> None:
    """Compare what a schedule of the product computes with numpy."""
    rng = np.random.default_rng(0)
    a, b = (rng.random((8, 8), dtype="float32") for _ in range(2))
    d = np.zeros((8, 8), "float32")
    te_sched.build(sch.mod, target="llvm")(a, b, d)
    np.testing.assert_allclose(d, np.maximum(a @ b, 0), rtol=1e-5)


def test_a_loop_is_computed_by_the_intrinsic() -> None:
    sch = tiled()
    before = sch.mod
    sch.tensorize(sch.get_loops("C_update")[3], registered("tests.product"))
    block = sch.get(sch.get_block("C_update_o"))
    assert [str(match.source) for match in block.match_buffers] == [
        "A[vi_o * 4:vi_o * 4 + 4, vk_o * 4:vk_o * 4 + 4]",
        "B[vk_o * 4:vk_o * 4 + 4, vj_o * 4:vj_o * 4 + 4]",
        "C[vi_o * 4:vi_o * 4 + 4, vj_o * 4:vj_o * 4 + 4]",
    ]
    assert "for j in T.vectorized(4):" in sch.mod.script()
    run(sch)
    again = tir.Schedule(from_source(GIVEN + MATMUL))
    sch.trace.apply_json_to_schedule(sch.trace.as_json(), again)
    assert again.mod.script() == sch.mod.script() != before.script()


def test_a_block_is_computed_by_the_intrinsic() -> None:
    sch = tiled()
    tile = sch.blockize(sch.get_loops("C_update")[3])
    sch.annotate(tile, "note", 1)
    sch.tensorize(tile, registered("tests.product"))
    assert dict(sch.get(tile).annotations) == {"note": 1}
    run(sch)


def test_buffers_may_have_more_dimensions() -> None:
    batch = function(
        "A:2,16 C:2,4",
        """
for n, i, k in T.grid(2, 4, 4):
    with T.block("C"):
        vn, vi, vk = T.axis.remap("SSR", [n, i, k])
        C[vn, vi] = C[vn, vi] + A[vn, vi * 4 + vk]
""",
    )
    text = """
@T.prim_func
def row(a: T.handle, c: T.handle):
    A = T.match_buffer(a, (16,), offset_factor=1)
    C = T.match_buffer(c, (4,), offset_factor=1)
    with T.block("root"):
        T.reads(C[0:4], A[0:16])
        T.writes(C[0:4])
        BODY
"""
    loops = """for i, k in T.grid(4, 4):
            with T.block("update"):
                vi, vk = T.axis.remap("SR", [i, k])
                C[vi] = C[vi] + A[vi * 4 + vk]"""
    fast = """for i, k in T.grid(4, 4):
            C[i] = C[i] + A[i * 4 + k]"""
    name = registered("tests.row", text.replace("BODY", loops), text.replace("BODY", fast))
    sch = tir.Schedule(from_source(GIVEN + batch))
    sch.tensorize(sch.get_loops("C")[1], name)
    a = np.random.default_rng(0).random((2, 16), dtype="float32")
    c = np.ones((2, 4), "float32")
    te_sched.build(sch.mod, target="llvm")(a, c)
    np.testing.assert_allclose(c, 1 + a.reshape(2, 4, 4).sum(2), rtol=1e-5)


def _other(old: str, new: str) -> str:
    return registered("tests.other", DESC.replace(old, new))


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            lambda: _other("* B[vk, vj]", "* B[vj, vk]"),
            r"it has B_?\d?\[|where the description has",
        ),
        (lambda: _other("+ A", "- A"), r"where the description has C\[vi, vj\] - A"),
        (lambda: _other("T.grid(4, 4, 4)", "T.grid(4, 4, 2)"), r"it has 4 where the desc.* has 2"),
        (lambda: _other('"SSR"', '"SSS"'), r"where the description has"),
        (lambda: _other(" * B[vk, vj]", ""), r"where the description has"),
        (
            lambda: registered(
                "tests.other", DESC.replace("offset_factor=1{strides})", 'scope="shared")', 1)
            ),
            r"where the description has",
        ),
    ],
)
def test_other_computations_are_refused(name: Callable[[], str], message: str) -> None:
    sch = tiled()
    before = sch.mod.script()
    with pytest.raises(
        ScheduleError, match=r"is not what intrinsic tests.other computes"
    ) as caught:
        sch.tensorize(sch.get_loops("C_update")[3], name())
    assert caught.match(message)
    assert sch.mod.script() == before


def test_a_reduction_must_be_decomposed_first() -> None:
    sch = tir.Schedule(from_source(GIVEN + MATMUL))
    with pytest.raises(ScheduleError, match=r"it has T.init, and the description has not"):
        sch.tensorize(sch.get_loops("C")[0], registered("tests.product"))


def test_intrinsics_are_checked_when_they_are_registered() -> None:
    desc, impl = (from_source(GIVEN + text.replace("{strides}", "")) for text in (DESC, IMPL))
    register = tir.TensorIntrin.register
    name = registered("tests.product")
    assert tir.TensorIntrin.get(name).desc.script() == desc.script()
    assert tir.TensorIntrin.get("tests.none", allow_missing=True) is None
    other = from_source(GIVEN + MATMUL)
    wrong: list[tuple[Callable[[], Any], str]] = [
        (lambda: register(3, desc, impl), r"the name of an intrinsic is 3"),
        (lambda: register(name, desc, impl), r"intrinsic tests.product is registered already"),
        (lambda: register("x", desc, 4), r"impl of intrinsic x is an int"),
        (lambda: register("x", desc, other), r"desc and impl of intrinsic x have other parameters"),
        (lambda: tir.TensorIntrin.get("tests.none"), r"there is no intrinsic 'tests.none'"),
    ]
    for call, message in wrong:
        with pytest.raises((ScheduleError, DeclarationError), match=message):
            call()


def test_a_parameter_that_nothing_accesses_is_refused() -> None:
    extra = "\n    C = T.match_buffer(c,"
    texts = [
        one.replace("c: T.handle)", "c: T.handle, d: T.handle)").replace(
            extra, "\n    E = T.match_buffer(d, (4, 4))" + extra
        )
        for one in (DESC, IMPL)
    ]
    sch = tiled()
    with pytest.raises(ScheduleError, match=r"nothing accesses E of its description"):
        sch.tensorize(sch.get_loops("C_update")[3], registered("tests.extra", *texts))


def test_statements_that_no_description_has_are_refused() -> None:
    store = "C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]"
    text = DESC.replace(store, f"if vi > 0:\n                    {store}")
    sch = tiled()
    with pytest.raises(ScheduleError, match=r"is not what intrinsic tests.guarded computes"):
        sch.tensorize(sch.get_loops("C_update")[3], registered("tests.guarded", text))


def test_hidden_accesses_are_not_stated() -> None:
    sch = tir.Schedule(from_source(GIVEN + MATMUL))
    sch.unsafe_hide_buffer_access("C", "read", [0, 1])
    assert sch.get(sch.get_block("C")).reads == ()
    assert 'buf_type="read", buf_index_array=[0, 1])' in str(sch.trace)
    with pytest.raises(ScheduleError, match=r"buf_type is 'opaque'"):
        sch.unsafe_hide_buffer_access("C", "opaque", [0])
    with pytest.raises(ScheduleError, match=r"has no buffer number 3 that it writes"):
        sch.unsafe_hide_buffer_access("C", "write", [3])


def test_a_buffer_cannot_be_two_of_the_intrinsic() -> None:
    text = """
@T.prim_func
def move(a: T.handle, b: T.handle):
    A = T.match_buffer(a, (8,), offset_factor=1)
    B = T.match_buffer(b, (8,), offset_factor=1)
    with T.block("root"):
        T.reads(A[0:8])
        T.writes(B[0:8])
        for i in range(8):
            with T.block("move"):
                vi = T.axis.spatial(8, i)
                B[vi] = A[vi] * T.float32(2)
"""
    name = registered("tests.move", text, text)
    same = function(
        "A:2,8",
        """
for n, i in T.grid(2, 8):
    with T.block("A"):
        vn, vi = T.axis.remap("SS", [n, i])
        A[vn, vi] = A[vn, vi] * 2.0
""",
    )
    sch = tir.Schedule(from_source(GIVEN + same))
    with pytest.raises(ScheduleError, match=r"it has A for A and B"):
        sch.tensorize(sch.get_loops("A")[1], name)


def test_a_loop_in_a_partition_is_computed_by_the_intrinsic() -> None:
    text = """
@T.prim_func
def row(C: T.Buffer((4,), offset_factor=1), D: T.Buffer((4,), offset_factor=1)):
    with T.block("root"):
        T.reads(C[0:4])
        T.writes(D[0:4])
"""
    desc = """
        for i in range(4):
            with T.block("D"):
                vi = T.axis.spatial(4, i)
                D[vi] = T.max(C[vi], 0.0)
"""
    impl = "        for i in range(4):\n            D[3 - i] = T.max(C[3 - i], 0.0)\n"
    sch = tir.Schedule(from_source(GIVEN + MATMUL))
    first, _ = sch.loop_partition(sch.get_loops("D")[1], [4, None])
    sch.tensorize(first, registered("tests.row", text + desc, text + impl))
    sources = [str(one.source) for one in sch.get(sch.get_block("D_j0_o")).match_buffers]
    assert sources == ["C[vi_o, 0:4]", "D[vi_o, 0:4]"]
    run(sch)
