"""Every public name has an executed example in its docstring, or is in `WITHOUT`."""

from __future__ import annotations

from typing import Any

import pytest

import te_sched
from te_sched import errors, te, tir, topi
from te_sched.arith import Analyzer

OWNERS: dict[str, Any] = {
    "te_sched": te_sched,
    "errors": errors,
    "te": te,
    "tir": tir,
    "topi": topi,
    "topi.image": topi.image,
    "topi.nn": topi.nn,
    "topi.generic": topi.generic,
    "topi.x86": topi.x86,
    "topi.cuda": topi.cuda,
    "target": te_sched.target,
    "GenericFunc": te_sched.target.GenericFunc,
    "Analyzer": Analyzer,
    "Schedule": te.Schedule,
    "Stage": te.Stage,
    "Tensor": te.Tensor,
    "Operation": te.Operation,
}
# Names without one: values that are called, and methods that others document.
WITHOUT: dict[str, set[str]] = {
    "te_sched": {"config"},
    "te": {"Reducer"},
    "tir": {"ExprRV"},  # tir.Var
    "Tensor": {"astype"},
}


def _public(owner: Any) -> dict[str, Any]:
    """The functions, classes and methods of a module or a class."""
    names = getattr(owner, "__all__", None) or dir(owner)
    found = {name: getattr(owner, name) for name in names if name[0] != "_"}
    of_modules = not isinstance(owner, type)
    if owner in (topi.generic, topi.x86, topi.cuda):  # they import others by their names
        return {name: one for name, one in found.items() if _module(one) == owner.__name__}
    return {
        name: value
        for name, value in found.items()
        if callable(value)
        and (not of_modules or _module(value).startswith("te_sched"))
        and (owner is not errors or (isinstance(value, type) and issubclass(value, Exception)))
    }


def _module(value: Any) -> str:
    return getattr(value, "__module__", "")


@pytest.mark.parametrize("label", OWNERS)
def test_public_names_have_examples(label: str) -> None:
    without = {
        name for name, one in _public(OWNERS[label]).items() if ">>> " not in (one.__doc__ or "")
    }
    assert without == WITHOUT.get(label, set())
