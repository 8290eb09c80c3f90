"""Holds answers of the API to its description, openapi.json."""

import json
import re

API = "/api/v1"
KINDS = {
    "object": dict,
    "array": list,
    "string": str,
    "boolean": bool,
    "number": (int, float),
    "integer": int,
    "null": type(None),
}


def load_description(path):
    with open(path, encoding="utf-8") as file:
        resolve.openapi = json.load(file)
    return resolve.openapi


def resolve(schema):
    """What a schema refers to, in the description that was loaded."""
    if "$ref" not in schema:
        return schema
    part = resolve.openapi
    for key in schema["$ref"].removeprefix("#/").split("/"):
        part = part[key]
    return part


def is_kind(value, kind):
    is_number = kind in ("number", "integer")
    return isinstance(value, KINDS[kind]) and not (is_number and isinstance(value, bool))


def problem_with(value, schema, at="answer"):
    """A sentence, or None. What is not described must not be there."""
    schema = resolve(schema)
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    if not any(is_kind(value, kind) for kind in kinds):
        return f"{at} is {value!r}, not {kinds}"
    if "enum" in schema and value not in schema["enum"]:
        return f"{at} is {value!r}"
    if "minimum" in schema and value is not None and value < schema["minimum"]:
        return f"{at} is {value}"
    problems = []
    if isinstance(value, list):
        problems = [problem_with(item, schema["items"], f"{at}[]") for item in value]
    if isinstance(value, dict):
        members = schema.get("properties", {})
        others = schema.get("additionalProperties")
        needed = schema.get("required", ())
        problems = [f"{at}.{key} is missing" for key in needed if key not in value]
        for key, item in value.items():
            if key not in members and not others:
                problems.append(f"{at}.{key} is not described")
            else:
                problems.append(problem_with(item, members.get(key, others), f"{at}.{key}"))
    return next((problem for problem in problems if problem), None)


class Caller:
    """Asks, and holds each answer to the description."""

    def __init__(self, service):
        self.service = service
        self.asked = set()

    def __call__(self, method, path, body=None, status=200, **more):
        form, described = self.describe(method, path)
        got, headers, text = self.service.ask(method, API + path, body, **more)
        assert got == status, f"{method} {path}: {got} {text}"
        responses = described["responses"]
        assert str(got) in responses, f"{method} {form} does not describe {got}"
        kind, content = next(iter(responses[str(got)]["content"].items()))
        assert headers["Content-Type"] == kind
        answer = json.loads(text) if kind == "application/json" else text
        problem = problem_with(answer, content["schema"])
        assert not problem, f"{method} {path}: {problem}"
        self.asked.add((method, form))
        return answer

    @staticmethod
    def describe(method, path):
        for form, operations in resolve.openapi["paths"].items():
            pattern = re.sub(r"\{[a-z]+\}", "[^/]+", form)
            if re.fullmatch(pattern, path) and method.lower() in operations:
                return form, operations[method.lower()]
        raise AssertionError(f"{method} {path} is not described")
