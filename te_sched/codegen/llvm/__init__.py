"""From a lowered PrimFunc to machine code through LLVM.

The road: `entry` opens a function, `statements` and `expressions` write LLVM text into it (with
`arithmetic`, `casts`, `memory`, `intrinsics`, `calls` and `parallel`), `module` collects what
functions share, and `compile` gives the text to LLVM's optimizer. LLVM IR is written as text
because parsing it takes LLVM a tenth of the time that building it through Python objects takes.
"""
