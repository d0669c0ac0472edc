"""Hostile calls of every public function: each gives a result or an error of te_sched.

`surface` finds the functions, methods and constructors; `valid` knows an argument for each
parameter; `values` is the table of hostile values; `calls` makes lines of them, and `judge` runs a
line. Lines are Python texts, so that a finding is a script.
"""
