"""`python -m jointsparse`: see `app`."""

import sys

from jointsparse.app.interrupt import say_interrupts_in_one_line

if __name__ == "__main__":
    say_interrupts_in_one_line()
    from jointsparse.app.command_line import main  # after the line above, as imports take a while

    sys.exit(main())
