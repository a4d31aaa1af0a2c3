"""Pictures are checked in separate processes. Some errors are due to the picture, others to the machine."""

import errno
import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from io import BytesIO
from pathlib import Path
from types import SimpleNamespace

import describing
import psutil
import pytest
from albums import failing
from PIL import Image

from jointsparse.pipeline.datasets import checker, folder, keywords, picture_check

ENVIRONMENT = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "OPENBLAS_NUM_THREADS": "1"}


def names_in(root):
    return sorted(path.name for path in (root / "images").iterdir())


def check(root, names):
    return folder.check_pictures(root / "images", names, smallest_side=32, longest_side=320)[0]


# Small files that take minutes


def jpeg_of_many_scans(n=3000):
    """Return a progressive JPEG of 25 million pixels that refines the last bit of every pixel n times."""
    file = BytesIO()
    Image.new("L", (5000, 5000)).save(file, "JPEG", progressive=True)
    data = file.getvalue()
    last = data.rindex(b"\xff\xda")
    return data[:last] + n * data[last:-2] + data[-2:]


def test_small_files_that_take_a_minute_are_listed_and_all_others_are_read(album, monkeypatch):
    monkeypatch.setattr(checker, "MOST_SECONDS", 0.3)
    slow = {"005 slow": jpeg_of_many_scans(), "zzz slow": jpeg_of_many_scans(3001)}  # one in the middle, one at the end
    for name, data in slow.items():
        assert len(data) < 600_000
        (album / "images" / name).write_bytes(data)
    expected = "does not open as a picture: decoding takes more than 0.3 s of CPU time"
    assert check(album, names_in(album)) == dict.fromkeys(slow, expected)


def test_two_processes_give_the_same_results_as_one(album, monkeypatch):
    (album / "images" / "004.jpg").write_bytes(b"text")
    names = names_in(album)
    expected = folder.check_pictures(album / "images", names, 32, 320)
    monkeypatch.setattr(checker, "PICTURES_PER_PROCESS", 1)
    done = []
    got = folder.check_pictures(album / "images", names, 32, 320, progress=lambda *progress: done.append(progress))
    assert got == expected
    assert set(got[0]) == {"004.jpg"} and len(got[1]) == len(names)
    assert done == [(i + 1, 12) for i in range(12)]


# Processes that end


def test_a_crash_of_the_decoder_is_due_to_the_picture_and_any_other_end_is_an_error():
    for name in ("SIGSEGV", "SIGABRT", "SIGFPE", "SIGILL"):
        said = checker._reason_of_end(-getattr(signal, name), Path("a"))
        assert said == f"does not open as a picture: the decoder crashed ({name})"
    for status, end in ((-signal.SIGKILL, "SIGKILL"), (1, "status 1")):
        with pytest.raises(
            picture_check.MachineError, match=f"a could not be read: the process that decodes it ended with {end}"
        ):
            checker._reason_of_end(status, Path("a"))


CRASHING = """
import json, os, signal, sys
from jointsparse.pipeline.datasets import picture_check

task, read = sys.argv[1], picture_check.TASKS[sys.argv[1]]

def crash(path, *arguments):
    if path.name == "1.jpg":
        os.kill(os.getpid(), signal.SIGSEGV)
    return read(path, *arguments)

picture_check.TASKS[task] = crash
picture_check.main(task, json.loads(sys.argv[2]), float(sys.argv[3]))
"""


@pytest.mark.parametrize("options", [{}, {"group_by": "burst"}])
def test_a_picture_whose_metadata_crash_the_decoder_is_left_out(tmp_path, monkeypatch, options):
    for i in range(3):
        segment = b"\x1c\x02\x19\x00\x03cat"  # a keyword of IPTC
        block = b"Photoshop 3.0\x008BIM\x04\x04\x00\x00" + len(segment).to_bytes(4, "big") + segment
        file = BytesIO()
        Image.new("L", (40, 40), i).save(file, "JPEG")
        data, size = file.getvalue(), (len(block) + 2).to_bytes(2, "big")
        (tmp_path / f"{i}.jpg").write_bytes(data[:2] + b"\xff\xed" + size + block + data[2:])
    program = tmp_path / "program.py"
    program.write_text(CRASHING)
    monkeypatch.setattr(picture_check, "__file__", str(program))
    read = keywords.read(tmp_path, images=".", smallest_side=None, fractions={"train": 1.0}, **options)
    assert read.captions.to_numpy().tolist() == [["0.jpg", "cat"], ["2.jpg", "cat"]]
    reasons = dict(read.left_out.to_numpy().tolist())
    assert reasons["1.jpg"] == "does not open as a picture: the decoder crashed (SIGSEGV)"


def test_no_process_stays_behind_when_the_reading_is_interrupted(album, monkeypatch):
    monkeypatch.setattr(checker, "PICTURES_PER_PROCESS", 1)
    before, begun = psutil.Process().children(), []  # other tests may have left processes of joblib

    def interrupt(done, total):
        if done == 2:
            begun.extend(child for child in psutil.Process().children() if child not in before)
            raise KeyboardInterrupt

    names = names_in(album)
    with pytest.raises(KeyboardInterrupt):
        folder.check_pictures(album / "images", names, 32, 320, progress=interrupt)
    assert len(begun) == 2
    assert not any(process.is_running() for process in begun)


