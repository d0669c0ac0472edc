"""The names of TVMScript for graphs: `from te_sched.script import relax as R`."""
