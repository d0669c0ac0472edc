"""Derivatives of scalar expressions: the rules, each against finite differences."""

from __future__ import annotations

import numpy as np
import pytest

import te_sched
from te_sched import te, tir
from te_sched.ir import ops
from te_sched.ir.expr import Let, Var
from te_sched.te.derivative import _PARTIALS, derivative, guard_of, scaled

x, y = te.var("x", "float64"), te.var("y", "float64")
DOMAINS = {"acosh": (1.2, 3.0), "rsqrt": (0.3, 3.0), "pow": (0.3, 2.0)}
DOMAINS |= dict.fromkeys(("log", "log2", "log10", "log1p", "sqrt", "cbrt"), (0.3, 3.0))
DOMAINS |= dict.fromkeys(("asin", "acos", "atanh"), (-0.8, 0.8))


def evaluated(*values):
    """The values of expressions of x and y at points, of which arrays are given."""
    n = te.size_var("n")
    A, B = (te.placeholder((n,), "float64", name=name) for name in "AB")

    def at(value):
        return te.compute(
            (n,), lambda i: tir.stmt_functor.substitute(value, {x: A(i), y: B(i)}), name="C"
        )

    results = list(map(at, values))
    built = te_sched.build(te.create_schedule([one.op for one in results]), [A, B, *results])

    def call(a, b):
        found = [te_sched.nd.array(np.zeros_like(a)) for _ in results]
        built(te_sched.nd.array(a), te_sched.nd.array(b), *found)
        return [one.numpy() for one in found]

    return call


def check(e, low=-2.0, high=2.0):
    """Compare the derivatives with respect to x and y with differences of the expression."""
    zero = ops.const(0, "float64")
    rules = [derivative(e, var) for var in (x, y)]
    call = evaluated(e, *[zero if rule is None else rule for rule in rules])
    a, b = np.random.default_rng(1).uniform(low, high, (2, 50))
    step = 1e-6
    along_x = (call(a + step, b)[0] - call(a - step, b)[0]) / (2 * step)
    along_y = (call(a, b + step)[0] - call(a, b - step)[0]) / (2 * step)
    _, by_x, by_y = call(a, b)
    np.testing.assert_allclose(by_x, along_x, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(by_y, along_y, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", [*_PARTIALS])
def test_rule_of_intrinsic(name):
    arguments = {"ldexp": (x, te.const(3)), "fma": (x, y, x)}
    arity = te_sched.ir.intrinsic_table.INTRINSICS[name].arity
    given = arguments.get(name, (x, y)[:arity])
    check(tir.call_intrin("float64", f"tir.{name}", *given), *DOMAINS.get(name, (-2.0, 2.0)))


@pytest.mark.parametrize(
    "e",
    [
        x + y,
        x - y * 2.0,
        2.0 - x,
        x * x * y,
        x / (y * y + 1.0),
        te.max(x, y) * te.min(x, y),
        te.select(x > y, x * y, 1.0),
        te.if_then_else(x > y, 1.0, te.exp(x)),
        te.max(te.select(y > 0.0, x * x, 0.0), 0.5) / (x * x + 1.0),
        (x * 2.0).astype("float64"),
        te.exp(te.abs(x) * y) + te.sigmoid(x) * te.tanh(y),
        te.floor(x) * y + te.round(y),
        (x > 0.0).astype("float64") * y + x.astype("int32").astype("float64"),
    ],
    ids=str,
)
def test_rule_of_operator(e):
    check(e)


def test_let_is_replaced_by_its_value():
    v = Var("v", "float64")
    assert str(derivative(Let(v, x * y, v * v), x)) == "y * (x * y) + y * (x * y)"


def test_other_variables_are_constants():
    assert derivative(te.exp(y), x) is None
    assert str(derivative(x, x)) == "T.float64(1)"


def test_integers_have_no_derivative():
    n = te.var("n")
    assert derivative(n * 2, n) is None
    assert derivative((n * 2).astype("float32"), n) is None


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_dtype_is_kept(dtype):
    z = te.var("z", dtype)
    for e in (te.sqrt(z), te.erf(z), te.exp2(z), te.abs(z), te.max(z, z * z)):
        assert derivative(e, z).dtype == dtype


def test_a_factor_goes_under_the_guard():
    guarded = te.if_then_else(x > 0.0, x, te.const(0, "float64"))
    assert str(scaled(guarded, y)) == "T.if_then_else(x > T.float64(0), x * y, T.float64(0))"
    condition, inner = guard_of(guarded)
    assert (str(condition), inner) == ("x > T.float64(0)", x)
    assert guard_of(te.select(x > 0.0, x, y)) is None


@pytest.mark.parametrize(
    ("e", "name"),
    [
        (tir.call_intrin("float64", "tir.tgamma", x), "tgamma"),
        (te.nextafter(x, y), "nextafter"),
        (tir.call_pure_extern("float64", "f", x), "call_pure_extern"),
        (tir.Broadcast(x, 4), "Broadcast"),
    ],
)
def test_functions_without_a_rule(e, name):
    with pytest.raises(te_sched.errors.DeclarationError, match=f"^cannot differentiate {name}\n"):
        derivative(e, x)
    assert derivative(e, te.var("z", "float64")) is None
