"""Attacks that prevent others from signing in, or outlive a session."""

import base64
import itertools
import json
import statistics
import time

import wire
from attack import Attack, Fate, Target
from people import PASSWORD
from swarm import Script, Swarm
from talk import Talk, opens_and_enters

ATTACKERS_ACCOUNTS = 12
# From where the owner of an account has signed in before.
KNOWN_ADDRESS = "10.9.9.9"
ENDED_WITHIN = 1.0  # seconds after which an ended session's tokens and sockets are ended too


def sign_in(username: str, password: str, address: str) -> bytes:
    body = json.dumps({"username": username, "password": password}).encode()
    return wire.request("POST", "/api/auth/login", body=body, X_Forwarded_For=address)


class BehindProxy(Attack):
    """Comes through a trusted proxy, so that addresses can be many."""

    flags = ("--trusted-proxies", "127.0.0.1")
    flags_to_prepare = flags

    def prepare(self, setup, cast) -> dict:
        accounts = [setup.register(f"{self.name}.{number}").username for number in range(ATTACKERS_ACCOUNTS)]
        return {"accounts": accounts, "sign_ins": [setup.register(f"{self.name}.owner").username]}


class SignIns(BehindProxy):
    """Signs in to accounts of its own, with many requests in progress, as fast as they are answered.

    Addresses take turns, each with a few hashes at a time: a sign-in from another address waits for no more than its turn.
    """

    def __init__(self, name: str, addresses: list[str], count: int, password: str = PASSWORD, *, is_known: bool = True, pause: float | None = 0.05):
        self.name, self.addresses, self.count, self.password = name, addresses, count, password
        self.is_known, self.pause = is_known, pause

    def run(self, target: Target, fate: Fate):
        def scripts():
            for number, address in enumerate(itertools.cycle(self.addresses)):
                account = target.given["accounts"][number % ATTACKERS_ACCOUNTS] if self.is_known else f"nobody{number}"
                yield Script(repeat=sign_in(account, self.password, address), pause=self.pause)

        Swarm(target, fate, openings=500).run(scripts(), self.count)


class Registrations(BehindProxy):
    """Registers accounts from many addresses, as fast as they are answered.

    A password is hashed for each, in the same queue: those who sign in wait for no more than their turn.
    """

    def __init__(self, name: str, addresses: list[str], count: int):
        self.name, self.addresses, self.count = name, addresses, count

    def run(self, target: Target, fate: Fate):
        numbers = itertools.count()

        def register(address: str) -> bytes:
            body = json.dumps({"username": f"new.{next(numbers)}", "password": PASSWORD}).encode()
            return wire.request("POST", "/api/auth/register", body=body, X_Forwarded_For=address)

        Swarm(target, fate, openings=500).run(
            (Script(repeat=lambda address=address: register(address), pause=0.05) for address in itertools.cycle(self.addresses)), self.count)  # fmt: skip


class LockOut(BehindProxy):
    """Guesses the password of one account from several addresses, while its owner signs in from where they have before.

    Wrong guesses from elsewhere keep out those who guess, and not the owner.
    """

    name = "lock-out"
    sign_ins_forwarded = KNOWN_ADDRESS
    names = ("lock-out.owner",)

    def prepare(self, setup, cast) -> dict:
        setup.register("lock-out.owner", email="owner@example.com")
        setup.ask("POST", "/api/auth/login", {"username": "lock-out.owner", "password": PASSWORD}, forwarded_for=KNOWN_ADDRESS)
        return {"sign_ins": ["lock-out.owner"]}

    def run(self, target: Target, fate: Fate):
        Swarm(target, fate).run(
            (
                Script(repeat=sign_in(name, "a wrong guess", f"10.1.{number % 16}.1"), pause=0.1)
                for number, name in enumerate(itertools.cycle(self.names))
            ), 16)  # fmt: skip


class LockOutByBothNames(LockOut):
    """The same with the username and the e-mail address in turn; both are one account."""

    name = "lock-out-by-both-names"
    names = ("lock-out.owner", "owner@example.com")


