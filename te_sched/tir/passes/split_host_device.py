"""Make functions of the parts of a module that run on a device.

    def main(A):                                   def main(A):
        attr(bx, "thread_extent", n)                   main_kernel(A.data, n)
            A[bx] = 0                      ->      def main_kernel(A: handle, n):
                                                       attr(bx, "thread_extent", n)
                                                           A[bx] = 0

Three steps: `annotate_device_regions` puts an attribute "target" around each part,
`split_host_device` replaces the parts by calls of functions, and `lower_kernel_launches` the calls
by launches. (TVM's names: AnnotateDeviceRegions, SplitHostDevice, LowerDeviceKernelLaunch.) Targets
are values of another layer; the caller tells which of them are processors. Must not know what
kernels compute.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

from te_sched.errors import BuildError
from te_sched.ir import ops
from te_sched.ir.blocks import DeclBuffer
from te_sched.ir.calls import CALL_FUNCTION, callee_of
from te_sched.ir.expr import Buffer, BufferLoad, Call, Expr, IntImm, StringImm, Var
from te_sched.ir.kernel import KERNEL_CONVENTION, allocations, bytes_of
from te_sched.ir.stmt import (
    AssertStmt,
    AttrStmt,
    BufferStore,
    Evaluate,
    LetStmt,
    PrimFunc,
    Stmt,
)
from te_sched.ir.visitor import (
    Mapper,
    StatementMapper,
    replace,
    statements,
    substitute,
    variables_of,
    walk,
)
from te_sched.lowering.device.split_kernels import device_function
from te_sched.lowering.statements import NOTHING, sequence
from te_sched.lowering.unbound_variables import free_variables

_DEVICE_KEYS = ("thread_extent", "pipeline_exec_scope", "device_scope")
_DYNAMIC = "tir.use_dyn_shared_memory"
IsProcessor = Callable[[Any], bool]


# -- annotation ------------------------------------------------------------------------------------


def annotate_device_regions(func: PrimFunc, device: Any) -> PrimFunc:
    """The function with the attribute "target" around each outermost part for the device."""
    return func.with_body(_Annotator(device).visit(func.body))


class _Annotator(StatementMapper):
    def __init__(self, device: Any) -> None:
        self.device = device

    def visit_AttrStmt(self, node: AttrStmt) -> Stmt:
        if node.key == "target":
            return node
        if node.key in _DEVICE_KEYS:
            return AttrStmt(self.device, "target", IntImm(0), node)
        return self.generic(node)


# -- extraction ------------------------------------------------------------------------------------


def split_host_device(
    functions: Mapping[str, PrimFunc], is_processor: IsProcessor
) -> dict[str, PrimFunc]:
    """The functions with calls for their parts with an attribute "target", and these parts."""
    new_functions = dict(functions)
    for name, func in functions.items():
        if "target" in func.attrs:
            splitter = _PartSplitter(
                str(func.attrs.get("global_symbol", name)), new_functions, is_processor
            )
            new_functions[name] = func.with_body(splitter.visit(func.body))
    return new_functions


class _PartSplitter(StatementMapper):
    """Replaces parts by calls; the functions of the parts are added to `functions`."""

    def __init__(
        self, name: str, functions: dict[str, PrimFunc], is_processor: IsProcessor
    ) -> None:
        self.name, self.functions, self.is_processor = name, functions, is_processor

    def visit_AttrStmt(self, node: AttrStmt) -> Stmt:
        if node.key != "target":
            return self.generic(node)
        name = _unused(f"{self.name}_kernel", self.functions)
        buffers = _undeclared_buffers(node.body)
        body = node.body
        for buffer in buffers:
            body = DeclBuffer(buffer, body)
        used = free_variables(node.body) | variables_of(*buffers) - _defined(node.body)
        arguments = sorted(used, key=lambda var: (var.dtype != "handle", var.name))
        target = node.node.value if type(node.node) is StringImm else node.node
        attrs = {"target": target, "tir.noalias": True, "tir.is_global_func": True}
        call = (StringImm(name), *arguments)
        if not self.is_processor(target):
            self.functions[name] = device_function(body, arguments, attrs)
            return Evaluate(Call("void", CALL_FUNCTION, call))
        done = Evaluate(Call("int32", "tir.ret", (IntImm(0),)))
        body = sequence([body, done])
        self.functions[name] = device_function(body, arguments, attrs, "int32")
        err = Var("kernel_error_code")
        failure = StringImm("Error executing compute kernel")
        checked = AssertStmt(ops.equal(err, 0), failure, NOTHING)
        return LetStmt(err, Call("int32", CALL_FUNCTION, call), checked)


def _unused(name: str, taken: Collection[str]) -> str:
    count = 0
    while (unused_name := f"{name}_{count}" if count else name) in taken:
        count += 1
    return unused_name


def _undeclared_buffers(body: Stmt) -> list[Buffer]:
    """The buffers in memory from outside that a statement does not declare, in program order."""
    declared = {node.buffer for node in statements(body) if type(node) is DeclBuffer}
    outside = free_variables(body)
    used = [node.buffer for node in walk(body) if type(node) in (BufferStore, BufferLoad)]
    buffers = [buffer for buffer in used if buffer.data in outside and buffer not in declared]
    return list(dict.fromkeys(buffers))


def _defined(body: Stmt) -> set[Var]:
    """The variables that occur in a statement and are not free in it."""
    return variables_of(body) - free_variables(body)


# -- launches --------------------------------------------------------------------------------------


def lower_kernel_launches(
    functions: Mapping[str, PrimFunc], is_processor: IsProcessor
) -> dict[str, PrimFunc]:
    """The functions with launches for calls of functions for other devices.

    A call of a function for another processor becomes a call by its name.
    """
    launcher = _Launcher(functions, is_processor)
    new_functions = {name: launcher.function(func) for name, func in functions.items()}
    for name in launcher.named | launcher.launched.keys():
        attrs = {"global_symbol": _symbol(name, new_functions[name]), "tir.is_global_func": True}
        if name in launcher.launched:
            attrs["calling_conv"] = KERNEL_CONVENTION
            attrs["tir.kernel_launch_params"] = launcher.launched[name][0]
        new_functions[name] = new_functions[name].with_attr(attrs)
    return new_functions


class _Launcher(Mapper):
    """Replaces calls; `launched` are the tags and extents of kernels, `named` others by name."""

    def __init__(self, functions: Mapping[str, PrimFunc], is_processor: IsProcessor) -> None:
        self.functions, self.is_processor = functions, is_processor
        self.launched: dict[str, tuple[list[str], list[Expr]]] = {}
        self.named: set[str] = set()
        self.target: Any = None

    def function(self, func: PrimFunc) -> PrimFunc:
        """The function with launches."""
        self.target = func.attrs.get("target")
        return func if self.target is None else func.with_body(self.visit(func.body))

    def visit_Call(self, node: Call) -> Expr:
        call: Call = self.generic(node)
        name = callee_of(call)
        callee = self.functions.get(str(name))
        target = None if callee is None else callee.attrs.get("target")
        if name is None or callee is None or target is None:
            return call
        if str(target) == str(self.target):  # apart from their hosts
            return call
        symbol = StringImm(_symbol(name, callee))
        if self.is_processor(target) and self.is_processor(self.target):
            self.named.add(name)
            return replace(call, op="tir.call_extern", args=(symbol, *call.args[1:]))
        if name not in self.launched:
            self.launched[name] = _launch_of(name, callee)
        arguments: dict[Var, Expr] = dict(zip(callee.params, call.args[1:], strict=True))
        extents = [substitute(extent, arguments) for extent in self.launched[name][1]]
        return Call("int32", "tir.tvm_call_packed", (symbol, *call.args[1:], *extents))


def _symbol(name: str, func: PrimFunc) -> str:
    """The name by which callers outside of the module call a function."""
    return str(func.attrs.get("global_symbol", name))


def _launch_of(name: str, kernel: PrimFunc) -> tuple[list[str], list[Expr]]:
    """The tags of the axes of a kernel, and their extents in terms of its parameters."""
    lets: dict[Var, Expr] = {}
    extents: dict[str, Expr] = {}
    for node in statements(kernel.body):
        if type(node) is LetStmt:
            lets[node.var] = substitute(node.value, lets)
        elif type(node) is AttrStmt and node.key == "thread_extent":
            extents.setdefault(node.node.thread_tag, substitute(node.value, lets))
    dynamic = [bytes_of(node) for node in allocations(kernel.body, "shared.dyn")]
    if dynamic:
        total = dynamic[0]
        for size in dynamic[1:]:
            total = ops.add(total, size)
        extents[_DYNAMIC] = substitute(total, lets)
    inner = variables_of(*extents.values()) - set(kernel.params)
    if inner:
        names = ", ".join(sorted(var.name for var in inner))
        raise BuildError(
            f"cannot launch kernel {name!r}: its extents depend on {names}",
            "the host computes the extents before the launch",
            "compute the extents from the parameters of the kernel",
        )
    return list(extents), list(extents.values())
