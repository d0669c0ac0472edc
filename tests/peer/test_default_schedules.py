"""Default schedules of products with few vectors, and of norms, print what TVM 0.19's do."""

from __future__ import annotations

import re
from typing import Any

import pytest

pytest.importorskip("tvm")

import tvm
from tvm import dlight as peer

from te_sched import dlight, te, topi
from te_sched.script import from_source
from te_sched.target import Target
from tests.dlight.products import ATTENTION, EXPERTS, Product

GPU, ADRENO = "nvidia/geforce-rtx-3090-ti", "opencl -device=adreno"
PACKED = {"group": 8, "has_scale": True, "end": "y + 1.0"}
UNPACKED = {**PACKED, "unpacking": "dequantize"}
# What TVM adds to the condition of padded results, and what follows from the extent of the loop.
REDUNDANT = re.compile(r"\((\w+) - \(m \+ \d+\) // \d+ < 0 or \1 == 0\) and ")


def norm() -> Any:
    """A function that divides rows by their root mean square."""
    a, g = te.placeholder((1, 3, 5120), "float16", "A"), te.placeholder((5120,), "float16", "g")
    return te.create_prim_func([a, g, topi.nn.rms_norm(a, g, [2])])


ONE = [
    (GPU, Product(rows=4096, depth=4096, dtype="float16")),
    (GPU, Product(rows=33, depth=100)),
    (GPU, Product(rows=4096, depth=11008, **PACKED)),
    (GPU, Product(rows=2, depth=512, group=2)),
    (GPU, Product(rows=64, depth=16384)),
    (GPU, Product(rows="n", depth=128, end="y * 2.0")),
    (GPU, Product(rows=512, depth=512, is_outer=True)),
    ("metal", Product(rows=4096, depth=4096)),
    ("metal", Product(rows=4096, depth=512, **PACKED)),
    ("metal", Product(rows=4096, depth=512, is_outer=True)),
    ("metal", Product(rows="n", depth=512, is_outer=True)),
    ("rocm", Product(rows=1024, depth=512)),
    ("rocm", Product(rows=512, depth=1024)),
    ("webgpu", Product(rows=512, depth=1024)),
    (ADRENO, Product(rows=512, depth=1024)),
    (ADRENO, Product(rows=512, depth=1024, is_outer=True, **PACKED)),
    (ADRENO, Product(rows="n", depth=1024, is_outer=True, **PACKED)),
]
SEVERAL = [
    (4, GPU, Product("m", 4096, 4096)),
    (2, GPU, Product("m", 4096, 512)),
    (4, GPU, Product("m", 40, 256, **PACKED)),
    (4, GPU, Product("m", 4096, 4096, **UNPACKED)),
    (4, "metal", Product("m", 4096, 4096)),
    (4, "metal", Product("m", 512, 256, **UNPACKED)),
    (4, "rocm", Product("m", 512, 256)),
    (4, GPU, Product("m", 4096, 4096, is_outer=True, **UNPACKED)),
    (4, "metal", Product("m", 512, 256, is_outer=True, **UNPACKED)),
    (8, GPU, Product("m", 512, 256, is_outer=True, **UNPACKED)),
]


def check(name: str, args: tuple[Any, ...], target: str, text: str) -> None:
    """Compare the schedules of a rule of both libraries; floats are those of te_sched."""
    machine, there = Target(target), tvm.target.Target(target)
    ours = getattr(dlight.gpu, name)(*args).apply(from_source(text), machine, False)
    theirs = getattr(peer.gpu, name)(*args).apply(tvm.script.from_source(text), there, False)
    assert (ours is None) == (theirs is None)
    if ours is not None:
        found = from_source(theirs.mod["main"].script()).script()
        assert ours.mod["main"].script() == REDUNDANT.sub("", found)


@pytest.mark.parametrize(("target", "product"), ONE, ids=map(str, ONE))
def test_products_with_one_vector(target: str, product: Product) -> None:
    check("GEMV", (), target, product.text())


@pytest.mark.parametrize("text", [ATTENTION, EXPERTS])
@pytest.mark.parametrize("target", [GPU, "metal"])
def test_products_of_batches(target: str, text: str) -> None:
    check("GEMV", (), target, text)


@pytest.mark.parametrize(("bucket", "target", "product"), SEVERAL, ids=map(str, SEVERAL))
def test_products_with_several_vectors(bucket: int, target: str, product: Product) -> None:
    check("LowBatchGEMV", (bucket,), target, product.text())


@pytest.mark.parametrize("target", [GPU, "opencl", "metal"])
def test_norms(target: str) -> None:
    check("RMSNorm", (), target, norm().script())
