"""A stage: how one operation of a schedule is computed. Its methods are the primitives.

Must not know the other stages, except through its schedule.
"""

from __future__ import annotations

from te_sched.ir.expr import IterVar
from te_sched.notebook_display import Shown
from te_sched.public_members import advice_elsewhere
from te_sched.schedule.primitives.annotations import AnnotationPrimitives
from te_sched.schedule.primitives.attachment import AttachmentPrimitives
from te_sched.schedule.primitives.loops import LoopPrimitives
from te_sched.schedule.primitives.rearranging import RearrangingPrimitives
from te_sched.schedule.primitives.storage import StoragePrimitives
from te_sched.schedule.state import AttachType, IterVarAttr

__all__ = ["AttachType", "IterVarAttr", "Stage"]

_TYPE_TEXT = {"Unrolled": "unroll", "Vectorized": "vectorize", "Parallelized": "parallel"}


class Stage(
    LoopPrimitives,
    AnnotationPrimitives,
    AttachmentPrimitives,
    StoragePrimitives,
    RearrangingPrimitives,
    Shown,
):
    """How one operation is computed: `s[C]`."""

    __slots__ = ()
    _internal_members = (
        *("attach_spec", "copy_from", "draft", "fates", "is_rolling", "launched_threads"),
        *("layouts", "lengths", "schedule"),
    )
    _advice_for_items = "its loops are leaf_iter_vars, the axes of its operation op.axis"

    def same_as(self, other: object) -> bool:
        """Whether both are the same stage.

        >>> from te_sched import te
        >>> A = te.placeholder((8,), name="A")
        >>> B = te.compute((8,), lambda i: A[i] + 1.0, name="B")
        >>> s = te.create_schedule(B)
        >>> s[B].same_as(s[B.op])
        True
        >>> s[B].same_as(s[A])
        False
        """
        return self is other

    def _advice_for(self, name: str) -> str:
        operation = () if self.is_group else ((self.op, "s[tensor].op"),)
        return advice_elsewhere(name, ((type(self.schedule), "s"), *operation))

    def __repr__(self) -> str:
        name = "group" if self.is_group else self.op.name
        parts = [name + "(" + ", ".join(map(self._axis_text, self.leaf_iter_vars)) + ")"]
        if self.attach_type == AttachType.SCOPE:
            assert self.attach_stage is not None
            assert self.attach_ivar is not None
            parts.append(f"at {self.attach_stage.op.name}.{self.attach_ivar.var.name}")
        elif self.attach_type != AttachType.GROUP_ROOT:
            parts.append(self.attach_type.name.lower().replace("_", " "))
        if self.scope:
            parts.append(f"in {self.scope}")
        if self.is_double_buffered:
            parts.append("double buffered")
        return ", ".join(parts)

    def _axis_text(self, axis: IterVar) -> str:
        attr = self.iter_var_attrs.get(axis)
        if attr is None:
            return axis.var.name
        notes = [_TYPE_TEXT.get(attr.iter_type, "")]
        if attr.bind_thread is not None:
            notes.append(attr.bind_thread.thread_tag)
        if attr.tensor_intrin is not None:
            notes.append(attr.tensor_intrin.name)
        notes += [f"pragma {key}" for key in attr.pragma_keys]
        return " ".join([axis.var.name, *(f"<{note}>" for note in notes if note)])
