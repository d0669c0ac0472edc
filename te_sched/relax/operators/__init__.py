"""The operators of graphs: a file for each family, with all that is known of each operator.

`registry` has the columns of a declaration; `arguments`, `inference`, `sizes`, `legalization` and
`layouts` have what families share. `relax.op` gives their functions their public names. What uses
topi loads it when a rule runs: declarations alone do not.
"""
