"""Hostile calls of all public functions: each must return a result or raise an error of te_sched.

`surface` finds functions, methods and constructors; `valid` has a valid argument for each
parameter; `values` is the table of hostile values; `calls` makes lines from them, and `judge` runs
a line. Lines are Python code, so that a finding is a script.
"""
