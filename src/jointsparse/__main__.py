"""`python -m jointsparse`, and the command `jointsparse`: see `pipeline.app`."""

import signal
import sys

from jointsparse.pipeline.app.interrupt import end_interrupts_with


def run() -> int:
    """Run the command. Returns its exit status."""
    end_interrupts_with("error: interrupted\n")
    if sys.platform != "win32":
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # if the reader of a table has read enough
    from jointsparse.pipeline.app.command_line import main  # after the line above, as imports take a while

    return main()


if __name__ == "__main__":
    sys.exit(run())
