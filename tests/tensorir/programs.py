"""Small programs of blocks."""

from __future__ import annotations

from typing import Any

from te_sched.script import from_source

GIVEN = """
from tvm.script import ir as I
from tvm.script import tir as T
"""


def function(parameters: str, body: str, name: str = "main") -> str:
    """The text of a function."""
    given = ", ".join(
        f'{one.split(":")[0]}: T.Buffer(({one.split(":")[1]},), "float32")'
        for one in parameters.split()
    )
    lines = "".join(f"    {line}\n" for line in body.strip("\n").splitlines())
    return f"@T.prim_func\ndef {name}({given}):\n{lines}"


def program(text: str) -> Any:
    """The function of a text."""
    return from_source(GIVEN + text, check_well_formed=False)


MATMUL = function(
    "A:8,8 B:8,8 D:8,8",
    """
C = T.alloc_buffer((8, 8), "float32")
for i, j, k in T.grid(8, 8, 8):
    with T.block("C"):
        vi, vj, vk = T.axis.remap("SSR", [i, j, k])
        with T.init():
            C[vi, vj] = 0.0
        C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
for i, j in T.grid(8, 8):
    with T.block("D"):
        vi, vj = T.axis.remap("SS", [i, j])
        D[vi, vj] = T.max(C[vi, vj], 0.0)
""",
)
STAGES = function(
    "A:8,8 C:8,8",
    """
B = T.alloc_buffer((8, 8), "float32")
for i, j in T.grid(8, 8):
    with T.block("B"):
        vi, vj = T.axis.remap("SS", [i, j])
        B[vi, vj] = A[vi, vj] * 2.0
for i, j in T.grid(8, 8):
    with T.block("C"):
        vi, vj = T.axis.remap("SS", [i, j])
        C[vi, vj] = B[vi, vj] + 1.0
""",
)


def _block(name: str, extents: str, binding: str, body: str, kinds: str = "") -> str:
    """Loops around a block with an iterator for each."""
    count = len(extents.split(","))
    loops, axes = "ijk"[:count], [f"v{one}" for one in "ijk"[:count]]
    bound = (
        binding
        or f'{", ".join(axes)} = T.axis.remap("{kinds or "S" * count}", [{", ".join(loops)}])'
    )
    lines = "".join(f"        {line}\n" for line in [*bound.splitlines(), *body.splitlines()])
    heads = f"for {', '.join(loops)} in T.grid({extents}):\n" + f'    with T.block("{name}"):\n'
    return heads + lines


