#!/usr/bin/env python3
"""Runs the tests and counts them. The last line is `N passed, N failed, N skipped` over everything.

Two kinds of suites: GoogleTest programs, whose cases are counted one by one, and programs that print a line
`ok NAME ...`, `FAIL NAME ...` or `skip NAME ...` per check. A suite that ends badly without saying which check
failed, runs into its time limit or counts nothing is one failed test. All results go to build/test-results.json.
"""

import argparse
import concurrent.futures
import contextlib
import dataclasses
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
SECONDS_PER_SUITE = 900
SHOWN_LINES = 60
SEEDS_PER_OFFICE = 20


@dataclasses.dataclass
class Suite:
    name: str
    command: list
    kind: str  # "gtest", "lines" (one line per check) or "whole" (the exit status is the one result)
    note: str = ""


@dataclasses.dataclass
class Result:
    name: str
    passed: int = 0
    failures: list = dataclasses.field(default_factory=list)  # (test, output)
    skips: list = dataclasses.field(default_factory=list)  # (test, reason)
    seconds: float = 0.0
    note: str = ""


def tail(output):
    lines = output.rstrip().splitlines()
    cut = [f"... {len(lines) - SHOWN_LINES} lines above"] if len(lines) > SHOWN_LINES else []
    return "\n".join(cut + lines[-SHOWN_LINES:])


def execute(command):
    """Returns (exit status or a sentence, output). The whole process group ends with it, or at the time limit.

    Its words go to a file: servers that a crashed suite has left behind would keep a pipe open.
    """
    with tempfile.TemporaryFile() as words:
        process = subprocess.Popen(command, cwd=ROOT, stdout=words, stderr=subprocess.STDOUT, start_new_session=True)
        try:
            status = process.wait(SECONDS_PER_SUITE)
            if status < 0:
                status = f"ended by signal {-status}"
        except subprocess.TimeoutExpired:
            status = f"took longer than {SECONDS_PER_SUITE} s"
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        words.seek(0)
        return status, words.read().decode(errors="replace")


def gtest_output_of_cases(output):
    """Maps a case to what it printed between its RUN line and its end."""
    texts, current = {}, None
    for line in output.splitlines():
        begin = re.match(r"\[ RUN      \] (\S+)", line)
        end = re.match(r"\[       OK \] |\[  FAILED  \] |\[  SKIPPED \] ", line)
        if begin:
            current = begin.group(1)
            texts[current] = []
        elif end:
            current = None
        elif current:
            texts[current].append(line)
    return {case: "\n".join(lines) for case, lines in texts.items()}, current


def run_gtest(suite, result):
    with tempfile.TemporaryDirectory() as scratch:
        report = pathlib.Path(scratch, "report.json")
        status, output = execute([*suite.command, f"--gtest_output=json:{report}", "--gtest_color=no"])
        texts, running = gtest_output_of_cases(output)
        if not report.exists():  # it died: what it had printed by then is all there is
            result.passed = len(re.findall(r"^\[       OK \] ", output, re.MULTILINE))
            for case in re.findall(r"^\[  FAILED  \] (\S+) \(", output, re.MULTILINE):
                result.failures.append((case, tail(texts.get(case, ""))))
            result.failures.append((running or suite.name, tail(f"{output}\nexit status: {status}")))
            return
        for group in json.loads(report.read_text())["testsuites"]:
            for case in group["testsuite"]:
                name = f"{group['name']}.{case['name']}"
                if case["status"] != "RUN":
                    result.skips.append((name, "disabled"))
                elif case["result"] == "SKIPPED":
                    lines = [line for line in texts.get(name, "").splitlines() if not line.endswith(": Skipped")]
                    result.skips.append((name, " ".join(lines).strip() or "no reason given"))
                elif case.get("failures"):
                    said = "\n".join(failure["failure"] for failure in case["failures"])
                    result.failures.append((name, tail(texts.get(name) or said)))
                else:
                    result.passed += 1
        if status != 0 and not result.failures:
            result.failures.append((suite.name, tail(f"{output}\nexit status: {status}")))


