"""Traces: what was done to a schedule, as entries that can be printed, replayed and observed.

Must not know any kind of schedule.
"""