OTHERS = {
    "padded": function(
        "A:8 C:10",
        """
B = T.alloc_buffer((8,), "float32")
"""
        + _block("B", "8", "", "B[vi] = A[vi] * 2.0")
        + _block("C", "10", "", "C[vi] = T.if_then_else(0 < vi and vi < 9, B[vi - 1], 1.0)"),
    ),
    "twice": function(
        "A:8 B:8", _block("B", "8", "", "B[vi] = A[vi]") + _block("B", "8", "", "B[vi] = A[vi]")
    ),
    "updated by a loop": function(  # in each iteration of j, which no iterator has
        "A:8 B:8",
        """
for j, i in T.grid(3, 8):
    with T.block("B"):
        vi = T.axis.spatial(8, i)
        B[vi] = B[vi] + A[vi]
""",
    ),
    "two functions": "@I.ir_module\nclass Module:\n"
    + "".join(
        f"    {line}\n"
        for name in ("f", "g")
        for line in function("A:8 B:8", _block("B", "8", "", "B[vi] = A[vi]"), name).splitlines()
    ),
    "from one": function(
        "A:8 B:8",
        """
for i in range(1, 8):
    with T.block("B"):
        vi = T.axis.spatial((1, 8), i)
        B[vi] = A[vi]
""",
    ),
    "triangle": function(
        "A:8,8 B:8,8",
        """
for i in range(8):
    for j in range(i):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj]
""",
    ),
    "siblings": function(
        "A:8,8 B:8,8 C:8,8",
        """
for i in range(8):
    for j in range(8):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj]
    for j in range(8):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = A[vi, vj]
""",
    ),
    "beside": function(
        "A:8,8 B:8,8",
        """
for i in range(8):
    T.evaluate(i)
    for j in range(8):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj]
""",
    ),
    "scan": function(
        "A:8,8 B:8,8",
        """
for i, j in T.grid(8, 8):
    with T.block("B"):
        vi = T.axis.spatial(8, i)
        vj = T.axis.scan(8, j)
        B[vi, vj] = A[vi, vj] + T.if_then_else(vj > 0, B[vi, vj - 1], 0.0)
""",
    ),
    "squares": function(
        "A:64,8 B:64,8",
        _block(
            "B",
            "8, 8",
            "vi = T.axis.spatial(64, i * i)\nvj = T.axis.spatial(8, j)",
            "B[vi, vj] = A[vi, vj]",
        ),
    ),
    "opaque": function(
        "A:8 B:8",
        """
for i in range(8):
    with T.block("B"):
        B[i] = A[i]
""",
    ),
    "stencil": function(
        "A:8 C:8",
        _block("B", "8", "", "A[vi] = A[vi] * 2.0") + _block("C", "8", "", "C[vi] = A[vi]"),
    ),
    "both write": function(
        "X:8 D:8",
        'A = T.alloc_buffer((8,), "float32")\n'
        + """for i in range(8):
    with T.block("B"):
        vi = T.axis.spatial(8, i)
        A[vi] = X[vi]
    with T.block("C"):
        vi = T.axis.spatial(8, i)
        A[vi] = X[vi] * 2.0
"""
        + _block("D", "8", "", "D[vi] = A[vi]"),
    ),
    "overlapping": function(
        "A:10 C:8",
        'B = T.alloc_buffer((10,), "float32")\n'
        + _block("B", "10", "", "B[vi] = A[vi]")
        + _block("C", "8", "", "C[vi] = B[vi] + B[vi + 1] + B[vi + 2]"),
    ),
    "window sum": function(
        "A:10 C:8",
        'B = T.alloc_buffer((10,), "float32")\n'
        + _block("B", "10", "", "B[vi] = A[vi]")
        + """for i, k in T.grid(8, 3):
    with T.block("C"):
        vi, vk = T.axis.remap("SR", [i, k])
        with T.init():
            C[vi] = 0.0
        C[vi] = C[vi] + B[vi + vk]
""",
    ),
    "begun elsewhere": function(
        "A:8,8 B:8",
        _block("C", "8", "", "B[vi] = 0.0")
        + """for i, k in T.grid(8, 8):
    with T.block("B"):
        vi, vk = T.axis.remap("SR", [i, k])
        B[vi] = B[vi] + A[vi, vk]
""",
    ),
    "updated": function(
        "A:8 C:8",
        'B = T.alloc_buffer((8,), "float32")\n'
        + _block("B", "8", "", "B[vi] = A[vi]\nB[vi] = A[vi] * 2.0")
        + _block("C", "8", "", "C[vi] = B[vi]"),
    ),
    "updated twice": function(
        "A:8 C:8",
        'B = T.alloc_buffer((8,), "float32")\n'
        + _block("B", "8", "", "B[vi] = B[vi] + A[vi]")
        + _block("C", "8", "", "C[vi] = B[vi]"),
    ),
    "accumulated": function("A:8 B:8", _block("B", "8", "", "B[vi] = B[vi] + A[vi]")),
    "view": function(
        "A:8 C:8",
        'B = T.alloc_buffer((8,), "float32")\n'
        + _block("B", "8", "", "V = T.match_buffer(A[vi], (), offset_factor=1)\nB[vi] = V[()]")
        + _block("C", "8", "", "C[vi] = B[vi]"),
    ),
    "viewed": function(
        "A:8 C:8",
        'B = T.alloc_buffer((8,), "float32")\n'
        + _block("B", "8", "", "B[vi] = A[vi]")
        + _block("C", "8", "", "V = T.match_buffer(B[vi], (), offset_factor=1)\nC[vi] = V[()]"),
    ),
    "vector": function(
        "A:8 C:8",
        'B = T.alloc_buffer((8,), "float32")\n'
        + _block("B", "8", "", "B[vi] = A[vi]")
        + _block("C", "2", "", "C[vi * 4:vi * 4 + 4] = B[vi * 4:vi * 4 + 4]"),
    ),
    "diagonal": function(
        "A:8 C:8",
        'B = T.alloc_buffer((8, 8), "float32")\n'
        + _block("B", "8", "", "B[vi, vi] = A[vi]")
        + _block("C", "8", "", "C[vi] = B[vi, vi]"),
    ),
    "last wins": function(
        "A:8,8 C:8",
        'B = T.alloc_buffer((8,), "float32")\n'
        + _block("B", "8, 8", "", "B[vi] = A[vi, vj]")
        + _block("C", "8", "", "C[vi] = B[vi]"),
    ),
    "alone": function(
        "A:8",
        'B = T.alloc_buffer((8,), "float32")\n' + _block("B", "8", "", "B[vi] = A[vi]"),
    ),
    "two readers": function(
        "A:8 C:8 D:8",
        'B = T.alloc_buffer((8,), "float32")\n'
        + _block("B", "8", "", "B[vi] = A[vi]")
        + _block("C", "8", "", "C[vi] = B[vi]")
        + _block("D", "8", "", "D[vi] = B[vi]"),
    ),
    "window": function(
        "A:9 C:8",
        'B = T.alloc_buffer((9,), "float32")\n'
        + _block("B", "9", "", "B[vi] = A[vi]")
        + _block("C", "8", "", "C[vi] = B[vi] + B[vi + 1]"),
    ),
    "beyond": function(
        "A:8 C:16",
        'B = T.alloc_buffer((16,), "float32")\n'
        + _block("B", "8", "", "B[vi] = A[vi]")
        + _block("C", "16", "", "C[vi] = B[vi]"),
    ),
    "repeated": function(
        "A:8 C:8,8",
        'B = T.alloc_buffer((8,), "float32")\n'
        + _block("B", "8", "", "B[vi] = A[vi]")
        + _block("C", "8, 8", "", "C[vi, vj] = B[vi]"),
    ),
    "gather": function(
        "A:64 C:8",
        'B = T.alloc_buffer((64,), "float32")\n'
        + _block("B", "64", "", "B[vi] = A[vi]")
        + _block("C", "8", "", "C[vi] = B[vi * vi]"),
    ),
    "nested": function(
        "A:8,8 C:8,8",
        'B = T.alloc_buffer((8, 8), "float32")\n'
        + _block("B", "8, 8", "", "B[vi, vj] = A[vi, vj]")
        + """for i in range(8):
    with T.block("outer"):
        vi = T.axis.spatial(8, i)
        for j in range(8):
            with T.block("inner"):
                vj = T.axis.spatial(8, j)
                C[vi, vj] = B[vi, vj]
""",
    ),
    "read before": function(
        "A:8 C:8 D:8",
        'B = T.alloc_buffer((8,), "float32")\n'
        + _block("D", "8", "", "D[vi] = B[vi]")
        + _block("B", "8", "", "B[vi] = A[vi]")
        + _block("C", "8", "", "C[vi] = B[vi]"),
    ),
    "read result": function(
        "A:8 B:8 C:8 D:8",
        _block("B", "8", "", "B[vi] = A[vi]")
        + _block("C", "8", "", "C[vi] = B[vi]")
        + _block("D", "8", "", "D[vi] = A[vi]"),
    ),
    "overwritten": function(
        "A:8,8 D:8,8 S:8",
        'B = T.alloc_buffer((8, 8), "float32")\n'
        + _block("B", "8, 8", "", "B[vi, vj] = A[vi, vj]")
        + _block("X", "8, 8", "", "A[vi, vj] = 1.0")
        + _block("D", "8, 8", "", "D[vi, vj] = B[vi, vj]")
        + _block("S", "8, 8", "", "with T.init():\n    S[vi] = 0.0\nS[vi] = S[vi] + 1.0", "SR"),
    ),
    "unwritten": function(
        "A:8 C:8",
        'B = T.alloc_buffer((8,), "float32")\nE = T.alloc_buffer((8,), "float32")\n'
        + _block("E", "4", "", "E[vi] = A[vi]")
        + _block("B", "8", "", "B[vi] = A[vi]")
        + _block("C", "8", "", "C[vi] = B[vi] + E[vi]"),
    ),
    "half": function(
        "A:8 C:8",
        'B = T.alloc_buffer((8,), "float32")\n'
        + _block("B", "8", "vi = T.axis.spatial(8, i)\nT.where(i < 5)", "B[vi] = A[vi]")
        + _block("C", "8", "", "C[vi] = B[vi]"),
    ),
    "same name": """
@T.prim_func
def main(a: T.handle, b: T.handle, C: T.Buffer((8,), "float32")):
    A = T.match_buffer(a, (8,), "float32")
    A_1 = T.match_buffer(b, (8,), "float32")
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            C[vi] = A[vi] + A_1[vi]
""",
    "symbolic": """
@T.prim_func
def main(a: T.handle, b: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n,), "float32")
    B = T.match_buffer(b, (n,), "float32")
    for i in range(n):
        with T.block("B"):
            vi = T.axis.spatial(n, i)
            B[vi] = A[vi]
""",
}


