"""Random programs, legal and hostile: each gives numpy's answer or a te_sched error.

python -m tests.fuzz --minutes 30

A case is data (`case`): declarations, lines that schedule them, lines that change the arguments of
`build` and of the call. `generate` makes the case of a number, from the dataflows and schedules of
tests/peer/differential and from `mischief`; `judge` runs one; `workers` does that in processes that
may die; `minimise` makes a failing one small; `campaign` runs many.
"""
