"""`python3 -m fishplate`: the program, where its folder is not in PATH."""

import os
import sys

from fishplate import Error, program

try:
    os.execv(program(), ["fishplate", *sys.argv[1:]])
except Error as error:
    sys.exit(f"fishplate: {error}")
