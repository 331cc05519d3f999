#!/usr/bin/env python3
"""Runs the session that the README shows, and compares what is printed. Usage: readme_session.py PROGRAM

Numbers, times and ids differ from run to run and stand for any others; `…` at the end of a line stands for the rest of
it. Everything else must be as the README says.
"""

import os
import pathlib
import re
import socket
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]


def blocks():
    """Lists of (command, output lines) in the order of the README."""
    for block in re.findall(r"```session\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL):
        found = []
        lines = iter(block.splitlines())
        for line in lines:
            if line.startswith("$ "):
                command = [line[2:]]
                if "<<'EOF'" in line:
                    for more in lines:
                        command.append(more)
                        if more == "EOF":
                            break
                found.append(("\n".join(command), []))
            else:
                found[-1][1].append(line)
        yield found


def masked(line):
    line = re.sub(r"ltr_[a-z2-7]+", "ltr_#", line)
    line = re.sub(r"(iss|op)_[0-9a-z]+", r"\1_#", line)
    line = re.sub(r"[▁▂▃▄▅▆▇█]", " ", line)
    line = re.sub(r"attempts\b", "attempt", line)  # whoever was told to run now may have failed again
    line = re.sub(r"instance \S+", "instance #", line)
    line = re.sub(r"\d+", "#", line)
    return re.sub(r"\s+", " ", line).strip()


def matches(expected, printed):
    wanted = masked(expected)
    if wanted.endswith(", …"):
        return masked(printed).startswith(wanted.split(",")[0])
    return wanted == masked(printed)


def port_is_free(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) != 0


def play(folder, environment, children):
    """The command that did not print what the README says, with both texts; None when all did."""
    with pathlib.Path(folder, "serve.log").open("wb") as log:
        children.append(subprocess.Popen(["bartleby", "serve"], cwd=folder, env=environment, stdout=log, stderr=log))
    until = time.monotonic() + 20
    while port_is_free(1853) and time.monotonic() < until:
        time.sleep(0.05)
    for block in blocks():
        for command, expected in block:
            if command.endswith("&"):
                children.append(subprocess.Popen(["bash", "-c", f"exec {command[:-1]}"], cwd=folder, env=environment))
                time.sleep(0.5)
                continue
            ran = subprocess.run(["bash", "-c", command], cwd=folder, env=environment, capture_output=True, text=True,
                                 timeout=30, check=False)
            printed = (ran.stdout + ran.stderr).splitlines()
            if len(printed) != len(expected) or not all(map(matches, expected, printed)):
                return command, "\n".join(printed), "\n".join(expected)
        if any(child.poll() is not None for child in children):
            return command, "the server or the receiver has ended", "nothing of it"
        time.sleep(3)  # as long as it takes to read on
    return None


def main():
    if not (port_is_free(1853) and port_is_free(3000)):
        print("skip readme_session the ports 1853 and 3000, which it shows, are in use here")
        return 0
    children = []
    with tempfile.TemporaryDirectory() as folder:
        tools = pathlib.Path(folder, "tools")
        tools.mkdir()
        (tools / "bartleby").symlink_to(pathlib.Path(sys.argv[1]).resolve())
        environment = {**os.environ, "PATH": f"{tools}:{os.environ['PATH']}"}
        try:
            differs = play(folder, environment, children)
        finally:
            for child in reversed(children):
                child.terminate()
                child.wait(30)
    if differs is None:
        print("ok readme_session")
        return 0
    print("FAIL readme_session {}\nprinted:\n{}\nthe README says:\n{}".format(*differs))
    return 1


if __name__ == "__main__":
    sys.exit(main())
