"""Passes over graphs, with TVM's names."""

from te_sched.relax.transform.legalize_ops import LegalizeOps as LegalizeOps
