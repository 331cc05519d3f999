#!/usr/bin/env python3
"""Very many letters replayed by a real server that is killed on the way; and a replay that halts itself.

    replays.py PROGRAM [--long]

Everything dies at first, then the endpoint is mended. Two kill -9 while the replay runs: each letter is sent once, each
key in its order. The measured rate is printed beside the configured one; with --long it is judged: between the kills,
and that of a replay that is far below what a machine can do.
"""

import collections
import http.server
import json
import pathlib
import subprocess
import sys
import tempfile
import threading
import time
import traceback

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from support.processes import Bartleby, audit_is_good, wait_for  # noqa: E402

CONFIG = """
workers:
  orders:
    topics: [orders]
    handler: {{http: {{url: "http://127.0.0.1:{port}/", allow_private: true}}}}
    guard: null
    retry: {{max_attempts: 1}}
"""


class Endpoint(http.server.ThreadingHTTPServer):
    """Rejects everything until it is mended; remembers what it has handled of each key."""

    daemon_threads = True
    request_queue_size = 256

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Answer)
        self.mended = False
        self.handled = collections.defaultdict(list)
        self.lock = threading.Lock()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def handle_error(self, *_):
        """A server that is killed leaves its connections as they are."""


class Answer(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):  # noqa: N802: the library's name
        value = self.rfile.read(int(self.headers["Content-Length"]))
        good = self.server.mended
        if good:
            with self.server.lock:
                self.server.handled[self.headers["Bartleby-Key"]].append(int(value))
        self.send_response(200 if good else 422)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


def post(bartleby, target, body=None, seconds=60.0):
    headers = {"Content-Type": "application/json"}
    status, answer = bartleby.call("POST", target, json.dumps(body or {}), headers, seconds)
    assert status in (200, 201, 202), (target, status, answer)
    return answer


def send(bartleby, letters, keys):
    for start in range(0, letters, 500):
        lines = "".join(json.dumps({"key": f"k{n % keys}", "value": str(n)}) + "\n"
                        for n in range(start, min(start + 500, letters)))
        status, answer = bartleby.call("POST", "/api/v1/topics/orders/messages", lines,
                                       {"Content-Type": "application/x-ndjson"}, 60)
        assert status == 200, answer


def open_letters(bartleby):
    dlqs = bartleby.get("/api/v1/dlqs")["items"]
    return sum(dlq["open"] for dlq in dlqs if dlq["name"] == "orders.dlq")


def begun(program, folder, endpoint, letters, keys=97):
    config = pathlib.Path(folder, "bartleby.yaml")
    config.write_text(CONFIG.format(port=endpoint.server_address[1]))
    bartleby = Bartleby(program, folder, ["-c", str(config)]).start()
    send(bartleby, letters, keys)
    wait_for("all letters", lambda: open_letters(bartleby) == letters, 60 + letters / 50)
    return bartleby


def sending(bartleby, at, before, until, seconds):
    """Waits until so many are dealt with; how many that were from the first look on, and how long it took."""
    wait_for("the first to be sent", lambda: bartleby.get(at)["dealt_with"] > before, seconds)
    began, first = time.monotonic(), bartleby.get(at)["dealt_with"]
    wait_for("a part of the letters", lambda: bartleby.get(at)["dealt_with"] >= until, seconds)
    return bartleby.get(at)["dealt_with"] - first, time.monotonic() - began


def near(counted, took, rate):
    assert abs(counted / took - rate) <= 0.05 * rate, f"{counted / took:.1f}/s of {rate}/s"


