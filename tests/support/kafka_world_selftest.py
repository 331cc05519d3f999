#!/usr/bin/env python3
"""Checks what tests on Kafka judge by: the order of keys and letters before their commits, on made-up histories."""

import pathlib
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from kafka_world import out_of_turn, without_letters  # noqa: E402

GOOD, BAD = True, False
DEATH = [(0, 1, BAD), (0, 2, BAD), (0, 3, BAD), (0, 4, BAD)]


def check(name, got, expected):
    print(f"ok {name}" if got == expected else f"FAIL {name} got {got}, expected {expected}")
    return got == expected


def main():
    # Two keys: 0, 2 and 4 are of one, 1 and 3 of the other.
    good = check("in_turn", out_of_turn([(0, 1, GOOD), (1, 1, GOOD), (2, 1, GOOD), (3, 1, GOOD), (4, 1, GOOD)], 2), [])
    good &= check("behind_one_that_died", out_of_turn([*DEATH, (2, 1, GOOD)], 2), [])
    good &= check("before_the_last_failure", out_of_turn([*DEATH[:3], (2, 1, GOOD), DEATH[3]], 2), [2])
    good &= check("a_failed_attempt_counts_too", out_of_turn([*DEATH[:3], (2, 1, BAD), DEATH[3]], 2), [2])
    good &= check("a_repeated_attempt_is_not_the_last", out_of_turn([*DEATH[:2], *DEATH[:2], (2, 1, GOOD)], 2), [2])
    good &= check("repetitions_do_not_count", out_of_turn([*DEATH, (2, 1, GOOD), DEATH[3], (2, 1, GOOD)], 2), [])
    good &= check("never_ended", out_of_turn([(2, 1, GOOD)], 2), [2])
    passed = {7: {0: 10, 1: 4}, 8: {0: 10, 1: 4}}
    good &= check("letters_before_their_commits", without_letters(passed, [(7, 0, 9), (8, 1, 3)]), [])
    good &= check("a_letter_after_its_commit", without_letters(passed, [(7, 0, 9), (8, 1, 4)]), [8])
    good &= check("a_commit_without_a_letter", without_letters(passed, [(7, 0, 9)]), [8])
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
