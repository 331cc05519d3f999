#!/usr/bin/env python3
"""What people see of the office over HTTP, with a real server: letters, issues, jobs, events. Usage: desk.py PROGRAM

Every answer is held against the server's own document. Prints a line per check.
"""

import base64
import contextlib
import http.client
import http.server
import json
import os
import pathlib
import pty
import re
import select
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from urllib.parse import quote

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from api import Events, claimed, letters_found, send, served  # noqa: E402
from processes import Bartleby, audit_is_good, run_checks, wait_for  # noqa: E402

REJECT = '{"outcome": "reject", "error": {"type": "Boo", "message": "number 17"}}'


def die(api, value, key="k"):
    send(api, value, key=key)
    assert api.call("POST", f"/api/v1/attempts/{claimed(api)['token']}:finish", REJECT)[0] == 204


def letters_and_issues(program):
    with served(program) as api:
        values = [b"\xff\x00 no text", b'{"currency": "TON", "n": 1}', b'{"currency": "TON", "n": 2}']
        for value in values:
            die(api, value, key="key%FF" if value[0] == 255 else "k")
        wait_for("three letters", lambda: letters_found(api)["count"] == {"value": 3, "exact": True})

        # Pages by cursor: each letter once, the latest first; a cursor of another list is refused.
        seen, target = [], "/api/v1/letters?limit=1"
        while target:
            page = api.call("GET", target)[1]
            seen += [item["id"] for item in page["items"]]
            target = page["next"] and f"/api/v1/letters?limit=1&cursor={page['next']}"
            cursor = page["next"] or cursor
        assert len(set(seen)) == 3 == len(seen), seen
        deaths = [item["last_failure_at"] for item in letters_found(api)["items"]]
        assert deaths == sorted(deaths, reverse=True), deaths
        for wrong in (f"/api/v1/issues?cursor={cursor}", "/api/v1/letters?cursor=x", "/api/v1/letters?limit=0",
                      "/api/v1/letters?limit=501", "/api/v1/issues?state=old"):
            assert api.call("GET", wrong)[0] == 400, wrong

        # Queries, and where they stop to make sense.
        assert letters_found(api, "error:Boo state:open dlq:pulled.dlq")["count"]["value"] == 3
        assert letters_found(api, "key:k worker:pulled")["count"]["value"] == 2
        assert letters_found(api, "worker:nobody")["count"] == {"value": 0, "exact": True}
        assert letters_found(api, '"number 17"')["count"]["value"] == 3
        for query, position in (("state:open colour:red", 11), ("é state:shut", 8), ('text:"x', 5)):
            bad = letters_found(api, query)
            assert bad["type"] == "/problems/invalid-query" and bad["position"] == position, bad
            assert bad["detail"].startswith(f"at character {position + 1}: "), bad

        # One letter: bytes as they were.
        by_place = {item["origin"]["offset"]: item for item in letters_found(api)["items"]}
        for offset, value in enumerate(values):
            connection = http.client.HTTPConnection("127.0.0.1", api.bartleby.port, timeout=20)
            connection.request("GET", f"/api/v1/letters/{by_place[offset]['id']}/value")
            answer = connection.getresponse()
            assert answer.read() == value, offset
            assert "attachment" in answer.getheader("content-disposition")
            connection.close()
        first = api.call("GET", f"/api/v1/letters/{by_place[0]['id']}")[1]
        assert base64.b64decode(first["preview"]["base64"]) == values[0], first
        assert base64.b64decode(first["origin"]["key"]["base64"]) == b"key\xff", first
        assert ["content-type", "x/y"] in first["origin"]["headers"], first
        story = api.call("GET", f"/api/v1/letters/{by_place[1]['id']}/story")[1]
        assert [other["id"] for other in story["same_key"]] == [by_place[2]["id"]], story
        assert len(story["lives"]) == 1, story
        assert api.call("GET", "/api/v1/letters/ltr_x")[0] == 404
        assert api.call("GET", "/api/v1/dlqs/nobody")[0] == 404

        # Issues: one, whatever the value; what its letters share; each state by its verb.
        issues = api.call("GET", "/api/v1/issues?state=new")[1]
        assert issues["count"]["value"] == 1 and issues["items"][0]["count"] == {"open": 3, "total": 3}, issues
        assert sum(issues["items"][0]["trend"]) == 3 and issues["items"][0]["workers"] == ["pulled"], issues
        issue = f"/api/v1/issues/{issues['items'][0]['id']}"
        shared = api.call("GET", issue)[1]["shared"]
        assert {"name": "/currency", "value": '"TON"', "letters": 2} in shared["facts"], shared
        assert {"name": "worker", "value": "pulled", "letters": 3} in shared["facts"], shared
        assert not [fact for fact in shared["facts"] if fact["name"] == "/n"], shared
        status, refused = api.call("POST", f"{issue}:reopen", "{}")
        assert status == 409 and refused["state"] == "new", refused
        assert api.call("POST", f"{issue}:mute", '{"until": "2001-01-01T00:00:00.000Z"}')[0] == 422
        muted = api.call("POST", f"{issue}:mute", '{"until": "2101-01-01T00:00:00.000Z", "reason": "known"}')[1]
        assert muted["state"] == "muted" and muted["until"].startswith("2101"), muted
        assert api.call("POST", f"{issue}:resolve", '{"version": 1}')[0] == 412
        resolved = api.call("POST", f"{issue}:resolve", json.dumps({"version": muted["version"]}))[1]
        assert resolved["state"] == "resolved" and "until" not in resolved, resolved
        lines = api.call("GET", f"/api/v1/audit?subject={resolved['id']}")[1]
        told = [(line["action"], line["from"], line["to"], line["reason"]) for line in lines["items"]]
        assert told == [("resolve", "muted", "resolved", ""), ("mute", "new", "muted", "known")], told
        for begin in ("", "?from=1", "?from=2", "?from=3"):
            assert api.call("GET", "/api/v1/audit:verify" + begin)[1] == {"good": True, "lines": 2}, begin
        for wrong in ("0", "-1", "x", "9" * 30, "4", str(2**63 - 1)):
            status, refused = api.call("GET", f"/api/v1/audit:verify?from={wrong}")
            assert status == 400 and [error["pointer"] for error in refused["errors"]] == ["from"], (wrong, refused)

        # Another letter of it brings it back.
        die(api, b"x", key="again")
        wait_for("the issue to regress", lambda: api.call("GET", issue)[1]["state"] == "regressed")
        line = api.call("GET", f"/api/v1/audit?subject={resolved['id']}")[1]["items"][0]
        assert (line["actor"], line["action"], line["from"], line["to"]) == (
            "intake", "regress", "resolved", "regressed"), line
        dlq = api.call("GET", "/api/v1/dlqs/pulled.dlq")[1]
        assert dlq["open"] == 4 and dlq["intake_lag"] == 0 and dlq["missed"] == 0, dlq


