"""Move kernels into separate functions, which the host's function launches.

    def main(A, B):                           def main(A, B):
        attr(bx, "thread_extent", n)    ->        launch_kernel("main_kernel", A.data, B.data, n, 0)
            B[bx] = A[bx]                     def main_kernel(A: handle, B: handle, n):
                                                  attr(bx, "thread_extent", n)
                                                      B[bx] = A[bx]

Must not know what kernels compute, nor how they are launched.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from te_sched.errors import BuildError
from te_sched.ir.expr import Call, Expr, StringImm, Var
from te_sched.ir.kernel import KERNEL_CONVENTION, LAUNCH, dynamic_offsets, memory_scope, thread_axes
from te_sched.ir.shared_arguments import same_memory
from te_sched.ir.stmt import (
    Allocate,
    AttrStmt,
    Evaluate,
    For,
    IRModule,
    LetStmt,
    PrimFunc,
    Stmt,
)
from te_sched.ir.visitor import StatementMapper
from te_sched.lowering.statements import fresh_copy
from te_sched.lowering.unbound_variables import arguments_of, free_variables, unbound_error


def split_kernels(func: PrimFunc) -> IRModule:
    """The host's function under its own name, and its kernels: NAME_kernel, NAME_kernel_1, ..."""
    name = func.attrs.get("global_symbol", "main")
    splitter = _KernelSplitter(func, name)
    if unbound := free_variables(func.body) - splitter.defined.keys():
        raise unbound_error(func, name, unbound)
    host = func.with_body(splitter.visit(func.body))
    return IRModule({name: host, **splitter.kernels})


def device_function(
    body: Stmt, arguments: Sequence[Var], attrs: Mapping[str, Any], ret_type: str = "void"
) -> PrimFunc:
    """A function of its own variables, whose parameters stand for the arguments of its call."""
    parameters = tuple([Var(var.name, var.dtype, var.pointer, var.is_size) for var in arguments])
    copies: dict[Var, Expr] = dict(zip(arguments, parameters, strict=True))
    return PrimFunc(parameters, fresh_copy(body, copies), {}, attrs, ret_type, origin="kernel")


class _KernelSplitter(StatementMapper):
    """Replaces kernels by launches."""

    def __init__(self, func: PrimFunc, name: str) -> None:
        self.name = name
        self.kernels: dict[str, PrimFunc] = {}
        self.same_memory = same_memory(func)
        # All variables that the host defines, in the order of kernel parameters.
        self.defined = arguments_of(func)

    def visit_AttrStmt(self, node: AttrStmt) -> Stmt:
        if node.key != "thread_extent":
            return self.generic(node)
        count = len(self.kernels)
        name = f"{self.name}_kernel" + (f"_{count}" if count else "")
        used = free_variables(node)
        arguments = [var for var in self.defined if var in used]
        arguments.sort(key=lambda var: var.dtype != "handle")
        attrs: dict[str, Any] = {
            "global_symbol": name,
            "calling_conv": KERNEL_CONVENTION,
            "tir.is_global_func": True,
        }
        if not any(a in used and b in used for a, b in self.same_memory):
            attrs["tir.noalias"] = True
        self.kernels[name] = device_function(node, arguments, attrs)
        original = PrimFunc(tuple(arguments), node, {}, attrs)
        extents = [axis.extent for axis in thread_axes(original)[0]]
        shared = dynamic_offsets(original)[1]
        launch = (StringImm(name), *arguments, *extents, shared)
        return Evaluate(Call("int32", LAUNCH, launch))

    def visit_Allocate(self, node: Allocate) -> Stmt:
        if (scope := memory_scope(node.buffer_var)) != "global":
            raise BuildError(
                f"cannot allocate {node.buffer_var.name} of scope {scope} outside of a kernel, in "
                f"function {self.name!r}",
                "no loop around it is bound to a thread",
                "compute it inside of a loop that is bound to blockIdx or threadIdx (compute_at)",
            )
        self.defined[node.buffer_var] = None
        return self.generic(node)

    def visit_For(self, node: For) -> Stmt:
        self.defined[node.loop_var] = None
        return self.generic(node)

    def visit_LetStmt(self, node: LetStmt) -> Stmt:
        self.defined[node.var] = None
        return self.generic(node)
