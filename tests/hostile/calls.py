"""Lines that call every callee, with one hostile argument each.

Must not know what becomes of them.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping

from tests.hostile import valid
from tests.hostile.surface import Callee

_NAMED = inspect.Parameter.KEYWORD_ONLY
_MANY = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


def right_call(callee: Callee) -> str:
    """A call that should be right, for all that is known."""
    return call(callee, {})


def call(callee: Callee, given: Mapping[str, str]) -> str:
    """The text of a call with some arguments given; the others are right, or left out."""
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
    """Each parameter in turn with each value."""
    for parameter in callee.parameters:
        for value in values:
            yield call(callee, {parameter.name: value})
