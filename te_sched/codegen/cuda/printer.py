"""Kernels as one CUDA C++ source.

    extern "C" __global__ void __launch_bounds__(64) add_kernel(
        float* __restrict__ C, const float* __restrict__ A) {
      C[((int)blockIdx.x) * 64 + ((int)threadIdx.x)] = ...
    }

The source compiles with NVRTC as with nvcc. Arrays in global memory begin at multiples of 16 bytes.
Must not know how kernels are made, compiled or launched.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from te_sched.codegen.cuda import expressions, intrinsics, statements, tensor_cores
from te_sched.codegen.cuda.helpers import HELPERS
from te_sched.codegen.cuda.names import NumberedNames, ScopedNames, is_identifier, words_of
from te_sched.codegen.cuda.pieces import Piece
from te_sched.codegen.cuda.writer import INDENT, KernelText, Unit, Writers
from te_sched.codegen.target import Target, as_target
from te_sched.deep_recursion import walks_deeply
from te_sched.errors import BuildError
from te_sched.ir import dtypes
from te_sched.ir import expr as E
from te_sched.ir import stmt as S
from te_sched.ir.kernel import DYNAMIC_ALIGNMENT, block_size, dynamic_offsets, thread_axes
from te_sched.ir.printer.origins import mark_lines
from te_sched.ir.visitor import walk
from te_sched.ir.written_memory import written_memory

_WIDTH = 100
_FRAGMENT_ALIGNMENT = 32  # bytes; what fragments are loaded from
_WRITERS = Writers(
    expressions.WRITERS, statements.WRITERS, {**intrinsics.CALLS, **tensor_cores.CALLS}
)


@walks_deeply("print kernels", BuildError)
def print_kernels(kernels: Mapping[str, S.PrimFunc], target: Target | str = "cuda") -> str:
    """The CUDA C++ source of kernels (see `te_sched.ir.kernel`), in their order.

    Raises
    ------
    BuildError when a kernel holds what the device does not have.
    """
    if as_target(target).kind != "cuda":
        raise BuildError(f"target {str(target)!r} is not a CUDA device", help='use "cuda"')
    return "\n".join(_source(kernels, KernelText)) + "\n"


@walks_deeply("print kernels", BuildError)
def kernel_lines(kernels: Mapping[str, S.PrimFunc]) -> list[str]:
    """The lines of `print_kernels(kernels)`, those of statements as `OriginLine`."""
    return _source(kernels, _OriginText)


class _OriginText(KernelText):
    """Writes as any other, and marks the lines of each statement when they are complete."""

    def execute(self, node: Any) -> None:
        start = len(self.lines)
        super().execute(node)
        mark_lines(self.lines, start, node)


def _source(
    kernels: Mapping[str, S.PrimFunc], make_text: Callable[[str, Unit, Writers], KernelText]
) -> list[str]:
    unit = Unit()
    texts = []
    for name, kernel in kernels.items():
        probe, out = KernelText(name, Unit(), _WRITERS), make_text(name, unit, _WRITERS)
        probe.names = NumberedNames()
        out.names = ScopedNames(words_of(_kernel(kernel, probe)))
        texts.append(_kernel(kernel, out))
    before = [
        "\n".join(f"#include <{header}>" for header in sorted(unit.headers)),
        *unit.sources,
        *(text for name, text in HELPERS.items() if name in unit.helpers),
    ]
    parts = [part.strip("\n").split("\n") for part in before if part] + texts
    return [line for part in parts for line in ("", *part)][1:]


def _kernel(kernel: S.PrimFunc, out: KernelText) -> list[str]:
    name, unit = out.name, out.unit
    if not is_identifier(name):
        raise BuildError(
            f"kernel name {name!r} is not a valid identifier of C++",
            help="give the function another name: te_sched.lower(s, args, name=...)",
        )
    nodes = list(walk(kernel.body))
    out.readonly = {param for param in kernel.params if param.dtype == "handle"} - written_memory(
        kernel.body
    )
    out.alignments = _alignments(nodes)
    out.fragments = tensor_cores.find_fragments(nodes)
    out.dynamic_offsets, _ = dynamic_offsets(kernel)
    axes, body = thread_axes(kernel)
    parameters = [_parameter(out, kernel, param) for param in kernel.params]
    for axis in axes:
        kind = unit.type_of(axis.var.dtype)
        out.environment[axis.var] = [Piece(f"(({kind}){axis.tag})")]
        out.analyzer.bind(axis.var, E.Range(E.IntImm(0, axis.var.dtype), axis.extent))
    if out.dynamic_offsets:
        room = f"__align__({DYNAMIC_ALIGNMENT}) unsigned char {statements.DYNAMIC}[]"
        out.do(f"extern __shared__ {room};")
    out.execute(body)
    return [*_head(name, kernel, parameters).split("\n"), *out.lines, "}"]


def _head(name: str, kernel: S.PrimFunc, parameters: list[str]) -> str:
    threads = block_size(kernel)
    bounds = f" __launch_bounds__({threads})" if threads else ""
    begin = f'extern "C" __global__ void{bounds} {name}('
    line = f"{begin}{', '.join(parameters)}) {{"
    if len(line) <= _WIDTH:
        return line
    return f"{begin}\n" + ",\n".join(INDENT * 2 + parameter for parameter in parameters) + ") {"


def _parameter(out: KernelText, kernel: S.PrimFunc, param: E.Var) -> str:
    name = out.names.fresh(param.name)
    out.environment[param] = [Piece(name)]
    if param.dtype != "handle":
        if param.is_size:
            out.analyzer.mark_nonnegative(param)
        return f"{out.unit.type_of(param.dtype)} {name}"
    element = param.pointer.element if param.pointer is not None else "void"
    out.elements[param] = dtypes.element(element)
    const = "const " if param in out.readonly else ""
    restrict = " __restrict__" if kernel.attrs.get("tir.noalias") else ""
    return f"{const}{out.unit.type_of(element)}*{restrict} {name}"


def _alignments(nodes: Iterable[object]) -> dict[E.Var, int]:
    """Bytes to which arrays of a kernel must be aligned because of how they are accessed."""
    alignments: dict[E.Var, int] = {}
    for node in nodes:
        if type(node) is E.BufferLoad or type(node) is S.BufferStore:
            index = node.indices[-1] if node.indices else None
            if dtypes.lanes(node.buffer.dtype) > 1 or type(index) is E.Ramp:
                alignments.setdefault(node.buffer.data, 16)
        elif type(node) is E.Call and node.op in (
            "tir.tvm_load_matrix_sync",
            "tir.tvm_store_matrix_sync",
            "tir.ptx_mma",
            "tir.ptx_ldmatrix",
        ):
            for part in walk(node):
                if type(part) is E.Var and part.dtype == "handle":
                    alignments[part] = _FRAGMENT_ALIGNMENT
                elif type(part) is E.BufferLoad:
                    alignments[part.buffer.data] = _FRAGMENT_ALIGNMENT
    return alignments
