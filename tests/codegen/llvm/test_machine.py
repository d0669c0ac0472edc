"""LLVM: machines and options of targets, passes and their quirks, texts that it refuses."""

from __future__ import annotations

import platform
import re
import time
from dataclasses import replace

import numpy as np
import pytest

import te_sched
from te_sched import te
from te_sched.codegen.llvm import machine, quirks
from te_sched.codegen.target import Target
from te_sched.errors import BuildError
from te_sched.ir import ops
from tests.codegen.programs import build, elementwise

pytestmark = pytest.mark.skipif(
    platform.machine() not in ("x86_64", "AMD64"), reason="the assembly is x86-64's"
)
AVX512 = "llvm -mcpu=skylake-avx512"


def row_sum(n: int = 256) -> tuple[te.Schedule, list[te.Tensor]]:
    A = te.placeholder((n,), name="A")
    k = te.reduce_axis((0, n), name="k")
    B = te.compute((1,), lambda i: te.sum(A[k], axis=k), name="B")
    return te.create_schedule(B.op), [A, B]


def row_max(n: int = 256) -> tuple[te.Schedule, list[te.Tensor]]:
    A = te.placeholder((n,), name="A")
    k = te.reduce_axis((0, n), name="k")
    B = te.compute((1,), lambda i: te.max(A[k], axis=k), name="B")
    return te.create_schedule(B.op), [A, B]


def scaled() -> tuple[te.Schedule, list[te.Tensor]]:
    A = te.placeholder((1 << 12,), name="A")
    S = te.placeholder((1,), name="S")
    B = te.compute(A.shape, lambda i: A[i] / S[0], name="B")
    return te.create_schedule(B.op), [A, S, B]


def assembly(program: tuple[te.Schedule, list[te.Tensor]], options: str) -> str:
    text = te_sched.build(*program, f"{AVX512} {options}").get_source("asm")
    return str(text.partition("te_sched_main:")[2].partition("func_end")[0])


def test_sums_are_reordered_only_when_asked() -> None:
    assert "vaddps" not in assembly(row_sum(), "")
    assert re.search(r"vaddps\s.*[yz]mm", assembly(row_sum(), "-fast-math"))
    assert "vaddps" not in assembly(row_sum(), "-fast-math=0")


def test_maxima_are_vectorized_as_their_order_does_not_count() -> None:
    for options in ("", "-fast-math -opt-level=3"):
        assert re.search(r"vmaxps\s.*[yz]mm", assembly(row_max(), options))


def test_divisions_become_products_only_when_asked() -> None:
    assert "vdivps" in assembly(scaled(), "")
    assert "vdivps" not in assembly(scaled(), "-fast-math")


def test_fast_sum_is_nearly_right() -> None:
    a, b = np.random.default_rng(0).random(1000).astype("float32"), np.zeros(1, "float32")
    te_sched.build(*row_sum(1000), "llvm -fast-math")(a, b)
    np.testing.assert_allclose(b[0], a.astype("float64").sum(), 1e-6)


@pytest.mark.parametrize(("width", "register"), [(128, "xmm"), (256, "ymm"), (512, "zmm")])
def test_vector_width_of_loops(width: int, register: str) -> None:
    text = assembly(scaled(), f"-vector-width={width}")
    assert set(re.findall(r"vdivps\s+.*%([xyz]mm)\d+\n", text)) == {register}


def test_many_maxima_one_after_the_other_take_no_time() -> None:
    A, k, m = te.placeholder((31, 40)), te.reduce_axis((0, 31)), te.reduce_axis((0, 40))
    B = te.compute((1,), lambda i: te.max(A[k, m], axis=[k, m]), name="B")
    s = te.create_schedule(B.op)
    s[B].unroll(B.op.reduce_axis[1])
    s[B].split(B.op.reduce_axis[0], nparts=4)
    start = time.monotonic()
    te_sched.build(s, [A, B])  # for LLVM 22, hours
    assert time.monotonic() - start < 60


