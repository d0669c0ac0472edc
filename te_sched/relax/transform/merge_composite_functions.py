"""The pass `MergeCompositeFunctions`: calls of functions of one library become one function."""

from __future__ import annotations

from collections.abc import Mapping

from te_sched.ir.graph import DataflowBlock, GraphCall, GraphFunction, GraphVar
from te_sched.ir.stmt import IRModule
from te_sched.passes import ModulePass
from te_sched.relax.analysis.variables import uses_of
from te_sched.relax.transform.grouping import (
    Group,
    Grouping,
    dataflow_blocks,
    fuse_groups,
)
from te_sched.relax.transform.library_functions import (
    CODEGEN,
    for_library,
    is_composite,
    library_of,
    renamed_functions,
)


class MergeCompositeFunctions(ModulePass):
    """The pass that merges adjacent calls of functions of one library, which `FuseOpsByPattern` has
    made, into one function of the library, for `RunCodegen`.

    Calls are not merged if something outside of the function stands between them.
    """

    def transform_module(self, mod: IRModule, *_: object) -> IRModule:
        merged = fuse_groups(mod, lambda func: _groups(func, mod))
        names: dict[str, str] = {}
        functions: dict[str, GraphFunction] = {}
        for name, func in merged.functions.items():
            if str(name) in mod.functions or not isinstance(func, GraphFunction):
                continue
            library = str(func.attrs[CODEGEN])
            new = names[str(name)] = f"{name}_{library}"
            functions[new] = for_library(func, mod, library, new)
        return renamed_functions(merged, names, functions) if names else mod


def _groups(func: GraphFunction, mod: IRModule) -> Grouping:
    group_of: dict[GraphVar, Group] = {}
    if CODEGEN not in func.attrs:
        for block in dataflow_blocks(func):
            group_of.update(_Merging(block, mod).groups())
    return group_of


class _Merging:
    """The sets of variables of a block: each is one function, or one binding."""

    def __init__(self, block: DataflowBlock, mod: IRModule) -> None:
        self._inputs: dict[GraphVar, list[GraphVar]] = {}
        self._libraries: dict[GraphVar, str] = {}
        self._set_of: dict[GraphVar, set[GraphVar]] = {}
        for binding in block.bindings:
            value = binding.value
            self._inputs[binding.var] = [var for var in uses_of(binding) if var in self._inputs]
            self._set_of[binding.var] = {binding.var}
            if isinstance(value, GraphCall) and is_composite(mod, value.op):
                self._libraries[binding.var] = library_of(mod, value.op)
            elif isinstance(value, GraphVar) and value in self._libraries:  # another name
                self._libraries[binding.var] = self._libraries[value]

    def groups(self) -> Mapping[GraphVar, Group]:
        """The group of each call of a function of a library."""
        for var, library in self._libraries.items():
            for source in self._inputs[var]:
                if self._libraries.get(source) == library:
                    self._merge(var, source)
        groups: dict[int, Group] = {}
        for var, library in self._libraries.items():
            groups.setdefault(id(self._set_of[var]), Group({CODEGEN: library}))
        return {var: groups[id(self._set_of[var])] for var in self._libraries}

    def _merge(self, a: GraphVar, b: GraphVar) -> None:
        """Join two sets, unless a value outside of both stands between them."""
        joined = self._set_of[a] | self._set_of[b]
        if joined == self._set_of[a] or self._depends_on_itself(joined):
            return
        for member in joined:
            self._set_of[member] = joined

    def _depends_on_itself(self, variables: set[GraphVar]) -> bool:
        """Whether a value outside of a set uses it, and is used by it."""
        seen: set[GraphVar] = set()
        stack = [
            source for var in variables for source in self._inputs[var] if source not in variables
        ]
        while stack:
            var = stack.pop()
            if var in seen:
                continue
            for member in self._set_of[var]:
                seen.add(member)
                for source in self._inputs[member]:
                    if source in variables:
                        return True
                    stack.append(source)
        return False
