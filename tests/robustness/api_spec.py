#!/usr/bin/env python3
"""docs/open-api-spec/api-spec.yaml describes the routes that there are. Usage: api_spec.py PROGRAM

`scripts/api-spec` runs this with BARTLEBY_WRITE_DOCS set, and then the file is written.
"""

import os
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import yaml_text  # noqa: E402
from processes import Bartleby  # noqa: E402

SPEC = pathlib.Path(__file__).resolve().parents[2] / "docs/open-api-spec/api-spec.yaml"
HEAD = "# Written by scripts/api-spec from what the routes say of themselves, as at /openapi.json of a server.\n"


def main():
    yaml_text.self_test()
    with tempfile.TemporaryDirectory() as folder:
        bartleby = Bartleby(pathlib.Path(sys.argv[1]).resolve(), folder, []).start()
        try:
            document = bartleby.get("/openapi.json")
        finally:
            bartleby.end()
    text = HEAD + yaml_text.text(document)
    if os.environ.get("BARTLEBY_WRITE_DOCS"):
        SPEC.parent.mkdir(parents=True, exist_ok=True)
        SPEC.write_text(text)
    if not SPEC.exists() or SPEC.read_text() != text:
        print(f"FAIL api_spec {SPEC.name} is not what the routes say: run scripts/api-spec")
        return 1
    print("ok api_spec")
    return 0


if __name__ == "__main__":
    sys.exit(main())
