"""A schedule as a list of dicts, for pandas.DataFrame. Must not know pandas."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from te_sched.schedule.state import AttachType, StageState
from te_sched.te.operation import ExternOp, PlaceholderOp, ScanOp

_KINDS = ((PlaceholderOp, "input"), (ScanOp, "scan"), (ExternOp, "extern"))
_PLACES = {
    AttachType.INLINE: "inlined",
    AttachType.INLINED_ALREADY: "inlined",
    AttachType.SCOPE: "at",
    AttachType.SCAN_UPDATE: "in scan",
}


def stage_records(stages: Iterable[StageState]) -> list[dict[str, Any]]:
    """A record per stage; see Schedule.records."""
    return [_stage(number, stage) for number, stage in enumerate(stages)]


def _stage(number: int, stage: StageState) -> dict[str, Any]:
    spec, tensor = stage.attach_spec, stage.op.output(0)
    return {
        "number": number,
        "stage": stage.origin_op.name,
        "kind": next((name for kind, name in _KINDS if isinstance(stage.op, kind)), "compute"),
        "dtype": tensor.dtype,
        "shape": tuple([getattr(extent, "value", str(extent)) for extent in tensor.shape]),
        "axes": tuple([axis.var.name for axis in stage.leaf_iter_vars]),
        "computed": _PLACES.get(spec.attach_type, "root"),
        "at_stage": spec.attach_stage.origin_op.name if spec.attach_stage is not None else "",
        "at_axis": spec.attach_ivar.var.name if spec.attach_ivar is not None else "",
        "scope": stage.scope or "global",
        "is_output": stage.is_output,
    }
