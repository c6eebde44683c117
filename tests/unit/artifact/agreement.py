#!/usr/bin/env python3
"""Changes every field of an example of every format, in every way that comes to mind, and holds the C++
validator and Python's jsonschema to the same verdict. A reader may refuse more (rules between fields), never
less, and always as bad input. Also: the examples have every property that the schemas have, and no other."""
import copy
import json
import os
import subprocess
import sys
import tempfile

try:
    import jsonschema
except ImportError:
    print("skipped: python3-jsonschema is not installed")
    sys.exit(77)

VERDICTS = os.environ["VERDICTS"]
VALUES = [None, True, False, -1, 0, 1, 2, 3.0, 1.5, -0.5, 1e300, -1e300, 2**31, 2**53, 2**53 + 2, 2**63, 2**64 - 1,
          2**64, -(2**63), "", "x", "ddl-plan", "\u00fc\u4e2d\U0001f600" * 30, "0" * 32, "0" * 31 + "G", "../up",
          "/absolute", [], [[]], {}, [1], ["a"], [None], {"a": 1}, {"a": "b"}]


def places(value, path=()):
    """Paths of all values; of a list the first two and the last element."""
    yield path
    if isinstance(value, dict):
        for key in value:
            yield from places(value[key], path + (key,))
    elif isinstance(value, list):
        for index in sorted({0, 1, len(value) - 1} & set(range(len(value)))):
            yield from places(value[index], path + (index,))


def at(document, path):
    for step in path:
        document = document[step]
    return document


def changed(document):
    yield document
    for path in places(document):
        for value in VALUES:
            if not path:
                yield value
                continue
            other = copy.deepcopy(document)
            at(other, path[:-1])[path[-1]] = value
            yield other
        if path:
            other = copy.deepcopy(document)
            del at(other, path[:-1])[path[-1]]
            yield other
            if isinstance(path[-1], str):  # a misspelled key
                parent = at(other, path[:-1])
                parent[path[-1] + "x"] = at(document, path)
                yield other


def properties(schema, root, path=()):
    """Paths of all properties, list elements as 0."""
    if "$ref" in schema:
        yield from properties(root["$defs"][schema["$ref"].split("/")[-1]], root, path)
        return
    for key, value in schema.get("properties", {}).items():
        yield path + (key,)
        yield from properties(value, root, path + (key,))
    if "items" in schema:
        yield from properties(schema["items"], root, path + (0,))


def main():
    failures = []
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([VERDICTS, "examples", folder], check=True)
        formats = sorted(name[:-12] for name in os.listdir(folder) if name.endswith(".schema.json"))
        assert len(formats) == 5, formats
        schemas = {f: json.load(open(f"{folder}/{f}.schema.json")) for f in formats}
        documents = {f: json.load(open(f"{folder}/{f}.json")) for f in formats}
        definitions = {}
        cases = []
        for name in formats:
            jsonschema.Draft202012Validator.check_schema(schemas[name])
            # A definition means the same wherever it stands.
            for key, value in schemas[name].get("$defs", {}).items():
                if definitions.setdefault(key, value) != value:
                    failures.append(f"{name}: $defs/{key} differs from another schema's")
            # Lists of unlike things: what no element has is looked for in all of them.
            have = {tuple(0 if isinstance(s, int) else s for s in p) for p in all_places(documents[name])}
            for path in properties(schemas[name], schemas[name]):
                if path not in have:
                    failures.append(f"{name}: the example has no {path}")
            cases += [(name, document) for document in changed(documents[name])]
        if {k: definitions["plan"][k] for k in ("required", "properties")} != \
           {k: schemas["ddl-plan"][k] for k in ("required", "properties")}:
            failures.append("ddl-run: $defs/plan differs from ddl-plan")
        lines = "".join(f"{name}\t{json.dumps(document)}\n" for name, document in cases)
        result = subprocess.run([VERDICTS, "judge", folder], input=lines, capture_output=True, text=True)
        if result.returncode != 0:
            failures.append(f"verdicts ended with {result.returncode}: {result.stderr}")
        found = result.stdout.splitlines()
        if len(found) != len(cases):
            failures.append(f"{len(found)} verdicts of {len(cases)} documents")
        validators = {name: jsonschema.Draft202012Validator(schemas[name]) for name in formats}
        refused = 0
        for (name, document), line in zip(cases, found):
            schema, reader = line.split("\t")
            expected = validators[name].is_valid(document)
            refused += not expected
            if (schema == "valid") != expected:
                failures.append(f"{name}: C++ says {schema!r}, jsonschema {'valid' if expected else 'not valid'}: "
                                f"{difference(documents[name], document)}")
            if reader == "valid" and schema != "valid":
                failures.append(f"{name}: the reader takes what the schema refuses ({schema})")
            if "NOT " in schema[:4] or "NOT " in reader[:4]:
                failures.append(f"{name}: {schema} / {reader}: {difference(documents[name], document)}")
        print(f"{len(cases)} documents, {refused} of them not valid")
    for line in failures[:20]:
        print(line)
    sys.exit(1 if failures else 0)


def all_places(value, path=()):
    yield path
    if isinstance(value, dict):
        for key in value:
            yield from all_places(value[key], path + (key,))
    elif isinstance(value, list):
        for element in value:
            yield from all_places(element, path + (0,))


def difference(before, after, path=""):
    if isinstance(before, dict) and isinstance(after, dict):
        for key in before:
            if key not in after:
                return f"{path}/{key} removed"
            if before[key] != after[key] or type(before[key]) is not type(after[key]):
                return difference(before[key], after[key], f"{path}/{key}")
    if isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for index, (one, other) in enumerate(zip(before, after)):
            if one != other or type(one) is not type(other):
                return difference(one, other, f"{path}/{index}")
    return f"{path} = {json.dumps(after)[:80]}"


main()
