"""What a manifest and an emission have, and where one has mistakes. Services/SERVICE-PROTOCOL.md explains each member.

Gateways ignore a part with a mistake, and only their own log says so. A check that is ignored denies nothing."""
import re


def form(name: str) -> dict:
    """Returns the form of a service's manifest: a type, a text's pattern, a range, a list of one form, or the members of a
    dict. A member with a ? may be missing."""
    own, positive, text = rf"{name}\..+", range(1, 2**31), ".+"
    shown = {"path": text, "kind": "value|time", "zero": object}
    role = {"badge?": text, "activity?": text, "sort?": text}
    return {
        "service": "[a-z0-9_-]+", "hasEventLog?": bool, "logsWhatRoomsShow?": bool, "presence?": own, "batched?": [own],
        "emits?": [text], "description?": text,
        "routes?": [{
            "method": "GET|POST|PUT|PATCH|DELETE", "path": "/.*", "subject": own, "needsLogin": bool,
            "answer": "plain|room|rooms|roomsByPerson", "shows?": "messages|people", "limits?": [text], "heavy?": bool,
            "maxBody?": positive, "wantsClient?": bool, "confidential?": bool}],
        "socketEvents?": [{"event": text, "subject": own, "limits?": [text], "ackName?": text, "ackCopies?": dict}],
        "limits?": [{
            "name": text, "counted": "calls|failures", "perPerson": positive, "perAddress": positive, "seconds": positive}],
        "checks?": [{
            "before": r"[a-z0-9_-]+\..+|room:join", "subject": own, "deadline?": positive, "whenAway?": "allow|deny"}],
        "contribution?": {"subject": own, "fields": [shown | {"kind": "value|time|laterTime", "role?": role}]},
        "messageContribution?": {"subject": own, "fields": [shown]},
        "personContribution?": {"subject": own, "fields": [shown]},
    }  # fmt: skip


EMISSION = {
    "to": "room|everyone|person", "person?": ".+", "event": ".+", "compose?": "badges", "endsTyping?": ".+", "data": object}  # fmt: skip


def mistake_of_emission(emission: dict) -> str | None:
    """Returns what is wrong with an emission, or None. A fact, which is for other services, is not looked at."""
    if "fact" in emission:
        return None
    if wrong := next(mistakes(emission, EMISSION, "the emission"), None):
        return wrong
    if (emission["to"] == "person") != ("person" in emission):
        return "the emission has a `person` if it is to a person, and only then"
    return None


def mistakes(part, form, place: str = "manifest"):
    """Finds where a part of a manifest does not have its form."""
    kind = form if isinstance(form, type) else int if isinstance(form, range) else type(form)
    if not isinstance(part, kind):
        yield f"{place} is {part!r}, which is no {kind.__name__}"
    elif isinstance(form, str) and not re.fullmatch(form, part) or isinstance(form, range) and part not in form:
        yield f"{place} is {part!r}, which is not {form}"
    elif isinstance(form, list):
        for number, item in enumerate(part):
            yield from mistakes(item, form[0], f"{place}[{number}]")
    elif isinstance(form, dict):
        known = {member.rstrip("?"): member for member in form}
        yield from (f"{place} has no {name}" for name, member in known.items() if name == member and name not in part)
        for name, value in part.items():
            if name in known:
                yield from mistakes(value, form[known[name]], f"{place}.{name}")
            else:
                yield f"{place}.{name} is not a member of it"
