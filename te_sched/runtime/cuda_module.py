"""Modules for CUDA devices: real ones, and the one that the processor emulates.

A module has the host's functions and their kernels. The executable form is made at the first call,
for the device of the arrays: on an emulated device the kernels become loops for the
processor; on a real one NVRTC compiles the CUDA source, and the host's function, compiled for the
processor, launches the kernels. Must not know how kernels are made.
"""

from __future__ import annotations

import functools
import itertools
import os
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, overload

from te_sched import files
from te_sched.codegen.checker import Report, check_program
from te_sched.codegen.cuda import nvrtc, print_kernels
from te_sched.codegen.cuda.resources import ResourceUsage
from te_sched.codegen.emulator.emulate import emulate
from te_sched.codegen.signature import SignatureBuilder
from te_sched.codegen.target import Target, as_target
from te_sched.errors import CallError, repr_of
from te_sched.ir.argument_sizes import ATTRIBUTE as SIZES
from te_sched.ir.kernel import HOST_ONLY, is_kernel
from te_sched.ir.shared_arguments import ATTRIBUTE as SHARED
from te_sched.ir.source_lines import About
from te_sched.ir.stmt import IRModule
from te_sched.locks import new_lock
from te_sched.runtime.arguments import check_sizes, place_of_array, refuse_names
from te_sched.runtime.build import build_functions
from te_sched.runtime.cuda_arguments import alignments_of_arguments
from te_sched.runtime.cuda_launch import Launcher, forget_functions, host_functions
from te_sched.runtime.cuda_sass import disassemble
from te_sched.runtime.cuda_streams import seconds_of as seconds_on
from te_sched.runtime.device import DEVICE_TYPES, Device, available_device, check_usable
from te_sched.runtime.libraries import check_place, empty_object, pack, write_library
from te_sched.runtime.module import Function, Module, ModuleOf, Unpicklable, make_evaluator
from te_sched.runtime.ndarray import NDArray
from te_sched.runtime.timing import Evaluator
from te_sched.signatures import checked_as

_CUDA = DEVICE_TYPES["cuda"]
_EMULATING = Target("llvm -opt-level=2")  # 3 takes up to 15 times as long, for no faster code
_numbers = itertools.count()


