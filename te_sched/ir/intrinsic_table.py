"""The table of intrinsics: their names, parameters, values and effects.

Used by the functions of `te`, effects, folding, vectorization, LLVM, CUDA, the emulated device and
the checked mode. An intrinsic that is not in the table may have any effect. Must not know
expressions.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

Meaning = Callable[..., Any]  # an elementwise function of numpy arrays


class Effect(IntEnum):
    """The side effect of a call, weakest first."""

    ANNOTATION = 0  # annotates a value
    PURE = 1
    READ_STATE = 2  # reads memory or other state
    UPDATE_STATE = 3  # writes memory, synchronizes, calls unknown functions
    SPECIAL_ARGUMENT = 4  # has a meaning only as the argument of another call
    EMBED_INFO = 5  # a hint for the compiler
    CONTROL_JUMP = 6  # leaves the function


@dataclass(frozen=True, slots=True)
class Intrinsic:
    """One intrinsic.

    `arity` is the number of arguments (None if it varies), `types` the type of the first one
    ("float", "integer" or any), `meaning` the elementwise function of numpy arrays, `symbol` the
    operator in Python.
    """

    name: str
    arity: int | None = None
    types: str = ""
    meaning: Meaning | None = None
    text: str = ""
    symbol: str = ""
    effect: Effect = Effect.PURE
    needs_threads: bool = False

    @property
    def takes_vectors(self) -> bool:
        """Whether vectorized loops call it with vectors, as in TVM."""
        return self.name in _OF_VECTORS.split()


_OF_VECTORS = (
    "likely exp exp2 exp10 log log2 log10 sqrt sigmoid tanh tan cos cosh sin sinh pow fabs floor "
    "ceil round trunc fma popcount q_multiply_shift q_multiply_shift_per_axis bitwise_and "
    "bitwise_or bitwise_xor bitwise_not shift_left shift_right call_llvm_pure_intrin"
)


def _each(function: Callable[[float], float], at_pole: float = math.nan) -> Meaning:
    """A function of Python's math module, for arrays."""

    def of_one(x: float) -> float:
        try:
            return function(x)
        except ValueError:
            return at_pole
        except OverflowError:
            return math.inf

    of_array = np.frompyfunc(of_one, 1, 1)
    return lambda x: np.asarray(of_array(x)).astype(np.float64)


def _unsigned(value: ArrayLike) -> np.ndarray:
    array = np.asarray(value)
    return array.view(f"u{array.itemsize}")


def _bits_set(value: ArrayLike) -> np.ndarray:
    return np.asarray(np.bitwise_count(_unsigned(value))).astype(np.int32)


def _leading_zeros(value: ArrayLike) -> np.ndarray:
    array = np.asarray(value)
    smeared = _unsigned(array).astype(np.uint64)
    for step in (1, 2, 4, 8, 16, 32):
        smeared |= smeared >> np.uint64(step)
    width = 1 if array.dtype == np.bool_ else 8 * array.itemsize
    return np.asarray(width - _bits_set(smeared))


# Functions of floats with the same name in C or CUDA.
_MATHEMATICS: tuple[tuple[str, int, Meaning, str], ...] = (
    ("exp", 1, np.exp, "e to the power of x."),
    ("exp2", 1, np.exp2, "2 to the power of x."),
    ("exp10", 1, lambda x: np.power(10.0, x), "10 to the power of x."),
    ("expm1", 1, np.expm1, "exp(x) - 1."),
    ("log", 1, np.log, "The natural logarithm."),
    ("log2", 1, np.log2, "The logarithm to the base 2."),
    ("log10", 1, np.log10, "The logarithm to the base 10."),
    ("log1p", 1, np.log1p, "The natural logarithm of 1 + x."),
    ("sqrt", 1, np.sqrt, "The square root."),
    ("rsqrt", 1, lambda x: 1 / np.sqrt(x), "One divided by the square root."),
    ("cbrt", 1, np.cbrt, "The cube root."),
    ("erf", 1, _each(math.erf), "The error function."),
    ("lgamma", 1, _each(math.lgamma, math.inf), "The logarithm of the size of gamma of x."),
    ("tgamma", 1, _each(math.gamma), "The gamma function."),
    ("sin", 1, np.sin, "The sine."),
    ("cos", 1, np.cos, "The cosine."),
    ("tan", 1, np.tan, "The tangent."),
    ("asin", 1, np.arcsin, "The inverse sine."),
    ("acos", 1, np.arccos, "The inverse cosine."),
    ("atan", 1, np.arctan, "The inverse tangent."),
    ("sinh", 1, np.sinh, "The hyperbolic sine."),
    ("cosh", 1, np.cosh, "The hyperbolic cosine."),
    ("tanh", 1, np.tanh, "The hyperbolic tangent."),
    ("asinh", 1, np.arcsinh, "The inverse hyperbolic sine."),
    ("acosh", 1, np.arccosh, "The inverse hyperbolic cosine."),
    ("atanh", 1, np.arctanh, "The inverse hyperbolic tangent."),
    ("floor", 1, np.floor, "The largest whole number that is not above x."),
    ("ceil", 1, np.ceil, "The smallest whole number that is not below x."),
    ("trunc", 1, np.trunc, "x without its fraction."),
    ("round", 1, np.rint, "The nearest whole number, halves to the even one."),
    ("nearbyint", 1, np.rint, "The nearest whole number, halves to the even one."),
    ("rint", 1, np.rint, "The nearest whole number, halves to the even one."),
    ("fabs", 1, np.abs, "x without its sign."),
    ("pow", 2, np.power, "x to the power of y."),
    ("fmod", 2, np.fmod, "The remainder of x / y, with the sign of x."),
    ("atan2", 2, np.arctan2, "The angle of the point (y, x); the first argument is y."),
    ("hypot", 2, np.hypot, "The square root of x*x + y*y."),
    ("nextafter", 2, np.nextafter, "The next number after x on the way to y."),
    ("copysign", 2, np.copysign, "The size of x with the sign of y."),
    ("ldexp", 2, np.ldexp, "x * 2**exponent, of a float and an integer."),
    ("fma", 3, lambda x, y, z: x * y + z, "x * y + z."),
)
_OF_INTEGERS_TOO = ("fabs", "fmod")
MATHEMATICS = tuple([row[0] for row in _MATHEMATICS])