class SignInTimes(BehindProxy):
    """Measures how long refusals of sign-ins take, for accounts that are there or not, by username or e-mail address.

    The times say nothing about whether an account is there.
    """

    name = "sign-in-times"
    seconds = 25
    # The medians may differ by this much, on a machine that does other work too.
    most_apart = 0.25

    def prepare(self, setup, cast) -> dict:
        names = [f"times.{number}" for number in range(ATTACKERS_ACCOUNTS)]
        for name in names:
            setup.register(name, email=f"{name}@example.com")
        return {"accounts": names}

    def run(self, target: Target, fate: Fate):
        kinds = {
            "known": lambda account: account,
            "unknown": lambda account: f"un{account}",
            "known by e-mail": lambda account: f"{account}@example.com",
            "unknown by e-mail": lambda account: f"un{account}@example.com",
        }
        times: dict[str, list[float]] = {kind: [] for kind in kinds}
        with target.open(timeout=10) as opened:
            for number in itertools.count():
                for kind, make in kinds.items():
                    if target.left < 1:
                        return self.compare(times, fate)
                    account = target.given["accounts"][number % ATTACKERS_ACCOUNTS]
                    begun = time.perf_counter()
                    status, _, _ = target.ask(sign_in(make(account), "a wrong guess", f"10.2.{number % 250}.1"), opened)
                    times[kind].append(time.perf_counter() - begun)
                    fate.answered(str(status))

    def compare(self, times: dict[str, list[float]], fate: Fate):
        medians = {kind: statistics.median(seconds) for kind, seconds in times.items()}
        fate.notes.append("medians: " + ", ".join(f"{kind} {seconds * 1000:.0f} ms" for kind, seconds in medians.items()))
        if max(medians.values()) > min(medians.values()) * (1 + self.most_apart):
            fate.found.append("times tell accounts apart")


class EndedSessions(Attack):
    """Goes on with tokens and sockets of sessions that have ended: after a sign-out, and after a refresh token's theft was found.

    Tokens and sockets of an ended session are good for nothing a second later, and nobody ends others' sessions.
    """

    name = "ended-sessions"
    seconds = 10

    def prepare(self, setup, cast) -> dict:
        return {"robbed": setup.register("robbed").username}

    def run(self, target: Target, fate: Fate):
        def sign_in_again() -> dict:
            return target.ask_json("POST", "/api/auth/login", {"username": target.given["robbed"], "password": PASSWORD})[1]["data"]

        def refresh(token: str) -> tuple[int, dict]:
            status, answer = target.ask_json("POST", "/api/auth/refresh", {"refreshToken": token})
            return status, answer.get("data", {})

        def check(what: str, session: dict, talk: Talk):
            time.sleep(ENDED_WITHIN)
            if refresh(session["refreshToken"])[0] == 200:
                fate.found.append(f"{what}: refresh token good")
            if target.ask_json("GET", "/api/users/me", token=session["token"])[0] == 200:
                fate.found.append(f"{what}: access token good")
            if talk.is_served():
                fate.found.append(f"{what}: socket served")
            if opens_and_enters(target, session["token"]):
                fate.found.append(f"{what}: new socket let in")

        ended = sign_in_again()
        with Talk(target) as talk:
            talk.enter(ended["token"])
            target.ask_json("POST", "/api/auth/logout", {"refreshToken": ended["refreshToken"]}, token=ended["token"])
            check("signed out", ended, talk)

        stolen = sign_in_again()
        thief = refresh(stolen["refreshToken"])[1]
        with Talk(target) as talk:
            talk.enter(thief["token"])
            if refresh(stolen["refreshToken"])[0] == 200:
                fate.found.append("a refresh token worked twice")
            check("after theft", thief, talk)

        # The session's public id is all that a forged refresh token has right; its other id is known to nobody without a token.
        session = sign_in_again()
        shown = target.ask_json("GET", "/api/auth/sessions", token=session["token"])[1]["data"]
        public = next(each["id"] for each in shown if each["current"])
        raw = base64.urlsafe_b64decode(session["refreshToken"] + "==")
        forged = base64.urlsafe_b64encode((public.replace("-", "").encode() + bytes(len(raw)))[: len(raw)]).decode().rstrip("=")
        target.ask_json("POST", "/api/auth/logout", {"refreshToken": forged}, token=target.token)
        status, session = refresh(session["refreshToken"])
        if status != 200:
            fate.found.append("another's session ended by its id")


FOUR = [f"10.1.1.{number}" for number in range(4)]
SIXTY = [f"10.1.{number}.1" for number in range(60)]
# What one subscriber may have of IPv6: 256 networks of /64.
SUBSCRIBER = [f"2001:db8:0:{number:x}::1" for number in range(256)]

ALL = [
    SignIns("sign-ins-1", FOUR[:1], 60),
    SignIns("sign-ins-4", FOUR, 60),
    SignIns("sign-ins-60", SIXTY, 120),
    SignIns("sign-ins-of-a-56", SUBSCRIBER, 256),
    SignIns("sign-ins-unknown", FOUR, 60, is_known=False),
    SignIns("sign-ins-wrong", FOUR, 60, "a wrong guess"),
    SignIns("sign-ins-flood", FOUR, 60, pause=None),
    Registrations("registrations", FOUR, 60),
    Registrations("registrations-60", SIXTY, 120),
    LockOut(),
    LockOutByBothNames(),
    SignInTimes(),
    EndedSessions(),
]
