#!/usr/bin/env python3
"""The house rules that a command can check. One line per rule; below a FAIL line, what breaks it.

Each rule is a function from a tree of files to a list of complaints, and has a small file in SELF_TEST that breaks
it: a rule that does not notice its own example fails.
"""

import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]

MAX_LINES = 500
MAX_COLUMNS = 120
HEADER_COMMENT_LINES = range(2, 15)

PURE_FOLDERS = ("src/engine/", "src/codec/", "src/model/")
# The same seed must give the same bytes: no order from addresses or std::hash, no clock, no thread.
IMPURE = re.compile(
    r"std::unordered_\w+|std::hash\b|std::s?rand\b|std::random_device|std::j?thread\b|std::async\b"
    r"|\b(?:system|steady|high_resolution)_clock::now\b|\b[a-z]*sleep(?:_for|_until)?\s*\(")
UNFINISHED = re.compile(r"\b(?:" + "TO" + "DO|FIX" + "ME|XX" + r"X)\b")
SOMEBODYS_MACHINE = re.compile(r"(?<![\w.~})-])/(?:" + "work|home|ro" + r"ot|Users)/")
STRING_OR_COMMENT = re.compile(r'"(?:\\.|[^"\\\n])*"|//[^\n]*|/\*.*?\*/', re.DOTALL)


class Tree:
    """The files of the project: what git tracks or would track; without git, everything but build/."""

    def __init__(self, root):
        self.root = root
        command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
        git = (root / ".git").exists() and subprocess.run(command, cwd=root, capture_output=True, check=False)
        if git and git.returncode == 0:
            names = git.stdout.decode().split("\0")
        else:
            names = [path.relative_to(root).as_posix() for path in root.rglob("*")]
            names = [name for name in names if not name.startswith((".git/", "build/"))]
        self.names = sorted(name for name in set(names) if (root / name).is_file())
        self.texts = {}

    def text(self, name):
        if name not in self.texts:
            data = (self.root / name).read_bytes()
            self.texts[name] = "" if b"\0" in data else data.decode("utf-8", errors="replace")
        return self.texts[name]

    def named(self, *endings):
        return [name for name in self.names if name.endswith(endings)]

    def lines(self, names):
        for name in names:
            for number, line in enumerate(self.text(name).splitlines(), 1):
                yield name, number, line

    def code(self, name):
        """The text without comments and strings; line numbers stay."""
        return STRING_OR_COMMENT.sub(lambda match: "\n" * match.group().count("\n"), self.text(name))


def matches(tree, names, pattern, why):
    return [f"{name}:{number}: {match.group().strip()}: {why}"
            for name, number, line in tree.lines(names) if (match := pattern.search(line))]


def no_drawer_for_everything(tree):
    drawers = {"util", "utils", "common", "helper", "helpers", "misc"}
    return [f"{name}: no folder of that name" for name in tree.names
            if drawers & set(pathlib.PurePosixPath(name).parts[:-1])]


def headers_say_what_they_are(tree):
    found = []
    for name in tree.named(".h"):
        comment = 0
        for line in tree.text(name).splitlines():
            if not line.startswith("//"):
                break
            comment += 1
        if comment not in HEADER_COMMENT_LINES:
            wanted = f"{HEADER_COMMENT_LINES.start} to {HEADER_COMMENT_LINES.stop - 1}"
            found.append(f"{name}: starts with a comment of {comment} lines, not {wanted}")
    return found


def headers_are_read_once(tree):
    return [f"{name}: no #pragma once" for name in tree.named(".h")
            if not re.search(r"^#pragma once$", tree.text(name), re.MULTILINE)]


def files_are_short(tree):
    return [f"{name}: {count} lines, more than {MAX_LINES}"
            for name in tree.named(".cc", ".h", ".inc", ".ts", ".tsx", ".mjs", ".css")
            if name.startswith(("src/", "include/", "tests/", "web/"))
            and (count := len(tree.text(name).splitlines())) > MAX_LINES]


def lines_are_short(tree):
    names = tree.named(".cc", ".h", ".inc", ".py", ".cmake", "CMakeLists.txt", ".ts", ".tsx", ".mjs", ".css")
    return [f"{name}:{number}: {len(line)} columns, more than {MAX_COLUMNS}"
            for name, number, line in tree.lines(names) if len(line) > MAX_COLUMNS]


