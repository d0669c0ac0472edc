"""A function that is written as instructions."""

import te_sched
from te_sched import relax
from te_sched.relax.testing import vm as functions

assert functions is not None  # it registers test.vm.add, ...

CPU = te_sched.cpu()


def choosing():
    """A function that adds or multiplies, by its first argument."""
    builder = relax.ExecBuilder()
    with builder.function("main", num_inputs=3):
        builder.emit_if(builder.r(0), 3)
        builder.emit_call("test.vm.add", [builder.r(1), builder.r(2)], builder.r(3))
        builder.emit_goto(2)
        builder.emit_call("test.vm.mul", [builder.r(1), builder.r(2)], builder.r(3))
        builder.emit_ret(builder.r(3))
    return builder.get()
