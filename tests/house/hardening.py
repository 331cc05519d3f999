#!/usr/bin/env python3
"""Reads the finished program: hardening flags have reached it, switches of test builds have not.

Usage: hardening.py PROGRAM
"""

import pathlib
import platform
import re
import subprocess
import sys

ENDBR64 = b"\xf3\x0f\x1e\xfa"


def readelf(option, program):
    command = ["readelf", "--wide", option, program]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def main():
    program = sys.argv[1]
    image = pathlib.Path(program).read_bytes()
    header = readelf("--file-header", program)
    segments = readelf("--segments", program)
    dynamic = readelf("--dynamic", program)
    symbols = readelf("--dyn-syms", program)
    code = int(re.search(r"\s\.text\s+PROGBITS\s+\w+\s+\w+\s+(\w+)", readelf("--sections", program)).group(1), 16)
    stack = re.search(r"GNU_STACK.*?\s([R ][W ][E ])\s", segments)
    checks = {
        "position_independent": "DYN (" in header and "PIE" in dynamic,
        "relro": "GNU_RELRO" in segments,
        "binds_all_symbols_at_start": "BIND_NOW" in dynamic or re.search(r"FLAGS_1.*NOW", dynamic),
        "stack_is_not_executable": stack and "E" not in stack.group(1),
        "no_segment_writable_and_executable": not re.search(r"LOAD .*\sRWE\s", segments),
        "stack_canary": "__stack_chk_fail" in symbols,
        "checked_calls": re.search(r" __(memcpy|memmove|read|snprintf)_chk", symbols),
        # Debian's own start files lack the mark of the whole program (IBT, SHSTK), so its functions are counted.
        "places_to_jump_to_are_marked": platform.machine() != "x86_64" or image.count(ENDBR64) > code // 1000,
        "no_switch_of_test_builds": b"BARTLEBY_TIME_SCALE" not in image,
        "no_search_path_inside": not re.search(r"\((RPATH|RUNPATH)\)", dynamic),
    }
    for name, passed in checks.items():
        print(f"ok {name}" if passed else f"FAIL {name}")
    return 0 if all(checks.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
