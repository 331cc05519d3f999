#!/usr/bin/env python3
"""Installs what was built, builds examples/payouts against it, and runs it. Usage: installed.py BUILD_FOLDER

The example is built by another project in another folder: it finds nothing of this one but what was installed.
"""

import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/support"))

from processes import Bartleby, wait_for  # noqa: E402

ORDERS = {"alice 50": "paid 50 to alice", "bob 250": "paid 250 to bob"}


def run(*command):
    ran = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=600, check=False)
    if ran.returncode != 0:
        raise AssertionError(f"{' '.join(map(str, command))}\n{ran.stdout}{ran.stderr}")
    return ran.stdout


def build(folder, build_folder):
    prefix = folder / "usr"
    run("cmake", "--install", build_folder, "--prefix", prefix)
    run("cmake", "-S", ROOT / "examples/payouts", "-B", folder / "example", "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release",
        f"-DCMAKE_PREFIX_PATH={prefix}")
    run("cmake", "--build", folder / "example")
    return prefix


def pays(folder):
    """Orders become receipts, the one that the bank was too busy for as well; the one it refuses becomes a letter."""
    server = Bartleby(folder / "example/payouts", folder).start()
    try:
        for order in [*ORDERS, "carol 5000"]:
            status, answer = server.call("POST", "/api/v1/topics/payouts/messages", order)
            assert status // 100 == 2, (status, answer)
        wait_for("the receipts", lambda: len(server.messages("receipts")) == len(ORDERS))
        receipts = {message["value"] for message in server.messages("receipts")}
        assert receipts == set(ORDERS.values()), receipts
        wait_for("the letter", lambda: len(server.messages("payouts.dlq")) == 1)
        assert server.terminate() == 0
    finally:
        server.end()


def main():
    failed = 0
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        try:
            prefix = build(folder, sys.argv[1])
            print("ok installed.the_example_is_built_against_it")
            for line in run(folder / "example/payouts_test").splitlines():
                result, what = line.split(" ", 1)
                print(f"{result} installed.payouts_test.{what.replace(' ', '_')}")
            for name, check in [("the_program_runs", lambda: run(prefix / "bin/bartleby", "version")),
                                ("the_example_pays", lambda: pays(folder))]:
                check()
                print(f"ok installed.{name}")
        except AssertionError as error:
            print(f"FAIL installed\n{error}")
            failed = 1
    return failed


if __name__ == "__main__":
    sys.exit(main())
