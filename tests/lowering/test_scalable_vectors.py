"""Loops over scalable vectors, and conditions on lanes that become predicates."""

from __future__ import annotations

import pytest

from te_sched import te, tir, transform
from te_sched.errors import DeclarationError, LoweringError
from te_sched.ir import dtypes
from te_sched.ir.stmt import IRModule, PrimFunc
from te_sched.ir.structural import structural_equal
from te_sched.script import from_source
from te_sched.target import Target

SVE = Target("llvm -mtriple=aarch64-linux-gnu -mattr=+sve")
HEAD = "@T.prim_func\ndef f(A: T.Buffer((32,), 'float32'), n: T.int32):\n"
A = tir.decl_buffer((24,), "float32", name="A")


def vectorized(body: str, target: Target | None = SVE, *, predicates: bool | None = None) -> str:
    """The text of a body after VectorizeLoop."""
    func = from_source(HEAD + body)
    assert isinstance(func, PrimFunc)
    options = {} if predicates is None else {"tir.enable_buffer_level_predication": predicates}
    with transform.PassContext(config=options):
        if target is None:
            done = tir.transform.VectorizeLoop()(IRModule({"f": func}))
        else:
            with target:
                done = tir.transform.VectorizeLoop()(IRModule({"f": func}))
    lines = done["f"].script().splitlines()
    return "\n".join(lines[lines.index(next(o for o in lines if "def f" in o)) + 1 :])


def test_a_loop_of_scalable_extent_is_a_scalable_vector() -> None:
    found = vectorized(
        "    for i in T.vectorized(T.vscale() * 4):\n        A[i] = A[i] + T.float32(1)"
    )
    assert found.strip() == (
        "A[0:T.vscale() * 4] = A[0:T.vscale() * 4] + T.Broadcast(T.float32(1), T.vscale() * 4)"
    )


def test_a_condition_on_lanes_is_a_predicate() -> None:
    body = (
        "    for i in T.vectorized(4):\n        if n * 4 + i < 30:\n"
        "            A[n * 4 + i] = A[n * 4 + i] * T.float32(2)"
    )
    mask = 'predicate=T.get_active_lane_mask("uint1x4", n * 4, 30)'
    assert vectorized(body, None, predicates=True).strip() == (
        f"A.vstore([T.Ramp(n * 4, 1, 4)], A.vload([T.Ramp(n * 4, 1, 4)], {mask}) * "
        f"T.Broadcast(T.float32(2), 4), {mask})"
    )
    assert vectorized(body) == vectorized(body, None, predicates=True)
    assert "for i_s in range(4)" in vectorized(body, None)
    assert "for i_s in range(4)" in vectorized(body, predicates=False)


@pytest.mark.parametrize("condition", ["i > n", "n < i", "i * 2 < n", "i <= n"])
def test_other_conditions_make_loops(condition: str) -> None:
    body = (
        f"    for i in T.vectorized(4):\n        if {condition}:\n            A[i] = T.float32(2)"
    )
    assert "for i_s in range(4)" in vectorized(body, predicates=True)


def test_a_scalar_access_under_a_condition_makes_a_loop() -> None:
    body = "    for i in T.vectorized(4):\n        if i < n:\n            A[i] = A[n]"
    assert "for i_s in range(4)" in vectorized(body, predicates=True)


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (
            "    for i in T.vectorized(T.vscale() * 4):\n"
            "        A[i * 4 : i * 4 + 4] = T.Broadcast(T.float32(1), 4)",
            "the elements of a scalable vector are scalars",
        ),
        (
            "    for i in T.vectorized(4):\n"
            "        A[i * 8 : i * 8 + T.vscale() * 2] = T.Broadcast(T.float32(1), T.vscale() * 2)",
            "it is a scalable vector already",
        ),
    ],
)
def test_vectors_of_scalable_vectors_are_refused(body: str, why: str) -> None:
    with pytest.raises(LoweringError, match=why):
        vectorized(body)


