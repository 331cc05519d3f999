#!/usr/bin/env python3
"""What the simulation says of one seed: command_line.py SIM. One line a check: `ok NAME` or `FAIL NAME ...`."""

import pathlib
import re
import subprocess
import sys

SEEDS = pathlib.Path(__file__).resolve().parent / "mutant_seeds.h"


def recorded_seed(mutant):
    return re.search(rf'"{mutant}", (\d+)', SEEDS.read_text())[1]


def asked(program, *options):
    done = subprocess.run([program, *options], capture_output=True, text=True, timeout=300, check=False)
    return done.returncode, done.stdout.strip(), done.stderr.strip()


# Deaths that are not counted are seen only where messages kill their process; most of the rest can go.
def names_what_is_left(program):
    seed = recorded_seed("CrashesNotCounted")
    status, said, _ = asked(program, "--seed", seed, "--mutant", "CrashesNotCounted", "--minimise")
    found = re.fullmatch(rf"seed {seed} still fails \((.+)\) with only:((?: [a-z-]+)+)", said)
    left = found[2].split() if found else []
    return status == 1 and "crash-poison" in left and len(left) <= 12, f"{status}: {said}"


def a_seed_that_does_not_fail(program):
    status, said, _ = asked(program, "--seed", "1", "--minimise")
    return (status, said) == (0, "seed 1 does not fail"), f"{status}: {said}"


def not_of_the_office(program):
    status, _, said = asked(program, "--office", "--seed", "1", "--minimise")
    return status == 2 and "--minimise is for seeds of a worker" in said, f"{status}: {said}"


def no_such_mutant(program):
    status, _, said = asked(program, "--seed", "1", "--mutant", "Nobody", "--minimise")
    return status == 2 and "no mutant is called 'Nobody'" in said, f"{status}: {said}"


def main():
    failed = 0
    for check in (names_what_is_left, a_seed_that_does_not_fail, not_of_the_office, no_such_mutant):
        good, said = check(sys.argv[1])
        failed += not good
        print(f"ok minimise_{check.__name__}" if good else f"FAIL minimise_{check.__name__} {said}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
