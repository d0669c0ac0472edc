"""The host's function with its kernels in the place of their launches.

Must not know how kernels become loops.
"""

from __future__ import annotations

from collections.abc import Mapping

from te_sched import config
from te_sched.codegen.cuda.device_functions import expand_device_functions
from te_sched.codegen.emulator.count_steps import DEFAULT_LIMIT, count_steps
from te_sched.codegen.emulator.poll_interrupts import poll_interrupts
from te_sched.codegen.emulator.serialize_threads import serialize_threads
from te_sched.ir.expr import Call, StringImm
from te_sched.ir.stmt import Evaluate, IRModule, PrimFunc, Stmt
from te_sched.ir.visitor import Mapper
from te_sched.lower.device.kernel import LAUNCH, is_kernel
from te_sched.lower.statements import fresh_copy


def emulate(module: IRModule) -> dict[str, PrimFunc]:
    """The functions of the host, as programs that need no device.

    A kernel that never ends fails after `config.max_steps` steps of a thread (`count_steps`).
    It calls `poll_interrupts.POLL` now and then, through which Ctrl-C stops it.

    Raises
    ------
    BuildError when a kernel does what the emulated device cannot do, such as a barrier that not all
    threads come by.
    """
    module = expand_device_functions(module)
    limit = config.current().max_steps or DEFAULT_LIMIT
    kernels = {
        name: serialize_threads(count_steps(func, limit))
        for name, func in module.functions.items()
        if is_kernel(func)
    }
    return {
        name: func.with_body(poll_interrupts(_Launcher(kernels).visit(func.body)))
        for name, func in module.functions.items()
        if not is_kernel(func)
    }


class _Launcher(Mapper):
    """Replaces launches."""

    def __init__(self, kernels: Mapping[str, PrimFunc]) -> None:
        self.kernels = kernels

    def visit_BufferStore(self, node: Stmt) -> Stmt:
        return node

    def visit_Evaluate(self, node: Evaluate) -> Stmt:
        call = node.value
        if not isinstance(call, Call) or call.op != LAUNCH:
            return node
        name = call.args[0]
        assert isinstance(name, StringImm)
        kernel = self.kernels[name.value]
        given = call.args[1 : 1 + len(kernel.params)]
        return fresh_copy(kernel.body, dict(zip(kernel.params, given, strict=True)))
