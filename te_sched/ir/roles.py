"""The roles of the fields of nodes. Each class of nodes declares them; walkers, mappers, comparers
and the verifier use them. Must not know any class of nodes.
"""

from __future__ import annotations

from dataclasses import MISSING, field, fields
from enum import Enum
from typing import Any


class Role(Enum):
    """The role of a field. A field without a declared role has a plain value: a name, a number."""

    VALUE = "a plain value"
    CHILD = "expressions, statements or ranges below the node"
    BODY = "statements of which the node consists, or expressions for which it defines variables"
    HEADER = "what a node states of its body, in the scope of its definitions"
    REGION = "ranges of the dimensions of a buffer"
    DEFINITION = "variables, axes or a buffer that the node defines for its body"
    USE = "a variable or reducer that is defined elsewhere"
    BUFFER = "buffers or tensors that the node accesses"
    ANNOTATION = "any value or mapping, which may hold nodes"


CHILDREN = frozenset([Role.CHILD, Role.BODY, Role.HEADER, Role.REGION])
EVERY_ROLE = frozenset(Role) - {Role.VALUE}


def role(what: Role, *, default: object = MISSING, default_factory: Any = MISSING) -> Any:
    """A field of a node, with its role."""
    return field(default=default, default_factory=default_factory, metadata={"role": what})


def roles_of(kind: type) -> dict[str, Role]:
    """The roles of the fields of a class of nodes, in order."""
    return {
        node_field.name: node_field.metadata.get("role", Role.VALUE)
        for node_field in fields(kind)
        if node_field.init
    }
