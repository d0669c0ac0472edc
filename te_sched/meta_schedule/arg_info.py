"""What a function takes, as plain data: records of measurements keep it, and runs allocate it.

Must not know schedules.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from te_sched.absent_names import tell_of_absent_names as _tell_of_absent_names
from te_sched.errors import DeclarationError, Subject, kind_of, repr_of
from te_sched.ir import dtypes
from te_sched.ir.expr import IntImm
from te_sched.ir.stmt import IRModule, PrimFunc
from te_sched.signatures import check_arguments, is_index, is_sequence


class ArgInfo:
    """An argument of a function."""

    @staticmethod
    def from_json(json_obj: Any) -> ArgInfo:
        """The argument that `as_json` describes.

        >>> ArgInfo.from_json(["TENSOR", "float32", [8, 4]])
        TensorInfo("float32", [8, 4])
        """
        if is_sequence(json_obj) and len(json_obj) == 3 and json_obj[0] == "TENSOR":
            return TensorInfo(json_obj[1], json_obj[2])
        raise DeclarationError(
            f"{repr_of(json_obj)} describes no argument",
            "",
            'give ["TENSOR", dtype, shape], as as_json() does',
        )

    @staticmethod
    def from_prim_func(func: PrimFunc) -> list[ArgInfo]:
        """The arguments of a function whose parameters are buffers of constant shapes.

        Raises
        ------
        DeclarationError for other parameters.

        >>> A = te.placeholder((8, 4), name="A")
        >>> B = te.compute((8, 4), lambda i, j: A[i, j] + 1.0, name="B")
        >>> ArgInfo.from_prim_func(te.create_prim_func([A, B]))
        [TensorInfo("float32", [8, 4]), TensorInfo("float32", [8, 4])]
        """
        if not isinstance(func, PrimFunc):
            raise DeclarationError(
                f"cannot describe the arguments of {kind_of(func)}", "", "give a PrimFunc"
            )
        infos: list[ArgInfo] = []
        for param in func.params:
            buffer = func.buffer_map.get(param)
            if buffer is None or not all(type(size) is IntImm for size in buffer.shape):
                raise DeclarationError(
                    f"parameter {param.name} of {func.__name__} has no buffer of a constant shape",
                    "a measurement allocates the arguments",
                    "specialize the function: func.specialize({param: tir.decl_buffer(shape)})",
                    Subject("variable", param.name),
                )
            infos.append(TensorInfo(buffer.dtype, [int(size) for size in buffer.shape]))  # type: ignore[call-overload]
        return infos

    @staticmethod
    def from_entry_func(mod: IRModule, remove_preproc: bool = True) -> list[ArgInfo]:
        """The arguments of the entry function of a module: "main", or the only one.

        Parameters
        ----------
        remove_preproc : accepted as in TVM; te_sched's functions have no preprocessing blocks.
        """
        del remove_preproc
        if not isinstance(mod, IRModule):
            raise DeclarationError(
                f"cannot describe the arguments of {kind_of(mod)}", "", "give an IRModule"
            )
        names = list(mod.functions)
        if "main" not in names and len(names) != 1:
            raise DeclarationError(
                "the module has no entry function",
                f"it has {', '.join(names)}" if names else "it is empty",
                'call one of them "main"',
            )
        return ArgInfo.from_prim_func(mod["main" if "main" in names else names[0]])

    def as_json(self) -> list[Any]:
        """The argument as lists and plain values."""
        raise NotImplementedError


class TensorInfo(ArgInfo):
    """A tensor as an argument: its dtype and its extents.

    >>> TensorInfo("float32", (8, 4)).as_json()
    ['TENSOR', 'float32', [8, 4]]
    """

    def __init__(self, dtype: str, shape: Sequence[int]) -> None:
        if not is_sequence(shape) or not all(is_index(size) and size >= 0 for size in shape):
            raise DeclarationError(
                f"the shape of a tensor is {repr_of(shape)}, expected extents",
                "",
                "give a list of ints that are not negative",
            )
        self.dtype = dtypes.spelled(dtype)
        self.shape = [int(size) for size in shape]

    def as_json(self) -> list[Any]:
        return ["TENSOR", self.dtype, list(self.shape)]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TensorInfo) and self.as_json() == other.as_json()

    def __hash__(self) -> int:
        return hash((self.dtype, *self.shape))

    def __repr__(self) -> str:
        return f'TensorInfo("{self.dtype}", {self.shape})'


check_arguments(sys.modules[__name__])

_tell_of_absent_names(__name__)
