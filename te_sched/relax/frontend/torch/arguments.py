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
    args: Sequence[object],
    named: Mapping[str, object],
    module: TorchLayer | None,
) -> _Arguments:
    """The positional and named arguments with which a rule is called for a node.

    Raises GraphError for a keyword that neither the rule nor torch's signatures have.
    """
    names, takes_others = _names_of(rule)
    if all(name in names for name in named):
        return list(args), dict(named)
    for signature in _signatures(node, module):
        arrangement = _placed(signature, args, named)
        if arrangement is not None and (
            takes_others or all(name in names for name in arrangement[1])
        ):
            return arrangement
    if takes_others:
        return list(args), dict(named)
    unknown = next(name for name in named if name not in names)
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
    takes_others = any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in parameters)
    return tuple(
        [parameter.name for parameter in parameters if parameter.kind in named]
    ), takes_others


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
                argument.name,
                not argument.kwarg_only,
                argument.default_value if argument.has_default_value() else inspect.Parameter.empty,
            )
            for argument in arguments
        ]


def _of_python(function: Callable[..., object]) -> list[_Parameter]:
    parameters = inspect.signature(function).parameters.values()
    return [
        _Parameter(parameter.name, parameter.kind in _POSITIONAL, parameter.default)
        for parameter in parameters
    ]


def _placed(
    signature: list[_Parameter], args: Sequence[object], named: Mapping[str, object]
) -> _Arguments | None:
    """The arguments in the order of a signature, up to the last one that is given; None if they do
    not fit it.
    """
    names = [parameter.name for parameter in signature]
    values = {
        name if name in names else _ALIASES.get(name, name): value for name, value in named.items()
    }
    if len(values) < len(named) or not values.keys() <= set(names):
        return None
    positional = [parameter for parameter in signature if parameter.is_positional]
    if len(args) > len(positional) or any(
        parameter.name in values for parameter in positional[: len(args)]
    ):
        return None
    placed, pending = list(args), []
    for param in positional[len(args) :]:
        pending.append(values.pop(param.name, param.default))
        if param.name in names and param.name not in values and pending[-1] is not param.default:
            placed += pending
            pending = []
    if any(value is inspect.Parameter.empty for value in placed):
        return None
    return placed, values
