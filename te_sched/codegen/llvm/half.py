"""Conversions of float16 for processors without instructions for them.

LLVM calls these functions by name then, and only some systems have them in libgcc. IEEE 754 lays a
float16 out as 1 sign, 5 exponent and 10 mantissa bits. Must not know expressions.
"""

from __future__ import annotations

from collections.abc import Callable

from te_sched.codegen.llvm.module import ModuleText

# The bits of a half moved to a float's place have an exponent that is 112 too small: multiply by
# 2^112, which also makes subnormal halves right. Infinities and NaNs get the largest exponent.
_EXTEND = """define weak hidden float @__extendhfsf2(half %x) nounwind {
  %short = bitcast half %x to i16
  %bits = zext i16 %short to i32
  %magnitude = and i32 %bits, 32767
  %sign = and i32 %bits, 32768
  %high = shl i32 %sign, 16
  %moved = shl i32 %magnitude, 13
  %small = bitcast i32 %moved to float
  %scaled = fmul float %small, 0x46F0000000000000
  %finite = bitcast float %scaled to i32
  %special = or i32 %moved, 2139095040
  %is_special = icmp uge i32 %magnitude, 31744
  %chosen = select i1 %is_special, i32 %special, i32 %finite
  %result = or i32 %chosen, %high
  %float = bitcast i32 %result to float
  ret float %float
}"""

# Normal results: rebias the exponent, and round to nearest even by adding just less than half a
# unit and the last bit kept. Subnormal results: adding 0.5 makes the addition round at that bit.
_TRUNCATE = """define weak hidden half @__truncsfhf2(float %x) nounwind {
  %bits = bitcast float %x to i32
  %sign = and i32 %bits, -2147483648
  %magnitude = xor i32 %bits, %sign
  %shifted = lshr i32 %magnitude, 13
  %odd = and i32 %shifted, 1
  %rebiased = add i32 %magnitude, -939520001
  %rounded = add i32 %rebiased, %odd
  %normal = lshr i32 %rounded, 13
  %float = bitcast i32 %magnitude to float
  %sum = fadd float %float, 0.5
  %sum_bits = bitcast float %sum to i32
  %subnormal = sub i32 %sum_bits, 1056964608
  %is_small = icmp ult i32 %magnitude, 947912704
  %finite = select i1 %is_small, i32 %subnormal, i32 %normal
  %is_large = icmp uge i32 %magnitude, 1199570944
  %bounded = select i1 %is_large, i32 31744, i32 %finite
  %payload = and i32 %shifted, 1023
  %quiet = or i32 %payload, 32256
  %is_nan = icmp ugt i32 %magnitude, 2139095040
  %chosen = select i1 %is_nan, i32 %quiet, i32 %bounded
  %top = lshr i32 %sign, 16
  %whole = or i32 %chosen, %top
  %short = trunc i32 %whole to i16
  %half = bitcast i16 %short to half
  ret half %half
}"""

_KEPT = """@llvm.compiler.used = appending global [2 x ptr]
  [ptr @__extendhfsf2, ptr @__truncsfhf2], section "llvm.metadata\""""


def define_half_conversions(module: ModuleText, has_instructions: Callable[[], bool]) -> None:
    """Add the conversions to a module that uses float16, unless the processor has them."""
    if not any("half" in text for text in module.functions) or has_instructions():
        return
    module.define("__extendhfsf2", _EXTEND)
    module.define("__truncsfhf2", _TRUNCATE)
    module.define("llvm.compiler.used", _KEPT)
