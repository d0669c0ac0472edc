"""Tables of patterns of libraries for GPUs, with TVM's names: cuBLAS, hipBLAS, cuDNN, CUTLASS.

`relax.backend.get_patterns_with_prefix("cublas")` gives a table. te_sched has none of the
libraries: `RunCodegen` calls the function that is registered as "relax.ext.cublas", ...
"""

from __future__ import annotations

from te_sched.absent_names import tell_of_absent_names as _tell_of_absent_names

_tell_of_absent_names(__name__)