def about_itself(program):
    with served(program) as api:
        status = api.call("GET", "/api/v1/status")[1]
        assert {check["name"] for check in status["checks"]} >= {"broker", "workers", "store", "intake", "operations",
                                                                 "counts", "dlq writes", "outage guards"}, status
        wait_for("all checks to be well", lambda: api.call("GET", "/api/v1/status")[1]["status"] == "ok")
        lines = api.call("GET", "/api/v1/config")[1]["lines"]
        held = {line["text"].strip(): line["from"] for line in lines}
        assert held["keep: 90d"] == "default" and "pulled:" in held, held

        def offered(query):
            return [one["term"] for one in api.call("GET", f"/api/v1/suggest?q={quote(query)}")[1]["items"]]
        assert offered("")[:2] == ["dlq:", "worker:"] and offered("st") == ["state:"], offered("")
        assert offered("worker:p") == [] and offered("error:") == [], "nothing died yet"
        die(api, b'{"n": 1}')
        wait_for("the letter", lambda: letters_found(api)["count"]["value"] == 1)
        assert offered("state:open worker:p") == ["worker:pulled"]
        assert offered("-dlq:") == ["dlq:pulled.dlq"] and offered("reason:R") == ["reason:REJECTED"]
        assert offered("error:B") == ["error:Boo"] and offered("error:X") == []
        assert offered("issue:iss")[0].startswith("issue:iss_") and offered("key:") == []
        whole = api.call("GET", f"/api/v1/suggest?q={quote('since:24h -worker:p')}")[1]["items"][0]
        assert whole["query"] == "since:24h -worker:pulled" and whole["about"] == "1 open letter", whole
        assert api.call("GET", "/api/v1/suggest?q=%FF")[0] == 400
        assert api.call("GET", "/api/v1/suggest?q=" + "x" * 2001)[0] == 400

        # A letter and its dlq say how long they are kept, and how fast it fills.
        letter = letters_found(api)["items"][0]
        assert letter["expires_at"] > letter["arrived_at"], letter
        dlq = api.call("GET", "/api/v1/dlqs/pulled.dlq")[1]
        assert dlq["in_per_min"] == 1 and dlq["settings"] == {"retention": "30d", "then": "archive"}, dlq


