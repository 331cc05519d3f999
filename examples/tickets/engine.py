#!/usr/bin/env python3
"""The execution engine of the example: carries tickets out, each once however often it is asked. Standard library only.

    python3 engine.py [port]    prints the port, then a line per ticket

A ticket says how it goes: {"fails": 2} fails the first two attempts, {"fails": -1} all of them until the engine is
repaired (POST /repair); {"wrong": true} can never be carried out.
"""
import http.server
import json
import sys
import threading

done = set()
lock = threading.Lock()
repaired = threading.Event()


class Engine(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"  # connections are used again

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.path == "/repair":
            repaired.set()
            return self.answer(200, {"repaired": True})
        try:
            ticket = json.loads(body)
            number, fails = ticket["ticket_id"], ticket.get("fails", 0)
        except (ValueError, TypeError, KeyError):
            return self.problem(422, "InvalidTicket", "this is no ticket")
        if ticket.get("wrong"):
            return self.problem(422, "InvalidTicket", "it can never be carried out")  # a letter at once
        attempt = int(self.headers["Bartleby-Attempt"])
        if attempt <= fails or (fails < 0 and not repaired.is_set()):
            return self.problem(500, "TimeoutError", "the build farm does not answer")  # tried again
        with lock:
            again = self.headers["Idempotency-Key"] in done
            done.add(self.headers["Idempotency-Key"])
            how = ("was done before" if again else "done") + (" with dlq_metadata" if "dlq_metadata" in ticket else "")
            # In one piece: Bartleby's own lines go the same way, and may come between two pieces.
            sys.stdout.write(f"{number} attempt {attempt} {how}\n")
            sys.stdout.flush()
        return self.answer(200, {"done": number})

    def problem(self, status, kind, text):
        self.answer(status, {"type": kind, "title": text}, "application/problem+json")

    def answer(self, status, body, kind="application/json"):
        text = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1]) if len(sys.argv) > 1 else 0), Engine)
print(server.server_port, flush=True)
server.serve_forever()
