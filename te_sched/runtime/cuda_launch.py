"""The host's side of a real CUDA device: launches and device memory as calls of Python functions.

The host's function runs on the processor; `launch_kernel` in it becomes a call that reaches the
driver, and an allocation becomes a pair of calls that take memory from cupy's pool and give it
back. Must not know what kernels compute.
"""

from __future__ import annotations

import ctypes
import threading
import weakref
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from te_sched.analysis.checks.check_builder import widen
from te_sched.codegen.llvm.entry import WRITTEN
from te_sched.errors import CallError
from te_sched.ir import dtypes, ops
from te_sched.ir.expr import Call, Expr, IntImm, StringImm
from te_sched.ir.kernel import LAUNCH, is_kernel, thread_axes
from te_sched.ir.stmt import Allocate, Evaluate, IRModule, LetStmt, PrimFunc, Stmt
from te_sched.ir.visitor import StatementMapper
from te_sched.ir.written_memory import memory_written_by
from te_sched.locks import new_lock
from te_sched.lowering.statements import sequence
from te_sched.runtime import cuda_driver, cuda_memory, registry
from te_sched.runtime.callbacks import ctype_of
from te_sched.runtime.cuda_driver import answer, check, loaded, using
from te_sched.runtime.cuda_streams import current_stream

_MAX_DYNAMIC_SHARED = 8  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES


class _Rooms(threading.local):
    """The memory that a call in this thread has taken, by its address."""

    def __init__(self) -> None:
        self.taken: dict[int, Any] = {}


class Launcher:
    """The kernels of one module on one device, unloaded with this object."""

    def __init__(self, compile_for: Callable[[str], Any], device_id: int) -> None:
        cubin = compile_for(cuda_driver.architecture(device_id)).cubin
        what = f"load {len(cubin)} bytes of kernels on cuda({device_id})"
        with using(device_id):
            module = answer(what, "cuModuleLoadData", cubin, kind=ctypes.c_void_p)
        self.device_id, self._module = device_id, module
        self._functions: dict[str, int] = {}
        self._allowed: dict[str, int] = {}
        self._lock = new_lock()
        self._rooms = _Rooms()
        weakref.finalize(self, _unload, loaded(), module, device_id).atexit = False

    def launch(self, kernel: PrimFunc, values: tuple[Any, ...]) -> int:
        """Start a kernel with the arguments, extents and shared bytes of its launch_kernel."""
        axes = thread_axes(kernel)[0]
        count = len(kernel.params)
        arguments = [
            _argument(param.dtype, value)
            for param, value in zip(kernel.params, values[:count], strict=True)
        ]
        extents = {axis.tag: int(n) for axis, n in zip(axes, values[count:-1], strict=True)}
        grid, block = (
            tuple(extents.get(f"{kind}.{letter}", 1) for letter in "xyz")
            for kind in ("blockIdx", "threadIdx")
        )
        if min(*grid, *block) < 1:
            return 0
        name, shared = kernel.attrs["global_symbol"], int(values[-1])
        stream = current_stream(self.device_id)
        pointers = (ctypes.c_void_p * count)(*map(ctypes.addressof, arguments))
        with using(self.device_id):
            function = self._function(name, shared)
            code = loaded().cuLaunchKernel(function, *grid, *block, shared, stream, pointers, None)
        if code:
            check(
                code,
                f"launch kernel {name} on cuda({self.device_id}) with grid {grid}, block {block} "
                f"and {shared} bytes of dynamic shared memory",
            )
        return 0

    def _function(self, name: str, shared: int) -> int:
        """A kernel allowed to use this many bytes of dynamic memory."""
        with self._lock:
            if name not in self._functions:
                what, arguments = f"find kernel {name} in its module", (self._module, name.encode())
                self._functions[name] = answer(
                    what, "cuModuleGetFunction", *arguments, kind=ctypes.c_void_p
                )
            function = self._functions[name]
            if shared > self._allowed.get(name, 0):
                code = loaded().cuFuncSetAttribute(function, _MAX_DYNAMIC_SHARED, shared)
                check(code, f"give kernel {name} {shared} bytes of dynamic shared memory")
                self._allowed[name] = shared
        return function

    def allocate(self, size: int) -> int:
        """Device memory from cupy's pool."""
        room = cuda_memory.take(max(int(size), 1), self.device_id)
        self._rooms.taken[room.ptr] = room
        return int(room.ptr)

    def free(self, address: Any) -> int:
        """Free memory; the stream preserves the order of its users."""
        self._rooms.taken.pop(ctypes.cast(address, ctypes.c_void_p).value or 0, None)
        return 0

    def release(self) -> None:
        """Free all memory of this thread after a failed call."""
        self._rooms.taken.clear()


