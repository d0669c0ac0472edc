"""Small device functions that kernels call, written into the source where one does.

Their results equal those of the code for processors: division by zero is zero, the extremum of a
NaN and a number is NaN. Must not know their callers.
"""

from __future__ import annotations

_INLINE = "static __device__ __forceinline__"

_BETTER = {"min": "<", "max": ">"}


def _extremum(name: str, better: str) -> str:
    return f"""template <typename T>
{_INLINE} T te_{name}(T a, T b) {{
  return a {better} b || a != a ? a : b;
}}
#if __CUDA_ARCH__ >= 800
{_INLINE} float te_{name}(float a, float b) {{
  float result;
  asm("{name}.NaN.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b));
  return result;
}}
#endif"""


def _atomic(name: str, better: str) -> str:
    return f"""{_INLINE} float te_atomic_{name}(float* place, float value) {{
  int seen = __float_as_int(*place), expected;
  do {{
    expected = seen;
    if (!(value {better} __int_as_float(expected) || value != value)) break;
    seen = atomicCAS((int*)place, expected, __float_as_int(value));
  }} while (seen != expected);
  return __int_as_float(seen);
}}"""


HELPERS: dict[str, str] = {
    **{f"te_{name}": _extremum(name, symbol) for name, symbol in _BETTER.items()},
    # Shifts by the width or more, or by less than 0, leave no bit.
    "te_shift_left": f"""template <typename T>
{_INLINE} T te_shift_left(T a, T b) {{
  return b >= 0 && b < T(8 * sizeof(T)) ? T(a << b) : T(0);
}}""",
    "te_shift_right": f"""template <typename T>
{_INLINE} T te_shift_right(T a, T b) {{
  return b >= 0 && b < T(8 * sizeof(T)) ? T(a >> b) : T(a < 0 ? -1 : 0);
}}""",
    # Divisors that may be 0, or -1 where the quotient overflows.
    "te_div": f"""template <typename T>
{_INLINE} T te_div(T a, T b) {{
  if (b == 0) return 0;
  return T(-1) < T(0) && b == T(-1) ? T(0ull - (unsigned long long)a) : a / b;
}}""",
    "te_mod": f"""template <typename T>
{_INLINE} T te_mod(T a, T b) {{
  return b == 0 || (T(-1) < T(0) && b == T(-1)) ? 0 : a % b;
}}""",
    "te_floordiv": f"""template <typename T>
{_INLINE} T te_floordiv(T a, T b) {{
  if (b == 0) return 0;
  if (b == T(-1)) return T(0ull - (unsigned long long)a);
  T quotient = a / b, rest = a % b;
  return rest != 0 && (rest < 0) != (b < 0) ? quotient - 1 : quotient;
}}""",
    "te_floormod": f"""template <typename T>
{_INLINE} T te_floormod(T a, T b) {{
  if (b == 0 || b == T(-1)) return 0;
  T rest = a % b;
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}}""",
    # Divisors that are above 0.
    "te_floordiv_positive": f"""template <typename T>
{_INLINE} T te_floordiv_positive(T a, T b) {{
  T quotient = a / b;
  return a % b < 0 ? quotient - 1 : quotient;
}}""",
    "te_floormod_positive": f"""template <typename T>
{_INLINE} T te_floormod_positive(T a, T b) {{
  T rest = a % b;
  return rest < 0 ? rest + b : rest;
}}""",
    "te_float_floormod": f"""template <typename T>
{_INLINE} T te_float_floormod(T a, T b) {{
  return a - floor(a / b) * b;
}}""",
    **{f"te_atomic_{name}": _atomic(name, symbol) for name, symbol in _BETTER.items()},
}
