"""Text of programs: TVMScript (`script`) and the notation of TVM 0.9 (`primfn`).

Adds `str` and `repr` to nodes, and `script()` and `astext()` to functions and modules.
"""

from __future__ import annotations

from te_sched.ir.expr import Node
from te_sched.ir.printer.primfn import primfn
from te_sched.ir.printer.text import script
from te_sched.ir.stmt import IRModule, PrimFunc
from te_sched.ir.visitor import NODE_CLASSES

__all__ = ["primfn", "script"]

_PRINTED = frozenset(NODE_CLASSES)


def _text(self: object) -> str:
    return script(self) if type(self) in _PRINTED else object.__repr__(self)


def _older_text(self: PrimFunc | IRModule) -> str:
    """The text of TVM 0.9; of a module with graphs, which came later, TVMScript."""
    if isinstance(self, IRModule) and len(self.functions_of_loops) < len(self.functions):
        return script(self)
    return primfn(self)


def _install_methods() -> None:
    Node.__str__ = Node.__repr__ = _text  # type: ignore[method-assign]
    Node.script = script  # type: ignore[assignment]
    for kind in (PrimFunc, IRModule):
        kind.astext = _older_text  # type: ignore[method-assign]


_install_methods()