def test_many_minima_that_lanes_share_take_no_time() -> None:
    A, k = te.placeholder((50, 2)), te.reduce_axis((1, 50), "k")
    B = te.compute((2,), lambda i: te.min(A[k, i], axis=k))
    C = te.compute((4,), lambda i: B[i // 2])
    s = te.create_schedule(C.op)
    s[B].compute_at(s[C], C.op.axis[0])
    start = time.monotonic()
    with te_sched.config.scoped(cache=False):
        te_sched.build(s, [A, C])  # for LLVM 22, hours
    assert time.monotonic() - start < 60


def limit(quirk: str, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the remedy of a quirk begin at a size."""
    monkeypatch.setattr(quirks, quirk, replace(getattr(quirks, quirk), limit=size))


@pytest.mark.parametrize(("longest", "is_packed"), [(20_000, True), (10, False)])
def test_long_straight_code_is_not_searched_for_vectors(
    longest: int, is_packed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    limit("LONG_BLOCKS", longest, monkeypatch)
    A = te.placeholder((16,), name="A")
    B = te.compute((16,), lambda i: A[i] * A[i], name="B")
    s = te.create_schedule(B.op)
    s[B].unroll(B.op.axis[0])
    with te_sched.config.scoped(cache=False):
        assert bool(re.search(r"vmulps", assembly((s, [A, B]), ""))) == is_packed


@pytest.mark.parametrize(("most", "is_packed"), [(32, True), (0, False)])
def test_loops_of_many_conditions_are_not_searched_for_vectors(
    most: int, is_packed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    limit("MANY_CONDITIONS", most, monkeypatch)
    A = te.placeholder((512,), name="A")
    B = te.compute((512,), lambda i: te.if_then_else(A[i] > 0.0, A[i] * A[i], 0.0), name="B")
    with te_sched.config.scoped(cache=False):
        text = assembly((te.create_schedule(B.op), [A, B]), "")
    assert bool(re.search(r"vmulps", text)) == is_packed


def test_conditions_of_unrolled_steps_of_threads_take_no_time() -> None:
    n = te.var("n")
    A, B = te.placeholder((64, n), name="A"), te.placeholder((n, 64), name="B")
    k = te.reduce_axis((0, n), "k")
    C = te.compute((64, 64), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
    s = te.create_schedule(C.op)
    sums = s.cache_write(C, "local")
    block, row = s[C].split(C.op.axis[0], 3)
    whole, column = s[C].split(C.op.axis[1], 144)
    outer, column = s[C].split(column, nparts=3)
    middle, inner = s[C].split(column, nparts=16)
    s[C].reorder(block, whole, outer, middle, row, inner)
    s[C].bind(block, te.thread_axis("blockIdx.y"))
    s[C].bind(whole, te.thread_axis("blockIdx.x"))
    s[C].bind(outer, te.thread_axis("vthread"))
    s[C].pragma(block, "auto_unroll_max_step", 512)
    s[sums].compute_at(s[C], middle)
    steps, step = s[sums].split(sums.op.reduce_axis[0], 8)
    s[sums].reorder(steps, step, *sums.op.axis)
    s[sums].pragma(steps, "auto_unroll_max_step", 512)
    rows = s.cache_read(A, "shared", [sums])
    s[rows].compute_at(s[sums], steps)
    thread, inside = s[rows].split(s[rows].fuse(*rows.op.axis), 16)
    s[rows].bind(inside, te.thread_axis("threadIdx.x"))
    _, inside = s[rows].split(thread, 2)
    s[rows].bind(inside, te.thread_axis("threadIdx.y"))
    a, b = np.random.default_rng(0).random((2, 64, 64)).astype("float32")
    module = te_sched.build(s, [A, B, C], "cuda")
    device = te_sched.emulated_cuda(0)
    c = te_sched.nd.array(np.zeros((64, 64), "float32"), device)
    start = time.monotonic()
    module(te_sched.nd.array(a, device), te_sched.nd.array(b, device), c)  # for LLVM 22, hours
    assert time.monotonic() - start < 60
    np.testing.assert_allclose(c.numpy(), a @ b, 1e-4)


def test_long_vectors_of_elements_from_anywhere_take_no_time() -> None:
    A, row = te.placeholder((412,), "uint16", name="A"), te.placeholder((17,), "int32", name="row")
    B = te.compute((412,), lambda i: A[row[i // 25] * 25 + i % 25], name="B")
    s = te.create_schedule(B.op)
    s[B].vectorize(B.op.axis[0])
    with te_sched.config.scoped(cache=False):
        module = te_sched.build(s, [A, row, B])  # LLVM looks for vectors in the cube of 412 steps
    a, b = np.arange(412, dtype="uint16"), np.zeros(412, "uint16")
    rows = np.arange(17, dtype="int32")[::-1].copy()
    rows[rows == 16] = 15
    module(a, rows, b)
    i = np.arange(412)
    np.testing.assert_array_equal(b, a[rows[i // 25] * 25 + i % 25])


@pytest.mark.parametrize(
    ("lanes", "most", "is_packed"), [(16, 128, True), (16, 4, False), (64, 128, False)]
)
def test_many_lanes_one_by_one_are_not_searched_for_vectors(
    lanes: int, most: int, is_packed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    limit("LANES_ONE_BY_ONE", most, monkeypatch)
    A = te.placeholder((16,), name="A")
    C = te.placeholder((lanes,), "int8", name="C")
    index = te.placeholder((lanes,), "int32", name="I")
    B = te.compute((16,), lambda i: A[i] * A[i], name="B")
    D = te.compute((lanes,), lambda i: C[index[i]], name="D")
    s = te.create_schedule([B.op, D.op])
    s[B].unroll(B.op.axis[0])
    s[D].vectorize(D.op.axis[0])
    with te_sched.config.scoped(cache=False):
        text = assembly((s, [A, C, index, B, D]), "")
    assert bool(re.search(r"vmulps", text)) == is_packed


def early_shuffles() -> tuple[te.Schedule, list[te.Tensor]]:
    """A program of which SLP of LLVM 22 leaves a module that is not valid."""
    A = te.placeholder((3, 20), "int16", name="A")
    one, two = te.const(1, "int16"), te.const(2, "int16")
    B = te.compute((3, 20), lambda i, j: te.min(A[i, j], one) - two, name="B")
    C = te.compute((3, 20), lambda i, j: B[i, j], name="C")
    s = te.create_schedule(C.op)
    outer, inner = s[C].split(C.op.axis[1], factor=5)
    s[C].reorder(inner, C.op.axis[0], outer)
    s[B].reorder(B.op.axis[1], B.op.axis[0])
    return s, [A, C]


def test_shuffles_before_what_they_take_do_not_end_the_process() -> None:
    with te_sched.config.scoped(cache=False):
        module = te_sched.build(*early_shuffles())
    a, c = np.arange(-30, 30, dtype="int16").reshape(3, 20), np.zeros((3, 20), "int16")
    module(a, c)
    np.testing.assert_array_equal(c, np.minimum(a, 1) - 2)


def test_shuffles_of_unrolled_loops_do_not_end_the_process() -> None:
    A, B = te.placeholder((24, 24), name="A"), te.placeholder((24, 24), name="B")
    C = te.compute((24, 24), lambda i, j: A[i, j] + B[i, j], name="C")
    s = te.create_schedule(C.op)
    copy = s.cache_read(A, "global", [C])
    s[C].split(s[C].fuse(*C.op.axis), nparts=4)
    i, j, row, column = s[copy].tile(*copy.op.axis, 128, 32)
    s[copy].reorder(i, column, row, j)
    with te_sched.config.scoped(cache=False):
        module = te_sched.build(s, [A, B, C])  # LLVM 22 leaves a module that is not valid
    a, b = np.random.default_rng(0).random((2, 24, 24)).astype("float32")
    c = np.zeros((24, 24), "float32")
    module(a, b, c)
    np.testing.assert_array_equal(c, a + b)


@pytest.mark.parametrize("broken", range(5))
def test_less_is_made_of_what_passes_have_broken(
    broken: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = [False] * broken + [True]
    monkeypatch.setattr(machine, "_is_valid", lambda module: answers.pop(0))
    a, b = np.random.default_rng(0).random((2, 1000)).astype("float32")
    with te_sched.config.scoped(cache=False):
        te_sched.build(*row_sum(1000), "llvm")(a, b[:1])
    np.testing.assert_allclose(b[0], a.sum(), 1e-4)


@pytest.mark.parametrize(
    ("quirk", "most", "is_unrolled"),
    [("COPIED_BODIES", 500, True), ("COPIED_BODIES", 1, False), ("MANY_LOOPS", 1, False)],
)
def test_loops_of_large_programs_are_not_unrolled(
    quirk: str, most: int, is_unrolled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    limit(quirk, most, monkeypatch)
    A, k = te.placeholder((8,), name="A"), te.reduce_axis((0, 8), "k")
    B = te.compute((1,), lambda i: te.sum(A[k], axis=k), name="B")
    with te_sched.config.scoped(cache=False):
        text = te_sched.build(te.create_schedule(B.op), [A, B]).get_source("ll")
    assert (text.count("= fadd") > 1) == is_unrolled


def test_loops_are_unrolled_in_programs_of_many_small_functions() -> None:
    body = (
        "{\n" + "".join(f"b{k}:\nbr label %b{k + 1}\n" for k in range(200)) + "b200:\nret void\n}\n"
    )
    small = [f"define void @f{number}() {body}" for number in range(2)]
    assert next(quirks.tunings("\n".join(small), 2)).loop_unrolling
    assert not next(
        quirks.tunings(small[0].replace("ret void", "ret void\nx:" * 60), 2)
    ).loop_unrolling


def test_quotients_of_an_index_are_those_of_each_vector() -> None:
    A, B = te.placeholder((4, 31), name="A"), te.placeholder((31, 8), name="B")
    k = te.reduce_axis((0, 31), "k")
    C = te.compute((4, 8), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
    s = te.create_schedule(C.op)
    s[C].reorder(k, *C.op.axis)
    s[C].fuse(*C.op.axis)
    a, b = (np.random.default_rng(0).random(shape, "float32") for shape in ((4, 31), (31, 8)))
    c = np.zeros((4, 8), "float32")
    te_sched.build(s, [A, B, C])(a, b, c)
    np.testing.assert_allclose(c, a @ b, 1e-4)


def test_quotients_under_a_condition_are_those_of_each_lane() -> None:
    A, B = te.placeholder((6,), name="A"), te.placeholder((6,), name="B")
    index = te.placeholder((2,), "int32", name="I")
    C = te.compute((6, 6), lambda i, j: A[i] * B[j], name="C")
    D = te.compute((2, 6), lambda i, j: C[index[i], j], name="D")
    s = te.create_schedule(D.op)
    _, _, at, _ = s[D].tile(*D.op.axis, 6, 4)
    s[C].compute_at(s[D], at)
    s[C].fuse(*C.op.axis)
    a, b = (np.arange(1, 7).astype("float32") for _ in range(2))
    d = np.zeros((2, 6), "float32")
    te_sched.build(s, [A, B, index, D])(a, b, np.array([2, 5], "int32"), d)
    np.testing.assert_array_equal(d, np.outer(a, b)[[2, 5]])


def test_target_chooses_the_processor() -> None:
    program = elementwise(lambda x: ops.add(x, 1.0), ["float32"], 64)
    assert "zmm" in build(program, "llvm -mcpu=skylake-avx512 -mattr=-prefer-256-bit").get_source(
        "asm"
    )
    assert "ymm" not in build(program, "llvm -mcpu=x86-64").get_source("asm")
    assert "ymm" in build(program, "llvm -mcpu=x86-64 -mattr=+avx2").get_source("asm")


@pytest.mark.parametrize(
    ("options", "has_masks", "has_halves", "scales_powers", "width"),
    [
        ("-mcpu=x86-64", False, False, False, 16),
        ("-mcpu=haswell", True, True, False, 32),
        ("-mcpu=haswell -mattr=-f16c", True, False, False, 32),
        ("-mcpu=skylake-avx512", True, True, True, 64),
        ("-mcpu=knl", True, True, False, 64),  # LLVM scales by exponents' bits
    ],
)
def test_what_a_processor_has(
    options: str, has_masks: bool, has_halves: bool, scales_powers: bool, width: int
) -> None:
    processor = machine.machine_of(Target(f"llvm -mtriple=x86_64-linux-gnu {options}"))
    assert machine.has_masks(processor) == has_masks
    assert machine.converts_halves(processor) == has_halves
    assert machine.scales_powers(processor) == scales_powers
    assert machine.vector_bytes(processor) == width
    assert processor.triple == "x86_64-linux-gnu"


def test_machines_are_made_once() -> None:
    host = machine.host_machine()
    assert machine.machine_of(Target("llvm -fast-math")) is host
    assert machine.machine_of(Target("llvm -opt-level=1")) is not host
    assert set(host.describe()["features"].split(",")) <= set(machine.host_features().split(","))
    assert all(name.startswith("+") for name in host.describe()["features"].split(","))
    with pytest.raises(BuildError, match="LLVM does not support target 'llvm -mtriple=pdp11'"):
        machine.machine_of(Target("llvm -mtriple=pdp11"))


def defining(*names: str, body: str = "ret void", more: str = "") -> str:
    """LLVM IR that defines functions."""
    return more + "".join(f"define void @{name}() {{\n  {body}\n}}\n" for name in names)


H = "declare void @h()\ndeclare void @unused()\ndeclare void @llvm.trap()\n"
ASSEMBLY = 'module asm ".globl a"\nmodule asm "a:"\n'


def test_symbols_of_a_text() -> None:
    text = defining("f", "g", body="call void @h()\n ret void", more=ASSEMBLY + H)
    assert machine.defined_symbols(text) == {"f", "g", "a"}
    assert machine.missing_symbols(text) == {"h"}
    assert machine.process_symbol("malloc")
    assert machine.process_symbol("no_such_function") is None


@pytest.mark.parametrize(
    ("texts", "kept"),
    [
        *[([("f",)], [0]), ([("f",), ("f",)], [1]), ([("f", "g"), ("f",)], [0, 1])],
        *[([("f",), ("g",), ("f", "g")], [2]), ([("f",), ("f", "g"), ("g",)], [1, 2])],
    ],
)
def test_later_definitions_count(texts: list[tuple[str, ...]], kept: list[int]) -> None:
    linked = tuple(f"; {number}\n{defining(*names)}" for number, names in enumerate(texts))
    assert machine.without_superseded(linked) == [linked[number] for number in kept]


def test_definitions_in_assembly_cannot_be_replaced() -> None:
    for linked in ((ASSEMBLY + defining("g"), defining("a")), (defining("a", "g"), ASSEMBLY)):
        with pytest.raises(
            BuildError, match="pragma import_llvm defines a, which another one defin"
        ):
            machine.without_superseded(linked)


@pytest.mark.parametrize(
    ("text", "linked", "fault"),
    [
        ("define", (), "^the generated code is not valid LLVM IR\n(?s:.*)LLVM says: "),
        (defining("f"), ("define",), "^the LLVM IR of a pragma import_llvm is not valid"),
        (defining("f"), (defining("f", body="ret i32 0"),), "pragma import_llvm is not valid"),
        (
            defining(
                "f",
                body="call void @llvm.nonsense()\n ret void",
                more="declare void @llvm.nonsense()\n",
            ),
            (),
            "^unknown LLVM intrinsic llvm.nonsense in the generated code\n",
        ),
        (
            defining("f"),
            ("@f = global i32 0",),
            "cannot combine the LLVM IR of a pragma import_llvm",
        ),
    ],
)
def test_text_that_llvm_refuses(text: str, linked: tuple[str, ...], fault: str) -> None:
    with pytest.raises(BuildError, match=fault):
        machine.compile_object(text, linked, machine.host_machine())


def test_imported_functions_take_the_place_of_generated_ones() -> None:
    generated = "define i32 @f() {\n  ret i32 1\n}\n"
    imported = generated.replace("1", "2")
    processor = machine.host_machine()
    assert "ret i32 2" in machine.show_source(generated, (imported,), processor, "ll")
    ll, asm = machine.show_sources(generated, (), processor)
    assert "ret i32 1" in ll
    assert "f:" in asm
    shown = f"@te_sched_metadata = constant i32 0\n{generated}"
    assert "te_sched_metadata" not in machine.show_source(shown, (), processor, "asm")
