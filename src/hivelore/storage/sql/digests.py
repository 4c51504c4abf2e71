"""16 bytes that stand for a text or several: what indexes lead by where a text may be too long for them."""

import hashlib

from hivelore.memories.model import Statement, Topic


def statement_digest(value: Statement) -> bytes:
    """Of who said what under which name, wherever it was: what was kept before projects counted has the same."""
    return digest(value.owner or "", value.name, value.content)


def topic_digest(value: Topic) -> bytes:
    """Of what memories are facts about."""
    named = ["" if part is None else f"={part}" for part in (value.home, value.project)]
    return digest(*named, value.subject)


def digest(*parts: str) -> bytes:
    """Others for other parts."""
    told = b"".join([len(part).to_bytes(8, "big") + part for part in map(str.encode, parts)])
    return hashlib.blake2b(told, digest_size=16).digest()
