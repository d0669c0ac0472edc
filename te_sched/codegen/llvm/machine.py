"""LLVM itself: target machines, the optimizer, object code. It and `quirks` alone load llvmlite.

Text in, bytes out. Every compilation uses an LLVM context of its own, so threads may compile at
once, also parts of one program (`parts`). A module must be freed before its context, which the
garbage collector does not know: modules are held by `with` statements.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import llvmlite.binding as llvm

from te_sched.codegen.llvm import quirks
from te_sched.codegen.llvm.parts import PartCutter, parts_of
from te_sched.codegen.llvm.processors import check_target
from te_sched.codegen.llvm.trial import compile_apart
from te_sched.codegen.target import Target
from te_sched.errors import BuildError
from te_sched.locks import new_lock
from te_sched.worker_thread import CallsAhead, can_be_left, map_in_threads

_LOCK = new_lock()
_IMPORTED = "the LLVM IR of a pragma import_llvm"
_GLOBAL_IN_ASSEMBLY = re.compile(
    r'^module asm "(?:\\09|\s)*\.globl(?:\\09|\s)+([\w.$]+)"', re.MULTILINE
)
_LABEL_IN_ASSEMBLY = re.compile(r'^module asm "(?:\\09|\s)*([\w.$]+):', re.MULTILINE)
_NAMED = re.compile(r'@"?([\w.$-]+)')
_HOST = Target("llvm")
_MACHINES: dict[tuple[str | None, str | None, str | None, int], TargetMachine] = {}


@dataclass(frozen=True, slots=True)
class TargetMachine:
    """A processor to generate code for; object files keep its description."""

    triple: str
    cpu: str
    features: str
    level: int
    handle: Any
    idle: list[Any] = field(default_factory=list, compare=False)  # handles for compilations

    @contextmanager
    def compiling(self) -> Iterator[Any]:
        """A handle that no other thread uses meanwhile."""
        try:
            handle = self.idle.pop()
        except IndexError:
            handle = _new_handle(self.triple, self.cpu, self.features, self.level)
        try:
            yield handle
        finally:
            self.idle.append(handle)

    def describe(self) -> dict[str, Any]:
        """The description of the target machine in an object file."""
        needed = [name for name in self.features.split(",") if name.startswith("+")]
        return {"triple": self.triple, "cpu": self.cpu, "features": ",".join(needed)}

    @property
    def header(self) -> str:
        """The first lines of a module for this machine."""
        return f'target datalayout = "{self.handle.target_data}"\ntarget triple = "{self.triple}"'


def machine_of(target: Target) -> TargetMachine:
    """The machine that a target names; by default this computer, with all its features."""
    key = (target.mtriple, target.mcpu, target.mattr, target.opt_level)
    with _LOCK:
        if key not in _MACHINES:
            _MACHINES[key] = _create(target)
        return _MACHINES[key]


def host_machine() -> TargetMachine:
    """This computer, with all its features."""
    return machine_of(_HOST)


def _create(target: Target) -> TargetMachine:
    triple = target.mtriple or str(llvm.get_process_triple())
    host = target.mcpu is None or target.mcpu == "native"
    cpu = str(llvm.get_host_cpu_name() if host else target.mcpu)
    features = host_features() if host and target.mtriple is None else ""
    if target.mattr:
        features = ",".join(part for part in (features, target.mattr) if part)
    check_target(target, triple, cpu, features)
    try:
        llvm.Target.from_triple(triple)
    except RuntimeError as error:
        raise BuildError(
            f"LLVM does not support target {target.text!r}", f"LLVM says: {error}", "check -mtriple"
        ) from None
    handle = _new_handle(triple, cpu, features, target.opt_level)
    return TargetMachine(triple, cpu, features, target.opt_level, handle)


def _new_handle(triple: str, cpu: str, features: str, level: int) -> Any:
    return llvm.Target.from_triple(triple).create_target_machine(
        cpu=cpu, features=features, opt=level, reloc="pic", codemodel="default"
    )


def llvm_version() -> str:
    """The version of LLVM that llvmlite brings."""
    return ".".join(map(str, llvm.llvm_version_info))


@cache
def host_features() -> str:
    """The features of this computer's processor, as LLVM writes them (+avx2,-avx512f,...)."""
    return str(llvm.get_host_cpu_features().flatten())


