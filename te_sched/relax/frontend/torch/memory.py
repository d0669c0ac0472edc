"""What calls of a graph of torch do to memory: views, changes in place, and the state of modules.

A graph of te_sched computes values: a call begins with the same constants each time. The importers
ask here which calls change a tensor, and whose memory it is. Must not know the table of operators.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeGuard

from te_sched.errors import GraphError, Subject
from te_sched.relax.frontend.torch.nodes import IN_PLACE_OPERATORS, base_name, place_of
from te_sched.relax.frontend.torch.values import FxNode, TorchLayer

_VIEWS = frozenset(
    (
        *("view", "reshape", "transpose", "permute", "t", "slice", "select", "unsqueeze"),
        *("squeeze", "expand", "flatten", "split", "chunk", "unbind", "detach", "alias"),
        *("narrow", "getitem", "movedim", "swapaxes", "mT", "mH", "unfold", "diagonal"),
        *("view_as", "expand_as", "broadcast_to", "unflatten", "ravel", "reshape_as"),
        *("T", "H", "swapdims", "moveaxis", "as_strided", "contiguous", "tensor_split"),
        *("split_with_sizes", "hsplit", "vsplit", "dsplit", "real", "imag", "view_as_real"),
        *("adjoint", "atleast_1d", "atleast_2d", "atleast_3d", "dropout", "feature_dropout"),
    )
)
# Normalizations that change the statistics they are given, by the position of "training".
_TRAINING = {"batch_norm": 5, "instance_norm": 5, "native_batch_norm": 5}
_STATISTICS = {"batch_norm": (3, 4), "instance_norm": (3, 4), "native_batch_norm": (3, 4)}


def is_in_place(node: FxNode) -> bool:
    """Whether a call changes the values of its first argument: add_, relu_; not detach_."""
    if node.op == "call_method":
        name = str(node.target)
    else:
        packet = getattr(node.target, "overloadpacket", node.target)
        name = getattr(packet, "__name__", "")
    is_python = getattr(node.target, "__module__", "") == "_operator"  # operator.and_
    if is_python:
        return name == "setitem" or name in IN_PLACE_OPERATORS
    return name.endswith("_") and not name.endswith("__") and name != "detach_"


def is_view(node: FxNode) -> bool:
    """Whether the result of a call may share the memory of its first argument."""
    if node.op not in ("call_function", "call_method"):
        return False
    schema = getattr(node.target, "_schema", None)
    infos = [result.alias_info for result in schema.returns] if schema is not None else []
    aliases = any(info is not None and not info.is_write for info in infos)
    return aliases or base_name(node) in _VIEWS


def changed_arguments(node: FxNode, modules: Mapping[str, TorchLayer]) -> list[FxNode]:
    """The nodes whose memory a call changes."""
    module = modules.get(str(node.target)) if node.op == "call_module" else None
    schema = getattr(node.target, "_schema", None)
    first = [arg for arg in node.args[:1] if is_node(arg)]
    if is_in_place(node) or node.kwargs.get("inplace") or getattr(module, "inplace", False):
        return first
    out = node.kwargs.get("out")
    if is_node(out):
        return [out]
    if schema is None or base_name(node) == "detach":
        return []
    written = [
        position
        for position, argument in enumerate(schema.arguments)
        if argument.alias_info is not None and argument.alias_info.is_write
    ]
    arguments = dict(enumerate(node.args))
    arguments |= {
        position: node.kwargs[argument.name]
        for position, argument in enumerate(schema.arguments)
        if argument.name in node.kwargs
    }
    name = base_name(node)
    if name in _TRAINING and arguments.get(_TRAINING[name]):
        written += _STATISTICS[name]
    changed = [arguments.get(position) for position in written]
    return [argument for argument in changed if is_node(argument)]


def is_node(value: object) -> TypeGuard[FxNode]:
    """Whether a value is a node of a graph of torch."""
    return hasattr(value, "op") and hasattr(value, "all_input_nodes")


def owners(nodes: Iterable[FxNode], modules: Mapping[str, TorchLayer]) -> dict[FxNode, FxNode]:
    """For each node the node whose memory its value lies in; nodes of one attribute share it."""
    memory: dict[FxNode, FxNode] = {}
    attributes: dict[str, FxNode] = {}
    for node in nodes:
        if node.op == "get_attr":
            memory[node] = attributes.setdefault(str(node.target), node)
            continue
        changed = changed_arguments(node, modules)
        first = changed[0] if changed else next(iter(node.args[:1]), None)
        is_shared = bool(changed) or is_view(node)
        memory[node] = memory.get(first, first) if is_node(first) and is_shared else node
    return memory


def refuse_changed_attributes(nodes: Sequence[FxNode], modules: Mapping[str, TorchLayer]) -> None:
    """GraphError if a call changes a buffer or parameter of the model, which later calls read."""
    memory = owners(nodes, modules)
    for node in nodes:
        for argument in changed_arguments(node, modules):
            owner = memory[argument]
            if owner.op == "get_attr":
                raise changed_state([str(owner.target)], node, _EXPORT)


_EXPORT = (
    "export the model: from_exported_program(torch.export.export(model, inputs)), whose buffers "
    "the virtual machine keeps"
)


def changed_state(names: Sequence[str], node: FxNode, help: str) -> GraphError:
    """The error of a model that changes its buffers, at the node that changes one."""
    several = len(names) > 1
    return GraphError(
        f"cannot import the model: it changes its {'buffers' if several else 'buffer'} "
        f"{', '.join(names)}",
        "a graph has no memory: each call would begin with the values that "
        f"{'they have' if several else 'it has'} now",
        help,
        where=Subject("node", f"{node.name}{place_of(node)}"),
    )