def pure_folders_are_pure(tree):
    found = []
    for name in tree.named(".cc", ".h", ".inc"):
        if name.startswith(PURE_FOLDERS):
            for number, line in enumerate(tree.code(name).splitlines(), 1):
                if match := IMPURE.search(line):
                    found.append(f"{name}:{number}: {match.group()}: not in {name.rsplit('/', 1)[0]}")
    return found


def nothing_is_left_for_later(tree):
    return matches(tree, tree.names, UNFINISHED, "finish it or leave it out")


def no_namespace_is_poured_out(tree):
    pattern = re.compile(r"^\s*using namespace std\s*;")
    return matches(tree, tree.named(".cc", ".h"), pattern, "name what is used")


def no_path_of_somebodys_machine(tree):
    return matches(tree, tree.names, SOMEBODYS_MACHINE, "path of one machine")


def spaces_not_tabs(tree):
    # make and gofmt want tabs
    names = [name for name in tree.names
             if pathlib.PurePosixPath(name).name != "Makefile" and not name.endswith(".go")]
    pattern = re.compile(r"^ *\t")
    return [f"{name}:{number}: indented by a tab" for name, number, line in tree.lines(names) if pattern.match(line)]


def file_names_are_snake_case(tree):
    pattern = re.compile(r"[a-z][a-z0-9_]*\.(cc|h|inc|py|cmake)")
    return [f"{name}: not snake_case" for name in tree.named(".cc", ".h", ".inc", ".py", ".cmake")
            if not pattern.fullmatch(pathlib.PurePosixPath(name).name)]


def prose(text):
    """Markdown without code blocks and code spans."""
    text = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    return re.sub(r"`[^`\n]*`", "", text)


def links_lead_somewhere(tree):
    found = []
    for name in tree.named(".md"):
        for target in re.findall(r"\]\(<?([^)\s>]+)>?[^)]*\)", prose(tree.text(name))):
            path = target.split("#")[0]
            if not path or re.match(r"[a-z]+:", path):
                continue
            base = tree.root if path.startswith("/") else (tree.root / name).parent
            if not (base / path.lstrip("/")).exists():
                found.append(f"{name}: {target} does not exist")
    return found


def make_targets_exist(tree):
    """What `make help` or a document names is a target, and every target for people is in `make help`."""
    if "Makefile" not in tree.names:
        return []
    makefile = tree.text("Makefile")
    rules = set(re.findall(r"^([a-z][a-z-]*):(?!=)", makefile, re.MULTILINE))
    helped = set(re.findall(r"^([a-z]+):[^#\n]*## \S", makefile, re.MULTILINE))
    shown = subprocess.run(["make", "help"], cwd=tree.root, capture_output=True, text=True, check=False).stdout
    listed = set(re.findall(r"^  ([a-z]+) ", shown, re.MULTILINE))
    found = [f"make help does not show: {target}" for target in sorted(helped - listed)]
    found += [f"make help shows what is no target: {target}" for target in sorted(listed - rules)]
    found += [f"target without a line in make help: {target}"
              for target in sorted(rules - helped) if "-" not in target]
    for name in tree.named(".md"):
        for span in re.findall(r"`([^`\n]+)`|^\s*\$?\s*(make [^\n#]*)", tree.text(name), re.MULTILINE):
            words = (span[0] or span[1]).split()
            if words[:1] != ["make"]:
                continue
            found += [f"{name}: make {word}: no such target"
                      for word in words[1:] if re.fullmatch(r"[a-z-]+", word) and word not in rules][:1]
    return found


def scripts_stop_at_errors(tree):
    return [f"{name}: no `set -euo pipefail`" for name in tree.names
            if re.match(r"#!.*\b(ba)?sh\b", tree.text(name)[:80]) and "\nset -euo pipefail\n" not in tree.text(name)]


