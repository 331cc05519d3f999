#!/usr/bin/env python3
"""Letters replayed, discarded, restored, edited and purged on a real server. Usage: operations.py PROGRAM

By HTTP, by place as operators know it, and on the command line. Every answer is held against the server's own document.
Prints a line per check.
"""

import functools
import json
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from api import Checked, Events, claimed, letters_found, send, served  # noqa: E402
from processes import Bartleby, free_port, run_checks, wait_for  # noqa: E402

REJECT = '{"outcome": "reject", "error": {"type": "Boo", "message": "number 17"}}'
DONE = '{"outcome": "done"}'


def finish(api, outcome=REJECT):
    """The next attempt, whatever it is, ends with this outcome; its message."""
    attempt = claimed(api)
    assert api.call("POST", f"/api/v1/attempts/{attempt['token']}:finish", outcome)[0] == 204
    return attempt["message"]


def die(api, value, key="k"):
    send(api, value, key=key)
    finish(api)


def dead(api, values):
    """One letter for each value, in their order."""
    for value in values:
        die(api, value, key=value.decode()[:20])
    wait_for("the letters", lambda: letters_found(api)["count"]["value"] == len(values))
    return [item["id"] for item in sorted(letters_found(api)["items"], key=lambda item: item["origin"]["offset"])]


def letter(api, which):
    return api.call("GET", f"/api/v1/letters/{which}")[1]


def post(api, target, body=None):
    return api.call("POST", target, json.dumps(body or {}))


def one_letter(api):
    first, second = dead(api, [b"1", b"2"])
    status, answer = post(api, f"/api/v1/letters/{first}:discard", {"reason": "a test"})
    assert status == 200 and answer["state"] == "discarded" and answer["undo_until"], answer
    status, answer = post(api, f"/api/v1/letters/{first}:discard")
    assert status == 409 and answer["type"] == "/problems/wrong-state" and answer["state"] == "discarded", answer
    assert post(api, f"/api/v1/letters/{first}:replay")[0] == 409
    assert post(api, f"/api/v1/letters/{first}:restore") == (200, {"id": first, "state": "open"})
    # Answered when the broker has it: by the private lane, for the other group reads the topic too.
    status, answer = post(api, f"/api/v1/letters/{first}:replay", {"reason": "try again"})
    assert status == 200 and answer["state"] == "replaying", (status, answer)
    assert answer["to"] == {"topic": "pulled.replay.pulled", "partition": 0, "offset": 0}, answer
    # Beside it another one, though the first has no outcome yet.
    assert post(api, f"/api/v1/letters/{second}:replay")[0] == 200
    assert {finish(api, DONE)["value"], finish(api, DONE)["value"]} == {"1", "2"}
    wait_for("both to be resolved", lambda: letters_found(api, "state:resolved")["count"]["value"] == 2)
    status, answer = post(api, f"/api/v1/letters/{first}:replay")
    assert status == 409 and answer["state"] == "resolved", answer
    for verb in ("replay", "discard", "restore"):
        assert post(api, f"/api/v1/letters/nobody:{verb}")[0] == 404
        wrong = api.call("POST", f"/api/v1/letters/{first}:{verb}", '{"colour": "red"}', {"Content-Type": "x/json"})
        assert wrong[0] == 422 and wrong[1]["errors"][0]["pointer"] == "/colour", wrong
    done = [line["action"] for line in api.call("GET", f"/api/v1/audit?subject={first}")[1]["items"]]
    assert done == ["succeeded", "replay", "restore", "discard"], done


def taken_back(api):
    """Nobody answers for a replay: when it is over its letter can be had again, and a late answer changes nothing."""
    (one,) = dead(api, [b"9"])
    status, answer = post(api, f"/api/v1/letters/{one}:replay")
    assert status == 200 and answer["state"] == "replaying", answer
    status, refused = post(api, f"/api/v1/letters/{one}:restore")
    assert status == 409 and refused["state"] == "replaying", refused
    assert post(api, f"/api/v1/operations/{answer['operation']}:cancel")[0] == 200
    assert post(api, f"/api/v1/letters/{one}:restore") == (200, {"id": one, "state": "open"})
    assert letter(api, one)["replays"] == 1
    finish(api, DONE)
    status, again = post(api, f"/api/v1/letters/{one}:replay")
    assert status == 200 and letter(api, one)["state"] == "replaying", again
    finish(api, DONE)
    wait_for("it to be resolved", lambda: letter(api, one)["state"] == "resolved")
    done = [line["action"] for line in api.call("GET", f"/api/v1/audit?subject={one}")[1]["items"]]
    assert done == ["succeeded", "replay", "returned", "replay"], done


