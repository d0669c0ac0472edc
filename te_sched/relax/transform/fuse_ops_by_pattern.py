"""The pass `FuseOpsByPattern`: what patterns match becomes functions, for libraries."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from te_sched.errors import GraphError, kind_of, repr_of
from te_sched.errors import RepeatedDefinitionError as RepeatedDefinitionError
from te_sched.ir.graph import (
    DataflowBlock,
    GraphCall,
    GraphFunction,
    GraphValue,
    GraphVar,
    TupleGetItem,
    VarBinding,
)
from te_sched.ir.stmt import Attributes, GlobalVar, IRModule
from te_sched.passes import ModulePass
from te_sched.relax.analysis.variables import bindings_of, uses_of
from te_sched.relax.dpl.pattern import BoundValues, DFPattern, Match, NotPattern, WildcardPattern
from te_sched.relax.transform.grouping import (
    Group,
    Grouping,
    dataflow_blocks,
    fuse_groups,
)
from te_sched.relax.transform.library_functions import (
    CODEGEN,
    COMPOSITE,
    PRIMITIVE,
    calling,
    for_library,
    is_composite,
    library_of,
    renamed_functions,
)
from te_sched.signatures import check_function, is_sequence


@dataclass(frozen=True)
class PatternCheckContext:
    """What a check of a match is given.

    Parameters
    ----------
    matched_expr : the matched expression.
    annotated_expr : the expressions of the annotated patterns, by name.
    matched_bindings : the values of the variables that would be in the function.
    var_usages : the variables that use each variable of the function.
    value_to_bound_var : the variable of each value.
    """

    matched_expr: GraphValue
    annotated_expr: Mapping[str, GraphValue]
    matched_bindings: Mapping[GraphVar, GraphValue]
    var_usages: Mapping[GraphVar, Sequence[GraphVar]]
    value_to_bound_var: Mapping[GraphValue, GraphVar]


@dataclass(frozen=True)
class FusionPattern:
    """A pattern of a library.

    Parameters
    ----------
    name : its name: "library.operator".
    pattern : what is matched.
    annotation_patterns : parts of the pattern, by name, for the check.
    check : whether a match is taken, of a PatternCheckContext.
    attrs_getter : attributes of the function, of the expressions of the annotated patterns.
    """

    name: str
    pattern: DFPattern
    annotation_patterns: Mapping[str, DFPattern] = field(default_factory=dict)
    check: Callable[[PatternCheckContext], bool] | None = None
    attrs_getter: Callable[[Mapping[str, GraphValue]], Attributes] | None = None

    def __post_init__(self) -> None:
        for what, function in (("check", self.check), ("attrs_getter", self.attrs_getter)):
            if function is not None:
                check_function(function, 1, f"{what} of pattern {self.name}", "lambda context: ...")
        parts = _parts_of(self.pattern)
        for name, part in self.annotation_patterns.items():
            if part not in parts:
                raise GraphError(
                    f"the annotated pattern {name!r} is not a part of the pattern of {self.name}",
                    f"it is {part}, made by a call of its own",
                    "give the same object to the pattern and to its annotations",
                )


def _parts_of(pattern: DFPattern) -> set[DFPattern]:
    """A pattern and the patterns in it."""
    parts: set[DFPattern] = set()
    open_ones = [pattern]
    while open_ones:
        part = open_ones.pop()
        if part not in parts:
            parts.add(part)
            open_ones += [*part.parts, *([part.reject] if isinstance(part, NotPattern) else [])]
    return parts


class FuseOpsByPattern(ModulePass):
    """The pass that puts what patterns match into functions with the attribute "Composite".

    Parameters
    ----------
    patterns : FusionPatterns, or tuples of their arguments; earlier ones come first.
    bind_constants : whether constants are part of the functions.
    annotate_codegen : whether each function is put into one with the attribute "Codegen", the
        library of the pattern, for `RunCodegen`.
    entry_functions : the functions in which patterns are searched; by default all.

    Raises
    ------
    GraphError if a value of a match is needed by what is computed between its parts.

    >>> from te_sched import relax
    >>> from te_sched.relax.dpl import is_op, wildcard
    >>> x = relax.Var("x", relax.TensorStructInfo([4], "float32"))
    >>> builder = relax.BlockBuilder()
    >>> with builder.function("main", [x]):
    ...     with builder.dataflow():
    ...         y = builder.emit_output(relax.op.exp(x))
    ...     gv = builder.emit_func_output(y)
    >>> exp = is_op("relax.exp")(wildcard())
    >>> module = FuseOpsByPattern([("mylib.exp", exp)])(builder.get())
    >>> dict(module["fused_relax_exp"].attrs)
    {'Composite': 'mylib.exp', 'Primitive': 1}
    """

    def __init__(
        self,
        patterns: Sequence[object],
        bind_constants: bool = True,
        annotate_codegen: bool = False,
        entry_functions: Sequence[str] | None = None,
    ) -> None:
        self.bind_constants = bind_constants
        self.annotate_codegen = annotate_codegen
        self.entry_functions = entry_functions
        self.known = [as_fusion_pattern(pattern) for pattern in patterns]

    def transform_module(self, mod: IRModule, *_: object) -> IRModule:
        _check_definitions(mod)
        entries = [str(name) for name in self.entry_functions or mod.functions]
        for pattern in self.known:
            mod = fuse_groups(mod, _Search(pattern, self.bind_constants).groups, entries)
        return _for_libraries(mod) if self.annotate_codegen else mod


def as_fusion_pattern(pattern: object) -> FusionPattern:
    """A pattern of a library, given as one or as a tuple of its arguments."""
    if isinstance(pattern, FusionPattern):
        return pattern
    if is_sequence(pattern) and 2 <= len(pattern) <= 5 and isinstance(pattern[1], DFPattern):
        return FusionPattern(*pattern)
    raise GraphError(
        f"{repr_of(pattern)} is not a pattern of a library",
        f"it is {kind_of(pattern)}",
        'give ("library.operator", pattern), or a FusionPattern',
    )


def _check_definitions(mod: IRModule) -> None:
    seen: dict[GraphVar, str] = {}
    for name, func in mod.functions.items():
        if not isinstance(func, GraphFunction):
            continue
        for var in (*func.params, *[binding.var for binding in bindings_of(func)]):
            if var in seen:
                raise RepeatedDefinitionError(
                    f"variable {var.name_hint} of function {name} is bound twice",
                    f"function {seen[var]} binds it, too",
                    "copy functions with relax.utils.copy_with_new_vars",
                )
            seen[var] = str(name)


class _Search:
    """Finds the groups of one pattern."""

    def __init__(self, pattern: FusionPattern, keeps_constants: bool) -> None:
        self._pattern = pattern
        self._keeps_constants = keeps_constants

    def groups(self, func: GraphFunction) -> Grouping:
        """The groups of a function; a larger match takes the place of one inside of it."""
        if any(name in func.attrs for name in (CODEGEN, COMPOSITE, PRIMITIVE)):
            return {}
        group_of: dict[GraphVar, Group] = {}
        for block in dataflow_blocks(func):
            group_of.update(self._of_block(block))
        return group_of

    def _of_block(self, block: DataflowBlock) -> Grouping:
        group_of: dict[GraphVar, Group] = {}
        values = {
            binding.var: binding.value
            for binding in block.bindings
            if isinstance(binding, VarBinding)
        }
        bound_values = BoundValues(values)
        variables = {id(value): var for var, value in values.items()}
        for var in values:
            match = next(self._pattern.pattern.search(var, {}, bound_values), None)
            if match is None:
                continue
            own = _own_variables(match, variables)
            inner = {group_of[var] for var in own if var in group_of}
            members = {var for var, group in group_of.items() if group in inner}
            if not own or not members <= own or not self._accepts(var, match, own, block, values):
                continue
            annotated = self._annotated(match)
            getter = self._pattern.attrs_getter
            attrs = {COMPOSITE: self._pattern.name, PRIMITIVE: 1}
            group = Group(
                attrs | dict(getter(annotated) if getter else {}), "", self._keeps_constants
            )
            group_of.update(dict.fromkeys(own, group))
        return group_of

    def _annotated(self, match: Match) -> dict[str, GraphValue]:
        return {
            name: match[pattern].value
            for name, pattern in (self._pattern.annotation_patterns or {}).items()
            if pattern in match
        }

    def _accepts(
        self,
        var: GraphVar,
        match: Match,
        own: set[GraphVar],
        block: DataflowBlock,
        values: Mapping[GraphVar, GraphValue],
    ) -> bool:
        """Whether the check of the pattern takes a match."""
        if self._pattern.check is None:
            return True
        usages: dict[GraphVar, list[GraphVar]] = {var: [] for var in own}
        for binding in block.bindings:
            for source in uses_of(binding):
                if source in usages and binding.var not in usages[source]:
                    usages[source].append(binding.var)
        context = PatternCheckContext(
            values[var],
            self._annotated(match),
            {var: values[var] for var in values if var in own},
            usages,
            {value: var for var, value in values.items()},
        )
        return bool(self._pattern.check(context))


def _own_variables(match: Match, variables: Mapping[int, GraphVar]) -> set[GraphVar]:
    """The variables of a block whose values a match consists of."""
    return {
        variables[id(hit.value)]
        for pattern, hit in match.items()
        if isinstance(pattern, DFPattern)
        and not isinstance(pattern, WildcardPattern)
        and isinstance(hit.value, GraphCall | TupleGetItem)
        and id(hit.value) in variables
    }


def _for_libraries(mod: IRModule) -> IRModule:
    """The module in which each function of a pattern is part of a function of its library."""
    names: dict[str, str] = {}
    functions: dict[str, GraphFunction] = {}
    for name in list(mod.functions):
        if is_composite(mod, name):
            library = library_of(mod, name)
            new = names[str(name)] = f"{name}_{library}"
            functions[new] = for_library(calling(mod, GlobalVar(name)), mod, library, new)
    return renamed_functions(mod, names, functions) if names else mod
