# SPDX-License-Identifier: Apache-2.0
"""``python -m linewatt``: the program, where its script is not on the path."""

from linewatt.cli import program

if __name__ == "__main__":
    program()
