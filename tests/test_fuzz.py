"""A short run of tests/fuzz.py: tables, settings, samples and pictures are read right or refused clearly."""

import re
import subprocess
import sys
from pathlib import Path

FUZZ = Path(__file__).parent / "fuzz.py"
TRUST = FUZZ.parents[1] / "docs" / "trust.md"
ROW = re.compile(r"^\| ([\w. ]+) \| (\d+) \| (\d+) \| (\d+) \| (\d+) \| (\d+) \| (\d+) \|$", re.MULTILINE)


def counts(text):
    """The counts of each kind of case in a table of the script: right, refused, unjudged and three of failures."""
    return {kind: [int(count) for count in row] for kind, *row in ROW.findall(text)}


def test_nothing_is_a_traceback_takes_long_or_is_read_wrong():
    command = [sys.executable, str(FUZZ), "--cases", "1000", "--seed", "1"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    rows = counts(done.stdout)
    assert sum(map(sum, rows.values())) == 1000
    in_docs = counts(TRUST.read_text(encoding="utf-8"))
    assert sum(sum(in_docs[kind]) for kind in rows) == 20_000
    for kind, (right, refused, unjudged, *failures) in rows.items():
        assert right >= 1 and failures == in_docs[kind][3:] == [0, 0, 0], kind
        assert refused >= 1 or kind in ("PNG", "JPEG", "BMP", "PNM", "GIF", "WebP"), kind
        assert unjudged == 0 or kind == "mutated picture", kind
