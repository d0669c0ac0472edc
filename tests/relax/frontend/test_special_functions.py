"""Special functions of floats as tensor expressions."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from te_sched import nd, relax
from te_sched.relax.frontend import special_functions

X = np.array([0.1, 0.5, 0.9, 1.0, 3.5, 23.9, 24.1, 50.0])


def computed(function: Callable[..., relax.Expr], *options: object) -> np.ndarray:
    x = relax.Var("x", relax.TensorStructInfo(X.shape, "float64"))
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        builder.emit_func_output(function(builder, x, *options))
    machine = relax.VirtualMachine(relax.build(builder.get(), "llvm -opt-level=0"))
    return np.asarray(machine["main"](nd.array(X)).numpy())


def test_lgamma() -> None:
    expected = [math.lgamma(x) for x in X]
    np.testing.assert_allclose(computed(special_functions.lgamma), expected, 1e-12, 1e-14)


def test_erfinv() -> None:
    found = computed(special_functions.erfinv)
    np.testing.assert_allclose([math.erf(x) for x in found[:4]], X[:4], 1e-13)
    assert np.isnan(found[4:]).all()


def test_digamma_is_the_slope_of_lgamma() -> None:
    slope = [(math.lgamma(x + 1e-5) - math.lgamma(x - 1e-5)) / 2e-5 for x in X]
    np.testing.assert_allclose(computed(special_functions.digamma), slope, 1e-6, 1e-6)


def test_polygamma_is_the_slope_of_digamma() -> None:
    def slope(builder: relax.BlockBuilder, x: relax.Expr) -> relax.Expr:
        width = relax.const(1e-5, "float64")
        points = [builder.emit(f(x, width)) for f in (relax.op.add, relax.op.subtract)]
        above, below = [special_functions.digamma(builder, point) for point in points]
        return builder.emit(relax.op.subtract(above, below))

    found = computed(special_functions.polygamma, 1)
    np.testing.assert_allclose(found, computed(slope) / 2e-5, 1e-5)


def test_erfcx() -> None:
    found = computed(special_functions.erfcx)
    expected = [math.exp(x * x) * math.erfc(x) for x in X[:5]]
    np.testing.assert_allclose(found[:5], expected, 1e-12)
    np.testing.assert_allclose(found[5:] * X[5:] * math.sqrt(math.pi), 1, 2e-3)


@pytest.mark.parametrize("order", [0, 1])
def test_bessel_functions(order: int) -> None:
    """I(n, x) is the mean of exp(x * cos(t)) * cos(n * t) of all angles t."""
    angles = (np.arange(400) + 0.5) * math.pi / 400
    scaled = np.exp(X[:, None] * (np.cos(angles) - 1)) * np.cos(order * angles)
    found = computed(special_functions.bessel_i, order, True)
    np.testing.assert_allclose(found, scaled.mean(1), 1e-12)
    whole = computed(special_functions.bessel_i, order, False)
    np.testing.assert_allclose(whole, scaled.mean(1) * np.exp(X), 1e-12)
