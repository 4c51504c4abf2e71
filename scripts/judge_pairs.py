"""Pairs of notes to train the judge on, made from bench/data/statement_schemas.txt: many wordings of one statement (=),
of its denial (!), what contradicts it in another way (#) and what only looks alike (~), about made-up services.
"""

import json
import random
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

DATA = Path(__file__).resolve().parent.parent / "bench" / "data"
WORDS = json.loads((DATA / "statement_words.json").read_text(encoding="utf-8"))
SAME, CONFLICT, DIFFERENT = "same", "conflict", "different"

Pair = tuple[str, str, str]
"""Two notes and their label."""
Schema = Mapping[str, Sequence[str]]
"""Templates by their mark."""

CLOCK = ((2, 0), (3, 30), (4, 0), (1, 15), (5, 0), (22, 0), (23, 30), (12, 0), (6, 45), (18, 0), (0, 30), (20, 15))
UNITS = (
    ("second", 1, ("s", " sec"), 600),
    ("minute", 60, (" min", " min"), 240),
    ("hour", 3_600, ("h", "h"), 96),
    ("day", 86_400, (), 720),
    ("week", 604_800, (), 720),
)
"""Name, seconds, short forms, and how many may be said."""
DAY = 86_400
SPANS = (
    *(5, 10, 15, 20, 30, 45, 60, 90, 120, 180, 240, 300, 600, 900, 1_200, 1_800, 2_700, 3_600, 7_200, 10_800, 14_400),
    *(21_600, 28_800, 43_200, DAY, 2 * DAY, 3 * DAY, 5 * DAY, 7 * DAY, 10 * DAY, 14 * DAY, 30 * DAY, 60 * DAY),
    *(90 * DAY, 365 * DAY),
)
OTHER_WORDS = {
    90: ("a minute and a half", "1.5 minutes"),
    1_800: ("half an hour",),
    43_200: ("half a day",),
    30 * DAY: ("a month", "one month"),
    90 * DAY: ("three months", "3 months"),
    365 * DAY: ("a year", "one year", "12 months"),
}
SIZES = (*(2**power for power in range(6, 16)), 50, 100, 200, 10_240, 20_480, 51_200, 102_400, 204_800, 1_048_576)
"""In MB."""


def made(count: int, seed: int) -> list[Pair]:
    """Returns generated pairs, the same for the same seed."""
    rng = random.Random(seed)
    known = schemas()
    return [_pair(rng.choice(known), rng) for _ in range(count)]


def schemas() -> list[Schema]:
    blocks = (
        block.splitlines()
        for block in (DATA / "statement_schemas.txt").read_text(encoding="utf-8").strip().split("\n\n")
    )
    return [{mark: [line[2:] for line in block if line[0] == mark] for mark in "=!#~"} for block in blocks]


def _pair(schema: Schema, rng: random.Random) -> Pair:
    values = _values(rng)
    says, denies, against, other = (schema[mark] for mark in "=!#~")

    def said(template: str, by: Mapping[str, object] = values) -> str:
        return _worded(_filled(template, by, rng), rng)

    part = rng.random()
    if part < 0.40:
        one, another = rng.sample(says if part < 0.27 else denies, 2)
        return said(one), said(another), SAME
    if part < 0.70:
        opposites = against if against and part >= 0.62 else denies
        return said(rng.choice(says)), said(rng.choice(opposites)), CONFLICT
    if part < 0.88 or (elsewhere := _about_another(schema, values, rng)) is None:
        return said(rng.choice(says if rng.random() < 0.7 else denies)), said(rng.choice(other)), DIFFERENT
    (one, another), by = elsewhere
    return said(one), said(another, by), DIFFERENT


def _about_another(
    schema: Schema, values: Mapping[str, object], rng: random.Random
) -> tuple[tuple[str, str], Mapping[str, object]] | None:
    """Returns the same statement, or its denial, about another subject; None without a subject."""
    says = schema["="]
    kinds = [kind for kind in ("part", "things") if any(f"{{{kind}" in one.lower() for one in says)]
    if not kinds:
        return None
    kind = rng.choice(kinds)
    others = schema["!"] if rng.random() < 0.4 else says
    ours = [one for one in says if f"{{{kind}" in one.lower()]
    theirs = [one for one in others if f"{{{kind}" in one.lower()]
    if not theirs:
        return None
    used = [values[name] for name in ("part", "other", "third", "things", "others")]
    new = rng.choice([one for one in (WORDS["parts"] if kind == "part" else WORDS["things"]) if one not in used])
    return (rng.choice(ours), rng.choice(theirs)), {**values, kind: new}


