"""Run-time checks of launches with symbolic sizes, which `device_limits` cannot check.

Inserts an assertion into the host function before such a launch, for GPUs and the emulated device.
Must not know how kernels are launched.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from te_sched.analysis.checks.check_builder import widen
from te_sched.analysis.checks.guard_counts import guard_counts, is_countable
from te_sched.ir import ops
from te_sched.ir.device_limits import DeviceLimits
from te_sched.ir.expr import Call, Expr, IntImm, StringImm
from te_sched.ir.kernel import LAUNCH, is_kernel, static_shared_bytes, thread_axes
from te_sched.ir.ops import const
from te_sched.ir.stmt import Allocate, AssertStmt, Evaluate, IRModule, PrimFunc, Stmt
from te_sched.ir.visitor import StatementMapper, statements, substitute
from te_sched.wording import wording


def guard_launches(program: IRModule, limits: DeviceLimits) -> IRModule:
    """The program with assertions in the host function that its launches are within the limits."""
    kernels = {name: func for name, func in program.functions.items() if is_kernel(func)}
    guard = _Guard(kernels, limits)
    functions = {
        name: func if name in kernels else func.with_body(guard.visit(guard_counts(func).body))
        for name, func in program.functions.items()
    }
    return IRModule(functions)


class _Guard(StatementMapper):
    """Puts assertions before launches."""

    def __init__(self, kernels: Mapping[str, PrimFunc], limits: DeviceLimits) -> None:
        self.kernels, self.limits = kernels, limits

    def visit_Evaluate(self, node: Evaluate) -> Stmt:
        call = node.value
        if not isinstance(call, Call) or call.op != LAUNCH:
            return node
        guarded: Stmt = node
        for holds, message in self.needs(call):
            guarded = AssertStmt(holds, StringImm(message), guarded)
        return guarded

    def needs(self, call: Call) -> Iterator[tuple[Expr, str]]:
        """The conditions of a launch, and the message if one is violated."""
        assert isinstance(call.args[0], StringImm)
        name = call.args[0].value
        kernel = self.kernels[name]
        axes = thread_axes(kernel)[0]
        launch_args = call.args[1 + len(kernel.params) :]
        empty: Expr = const(False)
        for extent in launch_args[: len(axes)]:
            if not isinstance(extent, IntImm):
                empty = ops.logical_or(empty, ops.less_equal(extent, 0))
        for axis, extent in zip(axes, launch_args, strict=False):
            if not isinstance(extent, IntImm):
                yield (
                    ops.less_equal(IntImm(0, extent.dtype), extent),
                    f"kernel {name} is launched with {axis.tag} = {extent}, which is negative; "
                    "pass sizes that make it 0 or more",
                )
        values = dict(zip(kernel.params, call.args[1:], strict=False))
        for node in statements(kernel.body):
            for extent in node.extents if type(node) is Allocate else ():
                if not isinstance(extent, IntImm):
                    yield (
                        ops.less_equal(IntImm(0, extent.dtype), substitute(extent, values)),
                        f"kernel {name} allocates {node.buffer_var.name} with {extent} elements, "
                        "which is negative; pass sizes that make it 0 or more",
                    )
        for size, most, message in self.sizes(name, kernel, launch_args):
            if not isinstance(size, IntImm):
                within = ops.less_equal(widen(size), IntImm(most, "int64"))
                yield ops.logical_or(empty, within), message
        for axis, extent in zip(axes, launch_args, strict=False):
            if (countable := is_countable(extent)) is not None:
                yield (
                    countable,
                    f"kernel {name} is launched with {axis.tag} = {extent}, which is more than "
                    f"{extent.dtype} can count; declare the sizes as {wording().wide_sizes}",
                )

    def sizes(
        self, name: str, kernel: PrimFunc, launch_args: Sequence[Expr]
    ) -> Iterator[tuple[Expr, int, str]]:
        """The sizes of a launch, with their limits and the messages if exceeded."""
        axes = thread_axes(kernel)[0]
        threads: Expr = IntImm(1, "int64")
        for axis, extent in zip(axes, launch_args, strict=False):
            most = self.limits.longest(axis.tag)
            yield extent, most, _too_many(name, f"{axis.tag} = {extent}", most)
            if not axis.is_block:
                threads = ops.mul(threads, ops.cast("int64", extent))
        most = self.limits.threads
        block = " x ".join(
            str(extent)
            for axis, extent in zip(axes, launch_args, strict=False)
            if not axis.is_block
        )
        yield threads, most, _too_many(name, f"{block} threads in a block", most)
        most = self.limits.all_shared_bytes - (static_shared_bytes(kernel) or 0)
        yield (
            launch_args[-1],
            most,
            _too_many(name, f"{launch_args[-1]} bytes of dynamic shared memory", most),
        )


def _too_many(kernel: str, what: str, most: int) -> str:
    return (
        f"kernel {kernel} is launched with {what}, and the device allows at most {most}; split the "
        "loop by a constant factor before binding it, or pass smaller arrays"
    )
