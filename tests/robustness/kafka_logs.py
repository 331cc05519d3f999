#!/usr/bin/env python3
"""What becomes of a real Kafka's log and offsets under a worker: retention, compaction, offsets that people move.

Usage: kafka_logs.py PROGRAM TOOLS. TOOLS is the folder of a test build, with a `bartleby` whose clock can be hurried.
Prints a line per check; where Kafka cannot be had every check is skipped. Message 0 of each topic fails once and then
waits for an hour; all others succeed.
"""

import collections
import datetime
import json
import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from kafka_world import PATIENCE, Endpoint, run_in_world  # noqa: E402
from processes import wait_for  # noqa: E402

PROGRAM = pathlib.Path(sys.argv[1]).resolve()
TOOLS = pathlib.Path(sys.argv[2]).resolve()


class Topic:
    """A topic of one partition with its worker and its endpoint."""

    def __init__(self, world, name, settings=(), **launched):
        self.world, self.name, self.launched = world, name, launched
        self.endpoint = Endpoint(lambda number: 1 if number == 0 else 0)
        world.witness.ask("create", name, 1)
        for setting, value in settings:
            world.witness.ask("set", name, setting, value)

    def start(self, begin="earliest"):
        self.worker = self.world.launch(self.name, f"""  {self.name}:
    start: "{begin}"
    handler: {{http: {{url: "{self.endpoint.url}"}}}}
    retry: {{max_attempts: 3, schedule: [1h], timeout: 1h}}
    drain: 1h
    guard: null
""", **self.launched)

    def stop(self):
        self.world.stop(self.name)

    def produce(self, first, last):
        self.world.witness.produce(self.name, first, last, 1000)

    def times(self):
        """How often each was handled."""
        return collections.Counter(n for n, _, good in self.endpoint.attempts if good)

    def await_handled(self, numbers, times=1):
        wait_for(f"{self.name} to be handled", lambda: all(self.times()[n] >= times for n in numbers), PATIENCE)

    def await_parked(self):
        def parked():
            status, answer = self.worker.call("GET", f"/api/v1/workers/{self.name}/parked", seconds=PATIENCE)
            return status == 200 and answer["items"]

        wait_for("the first one to be parked", parked, PATIENCE)

    def run_now(self):
        """The first one, which would be due in an hour."""
        self.await_parked()
        status, answer = self.worker.call("POST", f"/api/v1/workers/{self.name}/parked:run-now",
                                          json.dumps({"partition": 0, "offset": 0}), seconds=PATIENCE)
        assert status == 200, answer

    def committed(self):
        return self.world.witness.offsets(self.name, self.name).get(0)

    def end(self):
        return self.world.witness.ends(self.name)[0]

    def await_committed(self):
        wait_for("all to be committed", lambda: self.committed() == self.end(), PATIENCE)

    def letters(self):
        return self.world.witness.read(f"{self.name}.dlq")

    def await_letter(self, reason):
        wait_for("a letter", lambda: len(self.letters()) > 0, PATIENCE)
        letters = self.letters()
        assert len(letters) == 1 and letters[0][4]["bartleby-reason"] == reason, letters
        assert letters[0][4]["bartleby-offset"] == "0", letters
        return letters[0]

    def metric(self, name):
        status, text = self.worker.call("GET", "/metrics", seconds=PATIENCE)
        assert status == 200, (status, text)
        found = [line.split()[-1] for line in text.decode().splitlines() if line.startswith(name + "{")]
        assert len(found) == 1, (name, found)
        return float(found[0])

    def said(self, event):
        return sum(log.read_text().count(event) for log in self.world.folder.glob(f"{self.name}/serve-*.log"))


def retention_by_time(world):
    """A message that waits is handed over before its topic deletes it, ten minutes after it was written."""
    topic = Topic(world, "by-time", [("retention.ms", 600000)], program=TOOLS / "bartleby",
                  environment={"BARTLEBY_TIME_SCALE": "60"})
    topic.start()
    topic.produce(0, 20)
    topic.await_handled(range(1, 20))
    _, _, _, value, _ = topic.await_letter("EXPIRING")
    assert value == "m0" and topic.said("expiring") > 0, (value, world.last_words())
    topic.await_committed()
    topic.stop()
    return "handed over with its bytes, and told"


