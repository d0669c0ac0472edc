"""te_sched.contrib: utilities with TVM's names.

Temporary folders, the machine's C compilers, matrix products of numpy's BLAS.
"""

from __future__ import annotations

from te_sched.absent_names import tell_of_absent_names as _tell_of_absent_names
from te_sched.contrib import cblas, cc, clang, dlpack, pickle_memoize, utils

__all__ = ["cblas", "cc", "clang", "dlpack", "pickle_memoize", "utils"]

_tell_of_absent_names(__name__)
