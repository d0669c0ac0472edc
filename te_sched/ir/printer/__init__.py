"""Text of programs: TVMScript (`script`) and the notation of TVM 0.9 (`primfn`).

Gives every node its `str` and `repr`; functions and modules also `script()`, `astext()`, `show()`.
"""

from __future__ import annotations

from typing import Any

from te_sched.ir.expr import Node
from te_sched.ir.printer.display import show
from te_sched.ir.printer.primfn import primfn
from te_sched.ir.printer.script import script
from te_sched.ir.stmt import IRModule, PrimFunc
from te_sched.ir.visitor import NODE_CLASSES

__all__ = ["primfn", "script", "show"]

_PRINTED = frozenset(NODE_CLASSES)


def _text(self: Any) -> str:
    return script(self) if type(self) in _PRINTED else object.__repr__(self)


def _install_methods() -> None:
    Node.__str__ = Node.__repr__ = _text  # type: ignore[method-assign]
    methods = {"script": script, "astext": primfn, "show": lambda self: show(script(self))}
    for kind in (PrimFunc, IRModule):
        for name, method in methods.items():
            setattr(kind, name, method)


_install_methods()
