"""Common subexpression elimination (TVM's CommonSubexprElimTIR).

Before::

    C[i * 1024 + j] = C[i * 1024 + j] + A[i * 1024 + k]

After::

    cse_var_2 = i * 1024
    cse_var_1 = cse_var_2 + j
    C[cse_var_1] = C[cse_var_1] + A[cse_var_2 + k]

A program is divided into levels: the function, the bounds and the body of a loop, a condition and
each of its branches, the body of a let. A level counts the largest terms (expressions without loads
and calls) that it computes, and those that two inner levels of one statement both compute. Terms
are considered by decreasing size: a term that is counted twice, over defined variables, becomes a
variable of the level; any other term is counted once for each of its operands. The values of the
variables are counted again, until no term is counted twice. Threads are not defined by a statement,
so terms that read them get no variable, as in TVM.

Each level works on shared terms and their counts, never on the statements again.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable
from typing import Any

from te_sched.arith.analyzer import Analyzer
from te_sched.config import AS_TVM, Lowering
from te_sched.ir import expr as E
from te_sched.ir import stmt as S
from te_sched.ir.expr import Expr, Var
from te_sched.ir.stmt import PrimFunc, Stmt
from te_sched.ir.term_keys import term_key
from te_sched.ir.visitor import CHILD_FIELDS, Mapper, children, replace, variables_of, walk
from te_sched.lowering.statements import rebuilt
from te_sched.lowering.terms import TERM_KINDS, Renaming, Term, Terms

_NAME = "cse_var_"
# Statements whose children are levels of their own.
_BRANCHING = (S.For, S.IfThenElse, S.While)
_Counts = dict[Term, int]
_LetClass = Callable[[Var, Expr, Any], Any]
_Binding = tuple[Term, Term]  # the value and the variable


def eliminate_common_subexpressions(func: PrimFunc, settings: Lowering = AS_TVM) -> PrimFunc:
    """Bind expressions that are computed twice to variables."""
    levels = _Levels(func, settings)
    if not levels.may_repeat(func.body):
        return func
    return replace(func, body=levels.level(func.body, S.LetStmt))


def identify_equal_terms(func: PrimFunc, settings: Lowering = AS_TVM) -> PrimFunc:
    """The function with one form for terms that are simplified to the same: the largest of them.

    C[x * (y + z)] = x * y + x * z    ->    C[x * y + x * z] = x * y + x * z
    """
    analyzer = Analyzer(settings)
    terms = {term_key(node): node for node in walk(func.body) if type(node) in TERM_KINDS}
    groups: dict[Any, list[Any]] = {}
    for key, node in terms.items():
        groups.setdefault(term_key(analyzer.simplify(node)), []).append(key)
    forms: dict[Any, Expr] = {}
    for keys in groups.values():
        largest = max([terms[key] for key in keys], key=lambda node: sum(1 for _ in walk(node)))
        if len(keys) > 1:
            forms |= dict.fromkeys(keys, largest)
    return func.with_body(_Normalizer(forms).visit(func.body)) if forms else func


class _Normalizer(Mapper):
    """Replaces terms, the largest first; `forms` are the new terms by the keys of the old ones."""

    def __init__(self, forms: dict[Any, Expr]) -> None:
        self.forms = forms

    def visit_Expr(self, node: Expr) -> Expr:
        if type(node) not in TERM_KINDS:
            return self.generic(node)
        form = self.forms.get(term_key(node))
        return self.generic(node) if form is None else form


class _Levels(Mapper):
    """Visits the levels from the outside in. `defined` has the variables that may be read at the
    current place, `values` the terms that are values of variables of the program, `renaming` the
    replaced terms.
    """

    def __init__(self, func: PrimFunc, settings: Lowering) -> None:
        self.terms = Terms()
        self.tables = _Tables(self.terms)
        self.defined: set[Var] = set(func.params)
        if settings.to_run:
            for buffer in func.buffer_map.values():
                self.defined |= variables_of(*buffer.shape, *buffer.strides)
        self.values: dict[Term, Term] = {}
        self.renaming: Renaming | None = None
        self.created = 0

    def may_repeat(self, body: Stmt) -> bool:
        """Whether some term is used twice anywhere, or is the value of a variable and used."""
        self.tables.of(body)  # counts all levels
        return self.tables.has_let or any(
            term.is_candidate and term.uses > 1 for term in self.terms.shared.values()
        )

    def level(self, node: Any, let: _LetClass) -> Any:
        """A statement or an expression that is a level; `let` binds its variables."""
        outer = self.renaming
        counts = self.tables.of(node)
        if outer is not None and counts:
            counts = _mapped(counts, outer.apply)
        node = self._bind([], counts, node, let)
        self.renaming = outer
        return node

    def _bind(self, bindings: list[_Binding], counts: _Counts, node: Any, let: _LetClass) -> Any:
        """The node inside of bindings (innermost first) and of those that are found with them.
        Values that a statement binds are visited again at once; those that an expression binds,
        when they are reached.
        """
        is_again = bool(counts or bindings)
        while is_again:
            bindings, counts, is_again = self._name_terms(bindings, counts)
            is_again &= let is S.LetStmt
        if not bindings:
            return self.visit(node)
        if let is S.LetStmt and not self._has_more_inside(bindings, counts):
            variables: list[Any] = [variable.node for _, variable in bindings]
            self.defined.update(variables)
            node = self.visit(node)
            self.defined.difference_update(variables)
            for value, variable in bindings:
                node = let(variable.node, value.node, node)  # type: ignore[arg-type]
            return node
        value, variable = bindings[-1]
        renaming, self.renaming = self.renaming, None  # the value has all replacements already
        bound = self.level(value.node, E.Let)
        self.renaming = renaming
        self.defined.add(variable.node)  # type: ignore[arg-type]
        body = self._bind(bindings[:-1], counts, node, let)
        self.defined.discard(variable.node)
        return let(variable.node, bound, body)  # type: ignore[arg-type]

    def _name_terms(
        self, bindings: list[_Binding], counts: _Counts
    ) -> tuple[list[_Binding], _Counts, bool]:
        """Bind the terms counted twice in a body and its bindings; whether there were any."""
        chosen = self._choose(_with_values(bindings, counts))
        if not chosen:
            return bindings, counts, False
        created = []
        mapping = {}
        for term in chosen:
            if term not in self.values:
                created.append((term, self._new_variable(term.node.dtype)))
                mapping[term] = created[-1][1]
            else:
                mapping[term] = self.values[term]
        renaming = self.renaming = Renaming(self.terms, mapping, self.renaming)
        bindings = [(renaming.below(value), variable) for value, variable in bindings + created]
        return bindings, _mapped(counts, renaming.replace), bool(created)

    def _has_more_inside(self, bindings: list[_Binding], counts: _Counts) -> bool:
        """Whether a term is counted twice when the variables of the bindings are defined."""
        total = _with_values(bindings, counts)
        reach = self.defined.union([variable.node for _, variable in bindings])
        return bool(_decompose(total, lambda term, n: n > 1 and term.variables <= reach, list))

    def _choose(self, counts: _Counts) -> list[Term]:
        """The terms to replace by variables, in the order of the variables' numbers."""
        chosen = _decompose(counts, self._is_wanted, list)
        if len({term.size for term in chosen}) < len(chosen):  # then the order matters
            chosen = _decompose(counts, self._is_wanted, _by_text)
        return chosen

    def _is_wanted(self, term: Term, count: int) -> bool:
        return term in self.values or (count > 1 and term.variables <= self.defined)

    def _new_variable(self, dtype: str) -> Term:
        self.created += 1
        variable = self.terms.of(Var(f"{_NAME}{self.created}", dtype))
        assert variable is not None
        return variable

    def visit_Expr(self, node: Expr) -> Expr:
        term = self.terms.of(node) if type(node) in TERM_KINDS else None
        if term is None:
            return self.generic(node)
        if self.renaming is None:
            return node
        new = self.renaming.apply(term)
        return node if new is term else new.node

    def visit_branching(self, node: S.For | S.IfThenElse | S.While) -> Stmt:
        """A statement whose children are levels of their own."""
        own = {node.loop_var} if isinstance(node, S.For) else set()
        self.defined |= own
        new = rebuilt(
            node, lambda e: self.level(e, E.Let), lambda body: self.level(body, S.LetStmt)
        )
        self.defined -= own
        return new

    visit_For = visit_IfThenElse = visit_While = visit_branching

    def visit_let(self, node: Any) -> Any:
        """The statement or expression that binds a variable whose value may be replaced by it."""
        value = self.visit(node.value)
        held = self.terms.of(value)
        is_new = held is not None and held.is_candidate and held not in self.values
        self.defined.add(node.var)
        if is_new:
            self.values[held] = self.terms.of(node.var)  # type: ignore[index, assignment]
        body = self.level(node.body, type(node))
        if is_new:
            del self.values[held]  # type: ignore[arg-type]
        self.defined.discard(node.var)
        return replace(node, value=value, body=body)

    visit_LetStmt = visit_Let = visit_let

    def visit_BufferStore(self, node: S.BufferStore) -> S.BufferStore:
        if self.renaming is None and not self.tables.has_let:
            return node
        return self.generic(node)


