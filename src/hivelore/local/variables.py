"""Names of the environment variables that Hivelore reads; warnings about unknown ones. Imports next to nothing."""

import os

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

PREFIX = "HIVELORE_"
_NAMES = (
    "ACCEPT_SETUP_SCRIPTS ALIASES ALLOWED_HOSTS BRIEFING_TOKENS CAPABILITIES CATEGORIES CONFIDENCE_CONTRADICTION "
    "CONFIDENCE_DECAY CONFIDENCE_DEFAULT CONFIDENCE_GRACE_DAYS CONFIDENCE_REINFORCEMENT CONFIDENCE_THRESHOLD "
    "CONFIG_KEYS DATABASE EMBEDDER EMBEDDING_DIMENSIONS EMBEDDING_DOCUMENT_PREFIX EMBEDDING_MODEL "
    "EMBEDDING_QUERY_PREFIX EMBEDDING_URL EVENT_DAYS HOME HOOK_DISABLED HOOK_WAIT JUDGE KEY KEYWORDS LEAD_SEES LOG "
    "MEMORY_BUDGET NEW_DATABASE NUDGE PROFILE_FILES PROMPT_TOKENS PURGE_SHARE RANKING RECALL_LOG_DAYS REINFORCE "
    "REPO_LOCAL_PATHS REPO_STALE_DAYS REVIEW_DAYS RUN_SETUP_SCRIPTS SETUP_SCRIPT_SECONDS SETUP_SCRIPT_VARIABLES "
    "SUMMARIZER SUMMARIZER_DAILY_TOKENS SUMMARIZER_MODEL SUMMARIZER_URL TASK_FILE TASK_ID TRANSCRIPTS UNDO_DAYS "
    "UPDATES_END_VALIDITY URL USEFULNESS_LEAST USEFULNESS_MOST VECTORS VECTOR_MEMORY WORKSPACE"
)
KNOWN = frozenset(PREFIX + name for name in _NAMES.split())
_DEVELOPMENT = (PREFIX + "BENCH_", PREFIX + "TEST_")
"""Prefixes of variables that tests and benchmarks of Hivelore itself read."""


def environment() -> "Mapping[str, str]":
    """Return all environment variables, for programs that are started with some of them."""
    return os.environ


def unknown(names: "Iterable[str]" = os.environ) -> "Iterator[str]":
    """Yield a warning for each variable that begins like ours and is not read, with the most similar name."""
    for name in sorted(names):
        if name.startswith(PREFIX) and name not in KNOWN and not name.startswith(_DEVELOPMENT):
            from difflib import get_close_matches

            similar = get_close_matches(name, KNOWN, n=1)
            yield f"Unknown setting {name} is ignored." + (f" Did you mean {similar[0]}?" if similar else "")
