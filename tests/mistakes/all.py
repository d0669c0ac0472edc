"""The whole table, in the order of the page."""

from types import ModuleType

from tests.mistakes import building, calling, declaring, devices, files, lowering, scheduling
from tests.mistakes.table import TABLE

AREAS: dict[str, ModuleType] = {
    "Declaring": declaring,
    "Scheduling": scheduling,
    "Lowering": lowering,
    "Building": building,
    "Programs for a GPU": devices,
    "Calling": calling,
    "Files, devices, switches": files,
}

__all__ = ["AREAS", "TABLE"]
