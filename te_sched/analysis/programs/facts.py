"""What a program says of the variables in its indices, and of its stores.

Must not know what is judged.
"""

from __future__ import annotations

from te_sched.analysis.programs.accesses import Access, ProgramAccesses
from te_sched.arith.forms import Forms
from te_sched.arith.structural_equality import same
from te_sched.ir.expr import BufferLoad, Var
from te_sched.ir.stmt import BufferStore
from te_sched.ir.visitor import variables_of, walk


def forms_for(program: ProgramAccesses, *accesses: Access) -> Forms:
    """Forms that know the loops round some accesses."""
    forms = Forms(least_values(program), program.values)
    for access in accesses:
        for loop in access.loops:
            if loop.var not in forms.ranges:
                low, extent = forms.of(loop.min), forms.of(loop.extent)
                forms.bind(loop.var, low, extent)
    return forms


def least_values(program: ProgramAccesses) -> dict[Var, int]:
    """Extents of arguments: where one is 0, there is nothing to judge. Strides follow them."""
    buffers = program.func.buffer_map.values()
    sizes = [size for buffer in buffers for size in (*buffer.shape, *buffer.strides)]
    return dict.fromkeys(variables_of(*sizes), 1)


def reads_own(store: BufferStore) -> bool:
    """Whether a store changes what is there: its value is made from the element it replaces."""
    return any(
        type(part) is BufferLoad
        and part.buffer.data is store.buffer.data
        and all(map(same, part.indices, store.indices))
        for part in walk(store.value)
    )
