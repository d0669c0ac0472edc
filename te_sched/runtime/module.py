"""Modules and functions that can be called: the lean road from Python into compiled code.

A call makes a key of its arguments (dtypes, shapes, strides; not addresses), and arguments whose
key was found good before go straight to the native function. Must not know how code is compiled.
"""

from __future__ import annotations

import ctypes
import os
import tarfile
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from te_sched.codegen.llvm.compile import Compiled
from te_sched.codegen.signature import Parameter, Signature
from te_sched.errors import CallError
from te_sched.ir import dtypes
from te_sched.runtime import csource, registry, threads
from te_sched.runtime.arguments import check, view_of
from te_sched.runtime.callbacks import ctype_of
from te_sched.runtime.device import Device, check_usable
from te_sched.runtime.loader import Code, load_file, load_objects, read_metadata
from te_sched.runtime.ndarray import NDArray
from te_sched.runtime.timing import Evaluator

_REMEMBERED = 256  # keys of good arguments that a function remembers
_IN_TAR = "module.o"  # the file inside of an exported .tar
_ENTRY_ALIASES = ("__tvm_main__", "default_function")


class Function:
    """A compiled function. Call it with arrays and scalars, outputs included; it gives None."""

    def __init__(self, code: Code, signature: Signature) -> None:
        self.signature, self._code = signature, code
        types = [_argument_type(parameter) for parameter in signature.parameters]
        types += [ctype_of(symbol.dtype) for symbol in signature.symbols if symbol.passed]
        call, repeat = code.addresses[signature.name]
        self._native = ctypes.CFUNCTYPE(ctypes.c_int32, *types)(call)
        self._repeat = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_int64, *types)(repeat)
        self._good: dict[tuple[Any, ...], tuple[int, ...]] = {}
        sizes = [
            dtypes.storage_bytes(dtypes.element(p.dtype))
            for p in signature.parameters
            if p.kind == "buffer"
        ]
        self._misaligned = max(sizes, default=1) - 1

    @property
    def name(self) -> str:
        """The name that the function was built with."""
        return self.signature.name

    entry_name = name

    def __call__(self, *args: Any) -> None:
        """Check the arguments and run."""
        keep: list[Any] = []
        values = self._prepare(args, keep)
        if self.signature.parallel and threads.has_lost_team():
            code = threads.run_elsewhere(self._native, *values)
        else:
            code = self._native(*values)
        if code:
            self._fail(code)

    def run_repeatedly(self, count: int, *args: Any) -> None:
        """Call the function `count` times from native code."""
        keep: list[Any] = []
        values = self._prepare(args, keep)
        if self.signature.parallel and threads.has_lost_team():
            code = threads.run_elsewhere(self._repeat, count, *values)
        else:
            code = self._repeat(count, *values)
        if code:
            self._fail(code)

    def _prepare(self, args: tuple[Any, ...], keep: list[Any]) -> list[Any]:
        """The native arguments of a call."""
        keys: list[Any] = []
        values: list[Any] = []
        bits = 0
        for argument in args:
            kind = type(argument)
            if kind is NDArray:
                keys.append(argument.key)
                address = argument.address
            elif kind is np.ndarray:
                interface = argument.__array_interface__
                address, readonly = interface["data"]
                keys.append(
                    (interface["typestr"], interface["shape"], interface["strides"], readonly)
                )
            elif kind is int or kind is float:
                keys.append((kind, argument))
                values.append(argument)
                continue
            else:
                address = self._unusual(argument, keys, keep)
                if address is None:
                    values.append(argument.item() if isinstance(argument, np.generic) else argument)
                    continue
            bits |= address
            values.append(address)
        key = tuple(keys)
        extra = self._good.get(key)
        if extra is None or bits & self._misaligned:
            extra = self._check(args, key)
        values += extra
        return values

    def _unusual(self, argument: Any, keys: list[Any], keep: list[Any]) -> int | None:
        """An argument that is neither an NDArray, a numpy array, an int nor a float."""
        view = view_of(argument, keep)
        if view is None:
            keys.append(
                (
                    type(argument),
                    argument if isinstance(argument, (bool, np.generic)) else id(argument),
                )
            )
            return None
        keys.append(view[:5])
        return view.address

    def _check(self, args: tuple[Any, ...], key: tuple[Any, ...]) -> tuple[int, ...]:
        keep: list[Any] = []
        views = [view_of(argument, keep) for argument in args]
        extra = check(self.signature, args, views)
        if len(self._good) >= _REMEMBERED:
            self._good.clear()
        self._good[key] = extra
        return extra

    def _fail(self, code: int) -> None:
        if code < 0:
            raise registry.take_exception(code)
        raise CallError(*self.signature.failures[code - 1])

    def time_evaluator(self, name: str, dev: Device, **options: Any) -> Evaluator:
        """See Module.time_evaluator; `name` is this function's."""
        del name
        return make_evaluator(self, dev, **options)

    def __repr__(self) -> str:
        names = ", ".join(parameter.name for parameter in self.signature.parameters)
        return f"<te_sched function {self.name}({names})>"