def jobs(program):
    with served(program) as api:
        assert api.call("GET", "/dlq-status")[1] == {"consumers": []}

        def of(consumer):
            answer = api.call("GET", "/job-status")[1]["pulled"][consumer]
            return {row["statusName"]: row for row in answer}

        def counts(consumer="pulled"):
            return {name: row["count"] for name, row in of(consumer).items()}
        die(api, b"dead")
        send(api, b"done")
        done = claimed(api)["token"]
        api.call("POST", f"/api/v1/attempts/{done}:finish", '{"outcome": "done"}')
        for _ in range(3):
            send(api, b"waits")
        claimed(api)
        wanted = {"QUEUED": 2, "INFLIGHT": 1, "DELIVERED": 1, "DEAD": 1}
        wait_for("every job to be counted once", lambda: counts() == wanted)
        assert of("pulled")["QUEUED"]["oldestItemTimestamp"] <= of("pulled")["QUEUED"]["newestItemTimestamp"]
        assert of("pulled")["DEAD"]["oldestItemTimestamp"] == of("pulled")["DEAD"]["newestItemTimestamp"]
        waiting = of("second")["QUEUED"]["count"] + of("second")["INFLIGHT"]["count"]  # one may be offered already
        assert waiting == 5 and "DEAD" not in of("second"), of("second")
        assert api.call("GET", "/dlq-status")[1]["consumers"] == [
            {"channelId": "pulled", "channelName": "pulled", "consumerId": "pulled", "consumerName": "pulled",
             "deadCount": 1}]


LONG = f"""
workers:
  pulled: {{topics: [{"t" * 140}], group: {"g" * 120}, journal: "{{topic}}.j", handler: {{pull: {{}}}},
    retry: {{max_attempts: 1}}, guard: null}}
"""


def jobs_of_long_names(program):
    """The name of the private lane would be longer than a topic's may be: it is cut, and its jobs are counted."""
    with tempfile.TemporaryDirectory() as folder:
        config = pathlib.Path(folder, "long.yaml")
        config.write_text(LONG)
        bartleby = Bartleby(program, folder, ["-c", str(config)]).start()
        try:
            def finish(outcome):
                status, answer = bartleby.call("POST", "/api/v1/workers/pulled/attempts:claim", '{"wait": "20s"}',
                                               seconds=30)
                assert status == 200 and answer["attempts"], (status, answer)
                token = answer["attempts"][0]["token"]
                assert bartleby.call("POST", f"/api/v1/attempts/{token}:finish", outcome)[0] == 204

            def counts():
                rows = bartleby.get("/job-status")["t" * 140]["g" * 120]
                return {row["statusName"]: row["count"] for row in rows}
            assert bartleby.call("POST", f"/api/v1/topics/{'t' * 140}/messages", "v")[0] == 200
            finish(REJECT)
            wait_for("the letter", lambda: counts().get("DEAD") == 1)
            letter = bartleby.get("/api/v1/letters")["items"][0]["id"]
            status, sent = bartleby.call("POST", f"/api/v1/letters/{letter}:replay", '{"scope": "group"}')
            assert status == 200 and len(sent["to"]["topic"]) == 249, (status, sent)
            wait_for("it to wait again", lambda: sum(counts().values()) == 1 and counts()["DEAD"] == 0)
            finish('{"outcome": "done"}')
            wait_for("it to be delivered", lambda: counts() == {
                "QUEUED": 0, "INFLIGHT": 0, "DELIVERED": 1, "DEAD": 0})
        finally:
            bartleby.end()


