"""Passes that choose implementations of single operators, and patterns of libraries, with TVM's
names.

`LegalizeOps` does the same as the passes with all operators at once; `relax.build` needs none of
these.
"""

from __future__ import annotations

from typing import ClassVar

from te_sched.absent_names import tell_of_absent_names as _tell_of_absent_names
from te_sched.ir.stmt import IRModule
from te_sched.passes import ModulePass
from te_sched.relax.backend.pattern_registry import get_pattern as get_pattern
from te_sched.relax.backend.pattern_registry import (
    get_patterns_with_prefix as get_patterns_with_prefix,
)
from te_sched.relax.backend.pattern_registry import register_patterns as register_patterns
from te_sched.relax.transform.legalize_ops import legalize_functions


class DispatchSortScan(ModulePass):
    """Replace calls of sort, argsort, topk, cumsum and cumprod by calls of functions of blocks.

    >>> from te_sched import relax
    >>> x = relax.Var("x", relax.TensorStructInfo([4], "float32"))
    >>> builder = relax.BlockBuilder()
    >>> with builder.function("main", [x]):
    ...     gv = builder.emit_func_output(builder.emit(relax.op.sort(relax.op.exp(x))))
    >>> [str(name) for name in DispatchSortScan()(builder.get()).functions]
    ['main', 'sort']
    """

    OPERATORS: ClassVar[tuple[str, ...]] = ("sort", "argsort", "topk", "cumsum", "cumprod")

    def transform_module(self, mod: IRModule, *_: object) -> IRModule:
        """The module with these calls replaced."""
        return legalize_functions(mod, {}, False, [f"relax.{name}" for name in self.OPERATORS])


class DispatchSampling(ModulePass):
    """Replace calls of multinomial_from_uniform by calls of functions of blocks.

    >>> from te_sched import IRModule
    >>> DispatchSampling()(IRModule({})).get_global_vars()
    []
    """

    def transform_module(self, mod: IRModule, *_: object) -> IRModule:
        """The module with these calls replaced."""
        return legalize_functions(mod, {}, False, ["relax.multinomial_from_uniform"])


_tell_of_absent_names(__name__)
