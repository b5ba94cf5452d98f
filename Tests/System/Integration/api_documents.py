"""openapi.json and asyncapi.json of a running Parlor, as strict checks of what it really sends.

The documents leave objects open, as fields may be added. Here they are closed: a member that no schema has is an error."""

import re

from jsonschema import Draft202012Validator, FormatChecker


def close(schema, components: dict, is_part: bool = False):
    """Returns the schema with closed objects. A part of an `allOf` stays open, and the whole is closed. Objects in a part
    stay open, too, because they only add to those in another part."""
    if not isinstance(schema, dict):
        return schema
    stays_open = is_part and "$ref" not in schema
    if is_part and "$ref" in schema:
        schema = components[schema["$ref"].rsplit("/", 1)[1]]
    closed = dict(schema)
    if "properties" in schema:
        closed["properties"] = {name: close_member(each, components, stays_open) for name, each in schema["properties"].items()}
    for key in ("items", "additionalProperties"):
        if key in schema:
            closed[key] = close(schema[key], components)
    for key in ("anyOf", "allOf"):
        if key in schema:
            closed[key] = [close(each, components, is_part=key == "allOf") for each in schema[key]]
    has_members = "properties" in schema or "allOf" in schema
    return {**closed, "unevaluatedProperties": False} if has_members and not is_part else closed


def close_member(schema: dict, components: dict, stays_open: bool):
    return close(schema, components, is_part=stays_open and "$ref" not in schema)


class Schemas:
    """The schemas of a document, to compare values with."""

    def __init__(self, document: dict):
        self.open = document["components"]["schemas"]
        self.closed = {name: close(schema, self.open) for name, schema in self.open.items()}

    def check(self, value, schema: dict, what: str):
        whole = {**close(schema, self.open), "components": {"schemas": self.closed}}
        errors = list(Draft202012Validator(whole, format_checker=FormatChecker(["date-time"])).iter_errors(value))
        assert not errors, f"{what}: {value}\n" + "\n".join(f"{list(error.absolute_path)}: {error.message}" for error in errors)


class OpenAPI:
    """Finds the operation of a request, and compares the answer with it."""

    def __init__(self, document: dict):
        self.document, self.schemas = document, Schemas(document)
        # A literal path comes before one with a parameter in its place.
        paths = sorted(document["paths"], key=lambda path: (path.count("{"), path))
        self.paths = [(path, re.compile(re.sub(r"\\{[^}]*\\}", "[^/]+", re.escape(path)))) for path in paths]
        self.seen = set()

    def operations(self) -> set[tuple[str, str]]:
        return {(method.upper(), path) for path, item in self.document["paths"].items() for method in item}

    def successes(self) -> set[tuple[str, str, str]]:
        return {
            (method.upper(), path, status) for path, item in self.document["paths"].items() for method, operation in item.items()
            for status in operation["responses"] if status.startswith("2")}  # fmt: skip

    def check(self, method: str, path: str, answer):
        plain = path.split("?")[0]
        template = next(template for template, pattern in self.paths if pattern.fullmatch(plain))
        responses = self.document["paths"][template][method.lower()]["responses"]
        what, status = f"{method} {path}: {answer.status_code}", str(answer.status_code)
        assert status in responses, f"{what} is not described: {answer.text}"
        self.seen.add((method, template, status))
        response = responses[status]
        if "$ref" in response:
            response = self.document["components"]["responses"][response["$ref"].rsplit("/", 1)[1]]
        content = response.get("content")
        if content is None:
            assert answer.content == b"", what
            return
        [(kind, described)] = content.items()
        assert answer.headers["Content-Type"].split(";")[0] == kind, what
        if kind == "application/json":
            self.schemas.check(answer.json(), described["schema"], what)


class AsyncAPI:
    """Compares events and acks with their messages."""

    AUDIENCES = ("room", "everyone", "person", "socket")

    def __init__(self, document: dict):
        self.document, self.schemas = document, Schemas(document)
        self.channels = document["channels"]
        self.acked, self.heard = set(), set()

    def names(self, *channels: str) -> set[str]:
        return {message["name"] for channel in channels for message in self.channels[channel]["messages"].values()}

    def check_ack(self, event: str, answer: dict):
        [message] = [message for message in self.channels["acks"]["messages"].values() if message["name"] == event]
        self.schemas.check(answer, message["payload"], f"the ack of {event}")
        self.acked |= {event} if answer["success"] else set()

    def check_event(self, event: str, data):
        payloads = [
            message["payload"] for name in self.AUDIENCES for message in self.channels[name]["messages"].values()
            if message["name"] == event]  # fmt: skip
        assert payloads, f"{event} is not described"
        self.schemas.check(data, {"anyOf": payloads}, event)
        self.heard.add(event)
