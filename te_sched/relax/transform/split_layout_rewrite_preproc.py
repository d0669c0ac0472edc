"""SplitLayoutRewritePreproc: blocks that pack weights become functions of their own.

A schedule that packs an operand marks the block that does ("meta_schedule.layout_rewrite_preproc").
As a function of its own it is computed once for weights that are constants (FoldConstant).
"""

from __future__ import annotations

from dataclasses import dataclass

from te_sched.ir.blocks import Block, BlockRealize
from te_sched.ir.expr import Buffer, Var
from te_sched.ir.graph import GraphCall, GraphExpr, GraphFunction, Tuple, TupleGetItem
from te_sched.ir.op import Op
from te_sched.ir.renew import renew_defs
from te_sched.ir.root_block import is_root
from te_sched.ir.stmt import GlobalVar, IRModule, PrimFunc, SeqStmt, Stmt
from te_sched.ir.struct_info import ShapeExpr, TensorStructInfo, TupleStructInfo
from te_sched.ir.visitor import StatementMapper, replace, walk
from te_sched.lowering.statements import sequence
from te_sched.passes import ModulePass
from te_sched.relax.expr_functor import PyExprMutator, map_call
from te_sched.relax.transform.dead_code_elimination import DeadCodeElimination
from te_sched.transform import Sequential

MARK = "meta_schedule.layout_rewrite_preproc"
_FREE = "layout_free_buffers"


class SplitLayoutRewritePreproc(Sequential):
    """The pass that separates the packing of weights from the functions that use them, and removes
    what is not used.

    A function `f` becomes `f_weight_prepack` and `f_prepacked`, which a graph calls in turn.

    Parameters
    ----------
    to_run : as that of `DeadCodeElimination`.

    >>> from te_sched import IRModule
    >>> SplitLayoutRewritePreproc()(IRModule({})).get_global_vars()
    []
    """

    def __init__(self, *, to_run: bool = False) -> None:
        passes = [_SplitLayoutRewritePreproc(), DeadCodeElimination(to_run=to_run)]
        super().__init__(passes, name="SplitLayoutRewritePreproc")


class _SplitLayoutRewritePreproc(ModulePass, name="SplitLayoutRewritePreprocInner"):
    def transform_module(self, mod: IRModule, *_: object) -> IRModule:
        return _split_functions(mod)


def _split_functions(mod: IRModule) -> IRModule:
    splits: dict[str, SeparatedPacking] = {}
    for name, func in mod.functions.items():
        if isinstance(func, PrimFunc):
            candidate = split_packing(func)
            if candidate is not None:
                splits[str(name)] = candidate
    if not splits:
        return mod
    rest = {name: func for name, func in mod.functions.items() if str(name) not in splits}
    module = mod.with_exactly(rest).clone()
    for name, split in splits.items():
        module.update_func(GlobalVar(f"{name}_weight_prepack"), split.packing)
        module.update_func(GlobalVar(f"{name}_prepacked"), split.rest)
    changed = {
        name: _Caller(module, splits).visit_expr(func)
        for name, func in module.functions.items()
        if isinstance(func, GraphFunction)
    }
    return module.with_functions(changed)


@dataclass(frozen=True)
class SeparatedPacking:
    """A function in two: what packs some of its parameters, and the rest."""

    packing: PrimFunc
    rest: PrimFunc
    places: list[int]  # of the parameters that are packed
    packed: list[Buffer]


