"""Where te_sched's text is known to differ from a golden: (program, step, dialect) and why.

The script dialect has no such place. The primfn goldens are TVM 0.9's, which lowered some programs
otherwise than TVM 0.17 and 0.19, whose lowering te_sched follows. `test_golden.py` asserts that
exactly these differ.
"""

_MERGED = "TVM 0.9 did not merge the conditions of an if_then_else directly inside another"
_HOISTED = "TVM 0.9 did not join neighbouring statements under one condition, nor hoist it"
_AT_MOST = "TVM 0.9 did not rewrite a < b + 1 to a <= b"
_DOUBLE_BUFFER = "TVM 0.9 gave the first write of a double buffer the shape before it shrank"

KNOWN_DIFFERENCES: dict[tuple[str, int, str], str] = {
    ("gemm_gpu_registers", 2, "primfn"): _DOUBLE_BUFFER,
    ("g60010", 0, "primfn"): _MERGED,
    ("g60020", 0, "primfn"): _MERGED,
    ("g60060", 0, "primfn"): _MERGED,
    ("r20030", 0, "primfn"): _HOISTED,
    ("r20055", 0, "primfn"): _HOISTED,
    ("r20080", 0, "primfn"): _AT_MOST,
    ("r20094", 0, "primfn"): _HOISTED,
    ("r20125", 0, "primfn"): _HOISTED,
}
