"""A short run of tests/fuzz.py: mutated tables, settings and pictures are read right or refused clearly."""

import re
import subprocess
import sys
from pathlib import Path

FUZZ = Path(__file__).parent / "fuzz.py"


def test_nothing_mutated_is_a_traceback_hangs_or_is_wrongly_accepted():
    command = [sys.executable, str(FUZZ), "--cases", "160", "--seed", "1"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    rows = re.findall(r"^([\w.]+)((?: +\d+){7})$", done.stdout, re.MULTILINE)
    assert [name for name, _ in rows] == ["captions.csv", "splits.csv", "config.yaml", "picture"]
    for name, counts in rows:
        right, refused, *_ = (int(count) for count in counts.split())
        assert sum(int(count) for count in counts.split()) == 40
        assert right >= 1 and refused >= 10, name
