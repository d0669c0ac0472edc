"""Names and places of nodes of a graph of torch (`torch.fx`), for tables and messages.

Must not know operators.
"""

from __future__ import annotations

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
    lines = [one.strip() for one in (node.meta.get("stack_trace") or "").splitlines()]
    files = [one for one in lines if one.startswith("File ")]
    own = [one for one in files if "/torch/" not in one] or files
    parts += [own[-1]] if own else []
    return f" ({'; '.join(parts)})" if parts else ""
