"""`python -m jointsparse`: see `app`."""

import sys

from jointsparse.app.command_line import main

if __name__ == "__main__":
    sys.exit(main())