def by_place(api):
    assert api.call("POST", "/api/v1/topics/pulled/messages", '{"value":"a"}\n{"value":"b"}\n',
                    {"Content-Type": "application/x-ndjson"})[0] == 200
    finish(api), finish(api)
    wait_for("two letters", lambda: letters_found(api)["count"]["value"] == 2)
    for topic in ("pulled.dlq", "pulled"):
        found = api.call("GET", f"/internal/v1/dlq?topic={topic}")[1]["items"]
        assert [item["preview"] if "preview" in item else item["state"] for item in found] == ["open", "open"], found
    assert api.call("GET", "/internal/v1/dlq?topic=nobody")[1]["items"] == []
    places = [item["dlq"] for item in found]
    first = places[-1]
    status, answer = post(api, "/internal/v1/dlq/replay", {"topic": "pulled.dlq", "offset": 99})
    assert status == 404, answer
    status, answer = post(api, "/internal/v1/dlq/replay", {"topic": "pulled.dlq"})
    assert status == 422 and answer["errors"], answer
    status, answer = post(api, "/internal/v1/dlq/replay",
                          {"topic": "pulled.dlq", "partition": first["partition"], "offset": first["offset"]})
    assert status == 200 and answer["to"]["topic"] == "pulled", answer
    assert answer["also_read_by"] == ["second"], answer
    finish(api)
    wait_for("it to come back", lambda: letter(api, answer["id"])["replays"] == 1)
    assert letter(api, answer["id"])["state"] == "open"
    place = letter(api, answer["id"])["dlq"]
    status, gone = api.call("DELETE", f"/internal/v1/dlq/pulled/{place['offset']}?partition={place['partition']}")
    assert status == 200 and gone["id"] == answer["id"] and gone["undo_until"], gone
    assert api.call("DELETE", f"/internal/v1/dlq/pulled/{place['offset']}")[0] == 409
    for wrong in ("pulled/x", "pulled/1?partition=x"):
        assert api.call("DELETE", "/internal/v1/dlq/" + wrong)[0] == 400, wrong
    status, all_of_it = api.call("POST", "/internal/v1/dlq/replay-all?topic=pulled.dlq")
    assert status == 202 and all_of_it["letters"] == 1 and all_of_it["kind"] == "replay", all_of_it
    finish(api, DONE)
    wait_for("it to be done",
             lambda: api.call("GET", f"/api/v1/operations/{all_of_it['id']}")[1]["state"] == "done")
    assert api.call("POST", "/internal/v1/dlq/replay-all?topic=pulled.dlq") == (200, {"letters": 0})
    assert api.call("POST", "/internal/v1/dlq/replay-all")[0] == 400


