"""te_sched.testing: comparisons of results, and marks for the requirements of tests, with TVM's
names.

The marks are pytest's. Without pytest, a test with an unmet requirement prints a message and
returns; parameters need pytest.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import os
import platform
import sys
from collections.abc import Callable, Sequence
from types import FunctionType, MethodType
from typing import Any

import numpy as np

from te_sched.arith.analyzer import Analyzer
from te_sched.errors import DeclarationError, TeSchedError, repr_of
from te_sched.ir import ops
from te_sched.ir.structural import assert_structural_equal
from te_sched.runtime.device import Device, device
from te_sched.runtime.types import enabled
from te_sched.signatures import checked

__all__ = [
    "assert_allclose",
    "assert_prim_expr_equal",
    "assert_structural_equal",
    "check_numerical_grads",
    "device_enabled",
    "device_test",
    "enabled_targets",
    "exclude_targets",
    "fixture",
    "install_request_hook",
    "known_failing_targets",
    "main",
    "parameter",
    "parameters",
    "parametrize_targets",
    "requires",
    "requires_aarch64",
    "requires_cublas",
    "requires_cuda",
    "requires_cudnn",
    "requires_gpu",
    "requires_llvm",
    "requires_metal",
    "requires_multi_gpu",
    "requires_nvptx",
    "requires_opencl",
    "requires_package",
    "requires_rocm",
    "requires_rpc",
    "requires_tensorcore",
    "requires_vulkan",
    "requires_x86",
    "skip_if_32bit",
    "slow",
    "uses_gpu",
]

_Test = Callable[..., Any]
_IMMUTABLE = 1 << 8  # Py_TPFLAGS_IMMUTABLETYPE of CPython
_TARGETS = ("llvm", "cuda")


@checked
def assert_allclose(actual: Any, desired: Any, rtol: float = 1e-7, atol: float = 1e-7) -> None:
    """Fail unless all elements of two arrays are equal up to `atol + rtol * |desired|`.

    Both may be arrays of te_sched or of numpy.

    >>> assert_allclose([1.0, 2.0], [1.0, 2.0 + 1e-9])
    """
    actual, desired = map(_as_numbers, (actual, desired))
    np.testing.assert_allclose(actual, desired, rtol=rtol, atol=atol, verbose=True)


@checked
def assert_prim_expr_equal(lhs: Any, rhs: Any) -> None:
    """Fail unless two expressions are known to be equal.

    >>> from te_sched import te
    >>> n = te.var("n")
    >>> assert_prim_expr_equal((n + 1) * 2, n * 2 + 2)
    """
    left, right = ops.operands(lhs, rhs)
    if not Analyzer().can_prove_equal(left, right):
        raise AssertionError(f"{left} and {right} are not equal")


@checked
def check_numerical_grads(
    function: Callable[..., Any],
    input_values: Sequence[Any] | dict[str, Any],
    grad_values: Sequence[Any] | dict[str, Any],
    function_value: Any = None,
    delta: float = 1e-3,
    atol: float = 1e-2,
    rtol: float = 0.1,
) -> None:
    """Fail unless derivatives of a function agree with finite differences.

    Differences of two points are tried first, then of three and five points for the elements that
    disagree.

    Parameters
    ----------
    function : takes the input arrays, by position or by name, and returns a number.
    input_values : the arrays at which the derivatives are taken: a list, or a dict by name.
    grad_values : the derivatives with respect to them, in a container of the same kind; those of
        some inputs may be left out.
    function_value : the value of the function there, if it is known.
    delta : the distance between points.
    atol, rtol : the norm of the error of a derivative of n elements is at most
        `atol * sqrt(n) + rtol * norm`.

    >>> x = np.array([1.0, 2.0])
    >>> check_numerical_grads(lambda x: (x * x).sum(), [x], [2 * x])
    """
    is_named = isinstance(input_values, dict)
    given_values: Any = input_values if is_named else dict(enumerate(input_values))
    values = {name: np.array(value) for name, value in given_values.items()}

    def at(name: Any, index: tuple[int, ...], distance: float) -> float:
        """The value of the function with one element changed."""
        moved = values[name].copy()
        moved[index] += distance
        new = {**values, name: moved}
        return float(function(**new) if is_named else function(*new.values()))

    def central(name: Any, index: tuple[int, ...], step: float) -> float:
        return (at(name, index, step) - at(name, index, -step)) / (2 * step)

    def difference(name: Any, index: tuple[int, ...], points: int) -> float:
        if points == 2:
            return (at(name, index, delta) - start) / delta
        wide = central(name, index, delta)
        return wide if points == 3 else (4 * central(name, index, delta / 2) - wide) / 3

    grads: Any = grad_values if is_named else dict(enumerate(grad_values))
    result = function_value
    if result is None:
        result = function(**values) if is_named else function(*values.values())
    start = float(result)
    if unknown := [name for name in grads if name not in values]:
        raise DeclarationError(
            f"a derivative is given for input {unknown[0]!r}, but there is no such input",
            "",
            f"give derivatives of the inputs {', '.join(map(repr, values))}",
        )
    for name, grad in grads.items():
        expected = np.asarray(grad, "float64")
        gradient, count = np.zeros_like(expected), max(expected.size, 1)
        wrong = list(np.ndindex(expected.shape))
        for points in (2, 3, 5):
            for index in wrong:
                gradient[index] = difference(name, index, points)
            error = np.abs(gradient - expected)
            limit = atol * count**0.5 + rtol * float(np.linalg.norm(gradient))
            distance = float(np.linalg.norm(error))
            if distance <= limit:
                break
            wrong = [i for i in wrong if not error[i] <= atol + rtol * abs(gradient[i])] or wrong
        else:
            raise AssertionError(
                f"the derivative with respect to input {name} differs from finite differences by "
                f"{distance:.3g}, at most {limit:.3g} is allowed\n{expected}\n{gradient}"
            )


def _as_numbers(value: Any) -> Any:
    array = value.numpy() if hasattr(value, "numpy") else value
    try:
        array = np.asanyarray(array)
    except (ValueError, TypeError, TeSchedError):
        array = np.asanyarray(None)
    if array.dtype.kind in "OSUMm":
        raise DeclarationError(
            f"cannot compare {repr_of(value)}: it is not an array of numbers",
            "",
            "give arrays of numbers",
        )
    return array


def install_request_hook(depth: int) -> None:
    """Does nothing: it redirects downloads of TVM's CI, and te_sched has none."""
    del depth