def split_packing(func: PrimFunc) -> SeparatedPacking | None:
    """A function in what packs its parameters and the rest; None if nothing can be separated."""
    if not is_root(func.body):
        return None
    root = func.body
    block: Block = root.block
    parts = block.body.seq if isinstance(block.body, SeqStmt) else (block.body,)
    marked = {part: marked_block for part in parts if (marked_block := _marked(part)) is not None}
    if not marked:
        return None
    rest = [part for part in parts if part not in marked]
    buffers = {buffer: param for param, buffer in func.buffer_map.items()}
    used = {node.buffer for part in rest for node in walk(part) if hasattr(node, "buffer")}
    pairs: list[tuple[Buffer, Buffer]] = []
    for marked_block in marked.values():
        sources, results = (
            [r.buffer for r in regions] for regions in (marked_block.reads, marked_block.writes)
        )
        is_simple = len(sources) == len(results) == 1 and sources[0] in buffers
        if not is_simple or sources[0] in used or results[0] not in block.alloc_buffers:
            return None
        pairs.append((sources[0], results[0]))
    handles = {packed: Var(f"var_{packed.name}", "handle") for _, packed in pairs}
    attrs = {key: value for key, value in func.attrs.items() if key != _FREE}
    packing = PrimFunc(
        tuple([*[buffers[source] for source, _ in pairs], *handles.values()]),
        _body(root, [_Unmark().visit(part) for part in marked], []),
        {
            **{buffers[source]: source for source, _ in pairs},
            **{handle: packed for packed, handle in handles.items()},
        },
        {key: value for key, value in attrs.items() if key != "global_symbol"},
    )
    instead = {buffers[source]: handles[packed] for source, packed in pairs}
    packed_ones = [packed for _, packed in pairs]
    kept = [buffer for buffer in block.alloc_buffers if buffer not in packed_ones]
    buffer_map = {
        instead.get(param, param): dict(pairs).get(buffer, buffer)
        for param, buffer in func.buffer_map.items()
    }
    main = PrimFunc(
        tuple([instead.get(param, param) for param in func.params]),
        _body(root, rest, kept),
        buffer_map,
        attrs,
    )
    places = [func.params.index(buffers[source]) for source, _ in pairs]
    return SeparatedPacking(renew_defs(packing), main, places, packed_ones)


def _body(root: BlockRealize, parts: list[Stmt], buffers: list[Buffer]) -> BlockRealize:
    block = replace(root.block, body=sequence(parts), alloc_buffers=tuple(buffers))
    return replace(root, block=block)


def _marked(part: Stmt) -> Block | None:
    """The block of a nest that packs."""
    blocks = [node for node in walk(part) if isinstance(node, Block)]
    return blocks[0] if len(blocks) == 1 and MARK in blocks[0].annotations else None


class _Unmark(StatementMapper):
    def visit_Block(self, node: Block) -> Block:
        kept = {key: value for key, value in node.annotations.items() if key != MARK}
        return replace(self.generic(node), annotations=kept)


class _Caller(PyExprMutator):
    """Calls the two functions in place of one."""

    def __init__(self, module: IRModule, splits: dict[str, SeparatedPacking]) -> None:
        super().__init__(module)
        self._found = splits

    def visit_call_(self, op: GraphCall) -> GraphExpr:
        """A call of a function that was split."""
        call = map_call(self, op)
        if not (isinstance(call.op, Op) and call.op == "relax.call_tir"):
            return call
        name = str(call.args[0])
        split = self._found.get(name)
        if split is None:
            return call
        infos = [
            TensorStructInfo(ShapeExpr(tuple(buffer.shape)), buffer.dtype)
            for buffer in split.packed
        ]
        args = list(call.args[1].fields)
        packed = self.builder_.emit(
            GraphCall(
                call.op,
                (
                    GlobalVar(f"{name}_weight_prepack"),
                    Tuple(tuple([args[p] for p in split.places])),
                ),
                None,
                (infos[0] if len(infos) == 1 else TupleStructInfo(tuple(infos)),),
            )
        )
        for number, index in enumerate(split.places):
            args[index] = packed if len(infos) == 1 else TupleGetItem(packed, number)
        operands = (GlobalVar(f"{name}_prepacked"), Tuple(tuple(args)), *call.args[2:])
        return self.builder_.emit(GraphCall(call.op, operands, call.attrs, call.sinfo_args))
