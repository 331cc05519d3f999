#!/usr/bin/env python3
"""Workers on a real Kafka that wants to know who they are: TLS with certificates, SASL/PLAIN, SASL/SCRAM.

Usage: kafka_security.py PROGRAM. Certificates and users are made by scripts/kafka. Prints a line per check; where Kafka
cannot be had every check is skipped.
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from kafka_world import ATTEMPTS, PATIENCE, Endpoint, run_in_world  # noqa: E402
from processes import wait_for  # noqa: E402

PROGRAM = pathlib.Path(sys.argv[1]).resolve()
COUNT = 40
PASSWORD = "of a worker"


def port(world, listener):
    lines = (world.kafka.folder / "secure/ports").read_text().splitlines()
    return dict(line.split() for line in lines)[listener]


def file(world, name):
    return str(world.kafka.folder / "secure" / name)


def tls(world, authority="ca", client="client"):
    return {"security.protocol": "SSL", "ssl.ca.location": file(world, f"{authority}.pem"),
            "ssl.certificate.location": file(world, f"{client}.pem"), "ssl.key.location": file(world, f"{client}.key")}


def sasl(world, mechanism, encrypted, password=PASSWORD):
    said = {"security.protocol": "SASL_SSL" if encrypted else "SASL_PLAINTEXT", "sasl.mechanism": mechanism,
            "sasl.username": "worker", "sasl.password": password}
    return {**said, "ssl.ca.location": file(world, "ca.pem")} if encrypted else said


def launch(world, name, endpoint, listener, properties):
    return world.launch(name, f"""  {name}:
    handler: {{http: {{url: "{endpoint.url}"}}}}
    retry: {{max_attempts: {ATTEMPTS}, schedule: [20ms], timeout: 60s}}
    guard: null
""", bootstrap=port(world, listener), properties=properties)


def works(world, name, listener, properties):
    """Reads, writes letters and commits, all of it through that listener."""
    endpoint = Endpoint(lambda number: ATTEMPTS if number % 10 == 0 else 0)
    world.witness.ask("create", name, 2)
    launch(world, name, endpoint, listener, properties)
    world.witness.produce(name, 0, COUNT, COUNT)
    wait_for("all to be handled", lambda: all(endpoint.finished(n) for n in range(COUNT)), PATIENCE)
    wait_for("all to be committed", lambda: world.witness.offsets(name, name) == world.witness.ends(name), PATIENCE)
    wait_for("the letters", lambda: len(world.witness.read(f"{name}.dlq")) == COUNT // 10, PATIENCE)
    world.stop(name)
    return f"{COUNT} messages, {COUNT // 10} letters"


def refused(world, name, listener, properties, words):
    """Nothing is done, the process lives, and says why."""
    endpoint = Endpoint(lambda number: 0)
    world.witness.ask("create", name, 2)
    worker = launch(world, name, endpoint, listener, properties)
    world.witness.produce(name, 0, COUNT, COUNT)
    wait_for("its complaint", lambda: words in worker.log.read_text(), PATIENCE)
    wait_for("its state", lambda: worker.call("GET", "/actuator/health", seconds=PATIENCE)[0] != 200, PATIENCE)
    assert not endpoint.attempts and worker.process.poll() is None, endpoint.attempts
    text = worker.log.read_text()
    assert PASSWORD not in text and properties.get("sasl.password", "not there") not in text, "a password was logged"
    world.stop(name)
    return "told"


def certificates(world):
    return works(world, "certificates", "tls", tls(world))


def plain(world):
    return works(world, "plain", "sasl", sasl(world, "PLAIN", encrypted=False))


def plain_over_tls(world):
    return works(world, "plain-tls", "sasl_tls", sasl(world, "PLAIN", encrypted=True))


def scram_256(world):
    return works(world, "scram-256", "sasl", sasl(world, "SCRAM-SHA-256", encrypted=False))


def scram_512_over_tls(world):
    return works(world, "scram-512", "sasl_tls", sasl(world, "SCRAM-SHA-512", encrypted=True))


def wrong_password(world):
    return refused(world, "liar", "sasl_tls", sasl(world, "SCRAM-SHA-512", True, "guessed wrong"), "uthentication")


def certificate_of_a_stranger(world):
    return refused(world, "stranger", "tls", tls(world, client="stranger"), "SSL")


def broker_of_a_stranger(world):
    return refused(world, "strange-broker", "tls", tls(world, authority="other-ca"), "certificate verify failed")


CHECKS = (certificates, plain, plain_over_tls, scram_256, scram_512_over_tls, wrong_password,
          certificate_of_a_stranger, broker_of_a_stranger)

if __name__ == "__main__":
    sys.exit(run_in_world(PROGRAM, 1, 1000, CHECKS, secure=True))
