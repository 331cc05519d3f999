#!/usr/bin/env python3
"""Checks the test runner itself: a failure, a crash or an empty suite must never pass for success."""

import pathlib
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import run_tests  # noqa: E402

GTEST_REPORT = """
import sys
path = sys.argv[1].split(":", 1)[1]
open(path, "w").write('''{"testsuites": [{"name": "Box", "testsuite": [
  {"name": "Opens", "status": "RUN", "result": "COMPLETED"},
  {"name": "Closes", "status": "RUN", "result": "COMPLETED", "failures": [{"failure": "it is stuck"}]},
  {"name": "Locks", "status": "RUN", "result": "SKIPPED"}]}]}''')
print("[ RUN      ] Box.Locks")
print("box_test.cc:1: Skipped")
print("no key here")
print("[  SKIPPED ] Box.Locks (0 ms)")
sys.exit(1)
"""

GTEST_CRASH = """
import os
print("[ RUN      ] Box.Opens")
print("[       OK ] Box.Opens (0 ms)")
print("[ RUN      ] Box.Closes")
print("it is stuck")
print("[  FAILED  ] Box.Closes (0 ms)")
print("[ RUN      ] Box.Bursts", flush=True)
os.abort()
"""


LEFT = 60  # seconds


def counts(kind, script):
    with tempfile.TemporaryDirectory() as scratch:
        path = pathlib.Path(scratch, "suite.py")
        path.write_text(script)
        result = run_tests.run_suite(run_tests.Suite("suite", [sys.executable, str(path)], kind))
    return (result.passed, len(result.failures), len(result.skips)), result


def check(name, got, expected):
    print(f"ok {name}" if got == expected else f"FAIL {name} got {got}, expected {expected}")
    return got == expected


def main():
    lines = "print('ok a'); print('FAIL b broken'); print('detail'); print('skip c why'); raise SystemExit(1)"
    got, result = counts("lines", lines)
    good = check("counts_lines", got, (1, 1, 1))
    good &= check("keeps_details_of_a_failure", result.failures, [("b", "broken\ndetail")])
    good &= check("keeps_the_reason_of_a_skip", result.skips, [("c", "why")])
    got, _ = counts("lines", "print('ok a'); raise SystemExit(3)")
    good &= check("bad_exit_is_a_failure", got, (1, 1, 0))
    began = time.monotonic()
    got, _ = counts("lines", f"import os, subprocess; subprocess.Popen(['sleep', '{LEFT}']); os.abort()")
    good &= check("what_a_crash_leaves_behind_is_not_waited_for", (got, time.monotonic() - began < LEFT),
                  ((0, 1, 0), True))
    got, _ = counts("lines", "pass")
    good &= check("empty_suite_is_a_failure", got, (0, 1, 0))
    got, result = counts("gtest", GTEST_REPORT)
    good &= check("counts_gtest_cases", got, (1, 1, 1))
    good &= check("finds_the_reason_of_a_gtest_skip", result.skips, [("Box.Locks", "no key here")])
    got, result = counts("gtest", GTEST_CRASH)
    good &= check("crash_is_a_failure_beside_others", got, (1, 2, 0))
    good &= check("crash_is_named", [test for test, _ in result.failures], ["Box.Closes", "Box.Bursts"])
    got, _ = counts("whole", "raise SystemExit(1)")
    good &= check("whole_program_fails", got, (0, 1, 0))
    missing = run_tests.run_suite(run_tests.Suite("suite", ["./is_not_there"], "gtest"))
    good &= check("missing_program_is_a_failure", (missing.passed, len(missing.failures)), (0, 1))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
