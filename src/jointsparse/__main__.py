"""`python -m jointsparse`: see `app`."""

import sys

from jointsparse.app.interrupt import end_interrupts_with

if __name__ == "__main__":
    end_interrupts_with("error: interrupted\n")
    from jointsparse.app.command_line import main  # after the line above, as imports take a while

    sys.exit(main())
