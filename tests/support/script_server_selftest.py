#!/usr/bin/env python3
"""Checks how tests get their servers: what cannot be had is missing, what does not start is a failure."""

import pathlib
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import script_server  # noqa: E402

SCRIPT = """#!/bin/sh
echo "$1" >>"$0.calls"
case "$1" in
  get) {get} ;;
  start) {start} ;;
esac
"""
NOT = "echo 'it says why' >&2; exit 1"
AT_THE_SECOND = '[ "$(grep -c start "$0.calls")" = 2 ] || exit 1; echo address'


def outcome(get, start):
    with tempfile.TemporaryDirectory() as folder:
        script = pathlib.Path(folder, "server")
        script.write_text(SCRIPT.format(get=get, start=start))
        script.chmod(0o755)
        try:
            said = script_server.start(script, pathlib.Path(folder, "state"))
        except (script_server.Missing, script_server.NotStarted) as why:
            said = f"{type(why).__name__}: {why}"
        return said, pathlib.Path(folder, "server.calls").read_text().split()


def check(name, got, expected):
    print(f"ok {name}" if got == expected else f"FAIL {name} got {got}, expected {expected}")
    return got == expected


def main():
    good = check("what_starts_is_taken", outcome("true", "echo address"), ("address", ["get", "start"]))
    good &= check("what_cannot_be_had_is_missing", outcome(NOT, "echo address"), ("Missing: it says why", ["get"]))
    good &= check("a_failed_start_is_tried_once_more", outcome("true", AT_THE_SECOND),
                  ("address", ["get", "start", "stop", "start"]))
    good &= check("what_never_starts_is_a_failure", outcome("true", NOT),
                  ("NotStarted: server start failed twice: it says why", ["get", "start", "stop", "start", "stop"]))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