def killed_on_the_way(program, letters, rate, judged=False):
    with tempfile.TemporaryDirectory(prefix="bartleby-replays-") as folder:
        endpoint = Endpoint()
        bartleby = begun(program, folder, endpoint, letters)
        try:
            endpoint.mended = True
            plan = post(bartleby, "/api/v1/operations", {"kind": "replay", "q": "dlq:orders.dlq", "rate": rate})
            assert plan["letters"] == letters and plan["excluded"] == [], plan
            at = f"/api/v1/operations/{plan['id']}"
            post(bartleby, at + ":start")
            before, counted, took, steady, steady_took = 0, 0, 0.0, 0, 0.0
            for part in (letters // 3, letters // 2, letters):
                begun_by = min(before + 2 * rate, part)  # a canary, whose outcomes are awaited, and a start
                for start, end in ((before, begun_by), (begun_by, part)) if judged else ((before, part),):
                    more, longer = sending(bartleby, at, start, end, 60 + letters / rate * 4)
                    counted, took = counted + more, took + longer
                steady, steady_took = steady + more, steady_took + longer
                if part < letters:
                    bartleby.kill()
                    bartleby.start()
                    before = bartleby.get(at)["dealt_with"]
            if judged:  # between the kills, starts left out
                near(steady, steady_took, rate)
            # Never faster than it may be, kills or not. A part may see a batch more at its beginning, and one that was
            # late (a tenth of a second's letters each); a slow machine only makes it slower.
            assert counted <= 1.05 * rate * took + 3 * 2 * rate / 10, f"{counted} in {took:.1f} s at {rate}/s"
            wait_for("its end", lambda: bartleby.get(at)["state"] == "done", 120 + letters / 50)
            done = bartleby.get(at)
            assert done["results"]["succeeded"] == letters, done
            # The log has each letter once more, and no more.
            records = bartleby.messages("orders")
            sent = collections.Counter(m["value"] for m in records
                                       if any(name == "bartleby-replay" for name, _ in m["headers"]))
            assert len(sent) == letters and set(sent.values()) == {1}, sent.most_common(3)
            # A crash repeats what was being handled; the first time is what counts.
            for key, handled in endpoint.handled.items():
                first = list(dict.fromkeys(handled))
                assert first == sorted(first), (key, first[:20])
            assert sum(len(set(handled)) for handled in endpoint.handled.values()) == letters
            assert open_letters(bartleby) == 0
            assert audit_is_good(bartleby.get)
            return f"{letters} letters, 2 kills, each sent once, {counted / took:.0f}/s of {rate}/s while it was up"
        finally:
            bartleby.end()
            endpoint.shutdown()


def keeps_its_rate(program, letters=6000, rate=200):
    with tempfile.TemporaryDirectory(prefix="bartleby-replays-") as folder:
        endpoint = Endpoint()
        bartleby = begun(program, folder, endpoint, letters)
        try:
            endpoint.mended = True
            plan = post(bartleby, "/api/v1/operations", {"kind": "replay", "q": "dlq:orders.dlq", "rate": rate})
            at = f"/api/v1/operations/{plan['id']}"
            post(bartleby, at + ":start")
            # Behind the canary, whose outcomes are awaited.
            counted, took = sending(bartleby, at, 2 * rate, letters - 2 * rate, 60 + letters / rate * 2)
            near(counted, took, rate)
            return f"{counted / took:.1f}/s of {rate}/s"
        finally:
            bartleby.end()
            endpoint.shutdown()


def halts(program):
    with tempfile.TemporaryDirectory(prefix="bartleby-replays-") as folder:
        endpoint = Endpoint()
        bartleby = begun(program, folder, endpoint, 100)
        try:
            ran = subprocess.run([str(program), "letters", "replay", "-q", "dlq:orders.dlq", "--yes", "--rate", "500/s",
                                  "--server", f"http://127.0.0.1:{bartleby.port}"], capture_output=True, text=True,
                                 timeout=120, check=False)
            assert ran.returncode == 7, ran
            assert "halted" in ran.stdout and "10 of the first 10 came back" in ran.stdout, ran
            operation = bartleby.get("/api/v1/operations?state=halted")["items"][0]
            assert operation["dealt_with"] == 10 and operation["results"]["came_back"] == 10, operation
            # Mended, and resumed by somebody: what came back before does not halt it again.
            endpoint.mended = True
            at = f"/api/v1/operations/{operation['id']}"
            post(bartleby, at + ":resume", {"reason": "mended"})
            wait_for("its end", lambda: bartleby.get(at)["state"] == "done", 60)
            done = bartleby.get(at)
            assert done["results"]["succeeded"] == 90 and "10 of 100 came back" in done["note"], done
            # Who watches it hears that it was not whole.
            ran = subprocess.run([str(program), "ops", "watch", operation["id"], "--server",
                                  f"http://127.0.0.1:{bartleby.port}"], capture_output=True, text=True, timeout=60,
                                 check=False)
            assert ran.returncode == 6, ran
            return operation["note"]
        finally:
            bartleby.end()
            endpoint.shutdown()


def main():
    program = pathlib.Path(sys.argv[1]).resolve()
    judged = "--long" in sys.argv  # times are judged there alone
    letters, rate = (100000, 2000) if judged else (10000, 1000)
    good = True
    checks = [("killed_on_the_way", lambda: killed_on_the_way(program, letters, rate, judged)),
              ("halts_itself", lambda: halts(program))]
    if judged:
        checks.append(("keeps_its_rate", lambda: keeps_its_rate(program)))
    for name, check in checks:
        try:
            print(f"ok {name} {check()}", flush=True)
        except Exception:  # noqa: BLE001: the next check shall run too
            good = False
            print(f"FAIL {name}\n{traceback.format_exc()}", flush=True)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
