"""Conversions of float16 without instructions of the processor."""

from __future__ import annotations

import numpy as np
import pytest

from te_sched.codegen.llvm.half import define_half_conversions
from te_sched.codegen.llvm.module import ModuleText
from te_sched.ir import expr as E
from tests.codegen.programs import build, elementwise


@pytest.mark.parametrize("target", ["llvm", "llvm -mcpu=x86-64"])
def test_every_float16_converts(target: str) -> None:
    bits = np.arange(1 << 16, dtype="uint16")
    halves, singles = bits.view("float16"), np.zeros(1 << 16, "float32")
    build(elementwise(lambda x: E.Cast("float32", x), ["float16"], 1 << 16), target)(
        halves, singles
    )
    np.testing.assert_array_equal(singles, halves.astype("float32"))
    with np.errstate(invalid="ignore"):  # among them are infinities and NaNs
        between = np.nextafter(singles, np.float32(np.inf), dtype="float32")
        ties = singles + np.ldexp(np.float32(0.5), np.frexp(singles)[1] - 11)
    back = np.zeros(1 << 16, "float16")
    module = build(elementwise(lambda x: E.Cast("float16", x), ["float32"], 1 << 16), target)
    with np.errstate(over="ignore"):
        for values in (singles, between, ties.astype("float32")):
            module(values, back)
            np.testing.assert_array_equal(back, values.astype("float16"))


@pytest.mark.parametrize(
    ("text", "has_instructions", "is_defined"),
    [("fadd half %x, %x", False, True), ("fadd half %x, %x", True, False), ("", False, False)],
)
def test_modules_without_need_do_not_have_them(
    text: str, has_instructions: bool, is_defined: bool
) -> None:
    module = ModuleText()
    module.functions.append(text)
    define_half_conversions(module, lambda: has_instructions)
    for name in ("__extendhfsf2", "__truncsfhf2", "@llvm.compiler.used"):
        assert (name in module.render(b"")) == is_defined