class _Tables:
    """Counts the largest terms that a level is certain to compute. `has_let`: one binds inside."""

    def __init__(self, terms: Terms) -> None:
        self.terms = terms
        self.has_let = False
        self.known: dict[int, _Counts] = {}

    def of(self, node: Any) -> _Counts:
        """The counts of a level."""
        counts = self.known.get(id(node))
        if counts is None:
            counts = self.known[id(node)] = {}
            self._collect(node, counts)
        return counts

    def _collect(self, node: Any, counts: _Counts) -> None:
        kind = type(node)
        if kind in TERM_KINDS:
            term = self.terms.of(node)
            if term is not None:
                if term.parts:
                    _use(term)
                    _count(term, 1, counts)
                return
        if kind in _BRANCHING:
            self._collect_common(node, counts)
        elif kind is S.LetStmt or kind is E.Let:
            self.has_let |= kind is E.Let
            self._collect(node.value, counts)
            for term, count in self.of(node.body).items():
                counts[term] = counts.get(term, 0) + count
        else:
            for name in CHILD_FIELDS[kind]:
                below = getattr(node, name)
                if type(below) is tuple:
                    for child in below:
                        self._collect(child, counts)
                elif below is not None:
                    self._collect(below, counts)

    def _collect_common(self, node: Any, counts: _Counts) -> None:
        """The terms that at least two children of a node compute: each child may not be
        executed."""
        tables = [table for child in children(node) if (table := self.of(child))]
        if len(tables) < 2:
            return
        for term in {term: None for table in tables for term in table}:
            child_counts = [table[term] for table in tables if term in table]
            if len(child_counts) > 1:
                counts[term] = counts.get(term, 0) + sum(child_counts)


