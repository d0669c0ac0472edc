"""Layouts of convolutions and pools: sizes from one layout to another.

A layout names its dimensions by letters ("NCHW"); "NCHW16c" has blocks of 16 of C at the end.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from te_sched.errors import GraphError
from te_sched.ir import ops
from te_sched.ir.expr import Expr
from te_sched.ir.graph import GraphCall
from te_sched.ir.struct_info import TensorStructInfo
from te_sched.lazy_loading import lazy_function
from te_sched.relax.block_builder import BlockBuilder
from te_sched.relax.operators.inference import argument_error

if TYPE_CHECKING:
    from te_sched.topi.rearranging import get_shape
else:
    get_shape = lazy_function("te_sched.topi.rearranging:get_shape")

_DIMENSION = re.compile(r"\d*[A-Za-z]")


def rank_of(layout: str) -> int:
    """The number of dimensions of a layout.

    >>> rank_of("NCHW16c")
    5
    """
    return len(_DIMENSION.findall(layout))


def check_layout(call: GraphCall, name: str, layout: str, whole: str) -> None:
    """GraphError if a layout has other dimensions than those of `whole`."""
    parts = _DIMENSION.findall(layout)
    letters = [part for part in parts if len(part) == 1 and part.isupper()]
    rest = [part for part in parts if part not in letters]  # blocks, as "16c"
    blocks = {part[-1].upper() for part in rest}
    is_right = "".join(parts) == layout and sorted(letters) == sorted(whole)
    if not is_right or not blocks <= set(letters) or any(part.isalpha() for part in rest):
        raise GraphError(
            f"{name} of {call.op} is {layout!r}",
            f"its dimensions are those of {whole!r}, perhaps with blocks ({whole}16c)",
            f"give a layout of the letters of {whole}",
        )


def check_rank_of_layout(call: GraphCall, index: int, info: TensorStructInfo, layout: str) -> None:
    """GraphError if a tensor is known to have another number of dimensions than its layout."""
    if info.ndim not in (-1, rank_of(layout)):
        raise argument_error(call, index, f"a tensor of the layout {layout}")


def to_layout(builder: BlockBuilder, sizes: Sequence[Expr], source: str, target: str) -> list[Any]:
    """Sizes in another layout."""
    if source == target:
        return list(sizes)
    blocks = [part[:-1] for part in _DIMENSION.findall(source)]
    source_sizes = [
        int(block) if block else size for block, size in zip(blocks, sizes, strict=True)
    ]
    result_sizes = [ops.cast("int64", size) for size in get_shape(source_sizes, source, target)]
    return [builder.analyzer.simplify(size) for size in result_sizes]
