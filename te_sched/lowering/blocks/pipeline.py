"""The passes from blocks to loops with realized buffers, in TVM's order."""

from __future__ import annotations

from te_sched.ir.ops import is_const
from te_sched.ir.root_block import has_blocks
from te_sched.ir.stmt import For, PrimFunc
from te_sched.ir.visitor import statements
from te_sched.lowering.blocks.compact_buffers import compact_buffers
from te_sched.lowering.blocks.declarations import drop_declarations, has_declarations
from te_sched.lowering.blocks.inject_pipelines import inject_pipelines
from te_sched.lowering.blocks.lower_cross_thread import lower_cross_thread
from te_sched.lowering.blocks.lower_init import lower_init
from te_sched.lowering.blocks.lower_match_buffers import lower_match_buffers
from te_sched.lowering.blocks.lower_opaque_blocks import PRAGMA, lower_opaque_blocks
from te_sched.lowering.blocks.make_opaque import make_opaque
from te_sched.lowering.blocks.place_allocations import place_allocations
from te_sched.lowering.blocks.unify_threads import unify_threads
from te_sched.lowering.simplify import simplify
from te_sched.passes import LoweringPass

_UNIFY = (LoweringPass(unify_threads, "opaque", 0),)
BLOCK_PASSES = (
    LoweringPass(lower_cross_thread, "blocks", 0),
    LoweringPass(lower_init, "blocks", 0),
    LoweringPass(place_allocations, "blocks", 0),
    LoweringPass(make_opaque, "opaque", 0),
    *_UNIFY,
    LoweringPass(compact_buffers, "opaque", 0),
    LoweringPass(lower_match_buffers, "opaque", 0),
    LoweringPass(simplify, "opaque", 0),
    LoweringPass(inject_pipelines, "opaque", 0),
    LoweringPass(lower_opaque_blocks, "declared", 0),
    LoweringPass(drop_declarations, "buffers", 0),
)


def passes_of(func: PrimFunc) -> tuple[LoweringPass, ...]:
    """The passes that a function needs: all of them if it has blocks."""
    if has_blocks(func.body):
        return BLOCK_PASSES
    is_scheduled = func.origin == "schedule"
    loops = [] if is_scheduled else [s for s in statements(func.body) if type(s) is For]
    unify = _UNIFY if any(loop.thread_binding is not None for loop in loops) else ()
    if has_declarations(func.body):
        return (*unify, *BLOCK_PASSES[-2:])
    return (*unify, *(BLOCK_PASSES[-2:-1] if unify or any(map(_is_lowered, loops)) else ()))


def printed_passes_of(func: PrimFunc) -> tuple[LoweringPass, ...]:
    """The passes that a function needs to be printed: TVM also simplifies functions without blocks
    before they are flattened.
    """
    passes = passes_of(func)
    return passes if passes is BLOCK_PASSES else (LoweringPass(simplify, "declared", 0), *passes)


def _is_lowered(loop: For) -> bool:
    """Whether TVM lowers a loop with the blocks: one of one iteration, which it removes, or with
    pragmas.
    """
    has_pragma = any(key.startswith(PRAGMA) for key in loop.annotations)
    return has_pragma or is_const(loop.extent, 1)
