"""Synthetic booking notes whose fields are known."""

from __future__ import annotations

import random
from collections.abc import Mapping
from datetime import date, timedelta
from typing import Any

_NAMES = ("Ana Silva", "Ben Okoro", "Chloe Martin", "David Kim", "Emma Novak", "Farid Haddad",
          "Grace Lee", "Hugo Brandt", "Ines Costa", "Jun Tanaka")  # fmt: skip
_CITIES = ("Quito", "Lima", "Oslo", "Turin", "Kyoto", "Porto", "Accra", "Graz", "Leeds", "Hanoi")
_EXTRAS = ("a cot", "parking", "a late check-out", "a sea view", "a desk", "bicycles")
_TEMPLATES = (
    "{guest} called about {city}: {nights} nights from {date}, {price} euros a night, "
    "{breakfast}. Please also note {extras}.",
    "Booking for {city}. Guest: {guest}. Arrival on {date}, staying {nights} nights at {price} "
    "euros each, {breakfast}. Wishes: {extras}.",
    "Dear team, from {date} on {guest} needs a room in {city} for {nights} nights; we agreed on "
    "{price} euros per night, {breakfast}. Extras are {extras}.",
    "{city}, {nights} nights, {breakfast}, first night {date}: that is what {guest} asked for. The "
    "price is {price} euros a night, extras {extras}.",
)


def draw_record(rng: random.Random) -> tuple[str, Mapping[str, Any]]:
    """Return a note and its fields."""
    extras = sorted(rng.sample(_EXTRAS, 2))
    breakfast = rng.random() < 0.5
    fields: dict[str, Any] = {
        "guest": rng.choice(_NAMES),
        "city": rng.choice(_CITIES),
        "nights": rng.randint(2, 14),
        "date": (date(2024, 1, 1) + timedelta(days=rng.randrange(730))).isoformat(),
        "price": rng.randint(80, 400) / 2,
        "breakfast": breakfast,
        "extras": extras,
    }
    words = {**fields, "extras": " and ".join(extras), "price": f"{fields['price']:.2f}"}
    words["breakfast"] = "with breakfast" if breakfast else "without breakfast"
    return rng.choice(_TEMPLATES).format(**words), fields
