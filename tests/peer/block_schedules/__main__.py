"""Compare random schedules of blocks with live TVM and with numpy.

TE_SCHED_EMULATE=1 python -m tests.peer.block_schedules --count 200 --seed 1 [--details]
"""

from __future__ import annotations

import argparse
import collections
import traceback

from tests.peer.block_schedules.campaign import Comparison, recorded


def main() -> None:
    """Compare programs, and print what differs and how many do."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=50, help="how many programs")
    parser.add_argument("--seed", type=int, default=1, help="number of the first program")
    parser.add_argument("--details", action="store_true", help="print what differs")
    options = parser.parse_args()
    totals: collections.Counter[str] = collections.Counter()
    for seed, events in recorded(options.seed, options.count):
        totals["programs"] += 1
        try:
            found = Comparison(seed, events)
        except Exception:
            totals["crashed"] += 1
            print(f"==== {seed}: crashed\n{traceback.format_exc()}", flush=True)
            continue
        totals += found.counts
        for what, text in found.differences:
            print(f"{seed}: {what}: {text.splitlines()[0]}", flush=True)
        for what, text in found.excused:
            print(f"{seed}: TVM's fault: {what}: {' | '.join(text.splitlines()[:2])}", flush=True)
        if options.details and found.differences:
            print(found.text(), flush=True)
    print(dict(totals))


main()
