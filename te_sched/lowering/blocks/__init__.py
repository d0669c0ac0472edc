"""Lowering of blocks: from TensorIR to loops with realized buffers, by a tuple of passes."""
