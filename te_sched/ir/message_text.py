"""Texts of expressions in messages, which name axes as the rest of a message does.

Must not know the messages.
"""

from __future__ import annotations

import re

from te_sched.ir.expr import Node, Var
from te_sched.ir.printer.names import identifier
from te_sched.ir.visitor import walk


def spelled(expr: Node) -> str:
    """The text of an expression with the names of its variables as they were given.

    TVMScript is Python, whose names have no dots.

    >>> inner = Var("k.inner")
    >>> str(inner * 4), spelled(inner * 4)
    ('k_inner * 4', 'k.inner * 4')
    """
    names = {
        identifier(var.name): var.name for var in walk(expr) if isinstance(var, Var) and var.name
    }
    dotted = [re.escape(printed) for printed, name in names.items() if printed != name]
    if not dotted:
        return str(expr)
    pattern = rf"(?<![\w.])(?:{'|'.join(dotted)})(?!\w)"
    return re.sub(pattern, lambda match: names[match[0]], str(expr))
