"""Products of a matrix and vectors as TVMScript, with data and with what numpy makes of it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

# The scores of a token for each of some tokens before it.
ATTENTION = """
@T.prim_func(private=True)
def main(q: T.Buffer((1, 3, 1, 64), "float32"), pk: T.handle, pm: T.handle, po: T.handle):
    n = T.int32()
    keys = T.match_buffer(pk, (1, 3, n, 64), "float32")
    mask = T.match_buffer(pm, (1, 1, 1, n), "float32")
    out = T.match_buffer(po, (1, 3, 1, n), "float32")
    scores = T.alloc_buffer((1, 3, 1, n), "float32")
    for a, b, c, d, k in T.grid(1, 3, 1, n, 64):
        with T.block("scores"):
            i, h, j, m, r = T.axis.remap("SSSSR", [a, b, c, d, k])
            with T.init():
                scores[i, h, j, m] = T.float32(0)
            scores[i, h, j, m] = scores[i, h, j, m] + q[i, h, j, r] * keys[i, h, m, r]
    for a, b, c, d in T.grid(1, 3, 1, n):
        with T.block("out"):
            i, h, j, m = T.axis.remap("SSSS", [a, b, c, d])
            out[i, h, j, m] = T.min(scores[i, h, j, m] * T.float32(0.5), mask[i, 0, j, m])
"""
# Vectors times the matrices that are chosen of some.
EXPERTS = """
@T.prim_func(private=True)
def main(x: T.Buffer((1, 64), "float32"), w: T.Buffer((4, 20, 64), "float32"),
         chosen: T.Buffer((2,), "int32"), o: T.Buffer((2, 20), "float32")):
    for expert in T.thread_binding(2, thread="blockIdx.y"):
        with T.block("of_expert"):
            e = T.axis.spatial(2, expert)
            T.reads(x[0, 0:64], w[chosen[e], 0:20, 0:64], chosen[e])
            T.writes(o[e, 0:20])
            for i, j in T.grid(20, 64):
                with T.block("product"):
                    vi, vj = T.axis.remap("SR", [i, j])
                    T.reads(x[0, vj], w[chosen[e], vi, vj], chosen[e])
                    T.writes(o[e, vi])
                    with T.init():
                        o[e, vi] = T.float32(0)
                    o[e, vi] = o[e, vi] + x[0, vj] * w[chosen[e], vi, vj]
