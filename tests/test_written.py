"""`written` leaves either a complete file or none."""

import errno
import os
import subprocess
import sys

import pytest

from jointsparse.written import written


@pytest.mark.parametrize("before", [{}, {"table.csv": "old"}])
def test_the_file_appears_when_the_block_ends_and_not_when_it_fails(tmp_path, before):
    def contents():
        return {path.name: path.read_text() for path in tmp_path.iterdir()}

    for name, content in before.items():
        (tmp_path / name).write_text(content)
    with pytest.raises(KeyError), written(tmp_path / "table.csv") as temporary:
        temporary.write_text("half")
        raise KeyError
    assert contents() == before
    with written(tmp_path / "table.csv") as temporary:
        temporary.write_text("new")
        assert temporary.suffix == ".csv" and contents() == before | {temporary.name: "new"}
    assert contents() == {"table.csv": "new"}


def test_leftovers_of_a_killed_process_are_deleted_and_other_files_stay(tmp_path):
    pytest.importorskip("psutil")
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        pass
    others = {f".table.{os.getppid()}.part.csv", ".table.old.part.csv", f".other.{ended.pid}.part.csv"}
    for name in (f".table.{ended.pid}.part.csv", *others):
        (tmp_path / name).write_text("half a tab")
    with written(tmp_path / "table.csv") as temporary:
        temporary.touch()
    assert {path.name for path in tmp_path.iterdir()} == others | {"table.csv"}


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_the_error_of_a_full_disk_names_the_file(tmp_path, number):
    with pytest.raises(OSError, match=r"made\.csv") as raised, written(tmp_path / "made.csv"):
        raise OSError(number, os.strerror(number))  # as a failed write, which knows no name
    assert raised.value.errno == number and list(tmp_path.iterdir()) == []
