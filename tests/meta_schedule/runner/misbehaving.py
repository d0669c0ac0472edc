"""An evaluator of the user that fails; the worker loads this module in the time of the call."""

import os
import time

import numpy as np

ABORTS, HANGS, NEEDS_MEMORY = 2, 3, 4


def misbehave(module, device, config, arguments):
    """An evaluator that does what the size of its argument says: it ends its process, does not end,
    or needs 64 GiB.
    """
    size = arguments[0][0].shape[0]
    if size == ABORTS:
        os.abort()
    if size == HANGS:
        time.sleep(600)
    elif size == NEEDS_MEMORY:
        np.ones(1 << 33).sum()
    return [float(size)]