def _use(term: Term) -> None:
    """Count a use of a term that is not part of another one."""
    if term.is_candidate:
        term.uses += 1
    else:
        for part in term.parts:
            _use(part)


def _count(term: Term, count: int, counts: _Counts) -> None:
    """Count a term, or its subterms if it cannot be bound to a variable."""
    if term.is_candidate:
        counts[term] = counts.get(term, 0) + count
    else:
        for part in term.parts:
            _count(part, count, counts)


def _with_values(bindings: list[_Binding], counts: _Counts) -> _Counts:
    """The counts of a body and of the values bound for it."""
    total = dict(counts)
    for value, _ in bindings:
        _count(value, 1, total)
    return total


def _mapped(counts: _Counts, change: Callable[[Term], Term]) -> _Counts:
    """The counts of changed terms."""
    result: _Counts = {}
    for term, count in counts.items():
        _count(change(term), count, result)
    return result


def _by_text(terms: Iterable[Term]) -> Iterable[Term]:
    return sorted(terms, key=lambda term: term.text)


def _decompose(
    counts: _Counts,
    is_wanted: Callable[[Term, int], bool],
    ordered: Callable[[list[Term]], Iterable[Term]],
) -> list[Term]:
    """The wanted terms by decreasing size; any other term is counted once for each of its operands.
    Terms of equal size are in the given order, those that are part of larger terms last.
    """
    by_size: dict[int, list[Term]] = {}
    for term in counts:
        by_size.setdefault(term.size, []).append(term)
    by_size = {size: list(ordered(terms)) for size, terms in by_size.items()}
    left = [-size for size in by_size]
    heapq.heapify(left)
    counts = dict(counts)
    wanted = []
    while left:
        for term in by_size[-heapq.heappop(left)]:
            count = counts[term]
            if is_wanted(term, count):
                wanted.append(term)
                continue
            inner: _Counts = {}
            for part in term.parts:
                _count(part, 1, inner)
            for part, more in inner.items():
                if part in counts:
                    counts[part] += more
                    continue
                counts[part] = more
                if part.size not in by_size:
                    by_size[part.size] = []
                    heapq.heappush(left, -part.size)
                by_size[part.size].append(part)
    return wanted
