#!/usr/bin/env python3
"""Who may include whom. Fails when a folder includes what it may not.

    include <- base <- model <- {codec, ports} <- {engine <- runtime | office | watch | adapters}
            <- {server, cli} <- wiring <- main

Runtime and office never include each other. Adapters never include one another, and only wiring names them; a thin
layer over a library that several adapters use (LAYERS) is no adapter: each may include it, and it includes none.
The public headers and the pure folders (model, ports, engine) use the standard library and nothing else from outside.
"""

import pathlib
import re
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]

CORE = {"bartleby", "base", "model", "codec", "ports"}
WORK = CORE | {"engine", "runtime", "office", "watch"}
# A folder may always include itself ("bartleby" stands for include/bartleby).
MAY_INCLUDE = {
    "bartleby": set(),
    "base": {"bartleby"},
    "model": {"bartleby", "base"},
    "codec": {"bartleby", "base", "model"},
    "ports": {"bartleby", "base", "model"},
    "engine": CORE,
    "runtime": CORE | {"engine"},
    "office": CORE,
    "watch": CORE,
    "adapters": CORE,
    "server": WORK,
    "cli": WORK,
    "wiring": WORK | {"adapters", "server", "cli"},
    "main.cc": WORK | {"adapters", "server", "cli", "wiring"},
}
LAYERS = {("sqlite",)}  # below src/adapters
STANDARD_LIBRARY_ONLY = {"bartleby", "model", "ports", "engine"}

STANDARD_LIBRARY = set("""
    algorithm any array atomic barrier bit bitset charconv chrono compare complex concepts condition_variable
    coroutine deque exception execution expected filesystem forward_list fstream functional future
    initializer_list iomanip ios iosfwd iostream istream iterator latch limits list locale map memory
    memory_resource mutex new numbers numeric optional ostream queue random ranges ratio regex scoped_allocator
    semaphore set shared_mutex source_location span spanstream sstream stack stdexcept stop_token streambuf string
    string_view syncstream system_error thread tuple type_traits typeindex typeinfo unordered_map unordered_set
    utility valarray variant vector version cassert cctype cerrno cfenv cfloat cinttypes climits clocale cmath
    csetjmp csignal cstdarg cstddef cstdint cstdio cstdlib cstring ctime cuchar cwchar cwctype
""".split())

INCLUDE = re.compile(r'^\s*#\s*include\s*(?:"([^"]+)"|<([^>]+)>)', re.MULTILINE)


def sources(root):
    for top in ("src", "include"):
        yield from sorted(path for path in (root / top).rglob("*") if path.suffix in (".cc", ".h", ".inc"))


def folder_of(relative):
    """The name under which a file or an include path appears in MAY_INCLUDE."""
    parts = pathlib.PurePosixPath(relative).parts
    return parts[1] if parts[0] in ("src", "include") else parts[0]


def adapter_of(inside_src):
    """adapters/store/sqlite/x.h -> ("store", "sqlite"); a file shared by one kind of adapters -> ("store",)."""
    return pathlib.PurePosixPath(inside_src).parts[1:-1]


def complaint(relative, quoted, angled):
    """What is wrong with one include line of the file at `relative`, or None."""
    here = folder_of(relative)
    if here not in MAY_INCLUDE:
        return f"src/{here} is not a folder of the picture"
    if angled and not angled.startswith("bartleby/"):
        if here in STANDARD_LIBRARY_ONLY and angled not in STANDARD_LIBRARY:
            return f"<{angled}>: {here} uses the standard library only"
        return None
    target = quoted or angled
    if ".." in target.split("/") or "/" not in target:
        return f'"{target}": write the path from src/ (or <bartleby/...>)'
    there = folder_of(target)
    if quoted and there == "bartleby":
        return f'"{target}": public headers are included with <>'
    if there not in MAY_INCLUDE:
        return f'"{target}": there is no such folder in the picture'
    if here == there == "adapters":
        mine, other = adapter_of(relative.removeprefix("src/")), adapter_of(target)
        allowed = mine[: len(other)] == other or other in LAYERS
        return None if allowed else f'"{target}": adapters never include one another'
    if here != there and there not in MAY_INCLUDE[here]:
        return f'"{target}": {here} may not include {there}'
    return None


