"""Tickets of a help desk in two languages: short and long texts, labels that are searched by words, JSON in a text."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np

from indextables import IndexTable

START = datetime(2026, 3, 2, 6, tzinfo=UTC)
CITIES = ["Oslo", "Hamburg", "New York", "München", "Leeds", "San Francisco"]
STATES = ["open", "waiting for customer", "solved", "closed"]
PRODUCTS = ["router", "app", "invoice", None]
_SUBJECTS = {
    "en": ["No connection after the update", "Invoice {n} was charged twice", "The app asks for a password again"],
    "de": [
        "Keine Verbindung nach dem Update",
        "Rechnung {n} doppelt abgebucht",
        "Die App fragt ständig nach dem Passwort",
    ],
}
_BODIES = {
    "en": "Hello, since Tuesday the router drops the connection every {k} minutes. I have restarted it and changed "
    "the cable, without success. The light on the left is {colour}. My customer number is {n}; please call me after five.",
    "de": "Guten Tag, seit Dienstag trennt der Router alle {k} Minuten die Verbindung. Ein Neustart und ein anderes Kabel "
    "haben nicht geholfen. Das linke Licht ist {colour}. Meine Kundennummer ist {n}; bitte rufen Sie nach 17 Uhr zurück.",
}


def ticket_table(path: Path | str, count: int, *, seed: int = 3) -> IndexTable:
    """So many tickets of three weeks; cities, subjects and bodies are searched by their words."""
    random = np.random.default_rng(seed)
    hours = np.sort(random.random(count) * 21 * 24).tolist()
    rows = [_ticket(number, START + timedelta(hours=hour), random) for number, hour in enumerate(hours)]
    return IndexTable.write(path, rows, text=["city", "subject", "body"])


def _ticket(number: int, opened: datetime, random: np.random.Generator) -> dict[str, object]:
    language = "de" if random.random() < 0.4 else "en"
    facts = {"n": 10_000 + number, "k": int(random.integers(2, 40)), "colour": "rot" if language == "de" else "red"}
    device = {
        "model": f"RX-{random.integers(1, 5)}00",
        "serial": 9_007_199_254_740_993 + number,
        "tags": ["wifi", "vip"],
    }
    return {
        "opened": opened,
        "id": 10_000 + number,
        "state": str(random.choice(STATES, p=[0.2, 0.1, 0.3, 0.4])),
        "city": str(random.choice(CITIES)),
        "product": PRODUCTS[int(random.integers(len(PRODUCTS)))] if number else "",
        "subject": _SUBJECTS[language][number % 3].format(**facts),
        "body": _BODIES[language].format(**facts),
        "customer": json.dumps(
            {"name": f"Customer {number % 97}", "device": device, "note": json.dumps({"lang": language})}
        ),
    }
