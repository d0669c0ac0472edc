"""Executables: what a module of graphs is built into, and the files that they are saved in."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from os import PathLike
from typing import TYPE_CHECKING, Annotated, Any

from te_sched.errors import GraphError, repr_of
from te_sched.ir.source_lines import NO_LINES, SourceLines
from te_sched.public_members import PublicObject, Unbuilt
from te_sched.relax.vm.bytecode import Bytecode
from te_sched.relax.vm.native import NativePlan, constant_name
from te_sched.relax.vm.saving import as_plain, from_plain
from te_sched.runtime.libraries import check_place, empty_object, packed, write_library
from te_sched.runtime.module import Module
from te_sched.runtime.ndarray import NDArray
from te_sched.signatures import checked_as

if TYPE_CHECKING:
    from te_sched.runtime.cuda_module import CudaModule

    Kernels = Module | CudaModule  # the compiled functions of loops


class Executable(PublicObject, Unbuilt):
    """What a module of graphs was built into: instructions, and the code of its loops.

    Run it with a VirtualMachine.
    """

    _internal_members = ("add_lines",)

    def __init__(
        self,
        bytecode: Bytecode,
        kernels: Annotated[Kernels | None, "compiled functions"],
        plans: Mapping[str, NativePlan],
    ) -> None:
        """`plans` are those of functions that are native (`native.NativePlan`)."""
        self.bytecode, self.kernels, self.plans = bytecode, kernels, plans
        self.lines = NO_LINES  # of the module that was built in this process
        if isinstance(kernels, Module):  # for processors, which have plans
            for number in [number for plan in plans.values() for number in plan.constants]:
                array = bytecode.constants[number]
                assert isinstance(array, NDArray)
                kernels.link_memory(constant_name(number), array)

    @checked_as(GraphError)
    def add_lines(self, lines: SourceLines) -> None:
        """Let errors of calls have lines of the module that was built."""
        self.lines = lines
        if self.kernels is not None:
            self.kernels.add_lines(lines.located)

    def _refusal_of_calls(self) -> tuple[str, str, str]:
        names = [function.name for function in self.bytecode.functions if not function.is_packed]
        name = "main" if "main" in names else next(iter(names), "main")
        return (
            "an Executable is called without a machine",
            "functions of graphs run in a VirtualMachine",
            f"make one for a device: relax.VirtualMachine(executable, device)[{name!r}](...)",
        )

    @property
    def mod(self) -> Executable:
        """The executable itself, which TVM calls a module."""
        return self

    def as_text(self) -> str:
        """The instructions, as TVM prints them."""
        return self.bytecode.as_text()

    def as_python(self) -> str:
        """A program that writes the same instructions with an ExecBuilder."""
        return self.bytecode.as_python()

    def stats(self) -> str:
        """The constants and the names of functions, as TVM prints them."""
        return self.bytecode.stats()

    def jit(self, *args: object, **kwargs: object) -> Executable:
        """The executable itself: its code is loaded already."""
        del args, kwargs
        return self

    def export_library(
        self,
        path: str | PathLike[str],
        fcompile: Callable[..., object] | None = None,
        **options: object,
    ) -> None:
        """Save it for te_sched.runtime.load_module, as modules of kernels do.

        Parameters
        ----------
        path : a name that ends in .so, .o or .tar.
        fcompile : what links the object files (contrib.cc.create_shared); `options` are for it.
        """
        destination = check_place(path)
        objects = (empty_object(),) if self.kernels is None else self.kernels.objects(destination)
        options.pop("workspace_dir", None)
        device_code = getattr(self.kernels, "data", None)  # of a GPU
        has_kernels = self.kernels is not None and device_code is None
        program = as_plain(self.bytecode, self.plans, has_kernels, device_code)
        write_library(destination, objects, fcompile, options, packed(program))

    def __getitem__(self, name: str) -> Callable[..., str]:
        """A function of the executable: "as_text", "stats", "as_python"."""
        methods = {"as_text": self.as_text, "stats": self.stats, "as_python": self.as_python}
        if not isinstance(name, str) or name not in methods:
            raise GraphError(
                f"the executable has no function {repr_of(name)} that can be called",
                "functions of graphs run in a machine",
                "use relax.VirtualMachine(executable, device)",
            )
        return methods[name]


def executable_of(data: dict[str, Any], kernels: Kernels | None) -> Executable:
    """The executable of a file; `te_sched.runtime.load_module` calls it."""
    bytecode, plans = from_plain(data)
    return Executable(bytecode, kernels, plans)
