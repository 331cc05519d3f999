#!/usr/bin/env python3
"""The service of the example: carries commands out, each once however often it is asked. Standard library only.

    python3 service.py [port]    prints the port, then a line per command

A command says how it goes: {"fails": 2} fails the first two attempts, {"fails": -1} all of them; {"wrong": true} can
never be done.
"""
import http.server
import json
import sys
import threading

done = set()
lock = threading.Lock()


class Service(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"  # connections are used again

    def do_POST(self):
        command = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        attempt, key = int(self.headers["Bartleby-Attempt"]), self.headers["Idempotency-Key"]
        fails = command.get("fails", 0)
        if command.get("wrong"):
            return self.answer(422, "it can never be done")  # reject: a letter at once
        if fails < 0 or attempt <= fails:
            return self.answer(503, "the chain does not answer")  # tried again later
        with lock:
            again = key in done
            done.add(key)
            how = "was done before" if again else "done"
            # In one piece: Bartleby's own lines go the same way, and may come between two pieces.
            sys.stdout.write(f"{self.path[1:]} {command.get('deal')} attempt {attempt} {how}\n")
            sys.stdout.flush()
        return self.answer(200, "done")

    def answer(self, status, text):
        self.send_response(status)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1]) if len(sys.argv) > 1 else 0), Service)
print(server.server_port, flush=True)
server.serve_forever()
