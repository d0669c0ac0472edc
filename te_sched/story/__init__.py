"""Explain reports: the effect of each primitive of a schedule, as data and as a page.

Must not know how schedules are made or programs compiled.
"""
