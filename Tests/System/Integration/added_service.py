"""A service in Python that a test adds to a running Parlor of separate processes."""

import contextlib
import sqlite3
import sys
from pathlib import Path

from parlor import ROOT, Process


class AddedService:
    """The program `NAME.py` beside this file, with the token that Parlor has made for it on the TCP bus."""

    def __init__(self, parlor, name: str, *arguments: str | Path):
        self.parlor, self.name, self.arguments = parlor, name, arguments
        self.start()

    def start(self):
        url = (self.parlor.data / "bus.url").read_text().strip()
        token = self.parlor.data / f"bus/{self.name}.token"
        environment = {"BUS_TOKEN_FILE": str(token), "PYTHONPATH": str(ROOT / "Examples")}
        program = Path(__file__).with_name(f"{self.name}.py")
        self.process = Process(sys.executable, program, url, *self.arguments, environment=environment)
        self.process.wait_until_ready()


class AddedServiceWithDatabase(AddedService):
    """A service whose argument is the file of its SQLite database."""

    def __init__(self, parlor, name: str):
        self.database = parlor.data / f"{name}.db"
        super().__init__(parlor, name, self.database)

    def column(self, sql: str) -> list:
        """Returns the first column of a query."""
        with contextlib.closing(sqlite3.connect(f"file:{self.database}?mode=ro", uri=True)) as db:
            return [row[0] for row in db.execute(sql)]

    def execute(self, sql: str):
        """Changes the database while the service is not running."""
        with contextlib.closing(sqlite3.connect(self.database)) as db, db:
            db.execute(sql)