def events(program):
    with served(program) as api:
        with Events(api.bartleby.port, "/api/v1/events?topics=letters,issues") as stream:
            kind, snapshot, first = stream.next()
            assert kind == "snapshot" and snapshot["issues"]["new"] == 0, snapshot
            die(api, b"1")
            die(api, b"2")
            arrived, told = 0, []
            while arrived < 2 or not told:
                kind, data, at = stream.next()
                if kind == "issue":
                    told.append(data)
                else:
                    assert kind == "letter.arrived" and data["dlq"] == "pulled.dlq", (kind, data)
                    arrived += data["letters"]
            assert arrived == 2 and [issue["state"] for issue in told] == ["new"], (arrived, told)
        # A stream that broke off goes on after the last event it has seen; of letters it hears no more.
        api.call("POST", f"/api/v1/issues/{told[0]['id']}:resolve", "{}")
        for last, states in ((first, ["new", "resolved"]), ("1-1", [])):
            with Events(api.bartleby.port, "/api/v1/events?topics=issues", {"Last-Event-ID": last}) as stream:
                kind, snapshot, _ = stream.next()
                assert kind == "snapshot" and "letters" not in snapshot, snapshot
                assert snapshot["issues"]["resolved"] == 1, snapshot
                assert [stream.next()[1]["state"] for _ in states] == states
        assert api.call("GET", "/api/v1/events?topics=weather")[0] == 400


def streams(program):
    """What a stream says when nothing happens, of workers, and how many there are at most."""
    with served(program) as api, contextlib.ExitStack() as opened:
        port = api.bartleby.port
        began = time.monotonic()
        quiet = opened.enter_context(Events(port, "/api/v1/events?topics=issues"))
        assert quiet.next()[0] == "snapshot"
        wait_for("heartbeats", lambda: len(api.call("GET", "/api/v1/workers")[1]["items"][0]["instances"]) == 1)
        with Events(port, "/api/v1/events?topics=workers") as stream:
            told = {worker["worker"]: worker["status"] for worker in stream.next()[1].get("workers", [])}
            while told.get("pulled") != "RUNNING":
                kind, data, _ = stream.next()
                assert kind == "worker", (kind, data)
                told[data["worker"]] = data["status"]
            for order, status in (("pause", "PAUSED"), ("resume", "RUNNING")):
                assert api.call("POST", f"/api/v1/workers/pulled:{order}")[0] == 200
                while told["pulled"] != status:
                    kind, data, _ = stream.next()
                    assert kind == "worker" and data["instance"] and "consumer_lag" in data, (kind, data)
                    told[data["worker"]] = data["status"]

        # A hundred at once. The seat of the one that ended is free when the server next has something to tell it.
        def listens():
            one = opened.enter_context(Events(port, "/api/v1/events?topics=workers"))
            assert one.status in (200, 429), one.status
            return one.status == 200
        for _ in range(99):
            wait_for("a seat", listens, 60)
        status, refused = api.call("GET", "/api/v1/events")
        assert status == 429 and refused["detail"] == "there are 100 streams already", (status, refused)

        # Of issues there was nothing: a comment says that the stream is alive.
        assert quiet.answer.readline() == b": nothing new\n" and quiet.answer.readline() == b"\n"
        assert time.monotonic() - began > 14, "earlier than every 15 s"