def run_lines(suite, result):
    status, output = execute(suite.command)
    failed, details = None, []
    for line in output.splitlines():
        word, _, rest = line.partition(" ")
        if word in ("ok", "FAIL", "skip") and rest:
            failed = None
            name, _, more = rest.partition(" ")
            if word == "ok":
                result.passed += 1
            elif word == "skip":
                result.skips.append((name, more or "no reason given"))
            else:
                failed, details = name, [more] if more else []
                result.failures.append((name, details))
        elif failed:
            details.append(line)  # what follows a FAIL line belongs to it
    result.failures = [(name, tail("\n".join(lines))) for name, lines in result.failures]
    if status != 0 and not result.failures:
        result.failures.append((suite.name, tail(f"{output}\nexit status: {status}")))


def run_whole(suite, result):
    status, output = execute(suite.command)
    if status == 0:
        result.passed = 1
        last = output.rstrip().splitlines()[-1:] or [""]
        result.note = f"{result.note}; {last[0]}".strip("; ")
    else:
        result.failures.append((suite.name, tail(f"{output}\nexit status: {status}")))


def run_suite(suite):
    result = Result(suite.name, note=suite.note)
    started = time.monotonic()
    try:
        {"gtest": run_gtest, "lines": run_lines, "whole": run_whole}[suite.kind](suite, result)
    except OSError as error:
        result.failures.append((suite.name, f"cannot be run: {error}"))
    if not (result.passed or result.failures or result.skips):
        result.failures.append((suite.name, "no test in it"))
    result.seconds = time.monotonic() - started
    return result


def fresh_seed():
    """A place to start that differs with every commit and is the same for everybody who has that commit."""
    git = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False)
    commit = git.stdout.strip()
    if git.returncode != 0 or not commit:
        return 1, "no commit to derive seeds from"
    return int(commit[:12], 16) % 1_000_000_000 + 1, f"commit {commit[:10]}"


