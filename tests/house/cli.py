#!/usr/bin/env python3
"""Checks what the command line promises: output on stdout, complaints on stderr, exit status. Usage: cli.py PROGRAM"""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


def main():
    program = sys.argv[1]
    good = True

    def check(name, arguments, status, out, err):
        nonlocal good
        ran = subprocess.run([program, *arguments], capture_output=True, text=True, timeout=10, check=False)
        passed = ran.returncode == status and re.search(out, ran.stdout) and re.search(err, ran.stderr)
        good &= bool(passed)
        print(f"ok {name}" if passed else f"FAIL {name} exit status {ran.returncode}\n{ran.stdout}{ran.stderr}")

    version = re.search(r"project\(bartleby VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text()).group(1)
    exactly = rf"\Abartleby {re.escape(version)}\n\Z"
    nothing = r"\A\Z"
    check("version", ["version"], 0, exactly, nothing)
    check("version_as_option", ["--version"], 0, exactly, nothing)
    check("help_lists_commands", ["help"], 0, r"(?s)usage: .*\n  help .*\n  version ", nothing)
    check("help_as_option", ["--help"], 0, "usage: ", nothing)
    check("no_command", [], 2, nothing, "bartleby help")
    check("unknown_command_suggests_the_nearest", ["versoin"], 2, nothing, "did you mean 'bartleby version'")
    check("unknown_command_far_from_all", ["frobnicate"], 2, nothing, r"\A(?!.*did you mean)(?s:.*)bartleby help")
    check("surplus_argument", ["version", "7"], 2, nothing, "takes no argument")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