class CudaModule(ModuleOf["CudaFunction"]):
    """Functions that launch kernels: `module(...)` calls the entry function.

    `imported_modules[0]` is the device's part, with `get_source()` for the CUDA source.
    """

    _internal_members = ("add_lines", "data", "objects")

    type_key = "cuda"

    def __init__(self, program: IRModule, target: Target, checked: IRModule | None = None) -> None:
        """`checked` is the program with checks of its accesses, which no GPU makes."""
        self.program, self.target, self._checked = program, target, checked
        self.kernels = {name: f for name, f in program.functions.items() if is_kernel(f)}
        names = [name for name in program.functions if name not in self.kernels]
        super().__init__({name: CudaFunction(self, name) for name in names})
        self.imported_modules = [DeviceCode(self)] if self.kernels else []
        self._hosts: dict[int | str, Module] = {}
        self._launchers: list[Launcher] = []
        self._locate: Callable[[About], About] | None = None
        self._lock = new_lock()

    @property
    def data(self) -> tuple[Any, ...]:
        """What files have of it."""
        return self.program, self.target.text, self._checked

    def objects(self, destination: Path) -> tuple[bytes, ...]:
        """The object files of its code: one without functions, since its kernels are `data`."""
        del destination
        return (empty_object(),)

    @functools.cached_property
    def source(self) -> str:
        """The kernels as CUDA source."""
        return print_kernels(self.kernels, self.target)

    def time_evaluator(
        self, func_name: str, dev: Device | None = None, *args: Any, **options: Any
    ) -> Evaluator:
        """What times a function: call it with the function's arguments for a ProfileResult.

        On a real device the times are those between events of CUDA on the stream that is used.
        """
        return self[func_name].time_evaluator(func_name, dev, *args, **options)

    @checked_as(CallError)
    def get_source(self, fmt: str = "") -> str:
        """The host's part as TVMScript; the kernels' source is imported_modules[0].get_source()."""
        del fmt
        hosts = {name: self.program[name] for name in self._functions}
        for attribute in (SIZES, SHARED):
            hosts = {name: func.without_attr(attribute) for name, func in hosts.items()}
        return IRModule(hosts).script()

    @checked_as(CallError)
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
        with self._lock:
            if key not in self._hosts:
                self._hosts[key] = self._emulated() if device is None else self._on(device)
                if self._locate is not None:
                    self._hosts[key].add_lines(self._locate)
            return self._hosts[key]

    def add_lines(self, locate: Callable[[About], About]) -> None:
        """Let errors of calls have the lines of the user's program that `locate` adds."""
        self._locate = locate

    @property
    def _watched(self) -> IRModule:
        """The program for the emulated device."""
        return self.program if self._checked is None else self._checked

    def checked_program(self, name: str) -> IRModule:
        """One function of the host with all kernels, and with checks if there are any."""
        functions = self._watched.functions
        kernels = {name: func for name, func in functions.items() if is_kernel(func)}
        return IRModule({name: functions[name], **kernels})

    @contextmanager
    def releasing(self) -> Iterator[None]:
        """The scope of a call, which frees its device memory if it fails."""
        try:
            yield
        except BaseException:
            for launcher in self._launchers:
                launcher.release()
            raise

    def _emulated(self) -> Module:
        is_checked = self._checked is not None
        module = build_functions(emulate(self._watched, is_checked), _EMULATING)
        return self._expecting(module, -_CUDA, 0)

    def _on(self, device: int) -> Module:
        functions = self.program.functions
        if self.kernels:
            launcher = Launcher(self.imported_modules[0].compiled, device)
            self._launchers.append(launcher)
            prefix = f"te_sched.cuda.{next(_numbers)}"
            functions = host_functions(self.program, launcher, prefix)
            weakref.finalize(self, forget_functions, self.program, prefix).atexit = False
        module = build_functions(functions, as_target("llvm"))
        return self._expecting(module, _CUDA, device)

    def _expecting(self, module: Module, memory: int, device: int) -> Module:
        for name in self._functions:
            if self.program[name].attrs.get(HOST_ONLY):
                continue
            module[name].expect(memory, device, alignments_of_arguments(self.program, name))
        return module

    @checked_as(CallError, but=("path",))
    def export_library(
        self,
        path: str | os.PathLike[str],
        fcompile: Callable[..., Any] | None = None,
        **options: Any,
    ) -> None:
        """Save for te_sched.runtime.load_module: a shared library, or .o, or a .tar with a .o.

        The file has the program; what runs it on a device is made when it is first called, as in a
        module that was just built.
        """
        write_library(check_place(path), (pack(self.data),), fcompile, options)

    @checked_as(CallError)
    def save(self, path: str | os.PathLike[str], fmt: str = "") -> None:
        """Save as export_library does; `imported_modules[0].save` saves the kernels."""
        del fmt
        self.export_library(path)

    def import_module(self, module: KernelFile) -> None:
        """Take kernels that were saved beside this module: refused if they are of another one.

        The file of this module has its kernels, too; those run, compiled for their device.
        """
        if not isinstance(module, KernelFile):
            raise CallError(
                f"cannot import {repr_of(module)} into a module for cuda",
                "it is not a file of kernels",
                "give what load_module returns for the file of imported_modules[0].save",
            )
        missing = [name for name in self.kernels if name.encode() not in module.data]
        if missing:
            raise CallError(
                f"{module.where} has no kernel {missing[0]}",
                "it was saved from another module",
                "give the file of imported_modules[0].save of this module",
            )

    def __repr__(self) -> str:
        kernels = ", ".join(self.kernels)
        return f"<te_sched module for cuda: {', '.join(self._functions)}; kernels {kernels}>"