def _row(init: str, update: str) -> str:
    return function(
        "A:8,8 B:8 C:8",
        f"""
for i, k in T.grid(8, 8):
    with T.block("B"):
        vi, vk = T.axis.remap("SR", [i, k])
        with T.init():
            {init}
        {update}
""",
    )


REDUCTIONS = {
    "repeated": function(
        "A:8,8 D:8",
        """
C = T.alloc_buffer((8,), "float32")
for i in range(8):
    for j, k in T.grid(8, 8):
        with T.block("C"):
            vj, vk = T.axis.remap("SR", [j, k])
            with T.init():
                C[vj] = 0.0
            C[vj] = C[vj] + A[vj, vk]
    with T.block("D"):
        vi = T.axis.spatial(8, i)
        D[vi] = C[vi]
""",
    ),
    "in one loop": function(
        "A:8,8 C:8",
        """
B = T.alloc_buffer((8, 8), "float32")
for i in range(8):
    for k in range(8):
        with T.block("B"):
            vi, vk = T.axis.remap("SS", [i, k])
            B[vi, vk] = A[vi, vk] * 2.0
    for k in range(8):
        with T.block("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[vi] = 0.0
            C[vi] = C[vi] + B[vi, vk]
""",
    ),
    "beside": function(
        "A:8,8 B:8 C:8",
        """
for i, k in T.grid(8, 2):
    for l in range(4):
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            vk = T.axis.reduce(8, k * 4 + l)
            with T.init():
                C[vi] = 0.0
            C[vi] = C[vi] + A[vi, vk]
    with T.block("B"):
        vi, vk = T.axis.remap("SR", [i, k])
        with T.init():
            B[vi] = 0.0
        B[vi] = B[vi] + A[vi, vk]
""",
    ),
    "two results": _row("B[vi] = 0.0", "C[vi] = C[vi] + A[vi, vk]"),
    "other elements": _row("B[vi] = 0.0", "B[7 - vi] = B[7 - vi] + A[vi, vk]"),
    "difference": _row("B[vi] = 0.0", "B[vi] = B[vi] - A[vi, vk]"),
    "no variable": _row(
        "B[vi] = 0.0\n            C[vi] = 0.0",
        "B[vi] = T.max(B[vi], A[vi, vk])\n        C[vi] = T.Select(B[vi] >= A[vi, vk], C[vi], 1.0)",
    ),
    "two shapes": function(
        "A:8,8 B:8 C:9",
        """
for i, k in T.grid(8, 8):
    with T.block("B"):
        vi, vk = T.axis.remap("SR", [i, k])
        with T.init():
            B[vi] = 0.0
            C[vi] = 0.0
        v: T.float32 = T.max(B[vi], A[vi, vk])
        w: T.float32 = T.Select(B[vi] >= A[vi, vk], C[vi], A[vi, vk])
        B[vi] = v
        C[vi] = w
""",
    ),
    "read beyond": function(
        "A:8,8 C:8",
        """
B = T.alloc_buffer((8,), "float32")
for i, k in T.grid(4, 8):
    with T.block("B"):
        vi, vk = T.axis.remap("SR", [i, k])
        with T.init():
            B[vi] = 0.0
        B[vi] = B[vi] + A[vi, vk]
for i in range(8):
    with T.block("C"):
        vi = T.axis.spatial(8, i)
        C[vi] = B[vi]
""",
    ),
    "two stores": _row("B[vi] = 0.0", "B[vi] = B[vi] + A[vi, vk]\n        B[vi] = B[vi] + 1.0"),
}


