"""Messages of `R.print` and `R.assert_op`: the places of `{}` in them.

A message comes from a program that others may have written: it has `{}`, `{0}` and widths such as
`{:>8}`, but neither attributes nor items of the values. Must not know operators.
"""

from __future__ import annotations

import string
from collections.abc import Sequence

from te_sched.errors import GraphTypeError

_MOST_CHARACTERS = 3  # of a number in a format


def check_format(message: str, count: int) -> None:
    """Refuse a message whose places do not fit a number of values.

    >>> check_format("{} of {}", 2)
    >>> check_format("{0.__class__}", 1)
    Traceback (most recent call last):
        ...
    te_sched.errors.GraphTypeError: the format '{0.__class__}' has the place {0.__class__}...
    """
    try:
        parts = [part for part in string.Formatter().parse(message) if part[1] is not None]
    except ValueError as error:
        raise _refused(message, str(error)) from None
    numbered = [name for _, name, _, _ in parts if name]
    if numbered and len(numbered) < len(parts):
        raise _refused(message, "some of its places have numbers and some have none")
    for index, (_, name, spec, conversion) in enumerate(parts):
        if not (name or "0").isdecimal() or conversion not in (None, "s", "r"):
            shown = f"{name}!{conversion}" if conversion else name
            raise _refused(message, "", f" has the place {{{shown}}}")
        if int((name or str(index))[:9]) >= count:
            raise _refused(message, f"{count} values are given", f" has no value for {{{name}}}")
        _check_specification(message, spec or "")


def _check_specification(message: str, spec: str) -> None:
    digits = [number for number in "".join([c if c.isdigit() else " " for c in spec]).split()]
    if any(len(number) > _MOST_CHARACTERS for number in digits):
        raise _refused(message, f"the width {max(digits, key=len)[:20]} is too large")
    try:
        format("", spec)
    except ValueError as error:
        raise _refused(message, str(error)) from None


def fill(message: str, texts: Sequence[str]) -> str:
    """A message with texts in its places.

    >>> fill("{} of {}", ["1", "2"])
    '1 of 2'
    """
    check_format(message, len(texts))
    return message.format(*texts)


def _refused(message: str, why: str, what: str = " is not valid") -> GraphTypeError:
    return GraphTypeError(
        f"the format {message!r}{what}",
        why or "a place has no attributes, items or conversions of the value",
        'write a {} for each value, as in format="{} of {}"; braces as {{ and }}',
    )