def program_suites(build, seeds):
    """The test programs. Which there are is known from their sources, so that none is left out in silence."""
    tests = ROOT / "tests"
    sources = [("unit_tests", "unit/*.cc"), ("contract_tests", "contract/*.cc"), ("scenario_tests", "scenario/*.cc"),
               ("sim_tests", "sim/*_test.cc"), ("integration_tests", "integration/*.cc")]
    suites = [Suite(name, [str(build / "bin" / name)], "gtest") for name, glob in sources if any(tests.glob(glob))]
    if (tests / "sim/main.cc").exists():
        start, origin = fresh_seed()
        command = [str(build / "bin/sim"), "--seeds", str(seeds), "--from", str(start)]
        suites.append(Suite("sim", command, "whole", f"{seeds} seeds from {start} ({origin})"))
        # A seed of the office writes to a real file: one takes as long as a few dozen of the engine's.
        offices = max(1, seeds // SEEDS_PER_OFFICE)
        command = [str(build / "bin/sim"), "--office", "--seeds", str(offices), "--from", str(start)]
        suites.append(Suite("office_sim", command, "whole", f"{offices} seeds from {start} ({origin})"))
    return suites


def all_suites(build, seeds):
    house = ROOT / "tests/house"
    python = sys.executable
    suites = program_suites(build, seeds)
    if (ROOT / "tests/sim/main.cc").exists():
        command = [python, str(ROOT / "tests/sim/command_line.py"), str(build / "bin/sim")]
        suites.append(Suite("sim_commands", command, "lines"))
        suites.append(Suite("mutants", [str(build / "bin/sim"), "--mutant-seeds"], "lines"))
        suites.append(Suite("office_mutants", [str(build / "bin/sim"), "--office", "--mutant-seeds"], "lines"))
    program = str(ROOT / "build/bartleby")
    suites += [
        Suite("cli", [python, str(house / "cli.py"), program], "lines"),
        Suite("readme", [python, str(house / "readme_session.py"), program], "lines"),
        Suite("installed", [python, str(house / "installed.py"), str(ROOT / "build/release")], "lines"),
        Suite("processes", [python, str(ROOT / "tests/robustness/processes.py"), program, str(build / "bin")], "lines"),
        Suite("deaths", [python, str(ROOT / "tests/robustness/deaths.py"), str(build / "bin/bartleby")], "lines"),
        Suite("crashes", [python, str(ROOT / "tests/robustness/crashes.py"), str(build / "bin/crashing")], "lines"),
        Suite("kafka", [python, str(ROOT / "tests/robustness/kafka.py"), program, str(build / "bin")], "lines"),
        Suite("kafka_consumer", [python, str(ROOT / "tests/robustness/kafka.py"), program, str(build / "bin"),
                                 "--protocol=consumer"], "lines"),
        Suite("kafka_troubles", [python, str(ROOT / "tests/robustness/kafka_troubles.py"), program], "lines"),
        Suite("kafka_copies", [python, str(ROOT / "tests/robustness/kafka_copies.py"), program], "lines"),
        Suite("kafka_replicas", [python, str(ROOT / "tests/robustness/kafka_replicas.py"), program, str(build / "bin")],
              "lines"),
        Suite("kafka_waits", [python, str(ROOT / "tests/robustness/kafka_waits.py"), program, str(build / "bin")],
              "lines"),
        Suite("kafka_logs", [python, str(ROOT / "tests/robustness/kafka_logs.py"), program, str(build / "bin")],
              "lines"),
        Suite("kafka_security", [python, str(ROOT / "tests/robustness/kafka_security.py"), program], "lines"),
        Suite("kafka_letters", [python, str(ROOT / "tests/robustness/kafka_letters.py"), program], "lines"),
        Suite("redis", [python, str(ROOT / "tests/robustness/redis.py"), program], "lines"),
        Suite("alerts", [python, str(ROOT / "tests/robustness/alerts.py"), program], "lines"),
        Suite("escrow", [python, str(ROOT / "tests/robustness/escrow.py"), program], "lines"),
        Suite("tickets", [python, str(ROOT / "tests/robustness/tickets.py"), program], "lines"),
        Suite("webhooks", [python, str(ROOT / "tests/robustness/webhooks.py"), program], "lines"),
        Suite("helm_chart", [python, str(house / "helm_chart.py"), program], "lines"),
        Suite("office_kills", [python, str(ROOT / "tests/robustness/office_kills.py"), program], "lines"),
        Suite("sinks", [python, str(ROOT / "tests/robustness/sinks.py"), program], "lines"),
        Suite("archives", [python, str(ROOT / "tests/robustness/archives.py"), str(build / "bin/bartleby")], "lines"),
        Suite("loads", [python, str(ROOT / "tests/robustness/loads.py"), program], "lines"),
        Suite("disk_full", [python, str(ROOT / "tests/robustness/disk_full.py"), program], "lines"),
        Suite("hostile_http", [python, str(ROOT / "tests/robustness/hostile_http.py"), program], "lines"),
        Suite("api", [python, str(ROOT / "tests/robustness/api.py"), program], "lines"),
        Suite("desk", [python, str(ROOT / "tests/robustness/desk.py"), program], "lines"),
        Suite("operations", [python, str(ROOT / "tests/robustness/operations.py"), program], "lines"),
        Suite("many_letters", [python, str(ROOT / "tests/robustness/many_letters.py"), program], "lines"),
        Suite("replays", [python, str(ROOT / "tests/robustness/replays.py"), program], "lines"),
        Suite("demo", [python, str(ROOT / "tests/robustness/demo.py"), program], "lines"),
        Suite("access", [python, str(ROOT / "tests/robustness/access.py"), program], "lines"),
        Suite("channels", [python, str(ROOT / "tests/robustness/channels.py"), program], "lines"),
        Suite("consumers", [python, str(ROOT / "tests/robustness/consumers.py"), program], "lines"),
        Suite("api_spec", [python, str(ROOT / "tests/robustness/api_spec.py"), program], "lines"),
        Suite("web", ["node", str(ROOT / "tests/web/run.mjs"), program], "lines"),
        Suite("hardening", [python, str(house / "hardening.py"), program], "lines"),
        Suite("include_graph", [python, str(house / "include_graph.py")], "lines"),
        Suite("house_rules", [python, str(house / "house_rules.py")], "lines"),
        Suite("prometheus_rules", [python, str(house / "prometheus_rules.py")], "lines"),
        Suite("test_runner", [python, str(ROOT / "tests/support/run_tests_selftest.py")], "lines"),
        Suite("test_servers", [python, str(ROOT / "tests/support/script_server_selftest.py")], "lines"),
        Suite("test_judges", [python, str(ROOT / "tests/support/kafka_world_selftest.py")], "lines"),
    ]
    return suites


def report(result):
    counts = f"{result.passed} passed"
    if result.failures:
        counts += f", {len(result.failures)} FAILED"
    if result.skips:
        counts += f", {len(result.skips)} skipped"
    note = f"  ({result.note})" if result.note else ""
    print(f"{result.name:<15}{result.seconds:7.1f} s  {counts}{note}")
    for test, reason in result.skips:
        print(f"  skipped {test}: {reason}")
    for test, output in result.failures:
        print(f"  FAILED {test}")
        print("    " + output.replace("\n", "\n    "))
    sys.stdout.flush()


def write_results(path, results, seconds):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({
        "passed": sum(result.passed for result in results),
        "failed": sum(len(result.failures) for result in results),
        "skipped": sum(len(result.skips) for result in results),
        "seconds": round(seconds, 2),
        "suites": [{
            "name": result.name,
            "note": result.note,
            "seconds": round(result.seconds, 2),
            "passed": result.passed,
            "failures": [{"test": test, "output": output} for test, output in result.failures],
            "skips": [{"test": test, "reason": reason} for test, reason in result.skips],
        } for result in results],
    }, indent=2) + "\n")


