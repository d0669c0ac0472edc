"""Peculiarities of LLVM, and how te_sched works around them: a row for each.

`tests/codegen/llvm_quirks.py` has a program for each row that shows it when the remedy is left out;
a test fails where the installed LLVM does not need a remedy that is applied.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass
from typing import Any

import llvmlite.binding as llvm

from te_sched.ir import dtypes
from te_sched.ir import expr as E
from te_sched.ir import stmt as S
from te_sched.ir.visitor import children, walk

CHECKED = (20, 22)  # major versions of LLVM: those of llvmlite 0.45 to 0.47, and of 0.48 to 0.50


@dataclass(frozen=True, slots=True)
class Quirk:
    """One peculiarity: the versions of `CHECKED` that have it, what happens, what is done about it,
    and from which size on.
    """

    versions: tuple[int, ...]
    fault: str
    remedy: str
    limit: int = 0

    @property
    def is_here(self) -> bool:
        """Whether the installed LLVM has it; a version that was not checked may."""
        major = llvm.llvm_version_info[0]
        return major in self.versions or major not in CHECKED


HASH_SEARCH = Quirk(
    (22,),
    "LoopIdiomRecognize looks for a CRC in each loop: n minima of floats in a row take 2**n steps",
    "an option of LLVM leaves that search out",
)
LONG_BLOCKS = Quirk(
    (20, 22),
    "the time of the SLP vectorizer grows with the square of the length of a block",
    "no SLP for programs with a block of this many lines",
    20_000,
)
LANES_ONE_BY_ONE = Quirk(
    (20, 22),
    "the time of the SLP vectorizer grows with the cube of the lanes of vectors that a block makes "
    "lane by lane: 64 lanes take 0.1 s",
    "no SLP for programs with a block that inserts this many lanes, or whose cubes make this many "
    "times 512",
    128,
)
COPIED_BODIES = Quirk(
    (20, 22),
    "copies of the bodies of many loops are compiled for half a minute",
    "no unrolling by LLVM of programs with a function of this many blocks",
    250,
)
MANY_LOOPS = Quirk(
    (20, 22),
    "the time of the passes for loops grows with the square of the number of loops of a function",
    "no passes for programs with a function of this many loops: 1,000 take 15 s, 3,000 minutes",
    1_000,
)
LOOPS_OF_FUNCTION = Quirk(
    (20, 22),
    "the same, from fewer loops on: 400 take 2 s",
    "a sequence of this many loops becomes several functions",
    256,
)
EARLY_SHUFFLES = Quirk(
    (22,),
    "the SLP and loop vectorizers and the unroller may move a shuffle before its operands",
    "where the result is not valid, the program is compiled without one more of these",
)
QUOTIENTS = Quirk(
    (20, 22),
    "where i // 8 is the same in all lanes, interleaved vectors all take that of the first one",
    "no vectors of loops that divide what depends on their variable",
)
MANY_CONDITIONS = Quirk(
    (20, 22),
    "from some 60 branches in a loop, the loop vectorizer takes minutes",
    "no vectors of loops with more branches than this",
    32,
)
TWO_MASKED_LANES = Quirk(
    (20, 22),
    "no vectors of two lanes are made with masks, and LLVM prints that they are not",
    "vectors with masks are used from this many lanes on",
    4,
)
ODD_LANES = Quirk(
    (20, 22),
    "vectors whose lanes are not a power of two stay in memory where a loop adds to them",
    "`split_lanes` makes several stores of one",
)
REPEATED_REMAINDERS = Quirk(
    (22,),
    "on x86, products of fewer than 16 lanes of 8 bits are 0 if a factor repeats the lanes of a "
    "quotient or remainder",
    "where the SLP vectorizer makes these, the program is compiled without it",
    16,
)
ONE_AT_A_TIME = Quirk(
    (20, 22),
    "llvmlite lets one thread at a time call LLVM, although each has a context of its own",
    "the passes and the back end are called without llvmlite's lock",
)
HIDDEN_DISPOSE = Quirk(
    (20, 22),
    "a base class of llvmlite's pass managers hides the method that frees them",
    "te_sched calls that method itself",
)


def set_options() -> None:
    """Set the options of this process. A version that lacks one would end the process."""
    if HASH_SEARCH.is_here and llvm.llvm_version_info[0] in CHECKED:
        llvm.set_option("te_sched", "-disable-loop-idiom-hashrecognize")
    if ONE_AT_A_TIME.is_here:
        for name in ("LLVMPY_RunNewModulePassManager", "LLVMPY_TargetMachineEmitToMemory"):
            wrapper = getattr(llvm.ffi.lib, name)
            llvm.ffi.lib._fntab[name] = getattr(wrapper, "_cfn", wrapper)


def free_passes(passes: Any) -> None:
    """Free a pass manager."""
    if HIDDEN_DISPOSE.is_here and type(passes)._dispose is llvm.ffi.ObjectRef._dispose:
        llvm.NewPassManager._dispose(passes)


# -- what the optimizer may do to a program --------------------------------------------------------

_LANE_SET = re.compile(r"insertelement <(\d+) x [^>]+> %")  # of a vector that has others
_LABEL = re.compile(r"^[\w.$\"-]+:", re.MULTILINE)
_MOVING = ("slp_vectorization", "loop_vectorization", "loop_unrolling")


def tunings(text: str, level: int) -> Iterator[Any]:
    """Options for the optimizer, to be tried one after the other until the result is valid.

    With the last ones it does nothing.
    """
    loops = max([definition.count("!llvm.loop !") for definition in text.split("\ndefine ")])
    if loops < MANY_LOOPS.limit or not MANY_LOOPS.is_here:
        left_out = passes_left_out(text, level)
        yield _tuning(level, left_out)
        for number in range(len(_MOVING) if EARLY_SHUFFLES.is_here else 0):
            yield _tuning(level, {*left_out, *_MOVING[: number + 1]})
    yield llvm.create_pipeline_tuning_options(speed_level=0)


_QUOTIENT = re.compile(r" [us](?:div|rem) ")
_BYTES = re.compile(r"\bi8 %| x i8>")  # operands, and vectors
_QUOTIENT_OF_BYTES = re.compile(r"\b[us](?:div|rem) <\d+ x i8>")
_REPEATED_BYTES = re.compile(r"shufflevector <(\d+) x i8> .*, <(\d+) x i32>")


def has_repeated_remainders(module: Any, sources: Iterable[str]) -> bool:
    """Whether the back end would make zeros of products in an optimized module. It is printed only
    if its `sources` have quotients, and values of bytes.
    """
    if not REPEATED_REMAINDERS.is_here or not all(
        any(map(word.search, sources)) for word in (_QUOTIENT, _BYTES)
    ):
        return False
    text = str(module)
    if " x i8>" not in text or not _QUOTIENT_OF_BYTES.search(text):
        return False
    repeated = [(int(few), int(many)) for few, many in _REPEATED_BYTES.findall(text)]
    return any(
        few < many < REPEATED_REMAINDERS.limit and f" mul <{many} x i8>" in text
        for few, many in repeated
    )


def passes_left_out(text: str, level: int) -> frozenset[str]:
    """The passes that are left out for functions of this size."""
    if level <= 1:
        return frozenset((*_MOVING, "loop_interleaving"))
    functions = [_LABEL.split(function) for function in text.split("\ndefine ")]
    left_out = set()
    if max(map(len, functions)) > COPIED_BODIES.limit and COPIED_BODIES.is_here:
        left_out.add("loop_unrolling")
    blocks = [block for function in functions for block in function]
    is_long = LONG_BLOCKS.is_here and any(
        block.count("\n") >= LONG_BLOCKS.limit for block in blocks
    )
    if is_long or (LANES_ONE_BY_ONE.is_here and any(map(_has_many_lanes, blocks))):
        left_out.add("slp_vectorization")
    return frozenset(left_out)


def _has_many_lanes(block: str) -> bool:
    lanes = [int(lanes) for lanes in _LANE_SET.findall(block)]
    limit = LANES_ONE_BY_ONE.limit
    return len(lanes) >= limit or sum(width * width for width in lanes) >= 512 * limit


def _tuning(level: int, left_out: Set[str]) -> Any:
    options = llvm.create_pipeline_tuning_options(speed_level=level)
    for name in (*_MOVING, "loop_interleaving"):
        setattr(options, name, name not in left_out)
    return options


# -- loops of which LLVM must make no vectors ------------------------------------------------------

_QUOTIENTS = (E.FloorDiv, E.FloorMod, E.Div, E.Mod)
_SHIFTS = ("tir.shift_right", "tir.bitwise_and")  # what quotients become
# What the loops are found by.
_OF_LOOPS = {*_QUOTIENTS, S.For, S.LetStmt, S.IfThenElse, E.Let, E.Call}


def scalar_loops(body: S.Stmt) -> dict[S.For, bool]:
    """The loops in a statement: whether LLVM would make wrong vectors of one, or look for them for
    long.
    """
    nodes = [node for node in walk(body) if type(node) in _OF_LOOPS]
    divided = _divided(nodes) if QUOTIENTS.is_here else set()
    branches: dict[S.For, int] = {}
    if MANY_CONDITIONS.is_here and any(map(_is_branch, nodes)):
        _count_branches(body, branches)
    return {
        loop: loop in divided or branches.get(loop, 0) > MANY_CONDITIONS.limit
        for loop in nodes
        if type(loop) is S.For
    }


def _divided(nodes: Iterable[E.Node]) -> set[S.For]:
    """The loops of whose variables quotients are taken, or of what these are part of."""
    loops: dict[E.Var, frozenset[S.For]] = {}  # on which a variable depends
    divided: set[S.For] = set()
    for node in nodes:
        if isinstance(node, S.For):
            loops[node.loop_var] = frozenset((node,))
        elif isinstance(node, S.LetStmt | E.Let):
            loops[node.var] = _loops_of(node.value, loops)
        elif isinstance(node, E.Expr) and _is_quotient(node):
            divided |= _loops_of(node, loops)
    return divided


def _is_quotient(e: E.Expr) -> bool:
    """Whether an expression is an integral quotient or remainder."""
    is_one = type(e) in _QUOTIENTS or (type(e) is E.Call and e.op in _SHIFTS)
    return is_one and dtypes.is_integral(e.dtype)


def _loops_of(e: E.Expr, loops: Mapping[E.Var, frozenset[S.For]]) -> frozenset[S.For]:
    """The loops whose variables are part of an expression, and not only of where it loads from."""
    if type(e) is E.Var:
        return loops.get(e, frozenset())
    if type(e) is E.BufferLoad:
        return frozenset()
    return frozenset().union(*(_loops_of(part, loops) for part in children(e)))  # type: ignore[arg-type]


def _count_branches(node: E.Node, inside: dict[S.For, int]) -> int:
    """How many branches there are, each as often as loops of known length repeat it; also those of
    the body of each loop.
    """
    if not isinstance(node, S.For):
        return sum([_count_branches(part, inside) for part in children(node)]) + _is_branch(node)
    inside[node] = _count_branches(node.body, inside)
    count = inside[node] + sum([_count_branches(part, {}) for part in (node.min, node.extent)])
    return count * node.extent.value if isinstance(node.extent, E.IntImm) else count


def _is_branch(node: E.Node) -> bool:
    """Whether a node chooses what runs."""
    kind = type(node)
    return kind is S.IfThenElse or (kind is E.Call and node.op == "tir.if_then_else")  # type: ignore[attr-defined]
