"""Modules and functions that can be called: the fast path from Python into compiled code.

A call makes a key of its arguments (dtypes, shapes, strides; not addresses); if the key is known,
the native function is called without further checks. Must not know how code is compiled.
"""

from __future__ import annotations

import ctypes
import functools
import os
import weakref
from collections.abc import Callable, Mapping, Sequence
from ctypes import addressof
from pathlib import Path
from typing import Any, Generic, NoReturn, Protocol, TypeVar

import numpy as np

from te_sched import files
from te_sched.absent_names import tell_of_absent_names as _tell_of_absent_names
from te_sched.codegen.llvm.compile import CompiledObject
from te_sched.codegen.signature import FunctionParameter, Signature
from te_sched.errors import AccessError, CallError, Subject, did_you_mean, repr_of
from te_sched.ir import dtypes
from te_sched.ir.source_lines import About
from te_sched.notebook_display import Shown
from te_sched.public_members import PublicMembers
from te_sched.runtime import interrupts, jit, registry, threads
from te_sched.runtime.arguments import check, refuse_names, view_of
from te_sched.runtime.callbacks import ctype_of
from te_sched.runtime.csource import find_compiler
from te_sched.runtime.device import Device, check_usable
from te_sched.runtime.libraries import LINKED, check_place, write_library
from te_sched.runtime.loader import LoadedCode, load_objects, read_metadata
from te_sched.runtime.ndarray import NDArray, empty
from te_sched.runtime.repeats import repeat_call
from te_sched.runtime.timing import Evaluator
from te_sched.signatures import checked_as

_REMEMBERED = 256  # keys of good arguments that a function remembers
_memory_of = (ctypes.c_char * 0).from_buffer  # of compact arrays that can be written
_ENTRY_ALIASES = ("__tvm_main__", "default_function")


class Unpicklable:
    """An object with addresses of this process, which cannot be copied or pickled."""

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        what = "module" if hasattr(self, "export_library") else "compiled function"
        raise CallError(
            f"cannot pickle or copy a {what}: "
            "its machine code is loaded into this process, at addresses of its own",
            "",
            "save the module with export_library, and load it with te_sched.runtime.load_module "
            "where it is needed; or build it there",
        )


MOST_ARGUMENTS = 1023  # 1024 of ctypes, and one of those that repeat a call