@cache
def has_masks(machine: TargetMachine) -> bool:
    """Whether the processor has instructions that store some lanes of a vector."""
    assembly = _assembly(machine, _MASKED_STORE)
    return "vmaskmov" in assembly or "{%k" in assembly or "st1w" in assembly


@cache
def scales_powers(machine: TargetMachine) -> bool:
    """Whether the processor has instructions that multiply floats and their vectors by powers of
    two, rounding once. LLVM 22.1 forgets to convert exponents where AVX-512 has no short vectors.
    """
    assembly = _assembly(machine, _SCALE)
    return "vscalefps" in assembly and "vcvtdq2ps" in assembly


@cache
def converts_halves(machine: TargetMachine) -> bool:
    """Whether the processor has instructions that convert float16 to float32 and back."""
    assembly = _assembly(machine, _HALF)
    return assembly != "" and "hfsf2" not in assembly and "sfhf2" not in assembly


@cache
def vector_bytes(machine: TargetMachine) -> int:
    """The bytes of the processor's widest vector registers."""
    assembly = _assembly(machine, _WIDE_SUM)
    return 64 if "%zmm" in assembly else 32 if "%ymm" in assembly else 16


def _assembly(machine: TargetMachine, text: str) -> str:
    """The assembly of a module without a header; "" if the processor cannot run it."""
    with suppress(RuntimeError):
        source = f"{machine.header}\n{text}"
        with llvm.parse_assembly(source, llvm.create_context()) as module:
            module.verify()
            with machine.compiling() as handle:
                return str(handle.emit_assembly(module))
    return ""


_MASKED_STORE = """
define void @f(<8 x float> %x, ptr %p, <8 x i1> %m) {
  call void @llvm.masked.store.v8f32.p0(<8 x float> %x, ptr %p, i32 4, <8 x i1> %m)
  ret void
}
declare void @llvm.masked.store.v8f32.p0(<8 x float>, ptr, i32, <8 x i1>)
"""

_SCALE = """
define float @f(float %x, i32 %n) {
  %y = call float @llvm.ldexp.f32.i32(float %x, i32 %n)
  ret float %y
}
define <4 x float> @g(<4 x float> %x, <4 x i32> %n) {
  %y = call <4 x float> @llvm.ldexp.v4f32.v4i32(<4 x float> %x, <4 x i32> %n)
  ret <4 x float> %y
}
declare float @llvm.ldexp.f32.i32(float, i32)
declare <4 x float> @llvm.ldexp.v4f32.v4i32(<4 x float>, <4 x i32>)
"""

_HALF = """
define half @f(half %x) {
  %wide = fpext half %x to float
  %root = call float @llvm.sqrt.f32(float %wide)
  %narrow = fptrunc float %root to half
  ret half %narrow
}
declare float @llvm.sqrt.f32(float)
"""

_WIDE_SUM = """
define void @f(ptr %p, ptr %q) "prefer-vector-width"="512" "min-legal-vector-width"="512" {
  %a = load <16 x float>, ptr %p
  %b = load <16 x float>, ptr %q
  %c = fadd <16 x float> %a, %b
  store <16 x float> %c, ptr %p
  ret void
}
"""


@contextmanager
def _optimized(text: str, linked: tuple[str, ...], machine: TargetMachine) -> Iterator[Any]:
    """The module after LLVM's passes."""
    *attempts, nothing = quirks.tunings(text, machine.level)
    sources = text, *linked
    for options in attempts:
        with _after_passes(text, linked, machine, options) as module:
            if _is_valid(module) and not quirks.has_repeated_remainders(module, sources):
                yield module
                return
    with _after_passes(text, linked, machine, nothing) as module:
        yield module


