"""The cache of executables on disk, by the identity of the module of graphs.

An executable is kept as its instructions, constants and plans (`saving`), and its kernels as a
program of their own (`runtime.compiled_programs`): both must be there and be whole. A module is
named by its complete state with the data of its constants, the parameters, the pipeline, the time
for measuring, the target, the switches and the number of processors, which schedules depend on.
Modules whose build can call functions of the program are not kept: passes, rules and instruments of
a program, and loops that call registered functions, since constants may be computed with them. Must
not know how graphs are built.
"""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Mapping

from te_sched import config
from te_sched.codegen.signature import calls_of
from te_sched.codegen.target import Target
from te_sched.driver.steps import HISTORY, is_cacheable
from te_sched.errors import CallError
from te_sched.ir.op import CHANGED_BY_PROGRAMS
from te_sched.ir.stmt import IRModule, PrimFunc
from te_sched.pass_context import PassContext
from te_sched.processors import usable_processors
from te_sched.relax.pipeline import is_of_library
from te_sched.relax.vm.executable import Executable, executable_of
from te_sched.relax.vm.saving import as_plain, bytes_of_constants
from te_sched.runtime.build import find_built
from te_sched.runtime.compiled_programs import name_program
from te_sched.runtime.object_cache import current_cache
from te_sched.unpickling import load_pickled

_LARGEST = 4  # entries of more than this share of the cache would displace too many others
_CALLS = ("tir.call_extern", "tir.call_pure_extern", "tir.tvm_call_packed", "tir.tvm_call_cpacked")


def name_graphs(
    module: IRModule,
    params: Mapping[str, object] | None,
    pipeline: object,
    target: Target,
    measure: float = 0.0,
) -> str | None:
    """The name of what a module is built into; None if it cannot be kept."""
    context = PassContext.current()
    is_kept = target.kind == "llvm" and is_cacheable() and is_of_library(pipeline)
    if not is_kept or context.instruments or CHANGED_BY_PROGRAMS or _calls_programs(module):
        return None
    switches = (context.opt_level, context.required_pass, context.disabled_pass, context.config)
    chosen = config.current()
    settings = (
        pipeline,
        measure,
        switches,
        usable_processors(),
        chosen.lowering,
        chosen.check_accesses,
    )
    return name_program((module, params, settings), target, HISTORY)


def _calls_programs(module: IRModule) -> bool:
    functions = [func for func in module.functions.values() if isinstance(func, PrimFunc)]
    return any(calls_of(func, op) for func in functions for op in _CALLS)


def kernels_name(name: str) -> str:
    """The name of the program of the kernels of a module."""
    return hashlib.sha256(f"{name} kernels".encode()).hexdigest()


def find_graphs(name: str, target: Target) -> Executable | None:
    """The executable of a name, if it is kept and its kernels can be linked today."""
    cache = current_cache()
    entry = cache.get(name) if cache is not None else None
    if entry is None:
        return None
    data = load_pickled(entry, {})
    kernels = find_built(kernels_name(name), target) if data["has_kernels"] else None
    if kernels is None and data["has_kernels"]:
        return None
    return executable_of(data, kernels)


def keep_graphs(name: str, executable: Executable) -> None:
    """Keep an executable under a name, if its kernels are kept, unless it is too large or has
    values that files cannot hold.
    """
    cache = current_cache()
    has_kernels = executable.kernels is not None
    if cache is None or (has_kernels and cache.get(kernels_name(name)) is None):
        return
    largest = cache.limit // _LARGEST
    if bytes_of_constants(executable.bytecode) > largest:
        return
    try:
        plain = as_plain(executable.bytecode, executable.plans, has_kernels)
    except CallError:
        return
    entry = pickle.dumps(plain)
    if len(entry) <= largest:
        cache.put(name, entry)
