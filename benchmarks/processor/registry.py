"""All workloads, from the lists WORKLOADS of the modules."""

from __future__ import annotations

from benchmarks.processor import convolutions, images, layers, memory, narrow_products, products
from benchmarks.processor.workload import Workload

_MODULES = (products, narrow_products, convolutions, layers, images, memory)

WORKLOADS: tuple[Workload, ...] = tuple(one for module in _MODULES for one in module.WORKLOADS)
