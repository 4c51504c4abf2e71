"""Tracebacks of unexpected errors for the log, without secrets."""

import traceback

from hivelore.core.redaction import Redactor


def masked_traceback(error: BaseException, redactor: Redactor) -> str:
    """Returns the traceback of an error with secrets masked."""
    return mask_text("".join(traceback.format_exception(error)), redactor).rstrip()


def mask_text(text: str, redactor: Redactor) -> str:
    """Masks the secrets in any text, including text that cannot be stored."""
    return redactor.clean(text.replace("\0", "\\0").encode(errors="backslashreplace").decode())
