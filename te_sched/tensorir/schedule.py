"""A schedule of TensorIR: a module, transformed by primitives one after the other."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

from te_sched.errors import ScheduleError, kind_of, user_place
from te_sched.ir.blocks import Block
from te_sched.ir.expr import IntImm, Var
from te_sched.ir.renew import renewed_body
from te_sched.ir.stmt import Evaluate, For, IRModule, PrimFunc
from te_sched.ir.visitor import parts_of
from te_sched.notebook_display import Shown
from te_sched.public_members import Unbuilt
from te_sched.tensorir.base import ScheduleBase, integer
from te_sched.tensorir.handles import BlockRV, LoopRV, StmtSRef
from te_sched.tensorir.primitives.accessing import AccessPrimitives
from te_sched.tensorir.primitives.decomposing import DecomposingPrimitives
from te_sched.tensorir.primitives.finding import FindingPrimitives
from te_sched.tensorir.primitives.indexing import IndexPrimitives
from te_sched.tensorir.primitives.inlining import InliningPrimitives
from te_sched.tensorir.primitives.kinds import KindPrimitives
from te_sched.tensorir.primitives.layouts import LayoutPrimitives
from te_sched.tensorir.primitives.loops import NestPrimitives
from te_sched.tensorir.primitives.movement import MovementPrimitives
from te_sched.tensorir.primitives.moving_data import AutoCopyPrimitives
from te_sched.tensorir.primitives.padding import PaddingPrimitives
from te_sched.tensorir.primitives.partitioning import PartitioningPrimitives
from te_sched.tensorir.primitives.reductions import ReductionPrimitives
from te_sched.tensorir.primitives.reindexing import ReindexPrimitives
from te_sched.tensorir.primitives.rolling import RollingPrimitives
from te_sched.tensorir.primitives.sampling import SamplingPrimitives
from te_sched.tensorir.primitives.storage import BufferPrimitives
from te_sched.tensorir.primitives.tensorizing import TensorizingPrimitives
from te_sched.tensorir.random_numbers import MODULUS, RandomNumbers
from te_sched.tensorir.state import BlockIndex, BlockIndexDraft
from te_sched.tensorir.traces import BlockTrace
from te_sched.trace.comparison import Comparison
from te_sched.trace.drafts import Changes
from te_sched.trace.observing import observers


class ScheduleDebugMask(IntEnum):
    """What TVM verifies after each primitive. `debug_mask` is accepted and ignored."""

    VERIFY_SREF_TREE = 1
    VERIFY_CACHED_FLAGS = 2


_MASKS = ("none", "all")
_LEVELS = ("detail", "fast", "none")
_NOTHING = Evaluate(IntImm(0))


# What stands for primitives of schedules of tensor expressions.
_OF_STAGES = {
    "tile": "split both loops, then reorder the four",
    "pragma": 'annotate the loop: sch.annotate(loop, "pragma_...", value)',
    "prefetch": "copy the data with cache_read and compute_at",
    "stages": "its blocks are sch.get_block(name) and sch.get_child_blocks(block)",
    "outputs": "its blocks are sch.get_output_blocks(block)",
    "compute_root": "move the block with compute_at or reverse_compute_at",
    "env_threads": "bind loops: sch.bind(loop, thread)",
}


class BlockSchedule(
    FindingPrimitives,
    NestPrimitives,
    PartitioningPrimitives,
    KindPrimitives,
    InliningPrimitives,
    MovementPrimitives,
    ReductionPrimitives,
    ReindexPrimitives,
    TensorizingPrimitives,
    LayoutPrimitives,
    PaddingPrimitives,
    DecomposingPrimitives,
    BufferPrimitives,
    AccessPrimitives,
    RollingPrimitives,
    IndexPrimitives,
    AutoCopyPrimitives,
    SamplingPrimitives,
    Shown,
    Unbuilt,
):
    """A schedule of TensorIR: a module, transformed by primitives one after the other.

    Parameters
    ----------
    mod : a module, or a function, which becomes `main` of a module. Functions of graphs in it stay
        as they are.
    seed : of the random numbers that sampling primitives draw.
    error_render_level : what errors of primitives show: "detail" the message, and below it the
        module with the blocks and loops concerned underlined; "fast" the first line of the
        message; "none" nothing.
    debug_mask, enable_check : accepted for programs of TVM: every primitive checks its arguments.

    `mod` is the present module, `trace` the primitives applied so far.

    >>> sch = tir.Schedule(matmul_relu)
    >>> i, j, k = sch.get_loops("C")
    >>> i_0, i_1 = sch.split(i, factors=[None, 4])
    >>> sch.parallel(i_0)
    >>> for line in str(sch.trace).splitlines()[1:4]:
    ...     print(line)
    def apply_trace(sch: tir.Schedule) -> None:
      b0 = sch.get_block(name="C", func_name="main")
      l1, l2, l3 = sch.get_loops(block=b0)
    """

    __slots__ = ()
    _public_name = "tir.Schedule"
    _advice_for_items = (
        "use sch.get(handle) for a block or loop, sch.get_block(name) for its handle"
    )
    _internal_members = (
        *(
            "around",
            "block",
            "block_key",
            "handle_of",
            "blocks_below",
            "blocks_in",
            "blocks_of",
            "blocks_rv",
        ),
        *("buffer_place", "changes", "declared", "draft", "fates", "function_named"),
        *("function_of", "functions", "key_from", "key_of", "keys", "lineage", "loop", "loop_key"),
        *("loops_above", "named_block", "nodes", "number_of", "parents", "random", "realize"),
        *("removed", "render", "render_level", "roots", "sampled", "schedule", "scope"),
        *("value_of", "values", "working_on"),
    )

    def _refusal_of_calls(self) -> tuple[str, str, str]:
        return (
            "a schedule is called before it is built",
            "it is a program, not a function of Python",
            "build its module: te_sched.build(sch.mod), and call the result",
        )

    def _advice_for(self, name: str) -> str:
        advice = _OF_STAGES.get(name, "")
        return f"{advice} ({name} is of schedules of te)" if advice else ""

    def __init__(
        self,
        mod: PrimFunc | IRModule,
        *,
        seed: int | None = None,
        debug_mask: str | int = "none",
        error_render_level: str = "detail",
        enable_check: bool = True,
    ) -> None:
        module = IRModule({"main": mod}) if isinstance(mod, PrimFunc) else mod
        if not isinstance(module, IRModule):
            raise ScheduleError(
                f"a schedule is of a function or module, got {kind_of(mod)}",
                "",
                advice_on_program(mod, "give what T.prim_func or te.create_prim_func made"),
            )
        _check_option("debug_mask", debug_mask, _MASKS)
        _check_option("error_render_level", error_render_level, _LEVELS)
        del enable_check
        self.render_level = error_render_level
        functions = module.functions_of_loops
        self.declared = module.clone()
        self.functions, self.nodes, self.parents = {}, {}, {}
        self.roots, self.keys, self.fates, self.values = {}, {}, {}, {}
        self.removed: set[Any] = set()
        self.lineage = object()
        self.changes = None
        self.trace = BlockTrace()
        self.seed(seed)
        names = list(functions)
        self.working_on = names[0] if len(names) == 1 else "main" if "main" in names else None
        seen: set[Any] = set()
        draft = BlockIndexDraft(self, Changes(self, None))  # type: ignore[arg-type]
        for name, func in functions.items():
            own = _own_definitions(func, seen)
            draft.functions[name] = own.with_body(_NOTHING)
            draft.set_body(name, own.body)
            draft.functions[name] = own
        draft.commit()
        for observer in observers:
            observer.created(self, user_place())

    # -- the program -------------------------------------------------------------------------------

    @property
    def mod(self) -> IRModule:
        """The present module."""
        return (
            self.declared.with_functions(self.functions)
            if self.functions
            else self.declared.clone()
        )

    @property
    def schedule(self) -> BlockSchedule:
        """The schedule."""
        return self

    @property
    def state(self) -> BlockSchedule:
        """The schedule itself, which has what programs of TVM ask its state for: `mod` and
        `get_sref`.
        """
        return self

    @property
    def func_working_on(self) -> str | None:
        """The name of the function in which names of blocks are looked up."""
        return self.working_on

    def work_on(self, func_name: str) -> None:
        """Choose the function in which names of blocks are looked up.

        >>> sch = tir.Schedule(matmul_relu)
        >>> sch.work_on("main")
        >>> sch.func_working_on
        'main'
        """
        self.working_on = self.function_named(func_name)

    def get(self, rand_var_or_sref: Any) -> Block | For | int | None:
        """The block, loop or number that a handle stands for.

        >>> sch = tir.Schedule(matmul_relu)
        >>> sch.get(sch.get_loops("D")[0]).extent
        8
        """
        if isinstance(rand_var_or_sref, StmtSRef):
            return rand_var_or_sref.stmt
        if isinstance(rand_var_or_sref, BlockRV):
            return self.block(self.block_key(rand_var_or_sref, "get"))
        if isinstance(rand_var_or_sref, LoopRV):
            return self.loop(self.loop_key(rand_var_or_sref, "get"))
        if isinstance(rand_var_or_sref, Var) and rand_var_or_sref not in self.values:
            raise ScheduleError(
                f"{rand_var_or_sref} is not a sampled integer of this schedule",
                "",
                "give what a sample_ primitive returned",
            )
        return self.number_of(rand_var_or_sref, "a handle")

    def get_sref(self, rand_var_or_stmt: Any) -> StmtSRef:
        """The reference to the statement of a handle, or of a block or loop of the program.

        >>> sch = tir.Schedule(matmul_relu)
        >>> sch.get_sref(sch.get_block("D")).stmt.name_hint
        'D'
        """
        if isinstance(rand_var_or_stmt, Block | For):
            is_loop = type(rand_var_or_stmt) is For
            key = rand_var_or_stmt.loop_var if is_loop else self.keys.get(rand_var_or_stmt)  # type: ignore[arg-type,union-attr]
            if key is None or key not in self.nodes:
                raise ScheduleError(
                    "the statement is not in the program of this schedule",
                    "",
                    "take it from sch.mod, or give a handle",
                )
            return StmtSRef(self, key)
        return StmtSRef(self, self.key_from(rand_var_or_stmt, "get_sref"))

    def remove_rv(self, rand_var: Any) -> None:
        """Remove a handle: using it is an error from now on.

        >>> sch = tir.Schedule(matmul_relu)
        >>> block = sch.get_block("D")
        >>> sch.remove_rv(block)
        """
        if isinstance(rand_var, BlockRV | LoopRV):
            self.key_from(rand_var, "remove_rv")
            self.removed = {*self.removed, rand_var}
        else:
            self.get(rand_var)
            self.values = {var: n for var, n in self.values.items() if var is not rand_var}

    # -- copies and random numbers -----------------------------------------------------------------

    def copy(self) -> BlockSchedule:
        """A copy, for which the same handles are valid. It draws other random numbers, from a seed
        that `fork_seed` draws.

        >>> sch = tir.Schedule(matmul_relu)
        >>> other = sch.copy()
        >>> sch.parallel(sch.get_loops("D")[0])
        >>> len(sch.trace), len(other.trace)
        (3, 0)
        """
        twin = BlockSchedule.__new__(BlockSchedule)
        for name in (*BlockIndex.__annotations__, "values"):
            setattr(twin, name, getattr(self, name))  # primitives replace them
        twin.working_on, twin.declared = self.working_on, self.declared
        twin.render_level, twin.lineage = self.render_level, self.lineage
        twin.removed, twin.changes, twin.trace = self.removed, None, self.trace.copy()
        twin.random = RandomNumbers(self.fork_seed())
        for observer in observers:
            observer.created(twin, user_place())
        return twin

    def seed(self, seed: int | None) -> None:
        """Start the random numbers that sampling primitives draw anew.

        Parameters
        ----------
        seed : from 1 to 2**31 - 1, with which primitives draw what TVM 0.19 draws; None draws it.

        >>> sch = tir.Schedule(matmul_relu)
        >>> sch.seed(42)
        >>> i, _, _ = sch.get_loops("C")
        >>> [sch.get(one) for one in sch.sample_perfect_tile(i, n=3)]
        [1, 4, 2]
        """
        if seed is not None:
            seed = integer(seed, "the seed")
            if not (1 <= seed <= MODULUS or seed == -1):
                raise ScheduleError(
                    f"the seed must be from 1 to {MODULUS}, got {seed}", "",
                    "give such an int, or None for a seed that is drawn",
                )  # fmt: skip
        self.random = RandomNumbers(None if seed == -1 else seed)

    def fork_seed(self) -> int:
        """A seed for another schedule, drawn at random.

        >>> sch = tir.Schedule(matmul_relu, seed=1)
        >>> other = tir.Schedule(matmul_relu, seed=sch.fork_seed())
        """
        return self.random.fork()

    # -- seeing ------------------------------------------------------------------------------------

    def show(self, *args: Any, **options: Any) -> None:
        """Print the module and the trace.

        >>> sch = tir.Schedule(matmul_relu)
        >>> from contextlib import redirect_stdout
        >>> from io import StringIO
        >>> with redirect_stdout(StringIO()) as printed:
        ...     sch.show()
        >>> "def apply_trace(sch: tir.Schedule)" in printed.getvalue()
        True
        """
        self.mod.show(*args, **options)
        print(self.trace)

    def diff(self, other: BlockSchedule) -> Comparison:
        """What `other` does differently: changed lines of the trace and of the loops.

        >>> sch = tir.Schedule(matmul_relu)
        >>> other = sch.copy()
        >>> sch.diff(other)
        the schedules are the same
        >>> other.parallel(other.get_loops("D")[0])
        >>> [line for line in sch.diff(other).loops if line[0] in "-+"]
        ['-└─ for i  0:8', '+└─ parallel i  0:8']
        """
        raise NotImplementedError  # te_sched.views replaces this method

    def __repr__(self) -> str:
        return f"<schedule of {', '.join(self.functions)}>"


def _check_option(name: str, value: Any, legal: tuple[str, ...]) -> None:
    if isinstance(value, str) and value not in legal:
        raise ScheduleError(
            f"{name} must be one of {', '.join(legal)}, got {value}", "", f"use {legal[0]}"
        )


def _own_definitions(func: PrimFunc, seen: set[Any]) -> PrimFunc:
    """A function none of whose loops and blocks occurs twice, nor in another function."""
    stack: list[Any] = [func.body]
    is_repeated = False
    while stack:
        node = stack.pop()
        name = node.loop_var if type(node) is For else node if type(node) is Block else None
        is_repeated |= name in seen
        if name is not None:
            seen.add(name)
        stack += parts_of(node)
    return func.with_body(renewed_body(func.body)) if is_repeated else func


def advice_on_program(program: object, otherwise: str) -> str:
    """The help for what is given in place of a module: its decorator, the module of a schedule."""
    if isinstance(program, type):
        return "decorate the class with @I.ir_module (from te_sched.script import ir as I)"
    return (
        "pass the module of the schedule: sch.mod"
        if isinstance(program, ScheduleBase)
        else otherwise
    )
