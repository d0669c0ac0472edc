"""Arguments of calls of torch in the order of its signatures, for rules that name them otherwise.

A rule is called with positional arguments as torch has them, and with keywords that it has itself.
Other keywords of torch (`input`, `other`, `axis`, `dims`, ...) are put in their position here. Must
not know rules.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import NamedTuple

from te_sched.errors import GraphError
from te_sched.relax.frontend.torch.nodes import base_name
from te_sched.relax.frontend.torch.values import FxNode, TorchLayer

# What torch's functions accept in place of the names in their schemas.
_ALIASES = {"input": "self", "self": "input", "axis": "dim", "keepdims": "keepdim"}
_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)

_Arguments = tuple[list[object], dict[str, object]]  # by position, and by name


class _Parameter(NamedTuple):
    name: str
    is_positional: bool
    default: object  # inspect.Parameter.empty: none


def arranged(
    node: FxNode,
    rule: Callable[..., object],
    given: Sequence[object],
    named: Mapping[str, object],
    module: TorchLayer | None,
) -> _Arguments:
    """The positional and named arguments with which a rule is called for a node.

    Raises GraphError for a keyword that neither the rule nor torch's signatures have.
    """
    names, takes_others = _names_of(rule)
    if all(one in names for one in named):
        return list(given), dict(named)
    for signature in _signatures(node, module):
        found = _placed(signature, given, named)
        if found is not None and (takes_others or all(one in names for one in found[1])):
            return found
    if takes_others:
        return list(given), dict(named)
    unknown = next(one for one in named if one not in names)
    raise GraphError(
        f"argument {unknown} is not supported",
        f"the importer supports {', '.join(names)}",
        "leave it out, or write the call with other arguments",
    )


@cache
def _names_of(rule: Callable[..., object]) -> tuple[tuple[str, ...], bool]:
    """The keywords of a rule, and whether it takes any other."""
    parameters = list(inspect.signature(rule).parameters.values())[1:]
    named = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    takes_others = any(one.kind is inspect.Parameter.VAR_KEYWORD for one in parameters)
    return tuple([one.name for one in parameters if one.kind in named]), takes_others


def _signatures(node: FxNode, module: TorchLayer | None) -> Iterator[list[_Parameter]]:
    """The signatures that torch has for a call."""
    if module is not None:
        yield _of_python(module.forward)
        return
    if node.op == "call_function" and inspect.isfunction(node.target):
        yield _of_python(node.target)
    import torch

    packet = getattr(torch.ops.aten, base_name(node), None)
    for overload in packet.overloads() if packet is not None else ():
        arguments = getattr(packet, overload)._schema.arguments
        yield [
            _Parameter(
                one.name,
                not one.kwarg_only,
                one.default_value if one.has_default_value() else inspect.Parameter.empty,
            )
            for one in arguments
        ]


def _of_python(function: Callable[..., object]) -> list[_Parameter]:
    parameters = inspect.signature(function).parameters.values()
    return [_Parameter(one.name, one.kind in _POSITIONAL, one.default) for one in parameters]


def _placed(
    signature: list[_Parameter], given: Sequence[object], named: Mapping[str, object]
) -> _Arguments | None:
    """The arguments in the order of a signature, up to the last one that is given; None if they do
    not fit it.
    """
    names = [one.name for one in signature]
    values = {
        one if one in names else _ALIASES.get(one, one): value for one, value in named.items()
    }
    if len(values) < len(named) or not values.keys() <= set(names):
        return None
    positional = [one for one in signature if one.is_positional]
    if len(given) > len(positional) or any(one.name in values for one in positional[: len(given)]):
        return None
    placed, pending = list(given), []
    for one in positional[len(given) :]:
        pending.append(values.pop(one.name, one.default))
        if one.name in names and one.name not in values and pending[-1] is not one.default:
            placed += pending
            pending = []
    if any(one is inspect.Parameter.empty for one in placed):
        return None
    return placed, values
