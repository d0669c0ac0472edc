"""Refusals of modules, arrays, files and tools."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np

import te_sched
from te_sched import config, nd, te, testing, tir
from te_sched.codegen.cuda import nvrtc
from te_sched.codegen.llvm import machine as llvm_machine
from te_sched.codegen.target import Target
from te_sched.compat import first, rpc
from te_sched.contrib import cc, clang
from te_sched.errors import BuildError, CallError, LoweringError, TeSchedError
from te_sched.runtime import (
    csource,
    dlpack,
    jit,
    libraries,
    load_module,
    loader,
    registry,
)
from tests.refusals.table import Case, enter

A = te.placeholder((8,), name="A")
B = te.compute((8,), lambda i: A[i] * 2.0, name="B")


def double(target: str = "llvm") -> Any:
    s = te.create_schedule(B.op)
    if target == "cuda":
        s[B].bind(B.op.axis[0], te.thread_axis("threadIdx.x"))
    return te_sched.build(s, [A, B], target)


def half_of(dtype: str) -> None:
    te_sched.register_extern("half_of", lambda x: 0.5)
    E = te.compute((8,), lambda i: tir.call_extern(dtype, "half_of", A[i]), name="E")
    module = te_sched.build(te.create_schedule(E.op), [A, E])
    module(np.zeros(8, "float32"), np.zeros(8, "float16"))


def forgotten_extern() -> None:
    te_sched.register_extern("forgotten", lambda x: 0.5)
    E = te.compute((8,), lambda i: tir.call_extern("float32", "forgotten", A[i]), name="E")
    module = te_sched.build(te.create_schedule(E.op), [A, E])
    registry._externs.pop("forgotten")
    module(np.zeros(8, "float32"), np.zeros(8, "float32"))


def read_only() -> None:
    values = np.zeros(4, "float32")
    values.flags.writeable = False
    nd.array(np.ones(4, "float32")).copyto(nd.from_dlpack(values))


class Negated:
    """Like a tensor of torch after .conj().imag."""

    def is_neg(self) -> bool:
        return True

    def __dlpack__(self, **_: Any) -> Any:
        return np.zeros(8, "float32").__dlpack__()

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)


class Broken(Negated):
    """An array whose methods raise."""

    def is_neg(self) -> bool:
        return False

    def __dlpack__(self, **_: Any) -> Any:
        raise RuntimeError("no")


class OnGpu(Broken):
    """An array on a GPU."""

    def __dlpack_device__(self) -> tuple[int, int]:
        return (2, 0)


class Library:
    """A broken NVRTC."""

    def nvrtcGetErrorString(self, status: int) -> bytes:
        return b"NVRTC_ERROR_INVALID_INPUT"


def unresolved() -> bytes:
    machine = llvm_machine.machine_of(Target("llvm"))
    text = (
        "declare void @no_such_symbol()\ndefine void @f() { call void @no_such_symbol() ret void }"
    )
    return llvm_machine.compile_object(f"{machine.header}\n{text}\n", (), machine)


def pointed(value: Any) -> None:
    data = te.var("data", "handle")
    func = tir.PrimFunc((data,), tir.Evaluate(0), {}, {"global_symbol": "main"})
    te_sched.build(func)(value)


def scaled(by: Any) -> None:
    f = te.var("f", "float32")
    E = te.compute((8,), lambda i: A[i] * f, name="E")
    te_sched.build(te.create_schedule(E.op), [f, A, E])(by, *[np.zeros(8, "float32")] * 2)


def symbolic_rows(rows: Any) -> None:
    step = te.var("step")
    R = te.placeholder((4, 8), name="R")
    E = te.compute((4, 8), lambda i, j: R[i, j], name="E")
    bound = tir.decl_buffer((4, 8), "float32", "R", strides=[step, 1])
    module = te_sched.build(te.create_schedule(E.op), [bound, E], binds={R: bound})
    module(rows, np.zeros((4, 8), "float32"))


def wide_rows() -> Any:
    return np.lib.stride_tricks.as_strided(np.zeros(1, "float32"), (4, 8), (2**35, 4))


def sliding() -> None:
    W = te.placeholder((4, 4), name="W")
    E = te.compute((4, 4), lambda i, j: W[i, j], name="E")
    windows = np.lib.stride_tricks.as_strided(np.zeros(8, "float32"), (4, 4), (4, 4))
    step = te.var("step"), te.var("next")
    bound = tir.decl_buffer((4, 4), "float32", "E", strides=list(step))
    module = te_sched.build(te.create_schedule(E.op), [W, bound], binds={E: bound})
    module(np.zeros((4, 4), "float32"), windows)


def too_long() -> None:
    n, m = te.var("n"), te.var("m")
    L = te.placeholder((n, m), name="L")
    E = te.compute((n, m), lambda i, j: L[i, j], name="E")
    huge = np.lib.stride_tricks.as_strided(np.zeros(1, "float32"), (70000,) * 2, (280000, 4))
    te_sched.build(te.create_schedule(E.op), [L, E])(huge, huge)


ASSEMBLY = 'module asm ".globl f"\nmodule asm "f:"\n'
CASES: dict[str, Case] = {
    "half from Python": (lambda: half_of("float16"), CallError, "return a float16"),
    "forgotten extern": (forgotten_extern, CallError, "not registered as a Python function"),
    "function of a kernel": (
        lambda: double("cuda")["no"],
        CallError,
        "the module has no function 'no'",
    ),
    "time of a kernel": (
        lambda: double("cuda")["main"].time_evaluator("main"),
        CallError,
        "time_evaluator of 'main' needs a device",
    ),
    "time with flushed caches": (
        lambda: double().time_evaluator("main", te_sched.cpu(0), cache_flush_bytes=1),
        CallError,
        "^time_evaluator does not support argument cache_flush_bytes",
    ),
    "capsule": (lambda: dlpack.read_capsule(3), CallError, "it was consumed already"),
    "read-only array": (read_only, CallError, "its memory is read-only"),
    "extern twice": (
        lambda: [
            te_sched.register_extern("twice_there", lambda x: x, override=True),
            te_sched.register_extern("twice_there", lambda x: x, override=False),
        ],
        CallError,
        "extern 'twice_there' is registered already",
    ),
    "null extern": (
        lambda: te_sched.register_extern("null", 0),
        CallError,
        "the pointer is null",
    ),
    "extern text": (
        lambda: te_sched.register_extern("text", "x"),
        CallError,
        "neither a function pointer nor callable",
    ),
    "deep program": (lambda: libraries.pack(_nested(100_000)), BuildError, "nested deeper"),
    "metadata cut short": (
        lambda: loader.read_metadata(loader.METADATA_MAGIC.encode() + b"{\0"),
        CallError,
        "cannot load : it is damaged",
    ),
    "no metadata": (lambda: loader.read_metadata(b""), CallError, "not made by te_sched"),
    "metadata of another version": (
        lambda: loader.read_metadata(loader.METADATA_MAGIC.encode() + b'{"version": 0}\0'),
        CallError,
        "its format is version 0",
    ),
    "another machine": (
        lambda: loader._check_machine({"triple": "z80-none", "features": ""}, "x.o"),
        CallError,
        "it was compiled for z80-none",
    ),
    "another processor": (
        lambda: loader._check_machine(_host() | {"features": "+magic"}, "x.o"),
        CallError,
        "this processor lacks magic",
    ),
    "command of no words": (
        lambda: cc.run_compiler([], "compile"),
        BuildError,
        "cannot compile: no command is given",
    ),
    "path of nothing": (
        lambda: config._read_path("TE_SCHED_CACHE_DIR", "a\0b"),
        TeSchedError,
        "must be a path, got",
    ),
    "threads": (
        lambda: config._read_count("TE_SCHED_MAX_STEPS", "-1"),
        TeSchedError,
        "must be a whole number above 0",
    ),
    "truth": (
        lambda: config._read_truth("TE_SCHED_CACHE", "perhaps"),
        TeSchedError,
        "must be a truth value",
    ),
    "complex copy": (
        lambda: nd.empty((2,)).copyfrom(np.array([1j, 2j])),
        CallError,
        "cannot copy complex128 into an array of float32: not real number",
    ),
    "masked": (
        lambda: nd.array(np.ma.masked_array([1.0, 2.0], [True, False])),
        CallError,
        "cannot read a MaskedArray: its mask would be ignored",
    ),
    "negative bit": (lambda: double()(Negated(), Negated()), CallError, "resolve_neg"),
    "silent library": (
        lambda: double()(Broken(), Broken()),
        CallError,
        "its library says: RuntimeError: no",
    ),
    "no pointer": (lambda: pointed("x"), CallError, "must be an array or an address"),
    "float of text": (lambda: scaled("x"), CallError, "must be a float32"),
    "huge float": (
        lambda: scaled(10**400),
        CallError,
        "an int of 1329 bits, too large for float32",
    ),
    "sliding windows": (sliding, CallError, "elements overlap"),
    "stride beyond int32": (
        lambda: symbolic_rows(wide_rows()),
        CallError,
        r"has strides\[0\] 8589934592",
    ),
    "indices beyond int32": (too_long, CallError, "as its last index, too large for int32"),
    "missing symbols": (
        lambda: jit.link_objects((unresolved(),), ("f",)),
        BuildError,
        "link the compiled code",
    ),
    "missing exports": (
        lambda: jit.link_objects((), ("no_such_symbol",)),
        BuildError,
        "link the compiled code with no_such_symbol",
    ),
    "broken llvm": (
        lambda: llvm_machine.defined_symbols("define nonsense"),
        BuildError,
        "LLVM says",
    ),
    "llvm that is not well-formed": (
        lambda: llvm_machine.defined_symbols(
            "define void @f() {\nentry:\n  ret void\ndead:\n  br label %entry\n}"
        ),
        BuildError,
        "LLVM says: .*predecessors",
    ),
    "assembly twice": (
        lambda: llvm_machine.without_superseded(
            (ASSEMBLY + "define void @g() { ret void }", ASSEMBLY)
        ),
        BuildError,
        "which another one defines too",
    ),
    "nvrtc status": (
        lambda: nvrtc._check(Library(), 3, "sm_80"),
        BuildError,
        "NVRTC failed",
    ),
    "matrices in checked mode": (
        lambda: double("cuda")["main"].check(OnGpu(), OnGpu()),
        CallError,
        "the checked mode runs on the processor",
    ),
    "rpc": (
        lambda: rpc.connect("localhost", 9090),
        CallError,
        "cannot connect to 'localhost':9090",
    ),
    "build_config": (
        lambda: first.build_config(no_such=1),
        LoweringError,
        "unknown option of build_config: no_such=1",
    ),
    "two sources": (
        lambda: clang.create_llvm(["int a;", "int b;"]),
        BuildError,
        "cannot compile 2 sources|clang is not installed",
    ),
    "print for no GPU": (
        lambda: nvrtc._library("/no/such/library.so"),
        BuildError,
        "cannot load NVRTC",
    ),
}


def _nested(depth: int) -> Any:
    made: Any = ()
    for _ in range(depth):
        made = (made,)
    return made


def _host() -> dict[str, Any]:
    return {"triple": llvm_machine.machine_of(Target("llvm")).triple}


def without_a_compiler(patch: Any, call: Any) -> None:
    patch.setattr(csource, "compiler_command", lambda: [])
    patch.setattr(cc, "compiler_command", lambda: [])
    call()


def without_pytest(patch: Any) -> None:
    patch.setattr(testing, "_pytest", lambda: None)
    testing._needed_pytest("requires")


def exported_again(folder: Path) -> None:
    double().export_library(folder / "m.o")
    load_module(folder / "m.o").export_library(folder / "n.o")


def object_as_library(folder: Path) -> None:
    double().export_library(folder / "m.o")
    shutil.copy(folder / "m.o", folder / "m.so")
    load_module(folder / "m.so")


def archive_of_nothing(folder: Path) -> None:
    (folder / "m.tar").write_bytes(b"nothing")
    load_module(folder / "m.tar")


FILES: dict[str, Case] = {
    "export without a compiler": (
        lambda patch, folder: without_a_compiler(
            patch, lambda: double().export_library(folder / "m.so")
        ),
        BuildError,
        "no C compiler",
    ),
    "library without a compiler": (
        lambda patch, folder: without_a_compiler(
            patch, lambda: cc.create_shared(str(folder / "m.so"), [])
        ),
        BuildError,
        "no C compiler",
    ),
    "without pytest": (without_pytest, TeSchedError, "pip install pytest"),
    "module loaded from a file": (exported_again, CallError, "loaded from a file"),
    "object file as a library": (object_as_library, CallError, "the system's loader says"),
    "archive without kernels": (archive_of_nothing, CallError, "give what export_library wrote"),
}
if not te_sched.cuda(0).exist:
    FILES["no GPU"] = (
        lambda: nd.empty((4,), device=te_sched.cuda(0)),
        CallError,
        "TE_SCHED_EMULATE=1",
    )
enter("running", CASES)
enter("files and devices", FILES)
