"""Random programs for which te_sched and live TVM must print the same text, with numpy's results.

A program is data (`program`): declarations (`dataflow`) and lines that schedule them
(`scheduling`). `outcome` runs it under both implementations, `minimize` reduces failing ones,
`campaign` runs many in child processes.
"""