def retention_by_size(world):
    """The same by bytes, which librdkafka cannot ask for: guessed from what was read."""
    topic = Topic(world, "by-size", [("retention.bytes", 1000000), ("segment.bytes", 1048576)])
    topic.start()
    topic.produce(0, 1)
    topic.await_parked()
    sent = 1
    while not topic.letters():
        assert sent < 1000, f"{sent * 4000} bytes behind it, and nobody has noticed"
        world.witness.ask("pad", topic.name, sent, sent + 25, 4000)
        sent += 25
        # It is looked at every five seconds; at half of the bytes nothing more is taken, so nobody waits for all.
        wait_for("these, or a limit", lambda: len(topic.times()) == sent - 1 or topic.said("limit_window") or
                 topic.letters(), PATIENCE)
        if sent * 4000 > 850000:
            wait_for("the letter", topic.letters, PATIENCE)
    topic.await_letter("EXPIRING")
    topic.await_handled(range(1, sent))
    topic.await_committed()
    topic.stop()
    return f"handed over with about {sent * 4000} of 1000000 bytes behind it"


def lost_by_retention(world):
    """Deleted while nobody was there: told, a letter without the message, and everything else goes on."""
    topic = Topic(world, "deleted")
    topic.start()
    topic.produce(0, 20)
    topic.await_handled(range(1, 20))
    topic.await_parked()
    topic.stop()
    world.witness.ask("cut", topic.name, 0, 10)
    topic.start()
    topic.produce(20, 40)
    topic.await_handled(range(20, 40))
    assert topic.said("offset_reset") > 0, "the log begins behind the commit, and nobody was told"
    topic.run_now()
    topic.await_letter("LOST_BY_RETENTION")
    assert topic.said("lost_by_retention") > 0, world.last_words()
    assert topic.metric("bartleby_lost_by_retention_total") > 0, world.last_words()
    topic.await_committed()
    assert all(topic.times()[n] == 1 for n in range(1, 40)), topic.times()
    topic.stop()
    return "a letter says so, 39 others handled once"


def passed_unread(world):
    """The log begins behind the commit, and what lies between was never read: told, and begun where it begins."""
    topic = Topic(world, "unread")
    topic.start()
    topic.produce(1, 11)
    topic.await_handled(range(1, 11))
    topic.await_committed()
    topic.stop()
    topic.produce(11, 31)
    world.witness.ask("cut", topic.name, 0, 20)
    topic.start()
    topic.await_handled(range(21, 31))
    topic.await_committed()
    assert not any(topic.times()[n] for n in range(11, 21)), topic.times()
    assert topic.said("offset_reset") > 0, world.last_words()
    topic.stop()
    return "10 were gone, and it was told"


def offsets_moved(world):
    """Back: all from there on once more. Ahead: what lies between is left out, the one that waits there too."""
    topic = Topic(world, "moved")
    topic.start()
    topic.produce(0, 20)
    topic.await_handled(range(1, 20))
    topic.await_parked()
    topic.stop()
    world.witness.ask("commit", topic.name, topic.name, 0, 10)
    topic.produce(20, 30)
    topic.start()
    topic.await_handled(range(10, 20), 2)
    topic.await_handled(range(20, 30))
    topic.await_committed()
    topic.stop()
    wrong = {n: count for n, count in topic.times().items() if count != (2 if 10 <= n < 20 else 1)}
    assert not wrong and topic.times()[0] == 0, topic.times()
    topic.produce(30, 50)
    world.witness.ask("commit", topic.name, topic.name, 0, 40)
    topic.start()
    topic.await_handled(range(40, 50))
    topic.await_committed()
    assert not any(topic.times()[n] for n in range(30, 40)), topic.times()
    assert topic.letters() == [], topic.letters()
    topic.stop()
    return "back and ahead, as people wanted"


def offsets_gone(world):
    """Expired, or deleted: the group begins as a new one does, and somebody is told."""
    topic = Topic(world, "gone")
    topic.start()
    topic.produce(0, 21)
    topic.await_handled(range(1, 21))
    topic.await_parked()
    topic.stop()
    assert topic.said("offsets_gone") == 0, "of a new group nothing is gone"
    world.witness.ask("uncommit", topic.name, topic.name)
    topic.start()
    topic.await_handled(range(1, 21), 2)
    topic.await_parked()
    assert topic.said("offsets_gone") == 1, world.last_words()
    assert topic.metric("bartleby_offset_resets_total") == 1, world.last_words()
    topic.stop()
    return "20 messages once more, and told"