KILLED = """
import os, psutil, signal, sys
from pathlib import Path
from jointsparse.pipeline.datasets.checker import verdicts
reasons = verdicts([Path(sys.argv[1])] * 5000, "check", 32, 320)
next(reasons)
print(psutil.Process().children()[0].pid, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_process_ends_when_its_parent_is_killed(album):
    command = [sys.executable, "-c", KILLED, str(album / "images" / "000.jpg")]
    done = subprocess.run(command, env=ENVIRONMENT, stdout=subprocess.PIPE, text=True)
    assert done.returncode == -signal.SIGKILL
    with suppress(psutil.NoSuchProcess):
        psutil.Process(int(done.stdout)).wait(30)


# Errors of the machine


@pytest.mark.parametrize(
    ("owner", "function", "name", "read"),
    [
        *(
            (Path, function, "003.jpg", lambda path: picture_check.check_picture(path, 32, 320))
            for function in ("stat", "open")
        ),
        (os, "listdir", "deep", lambda path: folder.list_pictures(path.parent)),
    ],
)
@pytest.mark.parametrize("code", [errno.EIO, errno.ESTALE, errno.EMFILE, errno.ENFILE, errno.ENOMEM])
def test_an_error_of_the_machine_is_raised_instead_of_leaving_out_the_picture_or_folder(
    album, monkeypatch, owner, function, name, read, code
):
    (album / "images" / "deep").mkdir()
    failing(monkeypatch, owner, function, name, code)
    with pytest.raises(picture_check.MachineError, match=rf"{name} could not be read: {os.strerror(code)}\."):
        read(album / "images" / name)


def test_damage_is_due_to_the_picture_if_there_was_enough_memory_to_decode_it(album, monkeypatch):
    """Decoders in C report "broken data stream" for damage and for lack of memory."""
    path = album / "images" / "003.jpg"
    path.write_bytes(path.read_bytes()[:1500])
    reason, _, n_bytes = picture_check.check_picture(path, 32, 320)
    assert reason.startswith("does not open as a picture: image file is trunc")
    assert n_bytes == 48 * 64 * picture_check.BYTES_PER_PIXEL
    monkeypatch.setattr(checker, "_has_room", lambda n_bytes: False)
    with pytest.raises(
        picture_check.MachineError, match=r"003\.jpg could not be read: decoding it may take 1 MiB, more memory than is"
    ):
        check(album, names_in(album))


def test_has_room_asks_the_system_for_memory():
    assert checker._has_room(2**20) and not checker._has_room(2**60)


def test_an_error_of_the_machine_ends_the_reading(album, monkeypatch):
    program = album / "program.py"  # reports an error of the machine for the fourth picture
    program.write_text("""print('["", "", 0, "", ""]\\n' * 3 + '["", "", 0, "no disk", ""]')""")
    monkeypatch.setattr(picture_check, "__file__", str(program))
    with pytest.raises(
        picture_check.MachineError, match=r"003\.jpg could not be read: no disk\. The file itself may be fine"
    ):
        check(album, names_in(album))


@pytest.mark.parametrize(
    ("code", "error", "said"),
    [
        (errno.EIO, OSError, "Input/output error"),
        (errno.EACCES, ValueError, "003.jpg could be read when the dataset was"),
    ],
)
def test_an_error_of_the_machine_in_a_later_stage_is_not_reported_as_damage(album, monkeypatch, code, error, said):
    failing(monkeypatch, Path, "open", "003.jpg", code)
    with pytest.raises(error, match=said):
        given = {"loader": "photos", "options": {"root": album}, "longest_side": 320, "extractor": "dense_sift"}
        next(describing.described({"003.jpg": ""}, SimpleNamespace(**given, extractor_options={}), lambda *_: None))


LIMITED = """
import resource, sys
from jointsparse.pipeline.datasets import picture_check
ours, machines = map(int, sys.argv[1:])
picture_check.MOST_MEMORY = ours
resource.setrlimit(resource.RLIMIT_AS, (machines, machines))
picture_check.main("check", [32, 320], 20)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits the memory of a process")
@pytest.mark.parametrize(("ours", "machines"), [(300, 10_000), (3072, 300)])
def test_lack_of_memory_is_due_to_the_picture_if_the_limit_on_memory_was_reached(tmp_path, ours, machines):
    """The test picture of 25 million pixels takes 400 MiB."""
    Image.new("L", (5000, 5000)).save(tmp_path / "large.png")
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, str(ours * 2**20), str(machines * 2**20)],
        input=json.dumps(str(tmp_path / "large.png")) + "\n",
        stdout=subprocess.PIPE,
        text=True,
        env=ENVIRONMENT,
        check=True,
    )
    reason = f"does not open as a picture: decoding takes more than {ours:,} MiB of memory"
    assert json.loads(done.stdout) == [reason, None, ours * 2**20, "", ""]