class Function(Unpicklable, PublicMembers):
    """A compiled function. Call it with arrays and scalars, outputs included.

    It gives None, or what the program returns.

    >>> A = te.placeholder((4,), name="A")
    >>> B = te.compute((4,), lambda i: A[i] * 2.0, name="B")
    >>> module = te_sched.build(te.create_schedule(B.op), [A, B], "llvm")
    >>> x, y = np.arange(4, dtype="float32"), np.zeros(4, "float32")
    >>> module["main"](x, y)
    >>> y
    array([0., 2., 4., 6.], dtype=float32)
    """

    _internal_members = (
        *("bound", "expect", "fail", "locate", "misaligned", "native_call", "run_repeatedly"),
    )

    def __init__(self, code: LoadedCode, signature: Signature) -> None:
        self.signature, self._code = signature, code
        self._result = signature.result
        types = [_argument_type(parameter) for parameter in signature.parameters]
        types += [ctype_of(symbol.dtype) for symbol in signature.symbols if symbol.passed]
        types += [ctypes.c_void_p] if signature.result else []
        if len(types) > MOST_ARGUMENTS:
            raise CallError(
                f"function {signature.name} has {len(types)} arguments",
                f"calls of native code have {MOST_ARGUMENTS} at most",
                "make it several functions, or join arrays into larger ones",
            )
        self._native = ctypes.CFUNCTYPE(ctypes.c_int32, *types)(code.addresses[signature.name])
        self._good: dict[tuple[Any, ...], tuple[int, ...]] = {}
        self._misaligned = _widest(signature) - 1
        self.locate: Callable[[About], About] | None = None  # adds lines to subjects of errors

    def expect(self, memory: int, device_id: int, alignments: Mapping[int, int]) -> None:
        """Take arrays of a memory, with addresses that are multiples of `alignments`, by number."""
        self.signature.memory, self.signature.device_id = memory, device_id
        for number, alignment in alignments.items():
            self.signature.parameters[number].alignment = alignment
        self._misaligned = _widest(self.signature) - 1

    @property
    def name(self) -> str:
        """The name that the function was built with.

        >>> A = te.placeholder((4,), name="A")
        >>> B = te.compute((4,), lambda i: A[i] * 2.0, name="B")
        >>> module = te_sched.build(te.create_schedule(B.op), [A, B], "llvm")
        >>> module["main"].name
        'main'
        """
        return self.signature.name

    entry_name = name

    def __call__(self, *args: Any, **named: Any) -> Any:
        """Check the arguments and run."""
        if named:
            refuse_names(self.signature, named)
        keep: list[Any] = []
        values = self._prepare(args, keep)
        if self._result:
            return self._returned(values, args)
        code = self._native(*values)
        if code:
            self._fail(code, args)
        return None

    def _returned(self, values: list[Any], args: tuple[Any, ...]) -> Any:
        """Run, and give the value that the program returns."""
        slot = empty((1,), self.signature.result)
        code = self._native(*values, slot.address)
        if code:
            self._fail(code, args)
        return slot.numpy()[0].item()

    def bound(self, *args: Any) -> Callable[..., None]:
        """What runs the function on compact arrays like these, of which it is given the addresses.

        The arguments, NDArrays and numbers, are checked here once; the addresses of others may have
        no bit of `misaligned`.
        """
        extra = self._check(args, tuple([_key_of(argument) for argument in args]))
        native, parallel = self._native, self.signature.parallel

        def run(*addresses: float) -> None:
            if parallel and not threads.is_ready:
                threads.prepare()
            code = native(*addresses, *extra)
            if code:
                self._fail(code, ())

        return run

    def native_call(self, *args: Any) -> tuple[int, tuple[int, ...]]:
        """The address of the code, and its arguments behind those given, which are checked here.

        The address is 0 if an argument is neither an address nor an integer of 64 bits.
        """
        extra = self._check(args, tuple([_key_of(argument) for argument in args]))
        types: Any = self._native.argtypes
        is_plain = {*types} <= {ctypes.c_void_p, ctypes.c_int64} and not self.signature.result
        return (jit.address_of(self._native) if is_plain else 0), extra

    @property
    def misaligned(self) -> int:
        """The bits that the address of an argument may not have."""
        return self._misaligned

    def run_repeatedly(self, count: int, *args: Any) -> float:
        """Call the function `count` times from native code; gives the seconds that it took."""
        keep: list[Any] = []
        values = self._prepare(args, keep)
        if self.signature.result:
            keep.append(empty((1,), self.signature.result))
            values.append(keep[-1].address)
        code, seconds = repeat_call(self.signature, self._native, count, values)
        if code:
            self._fail(code, args)
        return seconds

    def measure(self, dev: Device, count: int, *args: Any, **named: Any) -> float:
        """Seconds of `count` calls."""
        del dev
        if named:
            refuse_names(self.signature, named)
        return self.run_repeatedly(count, *args)

    def _prepare(self, args: tuple[Any, ...], keep: list[Any]) -> list[Any]:
        """The native arguments of a call, after the checks."""
        keys: list[Any] = []
        values: list[Any] = []
        bits = 0
        for argument in args:
            kind = type(argument)
            if kind is NDArray:
                keys.append(argument.key)
                address = argument.address
            elif kind is np.ndarray:
                try:
                    address = addressof(_memory_of(argument))
                    keys.append((argument.dtype, argument.shape, argument.strides))
                except (TypeError, ValueError, BufferError):  # not compact, or read-only
                    interface = argument.__array_interface__  # several times slower
                    address, readonly = interface["data"]
                    shape, strides = interface["shape"], interface["strides"]
                    keys.append((interface["typestr"], shape, strides, readonly))
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
        if self.signature.parallel and not threads.is_ready:
            threads.prepare()
        return values

    def _unusual(self, argument: Any, keys: list[Any], keep: list[Any]) -> int | None:
        """An argument that is neither an NDArray, a numpy array, an int nor a float."""
        view = view_of(argument, keep)
        if view is None:
            is_scalar = isinstance(argument, (int, float, np.generic))  # all others are refused
            keys.append((type(argument), argument if is_scalar else None))
            return None
        keys.append(view[:6])
        return view.address

    def _check(self, args: tuple[Any, ...], key: tuple[Any, ...]) -> tuple[int, ...]:
        keep: list[Any] = []
        views = [view_of(argument, keep) for argument in args]
        extra = check(self.signature, args, views)
        if len(self._good) >= _REMEMBERED:
            self._good.clear()
        self._good[key] = extra
        return extra

    def _fail(self, code: int, args: tuple[Any, ...]) -> NoReturn:
        error = self._error_of(code, args)
        stopped = interrupts.take()  # it may have come after the error of a thread
        try:
            raise error if stopped is None else stopped
        finally:  # the exception has this frame
            del error, stopped

    def _error_of(self, code: int, args: tuple[Any, ...]) -> BaseException:
        if code > 0:
            what, why, help = self.signature.failures[code - 1]
            where = Subject("function", self.name, f"call of {self.name!r}")
            return CallError(what, why, help, where)
        if interrupts.is_late(code):
            return interrupts.TimeLimitError(
                f"function {self.name} was stopped at its time limit",
                help="raise the limit, or give it less work",
            )
        error, memory = registry.take_exception(code)
        for block in filter(None, memory):  # views of it reach the arguments, or constants
            weakref.finalize(block, _nothing, self, args).atexit = False
        if isinstance(error, AccessError) and self.locate is not None:
            error.about = tuple(self.locate(error.about))
        return error

    @checked_as(CallError)
    def time_evaluator(self, name: str, dev: Device, **options: Any) -> Evaluator:
        """See Module.time_evaluator; `name` is this function's.

        >>> A = te.placeholder((4,), name="A")
        >>> B = te.compute((4,), lambda i: A[i] * 2.0, name="B")
        >>> module = te_sched.build(te.create_schedule(B.op), [A, B], "llvm")
        >>> x, y = te_sched.nd.zeros((4,)), te_sched.nd.zeros((4,))
        >>> module["main"].time_evaluator("main", te_sched.cpu(0), number=10)(x, y).mean < 1
        True
        """
        del name
        return make_evaluator(self, dev, **options)

    def __repr__(self) -> str:
        names = ", ".join(parameter.name for parameter in self.signature.parameters)
        return f"<te_sched function {self.name}({names})>"


