"""Random programs, legal and hostile: the result equals numpy's, or is an error of te_sched.

python -m tests.fuzz --minutes 30

A case is data (`case`): declarations, lines that schedule them, lines that change the arguments of
`build` and of the call. `generate` makes the case of a seed, with the dataflows and schedules of
tests/peer/differential and `mischief`; `judge` runs it; `workers` does so in processes that may
crash; `minimize` reduces failing cases; `campaign` runs many.
"""
