"""Traces: the primitives applied to a schedule, which can be printed, replayed and observed.

Must not know any kind of schedule.
"""
