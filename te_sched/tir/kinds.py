"""Enumerations of the kinds of loops and of the effects of calls, with TVM's names."""

from __future__ import annotations

from enum import IntEnum, StrEnum

from te_sched.ir.intrinsic_table import Effect


class ForKind(StrEnum):
    """The execution kind of a loop; a member equals the `kind` field of a loop.

    >>> ForKind.PARALLEL == "parallel"
    True
    """

    SERIAL = "serial"
    PARALLEL = "parallel"
    VECTORIZED = "vectorized"
    UNROLLED = "unrolled"
    THREAD_BINDING = "thread_binding"


class CallEffectKind(IntEnum):
    """The side effect of a call; a larger number is a stronger effect.

    >>> CallEffectKind.Pure < CallEffectKind.UpdateState
    True
    """

    ExprAnnotation = Effect.ANNOTATION
    Pure = Effect.PURE
    ReadState = Effect.READ_STATE
    UpdateState = Effect.UPDATE_STATE
    Opaque = Effect.UPDATE_STATE
    SpecialCallArg = Effect.SPECIAL_ARGUMENT
    EmbedInfo = Effect.EMBED_INFO
    ControlJump = Effect.CONTROL_JUMP
