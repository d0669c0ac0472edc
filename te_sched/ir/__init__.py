"""The program: expressions, statements, buffers, functions; two printers, one verifier.

Importing it gives expressions their operators and nodes their text.
"""

from te_sched.ir import operators, ops, printer

__all__ = ["operators", "ops", "printer"]
