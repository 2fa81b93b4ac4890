"""The peak of this process's memory; imported by the processes that the tests start to be measured."""

from __future__ import annotations

import re
import resource
import sys
from pathlib import Path

STATUS = Path("/proc/self/status")


def peak_mb() -> float:
    """Return the most memory that this process has held so far, in MiB.

    On Linux not ``ru_maxrss``: a process that is started takes that over from the one that starts it.
    """
    if STATUS.is_file():
        found = re.search(r"VmHWM:\s+(\d+) kB", STATUS.read_text(encoding="ascii"))
        assert found is not None
        return int(found[1]) / 1024
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 2**20
