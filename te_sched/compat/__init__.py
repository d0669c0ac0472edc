"""Compatibility with programs of all generations of TVM: `import tvm` imports te_sched.

    import te_sched.compat

    te_sched.compat.install()
    import tvm
    from tvm import te

`python -m te_sched run PROGRAM.py` does this for an unchanged program. Names of older generations
are defined here, those of TVM 0.19 in te_sched.
"""

from __future__ import annotations

from te_sched.absent_names import tell_of_absent_names as _tell_of_absent_names
from te_sched.compat.aliases import install, is_installed, uninstall

__all__ = ["install", "is_installed", "uninstall"]

_tell_of_absent_names(__name__)
