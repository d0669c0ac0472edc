"""Programs as texts of statements."""

from __future__ import annotations

from te_sched.analysis.programs.accesses import ProgramAccesses, accesses_of
from te_sched.ir.stmt import PrimFunc
from te_sched.script import from_source

ARGUMENTS = (
    'A: T.Buffer((16,), "float32"), I: T.Buffer((16,), "int32"), C: T.Buffer((16,), "float32")'
)


def parsed(body: str, arguments: str = ARGUMENTS) -> PrimFunc:
    """The function of a body in TVMScript."""
    lines = "".join(f"    {line}\n" for line in body.strip("\n").splitlines())
    func = from_source(f"@T.prim_func(check_well_formed=False)\ndef main({arguments}):\n{lines}")
    assert isinstance(func, PrimFunc)
    return func


def accesses(body: str, arguments: str = ARGUMENTS) -> ProgramAccesses:
    """The accesses of a body."""
    return accesses_of(parsed(body, arguments))
