"""The rows of operators of ONNX, by domain, name and version.

A row is a function of the importer, the inputs of a node and its attributes. It serves all versions
of the operators of its domain from `since` on, up to the next row of the operator.

    @row("Softmax")                         versions 1 to 12
    @row("Softmax", since=13)               versions from 13 on
    @row("Gelu", domain="com.microsoft")    an operator of another domain

Must not know the rows themselves, which `operators` has.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from te_sched.relax.frontend.onnx.sizes import Value

# The value of a node, or of each of its outputs.
Result = Value | tuple[Value, ...]
Rule = Callable[..., Result]
Ints = Sequence[int]  # an attribute of a node
_R = TypeVar("_R", bound=Rule)

OWN = ("", "ai.onnx")  # two names of ONNX's own domain

_ROWS: dict[tuple[str, str], dict[int, Rule]] = {}  # by domain and name: the rules by version


def row(*names: str, domain: str = "", since: int = 1) -> Callable[[_R], _R]:
    """A decorator that adds a rule as the row of operators.

    Parameters
    ----------
    names : the operators, of which all have this rule.
    domain : where they are defined; by default in ONNX itself.
    since : the first version of the operators of the domain that the rule serves.
    """

    def add(rule: _R) -> _R:
        for name in names:
            _ROWS.setdefault((_key_of(domain), name), {})[since] = rule
        return rule

    return add


def find_row(domain: str, name: str, version: int) -> Rule | None:
    """The rule with the greatest version that is not above that of a model; None without one.

    >>> from te_sched.relax.frontend.onnx import operators
    >>> find_row("", "Softmax", 9) is find_row("", "Softmax", 12)
    True
    >>> find_row("", "Softmax", 12) is find_row("ai.onnx", "Softmax", 13)
    False
    >>> find_row("com.example", "Softmax", 13)
    """
    rules = _ROWS.get((_key_of(domain), name), {})
    since = max([first for first in rules if first <= version], default=None)
    return None if since is None else rules[since]


def full_name(domain: str, name: str) -> str:
    """The name of an operator with its domain, unless it is ONNX's own.

    >>> full_name("ai.onnx", "Gelu"), full_name("com.microsoft", "Gelu")
    ('Gelu', 'com.microsoft.Gelu')
    """
    return name if domain in OWN else f"{domain}.{name}"


def _key_of(domain: str) -> str:
    return OWN[0] if domain in OWN else domain