def _is_valid(module: Any) -> bool:
    try:
        module.verify()
    except RuntimeError:
        return False
    return True


@contextmanager
def _after_passes(
    text: str, linked: tuple[str, ...], machine: TargetMachine, options: Any
) -> Iterator[Any]:
    context = llvm.create_context()
    with _parsed(text, context, "the generated code") as module:
        for extra in without_superseded(linked):
            with _parsed(extra, context, _IMPORTED) as part:
                _give_way(module, part)
                _link_in(module, part)
        # One for each program: a run leaves callbacks in it that are gone when the run is over.
        # llvmlite never frees the place for them, 1.5 KB (`benchmarks.memory` counts them).
        with machine.compiling() as handle:
            builder = llvm.create_pass_builder(handle, options)
            passes = builder.getModulePassManager()
            passes.run(module, builder)
            quirks.free_passes(passes)
        yield module


@contextmanager
def _parsed(text: str, context: Any, what: str) -> Iterator[Any]:
    try:
        parsed = llvm.parse_assembly(text, context)
    except RuntimeError as error:
        raise _wrong(what, error) from None
    with parsed as module:
        try:
            module.verify()
        except RuntimeError as error:
            raise _wrong(what, error) from None
        unknown = [
            function.name
            for function in module.functions
            if function.name.startswith("llvm.") and "; Unknown intrinsic" in str(function)
        ]
        if unknown:
            raise BuildError(
                f"unknown LLVM intrinsic{'s' if len(unknown) > 1 else ''} {', '.join(unknown)} "
                f"in {what}",
                f"LLVM {llvm_version()} has no intrinsic of this name",
                "see the list of intrinsics in LLVM's language reference",
            )
        yield module


def _link_in(module: Any, part: Any) -> None:
    try:
        module.link_in(part)
    except RuntimeError as error:
        raise BuildError(
            f"cannot combine {_IMPORTED} with the generated code",
            f"LLVM says: {error}",
            "name its functions and variables otherwise; te_sched's names begin with te_sched_",
        ) from None


def check_imported(texts: Iterable[str], machine: TargetMachine) -> None:
    """Refuse LLVM IR of users on which LLVM ends the process."""
    for text in texts:
        reason = compile_apart(
            machine.triple, machine.cpu, machine.features, machine.level, "", (text,)
        )[0]
        if reason:
            raise _invalid(_IMPORTED, f"LLVM says: {reason}")
        for name in (*defined_symbols(text), *_LABEL_IN_ASSEMBLY.findall(text)):
            if name.startswith("te_sched_"):
                raise BuildError(
                    f"{_IMPORTED} defines {name}",
                    "names that begin with te_sched_ are those of generated code",
                    "use another name",
                )


def _wrong(what: str, error: RuntimeError) -> BuildError:
    return _invalid(what, f"LLVM says: {error}")


def _invalid(what: str, why: str) -> BuildError:
    return BuildError(
        f"{what} is not valid LLVM IR",
        why,
        "correct the text, or report a bug of te_sched",
    )


def missing_symbols(text: str) -> set[str]:
    """Names of the functions that LLVM IR text calls and does not define, intrinsics aside."""
    with _parsed(text, llvm.create_context(), _IMPORTED) as module:
        names = {function.name for function in module.functions if function.is_declaration}
    named = Counter(_NAMED.findall(text))  # once is the declaration
    return {name for name in names if not name.startswith("llvm.") and named[name] > 1}


def defined_symbols(text: str) -> set[str]:
    """Names of the functions that LLVM IR text defines, in its assembly too."""
    with _parsed(text, llvm.create_context(), _IMPORTED) as module:
        functions = {function.name for function in module.functions if not function.is_declaration}
    return functions.union(_GLOBAL_IN_ASSEMBLY.findall(text))


