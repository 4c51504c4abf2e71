"""Errors that nobody foresaw, written out for the log."""

import traceback

from hivelore.core.redaction import Redactor


def masked_traceback(error: BaseException, redactor: Redactor) -> str:
    """The traceback of an error, without the secrets that it may quote."""
    return mask_text("".join(traceback.format_exception(error)), redactor).rstrip()


def mask_text(text: str, redactor: Redactor) -> str:
    """Mask the secrets in any text, also one that could not be stored."""
    return redactor.clean(text.replace("\0", "\\0").encode(errors="backslashreplace").decode())
