#!/usr/bin/env python3
"""Who may do what, with a real server. Usage: access.py PROGRAM

Every route of the server's own document as every kind of caller; sessions, limits, the first key, what is hidden,
answers that are given again, the command line. Prints a line per check.
"""

import http.client
import itertools
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import threading

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from processes import Bartleby, audit_is_good, free_port, run_checks, wait_for  # noqa: E402

SCOPES = ["read", "payload", "replay", "discard", "approve", "ingest", "work", "admin"]
ROLES = {"viewer": {"read"}, "operator": {"read", "payload", "replay", "discard"}, "admin": set(SCOPES)}
CONFIG = """
auth: {keys: store, trusted_proxies: [127.0.0.1/32]}
office: {redact: [{json: "/**/password"}, {header: Authorization}]}
workers:
  pulled: {handler: {pull: {}}, retry: {max_attempts: 1}, guard: null}
"""
ADDRESSES = (f"192.0.{high}.{low}" for high, low in itertools.product(range(256), range(1, 255)))


class Server(Bartleby):
    """One whose callers have keys. Each request comes from an address of its own, unless it says from which."""

    def __init__(self, program, folder, config=CONFIG):
        path = pathlib.Path(folder, "access.yaml")
        path.write_text(config)
        super().__init__(program, folder, ["-c", str(path)])
        self.program = program

    def ask(self, method, path, key=None, body=None, headers=None, source=None):
        """(status, headers, body); of a stream, the head alone."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        try:
            sent = {"X-Forwarded-For": source or next(ADDRESSES), **(headers or {})}
            if key is not None:
                sent["Authorization"] = f"Bearer {key}"
            connection.request(method, path, body=body, headers=sent)
            answer = connection.getresponse()
            kind = answer.getheader("content-type") or ""
            if kind.startswith("text/event-stream"):
                return answer.status, answer.headers, b""
            text = answer.read()
            return answer.status, answer.headers, json.loads(text) if "json" in kind and text else text
        finally:
            connection.close()

    def first_key(self):
        path = self.folder / "data/first-admin.key"
        assert path.stat().st_mode & 0o077 == 0, "others can read the first key"
        return path.read_text().strip()

    def new_key(self, admin, name, **wanted):
        status, headers, made = self.ask("POST", "/api/v1/keys", admin, json.dumps({"name": name, **wanted}))
        assert status == 201 and re.fullmatch(r"bk_[a-z2-7]{10}_[a-z2-7]{26}", made["key"]), (status, made)
        assert headers["cache-control"] == "no-store"
        return made


TOKENS = {"X-Broker-Channel-Token": "channel-secret", "X-Broker-Consumer-Token": "consumer-secret"}


def expected(scope, key, has):
    """What the document promises a caller with this key and these scopes (None: nobody): "in", 401 or 403."""
    if scope in ("open", "public"):
        return "in"
    if "token" in scope:  # without the tokens, of a channel and a consumer that are there
        if key is not None and has is None:
            return 401
        return "in" if "admin" in scope.split("|") and "admin" in (has or ()) else 403
    if has is None:
        return 401
    return "in" if has & set(scope.split("|")) else 403


def every_route_as_every_caller(program):
    with tempfile.TemporaryDirectory() as folder:
        server = Server(program, folder).start()
        try:
            admin = server.first_key()
            callers = {"no key": (None, None), "wrong": ("bk_aaaaaaaaaa_" + "a" * 26, None), "no bk": ("x", None)}
            for role, scopes in ROLES.items():
                callers[role] = (server.new_key(admin, role, role=role)["key"], scopes)
            for scope in SCOPES:
                callers[scope] = (server.new_key(admin, f"only {scope}", scopes=[scope])["key"], {scope})
            gone = server.new_key(admin, "gone", role="admin")
            assert server.ask("DELETE", f"/api/v1/keys/{gone['id']}", admin)[0] == 204
            late = server.new_key(admin, "late", role="admin", expires_in="1ms")
            callers["revoked"], callers["expired"] = (gone["key"], None), (late["key"], None)
            callers["changed"] = (admin[:-1] + ("a" if admin[-1] != "a" else "b"), None)
            document = server.ask("GET", "/openapi.json")[2]
            routes = [(path, method, operation) for path, operations in document["paths"].items()
                      for method, operation in operations.items()]
            # The one that takes the consumer away comes last.
            routes.sort(key=lambda route: route[:2] == ("/channel/{channel}/consumer/{consumer}", "delete"))
            made = {"name": "n", "token": TOKENS["X-Broker-Channel-Token"]}
            assert server.ask("PUT", "/channel/nobody", admin, json.dumps(made))[0] == 200
            made = {"name": "n", "token": TOKENS["X-Broker-Consumer-Token"], "callbackUrl": "http://127.0.0.1:1/",
                    "paused": True}
            assert server.ask("PUT", "/channel/nobody/consumer/nobody", admin, json.dumps(made))[0] == 200
            known = set(SCOPES) | {"open", "public"}
            seen, cells = set(), 0
            for path, method, operation in routes:
                scope = operation["x-scope"]
                tokens = any("channelToken" in scheme for scheme in operation["security"])
                assert tokens or all(one in known for one in scope.split("|")), (path, method, scope)
                anybody = not operation["security"] or {} in operation["security"]
                assert anybody == (scope in ("open", "public")), (path, method)
                internal = {"internalKey": []} in operation["security"]
                assert internal == path.startswith("/internal/"), (path, method)
                both = "consumer" in scope and "token" in scope
                assert ({"channelToken": [], "consumerToken": []} in operation["security"]) == both, (path, method)
                target = re.sub(r"\{[^}]*\}", "nobody", path)
                for name, (key, has) in callers.items():
                    status, headers, answer = server.ask(method.upper(), target, key,
                                                         "{}" if method in ("post", "put") else None)
                    wanted, cells = expected(scope, key, has), cells + 1
                    seen.add(wanted)
                    where = f"{method} {path} ({scope}) as {name}: {status} {answer}"
                    assert status < 500 and status != 429, where
                    if wanted == "in":
                        assert status not in (401, 403), where
                    elif wanted == 401:
                        assert status == 401 and answer["type"] == "/problems/unauthenticated", where
                        assert headers["www-authenticate"].startswith("Bearer"), where
                    else:
                        assert status == 403 and answer["type"] == "/problems/forbidden", where
                        assert ("scope" in answer) != tokens, where
                if tokens:
                    body = "{}" if method in ("post", "put") else None
                    status = server.ask(method.upper(), target, None, body, TOKENS)[0]
                    assert status in (200, 201, 202, 204, 404, 422), (method, path, status)
                    wrong = {header: "guess-guess" for header in TOKENS}
                    assert server.ask(method.upper(), target, None, body, wrong)[0] == 403, (method, path)
            assert {"in", 401, 403} <= seen and cells > 300, (seen, cells)
            figures = server.ask("GET", "/metrics")[2].decode()
            for reason in ("missing", "wrong", "revoked", "expired", "scope"):
                assert re.search(rf'bartleby_auth_failures_total{{reason="{reason}"}} [1-9]', figures), reason
        finally:
            server.end()


def nothing_is_public_that_is_not_listed(program):
    with tempfile.TemporaryDirectory() as folder:
        server = Server(program, folder, "auth: {keys: store, public: [/actuator/health]}\n").start()
        try:
            for path, status in (("/actuator/health", 200), ("/actuator/health/liveness", 200), ("/metrics", 401),
                                 ("/actuator/prometheus", 401), ("/dlq-status", 401), ("/openapi.json", 200)):
                assert server.ask("GET", path)[0] == status, path
        finally:
            server.end()


def sessions(program):
    with tempfile.TemporaryDirectory() as folder:
        server = Server(program, folder).start()
        try:
            admin = server.first_key()
            ann = server.new_key(admin, "ann", role="admin")

            def login(key, **headers):
                return server.ask("POST", "/api/v1/session", None, json.dumps({"key": key}), headers)
            assert login("bk_x")[0] == 401
            status, headers, said = login(ann["key"])
            assert status == 200 and said["actor"] == "ann" and set(said["scopes"]) == set(SCOPES), said
            cookie = headers["set-cookie"]
            assert {"HttpOnly", "SameSite=Strict", "Path=/", "Max-Age=43200"} <= set(cookie.split("; ")), cookie
            assert "Secure" not in cookie and "Secure" in login(ann["key"], **{"X-Forwarded-Proto": "https"})[1][
                "set-cookie"]
            value = cookie.split(";")[0]
            host = f"127.0.0.1:{server.port}"

            def change(**headers):
                return server.ask("POST", "/api/v1/workers/pulled:pause", None, "",
                                  {"Cookie": f"other=1; {value}", **headers})[0]
            assert server.ask("GET", "/api/v1/session", headers={"Cookie": value})[2]["actor"] == "ann"
            # A page of another site sends the cookie too: nothing changes without a sign that it was ours.
            assert change() == 403
            assert change(**{"Sec-Fetch-Site": "cross-site"}) == 403
            assert change(**{"Sec-Fetch-Site": "same-site"}) == 403
            assert change(Origin="http://evil.example") == 403
            assert change(Origin="null") == 403
            assert change(**{"Sec-Fetch-Site": "same-origin"}) == 200
            assert change(Origin=f"http://{host}") == 200
            # A session ends by logging out, and with its key; so does what it listens to.
            listening = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
            listening.request("GET", "/api/v1/events", headers={"Cookie": value})
            events = listening.getresponse()
            assert events.status == 200 and events.readline().startswith(b"event: snapshot")
            ours = {"Cookie": value, "Sec-Fetch-Site": "same-origin"}
            assert server.ask("DELETE", "/api/v1/session", headers=ours)[0] == 204
            assert change(**{"Sec-Fetch-Site": "same-origin"}) == 401
            events.read()  # to its end, or until the time is over
            listening.close()
            value = login(ann["key"])[1]["set-cookie"].split(";")[0]
            server.kill()
            server.start()
            assert change(**{"Sec-Fetch-Site": "same-origin"}) == 200, "a session does not outlive the process"
            assert server.ask("DELETE", f"/api/v1/keys/{ann['id']}", admin)[0] == 204
            assert change(**{"Sec-Fetch-Site": "same-origin"}) == 401
        finally:
            server.end()


def whoever_fails_often_waits(program):
    with tempfile.TemporaryDirectory() as folder:
        server = Server(program, folder).start()
        try:
            admin = server.first_key()
            # How many exactly depends on how fast this goes; a test with a clock of its own counts them.
            def refused(source):
                return [server.ask("GET", "/api/v1/keys", "bk_no", source=source)[:2] for _ in range(40)]
            seen = refused("198.51.100.7")
            assert seen[0][0] == 401 and 429 in {status for status, _ in seen}, seen
            assert all(int(headers["retry-after"]) > 0 for status, headers in seen if status == 429)
            assert server.ask("GET", "/api/v1/keys", admin, source="198.51.100.8")[0] == 200
            # What is said before a trusted proxy's word does not count: it is the same source all the time.
            spoofed = [server.ask("GET", "/api/v1/keys", "bk_no", source=f"10.1.1.{i}, 198.51.100.9")[0]
                       for i in range(40)]
            assert 429 in spoofed, spoofed
        finally:
            server.end()


def die(server, admin, value, headers=None):
    """A message that becomes a letter."""
    assert server.ask("POST", "/api/v1/topics/pulled/messages", admin, value, headers)[0] == 200
    claim = server.ask("POST", "/api/v1/workers/pulled/attempts:claim", admin, '{"wait": "20s"}')[2]
    token = claim["attempts"][0]["token"]
    assert claim["attempts"][0]["message"]["value"] == value, "who works gets the message as it is"
    reject = '{"outcome": "reject", "error": {"type": "Boo", "message": "m"}}'
    assert server.ask("POST", f"/api/v1/attempts/{token}:finish", None, reject)[0] == 204


def an_operation_needs_the_scope_of_its_kind(program):
    with tempfile.TemporaryDirectory() as folder:
        server = Server(program, folder).start()
        try:
            admin = server.first_key()
            replay, discard = (server.new_key(admin, one, scopes=["read", one])["key"] for one in ("replay", "discard"))
            die(server, admin, '{"password": "hunter2"}')
            wait_for("the letter", lambda: server.ask("GET", "/api/v1/letters", replay)[2]["count"]["value"] == 1)
            at = f"/api/v1/letters/{server.ask('GET', '/api/v1/letters', replay)[2]['items'][0]['id']}"

            def plan(key, **wanted):
                status, _, answer = server.ask("POST", "/api/v1/operations", key, json.dumps({"q": "", **wanted}))
                return answer["id"] if status == 201 else (status, answer.get("scope"))
            for kind in ("discard", "restore", "purge"):
                assert plan(replay, kind=kind) == (403, "discard"), kind
            assert plan(discard, kind="replay") == (403, "replay")
            # Whoever may not read messages may not find out by asking, either.
            test = [{"op": "test", "path": "/password", "value": "hunter2"}]
            assert plan(replay, kind="replay", q="key:x") == plan(replay, kind="replay", edit=test) == (403, "payload")
            status, _, refused = server.ask("POST", f"{at}:replay", replay, json.dumps({"edit": test}))
            assert (status, refused["scope"]) == (403, "payload")
            planned = f"/api/v1/operations/{plan(replay, kind='replay')}"
            for order in ("start", "pause", "resume", "cancel"):
                status, _, refused = server.ask("POST", f"{planned}:{order}", discard, "{}")
                assert (status, refused.get("scope")) == (403, "replay"), (order, refused)
            assert server.ask("PATCH", planned, discard, '{"rate": 1}')[0] == 403
            assert server.ask("POST", f"{planned}:cancel", replay, "{}")[2]["state"] == "cancelled"
            assert server.ask("POST", f"{at}:discard", replay, "{}")[0] == 403
            assert server.ask("POST", f"{at}:discard", discard, "{}")[0] == 200
        finally:
            server.end()


def what_messages_hold_needs_a_scope(program):
    with tempfile.TemporaryDirectory() as folder:
        server = Server(program, folder).start()
        try:
            admin = server.first_key()
            viewer, operator = (server.new_key(admin, role, role=role)["key"] for role in ("viewer", "operator"))
            value = json.dumps({"user": {"name": "x", "password": "hunter2"}, "password": "again"})
            headers = {"Bartleby-Key": "secret-key", "Content-Type": "application/json",
                       "Bartleby-Headers": "W1siYXV0aG9yaXphdGlvbiIsImFIVnVkR1Z5TWc9PSJdXQ"}  # authorization: hunter2
            die(server, admin, value, headers)

            def letters(key, query=""):
                return server.ask("GET", f"/api/v1/letters?q={query}", key)
            wait_for("the letter", lambda: letters(viewer)[2]["count"]["value"] == 1)
            assert "key" not in letters(viewer)[2]["items"][0]["origin"]
            assert letters(operator)[2]["items"][0]["origin"]["key"] == "secret-key"
            for query in ("key:secret-key", "header.authorization:hunter2", "text:secret-key", "secret-key"):
                status, _, refused = letters(viewer, query)
                assert status == 403 and refused["scope"] == "payload", (query, status, refused)
                assert letters(operator, query)[0] == 200, query
            at = f"/api/v1/letters/{letters(viewer)[2]['items'][0]['id']}"
            shown = server.ask("GET", at, viewer)[2]
            assert "preview" not in shown and not {"key", "headers"} & set(shown["origin"]), shown
            assert server.ask("GET", f"{at}/value", viewer)[0] == 403
            # The rules hide it from everybody who looks; the bytes stay.
            shown = server.ask("GET", at, operator)[2]
            assert "hunter2" not in json.dumps(shown) and "[redacted]" in shown["preview"], shown
            assert ["authorization", "[redacted]"] in shown["origin"]["headers"], shown
            assert server.ask("GET", f"{at}/value", operator)[2].decode() == value
            topic = server.ask("GET", "/api/v1/topics/pulled/messages", operator)[2]
            assert "hunter2" not in json.dumps(topic) and "[redacted]" in json.dumps(topic), topic
            # Nor do a plan's previews show it, with what the edit makes of it, nor what letters of an issue share.
            die(server, admin, value, headers)
            wait_for("the second letter", lambda: letters(viewer)[2]["count"]["value"] == 2)
            edit = [{"op": "add", "path": "/user/token", "value": {"password": "hunter2"}},
                    {"op": "add", "path": "/seen", "value": True}]
            status, _, planned = server.ask("POST", "/api/v1/operations", operator,
                                            json.dumps({"kind": "replay", "q": "", "edit": edit}))
            assert status == 201 and planned["letters"] == len(planned["previews"]) == 2, planned
            for preview in planned["previews"]:
                both = preview["before"] + preview["after"]
                assert "hunter2" not in both and "again" not in both and "[redacted]" in preview["before"], preview
                assert json.loads(preview["after"])["seen"], preview
            looked_at = f"/api/v1/operations/{planned['id']}"
            assert server.ask("GET", looked_at, operator)[2]["previews"] == planned["previews"]
            for_viewers = server.ask("GET", looked_at, viewer)[2]
            assert "previews" not in for_viewers and "hunter2" not in json.dumps(for_viewers), for_viewers

            def shared(key):
                return json.dumps(server.ask("GET", f"/api/v1/issues/{shown['issue']}", key)[2]["shared"]["facts"])
            assert '"/user/name"' in shared(operator), shared(operator)
            assert "hunter2" not in shared(operator) and "again" not in shared(operator), shared(operator)
            assert "/user/name" not in shared(viewer) and '"worker"' in shared(viewer), shared(viewer)
            # The audit knows who it was.
            issue = shown["issue"]
            assert server.ask("POST", f"/api/v1/issues/{issue}:mute", viewer, "{}")[0] == 403
            assert server.ask("POST", f"/api/v1/issues/{issue}:mute", operator, "{}")[0] == 200
            lines = server.ask("GET", f"/api/v1/audit?subject={issue}", viewer)[2]["items"]
            assert [line["actor"] for line in lines] == ["operator"], lines
            assert audit_is_good(lambda path: server.ask("GET", path, viewer)[2])
        finally:
            server.end()


def keys_are_kept_as_hashes(program):
    with tempfile.TemporaryDirectory() as folder:
        server = Server(program, folder).start()
        try:
            admin = server.first_key()
            made = server.new_key(admin, "ann", role="viewer", expires_in="30d")
            assert server.ask("GET", "/api/v1/workers", made["key"])[0] == 200
            listed = {key["name"]: key for key in server.ask("GET", "/api/v1/keys", admin)[2]["items"]}
            assert listed["ann"]["last_used_at"] and listed["ann"]["expires_at"] and listed["ann"]["role"] == "viewer"
            assert "key" not in listed["ann"] and listed["ann"]["created_by"] == "first-admin", listed
            for wrong in ({"name": "b"}, {"name": "b", "role": "king"}, {"name": "b", "scopes": []},
                          {"name": "b", "role": "viewer", "scopes": ["read"]}, {"name": "local", "role": "viewer"},
                          {"name": "outcomes", "role": "viewer"},
                          {"name": "", "role": "viewer"}, {"name": "b", "scopes": ["everything"]}):
                assert server.ask("POST", "/api/v1/keys", admin, json.dumps(wrong))[0] == 422, wrong
            assert server.ask("POST", "/api/v1/keys", admin, '{"name": "ann", "role": "viewer"}')[0] == 409
            half = server.new_key(admin, "half", scopes=["admin", "read"])["key"]
            more = '{"name": "more", "scopes": ["payload"]}'
            assert server.ask("POST", "/api/v1/keys", half, more)[0] == 403, "a key makes one that may more than it"
            # A second start has a key that administrates: it makes no other.
            server.kill()
            server.start()
            assert server.first_key() == admin and server.ask("GET", "/api/v1/keys", admin)[0] == 200
            server.kill()
            for path in (server.folder / "data").iterdir():
                if path.is_file() and path.name != "first-admin.key":
                    bytes_of_it = path.read_bytes()
                    for key in (admin, made["key"]):
                        assert key.split("_")[2].encode() not in bytes_of_it, f"{path.name} has a key in clear"
            assert admin.split("_")[2] not in server.log.read_text(), "the log has a key in clear"
        finally:
            server.end()


def an_answer_is_given_again(program):
    with tempfile.TemporaryDirectory() as folder:
        server = Server(program, folder).start()
        try:
            admin = server.first_key()
            other = server.new_key(admin, "other", role="admin")["key"]

            def send(value, word, key=admin, **more):
                return server.ask("POST", "/api/v1/topics/t/messages", key, value, {"Idempotency-Key": word, **more})

            def written():
                return len(server.ask("GET", "/api/v1/topics/t/messages", admin)[2]["items"])
            first = send("a", "k1")
            assert first[0] == 200 and first[1]["idempotency-replayed"] is None
            again = send("a", "k1")
            assert again[2] == first[2] and again[1]["idempotency-replayed"] == "true" and written() == 1
            status, _, refused = send("b", "k1")
            assert status == 422 and refused["type"] == "/problems/idempotency-reuse", refused
            assert send("a", "k1", **{"Bartleby-Key": "x"})[0] == 422 and written() == 1
            assert send("a", "k1", key=other)[0] == 200 and written() == 2, "a key is its caller's own"
            assert send("a", "k2")[0] == 200 and written() == 3
            for word in ("", "a b", "x" * 201):
                assert send("a", word)[0] == 400, word
            # What was refused has changed nothing, and is tried anew.
            assert send("x" * (2 << 20), "k3")[0] == 413 and send("c", "k3")[0] == 200 and written() == 4
            server.kill()
            server.start()
            assert send("a", "k1")[2] == first[2] and written() == 4
            # At once, from many: one does it, the others hear the same or that it is under way.
            heard = []
            threads = [threading.Thread(target=lambda: heard.append(send("d", "k4"))) for _ in range(16)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert written() == 5 and {one[0] for one in heard} <= {200, 409}, heard
            assert len({json.dumps(one[2]) for one in heard if one[0] == 200}) == 1, heard
        finally:
            server.end()


def services_have_a_key_of_their_own(program):
    config = """
