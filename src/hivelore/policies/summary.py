"""PLACEHOLDER by the lead, only so that the rest can be integrated: whoever owns this file replaces it whole."""


def summarise(content: str) -> str:
    return content.strip().splitlines()[0][:200]