def _argument_type(parameter: Parameter) -> Any:
    if parameter.kind != "scalar":
        return ctypes.c_void_p
    if dtypes.is_float(parameter.dtype) and dtypes.bits(parameter.dtype) == 16:
        return ctypes.c_float
    return ctype_of(parameter.dtype)


class Repeatable(Protocol):
    """What can be timed."""

    name: str

    def run_repeatedly(self, count: int, *args: Any) -> None:
        """Call the function `count` times."""


def make_evaluator(
    function: Repeatable | Function,
    dev: Device,
    number: int = 10,
    repeat: int = 1,
    min_repeat_ms: float = 0,
    limit_zero_time_iterations: int = 100,
    cooldown_interval_ms: float = 0,
    repeats_to_cooldown: int = 1,
    cache_flush_bytes: int = 0,
    f_preproc: str = "",
) -> Evaluator:
    """What times a function on a device; see Module.time_evaluator."""
    del limit_zero_time_iterations  # a repetition is never measured as zero here
    check_usable(dev, f"time {function.name!r} on {dev}")
    if cache_flush_bytes or f_preproc:
        what = "cache_flush_bytes" if cache_flush_bytes else "f_preproc"
        raise CallError(
            f"time {function.name!r} with {what}", "it is not available", "leave it out"
        )
    return Evaluator(
        function.run_repeatedly,
        number,
        repeat,
        min_repeat_ms,
        cooldown_interval_ms,
        repeats_to_cooldown,
    )


