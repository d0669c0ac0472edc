"""Processors, features and intrinsics that LLVM does not know; instructions by tensorize."""

from __future__ import annotations

import platform
import re
from typing import Any

import numpy as np
import pytest

import te_sched
from te_sched import te, tir
from te_sched.codegen.llvm import processors
from te_sched.codegen.llvm.machine import host_features
from te_sched.codegen.target import Target
from te_sched.errors import BuildError

M, N, K = 6, 32, 64
pytestmark = pytest.mark.skipif(
    platform.machine() not in ("x86_64", "AMD64"), reason="the instructions are x86-64's"
)
WITHOUT = "llvm -mcpu=haswell"


def needs(feature: str) -> pytest.MarkDecorator:
    missing = f"+{feature}" not in host_features().split(",")
    return pytest.mark.skipif(missing, reason=f"this processor has no {feature}")


def reinterpret(dtype: str, value: Any) -> Any:
    return tir.call_intrin(dtype, "tir.reinterpret", value)


def dot_product(
    lanes: int, group: int, inputs: tuple[str, str], result: str, instruction: str
) -> te.TensorIntrin:
    """c[i] += sum of a[k] b[i, k] over a group of k, by one instruction."""
    a = te.placeholder((group,), dtype=inputs[0], name="a")
    b = te.placeholder((lanes, group), dtype=inputs[1], name="b")
    k = te.reduce_axis((0, group), name="k")
    c = te.compute(
        (lanes,), lambda i: te.sum(a[k].astype(result) * b[i, k].astype(result), axis=k), name="c"
    )
    strides: dict[te.Tensor, list[Any]] = {a: [1], b: [te.var("row"), 1], c: [1]}
    binds = {
        t: tir.decl_buffer(t.shape, t.dtype, t.op.name, offset_factor=1, strides=strides[t])
        for t in (a, b, c)
    }
    sums, words = f"{result}x{lanes}", f"int32x{lanes}"

    def body(given: Any, made: Any) -> Any:
        def statement(start: Any) -> Any:
            ib = tir.ir_builder.create()
            word = reinterpret("int32", given[0].vload([0], f"{inputs[0]}x{group}"))
            left = word.astype(words)
            right = given[1].vload([0, 0], f"{inputs[1]}x{lanes * group}")
            if inputs[0] == "bfloat16":
                left = reinterpret(f"bfloat16x{lanes * group}", left)
            else:
                right = reinterpret(words, right)
            count = tir.const(0, "uint32")
            value = tir.call_llvm_pure_intrin(sums, instruction, count, start, left, right)
            ib.emit(made[0].vstore([0], value))
            return ib.get()

        ib = tir.ir_builder.create()
        ib.emit(made[0].vstore([0], tir.const(0, sums)))
        zero = tir.const(0, sums)
        return statement(zero), ib.get(), statement(made[0].vload([0], sums))

    return te.decl_tensor_intrin(c.op, body, binds=binds)


