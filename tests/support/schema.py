"""Checks a value against the part of JSON Schema that our OpenAPI document uses; other keywords are an error."""

import re

TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None), "integer": int}
KNOWN = {"type", "enum", "required", "properties", "additionalProperties", "items", "minItems", "maxItems", "anyOf",
         "$ref", "pattern", "maxLength", "description"}


def has_type(value, name):
    if name == "integer":
        return isinstance(value, int) and not isinstance(value, bool)
    return isinstance(value, TYPES[name])


def complaints(value, schema, root, at=""):
    unknown = set(schema) - KNOWN
    assert not unknown, f"the schema says {unknown}, which is not checked here"
    if "$ref" in schema:
        target = root
        for part in schema["$ref"].removeprefix("#/").split("/"):
            target = target[part]
        return complaints(value, target, root, at)
    found = []
    if "type" in schema:
        types = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
        if not any(has_type(value, name) for name in types):
            return [f"{at or '/'}: {value!r} is not {types}"]
    if "enum" in schema and value not in schema["enum"]:
        found.append(f"{at or '/'}: {value!r} is none of {schema['enum']}")
    if "anyOf" in schema and all(complaints(value, one, root, at) for one in schema["anyOf"]):
        found.append(f"{at or '/'}: {value!r} is none of the alternatives")
    if isinstance(value, str) and not re.search(schema.get("pattern", ""), value):
        found.append(f"{at or '/'}: {value!r} does not match {schema['pattern']}")
    if isinstance(value, str) and len(value) > schema.get("maxLength", len(value)):
        found.append(f"{at or '/'}: {len(value)} characters")
    if isinstance(value, list):
        if not schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", len(value)):
            found.append(f"{at or '/'}: {len(value)} items")
        for i, item in enumerate(value):
            found += complaints(item, schema.get("items", {}), root, f"{at}/{i}")
    if isinstance(value, dict):
        found += [f"{at}/{name}: missing" for name in schema.get("required", []) if name not in value]
        more = schema.get("additionalProperties", True)
        for name, item in value.items():
            inside = schema.get("properties", {}).get(name)
            if inside is None and more is False:
                found.append(f"{at}/{name}: not in the schema")
            elif inside is not None or isinstance(more, dict):
                found += complaints(item, inside if inside is not None else more, root, f"{at}/{name}")
    return found


def self_test():
    root = {"n": {"type": "integer"}}
    schema = {"type": "object", "required": ["a"], "additionalProperties": False, "properties": {
        "a": {"$ref": "#/n"}, "b": {"type": ["string", "null"], "pattern": "^x"},
        "c": {"enum": [1, 2]}, "f": {"type": "string", "maxLength": 2},
        "d": {"type": "array", "items": {"$ref": "#/n"}, "maxItems": 2},
        "e": {"anyOf": [{"type": "null"}, {"type": "object", "additionalProperties": {"$ref": "#/n"}}]}}}
    good = [{"a": 1}, {"a": 1, "b": None}, {"a": 1, "b": "xy", "c": 2, "d": [1, 2], "e": {"k": 3}, "f": "xy"}]
    bad = [[], {}, {"a": True}, {"a": "1"}, {"a": 1, "z": 1}, {"a": 1, "b": "y"}, {"a": 1, "c": 3},
           {"a": 1, "d": [1.5]}, {"a": 1, "d": [1, 2, 3]}, {"a": 1, "e": {"k": "3"}}, {"a": 1, "e": 1},
           {"a": 1, "f": "xyz"}]
    for value in good:
        assert not complaints(value, schema, root), value
    for value in bad:
        assert complaints(value, schema, root), value
