#!/usr/bin/env python3
"""`bartleby demo`: its line adds up, also after kill -9 in the middle. Usage: demo.py PROGRAM

Prints a line per check. When it is killed depends on chance and on the machine; that it adds up does not.
"""

import pathlib
import random
import re
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from support.processes import free_port, run_checks  # noqa: E402

LINE = re.compile(r"sent (\d+) = handled at once (\d+) \+ handled after retries (\d+) \+ dead letters (\d+) "
                  r"\(replayed (\d+): succeeded (\d+), came back (\d+)\) = (\d+)   lost (\d+)   "
                  r"order kept in (\d+) of (\d+) keys\n\Z")


def command(program, *more):
    return [str(program), "demo", "--listen", f"127.0.0.1:{free_port()}", *more]


def adds_up(ran, messages):
    assert ran.returncode == 0, ran
    found = LINE.match(ran.stdout)
    assert found, ran
    sent, once, retried, dead, replayed, succeeded, came_back, total, lost, ordered, keys = map(int, found.groups())
    assert sent == messages == total == once + retried + dead and lost == 0, found.group()
    assert replayed == dead == succeeded + came_back and ordered == keys > 0, found.group()
    assert once > 0 and retried > 0 and dead > 0 and succeeded > 0, f"nothing to see: {found.group()}"
    return found.group().strip()


def undisturbed(program):
    with tempfile.TemporaryDirectory() as folder:
        ran = subprocess.run(command(program, "--messages", "500"), capture_output=True, text=True, timeout=240,
                             check=False, env={"TMPDIR": folder, "HOME": folder})
        line = adds_up(ran, 500)
        assert "sent 500 of 500" in ran.stderr and "handled" in ran.stderr, ran.stderr
        assert not list(pathlib.Path(folder).iterdir()), "its folder was left behind"
        return line


def killed_while_it_replays(words):
    """It says so on stderr, a line at a time, as soon as its replay runs."""
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    timer = threading.Timer(240, process.kill)
    timer.start()
    try:
        said = []
        for line in process.stderr:
            said.append(line)
            if line.startswith("replaying: "):
                break
        process.kill()
        assert said and said[-1].startswith("replaying: "), said
        assert process.wait(10) == -9, "it was over before it could be killed"
    finally:
        timer.cancel()
        process.stderr.close()


def killed(program):
    chosen = random.Random(1853)
    with tempfile.TemporaryDirectory() as folder:
        data = str(pathlib.Path(folder, "data"))
        for _ in range(2):
            with open(pathlib.Path(folder, "log"), "ab") as log:
                process = subprocess.Popen(command(program, "--messages", "600", "--data-dir", data), stdout=log,
                                           stderr=log)
            time.sleep(1 + chosen.random() * 5)  # the moment of death
            process.kill()
            process.wait(10)
        killed_while_it_replays(command(program, "--messages", "600", "--data-dir", data))
        ran = subprocess.run(command(program, "--messages", "600", "--data-dir", data), capture_output=True, text=True,
                             timeout=240, check=False)
        line = adds_up(ran, 600)
        # Once more: nothing is left to do, and the account is the same.
        again = subprocess.run(command(program, "--messages", "600", "--data-dir", data), capture_output=True,
                               text=True, timeout=240, check=False)
        assert adds_up(again, 600) == line, again
        # A line of the receiver's less, and it does not add up any more.
        seen = pathlib.Path(data, "demo-receiver.log")
        lines = seen.read_text().splitlines(keepends=True)
        order = next(line.split()[0] for line in lines if line.endswith(" 1 0 1\n"))
        seen.write_text("".join(line for line in lines if line.split()[0] != order))
        process = subprocess.Popen(command(program, "--messages", "600", "--data-dir", data), stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)
        try:
            process.communicate(timeout=5)
            raise AssertionError("it found an end though a message was never handled")
        except subprocess.TimeoutExpired:
            process.terminate()
            assert process.wait(60) == 1
        return line


def main():
    return run_checks([undisturbed, killed], pathlib.Path(sys.argv[1]).resolve())


if __name__ == "__main__":
    sys.exit(main())