def without_superseded(linked: tuple[str, ...]) -> list[str]:
    """The texts of import_llvm pragmas that define something that no later one defines anew."""
    if len(linked) < 2:
        return list(linked)
    kept: list[str] = []
    later: set[str] = set()
    later_in_assembly: set[str] = set()
    for text in reversed(linked):
        symbols = defined_symbols(text)
        if symbols and symbols <= later:
            continue
        in_assembly = set(_GLOBAL_IN_ASSEMBLY.findall(text))
        twice = sorted((in_assembly & later) | (symbols & later_in_assembly))
        if twice:
            raise BuildError(
                f"{_IMPORTED} defines {', '.join(twice)}, which another one defines too",
                "a definition in assembly cannot be replaced",
                "define each function once, or install clang",
            )
        kept.insert(0, text)
        later |= symbols
        later_in_assembly |= in_assembly
    return kept


def _give_way(module: Any, part: Any) -> None:
    """Let functions of `part` take the place of those of the same name in `module`."""
    defined = {
        function.name: function for function in module.functions if not function.is_declaration
    }
    for function in part.functions:
        if not function.is_declaration and function.name in defined:
            defined[function.name].linkage = "weak_any"


@can_be_left
def compile_object(text: str, linked: tuple[str, ...], machine: TargetMachine) -> bytes:
    """LLVM text optimized and compiled to an object file."""
    with _optimized(text, linked, machine) as module, machine.compiling() as handle:
        return bytes(handle.emit_object(module))


class PartsAhead:
    """The parts of a module that are compiled while functions are added to it."""

    def __init__(self, machine: TargetMachine) -> None:
        self._cutter = PartCutter(machine.level)
        self._calls = CallsAhead[str, bytes](lambda part: compile_object(part, (), machine))

    def finished(self, text: str) -> list[str]:
        """The texts of the parts that are finished."""
        return self._cutter.finished(text)

    def begin(self, part: str) -> None:
        """Compile a part soon."""
        self._calls.begin(part)

    def stop(self, waits: bool = True) -> None:
        """Begin no more parts, and wait for those that are being compiled."""
        self._calls.stop(waits)

    @can_be_left
    def objects(self, text: str) -> tuple[bytes, ...]:
        """The object files of the complete text."""
        return tuple(self._calls.results(self._cutter.parts(text)))


@can_be_left
def compile_objects(
    text: str, linked: tuple[str, ...], machine: TargetMachine, ahead: PartsAhead | None = None
) -> tuple[bytes, ...]:
    """LLVM text optimized and compiled to object files, several of a long one; some parts may have
    been begun.
    """
    if linked:
        return (compile_object(text, linked, machine),)
    return (ahead or PartsAhead(machine)).objects(text)


@can_be_left
def show_source(text: str, linked: tuple[str, ...], machine: TargetMachine, kind: str) -> str:
    """The optimized LLVM IR ("ll") or the assembly ("asm") of LLVM text, part by part."""
    shown = "\n".join(
        line for line in text.splitlines() if not line.startswith("@te_sched_metadata")
    )

    def show(part: str) -> str:
        with _optimized(part, linked, machine) as module, machine.compiling() as handle:
            return str(handle.emit_assembly(module)) if kind == "asm" else str(module)

    return "\n".join(map_in_threads(show, [shown] if linked else parts_of(shown, machine.level)))


@can_be_left
def show_sources(text: str, linked: tuple[str, ...], machine: TargetMachine) -> tuple[str, str]:
    """The optimized LLVM IR and the assembly of LLVM text."""
    with _optimized(text, linked, machine) as module, machine.compiling() as handle:
        return str(module), str(handle.emit_assembly(module))


def process_symbol(name: str) -> int | None:
    """The address of a symbol of this process (libc, libm, ...), or None."""
    address = llvm.address_of_symbol(name)
    return int(address) if address else None


def _set_up() -> None:
    """Once in a process."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    llvm.initialize_native_asmparser()
    if sys.platform == "linux":  # Python may have loaded libm for itself alone
        with suppress(RuntimeError):  # musl has it in libc
            llvm.load_library_permanently("libm.so.6")
    quirks.set_options()


_set_up()
