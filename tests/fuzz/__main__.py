"""Run random programs, legal and hostile, and report those neither correct nor refused.

python -m tests.fuzz --minutes 30 [--seed N] [--jobs 2] [--kind KIND]
python -m tests.fuzz --kind legal --one 123    the script of one case
"""

from __future__ import annotations

import argparse
import pathlib

from tests.fuzz import campaign
from tests.fuzz.generate import KINDS


def main() -> int:
    """Run a campaign; the exit code is 1 if there are findings."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, help="stop after so long")
    parser.add_argument("--count", type=int, help="stop after so many cases of each kind")
    parser.add_argument("--seed", type=int, default=1, help="number of the first case")
    parser.add_argument("--jobs", type=int, default=1, help="processes at once")
    parser.add_argument("--kind", choices=(*KINDS, "all"), default="all")
    parser.add_argument("--limit", type=float, default=60.0, help="seconds for one case")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("fuzz-findings"))
    parser.add_argument("--one", type=int, help="judge this case alone and print its script")
    options = parser.parse_args()
    kinds = KINDS if options.kind == "all" else (options.kind,)
    if options.one is not None:
        print(campaign.judge_one(kinds[0], options.one, options.out))
        return 0
    if options.minutes is None and options.count is None:
        options.minutes = 5.0
    report = campaign.run(
        kinds,
        options.seed,
        options.minutes,
        options.count,
        options.jobs,
        options.out,
        options.limit,
    )
    print(report.text())
    return 1 if report.findings else 0


if __name__ == "__main__":
    raise SystemExit(main())
