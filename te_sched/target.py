"""te_sched.target: what code is generated for, with TVM's names."""

from __future__ import annotations

from te_sched.codegen.target import Target

__all__ = ["Target"]
