"""Modules for CUDA devices: real ones, and the one that the processor emulates.

A module has the host's functions and their kernels. What is needed to run them is made at the first
call, for the device that the arrays are on: on an emulated device the kernels become loops for the
processor; on a real one NVRTC compiles the CUDA source, and the host's function, compiled for the
processor, launches the kernels. Must not know how kernels are made.
"""

from __future__ import annotations

import functools
import itertools
from typing import Any

from te_sched.codegen.checker import Report, check_program
from te_sched.codegen.cuda import nvrtc, print_kernels
from te_sched.codegen.cuda.resources import ResourceUsage
from te_sched.codegen.emulator.emulate import emulate
from te_sched.codegen.target import Target, as_target
from te_sched.errors import CallError
from te_sched.ir.stmt import IRModule
from te_sched.lower.device.kernel import is_kernel
from te_sched.runtime.build import build_functions
from te_sched.runtime.cuda_launch import Launcher, host_functions
from te_sched.runtime.device import DEVICE_TYPES, Device, check_usable
from te_sched.runtime.module import Function, Module, make_evaluator
from te_sched.runtime.ndarray import NDArray
from te_sched.runtime.timing import Evaluator

_CUDA = DEVICE_TYPES["cuda"]
_ENTRY_ALIASES = ("__tvm_main__", "default_function")
_numbers = itertools.count()


class CudaModule:
    """Functions that launch kernels: `module(...)` calls the entry function.

    `imported_modules[0]` is the device's part, with `get_source()` for the CUDA source.
    """

    type_key = "cuda"

    def __init__(self, program: IRModule, target: Target) -> None:
        self.program, self.target = program, target
        self.kernels = {name: f for name, f in program.functions.items() if is_kernel(f)}
        names = [name for name in program.functions if name not in self.kernels]
        self._functions = {name: CudaFunction(self, name) for name in names}
        self.entry_name = "main" if "main" in names else names[0]
        self.imported_modules = [DeviceCode(self)] if self.kernels else []
        self._hosts: dict[int | str, Module] = {}

    @functools.cached_property
    def source(self) -> str:
        """The kernels as CUDA source."""
        return print_kernels(self.kernels, self.target)

    def __call__(self, *args: Any) -> None:
        """Call the entry function."""
        self.entry_func(*args)

    @property
    def entry_func(self) -> CudaFunction:
        """The function that a call of the module calls."""
        return self._functions[self.entry_name]

    @property
    def function_names(self) -> tuple[str, ...]:
        """The names of its functions."""
        return tuple(self._functions)

    def __getitem__(self, name: str) -> CudaFunction:
        function = self._functions.get(name)
        if function is None and name in _ENTRY_ALIASES:
            return self.entry_func
        if function is None:
            raise CallError(
                f"find function {name!r} in a module",
                "it has no such function",
                f"use one of {', '.join(self._functions)}",
            )
        return function

    def get_function(self, name: str, query_imports: bool = False) -> CudaFunction:
        """A function by name."""
        del query_imports
        return self[name]

    def implements_function(self, name: str, query_imports: bool = False) -> bool:
        """Whether there is a function of a name."""
        del query_imports
        return name in self._functions

    def time_evaluator(self, func_name: str, dev: Device, *args: Any, **options: Any) -> Evaluator:
        """What times a function: call it with the function's arguments for a ProfileResult."""
        return self[func_name].time_evaluator(func_name, dev, *args, **options)

    def get_source(self, fmt: str = "") -> str:
        """The host's part as TVMScript; the kernels' source is imported_modules[0].get_source()."""
        del fmt
        hosts = {name: self.program[name] for name in self._functions}
        return IRModule(hosts).script()

    def resource_usage(self, arch: str | None = None) -> dict[str, ResourceUsage]:
        """Registers, shared memory and spills of each kernel, as NVRTC's compiler says."""
        return dict(self.imported_modules[0].compiled(arch).resource_usage) if self.kernels else {}

    def check(self, *args: Any, **limits: Any) -> Report:
        """Run the entry function in checked mode; `args` are as in a call, on an emulated device.

        The report names data races, barriers that not all threads come by, accesses out of bounds
        and reads of what nothing has written, and counts bank conflicts and memory transactions.
        """
        return self.entry_func.check(*args, **limits)

    def host(self, device: int | None) -> Module:
        """The functions for a real device by its number, or for an emulated one."""
        key = "emulated" if device is None else device
        found = self._hosts.get(key)
        if found is None:
            found = self._emulated() if device is None else self._on(device)
            self._hosts[key] = found
        return found

    def _emulated(self) -> Module:
        module = build_functions(emulate(self.program), as_target("llvm"))
        for name in self._functions:
            module[name].signature.memory = -_CUDA
        return module

    def _on(self, device: int) -> Module:
        launcher = Launcher(self.imported_modules[0].compiled, device)
        prefix = f"te_sched.cuda.{next(_numbers)}"
        functions = host_functions(self.program, launcher, prefix)
        module = build_functions(functions, as_target("llvm"))
        for name in self._functions:
            module[name].signature.memory = _CUDA
        return module

    def __repr__(self) -> str:
        kernels = ", ".join(self.kernels)
        return f"<te_sched module for cuda: {', '.join(self._functions)}; kernels {kernels}>"