def commands(program):
    with served(program) as api:

        def run(*words, status=0, text=True):
            ran = subprocess.run([program, *words, "--server", f"http://127.0.0.1:{api.bartleby.port}"],
                                 capture_output=True, text=text, timeout=30, check=False)
            assert ran.returncode == status, (words, ran)
            return ran.stdout + ran.stderr
        assert run("letters", "ls").startswith("no letters"), run("letters", "ls")
        die(api, b"\xff\x00\n", key="cust%1Bomer")
        wait_for("the letter", lambda: letters_found(api)["count"]["value"] == 1)
        letter = run("letters", "ls", "-o", "name").strip()
        issue = run("issues", "ls", "-o", "name").strip()
        table = run("letters", "ls", "-q", "error:Boo")
        assert letter in table and "cust\\x1bomer" in table and "Boo: number 17" in table, table
        assert table.endswith("1 letter\n"), table
        assert json.loads(run("letters", "ls", "-o", "jsonl"))["id"] == letter
        assert json.loads(run("letters", "ls", "-o", "json"))["count"]["value"] == 1
        assert run("letters", "ls", "-q", "error:Other") == "no letter is like this\n"
        bad = run("letters", "ls", "-q", "state:open colour:red", status=2)
        assert bad.splitlines()[-2:] == ["  state:open colour:red", " " * 13 + "^"], bad
        shown = run("letters", "show", letter)
        for part in ("died REJECTED after 1 attempt", "came from pulled 0:0", "lies in pulled.dlq 0:0",
                     f"issue {issue}", "header   content-type=x/y"):
            assert part in shown, (part, shown)
        assert run("letters", "value", letter, text=False) == b"\xff\x00\n"
        for words in (("letters", "show"), ("letters", "value"), ("issues", "show"), ("issues", "resolve"),
                      ("dlqs", "show")):
            assert "no " in run(*words, "nobody", status=3), words
        assert "Boo: number #" in run("issues", "ls"), run("issues", "ls")
        assert "1 open of 1" in run("issues", "show", issue), run("issues", "show", issue)
        assert run("issues", "mute", issue, "--for", "2h", "-r", "known").startswith(f"{issue} muted until 2")
        assert "--for is a span" in run("issues", "mute", issue, "--for", "later", status=2)
        assert run("issues", "resolve", issue) == f"{issue} resolved\n"
        assert "does not apply" in run("issues", "mute", issue, status=5)
        assert run("issues", "reopen", issue, "-o", "name") == f"{issue}\n"
        assert run("issues", "ls", "-s", "muted") == "no issues\n"
        assert run("status").endswith(": ok\n") and run("status", "-o", "name") == "ok\n", run("status")
        lines = run("audit", "ls", issue)
        assert "known" in lines and lines.endswith("3 lines\n"), lines
        assert run("audit", "verify") == "3 lines, all as they were written\n"
        with sqlite3.connect(pathlib.Path(api.bartleby.folder, "data", "office.db")) as store:
            store.execute("UPDATE audit_log SET reason = 'nothing' WHERE seq = 1")
        store.close()
        assert "line 1 is not as it was written" in run("audit", "verify", status=1)
        assert "pulled.dlq" in run("dlqs", "ls"), run("dlqs", "ls")
        assert "letters ls -q dlq:pulled.dlq" in run("dlqs", "show", "pulled.dlq")


def lines_are_sent_and_a_failure_says_how_many(program):
    def run(port, lines, *words):
        ran = subprocess.run([program, "send", *words, "--lines", "--server", f"http://127.0.0.1:{port}"],
                             input="".join(f"{line}\n" for line in lines), capture_output=True, text=True, timeout=60,
                             check=False)
        return ran.returncode, ran.stdout, ran.stderr

    with served(program) as api:
        status, out, _ = run(api.bartleby.port, range(2500), "lines", "-k", "same")
        assert status == 0 and re.match("sent 2.500 messages to lines", out), (status, out)
        page = api.bartleby.get("/api/v1/topics/lines/messages?from=2499")
        assert [one["value"] for one in page["items"]] == ["2499"], page
        # A refusal, and a server that is not there, have taken nothing: there is nothing to look for.
        status, out, error = run(api.bartleby.port, range(3), "not a topic")
        assert status == 2 and "sent" not in out + error, (status, out, error)
        # What fits into no message stops the lines there; those before it are in the log.
        status, out, error = run(api.bartleby.port, [*["x"] * 1000, "y" * 2_000_000], "lines")
        assert status == 6, (status, out, error)
        assert re.search("1.000 lines sent; of the 1 after them none is there", error), error
    status, out, error = run(api.bartleby.port, range(3), "lines")
    assert status == 8 and "no server answers" in error and "sent" not in error, (status, out, error)


def watched(program, port, *words):
    """What a command writes to standard output, and to a terminal as its standard error."""
    reading, writing = pty.openpty()
    try:
        with subprocess.Popen([program, *words, "--server", f"http://127.0.0.1:{port}"], stdout=subprocess.PIPE,
                              stderr=writing) as process:
            out = process.communicate(timeout=30)[0].decode()
        assert process.returncode == 0, (words, out)
        os.set_blocking(reading, False)
        return out, os.read(reading, 65536).decode() if select.select([reading], [], [], 0)[0] else ""
    finally:
        os.close(reading)
        os.close(writing)


