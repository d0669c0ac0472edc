"""Compiles PrimFuncs to an object file, with the data for showing and linking it.

Must not know how code is loaded; `extern_kinds` and `is_defined` are what the runtime says about
names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from te_sched.codegen.llvm import machine as llvm_machine
from te_sched.codegen.llvm import parts
from te_sched.codegen.llvm.entry import write_function
from te_sched.codegen.llvm.half import define_half_conversions
from te_sched.codegen.llvm.module import Locations, ModuleText
from te_sched.codegen.llvm.processors import check_intrinsics
from te_sched.codegen.target import Target, check_available
from te_sched.deep_recursion import walks_deeply
from te_sched.errors import BuildError
from te_sched.ir.stmt import PrimFunc

Emit = Callable[[str, tuple[str, ...], llvm_machine.TargetMachine], tuple[bytes, ...]]
Begin = Callable[[str, llvm_machine.TargetMachine], None]
Functions = Iterable[tuple[str, PrimFunc]]  # with their names; no iterator, which ends


@dataclass(frozen=True, slots=True)
class CompiledObject:
    """Object files, their metadata for the loader, and the text that they were compiled from."""

    objects: tuple[bytes, ...]
    metadata: bytes
    text: str
    linked: tuple[str, ...]
    target: Target

    def whole(self) -> bytes:
        """All of it as one object file, which is compiled again if there are several."""
        if len(self.objects) == 1:
            return self.objects[0]
        machine = llvm_machine.machine_of(self.target)
        return llvm_machine.compile_object(self.text, self.linked, machine)

    def source(self, kind: str) -> str:
        """The optimized LLVM IR ("ll") or the assembly ("asm")."""
        return llvm_machine.show_source(
            self.text, self.linked, llvm_machine.machine_of(self.target), kind
        )


@walks_deeply("compile functions", BuildError)
def compile_functions(
    functions: Mapping[str, PrimFunc] | Functions,
    target: Target,
    extern_kinds: Callable[[str], str | None] = lambda name: None,
    is_defined: Callable[[str], bool] = lambda name: False,
    emit: Emit = llvm_machine.compile_objects,
    begin: Begin = lambda text, machine: None,
) -> CompiledObject:
    """Generate and compile code for functions.

    `extern_kinds(name)` is "pointer" or "callback" for functions registered in Python;
    `is_defined(name)` says that another object that will be linked defines it. `emit` compiles
    LLVM text, or finds the objects in a cache; `begin` gets the text of the functions before, each
    time that it has grown by that of a part. Raises BuildError for what cannot be compiled, with
    the names of missing functions.
    """
    check_available(target)
    machine = llvm_machine.machine_of(target)
    pairs = functions.items() if isinstance(functions, Mapping) else functions
    module = _write_module(pairs, target, machine, extern_kinds, is_defined, begin=begin)
    metadata = module.describe(machine.describe())
    text = module.render(metadata, machine.header)
    linked = tuple(dict.fromkeys(module.linked_ir))
    return CompiledObject(emit(text, linked, machine), metadata, text, linked, target)


@walks_deeply("show functions", BuildError)
def show_functions(
    functions: Mapping[str, PrimFunc],
    target: Target,
    extern_kinds: Callable[[str], str | None],
    lines: Mapping[int, int],
) -> tuple[str, str]:
    """The optimized LLVM IR and the assembly of functions, which are not linked.

    `lines` has the line of each statement, by its identity, in some text of the functions: LLVM IR
    says it in `!DILocation`, the assembly in `.loc`. Raises BuildError for what cannot be compiled.
    """
    check_available(target)
    machine = llvm_machine.machine_of(target)
    pairs = functions.items()
    module = _write_module(pairs, target, machine, extern_kinds, lambda name: True, lines)
    text = module.render(module.describe(machine.describe()), machine.header)
    return llvm_machine.show_sources(text, tuple(dict.fromkeys(module.linked_ir)), machine)


def _write_module(
    functions: Functions,
    target: Target,
    machine: llvm_machine.TargetMachine,
    extern_kinds: Callable[[str], str | None],
    is_defined: Callable[[str], bool],
    lines: Mapping[int, int] | None = None,
    begin: Begin = lambda text, machine: None,
) -> ModuleText:
    """The text of functions, which may be made one after the other."""
    module = ModuleText(
        extern_kinds,
        lambda: llvm_machine.has_masks(machine),
        lambda: llvm_machine.scales_powers(machine),
    )
    module.is_x86 = machine.triple.startswith("x86_64")
    if target.fast_math:
        module.float_flags = "fast "
    if target.vector_width is not None:
        module.function_attributes = f'"prefer-vector-width"="{target.vector_width}" '
    if lines is not None:
        module.locations = Locations(lines, module)
    length = 0
    for name, func in functions:
        before = len(module.functions)
        write_function(module, func, name)
        length += sum(map(len, module.functions[before:]))
        if length >= parts.PART:
            begin(module.render(b"", machine.header), machine)
            length = 0
    llvm_machine.check_imported(dict.fromkeys(module.linked_ir), machine)
    define_half_conversions(module, lambda: llvm_machine.converts_halves(machine))
    _check_externs(module, is_defined)
    check_intrinsics(target, machine.triple, machine.cpu, machine.features, module.intrinsics)
    return module


def _check_externs(module: ModuleText, is_defined: Callable[[str], bool]) -> None:
    if not module.externs and not module.linked_ir:
        return
    defined: set[str] = set()
    wanted = set(module.externs)
    for text in dict.fromkeys(module.linked_ir):
        defined |= llvm_machine.defined_symbols(text)
        wanted |= llvm_machine.missing_symbols(text)
    missing = sorted(
        name
        for name in wanted - defined
        if not is_defined(name) and llvm_machine.process_symbol(name) is None
    )
    if missing:
        raise BuildError(
            f"undefined external function{'s' if len(missing) > 1 else ''} {', '.join(missing)}",
            "no registered function, imported code or symbol of this process has this name",
            "register it with te_sched.register_extern, or import its code with a pragma "
            "(import_llvm, import_c)",
        )
