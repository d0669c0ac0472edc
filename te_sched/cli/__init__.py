"""te-sched, the command line: one module for each command, listed in `main`."""