class ManyLines(http.server.BaseHTTPRequestHandler):
    """A server whose audit has 120,000 lines, looked at in three answers."""

    def do_GET(self):
        begin = int(self.path.partition("?from=")[2] or 1)
        verdict = {"good": True, "lines": min(begin + 49999, 120000)}
        body = json.dumps(verdict if begin > 100000 else {**verdict, "next": begin + 50000}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments):
        pass


class Leaving(http.server.BaseHTTPRequestHandler):
    """A server that lists three letters: one is purged before it is asked for, one archived before its value is."""

    def do_GET(self):
        path = self.path.partition("?")[0].removeprefix("/api/v1/letters")
        letter = {"id": path[1:], "origin": {"key": "k", "headers": []}, "preview": None if path == "/here" else "x"}
        answers = {"": {"items": [{"id": "purged"}, {"id": "archived"}, {"id": "here"}], "next": None,
                        "count": {"value": 3, "exact": True}}, "/archived": letter, "/here": letter}
        status = 200 if path in answers else 410 if path == "/archived/value" else 404
        body = json.dumps(answers.get(path, {"title": "Gone", "detail": "gone", "status": status})).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments):
        pass


def an_export_leaves_out_what_goes_meanwhile(program):
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Leaving) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        at = f"http://127.0.0.1:{server.server_address[1]}"
        done = subprocess.run([program, "letters", "export", "--server", at], capture_output=True, text=True,
                              timeout=30, check=False)
        server.shutdown()
    assert [json.loads(line)["id"] for line in done.stdout.splitlines()] == ["here"], done
    assert done.returncode == 6 and "1 letter\n2 letters left out: purged or archived meanwhile" in done.stderr, done


def people_see_how_far_it_has_come(program):
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), ManyLines) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        out, told = watched(program, server.server_address[1], "audit", "verify")
        server.shutdown()
    # So do these tests: what is wrong in the last part is not overlooked.
    parts = {"": {"good": True, "next": 50001}, "?from=50001": {"good": False}}
    assert not audit_is_good(lambda path: parts[path.removeprefix("/api/v1/audit:verify")])
    assert out == "120 000 lines, all as they were written\n", out
    assert told == "".join(f"\r\x1b[K{text}" for text in ("50 000 lines are as they were written",
                                                         "100 000 lines are as they were written", "")), told
    with served(program) as api:
        for n in range(12):
            die(api, b"%d" % n)
        wait_for("the letters", lambda: letters_found(api)["count"]["value"] == 12)
        out, told = watched(program, api.bartleby.port, "letters", "export")
        assert [json.loads(line)["value"] for line in out.splitlines()] == [str(n) for n in range(11, -1, -1)], out
        assert told == "\r\x1b[K10 of 12 letters\r\x1b[K12 letters\r\n", told