def run(suites, results_path):
    started = time.monotonic()
    # The simulation uses all cores by itself, so it runs alone; the others share them.
    alone = [suite for suite in suites if suite.name in ("sim", "mutants", "office_sim", "office_mutants")]
    shared = [suite for suite in suites if suite not in alone]
    results = []
    with concurrent.futures.ThreadPoolExecutor(max_workers=os.cpu_count() or 1) as pool:
        for result in pool.map(run_suite, shared):
            report(result)
            results.append(result)
    for suite in alone:
        results.append(run_suite(suite))
        report(results[-1])
    if results_path:
        write_results(results_path, results, time.monotonic() - started)
    passed = sum(result.passed for result in results)
    failed = sum(len(result.failures) for result in results)
    skipped = sum(len(result.skips) for result in results)
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed or not passed else 0


def main():
    parser = argparse.ArgumentParser(description="Runs the tests and counts them.")
    parser.add_argument("--build", default="build/simrel", help="folder of the build whose programs are run")
    parser.add_argument("--seeds", type=int, default=3000, help="how many lives to simulate")
    parser.add_argument("--programs", action="store_true", help="test programs only, no checks of the house")
    parser.add_argument("--only", action="append", help="run this suite only (can be repeated)")
    parser.add_argument("--results", default="build/test-results.json", help="where to write results; '' for nowhere")
    options = parser.parse_args()

    build = ROOT / options.build
    suites = program_suites(build, options.seeds) if options.programs else all_suites(build, options.seeds)
    if options.only:
        suites = [suite for suite in suites if suite.name in options.only]
    return run(suites, ROOT / options.results if options.results else None)


if __name__ == "__main__":
    sys.exit(main())
