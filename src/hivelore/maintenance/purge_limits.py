"""How much maintenance may take away without being told exactly how much (N14)."""

from decimal import Decimal

from hivelore.errors import Conflict


def unconfirmed_purge_limit(memories: int, share: float) -> int:
    """Of so many memories, how many may go without a word; the share is meant as it is written: 0.29 of 100 are 29."""
    return int(memories * Decimal(str(share)))


def check_purge_size(doomed: int, memories: int, share: float, said: int | None) -> None:
    """Raises Conflict where more than that would go and nobody has said how many, or where another number was said."""
    if said is not None and said != doomed:
        raise Conflict(
            f"You said {said} memories, and it would be {doomed}: nothing was done. Look at the preview again, and say "
            f"{doomed} (--yes-delete {doomed}, yesDelete) if that is meant."
        )
    if said is None and doomed > unconfirmed_purge_limit(memories, share):
        raise Conflict(
            f"{doomed} of {memories} memories would go, more than {share:.2%} (HIVELORE_PURGE_SHARE): nothing was "
            f"done. Look at the preview, and say --yes-delete {doomed} (yesDelete) if that is meant."
        )
