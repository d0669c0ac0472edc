"""Transpositions of tiles in registers: from rows of vectors to a vector of rows for each lane.

Blocks of four rows and four lanes are transposed by two steps of shuffles within 128 bits, then
blocks of the same lanes are joined. Must not know any target: all vectors have such shuffles.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import product

from te_sched.ir.expr import BufferLoad, Expr, IntImm, Ramp, Shuffle, Var
from te_sched.ir.stmt import BufferStore, SeqStmt, Stmt
from te_sched.tensorir.facts.axes import SPATIAL
from te_sched.tensorir.tensor_intrin.building import Pair, Vectors, function, loops, parameter

_BLOCK = 4  # elements of 128 bits
_ROWS, _LANES, _DTYPES = range(2, 17), (4, 8, 16), ("float32", "int32")


def transposition(rows: int, lanes: int, dtype: str) -> str | None:
    """The name of the intrinsic that transposes rows of a number of lanes; None if there is none.

    >>> transposition(8, 16, "float32")
    'transpose_8x16_float32'
    """
    if rows not in _ROWS or lanes not in _LANES or dtype not in _DTYPES:
        return None
    return f"transpose_{rows}x{lanes}_{dtype}"


def _interleaved(lanes: int, first: int, width: int) -> list[int]:
    """Numbers of elements of two vectors by turns, of the first or second half of each block."""
    picks = []
    for block in range(0, lanes, _BLOCK):
        for at in range(first, first + 2, width):
            own = [block + at + number for number in range(width)]
            picks += [*own, *[lanes + number for number in own]]
    return picks


def _shuffle(vectors: Sequence[Expr], picks: Sequence[int]) -> Shuffle:
    return Shuffle(tuple(vectors), tuple(map(IntImm, picks)))


def _shuffled(shuffles: Vectors, vectors: Sequence[Expr], picks: Sequence[int]) -> Var:
    return shuffles.let("shuffled", _shuffle(vectors, picks))


def _in_blocks(shuffles: Vectors, rows: Sequence[Expr], lanes: int) -> list[Var]:
    """Four vectors of blocks of four rows: vector k has lane k of each block."""
    result = []
    for half in (0, 2):
        above, below = [
            _shuffled(shuffles, rows[at : at + 2], _interleaved(lanes, half, 1)) for at in (0, 2)
        ]
        result += [
            _shuffled(shuffles, (above, below), _interleaved(lanes, first, 2)) for first in (0, 2)
        ]
    return result


def _joined(shuffles: Vectors, parts: Sequence[Expr], block: int, lanes: int, rows: int) -> Expr:
    """The elements of a block of all parts, one after the other."""
    own = [block * _BLOCK + number for number in range(_BLOCK)]
    if len(parts) <= 2:
        picks = [at * lanes + number for at in range(len(parts)) for number in own]
        return _shuffle(parts, picks[:rows])
    pairs = [(parts[at], parts[min(at + 1, len(parts) - 1)]) for at in range(0, len(parts), 2)]
    halves = [
        _shuffled(shuffles, pair, [*own, *[lanes + number for number in own]]) for pair in pairs
    ]
    return _shuffle(halves, range(rows))


def _transposed(rows: int, lanes: int, dtype: str) -> Pair:
    """T[j, i] = S[i, j] for `rows` i and `lanes` j, in memory of scope "local"."""
    s, t = [
        parameter(name, shape, dtype, "local", is_strided=True)
        for name, shape in (("S", (rows, lanes)), ("T", (lanes, rows)))
    ]
    body = loops(
        "ji",
        (SPATIAL, SPATIAL),
        (lanes, rows),
        lambda j, i: BufferStore(t, BufferLoad(s, (i, j)), (j, i)),
    )
    shuffles = Vectors()
    lines = [
        shuffles.let("row", BufferLoad(s, (IntImm(at), Ramp(IntImm(0), IntImm(1), lanes))))
        for at in range(rows)
    ]
    lines += [lines[-1]] * (-rows % _BLOCK)
    parts = [
        _in_blocks(shuffles, lines[at : at + _BLOCK], lanes) for at in range(0, len(lines), _BLOCK)
    ]
    stores: list[Stmt] = []
    for lane in range(lanes):
        block, rest = divmod(lane, _BLOCK)
        value = _joined(shuffles, [part[rest] for part in parts], block, lanes, rows)
        index = Ramp(IntImm(0), IntImm(1), rows)
        stores.append(BufferStore(t, value, (IntImm(lane), index)))
    computed = shuffles.then(SeqStmt(tuple(stores)))
    return function((s, t), body, (s,)), function((s, t), computed, (s,))


INTRINSICS = {
    f"transpose_{rows}x{lanes}_{dtype}": partial(_transposed, rows, lanes, dtype)
    for rows, lanes, dtype in product(_ROWS, _LANES, _DTYPES)
}