def health_of_letters_and_store(program):
    """What waits, what is in the way of a letter, and whether the store works: each from a real cause."""
    with served(program) as api:
        def health(status=200):
            found, answer = api.call("GET", "/actuator/health")
            assert found == status, (found, answer)
            return answer

        def dlq():
            return api.call("GET", "/actuator/health")[1]["components"]["dlq"]

        def store():
            return api.call("GET", "/actuator/health")[1]["components"]["store"]["status"]

        def up():
            return [line for line in api.call("GET", "/metrics")[1].decode().splitlines()
                    if line.startswith("bartleby_store_up ")]
        wait_for("all to be well", lambda: health()["status"] == "UP")
        none = {"open": 0, "pending": 0, "refusing": [], "intake_lag": 0}
        assert dlq() == {"status": "UP", "details": none} and store() == "UP" and up() == ["bartleby_store_up 1"], dlq()
        die(api, b"1")
        wait_for("the letter", lambda: dlq() == {"status": "DEGRADED", "details": {**none, "open": 1}})
        assert health()["status"] == "DEGRADED" and api.call("GET", "/actuator/health/readiness")[0] == 200

        # Somebody else holds the file: nothing can be written, and everybody who asks is told.
        lock = sqlite3.connect(pathlib.Path(api.bartleby.folder, "data", "office.db"), isolation_level=None)
        lock.execute("BEGIN IMMEDIATE")
        wait_for("the store to be DOWN", lambda: store() == "DOWN")
        down = health(503)
        assert down["status"] == "DOWN" and "locked" in down["components"]["store"]["details"]["error"], down
        assert down["components"]["broker"] == {"status": "UP"} and up() == ["bartleby_store_up 0"], down
        assert api.call("GET", "/actuator/health/readiness")[0] == 503
        assert api.call("GET", "/actuator/health/liveness")[0] == 200
        checks = {one["name"]: one for one in api.call("GET", "/api/v1/status")[1]["checks"]}
        assert checks["store"]["status"] == "fail" and "locked" in checks["store"]["detail"], checks
        die(api, b"2")
        wait_for("intake to fail", lambda: "error" in dlq()["details"])
        assert dlq()["details"]["error"].startswith("pulled.dlq: storing: "), dlq()
        since = dlq()["details"]["failing_since"]
        wait_for("it to be tried again", lambda: api.bartleby.log.read_text().count("intake_failed") > 1)
        assert dlq()["details"]["failing_since"] == since, dlq()
        lock.execute("ROLLBACK")
        lock.close()
        wait_for("the store to be UP", lambda: store() == "UP")
        wait_for("the letter", lambda: dlq()["details"] == {**none, "open": 2})
        assert health()["status"] == "DEGRADED"
        log = api.bartleby.log.read_text()
        assert log.count("store_not_working") == 1 == log.count("store_works_again"), log

        # A dlq that takes only what is smaller than any letter: the letter waits at its worker.
        assert api.bartleby.terminate() == 0
        with sqlite3.connect(pathlib.Path(api.bartleby.folder, "data", "log.db")) as topics:
            assert topics.execute("UPDATE topics SET max_message = 9 WHERE name = 'pulled.dlq'").rowcount == 1
        topics.close()
        api.bartleby.start()
        die(api, b"3")
        wait_for("it to refuse", lambda: dlq()["details"]["refusing"] == ["pulled.dlq"])
        assert dlq() == {"status": "DEGRADED", "details": {**none, "open": 2, "pending": 1, "refusing": ["pulled.dlq"]}}
        checks = {one["name"]: one for one in api.call("GET", "/api/v1/status")[1]["checks"]}
        assert checks["dlq writes"]["status"] == "fail" and "pulled.dlq" in checks["dlq writes"]["detail"], checks


LATEST = """
workers:
  late: {topics: [busy], start: latest, handler: {pull: {}}}
"""


def what_a_group_never_wanted_is_no_lag(program):
    with tempfile.TemporaryDirectory() as folder:
        before = Bartleby(program, folder).start()
        for n in range(50):
            assert before.call("POST", "/api/v1/topics/busy/messages", body=f"{n}")[0] in (200, 201)
        assert before.terminate() == 0
        config = pathlib.Path(folder, "w.yaml")
        config.write_text(LATEST)
        bartleby = Bartleby(program, folder, ["-c", str(config)]).start()

        def lag(name):
            page = bartleby.get("/metrics").decode().splitlines()
            return {line.rpartition(" ")[2] for line in page if line.startswith(name + "{")}
        try:
            names = ("kafka_consumer_lag", "bartleby_consumer_effective_lag", "worker_consumer_lag")
            wait_for("the worker to be counted", lambda: all(lag(name) for name in names))
            seen = set()
            for _ in range(20):
                seen |= set().union(*(lag(name) for name in names))
            assert seen == {"0"}, seen
            assert bartleby.call("POST", "/api/v1/topics/busy/messages", body="new")[0] in (200, 201)
            wait_for("one message of lag", lambda: lag("kafka_consumer_lag") == {"1"})
        finally:
            bartleby.end()


def main():
    return run_checks([letters_and_issues, about_itself, health_of_letters_and_store, jobs, jobs_of_long_names, events,
                       streams, commands, lines_are_sent_and_a_failure_says_how_many, people_see_how_far_it_has_come,
                       an_export_leaves_out_what_goes_meanwhile, what_a_group_never_wanted_is_no_lag],
                      pathlib.Path(sys.argv[1]).resolve())


if __name__ == "__main__":
    sys.exit(main())