PARTITIONED = {
    "in a condition": function(
        "A:8 B:8",
        """
if A[0] > 0.0:
"""
        + "".join(f"    {line}\n" for line in _block("B", "8", "", "B[vi] = A[vi]").splitlines())
        + _block("C", "8", "", "A[vi] = 0.0"),
    ),
    "two scopes": function(
        "A:8 B:8 C:8",
        """
with T.block("outer"):
"""
        + "".join(f"    {line}\n" for line in _block("B", "8", "", "B[vi] = A[vi]").splitlines())
        + _block("C", "8", "", "C[vi] = A[vi]"),
    ),
    "transposed": function(
        "A:8,8 B:8,8 C:8,8",
        _block("B", "8, 8", "", "B[vi, vj] = A[vi, vj]")
        + _block("C", "8, 8", "", "C[vi, vj] = B[vj, vi]"),
    ),
    "three": function(
        "A:8 B:8 C:8 D:8",
        _block("B", "8", "", "B[vi] = A[vi]")
        + _block("C", "8", "", "C[vi] = B[vi]")
        + _block("D", "8", "", "D[vi] = B[vi]"),
    ),
    "other extents": function(
        "A:8 B:8 C:4",
        _block("B", "8", "", "B[vi] = A[vi]") + _block("C", "4", "", "C[vi] = A[vi]"),
    ),
    "two and one": function(
        "A:8,8 B:8,8 C:8,8 D:8,8",
        "for i in range(8):\n"
        + "".join(
            f"    for j in range(8):\n        with T.block({name!r}):\n"
            '            vi, vj = T.axis.remap("SS", [i, j])\n'
            f"            {name}[vi, vj] = A[vi, vj]\n"
            for name in "BC"
        )
        + _block("D", "8, 8", "", "D[vi, vj] = A[vi, vj]"),
    ),
    "no block": function(
        "A:8", "for i in range(8):\n    A[i] = 0.0\n" + _block("B", "8", "", "A[vi] = 1.0")
    ),
}


_ROLLED = """
B = T.alloc_buffer((48,), "float32")
for i in range(16):
    for a in range(3):
        with T.block("B"):
            vi = T.axis.spatial(48, i + a)
            B[vi] = A[vi]
    with T.block("C"):
        vi = T.axis.spatial(16, i)
        C[vi] = B[vi] + B[vi + 2]
"""


def rolled(*changes: str) -> str:
    """A block that is computed at the loop of its consumer, with changes of its text."""
    text = _ROLLED
    for old, new in zip(changes[::2], changes[1::2], strict=True):
        assert old in text
        text = text.replace(old, new)
    return function("A:48 C:16", text)


