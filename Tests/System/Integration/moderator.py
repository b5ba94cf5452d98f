"""A service that checks what people write, until it is killed: moderator.py URL WHEN_AWAY.

It denies a text with "pox" in it, and answers one with "later" only when the next text comes."""

import sys

from parlor_bus import connect

NAME = "moderator"
DENIAL = {"error": {"code": "rude_words", "status": 422, "message": "That is not said here."}}


def checks(when_away: str) -> list[dict]:
    requests = ["messaging.send", "elements.create", "accounts.login", "nobody.does"]
    return [{"before": each, "subject": f"{NAME}.check", "deadline": 2000, "whenAway": when_away} for each in requests]


def run(url: str, when_away: str):
    bus, held = connect(url, NAME), []
    bus.send(op="serve", id=1, subject=f"{NAME}.>", queue=NAME)
    bus.send(op="sub", id=2, subject="services.discover")
    # Once a gateway knows the route, it also knows the checks.
    route = {"method": "GET", "path": "/api/moderator", "subject": f"{NAME}.list", "needsLogin": True, "answer": "plain"}
    manifest = {"service": NAME, "routes": [route], "checks": checks(when_away)}
    announcement = {"manifest": manifest, "head": {"databaseId": NAME, "seq": 0, "digest": 0}}
    bus.send(op="pub", subject=f"services.announce.{NAME}", data=announcement)
    print(f"{NAME} ready {url}", flush=True)
    seen = []
    while True:
        line = bus.read()
        if line.get("subject") == "services.discover":
            bus.send(op="pub", subject=f"services.announce.{NAME}", data=announcement)
        elif line.get("subject") == f"{NAME}.list":
            bus.send(op="res", id=line["reply"], data={"status": 200, "data": seen})
        elif "reply" in line:
            # A message may come as `content`, and an element's content has a text.
            content = line["data"].get("content")
            text = str(line["data"].get("text") or (content.get("text") if isinstance(content, dict) else content) or "")
            seen.append({"by": line["caller"]["id"], "text": text})
            held.append((line["reply"], DENIAL if "pox" in text else {"status": 200, "data": {}}))
            while held and "later" not in text:
                number, answer = held.pop()
                bus.send(op="res", id=number, data=answer)


if __name__ == "__main__":
    run(*sys.argv[1:])
