"""Fit the polynomials of te_sched/codegen/llvm/math_coefficients.py, and print that file.

    python scripts/fit_polynomials.py > te_sched/codegen/llvm/math_coefficients.py

Each polynomial minimizes the sum of squared relative errors over Chebyshev nodes, computed with 60
digits; its largest error is within a small factor of the minimax polynomial's. Coefficients are
rounded to their type one by one, from the constant term on, and the others are fitted again after
each, to compensate for the rounding.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

import mpmath as mp  # type: ignore[import-untyped]

mp.mp.dps = 60
Real = Any  # an mpf; mpmath has no types
Function = Callable[[Real], Real]
HALF_LN2 = mp.log(2) / 2 * mp.mpf("1.0001")  # rounding to the nearest multiple is not exact
LOW, HIGH = mp.sqrt(0.5) - 1, mp.sqrt(2) - 1


def rounded(value: Real, single: bool) -> float:
    """The nearest float64, or float32."""
    number = float(value)
    return struct.unpack("<f", struct.pack("<f", number))[0] if single else number


def fit(
    function: Function, low: Real, high: Real, degree: int, single: bool, weight: Function
) -> list[float]:
    """Coefficients, constant term first, of a polynomial near a function on an interval; `weight`
    is that of an error.
    """
    nodes = [
        (low + high) / 2 + (high - low) / 2 * mp.cos(mp.pi * (2 * k + 1) / 80) for k in range(40)
    ]
    values = [function(x) for x in nodes]
    found: list[float] = []
    while len(found) <= degree:
        weights = [weight(x) for x in nodes]
        powers = mp.matrix(len(nodes), degree + 1 - len(found))
        rest = mp.matrix(len(nodes), 1)
        for row, x in enumerate(nodes):
            known = sum(c * x**n for n, c in enumerate(found))
            rest[row] = (values[row] - known) * weights[row]
            for column in range(powers.cols):
                powers[row, column] = x ** (len(found) + column) * weights[row]
        best = mp.lu_solve(powers.T * powers, powers.T * rest)
        found.append(rounded(best[0], single))
    return found


def error(
    coefficients: list[float], function: Function, low: Real, high: Real, weight: Function
) -> float:
    """The largest weighted distance, in bits."""
    worst = mp.mpf(0)
    for k in range(400):
        x = low + (high - low) * (k + mp.mpf("0.37")) / 400
        value = sum(c * x**n for n, c in enumerate(coefficients))
        worst = max(worst, abs((value - function(x)) * weight(x)))
    return float(mp.log(worst, 2))


def _erf_quotient(z: Real) -> Real:
    """erf(sqrt(z)) / sqrt(z) - 1"""
    x = mp.sqrt(z)
    return mp.erf(x) / x - 1


def _tanh_rest(z: Real) -> Real:
    """(tanh(sqrt(z)) / sqrt(z) - 1) / z"""
    x = mp.sqrt(z)
    return (mp.tanh(x) / x - 1) / z


def _cosine_rest(z: Real) -> Real:
    """(cos(pi/2 sqrt(z)) - 1) / z"""
    return (mp.cos(mp.pi / 2 * mp.sqrt(z)) - 1) / z


def _log_rest(z: Real) -> Real:
    """(log((1 + s) / (1 - s)) - 2 s) / s^3, s = sqrt(z)"""
    s = mp.sqrt(z)
    return (mp.log((1 + s) / (1 - s)) - 2 * s) / s**3


TINY = mp.mpf("1e-12")
POLYNOMIALS = [
    ("EXP_F32", "(exp(r) - 1 - r) / r^2", lambda r: (mp.expm1(r) - r) / r**2,
     -HALF_LN2, HALF_LN2, 4, True),
    ("EXP2_F32", "(2^r - 1) / r", lambda r: mp.expm1(r * mp.log(2)) / r,
     -mp.mpf("0.50001"), mp.mpf("0.50001"), 6, True),
    ("LOG_F32", "(log(1 + f) - f + f^2 / 2) / f^3", lambda f: (mp.log1p(f) - f + f * f / 2) / f**3,
     LOW, HIGH, 8, True),
    ("TANH_F32", "(tanh(sqrt(z)) / sqrt(z) - 1) / z", _tanh_rest, TINY, mp.mpf(1), 6, True),
    ("ERF_F32", "erf(sqrt(z)) / sqrt(z) - 1", _erf_quotient, TINY, mp.mpf(1), 6, True),
    ("ERFC_LOG2_F32", "log2(1 - erf(x)), error of erf(x)", lambda x: mp.log(mp.erfc(x), 2),
     mp.mpf(1), mp.mpf(4), 5, True),
    ("SHORT_EXP2_F32", "(2^r - 1) / r, error of 2^r", lambda r: mp.expm1(r * mp.log(2)) / r,
     -mp.mpf("0.50001"), mp.mpf("0.50001"), 4, True),
    ("EXP2_FOR_F32", "(2^r - 1) / r", lambda r: mp.expm1(r * mp.log(2)) / r,
     -mp.mpf("0.50001"), mp.mpf("0.50001"), 6, False),
    ("LOG2_FOR_F32", "log2(1 + f) / f", lambda f: mp.log1p(f) / mp.log(2) / f,
     LOW, HIGH, 13, False),
    ("SIN_FOR_F32", "sin(pi/2 sqrt(z)) / sqrt(z)",
     lambda z: mp.sin(mp.pi / 2 * mp.sqrt(z)) / mp.sqrt(z), TINY, mp.mpf("0.2501"), 4, False),
    ("COS_FOR_F32", "(cos(pi/2 sqrt(z)) - 1) / z", _cosine_rest, TINY, mp.mpf("0.2501"), 4, False),
    ("EXP_F64", "(exp(r) - 1 - r) / r^2", lambda r: (mp.expm1(r) - r) / r**2,
     -HALF_LN2, HALF_LN2, 9, False),
    ("EXP2_F64", "(2^r - 1) / r", lambda r: mp.expm1(r * mp.log(2)) / r,
     -mp.mpf("0.50001"), mp.mpf("0.50001"), 11, False),
    ("LOG_F64", "(log((1 + s) / (1 - s)) - 2 s) / s^3, z = s^2", _log_rest,
     TINY, mp.mpf("0.02945"), 6, False),
]  # fmt: skip


# Weights of errors other than relative ones, by what is fitted.
WEIGHTS: dict[str, Function] = {
    "log2(1 - erf(x)), error of erf(x)": lambda x: mp.erfc(x) * mp.log(2),
    "(2^r - 1) / r, error of 2^r": lambda r: abs(r) / mp.mpf(2) ** r,
}


def relative_to(function: Function, shift: int) -> Function:
    """The weight of an error relative to a function plus a number."""
    return lambda x: 1 / abs(function(x) + shift)


def two_over_pi() -> int:
    """2/pi * 2^192, truncated to an integer."""
    with mp.workdps(120):
        return int(2 / mp.pi * mp.mpf(2) ** 192)


def main() -> None:
    """Print the module."""
    print('"""Coefficients of polynomials: written by scripts/fit_polynomials.py, not by hand.')
    print(
        "\nEach comment gives the function and the relative error, in bits (of the function\n"
        "plus 1 where the comment subtracts 1), or the error of what is computed from it."
    )
    print('"""\n\nfrom __future__ import annotations\n')
    for name, what, function, low, high, degree, single in POLYNOMIALS:
        weight = WEIGHTS.get(what) or relative_to(function, int(what.endswith(" - 1")))
        found = fit(function, low, high, degree, single, weight)
        print(f"# {what}: {error(found, function, low, high, weight):.1f}")
        print(f"{name} = (")
        print("".join(f"    {value!r},\n" for value in found) + ")")
    print(f"# 2/pi * 2^192\nTWO_OVER_PI = 0x{two_over_pi():X}")


if __name__ == "__main__":
    main()