_SECOND = """        with T.block("X"):
            vx = T.axis.spatial(48, i + a)
            B[vx] = A[vx]
"""
_DIAGONAL = """
B = T.alloc_buffer((48, 48), "float32")
for i in range(16):
    for a, b in T.grid(3, 3):
        with T.block("B"):
            vi = T.axis.spatial(48, i + a)
            vj = T.axis.spatial(48, i + b)
            B[vi, vj] = A[vi] + A[vj]
    with T.block("C"):
        vi = T.axis.spatial(16, i)
        C[vi] = B[vi, vi + 2] + B[vi + 2, vi]
"""
ROLLED = {
    "plain": rolled(),
    "twice": rolled('    with T.block("C")', f'{_SECOND}    with T.block("C")'),
    "updated": rolled("= A[vi]", "= B[vi] + A[vi]"),
    "before": rolled(
        "for i in range(16):\n",
        'with T.block("D"):\n    C[0] = B[0]\nfor i in range(16):\n',
    ),
    "unused": rolled("B[vi] + B[vi + 2]", "A[vi]"),
    "view": rolled(
        "        C[vi]",
        "        T.reads(B[vi : vi + 3])\n        T.writes(C[vi])\n"
        "        V = T.match_buffer(B[vi : vi + 3], (3,), offset_factor=1)\n        C[vi]",
        "B[vi] + B[vi + 2]",
        "V[0] + V[2]",
    ),
    "apart": rolled("i + a", "i * 3 + a", "B[vi] + B[vi + 2]", "B[vi * 3]"),
    "from one": rolled("i in range(16)", "i in range(1, 16)"),
    "diagonal": function("A:48 C:16", _DIAGONAL),
    "of a loop": rolled("= A[vi]", '= A[vi] + T.Cast("float32", i)'),
    "over a loop": rolled(
        "i in range(16)",
        "u, i in T.grid(4, 16)",
        "            B[vi] = A[vi]",
        "            vk = T.axis.reduce(4, u)\n            with T.init():\n"
        "                B[vi] = 0.0\n            B[vi] = B[vi] + A[vi + vk]",
    ),
    "of a time": rolled(
        "    for a in range(3):\n",
        '    with T.block("X"):\n        vt = T.axis.spatial(16, i)\n'
        '        X[0] = T.Cast("float32", vt)\n    for a in range(3):\n',
        "for i in range(16):\n",
        'X = T.alloc_buffer((1,), "float32")\nfor i in range(16):\n',
        "= A[vi]",
        "= A[vi] + X[0]",
    ),
    "in a condition": rolled("i + a)\n", "i + a)\n            T.where(i + a * 2 < 30)\n"),
    "old elements": rolled("B[vi] + B[vi + 2]", "B[vi] + B[vi // 2]"),
}


REINDEXED = {
    "by element": function(
        "A:8 I:8 B:8", _block("B", "8", "", 'B[vi] = A[T.Cast("int32", I[vi])]')
    ),
    "by loop": function(
        "A:8 B:8",
        _block("B", "8", "", "B[vi] = 0.0\nfor l in range(8):\n    B[vi] = B[vi] + A[l]"),
    ),
    "pointer": function(
        "A:8 B:8",
        _block(
            "B",
            "8",
            "",
            "T.reads(A[vi])\nT.writes(B[vi])\n"
            'B[vi] = T.call_extern("float32", "f", A.access_ptr("r"))',
        ),
    ),
    "last one wins": function("A:8,8 B:8", _block("B", "8, 8", "", "B[vi] = A[vi, vj]")),
    "in init": function(
        "A:8,8 B:8",
        """
for i, k in T.grid(8, 8):
    with T.block("B"):
        vi, vk = T.axis.remap("SR", [i, k])
        with T.init():
            with T.block("zero"):
                vz = T.axis.spatial(8, vi)
                B[vz] = 0.0
        B[vi] = B[vi] + A[vi, vk]
""",
    ),
    "reduced": function("A:8,8 B:8,8", _block("B", "8, 8", "", "B[vi, vj] = A[vi, vj]", "SR")),
    "updated": function("A:8 B:8", _block("B", "8", "", "B[vi] = B[vi] + A[vi]")),
    "updated apart": function(
        "A:8,8 B:15", _block("B", "8, 8", "", "B[vi + vj] = B[vi + vj] + A[vi, vj]")
    ),
    "begun": function(
        "A:8,8 B:8",
        _block(
            "B",
            "8, 8",
            "",
            "T.reads(A[vi, vj], B[vi])\nwith T.init():\n    B[vi] = 0.0\nB[vi] = B[vi] + A[vi, vj]",
            "SR",
        ),
    ),
    "window": function(
        "A:8,8 B:8,8", _block("B", "8, 8", "", "B[vi, vj] = A[vi, vj]\nB[vi, 0] = 0.0")
    ),
    "from below": function(
        "A:8 B:8", _block("B", "8", "vi = T.axis.spatial((-2, 6), i - 2)", "B[vi + 2] = A[vi + 2]")
    ),
    "written in the loops": function(
        "A:8,8 C:8,8",
        """
B = T.alloc_buffer((8, 8), "float32")
for i in range(8):
    with T.block("B"):
        vi = T.axis.spatial(8, i)
        B[vi, 0] = A[vi, 0]
    for j in range(8):
        with T.block("M"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * 2.0
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj]
""",
    ),
    "tiles": function(
        "A:8,8 C:8,8",
        """
B = T.alloc_buffer((8, 8), "float32")
for i in range(8):
    for k in range(8):
        with T.block("B"):
            vi, vk = T.axis.remap("SS", [i, k])
            B[vi, vk] = A[vi, vk] * 2.0
    for k in range(8):
        with T.block("C"):
            vi, vk = T.axis.remap("SS", [i, k])
            C[vk, vi] = B[vi, vk] + 1.0
""",
    ),
    "initialized": function(
        "A:8,8 B:8",
        _block(
            "B",
            "8, 8",
            "",
            "T.reads(B[vi], A[vi, vj])\nT.writes(B[vi])\n"
            "with T.init():\n    B[vi] = 0.0\nB[vi] = B[vi] + A[vi, vj]",
            "SR",
        ),
    ),
    "in a condition": function(
        "A:8 B:8",
        """
for i in range(8):
    if i < 4:
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            B[vi] = B[vi] + A[vi]
""",
    ),
    "conditional": function(
        "A:8,8 B:8",
        """
for i, k in T.grid(8, 8):
    with T.block("B"):
        vi, vk = T.axis.remap("SR", [i, k])
        T.where(i + k < 10)
        with T.init():
            B[vi] = 0.0
        B[vi] = B[vi] + A[vi, vk]
""",
    ),
}