"""  # fmt: skip


class Product(NamedTuple):
    """Vectors times a matrix: X of vectors x depth, W of rows x depth (or depth x rows).

    vectors, rows : sizes, or names of sizes that vary.
    group : how many neighbors along the depth are packed into one number of the matrix.
    is_outer : whether neighbors in memory of the matrix are rows.
    unpacking : the name of the block that unpacks the matrix.
    has_scale : whether a scale for each two packed numbers is read, too.
    end : what is computed of the product y: "y + 1.0".
    """

    vectors: int | str = 1
    rows: int | str = 20
    depth: int = 64
    group: int = 1
    is_outer: bool = False
    unpacking: str = "unpack"
    has_scale: bool = False
    end: str = ""
    dtype: str = "float32"

    def text(self) -> str:
        """The function as TVMScript."""
        m, n, k, dtype = self.vectors, self.rows, self.depth, self.dtype
        a, b = ("vk", "vj") if self.is_outer else ("vj", "vk")
        sizes = {"vj": n, "vk": k}
        packed = {"vj": n, "vk": k // self.group}
        scales = {"vj": n, "vk": k // (2 * self.group)}
        is_plain = self.group == 1
        out = "Y" if self.end else "O"
        kept = [
            *[f"{name} = T.int32()" for name in dict.fromkeys((m, n)) if isinstance(name, str)],
            f"X = T.match_buffer(px, ({m}, {k}), '{dtype}')",
            f"W = T.match_buffer(pw, ({packed[a]}, {packed[b]}), "
            f"'{dtype if is_plain else 'uint32'}')",
            f"S = T.match_buffer(ps, ({scales[a]}, {scales[b]}), '{dtype}')",
            f"O = T.match_buffer(po, ({m}, {n}), '{dtype}')",
        ]
        if self.end:
            kept.append(f"Y = T.alloc_buffer(({m}, {n}), '{dtype}')")
        if not is_plain:
            at = {one: f"{one} // {self.group}" if one == "vk" else one for one in (a, b)}
            of = {one: f"{one} // {2 * self.group}" if one == "vk" else one for one in (a, b)}
            value = (
                f"T.Cast('{dtype}', T.bitwise_and(T.shift_right(W[{at[a]}, {at[b]}], "
                f"T.Cast('uint32', vk % {self.group}) * T.uint32({self.bits})), "
                f"T.uint32({2**self.bits - 1})))"
            )
            scale = f" * S[{of[a]}, {of[b]}]" if self.has_scale else ""
            kept += [
                f"D = T.alloc_buffer(({sizes[a]}, {sizes[b]}), '{dtype}')",
                f"for i, j in T.grid({sizes[a]}, {sizes[b]}):",
                f"    with T.block('{self.unpacking}'):",
                f"        {a}, {b} = T.axis.remap('SS', [i, j])",
                f"        D[{a}, {b}] = {value}{scale}",
            ]
        factor = f"{'W' if is_plain else 'D'}[{a}, {b}]"
        kept += [
            f"for i, j, k in T.grid({m}, {n}, {k}):",
            "    with T.block('product'):",
            "        vi, vj, vk = T.axis.remap('SSR', [i, j, k])",
            "        with T.init():",
            f"            {out}[vi, vj] = T.{dtype}(0)",
            f"        {out}[vi, vj] = {out}[vi, vj] + X[vi, vk] * {factor}",
        ]
        if self.end:
            kept += [
                f"for i, j in T.grid({m}, {n}):",
                "    with T.block('end'):",
                "        vi, vj = T.axis.remap('SS', [i, j])",
                f"        O[vi, vj] = {self.end.replace('y', 'Y[vi, vj]')}",
            ]
        head = [
            "@T.prim_func(private=True)",
            "def main(px: T.handle, pw: T.handle, ps: T.handle, po: T.handle):",
            "    T.func_attr({'tir.noalias': T.bool(True)})",
        ]
        return "\n".join([*head, *["    " + line for line in kept]])

    @property
    def bits(self) -> int:
        """The bits of a packed number."""
        return 32 // self.group

    def arrays(self, **sizes: int) -> list[Any]:
        """Data for the parameters, and the result in the last one."""
        draw = np.random.default_rng(0)
        m, n = (sizes.get(str(one), one) for one in (self.vectors, self.rows))
        m, n, k = int(m), int(n), self.depth
        x = draw.standard_normal((m, k))
        scales = draw.standard_normal((n, k // (2 * self.group)))
        if self.group == 1:
            weight = whole = draw.standard_normal((n, k))
        else:
            weight = draw.integers(0, 2**32, (n, k // self.group), "uint32")
            shifts = np.arange(self.group, dtype="uint32") * self.bits
            parts = (weight[:, :, None] >> shifts) & np.uint32(2**self.bits - 1)
            whole = parts.reshape(n, k).astype("float64")
        if self.has_scale:
            whole = whole * scales.repeat(2 * self.group, axis=1)
        y = x @ whole.T
        if self.is_outer:
            weight, scales = weight.T.copy(), scales.T.copy()
        result = eval(self.end, {"y": y}) if self.end else y
        return [one if one.dtype == "uint32" else one.astype(self.dtype) for one in
                (x, weight, scales, result)]  # fmt: skip


PACKED = {"group": 8, "has_scale": True, "end": "y + 1.0"}


def name_of(case):
    """The name of a case of a table: its values but for the sizes of a call."""
    return "-".join([str(one) for one in case[:-1]])
