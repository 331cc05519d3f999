#!/usr/bin/env python3
"""What the server answers to hostile requests. Usage: hostile_http.py PROGRAM

The cases are rows of hostile_http.txt: a name, the status that must come (or `closed`), and the bytes to send, with
escapes. `{N*x}` stands for N times x. Below a row that is refused stands what the problem document must say: its type
and its detail. No row may take the server down or be answered with a 5xx.
"""

import contextlib
import json
import pathlib
import re
import socket
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from processes import Bartleby  # noqa: E402

TABLE = pathlib.Path(__file__).with_suffix(".txt")


def bytes_of(text):
    text = re.sub(r"\{(\d+)\*((?:\\.|[^}])+)\}", lambda m: m.group(2) * int(m.group(1)), text)
    return text.encode("latin-1").decode("unicode_escape").encode("latin-1")


def answer_to(port, request, name=""):
    """A `slow_` request comes byte by byte; a `stalls_` one is never finished."""
    with socket.create_connection(("127.0.0.1", port), timeout=15) as connection:
        try:
            if name.startswith("slow_"):
                for byte in request:
                    connection.sendall(bytes([byte]))
                    time.sleep(0.02)
            else:
                connection.sendall(request)
            if not name.startswith("stalls_"):
                with contextlib.suppress(OSError):  # answered and closed already
                    connection.shutdown(socket.SHUT_WR)
            received = b""
            while len(received) < 65536:
                part = connection.recv(65536)
                if not part:
                    break
                received += part
        except ConnectionError:
            return "closed", b""
    status = re.match(rb"HTTP/1\.[01] (\d+)", received)
    return (status.group(1).decode(), received) if status else ("closed", received)


def rows():
    """Name, status, type and detail of the problem (or nothing), request."""
    lines = [line for line in TABLE.read_text().splitlines() if line.strip() and not line.startswith("#")]
    for line, below in zip(lines, lines[1:] + [""]):
        if not line.startswith(" "):
            name, status, request = line.split(None, 2)
            yield name, status, below.strip() if below.startswith(" ") else "", request


def problem_of(received):
    """`type: detail` of a problem document, whatever follows its place in it; nothing for another answer."""
    head, _, body = received.partition(b"\r\n\r\n")
    if b"application/problem+json" not in head:
        return ""
    document = json.loads(body)
    detail = "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in document["detail"])
    return f"{document['type'].removeprefix('/problems/')}: {detail}"


def main():
    program = pathlib.Path(sys.argv[1]).resolve()
    good = True
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder, "w.yaml").write_text(
            "workers: {pulled: {handler: {pull: {}}, journal: 'notes.{topic}'}}\n")
        bartleby = Bartleby(program, folder, ["-c", str(pathlib.Path(folder, "w.yaml"))]).start()
        try:
            for name, expected, problem, request in rows():
                status, received = answer_to(bartleby.port, bytes_of(request), name)
                alive = bartleby.process.poll() is None
                fine = status == expected and problem_of(received) == problem and alive
                good &= fine
                print(f"ok {name}" if fine else f"FAIL {name} answered {status} {problem_of(received)}\n"
                      f"wanted {expected} {problem}\n{received[:500]!r}")
            healthy = bartleby.call("GET", "/actuator/health")[0] == 200
            good &= healthy
            print("ok well_after_all_of_it" if healthy else "FAIL well_after_all_of_it")
        finally:
            bartleby.end()
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
