"""Dataflow over the elements of buffers: values that are known, and stores that are not read.

Forward and backward analyses of structured programs, on sets of integer points
(`arith.linear_sets`). They run only for options that ask for them.
"""
