"""ONNX's own tests of nodes: models of a node, or of its body as a function, with their results.

The package onnx makes them when their modules are loaded; a module has the tests of an operator.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil
import warnings
from fnmatch import fnmatch
from pathlib import Path

import numpy as np

import te_sched
from te_sched import nd, relax
from te_sched.errors import TeSchedError
from te_sched.relax.frontend.onnx import from_onnx
from te_sched.relax.frontend.onnx.importer import stored_dtype

# Inputs that decide sizes or axes, which a model has as constants: initializers with their names.
CONSTANT_INPUTS = {
    "AffineGrid": (1,),
    "BlackmanWindow": (0,),
    "CenterCropPad": (1,),
    "Col2Im": (1, 2),
    "ConstantOfShape": (0,),
    "CumProd": (1,),
    "CumSum": (1,),
    "DFT": (1, 2),
    "Dropout": (2,),
    "Expand": (1,),
    "HammingWindow": (0,),
    "HannWindow": (0,),
    "Loop": (0, 1),
    "MaxUnpool": (2,),
    "MelWeightMatrix": (0, 1, 2, 3, 4),
    "OneHot": (1, 2),
    "Pad": (1, 2, 3),
    "Range": (0, 1, 2),
    "ReduceL1": (1,),
    "ReduceL2": (1,),
    "ReduceLogSum": (1,),
    "ReduceLogSumExp": (1,),
    "ReduceMax": (1,),
    "ReduceMean": (1,),
    "ReduceMin": (1,),
    "ReduceProd": (1,),
    "ReduceSum": (1,),
    "ReduceSumSquare": (1,),
    "Reshape": (1,),
    "Resize": (1, 2, 3),
    "STFT": (1, 3),
    "SequenceAt": (1,),
    "SequenceInsert": (2,),
    "SequenceErase": (1,),
    "Slice": (1, 2, 3, 4),
    "Split": (1,),
    "SplitToSequence": (1,),
    "Squeeze": (1,),
    "Tile": (1,),
    "TopK": (1,),
    "Trilu": (1,),
    "Unsqueeze": (1,),
    "Upsample": (1,),
}


@functools.cache
def module_names() -> tuple[str, ...]:
    """The names of the modules of tests."""
    import onnx.backend.test.case.node as package

    return tuple(info.name for info in pkgutil.iter_modules(package.__path__) if not info.ispkg)


@functools.cache
def tests_of(module: str):
    """The tests of a module of ONNX, in its order."""
    import onnx.backend.test.case.node as package

    first = len(package._NodeTestCases)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # numpy's, of values that overflow
        importlib.import_module(f"{package.__name__}.{module}")
    return tuple(package._NodeTestCases[first:])


def read_refusals(path: Path) -> list[tuple[str, str]]:
    """Patterns of names of tests that are refused, and the beginning of the error of each."""
    lines = [line for line in path.read_text().splitlines() if line and not line.startswith("#")]
    return [tuple(part.strip() for part in line.split("|", 1)) for line in lines]


def refusal_of(name: str, refusals) -> tuple[str, str] | None:
    """The line of a test that is refused."""
    return next((line for line in refusals if fnmatch(name, f"test_{line[0]}")), None)


def array_of(value):
    """An array of a test: some are messages of protobuf."""
    from onnx import TensorProto, numpy_helper

    return numpy_helper.to_array(value) if isinstance(value, TensorProto) else np.asarray(value)


def with_constants(case, original):
    """The model of a test with constants as initializers, its other inputs, and the shapes of those
    that are sequences or optional values.

    `original` is the test of which this one may be the body: its node says which are constants.
    """
    from onnx import ModelProto, numpy_helper

    model = ModelProto()
    model.CopyFrom(case.model)
    (node,) = original.model.graph.node
    places = CONSTANT_INPUTS.get(node.op_type, ())
    names = {node.input[place] for place in places if place < len(node.input)}
    rest, shapes = [], {}
    for value, info in zip(case.data_sets[0][0], model.graph.input, strict=True):
        if info.name in names:
            model.graph.initializer.append(numpy_helper.from_array(array_of(value), info.name))
            continue
        if isinstance(value, list):
            shapes[info.name] = [array_of(element).shape for element in value]
        elif value is None:
            shapes[info.name] = None
            continue
        rest.append(value)
    return model, rest, shapes


def original_of(case, cases):
    """The test of a node of which a test is the body."""
    name = case.name.split("_expanded")[0]
    return next(other for other in cases if other.name == name)


def results_of(case, original) -> list:
    """The results of a test, as this library computes them."""
    model, inputs, shapes = with_constants(case, original)
    module = from_onnx(model, shapes)
    machine = relax.VirtualMachine(relax.build(module, "llvm -opt-level=0"), te_sched.cpu())
    results = machine["main"](*[_argument(value) for value in inputs])
    return [results] if len(case.data_sets[0][1]) == 1 else list(results)


def _argument(value):
    if isinstance(value, list):
        return [_argument(element) for element in value]
    return nd.array(stored(array_of(value)))


def stored(array):
    """An array, of numbers of few bits as int8 or float32, as graphs have them."""
    dtype = stored_dtype(str(array.dtype))
    return array if dtype == str(array.dtype) else array.astype(dtype)


def _with_undefined(case, original, results: list) -> list:
    """The expected results of a test, with those of `results` where ONNX defines none: a number
    out of the range of the integers that it is cast to. The package has what numpy gives for it,
    which changes between versions of ml_dtypes.
    """
    import ml_dtypes

    inputs, expected = case.data_sets[0]
    if original.model.graph.node[0].op_type not in ("Cast", "CastLike"):
        return expected
    given, wanted = array_of(inputs[0]), array_of(expected[0])
    if given.dtype.kind not in "fV" or not str(wanted.dtype).strip("u").startswith("int"):
        return expected
    limits, given = ml_dtypes.iinfo(wanted.dtype), given.astype("float64")
    is_defined = (given > float(limits.min) - 1) & (given < float(limits.max) + 1)
    return [np.where(is_defined, stored(wanted), results[0].numpy())]


def compare(results: list, expected: list, rtol: float, atol: float) -> None:
    """Check that results are those that ONNX gives."""
    assert len(results) == len(expected)
    for result, wanted in zip(results, expected, strict=True):
        if isinstance(wanted, list):
            compare(list(result), wanted, rtol, atol)
            continue
        array, wanted = result.numpy(), stored(array_of(wanted))
        assert array.shape == wanted.shape
        assert array.dtype == wanted.dtype
        step, size = _rounding_of(wanted)
        if wanted.dtype.kind not in "biuf" or wanted.dtype.itemsize < 4:
            array, wanted = array.astype("float64"), wanted.astype("float64")
        np.testing.assert_allclose(array, wanted, max(rtol, 2 * step), atol + step * size)


def _rounding_of(wanted) -> tuple[float, float]:
    """The relative error of a rounded element, and the greatest one: results near 0 of sums of such
    elements are noise.
    """
    import ml_dtypes

    if wanted.dtype.kind not in "fV":
        return 0.0, 0.0
    values = wanted.astype("float64")
    finite = np.abs(values[np.isfinite(values)])
    return float(ml_dtypes.finfo(wanted.dtype).eps), float(finite.max(initial=0))


def fault_of(case, cases, refusals) -> str | None:
    """What is wrong with a test: it must pass, or be refused as its line says."""
    refusal = refusal_of(case.name, refusals)
    try:
        results = results_of(case, original_of(case, cases))
        expected = _with_undefined(case, original_of(case, cases), results)
        compare(results, expected, case.rtol, case.atol)
    except (TeSchedError, AssertionError) as error:
        text = " ".join(str(error).split())
        if refusal and refusal[1] in text:
            return None
        return f"{case.name}: {type(error).__name__}: {text[:400]}"
    return f"{case.name} passes, and is listed as refused" if refusal else None