def _two(first: str, second: str, names: str = "BC") -> str:
    """Two blocks, one after the other, in the loops of a row."""
    return function(
        "A:8,8 B:8,8 C:8,8",
        f"""
for i in range(8):
    for o in range(1):
        for j in range(8):
            with T.block("{names[0]}"):
                vi, vj = T.axis.remap("SS", [i, j])
                {first}
        for j in range(8):
            with T.block("{names[1]}"):
                vi, vj = T.axis.remap("SS", [i, j])
                {second}
""",
    )


MOVED = {
    "written later": _two("B[vi, vj] = A[vi, vj]", "A[vi, vj] = C[vi, vj]"),
    "written twice": _two("B[vi, vj] = A[vi, vj]", "B[vi, vj] = C[vi, vj]"),
    "updated": _two("B[vi, vj] = B[vi, vj] + A[vi, vj]", "C[vi, vj] = A[vi, vj]"),
    "read before": _two("C[vi, vj] = B[vi, vj]", "B[vi, vj] = A[vi, vj]", "CB"),
    "every second": _two("B[vi, vj // 2 * 2] = A[vi, vj]", "C[vi, vj] = A[vi, vj]"),
}
LAYOUTS = {
    "strides": """@T.prim_func
def main(a: T.handle, B: T.Buffer((8,), "float32")):
    A = T.match_buffer(a, (8,), strides=[2])
"""
    + "".join(f"    {line}\n" for line in _block("B", "8", "", "B[vi] = A[vi]").splitlines()),
    "alias": """@T.prim_func
def main(a: T.handle, b: T.handle, B: T.Buffer((8,), "float32")):
    A = T.match_buffer(a, (8,))
    C = T.match_buffer(b, (4, 2), data=A.data)
"""
    + "".join(
        f"    {line}\n" for line in _block("B", "8", "", "B[vi] = A[vi] + C[0, 0]").splitlines()
    ),
    "guarded": function(
        "A:8 B:8", _block("B", "8", "vi = T.axis.spatial(8, i)\nT.where(i < 5)", "B[vi] = A[vi]")
    ),
}

_PADDED = """
B = T.alloc_buffer((10,), "float32")
for i, k in T.grid(10, 13):
    with T.block("B"):
        vi = T.axis.spatial(10, i)
        vk = T.axis.reduce(13, k)
        with T.init():
            B[vi] = 0.0
        B[vi] = B[vi] + A[vi, vk] * D[vk]
for i in range(10):
    with T.block("C"):
        vi = T.axis.spatial(10, i)
        C[vi] = B[vi] + 1.0
"""


def padded(*changes: str, parameters: str = "A:10,13 D:13 C:10") -> str:
    """A product of a matrix and a vector, with changes of its text."""
    text = _PADDED
    for old, new in zip(changes[::2], changes[1::2], strict=True):
        assert old in text
        text = text.replace(old, new)
    return function(parameters, text)


