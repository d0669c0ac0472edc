"""te_sched: TVM's legacy tensor-expression schedules on today's Python."""

__version__ = "0.1.0"
