"""LowerAllocTensor: tensors get storages of their own."""

import pytest

from te_sched import IRModule, relax, tir
from te_sched.relax.op import builtin


@pytest.mark.parametrize(
    ("shape", "dtype", "size"),
    [([4, 3], "float32", "48"), ([], "int8", "1"), ([tir.Var("n", "int64"), 2], "float16", "n")],
)
def test_a_storage_has_the_bytes_of_its_tensor(shape, dtype, size):
    func = relax.Function([], builtin.alloc_tensor(shape, dtype, 0), relax.ObjectStructInfo())
    found = relax.transform.LowerAllocTensor()(IRModule({"main": func}))["main"]
    storage, tensor = (one.value for one in found.body.blocks[0].bindings)
    (extent,) = storage.args[0].values
    assert size in str(extent)
    assert tensor.args[0].name_hint == "storage"