RULES = [no_drawer_for_everything, headers_say_what_they_are, headers_are_read_once, files_are_short, lines_are_short,
         pure_folders_are_pure, nothing_is_left_for_later, no_namespace_is_poured_out, no_path_of_somebodys_machine,
         spaces_not_tabs, file_names_are_snake_case, links_lead_somewhere, make_targets_exist, scripts_stop_at_errors]

GOOD_HEADER = "// A box.\n// It holds one thing.\n#pragma once\n"
# Files that break a rule, by rule. Between them they must break no other.
SELF_TEST = {
    no_drawer_for_everything: {"src/utils/box.cc": ""},
    headers_say_what_they_are: {
        "src/base/short.h": "// A box.\n#pragma once\n", "src/base/long.h": "// x\n" * 15 + "#pragma once\n"},
    headers_are_read_once: {"src/base/box.h": "// A box.\n// It holds one thing.\n"},
    files_are_short: {"src/base/box.cc": "\n" * 501, "web/src/box.ts": "\n" * 501},
    lines_are_short: {"src/base/box.cc": "x" * 121, "web/src/box.tsx": "x" * 121},
    pure_folders_are_pure: {
        "src/engine/a.cc": "std::unordered_map<int, int> m;", "src/codec/b.cc": "std::hash<int> h;",
        "src/model/c.cc": "auto t = std::chrono::steady_clock::now();", "src/engine/d.cc": "usleep(1);",
        "src/engine/e.cc": "std::jthread t;", "src/engine/f.cc": "std::this_thread::sleep_for(x);",
        "src/engine/g.cc": "int n = std::rand();"},
    nothing_is_left_for_later: {"src/base/box.cc": "// TO" + "DO: a lid\n", "docs/b.md": "FIX" + "ME"},
    no_namespace_is_poured_out: {"src/base/box.cc": "using namespace std;\n"},
    no_path_of_somebodys_machine: {"scripts_list": "/ho" + "me/me/box", "b.md": "see /wo" + "rk/box"},
    spaces_not_tabs: {"src/base/box.cc": "\tint x;\n", "b.py": "  \tx\n"},
    file_names_are_snake_case: {"src/base/BigBox.cc": "", "big-box.py": ""},
    links_lead_somewhere: {"docs/a.md": "[a box](box.md)", "docs/b.md": "[c](../src/box.cc#L3)"},
    make_targets_exist: {"Makefile": "help: ## this\n\t@echo '  gone  x'\nbox:\n\t@true\n", "a.md": "`make lid`"},
    scripts_stop_at_errors: {"tool": "#!/usr/bin/env bash\necho\n"},
}
CLEAN = {
    "src/engine/box.h": GOOD_HEADER, "src/engine/box.cc": "// Nothing sleeps (here).\nauto s = \"std::hash\";\n",
    "docs/a.md": "[b](b.md#part) [web](https://example.org) `[no](link)` [top](#top)", "docs/b.md": "`make box`",
    "Makefile": "box: ## a box\n\t@true\nhelp: ## this\n\t@printf '  box  a box\\n  help this\\n'\n",
    "tool": "#!/usr/bin/env bash\nset -euo pipefail\n", "src/adapters/a.cc": "std::thread t;\n",
    "examples/a.go": "\tx()\n",
}


def tree_of(files, scratch):
    for name, text in files.items():
        path = pathlib.Path(scratch, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return Tree(pathlib.Path(scratch))


def self_test():
    found = []
    for broken, files in [(None, CLEAN), *SELF_TEST.items()]:
        with tempfile.TemporaryDirectory() as scratch:
            tree = tree_of(files, scratch)
            complaints = {rule: rule(tree) for rule in RULES}
        for rule, said in complaints.items():
            if rule is not broken and said:
                found.append(f"{rule.__name__} complains without reason: {said}")
        if broken and len(complaints[broken]) < len(files):
            found.append(f"{broken.__name__} does not notice all of {sorted(files)}: {complaints[broken]}")
    found += [f"{rule.__name__} has no example that breaks it" for rule in RULES if rule not in SELF_TEST]
    return found


def main():
    tree = Tree(ROOT)
    good = True
    for name, found in [("self_test", self_test()), *((rule.__name__, rule(tree)) for rule in RULES)]:
        print("\n".join([f"FAIL {name}"] + found) if found else f"ok {name}")
        good &= not found
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