def _key_of(argument: Any) -> tuple[Any, ...]:
    """All that a call must check of an NDArray or a number."""
    is_array = isinstance(argument, NDArray)
    return argument.key if is_array else (type(argument), argument)


def _nothing(*kept: Any) -> None:
    """The actions when cached objects are freed."""


def _widest(signature: Signature) -> int:
    """The largest number of bytes that an address must be a multiple of."""
    buffers = [parameter for parameter in signature.parameters if parameter.kind == "buffer"]
    sizes = [dtypes.storage_bytes(dtypes.element(buffer.dtype)) for buffer in buffers]
    return max([*sizes, *[buffer.alignment for buffer in buffers]], default=1)


def _argument_type(parameter: FunctionParameter) -> Any:
    if parameter.kind != "scalar":
        return ctypes.c_void_p
    if dtypes.is_float(parameter.dtype) and dtypes.bits(parameter.dtype) == 16:
        return ctypes.c_float
    return ctype_of(parameter.dtype)


class Repeatable(Protocol):
    """What can be timed."""

    name: str

    def measure(self, dev: Device, count: int, *args: Any, **named: Any) -> float:
        """Seconds of `count` calls on a device."""


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
    **unknown: object,
) -> Evaluator:
    """What times a function on a device; see Module.time_evaluator.

    `limit_zero_time_iterations` has no effect: no repetition is measured as zero.
    """
    del limit_zero_time_iterations
    check_usable(dev)
    absent = {"cache_flush_bytes": cache_flush_bytes, "f_preproc": f_preproc, **unknown}
    for what, value in absent.items():
        is_off = isinstance(value, int | str) and not value
        if what in unknown or not is_off:
            nearest = did_you_mean(what, _TIMING) if what in unknown else ""
            raise CallError(
                f"time_evaluator does not support argument {what}", "", f"leave it out{nearest}"
            )
    return Evaluator(
        functools.partial(function.measure, dev),
        number,
        repeat,
        min_repeat_ms,
        cooldown_interval_ms,
        repeats_to_cooldown,
    )