class Module:
    """Compiled functions: `module(...)` calls the entry function, `module["name"]` is any."""

    type_key = "llvm"

    def __init__(
        self, code: Code, compiled: Compiled | None = None, extra_objects: tuple[bytes, ...] = ()
    ) -> None:
        self._code, self._compiled, self._extra_objects = code, compiled, extra_objects
        self._functions = {
            signature.name: Function(code, signature) for signature in code.signatures
        }
        names = list(self._functions)
        self.entry_name = "main" if "main" in names else names[0]
        self._entry = self._functions[self.entry_name]
        self.imported_modules: list[Module] = []

    def __call__(self, *args: Any) -> None:
        """Call the entry function."""
        self._entry(*args)

    def __getitem__(self, name: str) -> Function:
        function = self._functions.get(name)
        if function is None and name in _ENTRY_ALIASES:
            return self._entry
        if function is None:
            raise CallError(
                f"find function {name!r} in a module",
                "it has no such function",
                f"use one of {', '.join(self._functions)}",
            )
        return function

    def get_function(self, name: str, query_imports: bool = False) -> Function:
        """A function by name."""
        del query_imports
        return self[name]

    @property
    def function_names(self) -> tuple[str, ...]:
        """The names of its functions."""
        return tuple(self._functions)

    def time_evaluator(
        self,
        func_name: str,
        dev: Device | None = None,
        number: int = 10,
        repeat: int = 1,
        min_repeat_ms: float = 0,
        ctx: Device | None = None,
        **options: Any,
    ) -> Evaluator:
        """What times a function: call it with the function's arguments for a ProfileResult.

        Each of `repeat` measurements runs `number` calls, or more until it takes `min_repeat_ms`.
        The device `dev` was once called `ctx`.
        """
        dev = dev if dev is not None else ctx
        if dev is None:
            raise CallError(
                f"time {func_name!r}", "no device is given", "give one: time_evaluator(name, dev)"
            )
        return make_evaluator(self[func_name], dev, number, repeat, min_repeat_ms, **options)

    def get_source(self, fmt: str = "") -> str:
        """The optimised LLVM IR ("ll", the default) or the assembly ("asm", "s")."""
        kind = {"": "ll", "ll": "ll", "asm": "asm", "s": "asm"}.get(fmt)
        if kind is None:
            raise CallError(
                f"show the source as {fmt!r}", "there is no such form", 'use "ll" or "asm"'
            )
        if self._compiled is None:
            raise CallError(
                "show the source of a loaded module",
                "a file keeps machine code alone",
                "build it again",
            )
        return self._compiled.source(kind)

    def export_library(
        self,
        path: str | os.PathLike[str],
        fcompile: Callable[..., Any] | None = None,
        **options: Any,
    ) -> None:
        """Save for te_sched.runtime.load_module: a shared library, or .o, or a .tar with a .o.

        A `fcompile` (contrib.cc.create_shared) is given the path, the object files and `options`,
        and writes the library.
        """
        if not isinstance(path, str | os.PathLike):
            raise CallError(f"export to {path!r}", "it is no path", 'write "module.so"')
        place = Path(path).resolve()
        if self._compiled is None:
            raise CallError(
                f"export to {place}", "this module was loaded from a file", "copy the file"
            )
        if not place.parent.is_dir():
            raise CallError(
                f"export to {place}", "its folder does not exist", "make the folder first"
            )
        objects = (self._compiled.data, *self._extra_objects)
        if fcompile is not None:
            with tempfile.TemporaryDirectory(prefix="te_sched") as folder:
                files = [Path(folder) / f"part{number}.o" for number in range(len(objects))]
                for file, data in zip(files, objects, strict=True):
                    file.write_bytes(data)
                fcompile(str(place), [str(file) for file in files], **options)
            return
        self._write(place, objects)

    def _write(self, place: Path, objects: tuple[bytes, ...]) -> None:
        if place.suffix == ".tar":
            with tempfile.TemporaryDirectory(prefix="te_sched") as folder:
                inside = Path(folder) / _IN_TAR
                self._write(inside, objects)
                with tarfile.open(place, "w") as archive:
                    archive.add(inside, _IN_TAR)
        elif place.suffix in (".so", ".dylib", ".dll"):
            csource.link_shared(objects, place)
        elif place.suffix != ".o":
            raise CallError(
                f"export to {place}",
                f"{place.suffix!r} is no kind of library",
                "use .so, .o or .tar",
            )
        elif len(objects) == 1:
            place.write_bytes(objects[0])
        else:
            csource.link_relocatable(objects, place)

    def save(self, path: str | os.PathLike[str], fmt: str = "") -> None:
        """Save as export_library does, or the text of a source as .ll or .s."""
        place = Path(path)
        form = fmt or place.suffix.removeprefix(".")
        if form in ("ll", "s", "asm"):
            place.write_text(self.get_source(form))
        else:
            self.export_library(place)

    @property
    def entry_func(self) -> Function:
        """The function that a call of the module calls."""
        return self._entry

    def implements_function(self, name: str, query_imports: bool = False) -> bool:
        """Whether there is a function of a name."""
        del query_imports
        return name in self._functions

    def __repr__(self) -> str:
        return f"<te_sched module: {', '.join(self._functions)}>"


def make_module(compiled: Compiled, extra_objects: Sequence[bytes] = ()) -> Module:
    """A module from code that was just compiled."""
    extra = tuple(extra_objects)
    code = load_objects((compiled.data, *extra), read_metadata(compiled.metadata + b"\0"))
    return Module(code, compiled, extra)


def load_module(path: str | os.PathLike[str], fmt: str = "") -> Module:
    """Load a module that export_library saved; `fmt` is for TVM's sake."""
    del fmt
    if isinstance(path, str | os.PathLike) and Path(path).suffix == ".tar":
        return _load_tar(Path(path))
    return Module(load_file(path))


def _load_tar(path: Path) -> Module:
    try:
        with tarfile.open(path) as archive:
            inside = archive.extractfile(_IN_TAR)
            data = inside.read() if inside is not None else b""
    except (OSError, KeyError, tarfile.TarError) as error:
        raise CallError(
            f"load {path}", f"it cannot be read: {error}", "give what export_library wrote"
        ) from None
    return Module(load_objects((data,), read_metadata(data, str(path))))
