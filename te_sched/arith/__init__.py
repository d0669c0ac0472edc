"""Arithmetic on index expressions: bounds, canonical forms, proofs. Must not know statements."""

from te_sched.arith.analyzer import Analyzer
from te_sched.arith.detect import detect_linear_equation

__all__ = ["Analyzer", "detect_linear_equation"]