_TIMING = ("number", "repeat", "min_repeat_ms", "cooldown_interval_ms", "repeats_to_cooldown")
_F = TypeVar("_F", bound=Callable[..., None])


class ModuleOf(Shown, Unpicklable, Generic[_F]):
    """Functions by name: `module(...)` calls the entry function, `module["name"]` is any."""

    def __init__(self, functions: dict[str, _F]) -> None:
        self._functions = functions
        self.entry_name = "main" if "main" in functions else next(iter(functions))
        self._entry = functions[self.entry_name]

    def __call__(self, *args: Any, **named: Any) -> Any:
        """Call the entry function."""
        return self._entry(*args, **named) if named else self._entry(*args)

    def __getitem__(self, name: str) -> _F:
        function = self._functions.get(name) if isinstance(name, str) else None
        if function is None and isinstance(name, str) and name in _ENTRY_ALIASES:
            return self._entry
        if function is None:
            raise CallError(
                f"the module has no function {repr_of(name)}",
                "",
                f"use one of {', '.join(self._functions)}{did_you_mean(name, self._functions)}",
            )
        return function

    @checked_as(CallError)
    def get_function(self, name: str, query_imports: bool = False) -> _F:
        """A function by name.

        `query_imports` has no effect: modules are in one piece.

        >>> A = te.placeholder((4,), name="A")
        >>> B = te.compute((4,), lambda i: A[i] * 2.0, name="B")
        >>> module = te_sched.build(te.create_schedule(B.op), [A, B], "llvm")
        >>> module.get_function("main").name
        'main'
        """
        del query_imports
        return self[name]

    @property
    def function_names(self) -> tuple[str, ...]:
        """The names of its functions.

        >>> A = te.placeholder((4,), name="A")
        >>> B = te.compute((4,), lambda i: A[i] * 2.0, name="B")
        >>> module = te_sched.build(te.create_schedule(B.op), [A, B], "llvm")
        >>> module.function_names
        ('main',)
        """
        return tuple(self._functions)

    @property
    def entry_func(self) -> _F:
        """The function that a call of the module calls.

        >>> A = te.placeholder((4,), name="A")
        >>> B = te.compute((4,), lambda i: A[i] * 2.0, name="B")
        >>> module = te_sched.build(te.create_schedule(B.op), [A, B], "llvm")
        >>> module.entry_func.name
        'main'
        """
        return self._entry

    @checked_as(CallError)
    def implements_function(self, name: str, query_imports: bool = False) -> bool:
        """Whether there is a function of a name, as `get_function` finds it.

        >>> A = te.placeholder((4,), name="A")
        >>> B = te.compute((4,), lambda i: A[i] * 2.0, name="B")
        >>> module = te_sched.build(te.create_schedule(B.op), [A, B], "llvm")
        >>> module.implements_function("main"), module.implements_function("other")
        (True, False)
        """
        del query_imports
        return name in self._functions


