"""JSON-like values as YAML, one way to write each: for documents that are made by a program and kept for people."""

import json


def scalar(value):
    return json.dumps(value, ensure_ascii=False)


def name(key):
    plain = key.replace("_", "").replace("-", "").isalnum() and not key.isdigit()
    return key if plain and key.lower() not in ("null", "true", "false", "yes", "no", "on", "off") else scalar(key)


def is_nested(value):
    return isinstance(value, (dict, list)) and len(value) > 0


def lines(value, indent):
    space = "  " * indent
    if isinstance(value, dict):
        for key, inner in value.items():
            if is_nested(inner):
                yield f"{space}{name(key)}:"
                yield from lines(inner, indent + 1)
            else:
                yield f"{space}{name(key)}: {scalar(inner)}"
        return
    for inner in value:
        if not is_nested(inner):
            yield f"{space}- {scalar(inner)}"
            continue
        first, *rest = lines(inner, indent + 1)
        yield f"{space}- {first.strip()}"
        yield from rest


def text(value):
    return "\n".join(lines(value, 0)) + "\n"


def self_test():
    value = {"a": [1, {"b": [], "c": "x: \"y\""}, ["z"]], "200": {}, "no": None, "/p/{id}": True}
    expected = 'a:\n  - 1\n  - b: []\n    c: "x: \\"y\\""\n  - - "z"\n"200": {}\n"no": null\n"/p/{id}": true\n'
    assert text(value) == expected, text(value)