def _values(rng: random.Random) -> dict[str, object]:
    count, span, size = rng.randint(2, 40), rng.choice(SPANS), rng.choice(SIZES)
    act, acted = rng.choice(WORDS["acts"])
    values: dict[str, object] = {
        "event": rng.choice(WORDS["events"]),
        "act2": rng.choice(WORDS["events"][:8]),
        "done": rng.choice(WORDS["done"]),
        "act": act,
        "acted": acted,
        "err": rng.choice(WORDS["errors"]),
        "cond": rng.choice(WORDS["conditions"]),
        "n": count,
        "vn": rng.choice([one for one in range(1, 60) if abs(one - count) / count > 0.25]),
        "m": count + rng.randint(1, 6),
        "span": span,
        "vspan": rng.choice([one for one in SPANS if not 0.66 <= one / span <= 1.5]),
        "size": size,
        "vsize": rng.choice([one for one in SIZES if not 0.7 <= one / size <= 1.4]),
    }
    values |= zip(("part", "other", "third"), rng.sample(WORDS["parts"], 3), strict=True)
    values |= zip(("things", "others"), rng.sample(WORDS["things"], 2), strict=True)
    for name in ("name", "host", "path", "port", "day"):
        values |= zip((name, f"v{name}"), rng.sample(WORDS[f"{name}s"], 2), strict=True)
    values |= zip(("clock", "vclock"), rng.sample(CLOCK, 2), strict=True)
    values |= {name: f"{rng.randint(0, 12)}.{rng.randint(0, 30)}" for name in ("ver", "vver")}
    return values


def _filled(template: str, values: Mapping[str, object], rng: random.Random) -> str:
    def filled(found: re.Match[str]) -> str:
        name = found[1].lower()
        value = values[name]
        match name.removeprefix("v"):
            case "span":
                value = _span(int(str(value)), rng)
            case "size":
                value = _size(int(str(value)), rng)
            case "clock":
                value = _clock(*value, rng)  # type: ignore[misc]
            case "n" | "m":
                value = _number(int(str(value)), rng)
            case "ver" | "er":
                value = rng.choice(("", "v")) + str(value)
            case _:
                value = str(value)
        return value[0].upper() + value[1:] if found[1][0].isupper() else value

    text = re.sub(r"\{(\w+)\}", filled, template)
    text = re.sub(r"\b([Aa]) (?=[aeiou](?!ne\b|s\b))", r"\1n ", text)
    return text[0].upper() + text[1:]


def _worded(text: str, rng: random.Random) -> str:
    """Returns a different wording."""
    for word, other in rng.sample(WORDS["synonyms"], len(WORDS["synonyms"])):
        if rng.random() < 0.13:
            text = re.sub(rf"\b{word}\b", other, text, count=1)
    part = rng.random()
    if part < 0.10:
        text = rng.choice(WORDS["beginnings"]) + (text if text[1:2].isupper() else text[0].lower() + text[1:])
    elif part < 0.16:
        text += rng.choice(WORDS["endings"])
    if rng.random() < 0.12:
        text += "."
    if rng.random() < 0.06:
        text = text.lower()
    if rng.random() < 0.12:
        text = re.sub(r"\b[Tt]he (?=\w)", "", text, count=1)
        text = text[:1].upper() + text[1:]
    return text


def _number(value: int, rng: random.Random) -> str:
    return WORDS["numbers"][value] if value < len(WORDS["numbers"]) and rng.random() < 0.4 else str(value)


def _span(seconds: int, rng: random.Random) -> str:
    forms = list(OTHER_WORDS.get(seconds, ()))
    for name, unit, short, most in UNITS:
        count = seconds // unit
        if seconds % unit or count > most:
            continue
        forms += [f"{_number(count, rng)} {name}{'s' * (count != 1)}"] * 3 + [f"{count}{one}" for one in short]
        if count == 1:
            forms.append(("an " if name == "hour" else "a ") + name)
    about = rng.choice(("about ", "roughly ", "around ", "approx. ")) if rng.random() < 0.12 else ""
    return about + rng.choice(forms)


def _size(megabytes: int, rng: random.Random) -> str:
    forms = [f"{megabytes} MB", f"{megabytes}MB", f"{megabytes} MiB", f"{megabytes} megabytes"]
    gigabytes, rest = divmod(megabytes, 1_024)
    if not rest and rng.random() < 0.85:
        forms = [f"{gigabytes} GB", f"{gigabytes}G", f"{gigabytes} GiB", f"{_number(gigabytes, rng)} gigabytes"]
    if megabytes == 512:
        forms.append("half a gigabyte")
    if megabytes == 1_048_576:
        forms.append("1 TB")
    return rng.choice(forms)


def _clock(hour: int, minute: int, rng: random.Random) -> str:
    half = "am" if hour < 12 else "pm"
    forms = [f"{hour:02d}:{minute:02d}", f"{hour}:{minute:02d}", f"{hour % 12 or 12}:{minute:02d} {half}"]
    if minute == 0:
        forms += [f"{hour % 12 or 12} {half}", f"{hour % 12 or 12}{half}"]
    if (hour, minute) == (12, 0):
        forms.append("noon")
    return rng.choice(forms)