class Module(ModuleOf[Function]):
    """Compiled functions: `module(...)` calls the entry function, `module["name"]` is any.

    >>> A = te.placeholder((4,), name="A")
    >>> B = te.compute((4,), lambda i: A[i] * 2.0, name="B")
    >>> module = te_sched.build(te.create_schedule(B.op), [A, B], "llvm")
    >>> module.function_names
    ('main',)
    """

    _internal_members = ("add_lines", "link_memory", "objects")

    type_key = "llvm"

    def __init__(
        self,
        code: LoadedCode,
        compiled: CompiledObject | None = None,
        extra_objects: tuple[bytes, ...] = (),
    ) -> None:
        self._code, self._compiled, self._extra_objects = code, compiled, extra_objects
        super().__init__(
            {signature.name: Function(code, signature) for signature in code.signatures}
        )
        self.imported_modules: list[Module] = []

    def add_lines(self, locate: Callable[[About], About]) -> None:
        """Let errors of calls have the lines of the user's program that `locate` adds."""
        for function in self._functions.values():
            function.locate = locate

    def link_memory(self, name: str, array: NDArray) -> None:
        """Let functions that call linked_memory(name) use the memory of an array."""
        self._code.link_memory(name, array)

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

        >>> A = te.placeholder((4,), name="A")
        >>> B = te.compute((4,), lambda i: A[i] * 2.0, name="B")
        >>> module = te_sched.build(te.create_schedule(B.op), [A, B], "llvm")
        >>> x, y = te_sched.nd.zeros((4,)), te_sched.nd.zeros((4,))
        >>> result = module.time_evaluator("main", te_sched.cpu(0), number=10, repeat=3)(x, y)
        >>> len(result.results)
        3
        """
        dev = dev if dev is not None else ctx
        if dev is None:
            raise CallError(
                f"time_evaluator of {repr_of(func_name)} needs a device",
                "",
                "give one: time_evaluator(name, dev)",
            )
        return make_evaluator(self[func_name], dev, number, repeat, min_repeat_ms, **options)

    @checked_as(CallError)
    def get_source(self, fmt: str = "") -> str:
        """The optimized LLVM IR ("ll", the default) or the assembly ("asm", "s").

        >>> A = te.placeholder((4,), name="A")
        >>> B = te.compute((4,), lambda i: A[i] * 2.0, name="B")
        >>> module = te_sched.build(te.create_schedule(B.op), [A, B], "llvm")
        >>> "fmul" in module.get_source("ll")
        True
        """
        kind = {"": "ll", "ll": "ll", "asm": "asm", "s": "asm"}.get(fmt)
        if kind is None:
            raise CallError(
                f"unknown format of source: {repr_of(fmt)}",
                "",
                'use "ll" or "asm"',
            )
        if self._compiled is None:
            raise CallError(
                "cannot show the source of a loaded module: files contain machine code only",
                "",
                "build it again",
            )
        return self._compiled.source(kind)

    @checked_as(CallError, but=("path",))
    def export_library(
        self,
        path: str | os.PathLike[str],
        fcompile: Callable[..., Any] | None = None,
        **options: Any,
    ) -> None:
        """Save for te_sched.runtime.load_module: a shared library, or .o, or a .tar with a .o.

        A `fcompile` (contrib.cc.create_shared) is given the path, the object files and `options`,
        and writes the library.

        >>> A = te.placeholder((4,), name="A")
        >>> B = te.compute((4,), lambda i: A[i] * 2.0, name="B")
        >>> module = te_sched.build(te.create_schedule(B.op), [A, B], "llvm")
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     module.export_library(f"{folder}/double.o")
        ...     te_sched.runtime.load_module(f"{folder}/double.o").function_names
        ('main',)
        """
        destination = check_place(path)
        write_library(destination, self.objects(destination), fcompile, options)

    def objects(self, destination: Path) -> tuple[bytes, ...]:
        """The object files of its code, which will be saved at a place."""
        if self._compiled is None:
            raise CallError(
                f"cannot export to {destination}: this module was loaded from a file",
                "",
                "copy the file",
            )
        is_linked = destination.suffix in LINKED or find_compiler() is not None
        own = self._compiled.objects if is_linked else (self._compiled.whole(),)
        return (*own, *self._extra_objects)

    @checked_as(CallError)
    def save(self, path: str | os.PathLike[str], fmt: str = "") -> None:
        """Save as export_library does, or the text of a source as .ll or .s."""
        form = fmt or Path(files.check_path(path, "save to")).suffix.removeprefix(".")
        if form in ("ll", "s", "asm"):
            files.write(path, self.get_source(form), "save to")
        else:
            self.export_library(path)

    def __repr__(self) -> str:
        return f"<te_sched module: {', '.join(self._functions)}>"


def make_module(compiled: CompiledObject, extra_objects: Sequence[bytes] = ()) -> Module:
    """A module from code that was just compiled."""
    extra = tuple(extra_objects)
    code = load_objects((*compiled.objects, *extra), read_metadata(compiled.metadata + b"\0"))
    return Module(code, compiled, extra)


_tell_of_absent_names(__name__)
