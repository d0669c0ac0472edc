"""Measuring candidates: what AutoTVM and meta_schedule share, each job once.

    workers        calls in worker processes, and how they fail
    artifacts      built programs in files
    arguments      arrays that programs are run with
    reference      results that candidates must have
    timing         seconds of a program, with slow ones and empty caches
    gpu_model      seconds of kernels where there is no GPU
    measurement    a candidate from its file to its seconds: run, compare, time
    cluster        the same in the workers of a cluster

Must not know searches, schedules, records or the words of either.
"""
