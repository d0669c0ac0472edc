"""Errors that tests cannot reach on all machines, by file and function, with reasons."""

UNREACHED: dict[str, str] = {
    "worker_thread.py::run_in_thread": "raises again what a call raised, made elsewhere",
    "worker_thread.py::map_in_threads": "raises again what a call raised, made elsewhere",
}

# Bugs of te_sched, which no program should reach.
INTERNAL = {
    "codegen/cuda/writer.py::KernelText.scalar",
    "codegen/cuda/writer.py::KernelText.whole",
    "ir/verify.py::_Verifier.fail",
}
