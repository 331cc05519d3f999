#!/usr/bin/env python3
"""A handler for Bartleby: checks the signature, answers done, retry or reject. Standard library only.

    HOOK=whsec_… python3 handler.py [port]
"""
import base64, hashlib, hmac, http.server, json, os, sys, time

SECRET = base64.b64decode(os.environ["HOOK"].removeprefix("whsec_"))


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"  # connections are used again

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.answer(*self.handle_message(body))

    def handle_message(self, body):
        sent = self.headers["webhook-timestamp"]
        signed = f"{self.headers['webhook-id']}.{sent}.".encode() + body
        ours = "v1," + base64.b64encode(hmac.digest(SECRET, signed, hashlib.sha256)).decode()
        if not hmac.compare_digest(ours, self.headers["webhook-signature"] or "") or abs(time.time() - int(sent)) > 300:
            return 401, "not signed by us"
        try:
            order = json.loads(body)
            amount = order["amount"]
        except (ValueError, KeyError, TypeError):
            return 422, "an order needs an amount"  # reject: straight to the dead letters
        if order.get("bank") == "down":
            return 503, "the bank does not answer"  # tried again later
        # The same key on every attempt: what was paid under it is not paid twice.
        print("paid", amount, self.headers["Idempotency-Key"], file=sys.stderr)
        return 200, "done"

    def answer(self, status, text):
        self.send_response(status)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())


server = http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1]) if len(sys.argv) > 1 else 0), Handler)
print(server.server_port, flush=True)
server.serve_forever()
