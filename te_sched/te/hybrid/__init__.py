"""te.hybrid: operations written as Python loops over elements.

    @te.hybrid.script
    def outer(a, b):
        c = output_tensor((a.shape[0], b.shape[0]), a.dtype)
        for i in range(a.shape[0]):
            for j in range(b.shape[0]):
                c[i, j] = a[i] * b[j]
        return c

Called with tensors it returns the output tensors of an operation with these loops. Values are read
and written in Python's order, also where several are assigned at once (`c[i], d[i] = d[i], c[i]`).
What Python would do otherwise is refused: a loop over a name that has a value already, a return in
a loop, lists that change. Loops are annotated in the script (parallel, vectorize, unroll, bind), or
scheduled as `c.op.axis`. Called with numpy arrays it runs as Python. `te.hybrid.build` converts a
schedule to such a script.
"""

import sys
import typing

from te_sched import lazy_loading, public_names
from te_sched.absent_names import tell_of_absent_names as _tell_of_absent_names
from te_sched.te.hybrid import runtime as runtime
from te_sched.te.hybrid.modules import HybridModule as HybridModule
from te_sched.te.hybrid.scripts import Script as Script
from te_sched.te.hybrid.scripts import script as script

if typing.TYPE_CHECKING:  # see _LATE
    from te_sched.lowering.hybrid_source import build as build

_LATE = {"build": "te_sched.lowering.hybrid_source:build"}
lazy_loading.set_lazy_names(sys.modules[__name__], _LATE)
public_names.list_names(sys.modules[__name__], late=_LATE)
_tell_of_absent_names(__name__)
