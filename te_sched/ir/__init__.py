"""The program: expressions, statements, buffers, functions; two printers, one verifier."""

from te_sched.ir import ops  # gives expressions their operators

__all__ = ["ops"]
