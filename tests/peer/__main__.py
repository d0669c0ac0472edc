"""Compare te_sched with live TVM and with numpy on random programs.

python -m tests.peer --count 2000 --seed 1 [--kind tensorir] [--minutes 30] [--failures FOLDER]
"""

from __future__ import annotations

import argparse
import pathlib

from tests.peer.differential import campaign


def main() -> int:
    """Run a campaign; the exit code is 1 if anything except texts differs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kind", choices=campaign.KINDS, default="schedules")
    parser.add_argument("--count", type=int, default=200, help="how many programs")
    parser.add_argument("--seed", type=int, default=1, help="number of the first program")
    parser.add_argument("--minutes", type=float, help="stop after so long")
    parser.add_argument("--failures", type=pathlib.Path, help="folder for minimized failures")
    parser.add_argument("--child", type=int, nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--alone", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--minimize", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        campaign.child(options.kind, *options.child, options.minimize)
        return 0
    if options.alone is not None:
        campaign.alone(options.kind, options.alone)
        return 0
    report = campaign.run(
        options.count, options.seed, options.minutes, options.failures, kind=options.kind
    )
    print(report.text())
    return 1 if report.errors() else 0


if __name__ == "__main__":
    raise SystemExit(main())