internal: {api: {key: a-key-for-services, allowed-networks: [127.0.0.1/32]}}
workers:
  pulled: {handler: {pull: {}}, retry: {max_attempts: 1}, guard: null}
"""
    elsewhere = config.replace("127.0.0.1/32", "10.0.0.0/8")
    dlq = "/internal/v1/dlq?topic=pulled.dlq"

    def told(server, reason):
        found = re.search(rf'bartleby_auth_failures_total{{reason="{reason}"}} (\d+)', server.ask("GET", "/metrics")[
            2].decode())
        return int(found.group(1)) if found else 0
    with tempfile.TemporaryDirectory() as folder:
        server = Server(program, folder, config).start()
        try:
            def ask(method, path, key, body=None):
                return server.ask(method, path, headers={} if key is None else {"X-Internal-Api-Key": key}, body=body)
            for wrong in ("a-key-for-service", "a-key-for-services2", "", "A-KEY-FOR-SERVICES"):
                status, _, refused = ask("GET", dlq, wrong)
                assert (status, refused["type"]) == (401, "/problems/unauthenticated"), (wrong, status, refused)
            assert told(server, "wrong") == 4
            # What the key guards is shut to those who need none elsewhere, and it opens nothing else.
            assert ask("GET", dlq, None)[0] == 401 and ask("GET", "/api/v1/letters", None)[0] == 200
            assert ask("GET", "/api/v1/session", "a-key-for-services")[2]["actor"] == "local"
            assert ask("GET", "/api/v1/letters", "no key at all")[0] == 200
            die(server, None, "the value")
            wait_for("the letter", lambda: len(ask("GET", dlq, "a-key-for-services")[2]["items"]) == 1)
            letter = ask("GET", dlq, "a-key-for-services")[2]["items"][0]["id"]
            assert ask("DELETE", "/internal/v1/dlq/pulled.dlq/0", None)[0] == 401
            status, _, done = ask("DELETE", "/internal/v1/dlq/pulled.dlq/0", "a-key-for-services")
            assert (status, done["id"], done["state"]) == (200, letter, "discarded"), (status, done)
            lines = ask("GET", f"/api/v1/audit?subject={letter}", None)[2]["items"]
            assert [(line["actor"], line["action"]) for line in lines] == [("internal", "discard")], lines
        finally:
            server.end()
    with tempfile.TemporaryDirectory() as folder:
        server = Server(program, folder, elsewhere).start()
        try:
            # The key comes first: who has a wrong one does not hear from where it would be taken.
            status, _, refused = server.ask("GET", dlq, headers={"X-Internal-Api-Key": "wrong"})
            assert status == 401 and "allowed-networks" not in refused["detail"], refused
            # Nobody trusts a proxy here: what a caller says of its address does not count.
            for source in ("10.0.0.1", "127.0.0.1"):
                status, _, refused = server.ask("GET", dlq, headers={"X-Internal-Api-Key": "a-key-for-services"},
                                                source=source)
                assert (status, refused["type"]) == (403, "/problems/forbidden"), (status, refused)
                assert "127.0.0.1 is in none of internal.api.allowed-networks" in refused["detail"], refused
            assert told(server, "network") == 2
        finally:
            server.end()


def a_proxy_names_people(program):
    config = "auth: {proxy: {trusted: [%s], map: {sre: operator, guests: viewer}}}\n"
    with tempfile.TemporaryDirectory() as folder:
        server = Server(program, folder, config % "127.0.0.1/32").start()
        try:
            def who(**headers):
                status, _, said = server.ask("GET", "/api/v1/session", headers=headers)
                return (said["actor"], set(said["scopes"])) if status == 200 else status
            sre = {"X-Forwarded-User": "ann", "X-Forwarded-Groups": "staff, sre"}
            assert who(**sre) == ("ann", ROLES["operator"])
            assert who(**{**sre, "X-Forwarded-Groups": "guests"}) == ("ann", {"read"})
            assert who(**{**sre, "X-Forwarded-Groups": "staff"}) == 403
            assert who(**{"X-Forwarded-Groups": "sre"}) == 401 and who() == 401
            # A name that was pointed at this machine is for the proxy to judge.
            assert server.ask("GET", "/api/v1/session", headers={**sre, "Host": "bartleby.example"})[0] == 200
        finally:
            server.end()
    with tempfile.TemporaryDirectory() as folder:
        server = Server(program, folder, config % "10.0.0.0/8").start()
        try:
            named = {"X-Forwarded-User": "ann", "X-Forwarded-Groups": "sre", "X-Forwarded-For": "10.0.0.1"}
            assert server.ask("GET", "/api/v1/session", headers=named)[0] == 401
        finally:
            server.end()


def listening_elsewhere_wants_keys(program):
    with tempfile.TemporaryDirectory() as folder:
        def serve(*more):
            return subprocess.run([program, "serve", "--data-dir", f"{folder}/data", "--listen",
                                   f"0.0.0.0:{free_port()}", *more], capture_output=True, text=True, timeout=20,
                                  check=False, cwd=folder)
        refused = serve()
        assert refused.returncode == 2 and "auth.keys: store" in refused.stderr, refused.stderr
        assert not pathlib.Path(folder, "data").exists()
        server = Server(program, folder, "auth: {keys: store}\nlisten: 0.0.0.0:1\n").start()
        try:
            admin = server.first_key()
            assert server.ask("GET", "/api/v1/workers", headers={"Host": "bartleby.example"})[0] == 401
            assert server.ask("GET", "/api/v1/workers", admin, headers={"Host": "bartleby.example"})[0] == 200
        finally:
            server.end()


def local_may_do_everything(program):
    with tempfile.TemporaryDirectory() as folder:
        server = Server(program, folder, "workers: {pulled: {handler: {pull: {}}}}\n").start()
        try:
            said = server.ask("GET", "/api/v1/session")[2]
            assert said["actor"] == "local" and set(said["scopes"]) == set(SCOPES), said
            assert server.ask("POST", "/api/v1/workers/pulled:pause", body="")[0] == 200
            # Unless a page in a browser on this machine asks: by another site, or under another's name.
            assert server.ask("POST", "/api/v1/workers/pulled:pause", body="",
                              headers={"Sec-Fetch-Site": "cross-site"})[0] == 403
            assert server.ask("GET", "/api/v1/workers", headers={"Host": "rebound.example"})[0] == 403
            assert server.ask("POST", "/api/v1/session", body='{"key": "bk_x"}')[0] == 409
            foreign = server.ask("GET", "/api/v1/workers", headers={"Host": "rebound.example"})
            assert foreign[2]["instance"] == "/api/v1/workers" and foreign[2]["request_id"] == foreign[1][
                "x-request-id"], foreign
            made = subprocess.run([program, "keys", "new", "ann", "--role", "viewer", "--server",
                                   f"http://127.0.0.1:{server.port}"], capture_output=True, text=True, timeout=30,
                                  check=False)
            assert made.returncode == 0 and "asks for no keys" in made.stderr, made
        finally:
            server.end()


def command_line(program):
    with tempfile.TemporaryDirectory() as folder:
        server = Server(program, folder).start()
        try:
            home = pathlib.Path(folder, "home")
            (home / ".config/bartleby").mkdir(parents=True)

            def run(*words, key=None):
                environment = {**os.environ, "HOME": str(home), "BARTLEBY_URL": f"http://127.0.0.1:{server.port}"}
                environment.pop("BARTLEBY_KEY", None)
                if key:
                    environment["BARTLEBY_KEY"] = key
                return subprocess.run([program, *words], capture_output=True, text=True, timeout=30, check=False,
                                      env=environment)
            admin = server.first_key()
            for words in (["workers", "ls"], ["letters", "ls"], ["keys", "ls"], ["send", "t", "v"]):
                denied = run(*words)
                assert denied.returncode == 4 and "BARTLEBY_KEY" in denied.stderr and not denied.stdout, denied
            assert run("keys", "ls", key="bk_wrong").returncode == 4
            made = run("keys", "new", "ann", "--role", "viewer", key=admin)
            assert made.returncode == 0 and made.stdout.startswith("bk_") and "ann" in made.stderr, made
            (home / ".config/bartleby/key").write_text(made.stdout)
            assert run("workers", "ls").returncode == 0
            assert run("keys", "ls").returncode == 4
            assert run("keys", "new", "bob", key=admin).returncode == 2
            bob = run("keys", "new", "bob", "-s", "ingest", "-s", "read", "--expires-in", "1d", "-o", "json", key=admin)
            assert json.loads(bob.stdout)["scopes"] == ["read", "ingest"], bob
            listed = run("keys", "ls", key=admin).stdout
            assert re.search(r"bk_\w+ +ann +good +viewer", listed), listed
            # What messages hold needs a scope, and that is what is said.
            die(server, admin, "the value")
            wait_for("the letter", lambda: server.ask("GET", "/api/v1/letters", admin)[2]["count"]["value"] == 1)
            letter = server.ask("GET", "/api/v1/letters", admin)[2]["items"][0]["id"]
            shown = run("letters", "show", letter)
            assert shown.returncode == 0 and "value    needs the scope payload" in shown.stdout, shown
            exported = run("letters", "export")
            assert exported.returncode == 4 and "needs the scope payload" in exported.stderr, exported
            assert not exported.stdout and "the value" in run("letters", "export", key=admin).stdout
            assert "asks for no keys" not in made.stderr
            ann = made.stdout.strip().rsplit("_", 1)[0]
            assert run("keys", "revoke", ann, key=admin).returncode == 0
            assert run("workers", "ls").returncode == 4
            assert run("keys", "revoke", "bk_nobody", key=admin).returncode == 3
        finally:
            server.end()


def main():
    return run_checks([every_route_as_every_caller, nothing_is_public_that_is_not_listed, sessions,
                       whoever_fails_often_waits, an_operation_needs_the_scope_of_its_kind,
                       what_messages_hold_needs_a_scope, keys_are_kept_as_hashes, an_answer_is_given_again,
                       services_have_a_key_of_their_own, a_proxy_names_people, listening_elsewhere_wants_keys,
                       local_may_do_everything, command_line],
                      pathlib.Path(sys.argv[1]).resolve())


if __name__ == "__main__":
    sys.exit(main())