def plans(api):
    ids = dead(api, [json.dumps({"n": n, "big": 9007199254740993}).encode() for n in range(4)])
    for wrong, status in (({"kind": "replay"}, 422), ({"kind": "eat", "q": ""}, 422),
                          ({"kind": "replay", "q": "a:b"}, 400), ({"kind": "replay", "ids": ids, "q": ""}, 422),
                          ({"kind": "discard", "ids": ids, "scope": "group"}, 422),
                          ({"kind": "replay", "ids": ids, "halt": {"of": 0}}, 422),
                          ({"kind": "replay", "ids": ids, "edit": [{"op": "add", "path": "/a"}]}, 422),
                          ({"kind": "discard", "ids": ids, "edit": []}, 422),
                          ({"kind": "replay", "ids": ids, "to": "elsewhere"}, 422)):
        answer = api.call("POST", "/api/v1/operations", json.dumps(wrong), {"Content-Type": "application/json"})
        assert answer[0] == status, (wrong, answer)
    # An edit is shown before it is done, and numbers stay exact.
    edit = [{"op": "test", "path": "/big", "value": 9007199254740993},
            {"op": "replace", "path": "/n", "value": 18446744073709551615}]
    status, plan = post(api, "/api/v1/operations", {"kind": "replay", "q": "dlq:pulled.dlq", "edit": edit, "canary": 0})
    assert status == 201 and plan["state"] == "planned" and plan["letters"] == 4, plan
    assert plan["to"] == [{"topic": "pulled.replay.pulled", "group": "pulled", "letters": 4}], plan
    assert plan["previews"][0]["after"] == '{"n":18446744073709551615,"big":9007199254740993}', plan["previews"]
    at = f"/api/v1/operations/{plan['id']}"
    assert letters_found(api, "state:open")["count"]["value"] == 4
    assert post(api, at + ":pause")[1]["state"] == "planned"
    assert api.call("PATCH", at, '{"rate": 100}')[1]["rate"] == 100
    assert api.call("PATCH", at, '{"rate": -1}', {"Content-Type": "application/json"})[0] == 422
    with Events(api.bartleby.port, "/api/v1/events?topics=operations,workers") as stream:
        kind, snapshot, _ = stream.next()
        assert kind == "snapshot" and snapshot["operations"]["planned"] == 1, snapshot
        assert "pulled" in [worker["worker"] for worker in snapshot["workers"]], snapshot
        assert post(api, at + ":start")[1]["state"] == "running"
        event = {}
        while event.get("results", {}).get("sent") != 4:
            kind, data, _ = stream.next()
            event = data if kind == "operation" else {}
    assert event["id"] == plan["id"] and event["state"] == "running", event
    status, other = post(api, "/api/v1/operations", {"kind": "replay", "ids": ids})
    assert other["letters"] == 0 and other["excluded"] == [{"why": "it is replaying", "count": 4}], other
    assert post(api, at + ":pause")[1]["state"] == "paused" and post(api, at + ":resume")[1]["state"] == "running"
    values = {finish(api, DONE)["value"] for _ in ids}
    assert values == {'{"n":18446744073709551615,"big":9007199254740993}'}, values
    wait_for("its end", lambda: api.call("GET", at)[1]["state"] == "done")
    items = api.call("GET", at + "/items?result=succeeded&limit=3")[1]
    assert [item["position"] for item in items["items"]] == [0, 1, 2] and items["next"], items
    more = api.call("GET", f"{at}/items?result=succeeded&limit=3&cursor={items['next']}")[1]
    assert [item["letter"] for item in items["items"] + more["items"]] == ids, (items, more)
    assert api.call("GET", at + "/items?result=good")[0] == 400
    assert api.call("GET", "/api/v1/operations/nobody/items")[0] == 404
    assert post(api, at + ":cancel")[0] == 409 and post(api, "/api/v1/operations/nobody:start")[0] == 404
    assert api.call("GET", "/api/v1/operations?state=done")[1]["count"] == {"value": 1, "exact": True}
    assert api.call("GET", "/api/v1/operations?state=good")[0] == 400
    page = api.bartleby.get("/metrics").decode()
    for sample in ('bartleby_operations{kind="replay",state="done"} 1',
                   'bartleby_operation_letters_total{kind="replay",result="sent"} 4',
                   'bartleby_operation_letters_total{kind="replay",result="succeeded"} 4'):
        assert sample in page, [line for line in page.splitlines() if "bartleby_operation" in line]


def newer_messages(api):
    """A key that went on without its letter: the plan says so, from the log and the group's commit."""
    die(api, b"old", key="moves-on")
    die(api, b"alone", key="stands-still")
    send(api, b"new", key="moves-on")
    finish(api, DONE)
    wait_for("the letters", lambda: letters_found(api)["count"]["value"] == 2)

    def plan():
        status, planned = post(api, "/api/v1/operations", {"kind": "replay", "q": ""})
        assert status == 201 and planned["letters"] == 2 and planned["warnings"] == [], planned
        return planned
    wait_for("the commit of what was handled", lambda: plan()["order_conflicts"] == 1)
    items = api.call("GET", f"/api/v1/operations/{plan()['id']}/items")[1]["items"]
    assert ["note" in item and bool(item["note"]) for item in items] == [True, False], items
    ran = subprocess.run([api.program, "letters", "replay", "-q", "state:open", "--server",
                          f"http://127.0.0.1:{api.bartleby.port}"], capture_output=True, text=True, timeout=30,
                         check=False)
    assert "1 letter of keys whose newer messages were handled already" in ran.stdout + ran.stderr, ran


