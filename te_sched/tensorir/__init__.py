"""Schedules of TensorIR: programs of blocks, transformed by primitives one after the other."""