_INIT = "        with T.init():\n            B[vi] = 0.0\n"
_LOOPS = "for i, k in T.grid(10, 13):\n"
_SUM = "A[vi, vk] * D[vk]"
_INSIDE = """
B = T.alloc_buffer((10,), "float32")
for i in range(10):
    for k in range(13):
        with T.block("B"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                B[vi] = 0.0
            B[vi] = B[vi] + A[vi, vk] * D[vk]
    with T.block("C"):
        vi = T.axis.spatial(10, i)
        C[vi] = B[vi] + 1.0
"""
PADDED = {
    "plain": padded(),
    "maximum": padded(f"B[vi] + {_SUM}", f"T.max(B[vi], {_SUM})", "= 0.0", "= -1.0"),
    "constant": padded(_SUM, f"({_SUM} + 1.0)"),
    "exponential": padded(_SUM, "T.exp(D[vk])"),
    "larger": padded(_SUM, "D[vk]", parameters="A:10,13 D:15 C:10"),
    "division": padded(_SUM, "T.Cast('float32', 7 // T.Cast('int32', D[vk]))"),
    "iterator": padded(_SUM, "D[vk] * T.Cast('float32', 7 // (vk - 14))"),
    "call": padded(_SUM, "T.call_extern('float32', 'f', D[vk])"),
    "reversed": padded(_SUM, "D[12 - vk]"),
    "twice": padded(
        _INIT,
        f"        T.reads(A[vi, vk], A[0, vk])\n        T.writes(B[vi])\n{_INIT}",
        _SUM,
        "A[vi, vk] * A[0, vk]",
    ),
    "element": padded(_SUM, "A[3, vk]"),
    "first": padded(_SUM, "A[0, vk]"),
    "updated": padded(_INIT, ""),
    "not begun": padded(_INIT, "", f"B[vi] + {_SUM}", _SUM),
    "guarded": padded("        B[vi] = B[vi]", "        if vi < 5:\n            B[vi] = B[vi]"),
    "allocated": padded(_INIT, f"        X = T.alloc_buffer((1,))\n{_INIT}"),
    "hidden": padded(_INIT, f"        T.reads(A[vi, vk])\n        T.writes(B[vi])\n{_INIT}"),
    "partial": padded(_LOOPS, "for i, k in T.grid(8, 13):\n"),
    "from three": padded(
        _LOOPS,
        "for i, k in T.grid(7, 13):\n",
        "spatial(10, i)\n        vk",
        "spatial((3, 10), i + 3)\n        vk",
    ),
    "larger result": padded("B = T.alloc_buffer((10,)", "B = T.alloc_buffer((12,)"),
    "raw": padded(_LOOPS, "for i in range(10):\n  D[0] = 1.0\n  for k in range(13):\n"),
    "inside": function("A:10,13 D:13 C:10", _INSIDE),
    "written": function("A:10,13 D:13 C:10", _INSIDE.replace("C[vi] =", "D[vi] =")),
    "later": function("A:10,13 D:13 C:10", _INSIDE.replace("C[vi] = B[vi]", "C[vi] = B[9 - vi]")),
}


_PAD = """
B = T.alloc_buffer((12,), "float32")
for i in range(12):
    with T.block("B"):
        vi = T.axis.spatial(12, i)
        B[vi] = T.if_then_else(2 <= vi and vi < 10, A[vi - 2], 3.0)
for i in range(12):
    with T.block("C"):
        vi = T.axis.spatial(12, i)
        C[vi] = B[vi] + 1.0
"""


def padding(*changes: str) -> str:
    """A copy with padding, with changes of its text."""
    text = _PAD
    for old, new in zip(changes[::2], changes[1::2], strict=True):
        assert old in text
        text = text.replace(old, new)
    return function("A:8 C:12", text)


_CONDITION = "2 <= vi and vi < 10"
_BESIDE = """
B = T.alloc_buffer((12,), "float32")
for i in range(12):
    with T.block("B"):
        vi = T.axis.spatial(12, i)
        B[vi] = T.if_then_else(2 <= vi and vi < 10, A[vi - 2], 3.0)
    with T.block("C"):
        vi = T.axis.spatial(12, i)
        C[vi] = B[vi] + 1.0
"""
PADDING = {
    "plain": padding(),
    "beside": function("A:8 C:12", _BESIDE),
    "later": function("A:8 C:12", _BESIDE.replace("C[vi] = B[vi]", "C[vi] = B[11 - vi]")),
    "raw": function("A:8 C:12", _BESIDE + "    C[i] = B[i]\n"),
    "select": padding("T.if_then_else(2", "T.Select(2"),
    "two stores": padding("3.0)\n", "3.0)\n        B[vi] = 1.0\n", "= 1.0", "= A[0]"),
    "element": padding("3.0", "A[0]"),
    "always": padding(_CONDITION, "0 <= vi and vi < 12"),
    "never": padding(_CONDITION, "12 <= vi"),
    "empty": padding(_CONDITION, "7 <= vi and vi < 6"),
    "strided": padding(_CONDITION, "vi % 2 == 0"),
    "folded": padding("B[vi] = T.if", "B[vi % 4] = T.if"),
    "updated": padding("A[vi - 2]", "B[vi]"),
}


def _tile(name: str, sizes: str, body: str, indices: str = "m * 2 + i, j", names: str = "") -> str:
    """Loops i, j in the body of a loop, around a block."""
    names = names or "vi:spatial vj:spatial"
    lines = [f"for i, j in T.grid({sizes}):", f'    with T.block("{name}"):']
    for one, value, size in zip(names.split(), indices.split(", "), (8, 8), strict=True):
        axis, kind = one.split(":")
        lines.append(f"        {axis} = T.axis.{kind}({size}, {value})")
    lines += [f"        {line}" for line in body.splitlines()]
    return "".join(f"    {line}\n" for line in lines)