def violations(root):
    found = []
    for path in sources(root):
        relative = path.relative_to(root).as_posix()
        text = path.read_text(encoding="utf-8")
        for match in INCLUDE.finditer(text):
            wrong = complaint(relative, match.group(1), match.group(2))
            if wrong:
                line = text.count("\n", 0, match.start(match.lastindex)) + 1
                found.append(f"{relative}:{line}: {wrong}")
    return found


# Each file breaks one rule, or none.
SELF_TEST = [
    ("src/base/a.h", "#include <vector>", True),
    ("src/base/b.h", '#include "model/x.h"', False),
    ("src/model/a.h", '#include "base/a.h"', True),
    ("src/model/b.h", "#include <simdjson.h>", False),
    ("src/codec/a.cc", "#include <simdjson.h>", True),
    ("src/codec/b.cc", '#include "ports/x.h"', False),
    ("src/ports/a.h", '#include "codec/x.h"', False),
    ("src/engine/a.cc", '#include "codec/a.h"\n#include "ports/a.h"\n#include "engine/a.h"', True),
    ("src/engine/b.cc", '#include "runtime/x.h"', False),
    ("src/engine/c.cc", '#include "a.h"', False),
    ("src/engine/d.cc", '#include "../base/a.h"', False),
    ("src/engine/e.cc", "#include <pthread.h>", False),
    ("src/engine/f.cc", '#include "sim/broker.h"', False),
    ("src/runtime/a.cc", '#include "engine/a.h"', True),
    ("src/runtime/b.cc", '#include "office/x.h"', False),
    ("src/runtime/c.cc", '#include "adapters/broker/kafka/x.h"', False),
    ("src/office/a.cc", '#include "runtime/a.h"', False),
    ("src/office/b.cc", '#include "engine/a.h"', False),
    ("src/adapters/store/sqlite/a.cc", '#include "adapters/store/sqlite/a.h"\n#include <sqlite3.h>', True),
    ("src/adapters/store/sqlite/b.cc", '#include "adapters/store/statements.h"', True),
    ("src/adapters/store/sqlite/c.cc", '#include "adapters/store/postgres/x.h"', False),
    ("src/adapters/store/d.cc", '#include "adapters/store/sqlite/a.h"', False),
    ("src/adapters/store/sqlite/e.cc", '#include "adapters/sqlite/sqlite.h"', True),
    ("src/adapters/broker/embedded/a.cc", '#include "adapters/sqlite/sqlite.h"', True),
    ("src/adapters/sqlite/a.cc", '#include "adapters/sqlite/sqlite.h"', True),
    ("src/adapters/sqlite/b.cc", '#include "adapters/store/sqlite/a.h"', False),
    ("src/office/c.cc", '#include "adapters/sqlite/sqlite.h"', False),
    ("src/adapters/sink/mongodb/a.cc", '#include "adapters/store/sqlite/a.h"', False),
    ("src/server/a.cc", '#include "office/a.h"', True),
    ("src/server/b.cc", '#include "cli/a.h"', False),
    ("src/server/c.cc", '#include "wiring/a.h"', False),
    ("src/wiring/a.cc", '#include "adapters/store/sqlite/a.h"\n#include "server/a.h"', True),
    ("src/main.cc", '#include "wiring/a.h"', True),
    ("src/utilities/a.cc", "#include <vector>", False),
    ("include/bartleby/a.h", "#include <bartleby/b.h>\n#include <string>", True),
    ("include/bartleby/b.h", '#include "base/a.h"', False),
    ("include/bartleby/c.h", "#include <fmt/format.h>", False),
    ("src/base/c.h", "#include <bartleby/a.h>", True),
    ("src/base/d.h", '#  include "engine/a.h"', False),
]


def self_test():
    """Every rule must fail on a file that breaks it, and on no other."""
    with tempfile.TemporaryDirectory() as scratch:
        root = pathlib.Path(scratch)
        for name, text, _ in SELF_TEST:
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text + "\n")
        blamed = {line.split(":")[0] for line in violations(root)}
    return [f"{name}: {'wrongly blamed' if allowed else 'not noticed'}"
            for name, _, allowed in SELF_TEST if allowed == (name in blamed)]


def main():
    good = True
    for name, found in (("self_test", self_test()), ("include_graph", violations(ROOT))):
        print("\n".join([f"FAIL {name}"] + found) if found else f"ok {name}")
        good &= not found
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
