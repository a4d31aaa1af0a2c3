"""Entry point of `python -m jointsparse` and of the command `jointsparse`: see `pipeline.app`."""

import signal
import sys

from jointsparse.pipeline.app.interrupt import end_interrupts_with


def run() -> int:
    """Run the command and return its exit status."""
    end_interrupts_with("error: interrupted\n")
    if sys.platform != "win32":
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # end quietly when a pager or `head` closes the pipe
    from jointsparse.pipeline.app.command_line import main  # late, so that Ctrl-C is handled during the slow imports

    return main()


if __name__ == "__main__":
    sys.exit(run())
