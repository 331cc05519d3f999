#!/usr/bin/env python3
"""deploy/helm/bartleby: linted, and what it makes of its values is a configuration that the program takes.

Usage: helm_chart.py PROGRAM. Prints a line per check. Helm is not installed for this: where scripts/helm has not built
it (scripts/setup check does), everything is skipped, and says so.
"""

import pathlib
import re
import subprocess
import sys
import tempfile
import textwrap

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from processes import run_checks  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
CHART = str(ROOT / "deploy/helm/bartleby")
NEEDED = {"image.repository": "registry.example/bartleby", "image.tag": "0.1.0", "engine.url": "http://engine:8000/",
          "kafka.bootstrap": "kafka:9092"}
ALL = {**NEEDED, "redis.url": "redis://:hunter2-redis@redis:6379/0",
       "mongodb.enabled": "true", "mongodb.existingSecret": "mongo",
       "kafka.properties.security\\.protocol": "SASL_SSL", "kafka.properties.sasl\\.password": "hunter2-kafka",
       "kafka.properties.ssl\\.ca\\.location": "/etc/kafka-ca/ca.crt", "signing.existingSecret": "office",
       "alertmanager.url": "http://alertmanager:9093", "extraEnv[0].name": "SPARE", "extraEnv[0].value": "spare",
       "extraVolumes[0].name": "ca", "extraVolumes[0].secret.secretName": "kafka-ca",
       "extraVolumeMounts[0].name": "ca", "extraVolumeMounts[0].mountPath": "/etc/kafka-ca"}
PASSWORDS = ("hunter2-kafka", "hunter2-redis")


def helm(verb, *arguments, **more):
    return subprocess.run([ROOT / "scripts/helm", verb, *arguments], capture_output=True, text=True, timeout=120,
                          check=False, **more)


def settings(values):
    return [word for name, value in values.items() for word in ("--set", f"{name}={value}")]


def rendered(values):
    done = helm("template", "release", CHART, *settings(values))
    assert done.returncode == 0, done.stderr
    return done.stdout


def environment(manifest):
    """Variables that the container is given, as text; those of Secrets get a value of their own."""
    found = dict(re.findall(r'- name: ([A-Z_]+)\n +value: "(.*)"', manifest))
    for name in re.findall(r"- name: ([A-Z_]+)\n +valueFrom:\n +secretKeyRef", manifest):
        found[name] = "mongodb://mongo:27017/" if name == "MONGO_URL" else "0123456789abcdef" * 4
    return found


def shown(program, values):
    """The configuration as the program reads it."""
    manifest = rendered(values)
    text = re.search(r"^  bartleby\.yaml: \|\n((?:    .*\n|\n)+)", manifest, re.M).group(1)
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "bartleby.yaml")
        path.write_text(textwrap.dedent(text))
        done = subprocess.run([program, "config", "show", "-c", path], capture_output=True, text=True, timeout=60,
                              check=False, env=environment(manifest))
        assert done.returncode == 0, done.stderr
        return re.sub(r" +#.*", "", done.stdout)


def lints(_program):
    for values in (NEEDED, ALL):
        done = helm("lint", "--strict", CHART, *settings(values))
        assert done.returncode == 0, done.stdout + done.stderr


def default_values_are_three_attempts_and_the_dlq(program):
    config = shown(program, NEEDED)
    for wanted in ("max_attempts: 3", "topic: execution.tickets.dlq", "enabled: true", "dialect: dlq_metadata",
                   "family: worker_agent"):
        assert wanted in config, (wanted, config)


def the_dlq_is_what_its_values_say(program):
    config = shown(program, {**ALL, "kafka.dlq.enabled": "false", "kafka.dlq.topic": "dead",
                             "kafka.dlq.maxRetriesBeforeDLQ": "5"})
    for wanted in ("max_attempts: 5", "topic: dead", "enabled: false", "drop: false", "sinks: [forensics]"):
        assert wanted in config, (wanted, config)


def what_is_missing_or_wrong_is_named(_program):
    for values, said in (({name: value for name, value in NEEDED.items() if name != "engine.url"}, "engine.url"),
                         ({name: value for name, value in NEEDED.items() if name != "image.tag"}, "image.tag"),
                         ({**NEEDED, "mongodb.enabled": "true"}, "mongodb.existingSecret"),
                         ({**NEEDED, "kafka.dlq.maxRetriesBeforeDLQ": "0"}, "maxRetriesBeforeDLQ"),
                         ({**NEEDED, "kafka.dlq.enabled": "perhaps"}, "enabled"),
                         ({**NEEDED, "kafka.dlq.max_retries": "3"}, "max_retries")):
        done = helm("template", "release", CHART, *settings(values))
        assert done.returncode != 0 and said in done.stderr, (values, done.stderr)


def secrets_are_in_secrets_alone(_program):
    """Passwords in the values too: whoever may read a ConfigMap or the StatefulSet does not see them."""
    manifest = rendered(ALL)
    parts = [part for part in manifest.split("\n---\n") if "kind:" in part]
    assert all(any(f"kind: {kind}\n" in part for part in parts) for kind in ("Secret", "StatefulSet")), manifest
    for part in parts:
        if "kind: Secret\n" in part:
            assert all(password in part for password in PASSWORDS), part
        else:
            assert not any(password in part for password in PASSWORDS), part
    assert "secretKeyRef" in manifest and "mongodb://" not in manifest


def kubernetes_waits_longer_than_the_program_takes_to_stop(program):
    drain = re.search(r"\bdrain: (\d+)s", shown(program, NEEDED))
    source = (ROOT / "src/wiring/instance.cc").read_text()
    beyond = [int(re.search(rf"seconds {name}{{(\d+)}}", source).group(1)) for name in ("kBeyondDrain", "kSlowBroker")]
    assert "drained + kBeyondDrain + kSlowBroker" in source, "a stop has other limits than this looks for"
    takes = int(drain.group(1)) + sum(beyond)
    waits = int(re.search(r"terminationGracePeriodSeconds: (\d+)", rendered(NEEDED)).group(1))
    assert waits >= takes + 5, f"{waits} s, and a stop may take {takes} s"


def what_is_around_it_can_be_named(program):
    config = shown(program, ALL)
    for wanted in ("http://alertmanager:9093", "kid: office", "ssl.ca.location"):
        assert wanted in config, (wanted, config)
    manifest = rendered(ALL)
    for wanted in ("secretName: kafka-ca", "mountPath: /etc/kafka-ca", "name: SPARE"):
        assert wanted in manifest, (wanted, manifest)


CHECKS = [lints, default_values_are_three_attempts_and_the_dlq, the_dlq_is_what_its_values_say,
          what_is_missing_or_wrong_is_named, secrets_are_in_secrets_alone, what_is_around_it_can_be_named,
          kubernetes_waits_longer_than_the_program_takes_to_stop]


def main():
    program = str(pathlib.Path(sys.argv[1]).resolve())
    there = helm("version")
    if there.returncode != 0:
        for check in CHECKS:
            print(f"skip {check.__name__} no Helm here: {there.stderr.strip()}")
        return 0
    return run_checks(CHECKS, program)


if __name__ == "__main__":
    sys.exit(main())
