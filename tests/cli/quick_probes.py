"""The probes of the doctor that load no large library."""

from te_sched.cli.probes import PROBES, probe

SLOW = ("torch", "onnx", "xgboost", "dask", "pandas", "IPython")


QUICK = [one for one in PROBES if one.name not in SLOW]


def look(name):
    return probe(next(one for one in PROBES if one.name == name))