def commands(api):
    def run(*words, status=0):
        ran = subprocess.run([api.program, *words, "--server", f"http://127.0.0.1:{api.bartleby.port}"],
                             capture_output=True, text=True, timeout=60, check=False)
        assert ran.returncode == status, (words, ran)
        return ran.stdout + ran.stderr
    ids = dead(api, [b'{"n": 1}', b"no json", b'{"n": 3}'])
    assert "say which letters" in run("letters", "replay", status=2)
    assert "say which letters" in run("letters", "discard", ids[0], "-q", "x", status=2)
    assert "discarded; until" in run("letters", "discard", ids[0], "-r", "no")
    assert run("letters", "restore", ids[0]) == f"{ids[0]} open\n"
    assert "is open" in run("letters", "restore", ids[0], status=5)
    assert "no letter" in run("letters", "replay", "ltr_none", status=3)
    plan = run("letters", "discard", "-q", "state:open")
    assert plan.startswith("3 letters to discard of pulled.dlq\nNothing changed. To do it: bartleby ops start "), plan
    name = plan.split()[-1]
    assert "planned" in run("ops", "show", name) and name in run("ops", "ls", "-s", "planned")
    assert "cancelled" in run("ops", "cancel", name)
    assert "cancelled" in run("ops", "start", name, status=5)
    # Many at once; they can be had back.
    assert "done: 3 of 3 (100 %), done 3" in run("letters", "discard", "-q", "state:open", "--yes")
    assert "done: 2 of 2" in run("letters", "restore", ids[0], ids[2])
    assert "Nothing to do" in run("letters", "restore", "-q", "key:nobody", "--yes")
    # Named, and none of them can be had: that is no success. An empty plan is not left lying about.
    assert "it is open" in run("letters", "restore", ids[0], ids[2], status=6)
    assert "there is no such letter" in run("letters", "discard", "ltr_none", "ltr_nobody", status=3)
    assert "left out: 1, there is no such letter" in run("letters", "discard", ids[0], "ltr_none", status=6)
    assert run("letters", "restore", ids[0]) == f"{ids[0]} open\n"
    assert "Nothing to do" in run("letters", "replay", "-q", "key:nobody")
    assert run("ops", "ls", "-s", "planned", "-o", "name") == ""
    # An edit that one of them cannot take.
    assert run("letters", "restore", ids[1]) == f"{ids[1]} open\n"
    patch = pathlib.Path(api.bartleby.folder, "patch.json")
    patch.write_text('[{"op": "add", "path": "/by", "value": "hand"}]')
    plan = run("letters", "replay", "-q", "state:open", "--edit", str(patch), "--rate", "500/s", "--canary", "0")
    assert '  after   {"n":1,"by":"hand"}' in plan and "does not apply to 1 of the first 3" in plan, plan
    assert "500/s" in plan and "Nothing sent. To do it: bartleby ops start" in plan, plan
    name = plan.split()[-1]
    assert "running" in run("ops", "start", name)
    assert run("ops", "rate", name, "20/s") == f"{name} 20/s\n"
    assert {finish(api, DONE)["value"], finish(api, DONE)["value"]} == {'{"n":1,"by":"hand"}', '{"n":3,"by":"hand"}'}
    shown = run("ops", "watch", name, status=6)
    assert "succeeded 2" in shown and "left out 1" in shown, shown
    assert "the edit does not apply" in run("ops", "show", name, "--result", "skipped")
    # Of one that is named too: what is sent cannot be taken back.
    shown = run("letters", "replay", ids[1], "--edit", str(patch))
    assert "does not apply to 1 of the first 1" in shown, shown
    assert "Nothing sent. To do it: bartleby ops start" in shown, shown
    patch.write_text('[{"op": "eat"}]')
    assert "op must be one of" in run("letters", "replay", ids[1], "--edit", str(patch), status=2)
    exported = [json.loads(line) for line in run("letters", "export", "-q", "state:open").splitlines()[:-1]]
    assert [(line["id"], line["value"]) for line in exported] == [(ids[1], "no json")], exported
    # Away for good.
    assert "no dlq" in run("dlqs", "purge", "nobody", "--older-than", "1ms", status=3)
    assert "--older-than" in run("dlqs", "purge", "pulled.dlq", status=2)
    assert "3 letters to purge" in run("dlqs", "purge", "pulled.dlq", "--older-than", "1ms")
    assert "done 3" in run("dlqs", "purge", "pulled.dlq", "--older-than", "1ms", "--yes")
    assert letters_found(api)["count"]["value"] == 0
    assert run("audit", "verify").endswith("all as they were written\n")


SETTINGS = """
office: {replay: {rate: 7/s, canary: 3, halt: {came_back: 40%, of: 9}, max_replays: 1, targets: [elsewhere]}}
workers:
  pulled: {handler: {pull: {}}, retry: {max_attempts: 1}, guard: null}
"""


