"""Refusals of schedules of blocks, which do not change the schedule."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from te_sched import te, tir
from te_sched.errors import (
    DeclarationError,
    FunctionError,
    HandleError,
    ScheduleError,
    TeSchedError,
)
from te_sched.script import from_source
from te_sched.tensorir.primitives.storage import copy_of
from te_sched.tensorir.rewriting import Swap
from te_sched.trace.trace import Trace
from tests.refusals.table import enter
from tests.tensorir.programs import (
    BLOCKIZED,
    GIVEN,
    LAYOUTS,
    MATMUL,
    MOVED,
    OTHERS,
    PADDED,
    PADDING,
    PARTITIONED,
    REDUCTIONS,
    REINDEXED,
    ROLLED,
    STAGES,
    program,
)

Schedule = tir.Schedule


def refused(text: str, action: Callable[[Any], Any]) -> Callable[[], Any]:
    """A call on the schedule of a program, which must not change it."""

    def call() -> Any:
        sch = Schedule(program(text))
        try:
            action(sch)
        finally:
            again = sch.trace.replay(Schedule(program(text)))
            assert again.mod.script() == sch.mod.script()

    return call


_HALVES = tir.IndexMap.from_func(lambda i: [i // 4, i % 4])
_SEPARATOR = tir.IndexMap.AXIS_SEPARATOR


def _halves(i: Any) -> list[Any]:
    return [i // 4, i % 4]


def loops(sch: Any, name: str) -> Any:
    """The loops of a block."""
    return sch.get_loops(sch.get_block(name))


def _removed(sch: Any) -> Any:
    block = sch.get_block("C")
    sch.remove_rv(block)
    return sch.get(block)


def _gone(sch: Any) -> Any:
    i, *_ = loops(sch, "C")
    sch.split(i, [None, 4])
    return sch.parallel(i)


def _decomposed(sch: Any) -> Any:
    i, *_ = loops(sch, "C")
    sch.decompose_reduction("C", i)
    return sch.parallel(loops(sch, "C_update")[0])


def _two_functions(sch: Any) -> Any:
    both = tir.Schedule(from_source(GIVEN + OTHERS["two functions"]))
    return both.get_block("B")


def _bound(sch: Any) -> Any:
    i, *_ = loops(sch, "D")
    sch.bind(i, "blockIdx.x")
    return sch.split(i, [2, 4])


def _noted(sch: Any) -> Any:
    i, *_ = loops(sch, "D")
    sch.annotate(i, "note", 1)
    return sch.split(i, [2, 4])


def _foreign(sch: Any) -> Any:
    return sch.get_loops(Schedule(program(MATMUL)).get_block("C"))


def _foreign_loop(sch: Any) -> Any:
    other = Schedule(program(MATMUL))
    return sch.parallel(other.split(loops(other, "C")[0], [None, 4])[0])


def _foreign_shared_loop(sch: Any) -> Any:
    return Schedule(sch.mod).parallel(loops(sch, "C")[0])


def _foreign_sample(sch: Any) -> Any:
    other = Schedule(program(MATMUL))
    factors = other.sample_perfect_tile(loops(other, "C")[0], 2)
    return sch.split(loops(sch, "C")[0], factors)


def _same_names(sch: Any) -> Any:
    block = sch.get(sch.get_block("B"))
    one, other = [region.buffer for region in block.reads]
    swap = Swap({other: copy_of(other, one.name, "global")})
    func = sch.mod["main"]
    twice = func.with_body(swap.visit(func.body))
    return Schedule(twice).cache_read("B", "A", "local")


def _json(sch: Any) -> Any:
    return Trace.apply_json_to_schedule([[["NoSuchThing", [], [], []]], []], sch)


def _partition(name: str, place: int, factors: Any, then: Any = None) -> Callable[[Any], Any]:
    """Partition a loop of a block, and call the schedule then."""

    def call(sch: Any) -> Any:
        made = sch.loop_partition(loops(sch, name)[place], factors)
        return then and then(sch, made)

    return call


def _merge(*places: tuple[str, int]) -> Callable[[Any], Any]:
    """Merge loops of blocks."""
    return lambda sch: sch.merge(*[loops(sch, name)[place] for name, place in places])


def _state(number: int, kind: str, ranges: Any, then: Any = None) -> Callable[[Any], Any]:
    """State a region of block D, and call the schedule then."""

    def call(sch: Any) -> Any:
        sch.annotate_buffer_access("D", number, kind, ranges)
        return then and then(sch)

    return call


def _roll(sch: Any) -> Any:
    """Roll the buffer of block B."""
    return sch.rolling_buffer("B", 0)


def _thirds(value: Any) -> Callable[[Any], Any]:
    """Transform the layout of C, with a value of padding."""
    return lambda s: s.transform_layout("C", "C", lambda i, j: [i // 3, i % 3, j], value)


def _pad(sch: Any) -> Any:
    """Pad the iterators of block B."""
    return sch.pad_einsum("B", [4, 4])


def _pad_reduction(sch: Any) -> Any:
    """Pad the reduction iterator of block B."""
    return sch.pad_einsum("B", [1, 4])


def _cache(what: str, block: str, place: int, order: Any) -> Callable[[Any], Any]:
    """Cache a buffer of a block in another order."""
    return lambda s: getattr(s, f"reindex_cache_{what}")(block, place, "local", order)


def _decompose(sch: Any) -> Any:
    """Decompose the padding of block B."""
    block = sch.get_block("B")
    loop = sch.get_loops(block)[0]
    assert not sch.can_decompose_padding(block, loop)
    return sch.decompose_padding(block, loop)


def _at(what: str, block: str, place: int, of: str) -> Callable[[Any], Any]:
    """Copy a buffer of a block at the outermost loop of one."""
    return lambda s: getattr(s, f"{what}_at")(loops(s, of)[0], block, place, "local")


def _first_loop(sch: Any) -> Any:
    """A loop without blocks."""
    found = [one for one in sch.nodes if isinstance(one, tir.Var) and not sch.blocks_of(one)]
    return sch.handle_of(found[0])


# program, call, part of the message
CASES: list[tuple[str, Callable[[Any], Any], str]] = [
    # finding
    (MATMUL, lambda s: s.get_block("Z"), r"no block of main has the name 'Z'(.|\n)*use C, D, root"),
    (MATMUL, lambda s: s.get_block(3), "the name of a block is a text, got an int"),
    (OTHERS["twice"], lambda s: s.get_block("B"), "2 blocks of main have the name B"),
    (MATMUL, lambda s: s.get_block("C", "f"), "the module has no function f(.|\n)*use one of main"),
    (MATMUL, lambda s: s.work_on("f"), "the module has no function f"),
    (MATMUL, lambda s: s.get_block("C", ["main"]), r"the module has no function \['main'\]"),
    (MATMUL, lambda s: s.unsafe_hide_buffer_access("C", "read", 0), "must be a list, got 0"),
    (MATMUL, lambda s: s.reorder_block_iter_var("C", "012"), "must be a list, got '012'"),
    (
        MATMUL,
        lambda s: s.annotate_buffer_access("D", 0, [], lambda i, j: [i, j]),
        r"buf_type is \[\]",
    ),
    (MATMUL, lambda s: s.set_axis_separator("D", "D", 1), "axis_separators must be a list, got 1"),
    (MATMUL, lambda s: s.tensorize("D", "nowhere"), "there is no intrinsic 'nowhere'"),
    (MATMUL, lambda s: s.annotate("D", "note", tir.Var("n") + 1), "cannot be an Add"),
    (MATMUL, _two_functions, "does not know which function to be working on"),
    (MATMUL, lambda s: s.get_loops(loops(s, "C")[0]), "get_loops needs a block, got a LoopRV"),
    (MATMUL, lambda s: s.parallel(s.get_block("C")), "parallelize needs a loop, got a BlockRV"),
    (
        MATMUL,
        lambda s: s.vectorize(s.split(loops(s, "C")[1], [None, 8])),
        r"vectorize needs a loop, got a list(.|\n)*unpack the list of 2 loops: j_0, j_1 = ",
    ),
    (MATMUL, lambda s: s.get_loops(3), "get_loops needs a block, got an int"),
    (MATMUL, _removed, "the handle of block C was removed"),
    (MATMUL, _gone, r"loop i is no longer in the program(.|\n)*it was split into i_0, i_1"),
    (MATMUL, _foreign, r"block C belongs to another schedule(.|\n)*sch.get_block\(name\)"),
    (MATMUL, _foreign_loop, r"loop i_0 belongs to another schedule(.|\n)*sch.get_loops\(block\)"),
    (MATMUL, _foreign_shared_loop, "loop i belongs to another schedule"),
    (
        MATMUL,
        _foreign_sample,
        r"split factor of loop i uses v, which is not a(.|\n)*was sampled by",
    ),
    (MATMUL, lambda s: s.get(tir.Var("v")), "v is not a sampled integer of this schedule"),
    (MATMUL, lambda s: s.get_sref(program(MATMUL).body.block), "is not in the program of this"),
    (MATMUL, lambda s: Schedule(3), "a schedule is of a function or module, got an int"),
    (MATMUL, lambda s: Schedule(program(MATMUL), debug_mask="some"), "debug_mask must be one of"),
    (MATMUL, lambda s: tir.BlockRV(3), "a handle of a block cannot be made of an int"),
    (MATMUL, lambda s: s.seed("a"), "the seed must be an integer, got 'a'"),
    (MATMUL, lambda s: s.seed(0), "the seed must be from 1 to 2147483647, got 0"),
    (MATMUL, _json, "invalid JSON of a trace"),
    (
        "@T.prim_func\ndef main(A: T.Buffer((8,), 'int32')):\n    A[0] = 1\n",
        lambda s: s.get_block("B"),
        r"no block of main has the name 'B'(.|\n)*schedule a program with blocks",
    ),
    # loops
    (MATMUL, lambda s: s.split(loops(s, "C")[0], [None, None]), "2 split factors of loop i are"),
    (MATMUL, lambda s: s.split(loops(s, "C")[0], [0, None]), "must be at least 1, got 0"),
    (MATMUL, lambda s: s.split(loops(s, "C")[0], [2, 3]), "have the product 6, and it has 8"),
    (MATMUL, lambda s: s.split(loops(s, "C")[0], 4), "must be a list, got 4"),
    (MATMUL, lambda s: s.split(loops(s, "C")[0], []), r"must be a list, got \[\]"),
    (MATMUL, lambda s: s.split(loops(s, "C")[0], [None, 2.5]), "must be an integer, got 2.5"),
    (MATMUL, lambda s: s.split(loops(s, "C")[0], [None, True]), "must be an integer, got True"),
    (MATMUL, _bound, "cannot split loop i(.|\n)*bound to blockIdx.x"),
    (MATMUL, _noted, "cannot split loop i(.|\n)*annotation note"),
    (OTHERS["from one"], lambda s: s.split(loops(s, "B")[0], [2, 4]), "starts at 1, not at 0"),
    (
        OTHERS["updated by a loop"],
        lambda s: s.split(loops(s, "B")[0], [2, 2], disable_predication=True),
        "cannot split loop j into more iterations: they repeat block B",
    ),
    (
        MATMUL,
        _decomposed,
        r"block C_update is (.|\n)*has no T.init(.|\n)*apply this before decompose_reduction",
    ),
    (MATMUL, lambda s: s.fuse(), "fuse needs a loop, got none"),
    (MATMUL, lambda s: s.fuse(*loops(s, "C")[1::-1]), "cannot fuse loops j and i"),
    (OTHERS["triangle"], lambda s: s.fuse(*loops(s, "B")), "cannot fuse loop j before loop i"),
    (MATMUL, lambda s: s.reorder(*loops(s, "C")[:1] * 2), "loop i is given twice to reorder"),
    (
        MATMUL,
        lambda s: s.reorder(loops(s, "C")[0], loops(s, "D")[0]),
        "cannot reorder loops i .around block D. and i(.|\n)*is not inside of i",
    ),
    (
        OTHERS["siblings"],
        lambda s: s.reorder(loops(s, "C")[1], loops(s, "C")[0]),
        "has other statements beside j",
    ),
    (
        OTHERS["triangle"],
        lambda s: s.reorder(*loops(s, "B")[::-1]),
        "cannot reorder loop j before loop i(.|\n)*depend on i",
    ),
    (OTHERS["scan"], lambda s: s.reorder(*loops(s, "B")[::-1]), "neither spatial nor reduce"),
    (OTHERS["squares"], lambda s: s.reorder(*loops(s, "B")[::-1]), "not affine in the loops"),
    (MATMUL, lambda s: s.add_unit_loop("root"), "cannot add a loop around block root|the root"),
    # kinds of loops and annotations
    (MATMUL, lambda s: s.parallel(loops(s, "C")[2]), "cannot parallelize reduction loop k"),
    (MATMUL, lambda s: s.vectorize(loops(s, "C")[2]), "cannot vectorize reduction loop k"),
    (MATMUL, lambda s: s.bind(loops(s, "C")[2], "blockIdx.x"), "cannot bind reduction loop k"),
    (
        OTHERS["begun elsewhere"],
        lambda s: s.vectorize(loops(s, "B")[0]),
        r"cannot vectorize loop i(.|\n)*, block B(.|\n)*B is neither complete(.|\n)*has no T.init"
        r"(.|\n)*write `with T.init\(\): B\[...\] = ...` in block B",
    ),
    (
        OTHERS["begun elsewhere"],
        lambda s: s.rfactor(loops(s, "B")[1], 0),
        r"it is not a reduction: it has no T.init(.|\n)*write `with T.init\(\): B\[...\]",
    ),
    (MATMUL, lambda s: s.bind(loops(s, "C")[0], "threadIdx.w"), "there is no thread axis"),
    (
        MATMUL,
        lambda s: s.bind(loops(s, "C")[0], te.thread_axis("threadIdx.x")),
        r'there is no thread axis T.iter_var(.*\n)*.*give its tag: "threadIdx.x"',
    ),
    (OTHERS["opaque"], lambda s: s.parallel(loops(s, "B")[0]), "uses i in its body"),
    (OTHERS["scan"], lambda s: s.parallel(loops(s, "B")[1]), "is not data parallel: its iter"),
    (OTHERS["stencil"], lambda s: s.parallel(loops(s, "B")[0]), "it reads and writes A"),
    (OTHERS["both write"], lambda s: s.parallel(loops(s, "B")[0]), "block C writes A, too"),
    (MATMUL, lambda s: s.annotate("C", 3, 1), "the name of an annotation is a text"),
    (MATMUL, lambda s: s.annotate("C", "x", object()), "an annotation cannot be an object"),
    (MATMUL, lambda s: s.annotate("C", "x", tir.Var("n")), "an annotation must be a number, got n"),
    (MATMUL, lambda s: s.unannotate("C", "x"), "C has no annotation 'x'"),
    # inlining
    (MATMUL, lambda s: s.compute_inline("C"), "cannot inline block C(.|\n)*it has T.init"),
    (MATMUL, lambda s: s.compute_inline("D"), "D is needed outside(.|\n)*output block"),
    (MATMUL, lambda s: s.compute_inline("root"), "cannot inline the root block"),
    (MATMUL, lambda s: s.reverse_compute_inline("D"), "its producer C is a reduction"),
    (STAGES, lambda s: s.reverse_compute_inline("B"), "must have one producer, and has none"),
    (OTHERS["updated"], lambda s: s.compute_inline("B"), "it is not one store to an element"),
    (OTHERS["view"], lambda s: s.compute_inline("B"), "it allocates or matches buffers"),
    (OTHERS["vector"], lambda s: s.compute_inline("B"), "a vector of elements of B is read"),
    (OTHERS["viewed"], lambda s: s.compute_inline("B"), "accessed by a pointer or a view"),
    (OTHERS["diagonal"], lambda s: s.compute_inline("B"), "are not different iterators"),
    (OTHERS["last wins"], lambda s: s.compute_inline("B"), "its iterator vj is not an index"),
    (OTHERS["alone"], lambda s: s.compute_inline("B"), "it is the only block of root"),
    (OTHERS["stencil"], lambda s: s.compute_inline("B"), "it reads and writes A"),
    (OTHERS["stencil"], lambda s: s.reverse_compute_inline("B"), "it reads and writes A"),
    (OTHERS["two readers"], lambda s: s.reverse_compute_inline("C"), "D reads B, too"),
    (OTHERS["window"], lambda s: s.reverse_compute_inline("C"), "does not read one element of B"),
    (OTHERS["beyond"], lambda s: s.reverse_compute_inline("C"), "does not store all elements"),
    (OTHERS["repeated"], lambda s: s.reverse_compute_inline("C"), "vj is not determined by B"),
    (
        OTHERS["gather"],
        lambda s: s.reverse_compute_inline("C"),
        "not an affine map",
    ),
    (OTHERS["updated twice"], lambda s: s.reverse_compute_inline("C"), "producer B is not compl"),
    # reductions
    (
        MATMUL,
        lambda s: s.decompose_reduction("C", loops(s, "D")[0]),
        "i is not a loop around it",
    ),
    (
        MATMUL,
        lambda s: s.decompose_reduction("D", loops(s, "D")[0]),
        "cannot decompose block D(.|\n)*it has no T.init",
    ),
    (
        MATMUL,
        lambda s: (
            s.reorder(*[loops(s, "C")[number] for number in (2, 0)]),
            s.decompose_reduction("C", loops(s, "C")[1]),
        ),
        "the reduction loop k is around it",
    ),
    (OTHERS["siblings"], lambda s: s.rfactor(loops(s, "B")[0], 0), "2 blocks are in it"),
    (
        MATMUL,
        lambda s: (s.unroll(loops(s, "C")[2]), s.rfactor(loops(s, "C")[2], 0)),
        "over loop k: the loop is not serial(.|\n)*it is unrolled",
    ),
    (MATMUL, lambda s: s.rfactor(loops(s, "D")[1], 0), "it is not a reduction: it has no T.init"),
    (MATMUL, lambda s: s.rfactor(loops(s, "C")[1], 0), "loop j is not a reduction loop"),
    (
        MATMUL,
        lambda s: (s.fuse(*loops(s, "C")[1:]), s.rfactor(loops(s, "C")[1], 0)),
        "j_k_fused is a loop of spatial and of reduction iterators",
    ),
    (
        MATMUL,
        lambda s: s.rfactor(s.split(loops(s, "C")[2], [5, None])[0], 0),
        r"the block has the condition k_0 \* 2 \+ k_1 < 8",
    ),
    (MATMUL, lambda s: s.rfactor(loops(s, "C")[2], 3), "the results have 2 dimensions"),
    (
        REDUCTIONS["in one loop"],
        lambda s: s.rfactor(loops(s, "C")[1], 0),
        "block B writes B in loop i",
    ),
    (
        REDUCTIONS["beside"],
        lambda s: s.rfactor(loops(s, "C")[2], 0),
        "loop k has other blocks in it, too",
    ),
    (
        REDUCTIONS["two results"],
        lambda s: s.rfactor(loops(s, "B")[1], 0),
        "it does not update the elements that it initializes",
    ),
    (
        REDUCTIONS["other elements"],
        lambda s: s.rfactor(loops(s, "B")[1], 0),
        "it initializes and updates different elements",
    ),
    (
        REDUCTIONS["difference"],
        lambda s: s.rfactor(loops(s, "B")[1], 0),
        "its update is not a known commutative reduction",
    ),
    (
        REDUCTIONS["two stores"],
        lambda s: s.rfactor(loops(s, "B")[1], 0),
        "its body is not a store for each result",
    ),
    (
        REDUCTIONS["no variable"],
        lambda s: s.rfactor(loops(s, "B")[1], 0),
        "B is stored without a variable for its value",
    ),
    (
        REDUCTIONS["two shapes"],
        lambda s: s.rfactor(loops(s, "B")[1], 0),
        "its results B and C have different shapes",
    ),
    (
        REDUCTIONS["read beyond"],
        lambda s: s.rfactor(loops(s, "B")[1], 0),
        r"block C reads more of B than is written",
    ),
    # buffers
    (MATMUL, lambda s: s.cache_read("C", 2, "local"), "has no buffer number 2 that it reads"),
    (MATMUL, lambda s: s.cache_read("C", "Z", "local"), "has no buffer Z that it reads"),
    (OTHERS["same name"], _same_names, "block B reads several A"),
    (MATMUL, lambda s: s.cache_read("C", 0, "local", 3), "consumer_blocks must be a list, got 3"),
    (MATMUL, lambda s: s.bind(loops(s, "D")[0], np.zeros(2)), "there is no thread axis"),
    (MATMUL, lambda s: s.cache_read("C", 0, "moon"), "there is no storage scope 'moon'"),
    (MATMUL, lambda s: s.cache_read("C", 0, "local", ["D"]), "block D does not read A"),
    (MATMUL, lambda s: s.cache_read("root", 0, "local"), "to the root block|root block"),
    (
        OTHERS["both write"],
        lambda s: s.cache_read("D", 0, "local"),
        "several blocks write it: B, C",
    ),
    (OTHERS["both write"], lambda s: s.cache_write("B", 0, "local"), "several blocks write it"),
    (OTHERS["accumulated"], lambda s: s.cache_read("B", 0, "local"), "no other block reads it"),
    (MATMUL, lambda s: s.set_scope("D", 0, "local"), "no block allocates it"),
    (MATMUL, lambda s: s.storage_align("C", 0, 2, 32, 8), "C has no dimension 2"),
    (MATMUL, lambda s: s.storage_align("C", 0, 0, 0, 8), "must be at least 1, got 0"),
    (MATMUL, lambda s: s.storage_align("D", 0, 0, 8, 8), "cannot align D of block D"),
    (MATMUL, lambda s: s.reindex("C", "Z"), "has no buffer Z that it accesses"),
    (MATMUL, lambda s: s.reindex("C", ("update", 0)), "the buffer of block C is .'update', 0."),
    (MATMUL, lambda s: s.reindex("C", ("read", 3)), "has no buffer number 3 that it reads"),
    (
        REINDEXED["updated apart"],
        lambda s: s.reindex("B", ("write", 0)),
        r"the indices \[vi, vj\] are not proven|the indices \[vi \+ vj\] are not proven",
    ),
    (
        REINDEXED["begun"],
        lambda s: s.reindex("B", ("read", 1)),
        "it initializes it before it reads it",
    ),
    (MATMUL, lambda s: s.reindex("root", 0), "the buffer of block root is 0|root block"),
    (
        OTHERS["window"],
        lambda s: s.reindex("C", ("read", 0)),
        "cannot reindex B of block C(.|\n)*it accesses it at",
    ),
    (
        REINDEXED["by element"],
        lambda s: s.reindex("B", "A"),
        "an index is an element of a buffer",
    ),
    (REINDEXED["by loop"], lambda s: s.reindex("B", "A"), "l is an index and not an iterator"),
    (REINDEXED["pointer"], lambda s: s.reindex("B", "A"), "it has no load or store of it"),
    (REINDEXED["from below"], lambda s: s.reindex("B", "A"), "its iterator vi begins at -2"),
    (OTHERS["view"], lambda s: s.reindex("B", "A"), "it has blocks or views in it"),
    (
        REINDEXED["last one wins"],
        lambda s: s.reindex("B", "B"),
        "its iterator vj is not an index, so elements are written twice",
    ),
    (
        REINDEXED["reduced"],
        lambda s: s.reindex("B", "B"),
        "its reduction iterator vj is an index",
    ),
    (
        REINDEXED["written in the loops"],
        lambda s: s.reindex("C", "B"),
        "block M in the same loops accesses it, too",
    ),
    (
        REINDEXED["in init"],
        lambda s: s.reindex("zero", ("write", 0)),
        "it is in T.init.. of block B",
    ),
    (
        MATMUL,
        lambda s: s.cache_index("root", "local"),
        "cannot apply cache_index to the root block",
    ),
    (MATMUL, _at("read", "D", 0, "C"), "no block in the loop reads it"),
    (OTHERS["nested"], _at("read", "outer", 0, "inner"), "they are in different block scopes"),
    (MOVED["written later"], _at("read", "B", 0, "B"), "block C writes it after it is read"),
    (MOVED["written twice"], _at("write", "B", 0, "B"), "several blocks write it"),
    (MOVED["updated"], _at("write", "B", 0, "B"), "the block updates it"),
    (MOVED["read before"], _at("write", "B", 0, "B"), "block C in the same statement of the loop"),
    (MOVED["every second"], _at("write", "B", 0, "B"), "not proven to write all elements"),
    (MATMUL, lambda s: s.cache_index("C", "local", -1), "cse_thresh is -1"),
    (MATMUL, lambda s: s.cache_index("C", "local"), "no expression of its iterators that occurs 1"),
    (OTHERS["nested"], lambda s: s.cache_index("outer", "local"), "it has blocks in it"),
    (MATMUL, lambda s: s.cache_inplace("D", 0, "local"), "it does not write C"),
    (REINDEXED["initialized"], lambda s: s.cache_inplace("B", 0, "local"), "it has T.init"),
    (REINDEXED["in a condition"], lambda s: s.cache_inplace("B", 0, "local"), "is in a condition"),
    (REINDEXED["in init"], _cache("write", "zero", 0, lambda i: i), "it is in T.init"),
    (REINDEXED["updated"], _cache("write", "B", 0, lambda i: i), "it reads and writes it"),
    (STAGES, _cache("read", "C", 0, _HALVES), "map takes 1 indices, expected 2"),
    (STAGES, _cache("read", "C", 0, 3), "index_map is an int, expected a function"),
    (STAGES, _cache("read", "C", 0, lambda i, j: (i + 1, j)), "begins at 1, expected 0"),
    (STAGES, _cache("read", "C", 0, lambda i, j: i), "iterator vj is in .vi, vj. and not in .vi."),
    (MATMUL, _cache("write", "C", 0, lambda i, j, k: (i, j, k)), "vk is in .vi, vj, vk. and not"),
    (
        STAGES,
        _cache("read", "C", 0, lambda i, j: i + j),
        r"the indices \[vi \+ vj\] are not proven",
    ),
    (
        REINDEXED["conditional"],
        _cache("write", "B", 0, lambda i, k: i),
        r"condition i \+ k < 10 depends on loops of its indices and on others",
    ),
    # layouts
    (MATMUL, lambda s: s.transform_layout("C", "C", 3), "index_map is an int"),
    (
        MATMUL,
        lambda s: s.transform_layout("C", "C", tir.IndexMap.from_func(lambda i: [i])),
        "the index map takes 1 indices, expected 2",
    ),
    (
        MATMUL,
        lambda s: s.transform_block_layout("D", lambda i, j: [i, tir.IndexMap.AXIS_SEPARATOR, j]),
        "index_map has AXIS_SEPARATOR",
    ),
    (
        MATMUL,
        lambda s: s.transform_layout("C", "C", lambda i, j: [i, *[_SEPARATOR] * 2, j]),
        "index_map has AXIS_SEPARATOR twice",
    ),
    (
        MATMUL,
        lambda s: s.set_axis_separator("C", ("write", 0), [2, 1]),
        r"the axis separators of C are \[2, 1\]",
    ),
    (
        MATMUL,
        lambda s: (
            s.set_axis_separator("C", ("write", 0), [2]),
            s.transform_layout("C", "C", lambda i, j: [i * 8 + j]),
        ),
        r"its axis separators are \[2\], but it would have 1 dimension",
    ),
    (
        MATMUL,
        lambda s: s.transform_layout("C", "C", lambda i, j: [i // 3, i % 3, j]),
        r"the new shape \[3, 3, 8\] has elements to which none of \[8, 8\] is mapped: those with",
    ),
    (
        MATMUL,
        lambda s: s.transform_layout("C", "C", lambda i, j: [i, j + tir.Var("n")]),
        "the index map uses n(.|\n)*neither an index, nor a size of the function",
    ),
    (MATMUL, _thirds("a"), "pad_value is handle, and C is float32"),
    (MATMUL, _thirds(3), "pad_value is int32, and C is float32"),
    (MATMUL, _thirds(lambda i, j: 0.0), "the function of the index map takes 2 indices"),
    (MATMUL, _thirds(tir.IndexMap.from_func(lambda i: [i])), "pad_value takes 1 indices, expec"),
    (MATMUL, _thirds(lambda i, j, k: [0.0, 1.0]), "pad_value gives 2 values, expected one"),
    (MATMUL, _thirds(lambda i, j, k: tir.decl_buffer((1,), name="O")[0]), "which reads a buffer"),
    (
        MATMUL,
        lambda s: s.transform_layout("C", "C", lambda i, j: [i]),
        "cannot transform the layout of C of block C",
    ),
    (
        OTHERS["viewed"],
        lambda s: s.transform_layout("B", "B", lambda i: [7 - i]),
        "is a view of it",
    ),
    (REINDEXED["pointer"], lambda s: s.transform_layout("B", "A", _halves), "its address is used"),
    (
        LAYOUTS["strides"],
        lambda s: s.transform_layout("B", "A", _halves),
        "it has strides or an off",
    ),
    (
        LAYOUTS["alias"],
        lambda s: s.transform_layout("B", "A", _halves),
        "another parameter is a view",
    ),
    (
        MATMUL,
        lambda s: s.transform_block_layout("C", lambda i, j, k: [i, j * 8 + k]),
        "is made of iterators of several kinds",
    ),
    (
        MATMUL,
        lambda s: s.transform_block_layout("D", lambda i, j: [i]),
        "cannot transform the order of block D",
    ),
    (
        MATMUL,
        lambda s: (s.fuse(*loops(s, "D")), s.transform_block_layout("D", lambda i, j: [j, i])),
        "its iterators are not its loops",
    ),
    (
        OTHERS["from one"],
        lambda s: s.transform_block_layout("B", lambda i: [i]),
        "loop i begins at 1",
    ),
    (
        OTHERS["siblings"],
        lambda s: s.transform_block_layout("B", lambda i, j: [j, i]),
        "loop i has other blocks in it, too",
    ),
    (
        LAYOUTS["guarded"],
        lambda s: s.transform_block_layout("B", lambda i: [7 - i]),
        "it has the condition i < 5",
    ),
    # movement
    (MATMUL, lambda s: s.compute_at("C", loops(s, "C")[0]), "is an ancestor of block C"),
    (MATMUL, lambda s: s.compute_at("D", loops(s, "C")[0]), "it is an output block"),
    (
        OTHERS["two readers"],
        lambda s: s.compute_at("B", loops(s, "C")[0]),
        "requires all the consumers of the block to be in the loop, and D is not",
    ),
    (
        OTHERS["read result"],
        lambda s: s.reverse_compute_at("B", loops(s, "D")[0]),
        "block C reads B before the loop",
    ),
    (
        OTHERS["two readers"],
        lambda s: s.reverse_compute_at("B", loops(s, "D")[0]),
        "block C reads B before the loop",
    ),
    (
        OTHERS["overwritten"],
        lambda s: s.compute_at("B", loops(s, "D")[0]),
        "block X writes A after B reads it",
    ),
    (
        OTHERS["overwritten"],
        lambda s: s.compute_inline("B"),
        "block X writes A after B reads it",
    ),
    (
        OTHERS["overwritten"],
        lambda s: s.reverse_compute_inline("D"),
        "block X writes A after B reads it",
    ),
    (
        OTHERS["overwritten"],
        lambda s: s.rfactor(loops(s, "S")[1], 0),
        "block X writes A after B reads it",
    ),
    (
        OTHERS["unwritten"],
        lambda s: s.compute_at("B", loops(s, "C")[0]),
        "block C reads more of E than is written before",
    ),
    (
        OTHERS["overlapping"],
        lambda s: s.reverse_compute_at("C", loops(s, "B")[0]),
        "instances access the same elements of B, those of B\\[vi:vi \\+ 3\\]",
    ),
    (
        OTHERS["padded"],  # else C[0] and C[9] would not be written
        lambda s: s.reverse_compute_at("C", loops(s, "B")[0]),
        "some of its instances may read B\\[vi - 1\\], which no producer writes",
    ),
    (
        OTHERS["window sum"],
        lambda s: s.reverse_compute_at("C", loops(s, "B")[0]),
        "instances access the same elements of B, those of B\\[vi \\+ vk\\]",
    ),
    (
        MATMUL,
        lambda s: s.reverse_compute_at("D", loops(s, "C")[0], index=5),
        "index 5 is not after its producers(.|\n)*give a number from 1 to 1",
    ),
    (
        OTHERS["nested"],
        lambda s: s.compute_at("B", loops(s, "inner")[0]),
        "not in the same block scope",
    ),
    (
        OTHERS["read before"],
        lambda s: s.compute_at("B", loops(s, "C")[0]),
        "neither a complete block",
    ),
    (
        OTHERS["half"],
        lambda s: s.compute_at("B", loops(s, "C")[0]),
        "do not take exactly the values of their domains",
    ),
    (
        REDUCTIONS["repeated"],
        lambda s: s.decompose_reduction("C", loops(s, "C")[0]),
        "no iterator depends on loop i: each of its iterations computes the whole reduction",
    ),
    # loops made of one, and one of several
    (MATMUL, _partition("D", 0, [8]), "have the sum 8, and it has 8 iterations"),
    (MATMUL, _partition("D", 0, [None]), "have the sum 0, and it has 8 iterations"),
    (MATMUL, _partition("D", 0, []), r"factors of loop i must be a list, got \[\]"),
    (MATMUL, _partition("D", 0, [None, None]), "2 partition factors of loop i are None"),
    (MATMUL, _partition("D", 0, [0, None]), "must be at least 1, got 0"),
    (MATMUL, _partition("D", 0, [1], lambda s, made: s.loop_partition(made[1], [2])), "at 1, not"),
    (OTHERS["symbolic"], _partition("B", 0, [2, None]), "its extent is n"),
    (OTHERS["siblings"], _partition("B", 0, [2, None]), "it has the blocks B, C in it"),
    (
        PARTITIONED["no block"],
        lambda s: s.loop_partition(_first_loop(s), [2, None]),
        "it has no block in it",
    ),
    (
        REINDEXED["window"],
        _partition("B", 1, [2, None], lambda s, made: s.cache_write("B_j0", 0, "local")),
        r"cannot cache B of block B_j0(.|\n)*it accesses it at vi, vj and at vi, 0",
    ),
    (
        MATMUL,
        _partition("C", 0, [2, None], lambda s, made: s.compute_at("C_i_common", loops(s, "D")[0])),
        "it groups blocks, and does not state what they access",
    ),
    (MATMUL, _merge(("C", 0)), "merge needs different loops, got i"),
    (MATMUL, lambda s: s.merge(), "merge needs different loops, got None"),
    (PARTITIONED["three"], _merge(("B", 0), ("D", 0)), "block B and block C, which comes before"),
    (PARTITIONED["transposed"], _merge(("B", 0), ("C", 0)), "access elements of B in block C"),
    (PARTITIONED["two scopes"], _merge(("B", 0), ("C", 0)), "they are in different block scopes"),
    (PARTITIONED["other extents"], _merge(("B", 0), ("C", 0)), "they have 8 and 4 iterations"),
    (PARTITIONED["in a condition"], _merge(("B", 0), ("C", 0)), "it is in a condition"),
    (STAGES, _merge(("B", 0), ("C", 1)), "1 and 2 loops are to be merged"),
    (PARTITIONED["two and one"], _merge(("B", 1), ("D", 1)), "has other statements beside j"),
    # stated regions
    (MATMUL, _state(0, "both", lambda i, j: [i, j]), "buf_type is 'both'"),
    (MATMUL, _state(0, "read", 3), "gen_new_ranges is a function, got an int"),
    (MATMUL, _state(0, "read", lambda i: [i, i]), "cannot take the 2 iterators of block D"),
    (MATMUL, _state(0, "read", lambda i, j: [i]), "gives 1 ranges for C of block D"),
    (MATMUL, _state(0, "read", lambda i, j: [i, (j, j, j)]), "gives 3 numbers for a dimension"),
    (MATMUL, _state(0, "read", lambda i, j: [i, j + 1]), "region of C of block D is too small"),
    (MATMUL, _state(0, "write", lambda i, j: [(0, 4), j]), "the block writes index vi, which"),
    (
        MATMUL,
        _state(0, "write", lambda i, j: [i, (0, 8)], lambda s: s.cache_write("D", 0, "local")),
        "cannot cache D of block D(.|\n)*it may write less of it",
    ),
    (
        STAGES,
        lambda s: (
            s.annotate_buffer_access("B", 0, "write", lambda i, j: [(i, i + 2), j]),
            s.reverse_compute_at("C", loops(s, "B")[0]),
        ),
        "cannot move block C below loop i(.|\n)*it may write less of it",
    ),
    # rolling buffers
    (STAGES, lambda s: s.rolling_buffer("root", 0), "cannot apply rolling_buffer to the root"),
    (STAGES, lambda s: s.rolling_buffer("B", 0), "it and its consumers are in no common loop"),
    (STAGES, lambda s: s.rolling_buffer("C", 0), "the block around it does not allocate the"),
    (ROLLED["twice"], _roll, "several blocks write it"),
    (ROLLED["updated"], _roll, "the block reads and writes it"),
    (ROLLED["before"], _roll, "block D reads B before it is written"),
    (ROLLED["unused"], _roll, "no other block of the scope reads it"),
    (ROLLED["view"], _roll, "block C accesses it by a pointer or a view"),
    (ROLLED["apart"], _roll, "consecutive iterations have no common elements: vi"),
    (ROLLED["from one"], _roll, "loop i starts at 1, not at 0"),
    (ROLLED["diagonal"], _roll, "loop i moves several dimensions"),
    (ROLLED["of a loop"], _roll, "block B uses a loop around it in its body"),
    (ROLLED["over a loop"], _roll, "block B reduces over a loop around the window"),
    (ROLLED["of a time"], _roll, "iterator vt of block X depends on a loop that moves"),
    (ROLLED["in a condition"], _roll, r"the block has the condition i \+ a \* 2 < 30"),
    (ROLLED["old elements"], _roll, r"is not proven to be in the window from i on"),
    (
        ROLLED["plain"],
        lambda s: (s.vectorize(loops(s, "C")[0]), _roll(s)),
        "the iterations of loop i do not run in order",
    ),
    (
        ROLLED["plain"],
        lambda s: (s.split(loops(s, "B")[1], [2, 2]), _roll(s)),
        r"dimension 0 is not written by one iterator i \+ loop",
    ),
    # padded einsums
    (STAGES, lambda s: s.pad_einsum("root", []), "cannot apply pad_einsum to the root block"),
    (STAGES, lambda s: s.pad_einsum("B", [4]), r"padding is \[4\](.|\n)*give 2 numbers"),
    (STAGES, lambda s: s.pad_einsum("B", [4, 0]), r"padding is \[4, 0\]"),
    (STAGES, lambda s: s.pad_einsum("B", [4, 1.5]), "padding must be an integer, got 1.5"),
    (PADDED["maximum"], _pad, "padding of iterator vk would add the value (.|\n)*in place of -1.0"),
    (PADDED["constant"], _pad, r"would add the value T.float32\(1\) to results, in place of 0"),
    (PADDED["exponential"], _pad, "the padding of iterator vk would add the value T.exp"),
    (PADDED["larger"], _pad, r"the padding of iterator vk would add the value D\[vk\]"),
    (PADDED["division"], _pad, r"it divides by T.Cast\(.*, which is zero in the padding"),
    (PADDED["iterator"], _pad, "it divides by vk - 14, which is zero in the padding"),
    (PADDED["call"], _pad, "it calls T.call_extern(.|\n)*which may have effects"),
    (PADDED["reversed"], _pad, r"it accesses D\[12 - vk\]: the indices are not iterators"),
    (PADDED["twice"], _pad, "it accesses A at two places"),
    (PADDED["element"], _pad, "3 is an index of A"),
    (PADDED["updated"], _pad, "it reads and writes B"),
    (PADDED["not begun"], _pad, "its iterator vk is padded, and it has no T.init"),
    (PADDED["guarded"], _pad, "it has statements other than plain stores"),
    (PADDED["allocated"], _pad, "it allocates or matches buffers"),
    (PADDED["hidden"], _pad, "it does not state that it accesses D"),
    (PADDED["partial"], _pad, "its loops do not give all values of iterator vi = i"),
    (PADDED["from three"], _pad, "its iterator vi does not begin at 0"),
    (PADDED["larger result"], _pad, "it does not write all elements of B, which has the shape"),
    (PADDED["raw"], _pad, "loop i has other statements, too"),
    (PADDED["raw"], _pad_reduction, "a statement in loop i accesses D outside of blocks"),
    (PADDED["written"], _pad_reduction, "block C in the same loops accesses D, too"),
    (
        PADDED["later"],
        lambda s: (
            s.split(loops(s, "B")[0], [10, 1]),
            s.pad_einsum("B", [4, 1]),
        ),
        "block C in the same loops accesses B, too",
    ),
    # decomposed padding
    (
        STAGES,
        lambda s: s.decompose_padding("root", loops(s, "B")[0]),
        "cannot apply decompose_padding to the root block",
    ),
    (
        PADDING["plain"],
        lambda s: s.decompose_padding("B", loops(s, "C")[0]),
        "i is not a loop around it(.|\n)*give one of i",
    ),
    (PADDING["plain"], lambda s: s.can_decompose_padding("B", 3), "needs a loop, got an int"),
    (PADDING["raw"], _decompose, "a statement in loop i accesses B outside of blocks"),
    (PADDING["later"], _decompose, "block C may read elements before they are written"),
    (PADDING["select"], _decompose, "it stores T.Select(.|\n)*, which no condition chooses"),
    (PADDING["two stores"], _decompose, "it is not one store to an element"),
    (PADDING["element"], _decompose, r"the value of its padding is A\[0\], and not a constant"),
    (PADDING["always"], _decompose, "its condition always holds"),
    (PADDING["never"], _decompose, "its condition never holds"),
    (PADDING["empty"], _decompose, "its condition never holds"),
    (PADDING["strided"], _decompose, "its condition vi % 2 == 0 does not bound an iterator"),
    (PADDING["folded"], _decompose, "the indices vi % 4 are not a one-to-one map of its iterators"),
    (PADDING["updated"], _decompose, "it is not complete: it reads and writes B"),
    # blocks of blocks
    (MATMUL, lambda s: s.blockize(loops(s, "C")[1]) and s.blockize(3), "blockize needs a|blockize"),
    (OTHERS["siblings"], lambda s: s.blockize(loops(s, "B")[0]), "it has 2 blocks in it"),
    (OTHERS["beside"], lambda s: s.blockize(loops(s, "B")[0]), "has other statements than block B"),
    (
        MATMUL,
        lambda s: (
            s.split(loops(s, "D")[0], [None, 4]),
            s.reorder(loops(s, "D")[1], loops(s, "D")[0]),
            s.blockize(loops(s, "D")[1]),
        ),
        "do not divide into a part",
    ),
    (
        BLOCKIZED["of a loop outside"],
        lambda s: s.blockize(loops(s, "B")[0]),
        "an iterator of block B depends on loop i, which is outside",
    ),
    (BLOCKIZED["two"], lambda s: s.blockize([]), "it takes several blocks, each once"),
    (BLOCKIZED["two"], lambda s: s.blockize(["B", "B"]), "it takes several blocks, each once"),
    (BLOCKIZED["two"], lambda s: s.blockize(["B", 3]), "blockize needs a block, got an int"),
    (BLOCKIZED["two"], lambda s: s.blockize(["B", "root"]), "cannot blockize the root block"),
    (
        BLOCKIZED["two"],
        lambda s: s.blockize(["C", "B"]),
        "block C would run before block B, and both access B",
    ),
    (BLOCKIZED["three"], lambda s: s.blockize(["B", "R"]), "their loops do not follow each other"),
    (BLOCKIZED["two scopes"], lambda s: s.blockize(["B", "C"]), "are in different block scopes"),
    (BLOCKIZED["in a condition"], lambda s: s.blockize(["B", "C"]), "block B is in a condition"),
    (BLOCKIZED["fewer"], lambda s: s.blockize(["R", "C"]), "block C has more iterators than block"),
    (
        BLOCKIZED["other loops"],
        lambda s: s.blockize(["B", "C"]),
        "of block C for the loops around the blocks is n, and that of block B is m",
    ),
    (
        BLOCKIZED["one outer condition"],
        lambda s: s.blockize(["B", "C"]),
        "the part of iterator vi of block C",
    ),
    (
        BLOCKIZED["two conditions"],
        lambda s: s.blockize(["B", "C"]),
        "have the condition n < 2 in block C, and n < 3 in block B",
    ),
    (
        BLOCKIZED["reduction first"],
        lambda s: s.blockize(["R", "B"]),
        "a part of the reduction iterator vj of block R",
    ),
    (
        BLOCKIZED["reduction outside"],
        lambda s: s.blockize(["B", "R"]),
        "a part of the reduction iterator vj of block R",
    ),
    (MATMUL, lambda s: s.reorder_block_iter_var("C", [0, 0, 1]), r"to \[0, 0, 1\]"),
    # sampling
    (MATMUL, lambda s: s.sample_perfect_tile(loops(s, "C")[0], 1), "cannot tile loop i into 1"),
    (MATMUL, lambda s: s.sample_perfect_tile(loops(s, "C")[0], 2, decision=3), "must be a list"),
    (MATMUL, lambda s: s.sample_partitioned_tile(loops(s, "C")[0], 2, 3), "cannot partition 2"),
    (MATMUL, lambda s: s.sample_categorical([1, 2], [1.0]), "2 candidates have 1 probabilities"),
    (MATMUL, lambda s: s.sample_categorical([1], [0.0]), "are not those of a choice"),
    (MATMUL, lambda s: s.sample_categorical([1], ["a"]), "are not those of a choice"),
    (MATMUL, lambda s: s.sample_categorical([1], [1.0], decision=3), "there is no candidate 3"),
    (
        OTHERS["symbolic"],
        lambda s: s.sample_categorical([tir.Var("m")], [1.0]),
        "a candidate must be an integer",
    ),
    (
        MATMUL,
        lambda s: s.sample_categorical(np.array([1.5]), [1.0]),
        "a candidate must be an integer",
    ),
    (
        MATMUL,
        lambda s: s.split(loops(s, "C")[0], [2, 4], preserve_unit_iters=np.array([1, 0])),
        "preserve_unit_iters of split is array.*, expected True or False",
    ),
    (
        MATMUL,
        lambda s: s.unsafe_hide_buffer_access("C", np.array(["read", "write"]), [0]),
        "buf_type is array",
    ),
    (
        MATMUL,
        lambda s: s.annotate_buffer_access("C", 0, "read", int),
        "gen_new_ranges cannot take the 3 iterators of block C",
    ),
    (
        MATMUL,
        lambda s: s.transform_layout(
            "C", "C", lambda i, j: [i // 2, j], assume_injective_transform=True
        ),
        "the map takes its 64 elements to 32",
    ),
    (MATMUL, lambda s: s.trace.get_decision(None), "inst of get_decision is None"),
    (MATMUL, lambda s: s.trace.append("GetBlock"), "inst of append is 'GetBlock'"),
    (MATMUL, lambda s: s.trace.with_decision(None, 1, False), "inst of with_decision is None"),
    (
        MATMUL,
        lambda s: Trace.apply_json_to_schedule([[["GetBlock", [], ["C", "main"], None]], []], s),
        "invalid JSON of a trace",
    ),
    (
        MATMUL,
        lambda s: Trace.apply_json_to_schedule([[["GetBlock", [], ["C", "main"], [1]]], []], s),
        "the results are not names",
    ),
    (
        MATMUL,
        lambda s: s.compute_at("C", loops(s, "D")[0], index="first"),
        "index of compute_at is 'first', expected an int",
    ),
]


def _error(match: str) -> type[TeSchedError]:
    if match.startswith("the function of the index map"):
        return DeclarationError
    if "which function" in match:
        return FunctionError
    gone = ("no longer in the program", "was removed", "belongs to another schedule")
    return HandleError if any(text in match for text in gone) else ScheduleError


enter(
    "blocks",
    {
        f"{number}: {match}": (refused(text, action), _error(match), match)
        for number, (text, action, match) in enumerate(CASES)
    },
)
