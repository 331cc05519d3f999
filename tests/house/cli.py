#!/usr/bin/env python3
"""Checks what the command line promises: output on stdout, complaints on stderr, exit status. Usage: cli.py PROGRAM"""

import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


def main():
    program = sys.argv[1]
    good = True

    def check(name, arguments, status, out, err):
        nonlocal good
        ran = subprocess.run([program, *arguments], capture_output=True, text=True, timeout=10, check=False)
        passed = ran.returncode == status and re.search(out, ran.stdout) and re.search(err, ran.stderr)
        good &= bool(passed)
        print(f"ok {name}" if passed else f"FAIL {name} exit status {ran.returncode}\n{ran.stdout}{ran.stderr}")

    version = re.search(r"project\(bartleby VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text()).group(1)
    exactly = rf"\Abartleby {re.escape(version)}\n\Z"
    nothing = r"\A\Z"
    check("version", ["version"], 0, exactly, nothing)
    check("version_as_option", ["--version"], 0, exactly, nothing)
    check("help_lists_commands", ["help"], 0, r"(?s)usage: .*\n  send .*\n  version .*\n  help ", nothing)
    check("help_as_option", ["--help"], 0, "usage: ", nothing)
    check("no_command", [], 2, nothing, "bartleby help")
    check("unknown_command_suggests_the_nearest", ["versoin"], 2, nothing, "did you mean 'bartleby version'")
    check("unknown_command_far_from_all", ["frobnicate"], 2, nothing, r"\A(?!.*did you mean)(?s:.*)bartleby help")
    # Nagios takes 2 for critical, and nobody knows that yet.
    check("a_mistake_for_nagios_is_unknown", ["check", "--wran", "1"], 3, nothing, "--warn")
    check("surplus_argument", ["version", "7"], 2, nothing, "takes no argument")
    away = ["--server", "http://127.0.0.1:1"]
    usage = {
        "unknown_verb": (["workers", "pasue", "x"], "did you mean 'bartleby workers pause'"),
        "verb_missing": (["parked"], r"usage: bartleby parked ls\|run-now\|give-up"),
        "operand_missing": (["explain"], "explain needs WORKER"),
        "unknown_option_suggests_the_nearest": (["send", "t", "v", "--ley", "k"], "did you mean '--key'"),
        "value_missing": (["tail", "t", "--from"], "--from needs WHERE"),
        "wrong_choice": (["completion", "tcsh"], "SHELL is one of bash, zsh, fish"),
        "wrong_number": (["receiver", "--port", "70000"], "--port is a number from 0 to 65535"),
        "order_without_selection": (["parked", "give-up", "w"], "say which"),
        "config_file_missing": (["config", "check", "-c", "no-such-file.yaml"], "no-such-file.yaml"),
        "unknown_option_before_the_command": (["--frob", "topics", "ls"], "no option '--frob'"),
    }
    for name, (arguments, err) in usage.items():
        check(name, arguments, 2, nothing, err)
    check("server_away", [*away, "topics", "ls"], 8, nothing, "bartleby serve")
    check("config_env", ["config", "env"], 0, "BARTLEBY__LISTEN", nothing)
    commands = subprocess.run([program, "help"], capture_output=True, text=True, timeout=10, check=True).stdout
    for words in re.findall(r"^  ([a-z]+(?: [a-z][a-z-]*)?)(?:  |$)", commands, re.MULTILINE):
        check("help_of_" + words.replace(" ", "_"), [*words.split(), "--help"], 0, "(?s)usage: .*bartleby", nothing)
    for shell, start in (("bash", "complete -F _bartleby bartleby"), ("zsh", "#compdef bartleby"),
                         ("fish", "complete -c bartleby -f")):
        check("completion_" + shell, ["completion", shell], 0, start, nothing)
    if shutil.which("bash"):
        completes = (f"source <({program} completion bash); COMP_WORDS=(bartleby workers pa); COMP_CWORD=2; _bartleby;"
                     " echo ${COMPREPLY[@]}; COMP_WORDS=(bartleby tail t --fo); COMP_CWORD=3; _bartleby;"
                     " echo ${COMPREPLY[@]}")
        ran = subprocess.run(["bash", "-c", completes], capture_output=True, text=True, timeout=10, check=False)
        passed = ran.stdout == "pause\n--follow\n"
        good &= passed
        print("ok completion_in_bash" if passed else f"FAIL completion_in_bash\n{ran.stdout}{ran.stderr}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
