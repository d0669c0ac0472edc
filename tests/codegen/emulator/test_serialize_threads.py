"""Threads one after the other, cut where they wait for each other."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from te_sched.codegen.emulator.serialize_threads import serialize_threads
from te_sched.errors import BuildError
from te_sched.ir import expr as E
from te_sched.ir import stmt as S
from tests.codegen.checker import kernels as k
from tests.codegen.emulator.kernels import WORDS, run, written


@pytest.mark.parametrize("index", [0, 31, -1, 33, 2**31 - 1, -(2**31)])
@pytest.mark.parametrize("how", ["", "_up", "_down"])
def test_lanes_from_memory(how: str, index: int) -> None:
    """A lane that does not exist gives what the thread has itself."""

    def body(ib: Any, A: Any, I: Any, B: Any, tx: Any) -> None:  # noqa: E741
        every = E.IntImm(2**32 - 1, "uint32")
        value = tx.astype("float32")
        B[tx] = WORDS("float32", f"tir.tvm_warp_shuffle{how}", every, value, I[tx], 32, 32)

    lanes = np.arange(32)
    source = {"": index % 32, "_up": lanes - index, "_down": lanes + index}[how]
    is_there = how == "" or ((index >= 0) & (source >= 0) & (source < 32))
    expected = np.where(is_there, source, lanes)
    np.testing.assert_array_equal(run(written(body), index)[:32], expected)


def test_shuffle_of_a_width_from_memory_is_refused() -> None:
    def body(ib: Any, A: Any, I: Any, B: Any, tx: Any) -> None:  # noqa: E741
        every = E.IntImm(2**32 - 1, "uint32")
        B[tx] = WORDS("float32", "tir.tvm_warp_shuffle", every, A[tx], 0, I[tx], 32)

    with pytest.raises(BuildError, match=r"shuffle width .* must be 1, 2, 4, 8, 16 or 32"):
        run(written(body), 32)


def test_more_blocks_than_int32_counts() -> None:
    def build(ib: Any, C: Any, bx: Any, by: Any) -> None:
        C[0] = 1.0

    tags = {**k.TAGS, "by": "blockIdx.y"}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(k, "TAGS", tags)
        module = k.program(build, [k.array("C", 1)], bx=2**31 - 1, by=65535)
    loop = serialize_threads(module["main_kernel"]).body
    assert loop.extent.value == (2**31 - 1) * 65535
    assert loop.loop_var.dtype == "int64"


def serialized(build: Any, tx: int = 16, **extents: int) -> str:
    """The body after serialization, without the lines that declare buffers."""
    program = k.program(build, [k.array("A", 512), k.array("C", 64)], **extents, tx=tx)
    lines = str(serialize_threads(program["main_kernel"]).body).split("\n")
    return "\n".join(line for line in lines if " = T.Buffer(" not in line)


def test_loops_with_barriers_are_outside_of_the_threads() -> None:
    def build(ib: Any, A: Any, C: Any, bx: Any, tx: Any) -> None:
        s = ib.allocate("float32", (16,), "s", scope="shared")
        v = ib.allocate("float32", (2,), "v", scope="local")
        with ib.for_range(0, 8, name="k") as step:
            s[tx] = A[step * 16 + tx]
            k.wait(ib)
            v[step % 2] = s[15 - tx]
        C[bx * 16 + tx] = v[0]

    assert serialized(build, bx=4) == "\n".join(
        (
            "for bx in T.parallel(4):",
            '    s = T.allocate([16], "float32", "shared")',
            '    v = T.allocate([32], "float32", "global")',
            "    for k in range(8):",
            "        for tx in range(16):",
            "            s_1[tx] = A[k * 16 + tx]",
            "        T.evaluate(0)",
            "        for tx in range(16):",
            "            v_1[k % 2 * 16 + tx] = s_1[15 - tx]",
            "    for tx in range(16):",
            "        C[bx * 16 + tx] = v_1[tx]",
        )
    )


def test_registers_that_are_vectors_stay_side_by_side() -> None:
    def build(ib: Any, A: Any, C: Any, tx: Any) -> None:
        v = ib.allocate("float32", (4,), "v", scope="local")
        v[E.Ramp(E.IntImm(0), E.IntImm(1), 4)] = A[E.Ramp(tx * 4, E.IntImm(1), 4)]
        k.wait(ib)
        C[tx] = v[3]

    text = serialized(build)
    assert "v_1[tx * 4:tx * 4 + 4] = A[tx * 4:tx * 4 + 4]" in text
    assert "C[tx] = v_1[3 + tx * 4]" in text


def test_values_that_are_loaded_before_a_barrier_are_kept() -> None:
    def build(ib: Any, A: Any, C: Any, tx: Any) -> None:
        x, y = E.Var("x", "float32"), E.Var("y", "int32")
        stores = [S.BufferStore(C.buffer, part, (y,)) for part in (x + 1.0, x)]
        body = S.SeqStmt((stores[0], S.Evaluate(k.barrier()), stores[1]))
        ib.emit(S.LetStmt(x, A[tx], S.LetStmt(y, tx * 2, body)))

    text = serialized(build)
    assert text.startswith('with T.allocate([16], "float32", "global") as x:')
    assert [line.strip() for line in text.split("\n") if " = " in line] == [
        "x_1[tx] = A[tx]",
        "C[tx * 2] = x_1[tx] + T.float32(1)",
        "C[tx * 2] = x_1[tx]",
    ]


def loop(kind: str) -> Any:
    def build(ib: Any, A: Any, C: Any, tx: Any) -> None:
        v = ib.allocate("int32", (1,), "v", scope="local")
        v[0] = tx
        scope = {
            "for": lambda: ib.for_range(0, tx, name="i"),
            "while": lambda: ib.while_loop(v[0] > 3),
            "if": lambda: ib.if_scope(tx < 3),
        }[kind]
        with scope():
            k.wait(ib)
            C[tx] = A[tx]

    return build


@pytest.mark.parametrize(
    ("kind", "what"),
    [("for", "loop i"), ("while", r"the condition v.*\[0\]"), ("if", "the condition tx")],
)
def test_barriers_that_some_threads_do_not_reach_are_refused(kind: str, what: str) -> None:
    with pytest.raises(BuildError, match=f"a barrier or shuffle inside of {what}.* differs"):
        serialized(loop(kind))
