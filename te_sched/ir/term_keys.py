"""The identity of terms: which expressions are the same, with variables and buffers by identity.

A term is its own values and its parts. `own_key` is a hashable value for the first, for tables in
which equal terms are one; `term_key` for both; `same` compares two terms without making keys. 0.0,
-0.0 and NaNs of different bits differ, and so do dtypes. Equality up to the names of what a program
defines is another notion (`ir.structural`). Must not know the meaning of expressions.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Hashable, Sequence
from operator import attrgetter
from typing import Any

from te_sched.ir.expr import Expr, FloatImm, IntImm, Node, StringImm, Var
from te_sched.ir.roles import Role
from te_sched.ir.visitor import CHILD_FIELDS, FIELD_ROLES, INIT_FIELDS

_Key = Callable[[Any], Hashable]
_bits_of = struct.Struct("<d").pack


def all_same(a: Sequence[object], b: Sequence[object]) -> bool:
    """Whether two sequences of expressions are the same terms."""
    return len(a) == len(b) and all(map(same, a, b))


def same(a: Any, b: Any) -> bool:
    """Whether two expressions are the same term: whether their keys are equal.

    >>> x = te.var("x")
    >>> same(x + 1, x + 1), same(x + 1, te.var("x") + 1)
    (True, False)
    """
    if a is b:
        return True
    kind = type(a)
    if kind is not type(b) or kind is Var:
        return False
    if kind in _IMMEDIATES:
        return bool(a.value == b.value and a.dtype == b.dtype)
    own = _OWN[kind]
    if own is not None and own(a) != own(b):
        return False
    for name in CHILD_FIELDS[kind]:
        mine, other = getattr(a, name), getattr(b, name)
        if type(mine) is tuple:
            if not all_same(mine, other):
                return False
        elif not same(mine, other):
            return False
    return True


def own_key(node: Node) -> tuple[object, ...]:
    """A hashable value for what a node has besides its parts, and for its class.

    Variables and buffers count by identity, so a key is valid while the expression exists.
    """
    kind = type(node)
    own = _OWN[kind]
    return (kind,) if own is None else (kind, own(node))


def term_key(expr: Expr) -> Hashable:
    """A hashable value, equal for the same terms. It is valid while the expression exists."""
    return _KEYS[type(expr)](expr)


_IMMEDIATES = frozenset((IntImm, StringImm))  # compared without keys, as they are compared most


def _own(value: object) -> object:
    if isinstance(value, tuple):
        return tuple(map(_own, value))
    return id(value) if isinstance(value, Node) else value


def _own_values(kind: type) -> _Key | None:
    """The function that returns the own values of a class of nodes; None if it has none."""
    names = [name for name in INIT_FIELDS[kind] if name not in CHILD_FIELDS[kind]]
    if not names:
        return None
    values = attrgetter(*names)
    if all(FIELD_ROLES[kind][name] is Role.VALUE for name in names):
        return values
    return lambda node: _own(values(node))


_OWN: dict[type, _Key | None] = {kind: _own_values(kind) for kind in INIT_FIELDS}
_OWN[Var] = id
_OWN[FloatImm] = lambda node: (_bits_of(node.value), node.dtype)


def _key_of(part: Any) -> Hashable:
    if type(part) is tuple:
        return tuple(map(_key_of, part))
    return None if part is None else _KEYS[type(part)](part)


def _key_with_parts(kind: type) -> _Key:
    """The function that makes the keys of a class of nodes."""
    names = CHILD_FIELDS[kind]
    if not names:
        return own_key
    if _OWN[kind] is None and names == ("a", "b"):
        return lambda node: (kind, _KEYS[type(node.a)](node.a), _KEYS[type(node.b)](node.b))
    return lambda node: (*own_key(node), *[_key_of(getattr(node, name)) for name in names])


_KEYS: dict[type, _Key] = {kind: _key_with_parts(kind) for kind in INIT_FIELDS}
_KEYS[Var] = id