def device_enabled(target: Any) -> bool:
    """Whether programs for a target can run on this machine."""
    return enabled(target) and device(str(target), 0).exist


def enabled_targets() -> list[tuple[str, Device]]:
    """The targets whose programs can run on this machine, each with its device."""
    return [(target, device(target, 0)) for target in _TARGETS if device_enabled(target)]


def _pytest() -> Any:
    """pytest, or None if it is not installed."""
    try:
        return importlib.import_module("pytest")
    except ImportError:
        return None


def _needed_pytest(what: str) -> Any:
    module = _pytest()
    if module is None:
        raise TeSchedError(
            f"testing.{what} needs pytest, which is not installed", "", "pip install pytest"
        )
    return module


@checked
def requires(is_met: bool, reason: str) -> Callable[[_Test], Any]:
    """A decorator for tests that run only if a requirement is met."""

    def decorate(test: _Test) -> Any:
        pytest = _pytest()
        if pytest is not None:
            _check_test(test)
            return pytest.mark.skipif(not is_met, reason=reason)(test)
        if is_met:
            return test

        @functools.wraps(test)
        def skipped(*args: Any, **kwargs: Any) -> None:
            print(f"skipped {getattr(test, '__name__', test)}: {reason}", file=sys.stderr)

        return skipped

    return decorate


def _check_test(test: Any) -> None:
    """Refuse objects that cannot have a mark."""
    is_own = isinstance(test, type) and not test.__flags__ & _IMMUTABLE
    if not is_own and not isinstance(test, FunctionType | MethodType | functools.partial):
        raise DeclarationError(
            f"cannot mark {repr_of(test)} as a test: it is neither a function nor a class",
            "",
            "use it as a decorator of a test",
        )


def _optional(mark: Callable[[_Test], Any], args: tuple[Any, ...]) -> Any:
    """A decorator for use with or without parentheses: @requires_llvm, @requires_llvm()"""
    return mark(args[0]) if args else mark


def requires_llvm(*args: _Test) -> Any:
    """Mark a test that compiles for the processor."""
    return _optional(requires(True, "needs LLVM"), args)


def _of_device(target: str, *args: _Test) -> Any:
    return _optional(requires(device_enabled(target), f"no {target} device is available"), args)


def requires_gpu(*args: _Test) -> Any:
    """Mark a test that runs on a GPU."""
    return _of_device("cuda", *args)


def requires_cuda(*args: _Test) -> Any:
    """Mark a test that runs on a CUDA device."""
    return _of_device("cuda", *args)


def requires_nvptx(*args: _Test) -> Any:
    """Mark a test of TVM's NVPTX target, which te_sched does not have."""
    return _of_device("nvptx", *args)


def requires_opencl(*args: _Test) -> Any:
    """Mark a test of OpenCL, which te_sched does not have."""
    return _of_device("opencl", *args)


def requires_rocm(*args: _Test) -> Any:
    """Mark a test of ROCm, which te_sched does not have."""
    return _of_device("rocm", *args)


def requires_metal(*args: _Test) -> Any:
    """Mark a test of Metal, which te_sched does not have."""
    return _of_device("metal", *args)


def requires_vulkan(*args: _Test) -> Any:
    """Mark a test of Vulkan, which te_sched does not have."""
    return _of_device("vulkan", *args)


def _never(reason: str, *args: _Test) -> Any:
    return _optional(requires(False, reason), args)


def requires_tensorcore(*args: _Test) -> Any:
    """Mark a test of tensor cores, which te_sched does not use."""
    return _never("tensor cores are not available", *args)


def requires_cudnn(*args: _Test) -> Any:
    """Mark a test of cuDNN, which te_sched does not call."""
    return _never("cuDNN is not available", *args)


