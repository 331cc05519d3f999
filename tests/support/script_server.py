"""Servers that a script of the project gets, starts and stops, in a scratch folder.

`Missing`: it cannot be had here, and why. Whoever can have it must be able to start it: a failed start is tried once
more, because another process may have taken a port in between, and then raises `NotStarted`, which no test may skip.
"""

import subprocess


class Missing(Exception):
    pass


class NotStarted(Exception):
    pass


def call(script, *words, seconds=1800):
    return subprocess.run([script, *words], capture_output=True, text=True, timeout=seconds, check=False)


def start(script, folder, *how):
    """What the script prints: the server's address."""
    got = call(script, "get")
    if got.returncode != 0:
        raise Missing(got.stderr.strip().splitlines()[-1] if got.stderr.strip() else f"{script.name} get failed")
    for _ in range(2):
        done = call(script, "start", *how, folder)
        if done.returncode == 0:
            return done.stdout.strip()
        stop(script, folder)
    raise NotStarted(f"{script.name} start failed twice: {done.stderr.strip()[-2000:]}")


def stop(script, folder):
    call(script, "stop", folder, seconds=120)
