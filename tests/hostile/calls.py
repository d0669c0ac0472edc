"""Lines that call each function with one hostile argument.

Must not know judging.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping

from tests.hostile import valid
from tests.hostile.surface import Callee

_NAMED = inspect.Parameter.KEYWORD_ONLY
_MANY = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


def right_call(callee: Callee) -> str:
    """A call with valid arguments."""
    return call(callee, {})


def call(callee: Callee, given: Mapping[str, str]) -> str:
    """The text of a call with some given arguments; the others are valid, or omitted."""
    parts: list[str] = []
    is_named = False
    for parameter in callee.parameters:
        text = given.get(parameter.name)
        if text is None:
            text = valid.argument(callee, parameter)
        is_needed = parameter.default is parameter.empty and parameter.kind not in _MANY
        if text is None and is_needed:
            text = "words.matrix()"
        if text is None:
            is_named = parameter.kind is not inspect.Parameter.VAR_POSITIONAL
            continue
        if parameter.kind is inspect.Parameter.VAR_KEYWORD:
            parts.append(f"option={text}" if not text.startswith("**") else text)
        elif parameter.kind is _NAMED or (
            is_named and parameter.kind is parameter.POSITIONAL_OR_KEYWORD
        ):
            parts.append(f"{parameter.name}={text}")
        else:
            parts.append(text)
    text = f"{callee.text}({', '.join(parts)})"
    return f"made = words.Scheduled(); {text}" if "made." in text else text


def hostile_calls(callee: Callee, values: tuple[str, ...]) -> Iterator[str]:
    """Calls with each value for each parameter."""
    for parameter in callee.parameters:
        for value in values:
            yield call(callee, {parameter.name: value})
