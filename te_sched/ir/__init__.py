"""The program: expressions, statements, buffers, functions; two printers, one verifier."""

from te_sched.ir import operators, ops  # operators: gives expressions theirs

__all__ = ["operators", "ops"]
