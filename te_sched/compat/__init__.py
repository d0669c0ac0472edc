"""Programs of all generations of TVM, as they are: `import tvm` gives te_sched.

    import te_sched.compat

    te_sched.compat.install()
    import tvm
    from tvm import te

`python -m te_sched run PROGRAM.py` does it for a program that must not be changed. Names that only
older generations had live here; TVM 0.19's own are te_sched's.
"""

from __future__ import annotations

from te_sched.compat.aliases import install, is_installed, uninstall

__all__ = ["install", "is_installed", "uninstall"]