def requires_cublas(*args: _Test) -> Any:
    """Mark a test of cuBLAS, which te_sched does not call."""
    return _never("cuBLAS is not available", *args)


def requires_multi_gpu(*args: _Test) -> Any:
    """Mark a test that needs several GPUs."""
    return _never("several GPUs are not available", *args)


def requires_rpc(*args: _Test) -> Any:
    """Mark a test of TVM's remote procedure calls, which te_sched does not have."""
    return _never("te_sched has no RPC", *args)


def requires_x86(*args: _Test) -> Any:
    """Mark a test for x86-64 processors."""
    met = platform.machine().lower() in ("x86_64", "amd64")
    return _optional(requires(met, "needs an x86-64 processor"), args)


def requires_aarch64(*args: _Test) -> Any:
    """Mark a test for 64-bit ARM processors."""
    met = platform.machine().lower() in ("aarch64", "arm64")
    return _optional(requires(met, "needs a 64-bit ARM processor"), args)


@checked
def requires_package(*packages: str) -> Callable[[_Test], Any]:
    """Mark a test that imports packages which may not be installed."""
    missing = [name for name in packages if importlib.util.find_spec(name) is None]
    return requires(not missing, f"needs {', '.join(missing)}")


def uses_gpu(*args: _Test) -> Any:
    """Mark a test that uses a GPU if there is one (pytest -m gpu)."""
    pytest = _pytest()
    if args and pytest is not None:
        _check_test(args[0])
    return _optional((lambda test: test) if pytest is None else pytest.mark.gpu, args)


def slow(test: _Test) -> Any:
    """Mark a slow test; SKIP_SLOW_TESTS=1 skips it."""
    asked = os.environ.get("SKIP_SLOW_TESTS", "").lower() in ("1", "true", "yes")
    return requires(not asked, "SKIP_SLOW_TESTS is set")(test)


@checked
def skip_if_32bit(reason: str = "needs 64 bits") -> Callable[[_Test], Any]:
    """Mark a test that does not run in a 32-bit process."""
    return requires(sys.maxsize > 2**32, reason)


def parametrize_targets(*args: Any) -> Any:
    """Run a test with parameters `target` and `dev` for each enabled target, or for given ones."""
    named = [target for target in args if isinstance(target, str | dict)]

    def decorate(test: _Test) -> Any:
        _check_test(test)
        pytest = _needed_pytest("parametrize_targets")
        wanted = named or [target for target, _ in enabled_targets()]
        usable = [target for target in wanted if device_enabled(target)]
        cases = [(target, device(str(target), 0)) for target in usable]
        return pytest.mark.parametrize(("target", "dev"), cases)(test)

    return decorate(args[0]) if len(args) == 1 and callable(args[0]) else decorate


@checked
def exclude_targets(*args: str) -> Callable[[_Test], Any]:
    """Run a test for each enabled target except given ones."""
    kept = [target for target, _ in enabled_targets() if target not in args]
    return parametrize_targets(*kept) if kept else requires(False, "all targets are excluded")


@checked
def known_failing_targets(*args: str) -> Callable[[_Test], Any]:
    """Run a test for each enabled target except given ones, which are expected to fail."""
    return exclude_targets(*args)


device_test = uses_gpu


def parameter(*values: Any, ids: Sequence[str] | None = None, by_dict: Any = None) -> Any:
    """A fixture with several values, named by the variable to which it is assigned."""
    pytest = _needed_pytest("parameter")
    if by_dict is not None:
        ids, values = list(by_dict), tuple(by_dict.values())

    @pytest.fixture(params=values, ids=ids)  # type: ignore[untyped-decorator]
    def value_of(request: Any) -> Any:
        return request.param

    return value_of


def parameters(*value_sets: Sequence[Any], ids: Sequence[str] | None = None) -> list[Any]:
    """Several fixtures that take their values together: a, b = parameters((1, 2), (3, 4))."""
    pytest = _needed_pytest("parameters")
    together = set[str]()  # names of the fixtures that this test uses

    def nth(position: int) -> Any:
        @pytest.fixture(params=range(len(value_sets)), ids=ids)  # type: ignore[untyped-decorator]
        def value_of(request: Any) -> Any:
            together.add(request.fixturename)
            chosen = request.node.callspec.indices
            if len({chosen[name] for name in together if name in chosen}) > 1:
                pytest.skip("these values do not belong together")
            return value_sets[request.param][position]

        return value_of

    return [nth(position) for position in range(len(value_sets[0]))]


def fixture(func: _Test | None = None, *, cache_return_value: bool = False) -> Any:
    """A pytest fixture; if its value is cached, it is created once per module."""
    pytest = _needed_pytest("fixture")
    scope = "module" if cache_return_value else "function"
    return pytest.fixture(func, scope=scope) if func is not None else pytest.fixture(scope=scope)


def main() -> None:
    """Run the tests of the calling file with pytest, and exit."""
    pytest = _needed_pytest("main")
    caller = sys._getframe(1).f_globals.get("__file__", "")
    sys.exit(pytest.main([str(caller), *sys.argv[1:]]))


sys.modules["te_sched"]._tell_of_absent_names(sys.modules[__name__])
