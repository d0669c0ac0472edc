"""te_sched.target: targets of code generation, with TVM's names."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from te_sched.codegen.target import Target, TargetKind
from te_sched.codegen.target_tags import tags
from te_sched.errors import DeclarationError
from te_sched.public_members import PublicObject
from te_sched.signatures import checked

__all__ = [
    "GenericFunc",
    "Target",
    "TargetKind",
    "arm_cpu",
    "bifrost",
    "create",
    "cuda",
    "generic_func",
    "intel_graphics",
    "list_tags",
    "mali",
    "opencl",
    "override_native_generic_func",
    "rasp",
    "rocm",
]


def create(target: Any) -> Target:
    """The target of a target string, as `Target(target)`.

    >>> create("llvm -mcpu=znver4").options
    {'mcpu': 'znver4'}
    """
    return Target(target)


def _with_options(words: Iterable[str], options: str | Sequence[str] | None) -> Target:
    extra = (
        options.split() if isinstance(options, str) else list(() if options is None else options)
    )
    return Target(" ".join([*words, *extra]))


@checked
def cuda(
    model: str = "unknown", arch: str | None = None, options: str | Sequence[str] | None = None
) -> Target:
    """A CUDA target.

    >>> cuda(arch="sm_80").options
    {'model': 'unknown', 'arch': 'sm_80'}
    """
    arches = [f"-arch={arch}"] if arch else []
    return _with_options(["cuda", f"-model={model}", *arches], options)


@checked
def opencl(model: str = "unknown", options: str | Sequence[str] | None = None) -> Target:
    """An OpenCL target; no code is generated for it.

    >>> opencl().kind
    'opencl'
    """
    return _with_options(["opencl", f"-model={model}"], options)


@checked
def rocm(model: str = "unknown", options: str | Sequence[str] | None = None) -> Target:
    """A ROCm target; no code is generated for it.

    >>> rocm().kind
    'rocm'
    """
    return _with_options(["rocm", f"-model={model}"], options)


@checked
def mali(model: str = "unknown", options: str | Sequence[str] | None = None) -> Target:
    """An OpenCL target for ARM Mali GPUs; no code is generated for it.

    >>> mali().kind
    'opencl'
    """
    return _with_options(["opencl", "-device=mali", f"-model={model}"], options)


@checked
def bifrost(model: str = "unknown", options: str | Sequence[str] | None = None) -> Target:
    """An OpenCL target for ARM Bifrost GPUs; no code is generated for it.

    >>> bifrost().kind
    'opencl'
    """
    return _with_options(["opencl", "-device=bifrost", f"-model={model}"], options)


@checked
def intel_graphics(model: str = "unknown", options: str | Sequence[str] | None = None) -> Target:
    """An OpenCL target for Intel GPUs; no code is generated for it.

    >>> intel_graphics().kind
    'opencl'
    """
    return _with_options(["opencl", "-device=intel_graphics", f"-model={model}"], options)


@checked
def arm_cpu(model: str = "unknown", options: str | Sequence[str] | None = None) -> Target:
    """An LLVM target for ARM processors; -mtriple=... compiles for another machine.

    >>> arm_cpu(options="-mtriple=aarch64-linux-gnu").kind
    'llvm'
    """
    return _with_options(["llvm", "-device=arm_cpu", f"-model={model}"], options)


@checked
def rasp(options: str | Sequence[str] | None = None) -> Target:
    """An LLVM target for the Raspberry Pi 3.

    >>> rasp().options["mtriple"]
    'armv8l-linux-gnueabihf'
    """
    return _with_options(["llvm", "-device=arm_cpu", "-mtriple=armv8l-linux-gnueabihf"], options)


def list_tags() -> dict[str, Target]:
    """The targets of machines by their tags.

    >>> list_tags()["nvidia/nvidia-a100"].arch
    'sm_80'
    """
    return {tag: Target(tag) for tag in tags()}


class GenericFunc(PublicObject):
    """A function with one body per target key, selected by the current target, and a default.

    >>> schedule = GenericFunc(lambda outs: "for any target")
    >>> @schedule.register(["cuda", "gpu"])
    ... def _(outs):
    ...     return "for GPUs"
    >>> schedule([])
    'for any target'
    >>> with Target("cuda"):
    ...     schedule([])
    'for GPUs'
    """

    @checked
    def __init__(self, default: Callable[..., Any]) -> None:
        functools.update_wrapper(self, default)
        self.fdefault, self.bodies = default, dict[str, Callable[..., Any]]()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        target = Target.current()
        keys = target.keys if target is not None else ()
        body = next((self.bodies[key] for key in keys if key in self.bodies), self.fdefault)
        return body(*args, **kwargs)

    @checked
    def register(
        self,
        key: str | Sequence[str],
        func: Callable[..., Any] | None = None,
        override: bool = False,
    ) -> Any:
        """Set the body for one or several target keys; without `func` a decorator.

        >>> threads = GenericFunc(lambda: 1)
        >>> found = threads.register("cuda", lambda: 256)
        >>> found = threads.register("cuda", lambda: 128, override=True)
        >>> with Target("cuda"):
        ...     threads()
        128
        """
        if func is None:
            return lambda decorated: self.register(key, decorated, override)
        for target_key in [key] if isinstance(key, str) else key:
            if target_key in self.bodies and not override:
                raise DeclarationError(
                    f"{self.__name__} has a body for {target_key!r} already",  # type: ignore[attr-defined]
                    "",
                    "pass override=True to replace it",
                )
            self.bodies[target_key] = func
        return func


@checked
def generic_func(fdefault: Callable[..., Any]) -> GenericFunc:
    """A decorator: a function with a body per kind of target (`.register("cuda")`).

    >>> @generic_func
    ... def threads():
    ...     return 1
    >>> threads()
    1
    """
    return GenericFunc(fdefault)


def override_native_generic_func(func_name: str) -> Callable[[Callable[..., Any]], GenericFunc]:
    """As `generic_func`; the name is accepted for compatibility with TVM.

    >>> override_native_generic_func("threads")(lambda: 1)()
    1
    """
    del func_name
    return generic_func
