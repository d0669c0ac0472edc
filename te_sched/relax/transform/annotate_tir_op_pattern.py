"""The pattern kinds of functions of blocks: how the elements of the result depend on the inputs.

`pattern_kind` looks at the blocks of a function, and `AnnotateTIROpPattern` writes the kind of each
function as its attribute "op_pattern", from which `FuseOps` decides what can be fused. Must not
know graphs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from enum import IntEnum

from te_sched.ir import ops
from te_sched.ir.blocks import BlockRealize
from te_sched.ir.expr import BufferLoad, Expr, Node, Var
from te_sched.ir.stmt import BufferStore, For, GlobalVar, IRModule, PrimFunc
from te_sched.ir.term_keys import same
from te_sched.ir.visitor import children, variables_of, walk
from te_sched.passes import ModulePass
from te_sched.tensorir.facts.axes import REDUCTION
from te_sched.tensorir.facts.computations import added_by, loads_multiplied

ATTRIBUTE = "op_pattern"


class OpPatternKind(IntEnum):
    """How an operator accesses memory, from the simplest to the least known (TVM's numbers)."""

    ELEMENT_WISE = 0  # out[i, j] = f(a[i, j], ...)
    BROADCAST = 1  # out[i, j] = f(a[j], ...)
    INJECTIVE = 2  # out[i, j] = f(a[j, i], ...)
    REDUCTION = 3  # out[i] = sum over k of f(a[i, k])
    OUT_ELEMENT_WISE_FUSABLE = 4  # a product or window: element-wise operators can follow it
    TUPLE = 7
    OPAQUE = 8


class AnnotateTIROpPattern(ModulePass):
    """The pass that gives each function of blocks its pattern kind; known ones are kept.

    >>> import te_sched
    >>> from te_sched import te, topi
    >>> A, B = te.placeholder((4, 8), name="A"), te.placeholder((8, 4), name="B")
    >>> func = te.create_prim_func([A, B, topi.matmul(A, B)])
    >>> AnnotateTIROpPattern()(te_sched.IRModule({"f": func}))["f"].attrs["op_pattern"]
    4
    """

    def transform_module(self, mod: IRModule, *_: object) -> IRModule:
        return annotate_patterns(mod)


def annotate_patterns(module: IRModule) -> IRModule:
    """The module with the pattern kinds of its functions of blocks as attributes."""
    functions = {
        name: func.with_attr(ATTRIBUTE, int(pattern_kind(func)))
        for name, func in module.functions.items()
        if isinstance(func, PrimFunc) and ATTRIBUTE not in func.attrs
    }
    return module.with_functions(functions)


def annotated_kind(called: object, module: IRModule) -> OpPatternKind:
    """The pattern kind that a function of blocks has by its annotation; opaque for all else."""
    callee = module.functions.get(called) if isinstance(called, GlobalVar) else None
    attrs = callee.attrs if isinstance(callee, PrimFunc) else {}
    return OpPatternKind(int(attrs.get(ATTRIBUTE, OpPatternKind.OPAQUE)))


def pattern_kind(func: PrimFunc) -> OpPatternKind:
    """The pattern kind of a function: of its blocks, in order.

    The largest kind decides. A reduction that is not the last block can be followed by
    element-wise operators, as a softmax can.
    """
    kinds = [_kind_of_block(*computation) for computation in _computations(func.body, {}, False)]
    if not kinds:
        return OpPatternKind.ELEMENT_WISE
    largest = max(kinds)
    if largest is OpPatternKind.REDUCTION and kinds[-1] is not OpPatternKind.REDUCTION:
        return OpPatternKind.OUT_ELEMENT_WISE_FUSABLE
    return largest


# The iterators (whether they are reduced), and the nodes of the body.
Computation = tuple[Mapping[Var, bool], list[Node]]


def _computations(
    part: Node, around: Mapping[Var, bool], is_block: bool = True
) -> Iterator[Computation]:
    """The innermost blocks; code around them counts as one more."""
    own = _without_blocks(part)
    inner = [realize.block for realize in own if isinstance(realize, BlockRealize)]
    for block in inner:
        axes = {axis.var: axis.kind == REDUCTION for axis in block.iter_vars}
        yield from _computations(block.body, {**around, **axes})
    writes = any(isinstance(node, BufferStore) for node in own)
    if writes or (not inner and is_block):
        yield around, own


def _without_blocks(body: Node) -> list[Node]:
    """The nodes of a statement, without those in blocks inside of it."""
    nodes: list[Node] = []
    stack = [body]
    while stack:
        node = stack.pop()
        nodes.append(node)
        if not isinstance(node, BlockRealize):
            stack += reversed(list(children(node)))
    return nodes


def _kind_of_block(iterators: Mapping[Var, bool], parts: list[Node]) -> OpPatternKind:
    stores = [part for part in parts if isinstance(part, BufferStore)]
    loads = [part for part in parts if isinstance(part, BufferLoad)]
    if not stores:
        return OpPatternKind.OPAQUE
    target = stores[0].indices
    if not all(type(index) is Var for index in target) or not all(
        _are_same(store.indices, target) for store in stores
    ):
        return OpPatternKind.OPAQUE
    loops = {part.loop_var for part in parts if isinstance(part, For)}
    kinds = [_kind_of_access(load, target) for load in loads]
    if OpPatternKind.OPAQUE not in kinds:
        return _joined(kinds)
    reduced = {var for var, is_reduced in iterators.items() if is_reduced}
    if not reduced or reduced & set(target) or loops:
        return OpPatternKind.OPAQUE
    if any(_is_window(load, reduced) for load in loads) or _is_product(stores, target):
        return OpPatternKind.OUT_ELEMENT_WISE_FUSABLE
    return OpPatternKind.REDUCTION


def _joined(kinds: Sequence[OpPatternKind]) -> OpPatternKind:
    """The kind of several accesses: a bias that is broadcast keeps an operator element-wise."""
    largest = max(kinds, default=OpPatternKind.ELEMENT_WISE)
    if largest is OpPatternKind.BROADCAST and OpPatternKind.ELEMENT_WISE in kinds:
        return OpPatternKind.ELEMENT_WISE
    return largest


def _kind_of_access(load: BufferLoad, target: Sequence[Expr]) -> OpPatternKind:
    """The kind of a load by its indices; OPAQUE if they are not given by those of the store."""
    if _are_same(load.indices, target):
        return OpPatternKind.ELEMENT_WISE
    if _is_broadcast(load, target):
        return OpPatternKind.BROADCAST
    is_direct = not any(
        isinstance(part, BufferLoad) for index in load.indices for part in walk(index)
    )
    if is_direct and variables_of(*load.indices) <= set(target):
        return OpPatternKind.INJECTIVE
    return OpPatternKind.OPAQUE


def _is_broadcast(load: BufferLoad, target: Sequence[Expr]) -> bool:
    """Whether the indices are some of those of the store, in their order, and 0 in dimensions of
    size 1.
    """
    position = 0
    for index, size in zip(load.indices, load.buffer.shape, strict=True):
        if ops.is_const(index, 0) and ops.is_const(size, 1):
            continue
        while position < len(target) and target[position] is not index:
            position += 1
        if position == len(target):
            return False
    return True


def _is_window(load: BufferLoad, reduced: set[Var]) -> bool:
    """Whether an index is computed from a reduction: elements are read again by others."""
    return any(type(index) is not Var and variables_of(index) & reduced for index in load.indices)


def _is_product(stores: Sequence[BufferStore], target: Sequence[Expr]) -> bool:
    """Whether sums of products are written, of which each factor is read for several results."""
    factors = [loads_multiplied(added_by(store)) for store in stores]
    return all(
        pair is not None
        and not any(set(target) <= variables_of(*factor.indices) for factor in pair)
        for pair in factors
    )


def _are_same(a: Sequence[Expr], b: Sequence[Expr]) -> bool:
    return len(a) == len(b) and all(same(index, other) for index, other in zip(a, b, strict=True))