def product(lanes: int, group: int, inputs: tuple[str, str], result: str) -> Any:
    """C = A B, with B packed for the instruction: its schedule, arguments and axis."""
    A = te.placeholder((M, K), dtype=inputs[0], name="A")
    B = te.placeholder((N // lanes, K // group, lanes, group), dtype=inputs[1], name="B")
    k = te.reduce_axis((0, K), name="k")

    def element(i: Any, j: Any) -> Any:
        packed = B[j // lanes, k // group, j % lanes, k % group]
        return te.sum(A[i, k].astype(result) * packed.astype(result), axis=k)

    C = te.compute((M, N), element, name="C")
    s = te.create_schedule(C.op)
    outer, inner = s[C].split(C.op.axis[1], lanes)
    groups, rest = s[C].split(k, group)
    s[C].reorder(C.op.axis[0], outer, groups, inner, rest)
    return s, [A, B, C], inner


def bytes_program(lanes: int) -> tuple[te.Schedule, list[te.Tensor]]:
    inputs = ("uint8", "int8")
    s, args, axis = product(lanes, 4, inputs, "int32")
    name = f"llvm.x86.avx512.vpdpbusd.{32 * lanes}"
    s[args[2]].tensorize(axis, dot_product(lanes, 4, inputs, "int32", name))
    return s, args


def bfloat_program() -> tuple[te.Schedule, list[te.Tensor]]:
    inputs = ("bfloat16", "bfloat16")
    s, args, axis = product(16, 2, inputs, "float32")
    name = "llvm.x86.avx512bf16.dpbf16ps.512"
    s[args[2]].tensorize(axis, dot_product(16, 2, inputs, "float32", name))
    return s, args


def unpacked(b: np.ndarray) -> np.ndarray:
    return b.transpose(1, 3, 0, 2).reshape(K, N)


@needs("avx512vnni")
@pytest.mark.parametrize("lanes", [4, 8, 16])
def test_products_of_bytes(lanes: int) -> None:
    module = te_sched.build(*bytes_program(lanes))
    assert "vpdpbusd" in module.get_source("asm")
    random = np.random.default_rng(0)
    a = random.integers(0, 256, (M, K), dtype="uint8")
    b = random.integers(-128, 128, (N // lanes, K // 4, lanes, 4), dtype="int8")
    c = np.zeros((M, N), "int32")
    module(a, b, c)
    np.testing.assert_array_equal(c, a.astype("int32") @ unpacked(b).astype("int32"))


@needs("avx512bf16")
def test_products_of_bfloat16() -> None:
    module = te_sched.build(*bfloat_program())
    assert "vdpbf16ps" in module.get_source("asm")
    random = np.random.default_rng(1)
    a = random.integers(-8, 8, (M, K)).astype("float32")
    b = random.integers(-8, 8, (N // 16, K // 2, 16, 2)).astype("float32")
    device = te_sched.cpu()
    arrays = [te_sched.nd.empty(x.shape, "bfloat16", device).copyfrom(x) for x in (a, b)]
    c = np.zeros((M, N), "float32")
    module(*arrays, c)
    np.testing.assert_array_equal(c, a @ unpacked(b))


@pytest.mark.parametrize("program", [bytes_program(16), bytes_program(8), bfloat_program()])
def test_instruction_that_the_processor_lacks_is_refused(program: Any) -> None:
    s, args = program
    with pytest.raises(BuildError, match="has no instruction for"):
        te_sched.build(s, args, WITHOUT)


def test_feature_that_is_taken_away_is_missing() -> None:
    with pytest.raises(BuildError, match="avx512vnni"):
        te_sched.build(*bytes_program(16), "llvm -mattr=-avx512vnni")


def test_named_processor_has_its_instructions() -> None:
    module = te_sched.build(*bytes_program(16), "llvm -mcpu=cascadelake")
    assert "vpdpbusd" in module.get_source("asm")


def test_vectors_of_byte_products_are_multiplied_in_pairs() -> None:
    """Without tensorize, LLVM finds the products of 16 bits that are added in pairs."""
    s, args, axis = product(16, 4, ("uint8", "int8"), "int32")
    s[args[2]].unroll(s[args[2]].leaf_iter_vars[-1])
    s[args[2]].reorder(s[args[2]].leaf_iter_vars[-1], axis)
    s[args[2]].vectorize(axis)
    source = te_sched.build(s, args, "llvm -mcpu=cascadelake").get_source("asm")
    assert re.search("vpdpwssd|vpmaddwd", source)


@pytest.mark.parametrize(
    ("name", "result", "operands", "is_tried"),
    [
        *[("llvm.exp", "float", ("float",), False), ("llvm.exp.f32", "float", ("float",), False)],
        *[("llvm.exp", "float", (), True), ("llvm.fma", "half", ("half", "float", "half"), True)],
        *[("llvm.ctlz", "i32", ("i32",), True), ("llvm.x86.avx.dp", "float", ("float",), True)],
    ],
)
def test_intrinsics_that_are_tried(
    name: str, result: str, operands: tuple[str, ...], is_tried: bool
) -> None:
    assert processors.needs_trial(name, result, operands) == is_tried


VPDPBUSD = "llvm.x86.avx512.vpdpbusd.512"
OPERANDS = ("<16 x i32>", *[("<16 x i32>", "")] * 3)


@pytest.mark.parametrize(
    ("triple", "features", "fault"),
    [
        ("x86_64-linux-gnu", "+avx512vnni,+avx512vl", None),
        ("x86_64-linux-gnu", "+avx512vnni,+avx512vl,-avx512vnni", "(avx512vnni, avx512vl)"),
        ("aarch64-linux-gnu", "+neon", "(avx512vnni, avx512vl)"),
    ],
)
def test_features_of_intrinsics(triple: str, features: str, fault: str | None) -> None:
    def check() -> None:
        call = [(VPDPBUSD, OPERANDS)]
        processors.check_intrinsics(Target("llvm"), triple, "x86-64", features, call)

    if fault is None:
        check()
        return
    with pytest.raises(
        BuildError, match=f"no instruction for the intrinsic {VPDPBUSD} {re.escape(fault)}"
    ):
        check()


@pytest.mark.parametrize(
    ("options", "fault"),
    [
        ("-mcpu=skylke", "unknown processor -mcpu=skylke in target(?s:.*)use one like skylake"),
        ("-mattr=+avx222", "unknown feature avx222 in target(?s:.*)use one like avx2"),
        ("-mattr=avx2", r"'avx2' in -mattr of target .* must begin with \+ or -"),
    ],
)
def test_unknown_names_are_refused(options: str, fault: str) -> None:
    target = Target(f"llvm {options}")
    cpu = target.mcpu or "x86-64"
    with pytest.raises(BuildError, match=fault):
        processors.check_target(target, "x86_64-linux-gnu", cpu, target.mattr or "")


def test_nothing_is_asked_about_this_computer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processors, "compile_apart", None)
    for text in ("llvm", "llvm -mcpu=native", "llvm -mcpu=generic -opt-level=0"):
        processors.check_target(Target(text), "x86_64-linux-gnu", "", "")