class CudaFunction:
    """A function that launches kernels. Call it with arrays on one device; it gives None."""

    def __init__(self, module: CudaModule, name: str) -> None:
        self._module, self.name = module, name
        self.entry_name = name
        self._emulated: Function | None = None

    def __call__(self, *args: Any) -> None:
        """Check the arguments and run."""
        self._function(args)(*args)

    def run_repeatedly(self, count: int, *args: Any) -> None:
        """Call the function `count` times and wait until the device has finished."""
        device = _device_of(args)
        self._function(args).run_repeatedly(count, *args)
        device.sync()

    def _function(self, args: tuple[Any, ...]) -> Function:
        """The function for the device of the arguments."""
        device = _device_of(args)
        if device.emulated or device.device_type != _CUDA:  # what is wrong with others, it says
            if self._emulated is None:
                self._emulated = self._module.host(None)[self.name]
            return self._emulated
        check_usable(device, f"call {self.name!r} with arrays on {device}")
        return self._module.host(device.device_id)[self.name]

    def check(self, *args: Any, **limits: Any) -> Report:
        """Run in checked mode; see CudaModule.check."""
        values = [arg._array if isinstance(arg, NDArray) else arg for arg in args]
        functions = {self.name: self._module.program[self.name], **self._module.kernels}
        return check_program(IRModule(functions), values, **limits)

    def time_evaluator(self, name: str, dev: Device, *args: Any, **options: Any) -> Evaluator:
        """See CudaModule.time_evaluator; `name` is this function's."""
        del name
        return make_evaluator(self, dev, *args, **options)

    def __repr__(self) -> str:
        return f"<te_sched function {self.name} for cuda>"


class DeviceCode:
    """The kernels of a module as source and as machine code."""

    type_key = "cuda"

    def __init__(self, module: CudaModule) -> None:
        self._module = module

    def get_source(self, fmt: str = "") -> str:
        """The CUDA source ("", "cu" or "cuda") or "ptx"."""
        if fmt in ("", "cu", "cuda"):
            return self._module.source
        if fmt == "ptx":
            return self.compiled().ptx
        raise CallError(
            f"show the kernels as {fmt!r}",
            "there is no such form",
            'use "cu" or "ptx"; compiled().cubin is the machine code',
        )

    def compiled(self, arch: str | None = None) -> nvrtc.Compiled:
        """The kernels as NVRTC compiles them for an architecture such as "sm_80"."""
        return nvrtc.compile(self._module.source, arch or architecture_of(self._module.target))


def architecture_of(target: Target) -> str:
    """The architecture that a target names, sm_80 if it names none."""
    return str(target.options.get("arch", "sm_80"))


def _device_of(args: tuple[Any, ...]) -> Device:
    """The device of the first array among the arguments; the processor if there is none."""
    for arg in args:
        if isinstance(arg, NDArray):
            return arg.device
        place = getattr(arg, "__dlpack_device__", None)
        if place is not None:
            kind, number = place()
            return Device(int(kind), int(number))
    return Device(DEVICE_TYPES["cpu"])
