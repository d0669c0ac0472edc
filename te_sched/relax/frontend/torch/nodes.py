"""Names and places of nodes of a graph of torch (`torch.fx`), for tables and messages.

Must not know operators.
"""

from __future__ import annotations

import re

from te_sched.errors import SourceLocation
from te_sched.relax.frontend.torch.values import FxNode

# Python's operators that change their first argument, and those that do not.
IN_PLACE_OPERATORS = {
    **{f"i{name}": name for name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow")},
    **{f"i{name}": name for name in ("lshift", "rshift", "matmul")},
    **{f"i{name}": f"{name}_" for name in ("and", "or")},
    "ixor": "xor",
}


def base_name(node: FxNode) -> str:
    """The name under which an operator is in the table: "add" of add.Tensor, operator.add, add_."""
    if node.op == "call_method":
        name = str(node.target)
    else:
        target = node.target
        packet = getattr(target, "overloadpacket", None)
        name = packet.__name__ if packet is not None else getattr(target, "__name__", str(target))
        if getattr(target, "__module__", "") == "_operator":
            name = IN_PLACE_OPERATORS.get(name, name)
    is_special = name.startswith("__")
    return name if is_special or name.endswith("__") or not name.endswith("_") else name[:-1]


def display_name(node: FxNode) -> str:
    """The name of an operator, for a reader: aten.add.Tensor, torch.relu, Tensor.view."""
    if node.op == "call_method":
        return f"Tensor.{node.target}"
    if node.op == "call_module":
        return f"module {node.target}"
    target = node.target
    if hasattr(target, "overloadpacket"):
        return str(target)
    module = getattr(target, "__module__", None) or ""
    return f"{module}.{getattr(target, '__name__', target)}".strip(".")


def place_of(node: FxNode) -> str:
    """Where a node stands in the program and the model, as far as it is known."""
    parts = []
    stack = node.meta.get("nn_module_stack")
    if stack:
        path = next(reversed(stack.values()))[0]
        parts += [f"in module {path}"] if path else []
    frame = _frame_of(node)
    if frame is not None:
        code = f": {frame['code'].strip()}" if frame["code"] else ""
        parts.append(f'File "{frame["file"]}", line {frame["line"]}, in {frame["name"]}{code}')
    return f" ({'; '.join(parts)})" if parts else ""


def location_of(node: FxNode) -> SourceLocation:
    """The line of the model that a node comes from; an unknown one if torch does not tell."""
    frame = _frame_of(node)
    return SourceLocation(frame["file"], int(frame["line"])) if frame is not None else _UNKNOWN


_UNKNOWN = SourceLocation()
_FRAME = re.compile(
    r'^\s*File "(?P<file>.+)", line (?P<line>\d+), in (?P<name>.+)(?:\n(?!\s*File )(?P<code>.*))?',
    re.MULTILINE,
)


def _frame_of(node: FxNode) -> re.Match[str] | None:
    """The innermost line outside of torch in the trace of a node; else the innermost line."""
    frames = [*_FRAME.finditer(node.meta.get("stack_trace") or "")]
    own = [frame for frame in frames if "/torch/" not in frame["file"]]
    innermost = (own or frames)[-1:]
    return innermost[0] if innermost else None
