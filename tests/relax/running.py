"""Running graphs of tests."""

import numpy as np

import te_sched
from te_sched import relax


def random_arrays(module, seed=0):
    """Arrays for the parameters of `main`, whose shapes are known."""
    numbers = np.random.default_rng(seed)
    infos = [one.struct_info for one in module["main"].params]
    return [
        numbers.uniform(-1, 1, [size.value for size in one.shape.values]).astype(one.dtype)
        for one in infos
    ]


def assert_same_results(before, after, tolerance=1e-5):
    """Two modules compute the same; they are built as one."""
    arrays = random_arrays(before)
    functions = {str(name): func for name, func in after.functions_items()}
    functions["after"] = functions["main"].with_attr("global_symbol", "after")
    joined = te_sched.IRModule({**functions, **before.functions})
    machine = relax.VirtualMachine(relax.build(joined, "llvm"), te_sched.cpu())
    given = [te_sched.nd.array(one) for one in arrays]
    results = [_arrays_of(machine[name](*given)) for name in ("main", "after")]
    for one, other in zip(*results, strict=True):
        np.testing.assert_allclose(one, other, tolerance, tolerance)


def _arrays_of(found):
    many = isinstance(found, (list, tuple))
    return [one.numpy() for one in found] if many else [found.numpy()]
