"""`written` leaves either a complete file or none."""

import errno
import os
import subprocess
import sys

import pytest

from jointsparse.written import written


def contents(folder):
    return {path.name: path.read_text() for path in folder.iterdir()}


def test_the_file_appears_when_the_block_ends_and_not_when_it_fails(tmp_path):
    for before in ({}, {"table.csv": "new"}):
        with pytest.raises(KeyError), written(tmp_path / "table.csv") as temporary:
            temporary.write_text("half")
            raise KeyError
        assert contents(tmp_path) == before
        with written(tmp_path / "table.csv") as temporary:
            temporary.write_text("new")
            assert temporary.suffix == ".csv" and contents(tmp_path) == before | {temporary.name: "new"}
        assert contents(tmp_path) == {"table.csv": "new"}


def test_leftovers_of_a_killed_process_are_deleted_and_other_files_stay(tmp_path):
    pytest.importorskip("psutil")
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        pass
    others = dict.fromkeys(
        (f".table.{os.getppid()}.part.csv", ".table.old.part.csv", f".other.{ended.pid}.part.csv"), ""
    )
    for name in (f".table.{ended.pid}.part.csv", *others):
        (tmp_path / name).touch()
    with written(tmp_path / "table.csv") as temporary:
        temporary.touch()
    assert contents(tmp_path) == others | {"table.csv": ""}


def test_a_replaced_file_keeps_its_mode_and_the_error_of_a_full_disk_names_the_file(tmp_path):
    (tmp_path / "table.csv").touch(mode=0o600)
    with written(tmp_path / "table.csv") as temporary:
        temporary.touch(mode=0o644)
    assert (tmp_path / "table.csv").stat().st_mode & 0o777 == 0o600
    with pytest.raises(OSError, match=r"table\.csv") as raised, written(tmp_path / "table.csv"):
        raise OSError(errno.EDQUOT, "")  # as a failed write, which knows no name
    assert raised.value.errno == errno.EDQUOT and contents(tmp_path) == {"table.csv": ""}