class CudaFunction(Unpicklable):
    """A function that launches kernels. Call it with arrays on one device; it gives None."""

    def __init__(self, module: CudaModule, name: str) -> None:
        self._module, self.name = module, name
        self.entry_name = name
        self._emulated: Function | None = None

    def __call__(self, *args: Any, **named: Any) -> None:
        """Check the arguments and run."""
        function = self._function(args)
        if named:
            refuse_names(function.signature, named)
        with self._module.releasing():
            function(*args)

    def measure(self, dev: Device, count: int, *args: Any, **named: Any) -> float:
        """Seconds of `count` calls on a device, by its own clock."""
        if named:
            refuse_names(self._function(args).signature, named)
        args_device = _device_of(args)
        if args_device != dev and args_device.device_type == _CUDA:
            raise CallError(
                f"the arrays of {self.name!r} are on {args_device}, expected {repr_of(dev)}",
                "",
                "give time_evaluator the device of the arrays, or copy them: x.copyto(dev)",
            )
        function = self._function(args)
        if args_device.is_gpu:
            with self._module.releasing():
                return seconds_on(
                    args_device.device_id, lambda: function.run_repeatedly(count, *args)
                )
        return function.measure(dev, count, *args)

    def _function(self, args: tuple[Any, ...]) -> Function:
        """The function for the device of the arguments; other arguments are refused."""
        device = _device_of(args)
        if device.is_gpu:
            check_usable(device)
        elif not device.emulated:
            device = available_device("cuda")
        if device.is_gpu:
            return self._module.host(device.device_id)[self.name]
        if self._emulated is None:
            self._emulated = self._module.host(None)[self.name]
        return self._emulated

    def check(self, *args: Any, **limits: Any) -> Report:
        """Run in checked mode; see CudaModule.check."""
        for number, arg in enumerate(args):
            location = place_of_array(arg)
            if location is not None and location[0] == _CUDA:
                raise CallError(
                    f"cannot check {self.name!r} with argument {number} on cuda({location[1]}): "
                    "the checked mode runs on the processor",
                    "",
                    "pass numpy arrays, or arrays on te_sched.emulated_cuda(0)",
                )
        values = [arg._array if isinstance(arg, NDArray) else arg for arg in args]
        program = self._module.checked_program(self.name)
        host = program[self.name]
        check_sizes(SignatureBuilder(host, self.name, self.name).signature, values)
        return check_program(program, values, **limits)

    def time_evaluator(
        self, name: str, dev: Device | None = None, *args: Any, **options: Any
    ) -> Evaluator:
        """See CudaModule.time_evaluator; `name` is this function's."""
        dev = options.pop("ctx", dev) if dev is None else dev
        if dev is None:
            raise CallError(
                f"time_evaluator of {repr_of(name)} needs a device",
                "",
                "give one: time_evaluator(name, dev)",
            )
        return make_evaluator(self, dev, *args, **options)

    def __repr__(self) -> str:
        return f"<te_sched function {self.name} for cuda>"


class DeviceCode(Unpicklable):
    """The kernels of a module as source and as machine code."""

    type_key = "cuda"

    def __init__(self, module: CudaModule) -> None:
        self._module = module

    @overload
    def get_source(  # type: ignore[overload-overlap]
        self, fmt: Literal["cubin"]
    ) -> bytes: ...

    @overload
    def get_source(self, fmt: str = "") -> str: ...

    @checked_as(CallError)
    def get_source(self, fmt: str = "") -> str | bytes:
        """The CUDA source ("", "cu" or "cuda"), or what NVRTC makes of it: "ptx", "cubin", "sass".

        PTX and SASS, the machine's instructions, are text; a cubin is bytes. SASS needs one of
        NVIDIA's disassemblers.
        """
        if fmt in ("", "cu", "cuda"):
            return self._module.source
        if fmt == "ptx":
            return self.compiled().ptx
        if fmt == "cubin":
            return self.compiled().cubin
        if fmt == "sass":
            return disassemble(self.compiled().cubin)
        raise CallError(
            f"unknown format of kernels: {repr_of(fmt)}",
            "",
            'use "cu", "ptx", "cubin" or "sass"',
        )

    @checked_as(CallError)
    def save(self, path: str | os.PathLike[str], fmt: str = "") -> None:
        """Save what get_source gives for the format, or for the suffix of the file."""
        form = fmt or Path(files.check_path(path, "save to")).suffix.removeprefix(".")
        data = self.compiled().cubin if form == "cubin" else self.get_source(form).encode()
        files.write(path, data, "save to")

    @checked_as(CallError)
    def compiled(self, arch: str | None = None) -> nvrtc.CompiledKernels:
        """The kernels as NVRTC compiles them for an architecture such as "sm_80"."""
        return nvrtc.compile(self._module.source, arch or architecture_of(self._module.target))


class KernelFile(Unpicklable):
    """Kernels that `DeviceCode.save` wrote, for the `import_module` of their module."""

    type_key = "cuda"
    suffixes = (".ptx", ".cubin", ".cu")

    def __init__(self, data: bytes, where: str) -> None:
        self.data, self.where = data, where

    def get_source(self, fmt: str = "") -> str:
        """The text of the file."""
        del fmt
        return self.data.decode(errors="replace")


def architecture_of(target: Target) -> str:
    """The architecture that a target names, sm_80 if it names none."""
    return str(target.options.get("arch", "sm_80"))


def _device_of(args: tuple[Any, ...]) -> Device:
    """The device of the arguments: CUDA's if one of them is on one, else the processor."""
    for arg in args:
        location = place_of_array(arg)
        if location is not None and abs(location[0]) == _CUDA:
            return Device(_CUDA, location[1], location[0] < 0)
    return Device(DEVICE_TYPES["cpu"])
