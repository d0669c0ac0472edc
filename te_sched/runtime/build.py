"""build: from lowered functions to a module that can be called. Must not know schedules."""

from __future__ import annotations

from collections.abc import Mapping

from te_sched.codegen.llvm.compile import Functions, compile_functions
from te_sched.codegen.target import Target, as_target, check_available
from te_sched.errors import BuildError
from te_sched.ir.expr import StringImm
from te_sched.ir.stmt import AttrStmt, PrimFunc
from te_sched.ir.visitor import walk
from te_sched.locks import once
from te_sched.runtime.compiled_programs import QueryRecorder, find_program, keep_program
from te_sched.runtime.csource import CObject, compile_c
from te_sched.runtime.module import Module, make_module
from te_sched.runtime.object_cache import current_cache


def find_built(name: str, target: Target) -> Module | None:
    """The module of a program that was built before, by its name (`compiled_programs`)."""
    compiled = find_program(name, target)
    if compiled is None:
        return None
    try:
        return make_module(compiled)
    except BuildError:  # what it calls is gone: let a build say so
        return None


def build_functions(
    functions: Mapping[str, PrimFunc] | Functions,
    target: str | Target | None = None,
    program: str | None = None,
) -> Module:
    """Compile lowered functions, and keep them as `program` for `find_built`. They may be made one
    after the other, and are asked for again: LLVM compiles those before meanwhile.

    Raises BuildError for what cannot be compiled or linked.
    """
    target = as_target(target)
    check_available(target)
    if isinstance(functions, Mapping):
        if not functions:
            raise BuildError("cannot build a module without functions", "", "give it at least one")
        functions = functions.items()
    pairs = functions
    processor = ("-march=native",) if target.mcpu is None else ()  # names of processors differ

    @once
    def objects() -> list[CObject]:
        sources = dict.fromkeys(text for _, func in pairs for text in _c_sources(func))
        return [compile_c(source, ("-O3", *processor)) for source in sources]

    def is_defined(name: str) -> bool:
        return any(name in code.symbols for code in objects())

    with QueryRecorder(current_cache()) as recorder:
        questions = recorder.extern_kind, is_defined
        compiled = compile_functions(pairs, target, *questions, recorder.emit, recorder.begin)
    module = make_module(compiled, [code.data for code in objects()])
    if program is not None and not objects() and not compiled.linked:  # these may be in files
        keep_program(program, recorder)
    return module


def _c_sources(func: PrimFunc) -> list[str]:
    """The C source texts of pragmas import_c."""
    return [
        node.value.value
        for node in walk(func.body)
        if isinstance(node, AttrStmt)
        and node.key == "pragma_import_c"
        and isinstance(node.value, StringImm)
    ]
