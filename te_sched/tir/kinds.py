"""Kinds of loops and effects of calls, as enumerations with TVM's names."""

from __future__ import annotations

from enum import IntEnum, StrEnum

from te_sched.ir.intrinsic_table import Effect


class ForKind(StrEnum):
    """How the iterations of a loop run; equal to the `kind` of a loop."""

    SERIAL = "serial"
    PARALLEL = "parallel"
    VECTORIZED = "vectorized"
    UNROLLED = "unrolled"
    THREAD_BINDING = "thread_binding"


class CallEffectKind(IntEnum):
    """What a call does besides giving a value."""

    ExprAnnotation = Effect.ANNOTATION
    Pure = Effect.PURE
    ReadState = Effect.READ_STATE
    UpdateState = Effect.UPDATE_STATE
    Opaque = Effect.UPDATE_STATE
    SpecialCallArg = Effect.SPECIAL_ARGUMENT
    EmbedInfo = Effect.EMBED_INFO
    ControlJump = Effect.CONTROL_JUMP
