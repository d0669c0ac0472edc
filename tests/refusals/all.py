"""The complete table, and its mistakes in the order of the pages."""

from importlib import import_module
from types import ModuleType

from tests.refusals.mistakes import (
    building,
    calling,
    declaring,
    devices,
    files,
    graphs,
    lowering,
    scheduling,
)
from tests.refusals.table import TABLE

AREAS: dict[str, ModuleType] = {
    "Declarations": declaring,
    "Schedules": scheduling,
    "Lowering": lowering,
    "Building": building,
    "GPU programs": devices,
    "Calls": calling,
    "Graphs": graphs,
    "Files, devices and switches": files,
}

for _name in (
    *("declaring", "primitives", "lowering", "kernels", "devices", "running", "topi"),
    *("user_input", "blocks", "tensorir"),
):
    import_module(f"tests.refusals.{_name}")  # fills the table

__all__ = ["AREAS", "TABLE"]
