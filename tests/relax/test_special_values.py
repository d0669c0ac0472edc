"""Special values in graphs: each row of `special_values`, for all float types."""

from __future__ import annotations

import numpy as np
import pytest

import te_sched
from te_sched import nd, relax
from te_sched.relax.frontend.onnx import from_onnx
from te_sched.relax.frontend.torch import from_exported_program
from tests.relax import special_values as table

RELATIVE = {"float16": 3e-3, "bfloat16": 2e-2, "float32": 2e-5, "float64": 1e-10}
TINY = {"float16": 6.2e-5, "bfloat16": 1.2e-38, "float32": 1.2e-38, "float64": 2.3e-308}
LARGEST = {"float16": 65504.0, "bfloat16": 3.38e38, "float32": 3.4e38, "float64": 1.7e308}


def arrays_of(dtype: str) -> dict[str, np.ndarray]:
    """The inputs of rows, in float64."""
    words = {"tiny": TINY[dtype] / 4, "-tiny": -TINY[dtype] / 4, "-max": -LARGEST[dtype]}
    vectors = {"x": table.X, "y": table.Y}
    arrays = {
        name: np.array([words.get(one, one) for one in values], "float64")
        for name, values in vectors.items()
    }
    infinite = {"i": np.full(5, np.inf), "n": np.full(5, -np.inf)}
    return arrays | infinite | {"m": np.array(table.M, "float64")}


def near(found: np.ndarray, right: np.ndarray, dtype: str, more: float = 1.0) -> np.ndarray:
    """Where results are equal but for rounding, relative to their size."""
    if right.dtype.kind in "bi":
        return found == right
    a, b = found.astype("float64"), right.astype("float64")
    return np.isclose(a, b, more * RELATIVE[dtype], 4 * TINY[dtype], equal_nan=True)


def run(module: te_sched.IRModule, arrays: list[np.ndarray]) -> list[np.ndarray]:
    machine = relax.VirtualMachine(relax.build(module, "llvm"), te_sched.cpu())
    found = machine["main"](*[nd.array(one) for one in arrays])
    return [one.numpy() for one in (found if isinstance(found, tuple | list) else [found])]


@pytest.mark.parametrize("dtype", RELATIVE)
@pytest.mark.parametrize("rows", table.TORCH)
def test_special_values_are_those_of_torch(rows: str, dtype: str) -> None:
    torch = pytest.importorskip("torch")
    if dtype == "bfloat16":
        pytest.importorskip("ml_dtypes")
    kind = getattr(torch, dtype)
    lines = table.TORCH[rows]
    scope = {"torch": torch, "F": torch.nn.functional, "INF": float("inf")}
    text = f"def forward(self, x, y, m, i, n, w): return ({', '.join(lines)},)"
    exec(text, scope)
    model = type("Model", (torch.nn.Module,), {"forward": scope["forward"]})()
    wide = [torch.tensor(arrays_of(dtype)[name]) for name in "xymin"] + [torch.tensor([0.5])]
    inputs = [one.to(kind) for one in wide]
    program = torch.export.export(model, tuple(inputs))
    found = run(from_exported_program(program), [_array(one) for one in inputs])
    # Right is what torch computes in the type, or in float64.
    right, exact = model(*inputs), model(*[one.double() for one in inputs])
    for line, one, *accepted in zip(lines, found, right, exact, strict=True):
        assert str(one.dtype) == str(accepted[0].dtype).removeprefix("torch."), line
        is_near = [
            near(
                one,
                other.to(accepted[0].dtype).double().numpy()
                if other.dtype.is_floating_point
                else other.numpy(),
                dtype,
            )
            for other in accepted
        ]
        wrong = ~(is_near[0] | is_near[1])
        assert not wrong.any(), f"{line} at {np.argwhere(wrong)[:5].tolist()}: {one[wrong][:5]}"


def _array(tensor):
    if str(tensor.dtype) != "torch.bfloat16":
        return tensor.numpy()
    import ml_dtypes
    import torch

    return tensor.view(torch.uint16).numpy().view(ml_dtypes.bfloat16)


def _result_type(node, dtype: str) -> int:
    from onnx import TensorProto, helper

    if node.op_type in ("IsNaN", "IsInf", "Equal") or node.op_type.startswith(("Less", "Gr")):
        return TensorProto.BOOL
    if node.op_type.startswith("Arg"):
        return TensorProto.INT64
    return helper.np_dtype_to_tensor_dtype(np.dtype(dtype))


CONSTANTS = {
    **{"ones": np.array([1]), "zeros": np.array([0]), "none": np.zeros(0, "int64")},
    **{"one": np.array(1), "low": -1.0, "high": 1.0},
}
# onnxruntime forgets some NaN; numpy, and onnx's reference evaluator, do not.
_BY_REFERENCE = ("ReduceMax", "ReduceMin", "ArgMax", "ArgMin", "Sign")


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_special_values_are_those_of_onnxruntime(dtype: str) -> None:
    pytest.importorskip("onnx")
    from onnx import helper, numpy_helper
    from onnx.reference import ReferenceEvaluator

    runtime = pytest.importorskip("onnxruntime")
    runtime.set_default_logger_severity(4)
    arrays = {name: one.astype(dtype) for name, one in arrays_of(dtype).items()}
    arrays |= {"w": np.array([np.inf], dtype), "empty": np.zeros((3, 0), dtype)}
    arrays["holds"] = np.arange(20) % 2 == 0
    known = {name: np.asarray(one) for name, one in CONSTANTS.items()}
    known |= {name: known[name].astype(dtype) for name in ("low", "high")}

    def model_of(nodes, names):
        def info(name, array):
            kind = helper.np_dtype_to_tensor_dtype(array.dtype)
            return helper.make_tensor_value_info(name, kind, array.shape)

        inputs = [info(name, arrays[name]) for name in names]
        results = [
            helper.make_tensor_value_info(node.output[0], _result_type(node, dtype), None)
            for node in nodes
        ]
        constants = [numpy_helper.from_array(one, name) for name, one in known.items()]
        graph = helper.make_graph(nodes, "g", inputs, results, constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)

    nodes = [
        helper.make_node(kind, names.split(), [f"r{place}"], **attrs)
        for place, (kind, names, attrs) in enumerate(table.ONNX)
        if dtype == "float32" or kind != "IsInf"
    ]
    found = run(from_onnx(model_of(nodes, arrays)), list(arrays.values()))
    for node, one in zip(nodes, found, strict=True):
        names = [name for name in dict.fromkeys(node.input) if name in arrays]
        single = model_of([node], names)
        given = {name: arrays[name] for name in names}
        accepted = []
        try:
            with np.errstate(all="ignore"):
                accepted.append(ReferenceEvaluator(single).run(None, given)[0])
        except (ValueError, TypeError, RuntimeError):  # it has no initial value for no elements
            pass
        if node.op_type not in _BY_REFERENCE or not accepted:
            try:
                session = runtime.InferenceSession(single.SerializeToString())
                accepted.append(session.run(None, given)[0])
            except Exception as error:  # it has few operators of float16
                if "NOT_IMPLEMENTED" not in str(error) and "INVALID_GRAPH" not in str(error):
                    raise
        where = f"{node.op_type} of {' '.join(node.input)}"
        assert accepted, where
        assert one.shape == accepted[0].shape, where
        tolerance = 1e4 if dtype == "float64" else 1.0  # attributes are of float32
        right = np.any([near(one, other, dtype, tolerance) for other in accepted], axis=0)
        assert np.all(right), f"{where} at {np.argwhere(~right)[:5].tolist()}: {one[~right][:5]}"