_TWO = _tile("B", "2, 8", "B[vi, vj] = A[vi, vj] * 2.0")
_NEXT = _tile("C", "2, 8", "C[vi, vj] = B[vi, vj] + 1.0")
_SUM = "with T.init():\n    R[vi] = 0.0\nR[vi] = R[vi] + A[vi, vj]"
_ROWS = _tile("R", "2, 8", _SUM, names="vi:spatial vj:reduce")
BLOCKIZED = {
    name: function("A:8,8 B:8,8 C:8,8 R:8", body)
    for name, body in {
        "two": "for m in range(4):\n"
        + _tile("B", "2, 8", "B[va, vb] = A[va, vb] * 2.0", names="va:spatial vb:spatial")
        + _tile("C", "8, 2", "C[vi, vj] = B[vi, vj] + 1.0", "m * 2 + j, i"),
        "three": f"for m in range(4):\n{_TWO}{_NEXT}{_ROWS}",
        "reduction": f"for m in range(4):\n{_TWO}{_ROWS}",
        "reduction first": f"for m in range(4):\n{_ROWS}{_TWO}",
        "reduction outside": "for m, n in T.grid(4, 4):\n"
        + _tile("B", "2, 2", "B[vi, vj] = A[vi, vj] * 2.0", "m * 2 + i, n * 2 + j")
        + _tile("R", "2, 2", _SUM, "m * 2 + i, n * 2 + j", "vi:spatial vj:reduce"),
        "in one loop": """
for i, j in T.grid(8, 8):
    with T.block("B"):
        vi, vj = T.axis.remap("SS", [i, j])
        B[vi, vj] = A[vi, vj] * 2.0
    with T.block("C"):
        vi, vj = T.axis.remap("SS", [i, j])
        C[vi, vj] = B[vi, vj] + 1.0
""",
        "conditions": "for m in range(4):\n"
        + _tile("B", "2, 9", "T.where(j < 8)\nB[vi, vj] = A[vi, vj] * 2.0")
        + _NEXT,
        "outer conditions": "for m in range(5):\n"
        + _tile("B", "2, 8", "T.where(m < 4)\nB[vi, vj] = A[vi, vj] * 2.0")
        + _tile("C", "2, 8", "T.where(m < 4)\nC[vi, vj] = B[vi, vj] + 1.0"),
        "one outer condition": "for m in range(4):\n"
        + _tile("B", "2, 8", "T.where(m < 3)\nB[vi, vj] = A[vi, vj] * 2.0")
        + _NEXT,
        "two conditions": "for m, n in T.grid(4, 4):\n"
        + _tile("B", "2, 8", "T.where(n < 3)\nB[vi, vj] = A[vi, vj] * 2.0")
        + _tile("C", "2, 8", "T.where(n < 2)\nC[vi, vj] = B[vi, vj] + 1.0"),
        "independent": f"for m in range(4):\n{_TWO}"
        + _tile("C", "2, 8", "C[vi, vj] = A[vi, vj] + 1.0"),
        "units": "for m in range(4):\n"
        + _tile("B", "2, 1", "B[vi, vj] = A[vi, vj] * 2.0", "m * 2 + i, j * 8")
        + _tile("C", "2, 1", "C[vi, vj] = B[vi, vj] + 1.0", "m * 2 + i, j * 8"),
        "other loops": "for m, n in T.grid(4, 4):\n"
        + _TWO
        + _tile("C", "2, 8", "C[vi, vj] = A[vi, vj] + 1.0", "n * 2 + i, j"),
        "in a condition": "for m in range(4):\n    if A[0, 0] > 0.0:\n"
        + "".join(f"    {line}\n" for line in _TWO.splitlines())
        + _NEXT,
        "two scopes": """
for m in range(8):
    with T.block("O"):
        vm = T.axis.spatial(8, m)
        for j in range(8):
            with T.block("B"):
                vj = T.axis.spatial(8, j)
                B[vm, vj] = A[vm, vj] * 2.0
    for j in range(8):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [m, j])
            C[vi, vj] = B[vi, vj] + 1.0
""",
        "fewer": """
for m in range(8):
    with T.block("R"):
        vm = T.axis.spatial(8, m)
        R[vm] = A[vm, 0]
    for j in range(8):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [m, j])
            C[vi, vj] = R[vi] + 1.0
""",
        "of a loop outside": """
for i in range(8):
    with T.block("O"):
        T.reads(A[i, 0:8])
        T.writes(B[i, 0:8])
        for j in range(8):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] * 2.0
""",
        "from one": """
for i in range(1, 4):
    for j in range(2, 8):
        with T.block("B"):
            vi = T.axis.spatial((1, 4), i)
            vj = T.axis.spatial((2, 8), j)
            B[vi, vj] = A[vi, vj] * 2.0
""",
    }.items()
}
