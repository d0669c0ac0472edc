"""Terms: expressions without loads and calls, shared by structure.

Equal expressions become one Term, so that counting and replacing them costs one dictionary access.
Owns the size of a term and the text that breaks ties in the naming of common sub-expressions. Must
not know statements, nor which terms are worth a variable.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from te_sched.ir import expr as E
from te_sched.ir.expr import Expr, Var
from te_sched.ir.term_keys import own_key
from te_sched.ir.visitor import CHILD_FIELDS, INIT_FIELDS


class Term:
    """One expression for all structurally equal nodes. Equality is identity. `size` is the number
    of its nodes, `uses` are the terms that it is part of. `is_candidate` is whether it may be bound
    to a variable: not variables, constants, ramps and broadcasts.
    """

    __slots__ = ("_text", "_variables", "is_candidate", "node", "parts", "size", "uses")

    def __init__(self, node: Expr, parts: tuple[Term, ...]) -> None:
        self.node = node
        self.parts = parts
        self.size = 1
        for part in parts:
            self.size += part.size
        self.is_candidate = bool(parts) and type(node) not in (E.Ramp, E.Broadcast)
        self.uses = 0
        self._text: str | None = None
        self._variables: frozenset[Var] | None = None

    @property
    def variables(self) -> frozenset[Var]:
        """The variables it reads."""
        if self._variables is None:
            own = (self.node,) if type(self.node) is Var else ()
            self._variables = frozenset(own).union(*[part.variables for part in self.parts])
        return self._variables

    @property
    def text(self) -> str:
        """The text by which terms of one size are ordered."""
        if self._text is None:
            self._text = _TEXTS[type(self.node)](self.node, [part.text for part in self.parts])
        return self._text


class Terms:
    """The terms of one function."""

    def __init__(self) -> None:
        # The nodes are kept alive by the function and by the terms, so their ids are theirs alone.
        self.known: dict[int, Term | None] = {}
        self.shared: dict[tuple[Any, ...], Term] = {}

    def of(self, expr: Any) -> Term | None:
        """The term of an expression; None where it loads, calls or binds something."""
        terms = self.known
        address = id(expr)
        if address in terms:
            return terms[address]
        kind = type(expr)
        if kind in _BINARY:
            a = self.of(expr.a)
            b = self.of(expr.b) if a is not None else None
            term = None if a is None or b is None else self._share((kind, a, b), expr, (a, b))
        elif kind in _LEAVES:
            term = self._share(own_key(expr), expr, ())
        elif kind in _PARTS:
            term = self._inner(expr, kind)
        else:
            term = None
        terms[address] = term
        return term

    def _inner(self, expr: Any, kind: type) -> Term | None:
        parts = []
        for name in CHILD_FIELDS[kind]:
            part = self.of(getattr(expr, name))
            if part is None:
                return None
            parts.append(part)
        return self._share((*own_key(expr), *parts), expr, tuple(parts))

    def _share(self, key: tuple[Any, ...], node: Expr, parts: tuple[Term, ...]) -> Term:
        term = self.shared.get(key)
        if term is None:
            term = self.shared[key] = self.known[id(node)] = Term(node, parts)
            for part in parts:
                part.uses += 1
        return term

    def rebuild(self, term: Term, parts: tuple[Term, ...]) -> Term:
        """The term with other parts."""
        kind: Any = type(term.node)
        fields, extra = _PARTS[kind]
        values = dict(zip(fields, [part.node for part in parts], strict=True))
        if extra:
            values[extra] = getattr(term.node, extra)
        rebuilt = self._inner(kind(**values), kind)
        assert rebuilt is not None
        return rebuilt


class Renaming:
    """Replaces terms by variables, after the replacements of an outer Renaming."""

    def __init__(self, terms: Terms, mapping: Mapping[Term, Term], outer: Renaming | None) -> None:
        self.terms = terms
        self.mapping = mapping
        self.outer = outer
        self.inner: dict[Term, Term] = {}
        self.total: dict[Term, Term] = {}

    def apply(self, term: Term) -> Term:
        """The term with everything replaced, by the outer renamings first."""
        result = self.total.get(term)
        if result is None:
            result = self.replace(term if self.outer is None else self.outer.apply(term))
            self.total[term] = result
        return result

    def replace(self, term: Term) -> Term:
        """The term with everything replaced by this renaming alone."""
        result = self.mapping.get(term)
        if result is not None:
            return result
        return self.below(term)

    def below(self, term: Term) -> Term:
        """The term with its parts replaced by this renaming alone, but not the term itself."""
        if not term.parts:
            return term
        result = self.inner.get(term)
        if result is None:
            parts = tuple([self.replace(part) for part in term.parts])
            changed = any(new is not old for new, old in zip(parts, term.parts, strict=True))
            result = self.terms.rebuild(term, parts) if changed else term
            self.inner[term] = result
        return result


_BINARY = {
    *(E.Add, E.Sub, E.Mul, E.Div, E.Mod, E.FloorDiv, E.FloorMod, E.Min, E.Max),
    *(E.EQ, E.NE, E.LT, E.LE, E.GT, E.GE, E.And, E.Or),
}
_LEAVES = {Var, E.IntImm, E.FloatImm, E.StringImm}
# The fields that hold expressions, and the one that does not.
_PARTS: dict[type, tuple[tuple[str, ...], str]] = {
    kind: (CHILD_FIELDS[kind], next((f for f in INIT_FIELDS[kind] if f in ("dtype", "lanes")), ""))
    for kind in (*_BINARY, E.Not, E.Cast, E.Select, E.Ramp, E.Broadcast)
}

TERM_KINDS = frozenset([*_PARTS, *_LEAVES])


def _infix(sign: str) -> Callable[[Any, list[str]], str]:
    return lambda node, parts: f"({parts[0]}{sign}{parts[1]})"


def _function(name: str) -> Callable[[Any, list[str]], str]:
    return lambda node, parts: f"{name}({', '.join(parts)})"


def _integer(node: Any, parts: list[str]) -> str:
    return str(node.value) if node.dtype == "int32" else f"({node.dtype}){node.value}"


_FLOAT_SUFFIX = {"float32": "f", "float16": "h"}

_TEXTS: dict[type, Callable[[Any, list[str]], str]] = {
    Var: lambda node, parts: node.name,
    E.IntImm: _integer,
    E.FloatImm: lambda node, parts: f"{node.value:g}{_FLOAT_SUFFIX.get(node.dtype, '')}",
    E.StringImm: lambda node, parts: f'"{node.value}"',
    E.Cast: lambda node, parts: f"{node.dtype}({parts[0]})",
    E.Add: _infix(" + "),
    E.Sub: _infix(" - "),
    E.Mul: _infix("*"),
    E.Div: _infix("/"),
    E.Mod: _infix(" % "),
    E.FloorDiv: _function("floordiv"),
    E.FloorMod: _function("floormod"),
    E.Min: _function("min"),
    E.Max: _function("max"),
    E.EQ: _infix(" == "),
    E.NE: _infix(" != "),
    E.LT: _infix(" < "),
    E.LE: _infix(" <= "),
    E.GT: _infix(" > "),
    E.GE: _infix(" >= "),
    E.And: _infix(" && "),
    E.Or: _infix(" || "),
    E.Not: lambda node, parts: f"!{parts[0]}",
    E.Select: _function("select"),
    E.Ramp: lambda node, parts: f"ramp({parts[0]}, {parts[1]}, {node.lanes})",
    E.Broadcast: lambda node, parts: f"x{node.lanes}({parts[0]})",
}
