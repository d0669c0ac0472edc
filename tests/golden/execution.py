"""Runs a step of a corpus program on the CPU or an emulated GPU, and compares it with numpy.

Whether a step can run follows from the step (`why_not_on_cpu`), not from its name.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType, ModuleType
from typing import Any

import numpy as np

_THREAD = re.compile(r'T\.(?:launch_thread|env_thread)\("([\w.]+)"')
_DECLARATION = re.compile(r"^\s*(\w+(?:, \w+)*) = T\.int\d+\(\)")
_NO_SIZES: Mapping[str, int] = MappingProxyType({})


def why_not_on_cpu(schedule: Any, script: str) -> str | None:
    """The reason why a step cannot run on the CPU, or None.

    `script` is its TVMScript, which shows the threads of loops and the free variables.
    """
    if threads := _THREAD.findall(script):
        return f"loops are bound to {', '.join(dict.fromkeys(threads))}"
    if unbound := _unbound_variables(script):
        return f"no loop binds {', '.join(unbound)}"
    for stage in schedule.stages:
        if racing := _parallel_reductions(stage):
            return f"parallel over the reduction axis {', '.join(racing)} would race"
    return None


def _unbound_variables(script: str) -> list[str]:
    """Free variables: those with a declaration that are not bound before their first use."""
    lines = script.splitlines()
    return [
        name
        for number, line in enumerate(lines)
        if (declared := _DECLARATION.match(line))
        for name in declared[1].split(", ")
        if not _is_bound_before_use(name, lines[number + 1 :])
    ]


def _is_bound_before_use(name: str, lines: Sequence[str]) -> bool:
    mark = re.compile(rf"^\s*T\.attr\(T\.iter_var\({name}\b")  # refers to an inner loop
    binds = re.compile(rf"T\.match_buffer\(.*\b{name}\b|^\s*for .*\b{name}\b.* in |where={{{name}:")
    used = re.compile(rf"\b{name}\b")
    first = next((line for line in lines if used.search(line) and not mark.match(line)), "")
    return not first or binds.search(first) is not None


def _parallel_reductions(stage: Any) -> list[str]:
    """Names of the reduction axes of a stage that run in parallel."""
    return [
        axis.var.name
        for axis, attribute in stage.iter_var_attrs.items()
        if axis.kind == "CommReduce" and attribute.iter_type == "Parallelized"
    ]


def inputs_and_outputs(args: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """The arguments of a program that are placeholders, and the computed ones."""
    inputs = [tensor for tensor in args if not tensor.op.input_tensors and not _has_body(tensor)]
    return inputs, [tensor for tensor in args if not any(tensor is other for other in inputs)]


def _has_body(tensor: Any) -> bool:
    return type(tensor.op).__name__ != "PlaceholderOp"


def shape_of(tensor: Any, sizes: Mapping[str, int] = _NO_SIZES) -> tuple[int, ...]:
    """The extents of a tensor; `sizes` are the values of variables."""
    return tuple(
        sizes[extent.name] if hasattr(extent, "name") else int(extent) for extent in tensor.shape
    )


def random_array(
    tensor: Any, generator: np.random.Generator, sizes: Mapping[str, int] = _NO_SIZES
) -> np.ndarray:
    """Random values of a dtype: small integers, or small floats."""
    shape, dtype = shape_of(tensor, sizes), np.dtype(tensor.dtype)
    if dtype.kind == "f":
        return generator.uniform(-2.0, 2.0, shape).astype(dtype)
    return generator.integers(0, 2 if dtype.kind == "b" else 8, shape).astype(dtype)


def untouched_array(tensor: Any, sizes: Mapping[str, int] = _NO_SIZES) -> np.ndarray:
    """The initial value of outputs, which no program computes, so that missing stores are found."""
    shape, dtype = shape_of(tensor, sizes), np.dtype(tensor.dtype)
    if dtype.kind == "f":
        return np.full(shape, np.nan, dtype)
    return np.full(shape, True if dtype.kind == "b" else np.iinfo(dtype).max, dtype)


def run(
    tvm: Any,
    program: ModuleType,
    schedule: Any,
    args: Sequence[Any],
    step: int = 0,
    target: str = "llvm",
) -> float:
    """Build a step, run it and compare it with numpy, for each of the program's sizes.

    A target "cuda" runs on the emulated device. Returns the largest difference relative to the
    largest value; AssertionError if too large.
    """
    for name, extern in getattr(program, "externs", {}).items():
        tvm.register_extern(name, extern, override=True)
    function = tvm.build(schedule, args, target=target)
    device = tvm.cpu(0) if target == "llvm" else tvm.emulated_cuda(0)
    return max(
        _run_at(tvm, function, program, step, args, sizes, device)
        for sizes in getattr(program, "sizes", (_NO_SIZES,))
    )


def _run_at(
    tvm: Any,
    function: Any,
    program: ModuleType,
    step: int,
    args: Sequence[Any],
    sizes: Mapping[str, int],
    device: Any,
) -> float:
    inputs, outputs = inputs_and_outputs(args)
    generator = np.random.default_rng(0)
    values = [random_array(tensor, generator, sizes) for tensor in inputs]
    if hasattr(program, "inputs"):
        values = program.inputs(np, generator, step, *values)
    expected = _reference(program, step)(np, *values)
    assert len(expected) == len(outputs)
    untouched = [untouched_array(tensor, sizes) for tensor in outputs]
    arrays = [tvm.nd.array(value, device) for value in [*values, *untouched]]
    function(*_in_order(args, [*inputs, *outputs], arrays))
    results = [array.numpy() for array in arrays[len(inputs) :]]
    return max(map(difference, results, expected), default=0.0)


def _reference(program: ModuleType, step: int) -> Any:
    """numpy's results; programs with several computations have a function per step."""
    return program.references[step] if hasattr(program, "references") else program.reference


def _in_order(args: Sequence[Any], tensors: Sequence[Any], arrays: Sequence[Any]) -> list[Any]:
    """The arrays in the order of the function's arguments."""
    return [
        array
        for arg in args
        for tensor, array in zip(tensors, arrays, strict=True)
        if tensor is arg
    ]


def difference(result: np.ndarray, expected: np.ndarray) -> float:
    """The error of a result; raises AssertionError if it is too large for the dtype."""
    assert result.shape == expected.shape
    assert result.dtype == expected.dtype
    if result.dtype.kind != "f":
        np.testing.assert_array_equal(result, expected)
        return 0.0
    scale = float(np.max(np.abs(expected), initial=1e-30))
    tolerance = {2: 1e-2, 4: 1e-4, 8: 1e-10}[result.dtype.itemsize]
    np.testing.assert_allclose(result, expected, rtol=tolerance, atol=tolerance * scale)
    return float(np.max(np.abs(result - expected), initial=0.0)) / scale
