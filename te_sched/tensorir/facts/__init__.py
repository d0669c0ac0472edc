"""Facts about blocks: for rules that schedule without a search and with one, topi, and primitives.

    axes            kinds and extents of iterators and loops
    computations    what a block computes by itself: copies, sums, products, and of which operands
    nests           a block among its loops and in its function

Must not know what a fact is used for.
"""
