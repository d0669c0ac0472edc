"""Lines of JSON in files to which searches append records, and which killed programs leave torn.

Must not know records.
"""

from __future__ import annotations

import json
import os
import re
from typing import BinaryIO


def is_torn(line: str, begin: re.Pattern[str]) -> bool:
    """Whether a line is the first part of a record: the program that wrote it was killed.

    Lines that are too deeply nested for the reader of JSON are not torn, but damaged.

    >>> begin = re.compile(r'\\[("|$)')  # of each record, also of one that ends there
    >>> [is_torn(line, begin) for line in ('["a", 1]', '["a", ', "[", "other")]
    [False, True, True, False]
    """
    if not begin.match(line):
        return False
    try:
        json.loads(line)
    except RecursionError:
        return False
    except ValueError:
        return True
    return False


def line_end_of(file: BinaryIO) -> bytes:
    """What ends the last line of a file that is open to append, before another one is written."""
    if not file.seekable() or not file.tell():
        return b""
    file.seek(-1, os.SEEK_END)
    return b"" if file.read(1) == b"\n" else b"\n"
