"""Compare random graphs with live TVM and with numpy.

python -m tests.peer.graphs --count 200 --seed 1 [--details FILE]
"""

from __future__ import annotations

import argparse
import collections

import tests.peer.conftest  # noqa: F401  (TVM reads functions faster)
from tests.peer.graphs.campaign import compare
from tests.peer.graphs.modules import program


def main() -> None:
    """Compare programs, and print what differs and how many do."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=50, help="how many programs")
    parser.add_argument("--seed", type=int, default=1, help="number of the first program")
    parser.add_argument("--details", help="a file for what differs")
    options = parser.parse_args()
    totals: collections.Counter[str] = collections.Counter()
    for seed in range(options.seed, options.seed + options.count):
        found = compare(seed)
        totals["programs"] += 1
        totals += found.counts
        for what, text in found.differences:
            print(f"{seed}: {what}: {text.splitlines()[0] if text else ''}", flush=True)
        if options.details:
            with open(options.details, "a") as stream:
                for what, text in [*found.differences, *found.excused]:
                    stream.write(f"==== {seed}: {what}\n{text}\n")
                if found.differences:
                    stream.write(f"==== {seed}: source\n{program(seed).text}\n")
    print(f"programs: {totals.pop('programs')}")
    for what in sorted(one for one in totals if not one.endswith(", the same")):
        print(f"{what}: {totals[what + ', the same']} of {totals[what]}")


main()
