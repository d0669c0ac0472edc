"""Operators on images."""

from te_sched.relax.operators.image import resize2d as resize2d