def test_elements_that_are_scalable_vectors_are_refused() -> None:
    func = from_source(
        "@T.prim_func\ndef f(A: T.Buffer((25,), 'float32xvscalex4')):\n"
        "    for j in T.vectorized(4):\n"
        "        A[j] = T.Broadcast(T.float32(1), T.vscale() * 4)"
    )
    assert isinstance(func, PrimFunc)
    with pytest.raises(LoweringError, match="its elements are scalable vectors"):
        tir.transform.VectorizeLoop()(IRModule({"f": func}))


@pytest.mark.parametrize("target", [None, Target("llvm")])
def test_targets_without_scalable_vectors_refuse_them(target: Target | None) -> None:
    with pytest.raises(LoweringError, match=r"its extent T\.vscale"):
        vectorized(
            "    for i in T.vectorized(T.vscale() * 4):\n        A[i] = T.float32(1)", target
        )


def test_nodes_and_texts_of_scalable_vectors() -> None:
    ramp = tir.Ramp(0, 2, 4 * tir.vscale())
    assert ramp.dtype == "int32xvscalex4"
    assert ramp.lanes == dtypes.ScalableLanes(4)
    assert ramp.lanes != 4
    assert ramp.lanes * 2 == dtypes.ScalableLanes(8)
    assert (str(ramp.lanes.a), ramp.lanes.b.value) == ("T.vscale()", 4)
    assert str(ramp + 3) == "T.Ramp(0, 2, T.vscale() * 4) + T.Broadcast(3, T.vscale() * 4)"
    assert structural_equal(ramp, tir.Ramp(0, 2, tir.vscale() * 4))
    assert not structural_equal(ramp, tir.Ramp(0, 2, 4))
    load = tir.BufferLoad(A, [ramp])
    assert (load.dtype, str(load)) == ("float32xvscalex4", "A[0:T.vscale() * 4 * 2:2]")
    assert str(A.vload([3], "float32xvscalex4")) == "A[3:3 + T.vscale() * 4]"


def test_texts_with_predicates_are_read_again() -> None:
    func = from_source(
        HEAD + "    A.vstore([T.Ramp(0, 2, T.vscale() * 4)],\n"
        "        A.vload([T.Ramp(0, 1, T.vscale() * 4)], predicate=T.get_active_lane_mask("
        "'uint1xvscalex4', 0, n)),\n"
        "        predicate=T.Broadcast(T.bool(True), T.vscale() * 4))\n"
    )
    assert isinstance(func, PrimFunc)
    assert structural_equal(from_source(func.script()), func)
    assert "if @tir.get_active_lane_mask" in IRModule({"f": func}).astext()


@pytest.mark.parametrize("lanes", [tir.vscale(), tir.vscale() + 3, te.var("n"), 0, -1, 1.5])
def test_what_is_not_a_number_of_lanes_is_refused(lanes: object) -> None:
    with pytest.raises(DeclarationError, match="is not a number of lanes"):
        tir.Broadcast(1, lanes)


def test_the_size_of_a_scalable_vector_is_not_known() -> None:
    with pytest.raises(DeclarationError, match="the size of float32xvscalex4 is not known"):
        dtypes.storage_bytes("float32xvscalex4")
    with pytest.raises(TypeError, match="known at run time only"):
        _ = tir.Broadcast(1, tir.vscale() * 4).lanes - 1


@pytest.mark.parametrize(
    ("predicate", "why"),
    [
        (tir.Broadcast(True, 4), "is scalable, expected both or none"),
        (tir.Broadcast(True, tir.vscale() * 8), "it has 8 lanes, and the "),
        (tir.Broadcast(1, tir.vscale() * 4), "its elements are int32, expected bool"),
    ],
)
def test_predicates_that_do_not_fit_are_refused(predicate: object, why: str) -> None:
    index, value = tir.Ramp(0, 1, tir.vscale() * 4), tir.Broadcast(1.0, tir.vscale() * 4)
    for access in (
        lambda: tir.BufferLoad(A, [index], predicate),
        lambda: tir.BufferStore(A, value, [index], predicate),
        lambda: A.vload([index], predicate=predicate),
        lambda: A.vstore([index], value, predicate=predicate),
    ):
        with pytest.raises(DeclarationError, match=why):
            access()
