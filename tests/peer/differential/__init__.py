"""Random programs on which te_sched and live TVM must agree: in text, and with numpy in results.

A program is data (`program`): declarations (`dataflow`) and lines that schedule them
(`scheduling`). `outcome` runs one under both implementations, `minimise` makes a failing one small,
`campaign` runs many of them in child processes.
"""
