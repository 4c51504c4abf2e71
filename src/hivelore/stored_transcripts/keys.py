"""Keys of stored transcripts, checked: they become names of files on other hosts."""

from hivelore.errors import Invalid, NotFound
from hivelore.local.claude_code_files import is_session_id
from hivelore.stored_transcripts.model import KEY_BYTES, SUB_KEY_BYTES, TranscriptId, TranscriptKey

_FORBIDDEN = frozenset('/\\:"')


def transcript_key(project_key: str, session: str, sub_key: str | None = None) -> TranscriptKey:
    """Returns a key. Raises Invalid for a part that is no plain file name."""
    check_name(project_key, "projectKey")
    check_name(session, "sessionId")
    if not sub_key:
        return TranscriptKey(project_key, session)
    if len(sub_key.encode(errors="replace")) > SUB_KEY_BYTES:
        raise Invalid(f"subKey has more than {SUB_KEY_BYTES:,} bytes.", field="subKey")
    for name in sub_key.split("/"):
        check_name(name, "subKey")
    return TranscriptKey(project_key, session, sub_key)


def parse_id(text: str) -> TranscriptId:
    """Reads the id of a transcript. Raises NotFound for another text."""
    if not is_session_id(text):
        raise NotFound("No stored transcript has this id. GET /api/transcripts lists them.")
    return TranscriptId(text)


def check_beginning(session: str) -> str:
    """Returns the beginning of a session id without spaces around it. Raises Invalid for what no id begins with."""
    session = session.strip()
    check_name(session, "sessionId")
    return session


def check_name(name: str, field: str) -> None:
    """A session id is a file name on each host that continues the session, and so is each part of a sub-key."""
    if not is_name(name):
        raise Invalid(
            f"{field} is no name of a file: 1 to {KEY_BYTES} printable ASCII characters, no slash, colon or quote, and "
            "neither '.' nor '..'.",
            field=field,
        )


def is_name(name: str) -> bool:
    """Returns True if a text may be a file name on each host."""
    is_text = name.isascii() and name.isprintable() and 0 < len(name) <= KEY_BYTES
    return is_text and name not in (".", "..") and not _FORBIDDEN.intersection(name)
