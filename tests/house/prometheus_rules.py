#!/usr/bin/env python3
"""The shipped alert rules: Prometheus takes them, their unit tests pass, and they use only metrics that are exported.

promtool comes with Debian's prometheus; without it what needs it is skipped.
"""

import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
RULES = sorted((ROOT / "deploy/prometheus").glob("*.yml"))
TESTS = sorted((ROOT / "tests/house/rules").glob("*.test.yml"))
FUNCTIONS = {"time", "max", "by", "and", "sum", "rate", "increase", "or", "on", "unless"}


def promtool(*words):
    ran = subprocess.run(["promtool", *map(str, words)], capture_output=True, text=True, timeout=120, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr


def exported():
    lines = (ROOT / "tests/robustness/metrics.txt").read_text().splitlines()
    return {line.split()[0] for line in lines if line.strip() and not line.startswith("#")}


def expressions(text):
    """Alerts and their expressions, without what is in braces, brackets or parentheses after `by`."""
    for name, rest in re.findall(r"- alert: (\w+)\n(.*?)(?=\n      - alert:|\Z)", text, re.DOTALL):
        found = re.search(r"expr: (?:>-\n)?(.*?)\n        (?:for|labels):", rest, re.DOTALL).group(1)
        yield name, re.sub(r"by \([^)]*\)|\{[^}]*\}|\[[^]]*\]|\"[^\"]*\"", " ", found)


def uses_exported_metrics_only(rules):
    known = exported()
    for alert, expression in expressions(rules.read_text()):
        for word in re.findall(r"[a-z_][a-z0-9_]*", expression):
            assert word in known or word in FUNCTIONS, f"{alert}: nobody exports {word}"


def has_a_test_each(rules):
    """Of each alert: a time when it fires, and one when it does not."""
    tests = "".join(test.read_text() for test in TESTS)
    for alert, _ in expressions(rules.read_text()):
        assert re.search(rf"alertname: {alert}, exp_alerts: \[\]", tests), f"{alert}: no test without it"
        assert re.search(rf"alertname: {alert}\n        exp_alerts:\n", tests), f"{alert}: no test with it"


def main():
    good = True

    def check(name, what, *arguments):
        nonlocal good
        try:
            what(*arguments)
            print(f"ok {name}", flush=True)
        except AssertionError as error:
            good = False
            print(f"FAIL {name}\n{error}", flush=True)

    assert RULES and TESTS
    for rules in RULES:
        check(f"{rules.stem}.uses_exported_metrics_only", uses_exported_metrics_only, rules)
        check(f"{rules.stem}.has_a_test_each", has_a_test_each, rules)
    if shutil.which("promtool") is None:
        print("skip promtool there is no promtool here (Debian: prometheus)")
        return 0 if good else 1
    for rules in RULES:
        check(f"{rules.stem}.is_taken", promtool, "check", "rules", rules)
    for test in TESTS:
        check(test.name.removesuffix(".yml"), promtool, "test", "rules", test)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
