"""The graph of the bindings of a block, and its partition into groups that are fused.

An edge leads from a value to the call that uses it, and has the pattern kind of the call. A value
is fused with its immediate post-dominator, the first call through which all of its uses pass, if
the kinds on the paths between them allow it: see TVM's paper (OSDI 2018, section 3) for the rules.
Must not know how functions are made of groups.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from te_sched.relax.transform.annotate_tir_op_pattern import OpPatternKind

Kind = OpPatternKind
Allows = Callable[[Kind, bool], bool]  # of the kind of a node, and whether it is the last


@dataclass(eq=False)
class FusionNode:
    """A binding: its kind, and the nodes that use its value with the kinds of the uses."""

    kind: Kind
    uses: list[tuple[FusionNode, Kind]] = field(default_factory=list)
    is_external: bool = False  # used outside of the block too
    # The immediate post-dominator, the kind of the paths to it, and the distance from the results.
    dominator: FusionNode | None = None
    path_kind: Kind = Kind.OPAQUE
    depth: int = 1
    # The group: a tree of nodes, of which the root has the kind and the size of the group.
    parent: FusionNode | None = None
    group_kind: Kind = Kind.OPAQUE
    size: int = 1

    def __post_init__(self) -> None:
        self.group_kind = self.kind

    @property
    def root(self) -> FusionNode:
        """The node that stands for the group."""
        node = self
        while node.parent is not None:
            node = node.parent
        return node


def partition(nodes: list[FusionNode], max_size: int) -> None:
    """Put nodes into groups; they are given in the order of the bindings."""
    for node in reversed(nodes):
        _find_dominator(node)
    for rule in (_fuse_operator, _fuse_injective):
        for node in nodes:
            if node.dominator is not None and node.root is not node.dominator.root:
                rule(node, node.dominator, max_size)


def _find_dominator(node: FusionNode) -> None:
    if node.is_external or not node.uses:
        return
    dominator: FusionNode | None = node.uses[0][0]
    kind = node.uses[0][1]
    for use, use_kind in node.uses[1:]:
        dominator, kind = _common_dominator(dominator, use, max(kind, use_kind))
    node.dominator, node.path_kind = dominator, kind
    node.depth = 1 if dominator is None else dominator.depth + 1


def _common_dominator(
    a: FusionNode | None, b: FusionNode | None, kind: Kind
) -> tuple[FusionNode | None, Kind]:
    """The first node through which all paths from both pass, and the kind of the paths."""
    while a is not b:
        if a is None or b is None:
            return None, kind
        if a.depth < b.depth:
            a, b = b, a
        kind = max(kind, a.path_kind)
        a = a.dominator
    return a, kind


def _fuse_operator(node: FusionNode, sink: FusionNode, max_size: int) -> None:
    """Fuse what follows a product, and element-wise operators with what follows them."""
    if node.group_kind is Kind.OUT_ELEMENT_WISE_FUSABLE:
        if node.path_kind is Kind.ELEMENT_WISE:
            _fuse(node, sink, max_size, lambda kind, is_last: kind <= Kind.BROADCAST)
    elif node.group_kind <= Kind.BROADCAST and node.path_kind <= Kind.REDUCTION:
        limits = (Kind.INJECTIVE, Kind.OUT_ELEMENT_WISE_FUSABLE)
        _fuse(node, sink, max_size, lambda kind, is_last: kind <= limits[is_last])


def _fuse_injective(node: FusionNode, sink: FusionNode, max_size: int) -> None:
    """Fuse injective operators, after products have been fused with what follows them."""
    if node.group_kind is Kind.INJECTIVE:
        _fuse(node, sink, max_size, lambda kind, is_last: kind <= Kind.INJECTIVE)
    elif node.group_kind <= Kind.BROADCAST:
        _fuse_operator(node, sink, max_size)


def _fuse(node: FusionNode, sink: FusionNode, max_size: int, allows: Allows) -> None:
    """Join the groups on the paths from a node to its post-dominator, if their kinds allow it."""
    between = _between(node, sink)
    if not all(allows(member.root.group_kind, member is sink) for member in between):
        return
    roots = {member.root for member in (node, *between)}
    if sum(member.size for member in roots) > max_size:
        return
    for fused_node in (node, *between):
        _join(fused_node, sink)


def _between(node: FusionNode, sink: FusionNode) -> list[FusionNode]:
    """The nodes on the paths from a node to its post-dominator, which is one of them."""
    nodes: dict[FusionNode, None] = {}
    stack = [use for use, _ in node.uses]
    while stack:
        candidate = stack.pop()
        if candidate not in nodes:
            nodes[candidate] = None
            if candidate is not sink:
                stack += [use for use, _ in candidate.uses]
    return list(nodes)


def _join(node: FusionNode, sink: FusionNode) -> None:
    child, root = node.root, sink.root
    if child is root:
        return
    child.parent = root
    root.size += child.size
    if child.group_kind is Kind.OUT_ELEMENT_WISE_FUSABLE:
        root.group_kind = max(root.group_kind, child.group_kind)


def groups_of(nodes: Iterable[FusionNode]) -> dict[FusionNode, list[FusionNode]]:
    """The members of each group, by its root."""
    groups: dict[FusionNode, list[FusionNode]] = {}
    for node in nodes:
        groups.setdefault(node.root, []).append(node)
    return groups