# Functions of integers that simplification evaluates for constants.
_BITS: tuple[tuple[str, int, Meaning, str, str], ...] = (
    ("bitwise_and", 2, np.bitwise_and, "a & b, of integers or booleans.", "&"),
    ("bitwise_or", 2, np.bitwise_or, "a | b, of integers or booleans.", "|"),
    ("bitwise_xor", 2, np.bitwise_xor, "a ^ b, of integers or booleans.", "^"),
    ("shift_left", 2, np.left_shift, "a << b, of integers.", "<<"),
    ("shift_right", 2, np.right_shift, "a >> b, of integers, with their sign.", ">>"),
    ("bitwise_not", 1, np.bitwise_not, "~a", ""),
    ("clz", 1, _leading_zeros, "The number of zeros before the first bit that is set.", ""),
)


def _with_effect(effect: Effect, names: str, needs_threads: bool = False) -> Iterable[Intrinsic]:
    return [Intrinsic(name, effect=effect, needs_threads=needs_threads) for name in names.split()]


INTRINSICS: dict[str, Intrinsic] = {
    row.name: row
    for row in (
        *[
            Intrinsic(name, arity, "" if name in _OF_INTEGERS_TOO else "float", meaning, text)
            for name, arity, meaning, text in _MATHEMATICS
        ],
        *[
            Intrinsic(name, arity, "integer", meaning, text, symbol)
            for name, arity, meaning, text, symbol in _BITS
        ],
        Intrinsic("sigmoid", 1, "float", lambda x: 1 / (1 + np.exp(-x)), "1 / (1 + exp(-x))."),
        Intrinsic("abs", 1, "", np.abs),
        Intrinsic("truncmod", 2, "", np.fmod),
        Intrinsic("popcount", 1, "integer", _bits_set),
        Intrinsic("isnan", 1, "", np.isnan),
        Intrinsic("isinf", 1, "", np.isinf),
        Intrinsic("isfinite", 1, "", np.isfinite),
        Intrinsic("if_then_else", 3, "", np.where),
        Intrinsic("likely", 1, "", lambda x: x, effect=Effect.ANNOTATION),
        Intrinsic("reinterpret", 1),
        Intrinsic("q_multiply_shift", 4),
        *_with_effect(
            Effect.PURE,
            "q_multiply_shift_per_axis large_uint_imm address_of isnullptr type_annotation "
            "call_pure_extern call_llvm_pure_intrin tvm_check_return tvm_thread_invariant "
            "vectorhigh vectorlow vectorcombine vscale get_active_lane_mask dp4a "
            "start_profile_intrinsic end_profile_intrinsic",
        ),
        *_with_effect(Effect.PURE, "ptx_ldg32 cuda.__activemask", needs_threads=True),
        *_with_effect(Effect.READ_STATE, "tvm_struct_get tvm_context_id undef"),
        *_with_effect(Effect.READ_STATE, "tvm_load_matrix_sync", needs_threads=True),
        *_with_effect(Effect.SPECIAL_ARGUMENT, "tvm_access_ptr tvm_static_handle"),
        *_with_effect(Effect.EMBED_INFO, "assume tvm_tuple"),
        *_with_effect(Effect.CONTROL_JUMP, "ret"),
        *_with_effect(
            Effect.UPDATE_STATE,
            "prefetch call_extern call_packed tvm_call_packed call_llvm_intrin "
            "atomic_add atomic_min atomic_max atomic_exch atomic_cas",
        ),
        *_with_effect(
            Effect.UPDATE_STATE,
            "tvm_storage_sync tvm_thread_allreduce tvm_warp_activemask tvm_warp_shuffle "
            "tvm_warp_shuffle_up tvm_warp_shuffle_down tvm_fill_fragment tvm_store_matrix_sync "
            "tvm_mma_sync mma_store mma_fill ptx_mma ptx_mma_sp ptx_ldmatrix ptx_cp_async "
            "ptx_cp_async_bulk",
            needs_threads=True,
        ),
    )
}
# Functions of two integers of one type, and the folded ones.
BITWISE = frozenset(f"tir.{row.name}" for row in INTRINSICS.values() if row.symbol)
FOLDED = {f"tir.{name}": meaning for name, _, meaning, *_ in _BITS}
# External functions, which depend on the types of their arguments.
FOREIGN = frozenset(
    f"tir.{name}"
    for name in (
        *("call_extern", "call_pure_extern", "call_llvm_intrin", "call_llvm_pure_intrin"),
        *("call_packed", "tvm_call_packed", "tvm_call_cpacked"),
        *("tvm_call_packed_lowered", "tvm_call_cpacked_lowered"),
    )
)

EFFECTS = {f"tir.{row.name}": row.effect for row in INTRINSICS.values()}


def call_effect(op: str) -> Effect:
    """The effect of calling an intrinsic; UPDATE_STATE if it is not in the table."""
    return EFFECTS.get(op, Effect.UPDATE_STATE)