def _unload(driver: Any, module: int, device_id: int) -> None:
    with suppress(CallError), using(device_id):  # a device that has failed has unloaded all
        driver.cuModuleUnload(module)


def host_functions(program: IRModule, launcher: Launcher, prefix: str) -> dict[str, PrimFunc]:
    """The host's functions, calling a launcher; `prefix` makes the names of the calls unique."""
    for name, kernel in program.functions.items():
        if is_kernel(kernel):
            registry.register_extern(
                f"{prefix}.{name}",
                lambda *values, kernel=kernel: launcher.launch(kernel, values),
            )
    registry.register_extern(f"{prefix}.allocate", launcher.allocate)
    registry.register_extern(f"{prefix}.free", launcher.free)
    calls = _DriverCalls(prefix)
    hosts = {name: f for name, f in program.functions.items() if not is_kernel(f)}
    return {
        name: func.with_body(calls.visit(func.body)).with_attr(
            WRITTEN, memory_written_by(func, program)
        )
        for name, func in hosts.items()
    }


def forget_functions(program: IRModule, prefix: str) -> None:
    """Forget what `host_functions` registered."""
    for name in (*program.functions, "allocate", "free"):
        registry.remove_extern(f"{prefix}.{name}")


class _DriverCalls(StatementMapper):
    """Replaces launches and allocations by calls."""

    def __init__(self, prefix: str) -> None:
        self.prefix = prefix

    def visit_Evaluate(self, node: Evaluate) -> Stmt:
        call = node.value
        if not isinstance(call, Call) or call.op != LAUNCH:
            return node
        name = call.args[0]
        assert isinstance(name, StringImm)
        return Evaluate(self.call("int32", name.value, *map(_passed, call.args[1:])))

    def visit_Allocate(self, node: Allocate) -> Stmt:
        item = dtypes.storage_bytes(dtypes.element(node.dtype)) * dtypes.lanes(node.dtype)
        size: Expr = IntImm(item, "int64")
        for extent in node.extents:
            size = ops.mul(size, widen(extent))
        free = Evaluate(self.call("int32", "free", node.buffer_var))
        body = sequence([self.visit(node.body), free])
        return LetStmt(node.buffer_var, self.call("handle", "allocate", size), body)

    def call(self, dtype: str, name: str, *args: Any) -> Call:
        return Call(dtype, "tir.call_extern", (StringImm(f"{self.prefix}.{name}"), *args))


def _passed(value: Expr) -> Expr:
    """An argument as passed to Python: small floats, which C has no type for, as their bits."""
    if dtypes.is_float(value.dtype) and dtypes.bits(value.dtype) == 16:
        return Call("uint16", "tir.reinterpret", (value,))
    return value


def _argument(dtype: str, value: Any) -> Any:
    """An argument of a kernel as ctypes keeps it."""
    if dtype == "handle":
        return ctypes.c_void_p(ctypes.cast(value, ctypes.c_void_p).value)
    return ctype_of(dtype)(value)  # of small floats their bits, see _passed
