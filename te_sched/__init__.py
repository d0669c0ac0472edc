"""te_sched: TVM's legacy tensor-expression schedules on today's Python."""
