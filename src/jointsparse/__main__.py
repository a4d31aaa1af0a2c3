"""`python -m jointsparse`, and the command `jointsparse`: see `app`."""

import sys

from jointsparse.app.interrupt import end_interrupts_with


def run() -> int:
    """Run the command. Returns its exit status."""
    end_interrupts_with("error: interrupted\n")
    from jointsparse.app.command_line import main  # after the line above, as imports take a while

    return main()


if __name__ == "__main__":
    sys.exit(run())
