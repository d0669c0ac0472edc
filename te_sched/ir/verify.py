"""Verifier: checks that a function is well-formed IR of its level of lowering.

Owns the nodes that may occur at each level (`LEVELS`), and the rules for each class of nodes
(`_RULES`). It tracks definitions of variables itself, since `ir.scopes` requires the properties
that this module checks: each variable is defined once and used inside of its scope. Must not know
the passes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from te_sched.deep_recursion import walks_deeply
from te_sched.errors import (
    BuildError,
    DeclarationError,
    IllFormedError,
    InternalError,
    Subject,
    TeSchedError,
    kind_of,
    repr_of,
)
from te_sched.ir import blocks as B
from te_sched.ir import dtypes
from te_sched.ir import expr as E
from te_sched.ir import stmt as S
from te_sched.ir.expr import Buffer, Expr, IterVar, Node, Range, Var
from te_sched.ir.printer.primfn import primfn
from te_sched.ir.roles import Role
from te_sched.ir.storage_scopes import KERNEL_SCOPES, storage_scope
from te_sched.ir.structural import structural_equal
from te_sched.ir.visitor import children, fields_with, parts_of, walk

_Nodes = frozenset[type]

_PRODUCERS: _Nodes = frozenset([E.ProducerLoad, S.ProducerStore, S.ProducerRealize])
_REALIZED: _Nodes = frozenset([S.BufferRealize, S.Prefetch])
_PLAIN: _Nodes = frozenset(
    [
        *(E.Var, E.IntImm, E.FloatImm, E.StringImm, E.Cast, E.Range),
        *(E.Add, E.Sub, E.Mul, E.Div, E.Mod, E.FloorDiv, E.FloorMod, E.Min, E.Max),
        *(E.EQ, E.NE, E.LT, E.LE, E.GT, E.GE, E.And, E.Or, E.Not, E.Select),
        *(E.Ramp, E.Broadcast, E.Shuffle, E.Call, E.Let, E.BufferLoad),
        *(S.For, S.While, S.IfThenElse, S.SeqStmt, S.LetStmt, S.AttrStmt, S.AssertStmt),
        *(S.Allocate, B.AllocateConst, S.BufferStore, S.Evaluate),
    ]
)
_VIEWS: _Nodes = frozenset([B.DeclBuffer])
_BLOCKS: _Nodes = frozenset([B.Block, B.BlockRealize, E.BufferRegion, B.MatchBufferRegion])


@dataclass(frozen=True)
class Level:
    """The requirements for functions at a level of lowering.

    `is_flat`: buffers are accessed by one index, and one more per axis separator. `loop_kinds`: the
    kinds of loops that may occur. `gone_attributes`, `gone_calls`, `gone_scopes`: keys of AttrStmt,
    intrinsics and storage scopes that must not occur. `is_closed`: free variables must not occur.
    `is_opaque`: blocks have neither iterators nor an initialization.
    """

    nodes: _Nodes
    is_flat: bool = False
    loop_kinds: frozenset[str] = frozenset(S.FOR_KINDS)
    gone_attributes: frozenset[str] = frozenset()
    gone_calls: frozenset[str] = frozenset()
    gone_scopes: frozenset[str] = frozenset()
    is_closed: bool = False
    is_opaque: bool = False


_SCALAR_KINDS = frozenset(S.FOR_KINDS) - {"vectorized"}
_FINAL = Level(
    _PLAIN,
    is_flat=True,
    loop_kinds=_SCALAR_KINDS,
    gone_attributes=frozenset(
        ["virtual_thread", "double_buffer_scope", "realize_scope", "prefetch_scope"]
    ),
)
_KERNEL = replace(_FINAL, gone_calls=frozenset(["tir.launch_kernel"]), is_closed=True)
_REDUCED = replace(_KERNEL, gone_attributes=_KERNEL.gone_attributes | {"reduce_scope"})
LEVELS: dict[str, Level] = {
    "blocks": Level(_PLAIN | _VIEWS | _BLOCKS),
    "opaque": Level(_PLAIN | _VIEWS | _BLOCKS, is_opaque=True),
    "tensors": Level(_PLAIN | _PRODUCERS | _REALIZED | {E.Reduce}),
    "declared": Level(_PLAIN | _REALIZED | _VIEWS),
    "buffers": Level(_PLAIN | _REALIZED),
    "flat": Level(_PLAIN, is_flat=True),
    "vector": Level(_PLAIN, is_flat=True, loop_kinds=_SCALAR_KINDS),
    "final": _FINAL,
    "host": replace(
        _FINAL,
        gone_attributes=_FINAL.gone_attributes | {"thread_extent"},
        gone_scopes=frozenset(
            text for text in KERNEL_SCOPES if not storage_scope(text).is_fragment
        ),
        is_closed=True,
    ),
    "kernel": _KERNEL,
    "kernel_reduced": _REDUCED,
    "kernel_final": replace(_REDUCED, gone_scopes=frozenset(["warp"])),
}


def verify(func: S.PrimFunc, level: str, free: Collection[Var] | None = None) -> None:
    """Raise InternalError, naming the node, unless the function is well-formed at `level`.

    Parameters
    ----------
    level : one of LEVELS: "blocks" (of TensorIR), "opaque" (their iterators have been substituted),
        "tensors" (after schedule_ops), "declared" (without blocks), "buffers" (without views),
        "flat" (one index), "vector" (no vectorized loops), "final" (fully lowered); "host" and
        "kernel", the parts of a function for a GPU, "kernel_reduced" (cross-thread reductions are
        lowered), "kernel_final" (warp memory is in registers).
    free : variables that may be free, for example `free_variables` of the function before a pass.
        By default, all integers that the function does not define (such as a thread in a store
        predicate to which no axis is bound).
    """
    _Verifier(LEVELS[level], func, None if free is None else frozenset(free)).run()


def free_variables(func: S.PrimFunc) -> frozenset[Var]:
    """Variables that are used outside of their definitions."""
    verifier = _Verifier(LEVELS["tensors"], func, None)
    verifier.collect = True
    verifier.run()
    return frozenset(verifier.free)


@walks_deeply("look for the definitions of variables", DeclarationError)
def check_definitions(func: S.PrimFunc, kind: type[TeSchedError] = BuildError) -> None:
    """Refuse a program that uses a loop variable or memory outside of its scope.

    Raises
    ------
    An error of class `kind` for the first such variable, and for a variable that is defined inside
    of its own scope.
    """
    _Definitions(LEVELS["tensors"], func, None, kind).run()


@walks_deeply("check the types of operands", DeclarationError)
def check_operands(
    program: S.PrimFunc | S.Stmt | Expr, kind: type[TeSchedError], before: Node | None = None
) -> None:
    """Refuse a program with operands of other types than their operations take, for the user;
    nodes of `before`, of which it was made, may have some.

    Raises
    ------
    An error of class `kind` for the first such operation.
    """
    root = program.body if isinstance(program, S.PrimFunc) else program
    source = before.body if isinstance(before, S.PrimFunc) else before
    old = None if source is None else {id(node) for node in walk(source)}
    level = LEVELS["tensors"]
    for node in walk(root):
        rule = _OPERAND_RULES.get(type(node))
        complaint = rule(node, level) if rule is not None else None
        if complaint is None or (old is not None and id(node) in old):
            continue
        raise kind(
            f"ill-formed {type(node).__name__}: {complaint}",
            f"it is {repr_of(node)}",
            "give operands of the types that the operation takes: value.astype(dtype) converts",
            Subject("function", str(program.attrs.get("global_symbol", "main")))
            if isinstance(program, S.PrimFunc)
            else (),
        )


@walks_deeply("look for the definitions of variables", DeclarationError)
def undefined_variables(root: S.Stmt | Expr, defined: Collection[Var] = ()) -> list[Var]:
    """The variables that a statement or expression uses without defining them, in order."""
    body = root if isinstance(root, S.Stmt) else S.Evaluate(root)
    search = _Definitions(LEVELS["tensors"], S.PrimFunc(tuple(defined), body, {}), None, BuildError)
    search.collect = True
    search.run()
    in_order = [part for part in walk(body) if type(part) is Var and part in search.free]
    return list(dict.fromkeys([*in_order, *search.free]))


@walks_deeply("look for the definitions of variables", DeclarationError)
def check_well_formed(functions: Collection[S.PrimFunc]) -> None:
    """Refuse functions that use variables outside of their scopes, that define a variable twice
    (also in two functions), or whose blocks use loops around them, except in values of iterators.

    Raises
    ------
    IllFormedError
    """
    defined: set[Var] = set()
    for func in functions:
        search = _WellFormed(func, defined)
        search.run()
        defined |= search.defined | search.threads
        _check_blocks(func.body, frozenset(), search)


def _check_blocks(node: S.Stmt, loops: frozenset[Var], report: _WellFormed) -> None:
    """Refuse blocks that use the variables of loops around them."""
    if isinstance(node, S.For):
        loops |= {node.loop_var}
    if isinstance(node, B.Block) and node.iter_vars and loops:
        for part in (*node.reads, *node.writes, *parts_of(node)):
            for var in walk(part):
                if type(var) is Var and var in loops:
                    report.loop_in_block(var, node.name_hint)
    for part in parts_of(node):
        _check_blocks(part, loops, report)


def is_ssa(func: S.PrimFunc) -> bool:
    """Whether a function defines each variable once; a `Let` may occur twice with one value."""
    definitions: dict[Var, Node | None] = dict.fromkeys(func.params)
    for node in walk(func.body):
        for var in _defined_by(node):
            definition = definitions.get(var)
            is_repeated = (
                isinstance(definition, E.Let)
                and isinstance(node, E.Let)
                and structural_equal(definition.value, node.value)
            )
            if var in definitions and not is_repeated:
                return False
            definitions[var] = node
    return True


class _Verifier:
    """Checks one function; `scope` has the variables in scope at the current position."""

    def __init__(self, level: Level, func: S.PrimFunc, allowed: frozenset[Var] | None) -> None:
        self.level = level
        self.func = func
        self.allowed = allowed
        self.collect = False
        self.scope: set[Var] = set()
        self.threads: set[Var] = set()
        self.defined: set[Var] = set()
        self.free: dict[Var, Node] = {}

    def run(self) -> None:
        """Check the whole function."""
        for param in self.func.params:
            if param in self.scope:
                self.fail(param, "it is a parameter twice")
            self.scope.add(param)
        for param, buffer in self.func.buffer_map.items():
            if param not in self.scope:
                self.fail(param, "it has a buffer, but is not a parameter")
            self.scope.update(_described(buffer))
        self.defined |= self.scope
        self.statement(self.func.body)
        if not self.collect:
            for var, user in self.free.items():
                self.check_free(var, user)

    def check_free(self, var: Var, user: Node) -> None:
        """Check the use of a variable outside of its definition."""
        if var in self.threads:
            return  # a statement may use a thread that is launched elsewhere
        if self.allowed is not None:
            is_allowed = var in self.allowed
        else:
            is_free = not self.level.is_closed and var not in self.defined
            is_allowed = is_free and dtypes.is_integral(var.dtype)
        if not is_allowed:
            self.fail(user, f"variable {var.name} is used outside of its definition")

    def fail(self, node: Node, why: str) -> None:
        """Report a broken rule."""
        lines = primfn(node).splitlines()
        text = lines[0] + (" ..." if len(lines) > 1 else "")
        name = str(self.func.attrs.get("global_symbol", "main"))
        raise InternalError(
            f"ill-formed {type(node).__name__}: {text}",
            why,
            "this is a bug in te_sched; report it with the program that shows it",
            where=Subject("function", name),
        )

    def define(self, var: Var, node: Node) -> bool:
        """Add a defined variable to the scope; returns True."""
        if var in self.scope:
            self.fail(node, f"variable {var.name} is defined inside of its own definition")
        self.scope.add(var)
        self.defined.add(var)
        return True

    def use(self, var: Var, node: Node) -> None:
        """Record the use of a variable."""
        if var not in self.scope:
            self.free.setdefault(var, node)

    # Statements

    def statement(self, node: S.Stmt) -> None:
        """Check a statement and its parts; chains of statements are traversed without recursion."""
        while True:
            self.known(node)
            added = self.header(node)
            below = parts_of(node)
            if len(below) != 1 or added:
                for child in below:
                    self.statement(child)
                self.scope.difference_update(added)
                return
            node = below[0]

    def known(self, node: Node) -> None:
        """Check that the node may occur at this level and that its rule holds."""
        kind = type(node)
        if kind not in self.level.nodes:
            self.fail(node, f"a {kind.__name__} does not occur at this level of lowering")
        rule = _RULES.get(kind)
        complaint = rule(node, self.level) if rule is not None else None
        if complaint is not None:
            self.fail(node, complaint)

    def header(self, node: S.Stmt) -> list[Var]:
        """Check a statement without its body; returns the variables that it defines."""
        outer_free = self.free
        if isinstance(node, S.Allocate) and not self.collect:
            # TVM hoists a temporary even out of the loop on which its size depends. The text must
            # be the same; callers that run the program must check it.
            self.free = dict(outer_free)
        self.accesses(node)
        for child in _parts(node, _OUTSIDE[type(node)]):
            self.part(child)
        self.free = outer_free
        if isinstance(node, S.AttrStmt):
            return self.attribute(node)
        if isinstance(node, S.BufferRealize) and node.buffer.data in self.scope:
            return []  # a parameter
        if isinstance(node, B.Block):
            return self.block(node)
        return [var for var in _defined_by(node) if self.define(var, node)]

    def block(self, node: B.Block) -> list[Var]:
        """Check a block without its body; returns the variables that it defines."""
        for axis in node.iter_vars:
            for domain in children(axis):
                self.part(domain)
        added = [var for var in _defined_by(node) if self.define(var, node)]
        for region in (*node.reads, *node.writes):
            self.region(region)
        for match in node.match_buffers:
            self.region(match.source)
            own = _described(match.buffer) - self.scope
            added += [var for var in own if self.define(var, node)]
        return added

    def region(self, node: E.BufferRegion) -> None:
        """Check the region of a buffer."""
        self.known(node)
        self.accesses(node)
        for dim_range in node.region:
            self.part(dim_range)

    def accesses(self, node: Node) -> None:
        """Record the uses of the data of the buffers that a node accesses."""
        for name in _BUFFERS[type(node)]:
            buffer = getattr(node, name)
            if isinstance(buffer, Buffer):
                self.use(buffer.data, node)

    def attribute(self, node: S.AttrStmt) -> list[Var]:
        """Check an attribute; a launch defines the variable of its thread, unless it is in scope,
        and a view defines the variables of its description that are not in that of its source.
        """
        target = node.node
        if node.key == "buffer_bind_scope":
            view, whole = target
            own = _described(view) - _described(whole) - self.scope
            return [var for var in own if self.define(var, node)]
        if node.key not in S.THREAD_KEYS or not isinstance(target, IterVar):
            return []
        self.threads.add(target.var)
        if target.var in self.scope:
            return []
        self.define(target.var, node)
        return [target.var]

    # Expressions

    def part(self, node: Node) -> None:
        """Check an expression, or the minimum and extent of a range."""
        for bound in children(node) if isinstance(node, Range) else (node,):
            self.expression(bound)

    def expression(self, root: Node) -> None:
        """Check an expression and all its parts."""
        stack = [root]
        while stack:
            node = stack.pop()
            if type(node) is Var:
                self.use(node, root)
                continue
            self.known(node)
            if _DEFINITIONS[type(node)]:
                self.binder(node)
            else:
                self.accesses(node)
                stack.extend(children(node))

    def binder(self, node: Node) -> None:
        """Check an expression that defines variables."""
        kind = type(node)
        for child in _parts(node, _OUTSIDE[kind]):
            self.part(child)
        added = [var for var in _defined_by(node) if self.define(var, node)]
        for axis in _parts(node, _DEFINITIONS[kind]):
            for domain in children(axis):
                self.part(domain)
        for child in _parts(node, _BODIES[kind]):
            self.part(child)
        self.scope.difference_update(added)


class _Definitions(_Verifier):
    """Checks the uses of variables in a program written by a user."""

    def __init__(
        self, level: Level, func: S.PrimFunc, allowed: None, kind: type[TeSchedError]
    ) -> None:
        super().__init__(level, func, allowed)
        self.kind = kind

    def known(self, node: Node) -> None:
        """Nothing: other checks find other errors."""

    def check_free(self, var: Var, user: Node) -> None:
        """Check the use; a variable that the program does not define may be an argument."""
        if var in self.defined and var not in self.threads:
            self.fail(user, f"variable {var.name} is used outside of its definition")

    def fail(self, node: Any, why: str) -> None:
        """Raise the error for the user."""
        is_parameter = any(node is param for param in (*self.func.params, *self.func.buffer_map))
        raise self.kind(
            f"parameter {node.name}: {why}" if is_parameter else why,
            f"it stands in {primfn(node).splitlines()[0]}",
            "use the variable of a loop, and memory, inside of the scope that makes it; make new "
            "ones for other scopes",
            Subject("function", str(self.func.attrs.get("global_symbol", "main"))),
        )


class _WellFormed(_Definitions):
    """Checks the definitions of one function of a module; `others` are those of other functions."""

    def __init__(self, func: S.PrimFunc, others: Collection[Var]) -> None:
        super().__init__(LEVELS["tensors"], func, None, IllFormedError)
        self.others = others

    def define(self, var: Var, node: Node) -> bool:
        """Add a variable that is not defined elsewhere."""
        if var in self.scope:
            self.fail(node, f"multiple nested definitions of variable {var.name}")
        is_thread = var in self.threads and var not in self.others
        if (var in self.defined or var in self.others) and not is_thread:
            self.fail(node, f"multiple definitions of variable {var.name}")
        return super().define(var, node)

    def block(self, node: B.Block) -> list[Var]:
        """Check a block; a buffer that it allocates defines the variables of its layout."""
        added = super().block(node)
        for buffer in node.alloc_buffers:
            own = _described(buffer) - self.scope
            added += [var for var in own if self.define(var, node)]
        return added

    def check_free(self, var: Var, user: Node) -> None:
        """Refuse the use of a variable outside of its definition."""
        text = primfn(user).splitlines()[0]
        state = "no longer in scope" if var in self.defined else "not defined"
        in_tvm = f"Invalid use of undefined variable {var.name} at {text}."
        if var in self.defined:
            in_tvm += " It is no longer in-scope."
        self.fail(user, f"a use of variable {var.name} at {text}, where it is {state}", in_tvm)

    def loop_in_block(self, loop: Var, block: str) -> None:
        """Refuse a block that uses the variable of a loop around it."""
        self.fail(
            loop,
            f"block {block} uses {loop.name}, of a loop around it",
            help=f"use an iterator of the block, bound to it: v{loop.name} = "
            f"T.axis.spatial(extent, {loop.name})",
            about=[Subject("block", block)],
        )

    def fail(
        self,
        node: Node,
        why: str,
        in_tvm: str = "",
        help: str = "define each variable once, and use it inside of its scope",
        about: Sequence[Subject] = (),
    ) -> None:
        """Raise the error for the user."""
        name = str(self.func.attrs.get("global_symbol", "main"))
        raise IllFormedError(
            f"function {name} is ill-formed, due to {why}",
            "",
            help,
            [*about, Subject("function", name)],
            in_tvm=in_tvm,
        )


def _described(buffer: Buffer) -> set[Var]:
    """The variables of the description of a buffer: its data, shape, strides and offset."""
    variables: set[Var] = {buffer.data}
    stack: list[Node] = [*buffer.shape, *buffer.strides, buffer.elem_offset]
    while stack:
        node = stack.pop()
        if type(node) is Var:
            variables.add(node)
        else:
            stack.extend(children(node))
    return variables


_DEFINITIONS, _BUFFERS = fields_with(Role.DEFINITION), fields_with(Role.BUFFER)
_OUTSIDE, _BODIES = fields_with(Role.CHILD, Role.REGION), fields_with(Role.BODY)


def _parts(node: Node, names: tuple[str, ...]) -> list[Any]:
    """The values of fields, tuples flattened."""
    values = [value for name in names if (value := getattr(node, name)) is not None]
    return [
        element for value in values for element in (value if type(value) is tuple else (value,))
    ]


def _defined_by(node: Node) -> list[Var]:
    """The variables that a node defines, also as part of an axis or a buffer."""
    defined = _parts(node, _DEFINITIONS[type(node)])
    variables = [
        definition
        if isinstance(definition, Var)
        else definition.data
        if isinstance(definition, Buffer)
        else definition.var
        for definition in defined
    ]
    if type(node) is B.Block:  # te.extern makes buffers with an offset that is a variable
        offsets = [buffer.elem_offset for buffer in node.alloc_buffers]
        variables += [offset for offset in offsets if type(offset) is Var]
    return variables


# Rules return the fault of a node, or None.


class _Conditional(Protocol):
    """A node with a condition."""

    @property
    def condition(self) -> Expr:
        """A bool."""


_Rule = Callable[[Any, Level], str | None]


def _is_index(dtype: str) -> bool:
    return dtypes.is_integral(dtypes.element(dtype))


def _is_bool(dtype: str) -> bool:
    return dtypes.is_bool(dtypes.element(dtype))


def _same_types(node: E.BinaryOp | E.CompareOp, level: Level) -> str | None:
    if node.a.dtype != node.b.dtype:
        return f"its operands have types {node.a.dtype} and {node.b.dtype}"
    return None


def _integers(node: E.BinaryOp | E.CompareOp, level: Level) -> str | None:
    complaint = _same_types(node, level)
    return complaint if complaint is not None or _is_index(node.dtype) else "it is not of integers"


def _truths(node: E.CompareOp | E.Not, level: Level) -> str | None:
    operands = (node.a,) if isinstance(node, E.Not) else (node.a, node.b)
    wrong = [operand.dtype for operand in operands if not _is_bool(operand.dtype)]
    return f"an operand is {wrong[0]}, not bool" if wrong else None


def _condition(node: _Conditional, level: Level) -> str | None:
    dtype = node.condition.dtype
    return None if _is_bool(dtype) else f"its condition is {dtype}, not bool"


def _select(node: E.Select, level: Level) -> str | None:
    if node.true_value.dtype != node.false_value.dtype:
        return f"its values have types {node.true_value.dtype} and {node.false_value.dtype}"
    return _condition(node, level)


def _cast(node: E.Cast, level: Level) -> str | None:
    if dtypes.lanes(node.dtype) != dtypes.lanes(node.value.dtype):
        return f"it changes the lanes of {node.value.dtype} to those of {node.dtype}"
    return None


def _ramp(node: E.Ramp, level: Level) -> str | None:
    if node.base.dtype != node.stride.dtype:
        return f"its base is {node.base.dtype}, its stride {node.stride.dtype}"
    if dtypes.lanes(node.base.dtype) != 1 or not _is_index(node.base.dtype):
        return f"its base is {node.base.dtype}, not one integer"
    return None if node.lanes > 1 else f"it has {node.lanes} lanes"


def _broadcast(node: E.Broadcast, level: Level) -> str | None:
    if dtypes.lanes(node.value.dtype) != 1:
        return f"its value is {node.value.dtype}, not one element"
    return None if node.lanes > 1 else f"it has {node.lanes} lanes"


def _call(node: E.Call, level: Level) -> str | None:
    if node.op in level.gone_calls:
        return f"{node.op} does not occur at this level of lowering"
    if node.op != "tir.if_then_else":
        return None
    condition, true_value, false_value = node.args
    if not _is_bool(condition.dtype):
        return f"its condition is {condition.dtype}, not bool"
    types = {true_value.dtype, false_value.dtype, node.dtype}
    return None if len(types) == 1 else f"its values have types {', '.join(sorted(types))}"


def _indices(buffer: Buffer, indices: tuple[Expr, ...], level: Level) -> str | None:
    if len(indices) != len(buffer.shape):
        return f"{len(indices)} indices, but {buffer.name} has {len(buffer.shape)} dimensions"
    if level.is_flat and len(indices) != 1 + len(buffer.axis_separators):
        return f"{buffer.name} is accessed by {len(indices)} indices after flattening"
    for position, index in enumerate(indices):
        if not _is_index(index.dtype):
            return f"index {position} is {index.dtype}, not an integer"
        if dtypes.lanes(index.dtype) != 1 and position != len(indices) - 1:
            return f"index {position} is a vector, but not the last"
    return None


def _load(node: E.BufferLoad, level: Level) -> str | None:
    return _indices(node.buffer, node.indices, level) or _mask(node.predicate, node.dtype)


def _mask(predicate: Expr | None, dtype: str) -> str | None:
    if predicate is None or predicate.dtype == dtypes.with_lanes("bool", dtypes.lanes(dtype)):
        return None
    return f"the predicate of {dtype} is {predicate.dtype}"


def _store(node: S.BufferStore, level: Level) -> str | None:
    complaint = _indices(node.buffer, node.indices, level)
    if complaint is not None:
        return complaint
    stored = E.BufferLoad(node.buffer, node.indices).dtype
    if stored != node.value.dtype:
        return f"it stores {node.value.dtype} in {stored}"
    return _mask(node.predicate, stored)


def _for(node: S.For, level: Level) -> str | None:
    if node.kind not in level.loop_kinds:
        return f"a {node.kind} loop does not occur at this level of lowering"
    if (node.kind == "thread_binding") != (node.thread_binding is not None):
        return f"a {node.kind} loop with thread {node.thread_binding}"
    types = [node.loop_var.dtype, node.min.dtype, node.extent.dtype]
    if len(set(types)) != 1 or not _is_index(types[0]):
        return f"variable, min and extent have types {', '.join(types)}"
    return None


def _let(node: E.Let | S.LetStmt, level: Level) -> str | None:
    if node.var.dtype != node.value.dtype:
        return f"{node.var.name} is {node.var.dtype}, its value {node.value.dtype}"
    return None


def _allocate(node: S.Allocate, level: Level) -> str | None:
    if node.buffer_var.dtype != "handle":
        return f"{node.buffer_var.name} is {node.buffer_var.dtype}, not a handle"
    if (scope := node.buffer_var.scope) in level.gone_scopes:
        return f"memory of scope {scope} does not occur at this level of lowering"
    wrong = [extent.dtype for extent in node.extents if not _is_index(extent.dtype)]
    return f"an extent is {wrong[0]}, not an integer" if wrong else _condition(node, level)


def _attribute(node: S.AttrStmt, level: Level) -> str | None:
    if node.key in level.gone_attributes:
        return f"attribute {node.key} does not occur at this level of lowering"
    if node.key in S.THREAD_KEYS and not isinstance(node.node, IterVar):
        return f"attribute {node.key} is of {kind_of(node.node)}, not of an axis"
    if node.key in S.THREAD_KEYS and not _is_index(node.value.dtype):
        return f"the extent is {node.value.dtype}, not an integer"
    return None


def _sequence(node: S.SeqStmt, level: Level) -> str | None:
    if len(node.seq) < 2:
        return f"a sequence of {len(node.seq)}"
    return "a sequence in a sequence" if any(type(s) is S.SeqStmt for s in node.seq) else None


def _block(node: B.Block, level: Level) -> str | None:
    if level.is_opaque and (node.iter_vars or node.init is not None):
        return "it has iterators or an initialization after those of blocks were lowered"
    kinds = [axis.kind for axis in node.iter_vars if axis.kind not in B.BLOCK_KINDS]
    return f"a block has an iterator of kind {kinds[0]}" if kinds else None


def _realize(node: B.BlockRealize, level: Level) -> str | None:
    if len(node.iter_values) != len(node.block.iter_vars):
        return f"{len(node.block.iter_vars)} iterators have {len(node.iter_values)} values"
    return None if _is_bool(node.predicate.dtype) else f"its predicate is {node.predicate.dtype}"


def _buffer_region(node: E.BufferRegion, level: Level) -> str | None:
    if len(node.region) != len(node.buffer.shape):
        return f"{len(node.region)} ranges, but {node.buffer.name} has {len(node.buffer.shape)}"
    return None


_OPERAND_RULES: dict[type, _Rule] = {
    **dict.fromkeys((E.Add, E.Sub, E.Mul, E.Div, E.Mod, E.Min, E.Max), _same_types),
    **dict.fromkeys((E.FloorDiv, E.FloorMod), _integers),
    **dict.fromkeys((E.EQ, E.NE, E.LT, E.LE, E.GT, E.GE), _same_types),
    **dict.fromkeys((E.And, E.Or, E.Not), _truths),
    **dict.fromkeys((S.IfThenElse, S.While, S.AssertStmt, S.BufferRealize), _condition),
    **dict.fromkeys((E.Let, S.LetStmt), _let),
    E.Select: _select,
    E.Cast: _cast,
    E.Ramp: _ramp,
    E.Broadcast: _broadcast,
    E.Call: _call,
    E.BufferLoad: _load,
    S.BufferStore: _store,
    S.For: _for,
}
_RULES: dict[type, _Rule] = {
    **_OPERAND_RULES,
    B.Block: _block,
    B.BlockRealize: _realize,
    E.BufferRegion: _buffer_region,
    S.Allocate: _allocate,
    S.AttrStmt: _attribute,
    S.SeqStmt: _sequence,
}
