"""Which workloads there are. Each module of workloads has a list WORKLOADS of its own."""

from __future__ import annotations

from benchmarks.processor import narrow_products, products
from benchmarks.processor.workload import Workload

WORKLOADS: tuple[Workload, ...] = (*products.WORKLOADS, *narrow_products.WORKLOADS)
