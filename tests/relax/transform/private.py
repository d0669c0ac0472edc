"""A module of private functions, and what passes make of them."""

import numpy as np

from te_sched import IRModule, relax
from te_sched.script import ir as I
from te_sched.script import relax as R
from tests.relax.described import described_module


@I.ir_module
class Private:
    @R.function
    def main(x: R.Tensor((4,), "float32"), y: R.Tensor((4,), "float32")):
        cls = Private
        a = cls.first(x, y)
        b = cls.both((x, y))
        c = b[0]
        d = R.add(a, c)
        return d

    @R.function(private=True)
    def first(a: R.Tensor((4,), "float32"), b: R.Tensor((4,), "float32")) -> R.Tensor(
        (4,), "float32"
    ):
        c = R.negative(a)
        return c

    @R.function(private=True)
    def both(
        t: R.Tuple(R.Tensor((4,), "float32"), R.Tensor((4,), "float32")),
    ) -> R.Tuple(R.Tensor((4,), "float32"), R.Tensor((4,), "float32")):
        a = t[0]
        c = R.negative(a)
        return (c, a)


@I.ir_module
class Nested:
    @R.function
    def main(x: R.Tensor((2, 3), "float32")):
        cls = Nested
        pair = cls.both(((x, x), x))
        y = pair[1]
        return y

    @R.function(private=True)
    def both(
        args: R.Tuple(
            R.Tuple(R.Tensor((2, 3), "float32"), R.Tensor((2, 3), "float32")),
            R.Tensor((2, 3), "float32"),
        ),
    ) -> R.Tuple(R.Tensor((2, 3), "float32"), R.Tensor((2, 3), "float32")):
        first = args[0]
        a = first[1]
        b = args[1]
        c = R.exp(b)
        d = R.add(a, a)
        return (c, d)


FIRST = "(a, b) c* = negative(a); c"
BOTH = "(t) a* = t[0]; c* = negative(a); (c, a)"
MAIN = "(x, y) a* = first(x, y); b* = both((x, y)); c* = b[0]; d* = add(a, c); d"


def check_private(module, **texts):
    """The functions of a module that a pass made of `Private`, and what it computes."""
    assert described_module(module) == texts
    assert relax.analysis.well_formed(module)
    x, y = (np.random.default_rng(seed).random(4, "float32") for seed in range(2))
    machine = relax.VirtualMachine(relax.build(module, "llvm"))
    np.testing.assert_allclose(machine["main"](x, y).numpy(), -2 * x)


def made_public(name):
    """`Private` with a function that programs can call."""
    func = Private[name].with_attr("global_symbol", name)
    return IRModule({**Private.functions, name: func})


def passed_on(name):
    """`Private` with a function that gives a function to a registered one."""
    info = Private[name].ret_struct_info
    call = relax.call_pure_packed("f", Private.get_global_var(name), sinfo_args=[info])
    passing = relax.Function([], call, info).with_attr("global_symbol", "passing")
    return IRModule({**Private.functions, "passing": passing})


def check_stays(applied_pass, module, name):
    """A pass leaves a function of a module as it is."""
    assert applied_pass(module)[name] is module[name]