def settings_of_the_file(program):
    with tempfile.TemporaryDirectory() as folder:
        config = pathlib.Path(folder, "w.yaml")
        config.write_text(SETTINGS)
        bartleby = Bartleby(program, folder, ["-c", str(config)]).start()
        try:
            api = Checked(bartleby)
            first, second = dead(api, [b"1", b"2"])
            plan = post(api, "/api/v1/operations", {"kind": "replay", "q": ""})[1]
            shown = {name: plan[name] for name in ("rate", "canary", "halt")}
            assert shown == {"rate": 7, "canary": 3, "halt": {"came_back": 40, "of": 9}}, plan
            plan = post(api, "/api/v1/operations", {"kind": "replay", "q": "", "rate": 9, "halt": {"of": 2}})[1]
            assert plan["rate"] == 9 and plan["halt"] == {"came_back": 40, "of": 2}, "what is said wins"
            # Only where the file allows it.
            assert api.bartleby.call("POST", "/api/v1/topics/elsewhere/messages", body="x")[0] in (200, 201)
            status, answer = post(api, f"/api/v1/letters/{first}:replay", {"to": "elsewhere"})
            assert status == 200 and answer["to"]["topic"] == "elsewhere", answer
            status, answer = post(api, f"/api/v1/letters/{second}:replay", {"to": "pulled.dlq"})
            assert status == 422 and "targets" in answer["detail"], answer
            # Once, and not again.
            assert post(api, f"/api/v1/letters/{second}:replay")[0] == 200
            finish(api)
            wait_for("it to come back", lambda: letter(api, second)["replays"] == 1)
            status, answer = post(api, f"/api/v1/letters/{second}:replay")
            assert status == 409 and "max replays" in answer["detail"], answer
        finally:
            bartleby.end()


TWO_PARTITIONS = """
channels: {{pair: {{token: "12345678", partitions: 2, consumers: {{one: {{token: "12345678",
  url: "http://127.0.0.1:{port}/", retry: {{max_attempts: 1}}}}}}}}}}
workers:
  pair: {{topics: [pair], group: two, handler: {{http: {{url: "http://127.0.0.1:{port}/"}}}}, guard: null,
    dead_letter: {{topic: "{{topic}}.two.dlq"}}, retry: {{max_attempts: 1}}}}
"""


def an_offset_that_means_several_letters(program):
    with tempfile.TemporaryDirectory() as folder:
        config = pathlib.Path(folder, "w.yaml")
        config.write_text(TWO_PARTITIONS.format(port=free_port()))  # where nobody listens
        bartleby = Bartleby(program, folder, ["-c", str(config)]).start()
        try:
            api = Checked(bartleby)
            lines = "".join(json.dumps({"key": f"k{n}", "value": "x"}) + "\n" for n in range(8))
            status, answer = bartleby.call("POST", "/api/v1/topics/pair/messages", lines,
                                           {"Content-Type": "application/x-ndjson"})
            assert status == 200, answer
            wait_for("the letters", lambda: letters_found(api)["count"]["value"] == 16)
            dlqs = {item["dlq"]["topic"] for item in letters_found(api)["items"]}
            assert len(dlqs) == 2 and "pair.two.dlq" in dlqs, dlqs
            # In one dlq: the partition is missing.
            for call in (lambda: api.call("DELETE", "/internal/v1/dlq/pair.two.dlq/0"),
                         lambda: post(api, "/internal/v1/dlq/replay", {"topic": "pair.two.dlq", "offset": 0})):
                status, answer = call()
                assert status == 409 and answer["type"] == "/problems/ambiguous-offset", answer
                assert answer["errors"][0]["pointer"] == "/partition" and "partition" in answer["detail"], answer
                places = [(one["dlq"]["topic"], one["dlq"]["partition"], one["dlq"]["offset"], one["state"])
                          for one in answer["candidates"]]
                assert sorted(places) == [("pair.two.dlq", p, 0, "open") for p in (0, 1)], places
            # In two dlqs of one topic: the partition alone does not tell.
            status, answer = api.call("DELETE", "/internal/v1/dlq/pair/0?partition=1")
            assert status == 409 and len(answer["candidates"]) == 2 and "name the dlq" in answer["detail"], answer
            assert {one["dlq"]["topic"] for one in answer["candidates"]} == dlqs, answer
            assert letters_found(api, "state:open")["count"]["value"] == 16, "nothing was done by guessing"
            status, answer = api.call("DELETE", "/internal/v1/dlq/pair.two.dlq/0?partition=1")
            assert status == 200 and answer["state"] == "discarded", answer
        finally:
            bartleby.end()


def main():
    def on_a_server(check):
        @functools.wraps(check)
        def run(program):
            with served(program) as api:
                check(api)
        return run

    checks = [on_a_server(check) for check in (one_letter, taken_back, by_place, plans, newer_messages,
                                                    commands)]
    checks += [settings_of_the_file, an_offset_that_means_several_letters]
    return run_checks(checks, pathlib.Path(sys.argv[1]).resolve())


if __name__ == "__main__":
    sys.exit(main())
