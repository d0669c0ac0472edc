"""Replaces kernel launches in the host function by loops over blocks and threads.

Must not know how kernels become loops.
"""

from __future__ import annotations

from collections.abc import Mapping

from te_sched import config
from te_sched.analysis.checks.guard_accesses import guard_accesses
from te_sched.codegen.cuda.device_functions import expand_device_functions
from te_sched.codegen.emulator.count_steps import DEFAULT_LIMIT, count_steps
from te_sched.codegen.emulator.serialize_threads import serialize_threads
from te_sched.ir.argument_sizes import ATTRIBUTE
from te_sched.ir.expr import Call, StringImm
from te_sched.ir.kernel import LAUNCH, is_kernel
from te_sched.ir.stmt import Evaluate, IRModule, PrimFunc, Stmt
from te_sched.ir.visitor import StatementMapper, walk
from te_sched.lowering.statements import fresh_copy


def emulate(module: IRModule, is_checked: bool = False) -> dict[str, PrimFunc]:
    """The functions of the host, as programs that need no device.

    A kernel that never ends fails after `config.max_steps` steps of a thread (`count_steps`).

    Parameters
    ----------
    is_checked : check accesses by pointers at run time. Their elements are known here only; all
    other accesses were checked before.

    Raises
    ------
    BuildError when a kernel does what the emulated device cannot do, such as a barrier that not all
    threads come by, or is certainly out of bounds.
    """
    has_pointers = is_checked and any(map(_has_pointers, module.functions.values()))
    module = expand_device_functions(module)
    limit = config.current().max_steps or DEFAULT_LIMIT
    kernels = {
        name: serialize_threads(count_steps(func, limit))
        for name, func in module.functions.items()
        if is_kernel(func)
    }
    functions: dict[str, PrimFunc] = {}
    for name, func in module.functions.items():
        if not is_kernel(func):
            func = func.with_body(_Launcher(kernels).visit(func.body))
            functions[name] = _guarded(func) if has_pointers else func
    return functions


def _has_pointers(func: PrimFunc) -> bool:
    """Whether a kernel gives pointers to intrinsics or functions."""
    return is_kernel(func) and any(
        type(node) is Call
        and any(arg.dtype == "handle" and type(arg) is not StringImm for arg in node.args)
        for node in walk(func.body)
    )


def _guarded(func: PrimFunc) -> PrimFunc:
    """The function with checks, and with what its calls must fulfill."""
    guarded = guard_accesses(func, notes=False)
    guarded.findings.raise_refuted()
    if not guarded.sizes:
        return guarded.func
    return guarded.func.with_attr(ATTRIBUTE, [*func.attrs.get(ATTRIBUTE, ()), *guarded.sizes])


class _Launcher(StatementMapper):
    """Replaces launches."""

    def __init__(self, kernels: Mapping[str, PrimFunc]) -> None:
        self.kernels = kernels

    def visit_Evaluate(self, node: Evaluate) -> Stmt:
        call = node.value
        if not isinstance(call, Call) or call.op != LAUNCH:
            return node
        name = call.args[0]
        assert isinstance(name, StringImm)
        kernel = self.kernels[name.value]
        arguments = call.args[1 : 1 + len(kernel.params)]
        return fresh_copy(kernel.body, dict(zip(kernel.params, arguments, strict=True)))
