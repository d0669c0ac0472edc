"""Rewriting of functions by patterns.

    rewrite_call(pattern, rewriter, func)       a value, by `rewriter(expr, matches)`
    rewrite_bindings(context, rewriter, func)   several variables of a block at once
    PatternMatchingRewriter                     rules that can be combined, and used as a pass

A rule is applied until nothing changes: in between, values that are computed twice are computed
once, elements of known tuples are replaced, and unused bindings are removed. A match never spans a
call with effects.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from te_sched.errors import GraphError, kind_of
from te_sched.errors import RewriterError as RewriterError
from te_sched.ir.expr import Expr, Var
from te_sched.ir.graph import (
    Binding,
    BindingBlock,
    DataflowBlock,
    DataflowVar,
    GraphCall,
    GraphExpr,
    GraphFunction,
    GraphValue,
    GraphVar,
    MatchCast,
    PrimValue,
    SeqExpr,
    Tuple,
    TupleGetItem,
    VarBinding,
)
from te_sched.ir.printer.names import UniqueNames
from te_sched.ir.stmt import GlobalVar, IRModule
from te_sched.ir.struct_info import FuncStructInfo, ObjectStructInfo, ShapeExpr
from te_sched.ir.structural import structural_equal
from te_sched.ir.visitor import replace, substitute
from te_sched.passes import ModulePass
from te_sched.relax.analysis.purity import contains_impure_call
from te_sched.relax.analysis.unused import remove_all_unused
from te_sched.relax.analysis.variables import all_global_vars, bindings_of, nodes_of, uses_of
from te_sched.relax.block_builder import BlockBuilder
from te_sched.relax.core.sizes import bind_sizes, bound_sizes
from te_sched.relax.core.substitution import Substitution
from te_sched.relax.dpl.context import PatternContext, variables_of_match
from te_sched.relax.dpl.pattern import (
    BoundValues,
    CallPattern,
    DFPattern,
    ExprPattern,
    Match,
    Matches,
    TupleGetItemPattern,
    TuplePattern,
    expressions_of,
    wildcard,
)
from te_sched.relax.expr_functor import PyExprMutator, map_function, map_sequence
from te_sched.relax.transform.canonicalize_bindings import canonical_bindings
from te_sched.relax.transform.eliminate_common_subexpr import EliminateCommonSubexpr
from te_sched.signatures import check_function

MAX_PASSES = 1000
# What makes a new value, of an expression that a pattern matches and the values of its parts.
Rewriter = Callable[[Any, Matches], GraphExpr]


# What makes new values of variables, of a match and the values of all variables.
BindingsRewriter = Callable[[Matches, dict[GraphVar, GraphValue]], Mapping[GraphVar, GraphValue]]


def rewrite_call(pattern: DFPattern, rewriter: Rewriter, func: GraphFunction) -> GraphFunction:
    """The function with another value wherever a pattern matches.

    Parameters
    ----------
    rewriter : a function (expression, what each pattern matched) -> new expression. If it returns
        the expression itself, the next match is tried.

    >>> from te_sched import relax
    >>> from te_sched.relax.dpl import is_op, wildcard
    >>> x = relax.Var("x", relax.TensorStructInfo([4], "float32"))
    >>> func = relax.Function([x], relax.op.add(x, x))
    >>> term = wildcard()
    >>> def double(expr, matches):
    ...     return relax.op.multiply(matches[term], relax.const(2.0))
    >>> builder = relax.BlockBuilder()
    >>> with builder.function("main", [x]):
    ...     name = builder.emit_func_output(builder.emit(relax.op.add(x, x)))
    >>> func = rewrite_call(is_op("relax.add")(term, term), double, builder.get()["main"])
    >>> func.body.blocks[0].bindings[0].value.op
    'relax.multiply'
    """
    result: GraphFunction = PatternMatchingRewriter.from_pattern(pattern, rewriter)(func)
    return result


def rewrite_bindings(
    ctx: PatternContext,
    rewriter: BindingsRewriter,
    func: GraphFunction,
) -> GraphFunction:
    """The function with other values for variables, wherever the patterns of a context match.

    Parameters
    ----------
    rewriter : a function (what each pattern matched, the values of variables) -> the new values by
        variable. If it returns none, the next match is tried.
    """
    check_function(rewriter, 2, "rewrite_bindings", "lambda matches, bindings: {}")
    return _Blocks(ctx, rewriter).rewrite(func)


# Rules


@dataclass(frozen=True)
class _Rule:
    """A pattern, and what makes the new value: of the expression and the match."""

    pattern: DFPattern
    make: Callable[[GraphValue, Match, _OnePass], GraphExpr]


class PatternMatchingRewriter(ModulePass):
    """Rules that rewrite functions and modules; `a | b` tries the rules of a, then those of b.

    `from_pattern` makes one of a pattern and a function of Python, `from_module` of the functions
    "pattern" and "replacement" of a module (`R.rewriter`).
    """

    def __init__(self, rules: Sequence[_Rule]) -> None:
        self._rules = tuple(rules)

    @staticmethod
    def from_pattern(pattern: DFPattern, func: Rewriter) -> PatternMatchingRewriter:
        """The rewriter of one pattern, by a function (expression, matches) -> new expression."""
        check_function(func, 2, "rewrite_call", "lambda expr, matches: expr")

        def make(expr: GraphValue, match: Match, run: _OnePass) -> GraphExpr:
            new = func(expr, expressions_of(match))
            return new if new is expr else run.renamed(new)

        return PatternMatchingRewriter([_Rule(pattern, make)])

    @staticmethod
    def from_module(mod: IRModule) -> PatternMatchingRewriter:
        """The rewriter of a module: what matches its function "pattern" becomes "replacement".

        Other functions of the module are added where the replacement calls them.

        Raises
        ------
        RewriterError without these functions, and if their signatures differ.
        """
        return PatternMatchingRewriter([_rule_of(mod)])

    def __or__(self, other: PatternMatchingRewriter) -> PatternMatchingRewriter:
        return PatternMatchingRewriter([*self._rules, *other._rules])

    def run_on_other(self, other: object) -> Any:
        """The rewritten function."""
        if isinstance(other, GraphFunction):
            return _Rewriting(self._rules, IRModule({})).rewrite(other)
        return super().run_on_other(other)

    def transform_module(self, mod: IRModule, *_: object) -> IRModule:
        """The module with rewritten functions, and the functions that they call."""
        rewriting = _Rewriting(self._rules, mod)
        changed = {
            name: rewriting.rewrite(func)
            for name, func in mod.functions.items()
            if isinstance(func, GraphFunction)
        }
        return replace(mod, functions={**mod.functions, **changed, **rewriting.added})


class _Rewriting:
    """Applies rules to the functions of a module."""

    def __init__(self, rules: Sequence[_Rule], mod: IRModule) -> None:
        self.rules = rules
        self.added: dict[str, object] = {}
        self._names = UniqueNames(tuple(str(name) for name in mod.functions))
        self._known: dict[int, GlobalVar] = {}

    def rewrite(self, func: GraphFunction) -> GraphFunction:
        """The function when no rule changes it any more.

        As in TVM, bindings that are not used are removed unless all are in dataflow blocks.
        """
        for _ in range(MAX_PASSES):
            new = _OnePass(self, func).rewritten()
            if new is func:
                new = _OnePass(self, func, looks_for_tuples=True).rewritten()
            if new is func or structural_equal(new, func):
                blocks = [node for node in nodes_of(func) if isinstance(node, BindingBlock)]
                is_dataflow = all(isinstance(block, DataflowBlock) for block in blocks)
                return func if is_dataflow else simplified(func)
            func = simplified(new)
        raise GraphError(
            f"function {func.__name__} is rewritten without end",
            f"it still changes after {MAX_PASSES} passes",
            "return the expression itself where there is nothing to do",
        )

    def subroutine(self, name: str, func: GraphFunction) -> GlobalVar:
        """The name under which a function of a rule is in the module."""
        key = id(func)
        if key not in self._known:
            taken = self._known[key] = GlobalVar(self._names.take(name))
            taken.struct_info_ = func.struct_info
            self.added[str(taken)] = func
        return self._known[key]


def simplified(func: GraphFunction) -> GraphFunction:
    """A function without the repeated values and unused bindings that rewriting leaves."""
    shared = EliminateCommonSubexpr().transform_function(func)
    result: GraphFunction = remove_all_unused(canonical_bindings(shared))
    return result if structural_equal(result, func) else simplified(result)


class _OnePass(PyExprMutator):
    """Applies the rules once to each value of a function, or to a tuple that is not written."""

    def __init__(
        self, rewriting: _Rewriting, func: GraphFunction, looks_for_tuples: bool = False
    ) -> None:
        super().__init__()
        self._rewriting, self._func = rewriting, func
        self._values: dict[GraphVar, GraphValue] = {}  # since the last call with effects
        self._changed = False
        self._rules = () if looks_for_tuples else rewriting.rules
        self._implicit = [
            rule
            for rule in rewriting.rules
            if looks_for_tuples and isinstance(rule.pattern, TuplePattern)
        ]

    def rewritten(self) -> GraphFunction:
        """The function; the same object if no rule applies."""
        result = self.visit_expr(self._func)
        return result if self._changed else self._func

    def visit_function_(self, op: GraphFunction) -> GraphExpr:
        """A function, with matches of its own."""
        around, self._values = self._values, dict(self._values)
        result = map_function(self, op)
        self._values = around
        return result

    def visit_var_binding_(self, binding: VarBinding) -> None:
        """A binding, with the new value that a rule makes."""
        value = binding.value
        new = self._replaced(value)
        if new is None:
            super().visit_var_binding_(binding)
        else:
            self.reemit_binding(binding, self.builder_.normalize(flattened(new, self.builder_)))
        if contains_impure_call(value):
            self._values.clear()
        else:
            self._values[binding.var] = value

    def visit_seq_expr_(self, op: SeqExpr) -> GraphExpr:
        """Blocks and a result, which may be a tuple that a rule replaces."""
        sequence = map_sequence(self, op)
        if not isinstance(op.body, Tuple) or not isinstance(sequence, SeqExpr):
            return sequence
        self.builder_._begin_binding_block()
        new = self._replaced(op.body)
        flat = None if new is None else flattened(new, self.builder_)
        result = None if flat is None else self.builder_.normalize_argument(flat)
        block = self.builder_._end_block()
        blocks = (*sequence.blocks, block) if block.bindings else sequence.blocks
        return sequence if result is None else SeqExpr(blocks, result)

    def _replaced(self, value: GraphValue) -> GraphExpr | None:
        """The new value by the first rule that makes one; None without."""
        if isinstance(value, GraphVar):
            return None
        values = BoundValues(self._values)
        for rule in self._rules:
            for match in rule.pattern.search(value, {}, values):
                new = rule.make(value, match, self)
                if new is not value:
                    self._changed = True
                    return new
        return None

    def renamed(self, value: GraphExpr) -> GraphExpr:
        """A value with the variables that stand for others by now."""
        return _GraphRenamer(self._renamed, {}).visit_expr(value)

    def subroutine(self, name: str, func: GraphFunction) -> GlobalVar:
        """The name of a function of a rule in the module."""
        return self._rewriting.subroutine(name, func)

    # Tuples that are written nowhere: their elements are replaced

    def visit_binding_block_(self, block: BindingBlock) -> BindingBlock:
        """A block, in which elements of tuples that a rule matches are replaced."""
        self.builder_._begin_binding_block()
        return self._with_tuples(block)

    def visit_dataflow_block_(self, block: DataflowBlock) -> BindingBlock:
        """A block, in which elements of tuples that a rule matches are replaced."""
        self.builder_._begin_dataflow_block()
        return self._with_tuples(block)

    def _with_tuples(self, block: BindingBlock) -> BindingBlock:
        try:
            for index, binding in enumerate(block.bindings):
                self.visit_binding(binding)
                if self._implicit and not self._changed:
                    self._replace_elements(block, index)
        finally:
            new_block = self.builder_._end_block()
        is_same = len(new_block.bindings) == len(block.bindings) and all(
            new_binding is other
            for new_binding, other in zip(new_block.bindings, block.bindings, strict=True)
        )
        return block if is_same else new_block

    def _replace_elements(self, block: BindingBlock, index: int) -> None:
        """Replace variables that are the elements of a tuple from the binding at `index` on."""
        order = {binding.var: at for at, binding in enumerate(block.bindings[: index + 1])}
        early = {var for binding in block.bindings[: index + 1] for var in uses_of(binding)}
        candidates = [var for var in order if var in self._values and var not in early]
        last = block.bindings[index].var
        if last not in candidates:
            return
        values = BoundValues(self._values)
        for rule in self._implicit:
            assert isinstance(rule.pattern, TuplePattern)
            for elements, match in _assigned(rule.pattern.fields, candidates, {}, values):
                if last not in elements:
                    continue
                expr = Tuple(tuple(elements))
                new = rule.make(expr, match, self)
                if new is expr:
                    continue
                self._changed = True
                whole = self.builder_.emit(flattened(new, self.builder_))
                for var in sorted(elements, key=order.__getitem__):
                    item = TupleGetItem(whole, elements.index(var))
                    self.set_var_remap(var, self._emitted(item, var))
                return

    def _emitted(self, item: TupleGetItem, var: GraphVar) -> GraphVar:
        is_inside = isinstance(var, DataflowVar) or not self.builder_.current_block_is_dataflow()
        return self.builder_.emit(item) if is_inside else self.builder_.emit_output(item)


def _assigned(
    patterns: Sequence[DFPattern], candidates: Sequence[GraphVar], match: Match, values: BoundValues
) -> Iterator[tuple[list[GraphVar], Match]]:
    """All choices of different variables, one for each pattern, that match together."""
    if not patterns:
        yield [], match
        return
    for var in candidates:
        for submatch in patterns[0].search(var, match, values):
            rest = [candidate for candidate in candidates if candidate is not var]
            for others, last in _assigned(patterns[1:], rest, submatch, values):
                yield [var, *others], last


class _GraphRenamer(Substitution):
    """Renames variables of a graph, functions and variables of sizes."""

    def __init__(
        self,
        variables: Mapping[GraphVar, GraphExpr],
        functions: Mapping[str, GlobalVar],
        sizes: Mapping[Var, Expr] | None = None,
    ) -> None:
        super().__init__(variables, sizes)
        self._functions = functions

    def visit_global_var_(self, op: GlobalVar) -> GraphValue:
        """The name of a function."""
        return self._functions.get(str(op), op)


# Expressions by their identity, and the variables that they are bound to.
BoundExpressions = dict[int, tuple[GraphValue, GraphVar]]


def flattened(
    expr: GraphValue, builder: BlockBuilder, bound_exprs: BoundExpressions | None = None
) -> GraphValue:
    """An expression of which the arguments are bound; one that stands twice is bound once."""
    bound_exprs = {} if bound_exprs is None else bound_exprs

    def argument(value: GraphExpr) -> GraphExpr:
        if isinstance(value, Tuple):
            return Tuple(tuple([argument(field) for field in value.fields]))
        if not isinstance(value, GraphCall | TupleGetItem):
            return value
        if id(value) not in bound_exprs:
            bound_exprs[id(value)] = (value, builder.emit(flattened(value, builder, bound_exprs)))
        return bound_exprs[id(value)][1]

    if isinstance(expr, Tuple):
        return argument(expr)
    if isinstance(expr, TupleGetItem):
        return TupleGetItem(argument(expr.tuple_value), expr.index)
    if isinstance(expr, GraphCall):
        args = tuple([argument(arg) for arg in expr.args])
        is_same = all(new_arg is other for new_arg, other in zip(args, expr.args, strict=True))
        return expr if is_same else GraphCall(expr.op, args, expr.attrs, expr.sinfo_args)
    return expr


# Rules that are written as functions


def _rule_of(mod: IRModule) -> _Rule:
    pattern, replacement = [_function_of(mod, name) for name in ("pattern", "replacement")]
    if not structural_equal(_signature(pattern), _signature(replacement)):
        raise RewriterError(
            "pattern and replacement must have the same signature",
            f"they are {_signature(pattern)} and {_signature(replacement)}",
            "give both the same parameters, and results of the same struct info",
        )
    subroutines = {
        str(name): func
        for name, func in mod.functions.items()
        if name not in ("pattern", "replacement")
    }
    for name, func in subroutines.items():
        if "global_symbol" in func.attrs:
            raise RewriterError(
                f"function {name} of a rewriter is publicly exposed",
                "a rewriter adds private functions only",
                "write @R.function(private=True)",
            )
    params, df_pattern = _pattern_of(pattern)

    def make(expr: GraphValue, match: Match, run: _OnePass) -> GraphExpr:
        del expr
        args = [run.renamed(match[param].given) for param in params]
        return _instance(replacement, args, subroutines, run)

    return _Rule(df_pattern, make)


def _function_of(mod: IRModule, name: str) -> GraphFunction:
    func = mod.functions.get(name)
    if func is None:
        raise RewriterError(
            f"a rewriter has no function {name}",
            f"it has {', '.join(mod.functions) or 'none'}",
            "write functions of graphs named pattern and replacement",
        )
    if not isinstance(func, GraphFunction):
        raise RewriterError(
            f"function {name} of a rewriter is {kind_of(func)}",
            "",
            "write it with @R.function",
        )
    return func


def _signature(func: GraphFunction) -> FuncStructInfo:
    """What a function takes; the result may be known better for one than for the other."""
    infos = tuple([param.struct_info for param in func.params])
    return FuncStructInfo(infos, ObjectStructInfo())


def _pattern_of(func: GraphFunction) -> tuple[list[DFPattern], DFPattern]:
    """The patterns of the parameters of a function, and of its result."""
    patterns: dict[GraphVar, DFPattern] = {
        param: wildcard().has_struct_info(param.struct_info) for param in func.params
    }
    params = [patterns[param] for param in func.params]

    def pattern_of(value: GraphValue) -> DFPattern:
        if isinstance(value, GraphVar):
            return patterns[value]
        if isinstance(value, Tuple):
            return TuplePattern([pattern_of(field) for field in value.fields])
        if isinstance(value, TupleGetItem):
            return TupleGetItemPattern(pattern_of(value.tuple_value), value.index)
        if isinstance(value, PrimValue | ShapeExpr):
            return wildcard().has_struct_info(value.struct_info)
        if isinstance(value, GraphCall):
            call_pattern: DFPattern = CallPattern(
                pattern_of(value.op), [pattern_of(arg) for arg in value.args]
            )
            return call_pattern.has_attr(value.attrs) if value.attrs else call_pattern
        return ExprPattern(value)

    body = func.body
    for binding in bindings_of(func.body):
        patterns[binding.var] = pattern_of(binding.value)
    return params, pattern_of(body.body)


def _instance(
    func: GraphFunction,
    args: Sequence[GraphExpr],
    subroutines: Mapping[str, GraphFunction],
    run: _OnePass,
) -> GraphExpr:
    """The result of a function for arguments; its bindings are emitted."""
    sizes: dict[Var, Expr] = {}
    for param, value in zip(func.params, args, strict=True):
        bind_sizes(param.struct_info, value.struct_info, sizes)
    names = {
        str(global_var): run.subroutine(str(global_var), subroutines[str(global_var)])
        for global_var in all_global_vars(func)
        if str(global_var) in subroutines
    }
    renamer = _GraphRenamer(dict(zip(func.params, args, strict=True)), names, sizes)
    builder = run.builder_
    for binding in bindings_of(func.body):
        new = renamer.visit_expr(binding.value)
        if isinstance(binding, MatchCast):
            info = binding.struct_info
            own = [size for size in bound_sizes(info) if size not in renamer.sizes]
            renamer.sizes |= {size: Var(size.name, size.dtype) for size in own}
            new_var = builder.match_cast(new, substitute(info, renamer.sizes))
        else:
            new_var = builder.emit(new)
        renamer.set_var_remap(binding.var, new_var)
    result: GraphExpr = func.body.body
    return renamer.visit_expr(result)


# Several bindings at once


class _Blocks(PyExprMutator):
    """Gives variables of dataflow blocks new values."""

    def __init__(self, ctx: PatternContext, rewriter: BindingsRewriter) -> None:
        super().__init__()
        self._context, self._rewriter = ctx, rewriter

    def rewrite(self, func: GraphFunction) -> GraphFunction:
        """The function without what is not used any more."""
        self._changed = False
        new = self.visit_expr(func)
        return remove_all_unused(new) if self._changed else func

    def visit_dataflow_block_(self, block: DataflowBlock) -> BindingBlock:
        """The block when no match gives a new value any more."""
        bindings = list(block.bindings)
        for _ in range(MAX_PASSES):
            new = self._new_values(bindings)
            if not new:
                break
            self._changed = True
            bindings = with_new_values(bindings, new, self.builder_)
        else:
            raise GraphError(
                "the bindings of a block are rewritten without end",
                f"they still match after {MAX_PASSES} rewritings",
                "return {} where there is nothing to do",
            )
        return (
            block
            if len(bindings) == len(block.bindings)
            and all(
                new_binding is other
                for new_binding, other in zip(bindings, block.bindings, strict=True)
            )
            else DataflowBlock(tuple(bindings))
        )

    def _new_values(self, bindings: list[Binding]) -> Mapping[GraphVar, GraphValue]:
        values = {
            binding.var: binding.value for binding in bindings if isinstance(binding, VarBinding)
        }
        for match in self._context.matches(bindings):
            new: Mapping[GraphVar, GraphValue] = self._rewriter(variables_of_match(match), values)
            if new:
                return new
        return {}


def with_new_values(
    bindings: Sequence[Binding], new: Mapping[GraphVar, GraphValue], builder: BlockBuilder
) -> list[Binding]:
    """The bindings of a dataflow block with new values, each after those that it uses."""
    builder._begin_dataflow_block()
    by_var = {binding.var: binding for binding in bindings}
    done: set[GraphVar] = set()
    bound_exprs: BoundExpressions = {}

    def emit(binding: Binding) -> None:
        if binding.var in done:
            return
        done.add(binding.var)
        value = new.get(binding.var)
        for var in uses_of(binding if value is None else value):
            if var in by_var:
                emit(by_var[var])
        if value is None:
            builder.emit_normalized(binding)
            return
        value = builder.normalize(flattened(value, builder, bound_exprs))
        builder.emit_normalized(VarBinding(binding.var, value))

    for old_binding in bindings:
        emit(old_binding)
    return list(builder._end_block().bindings)
