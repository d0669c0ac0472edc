"""What a program says of the variables in its indices.

Must not know what is judged.
"""

from __future__ import annotations

from te_sched.analysis.accesses import Access, Program
from te_sched.arith.forms import Forms
from te_sched.ir.expr import Var
from te_sched.ir.visitor import walk


def forms_for(program: Program, *accesses: Access) -> Forms:
    """Forms that know the loops round some accesses."""
    forms = Forms(least_values(program), program.values)
    for access in accesses:
        for loop in access.loops:
            if loop.var not in forms.ranges:
                low, extent = forms.of(loop.min), forms.of(loop.extent)
                forms.bind(loop.var, low, extent)
    return forms


def least_values(program: Program) -> dict[Var, int]:
    """Extents of arguments: where one is 0, there is nothing to judge. Strides follow them."""
    return {
        part: 1
        for buffer in program.func.buffer_map.values()
        for extent in (*buffer.shape, *buffer.strides)
        for part in walk(extent)
        if type(part) is Var
    }