def made_anew_while_nobody_looks(world):
    """The topic is another one that has grown past what was committed, and a late write brings the old one's offset
    back: all of it is handled, and it is told."""
    topic = Topic(world, "twice")
    topic.start()
    topic.produce(0, 21)
    topic.await_handled(range(1, 21))
    topic.await_parked()
    topic.stop()
    offset = world.witness.offsets(topic.name, topic.name)[0]
    metadata = world.witness.metadata(topic.name, topic.name)[0]
    world.witness.ask("delete", topic.name)
    world.witness.ask("create", topic.name, 1)
    topic.produce(100, 140)
    world.witness.ask("commit", topic.name, topic.name, 0, offset, metadata)
    topic.start()
    topic.await_handled(range(100, 140))
    topic.await_committed()
    assert all(topic.times()[n] == 1 for n in range(100, 140)) and topic.times()[0] == 0, topic.times()
    assert topic.said("topic_made_anew") == 1, world.last_words()
    assert topic.metric("bartleby_offset_resets_total") == 1, world.last_words()
    topic.stop()
    topic.produce(140, 150)
    topic.start()
    topic.await_handled(range(140, 150))
    topic.await_committed()
    assert all(topic.times()[n] == 1 for n in range(100, 150)), topic.times()
    assert topic.said("topic_made_anew") == 1, "of a topic that is the same as before"
    topic.stop()
    return "40 messages of the new one, each once"


def compacted_topic(world):
    """A message that waits is superseded by a later one of its key: it is finished, the later one is handled."""
    topic = Topic(world, "latest", [("cleanup.policy", "compact"), ("min.cleanable.dirty.ratio", "0.001"),
                                    ("segment.ms", "1")])
    topic.start()
    topic.produce(0, 1)
    topic.await_parked()
    topic.stop()
    world.witness.ask("send", topic.name, "k0", "m1000")
    for number in range(1, 4):  # each a segment of its own: the last one is never compacted
        topic.produce(number, number + 1)
    wait_for("the compaction", lambda: "m0" not in [r[3] for r in world.witness.read(topic.name)], PATIENCE)
    topic.start()
    topic.await_handled([1, 2, 3])
    topic.run_now()
    topic.await_handled([1000])
    topic.await_committed()
    assert topic.times()[0] == 0 and topic.letters() == [], (topic.times(), topic.letters())
    assert topic.said("lost_by_retention") == 0, world.last_words()
    topic.stop()
    return "finished without a letter"


def old_message_of_a_compacted_topic(world):
    """Nothing but a later message of its key deletes it: however old it is, it waits and is tried again."""
    topic = Topic(world, "kept", [("cleanup.policy", "compact"), ("retention.bytes", 1000)])
    topic.start()
    month_ago = int(time.time() * 1000) - 30 * 24 * 3600 * 1000
    world.witness.ask("times", topic.name, *[month_ago] * 20)
    topic.await_handled(range(1, 20))
    topic.run_now()
    topic.await_handled([0])
    topic.await_committed()
    assert topic.letters() == [] and topic.said("expiring") + topic.said("limit_window") == 0, world.last_words()
    topic.stop()
    return "a month old, and tried again"


def settings_hidden(world):
    """A topic whose settings we may not read: told, for what waits there is not handed over in time."""
    topic = Topic(world, "hidden", [("retention.ms", 600000)])
    world.witness.ask("hide", topic.name)
    topic.start()
    old = int(time.time() * 1000) - 500_000  # handed over at once by whoever knows how long it stays
    world.witness.ask("times", topic.name, *[old] * 3)
    topic.await_handled([1, 2])
    topic.await_parked()
    assert topic.said("topic_settings_hidden") == 1, world.last_words()
    assert topic.letters() == [], topic.letters()
    topic.stop()
    return "told that what waits is not protected"


def times_that_fall(world):
    """A group that begins at a time handles everything from the first message that is as late, whatever follows it."""
    now = int(time.time() * 1000)
    topic = Topic(world, "timed")
    ages = (3600, 10, 1800, 1700, 5, 1600, 1500, 1400)  # seconds: halving would look at 1600 and 1400 first
    world.witness.ask("times", topic.name, *(now - 1000 * age for age in ages))
    begin = datetime.datetime.fromtimestamp((now - 60_000) / 1000, datetime.timezone.utc)
    topic.start(begin.strftime("%Y-%m-%dT%H:%M:%SZ"))
    topic.await_handled(range(1, len(ages)))
    wait_for("all commits", lambda: world.witness.offsets(topic.name, topic.name) == {0: len(ages)}, PATIENCE)
    assert set(topic.times()) == set(range(1, len(ages))), topic.times()
    topic.stop()
    return f"{len(ages) - 1} of {len(ages)} handled"


CHECKS = (retention_by_time, retention_by_size, lost_by_retention, passed_unread, offsets_moved, offsets_gone,
          made_anew_while_nobody_looks, compacted_topic, old_message_of_a_compacted_topic, settings_hidden,
          times_that_fall)

if __name__ == "__main__":
    sys.exit(run_in_world(PROGRAM, 1, 1000, CHECKS))
