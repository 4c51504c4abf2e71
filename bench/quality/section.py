"""The section about retrieval quality: Hivelore, plain searches, and Hivelore without one part in each row."""

from bench.material import Bench
from bench.quality import tables
from bench.quality.data import KNOWN, Group, names
from bench.quality.measuring import measured
from bench.quality.metrics import Figures
from bench.report import Section

IN_OTHER_WORDS = """\
- *paraphrases*: our own queries about the notes of *commits*, as a developer asks weeks later. A query shares at
  most one word with its note (stemmed, without stop words), and one note answers it. They were written before they
  were first run. Some were used for tuning, and the others were held out. *hard* marks the hardest ones. Most of
  those share no word with their note.
- *dated*: our own queries about the notes of *commits* that name a time ("last Friday", "in July"), asked some days
  to months later."""
TEXT = """
Each collection is a separate store, filled through the services that all interfaces use. All values are means over
the queries of a set, in percent.

- *R@n* is the share of the relevant ids in the first n. *NDCG@10* is binary. *MRR@10* is one divided by the rank of
  the first relevant id.
- *session hit@5*, for sets with sessions: the share of queries with an answering session among the first five.
  Sessions are ordered by their first memory among 50.
- *ms* is the median time of one answer through the Python API, including the embedding of the query.

The rows:

- *Hivelore* is the answer for a limit of ten. *Hivelore, keywords only* is the answer without an embedding model.
- *vectors only* is the nearest passages by the shipped model. *RRF of both* is the usual hybrid. It combines its
  first 50 with those of *FTS5, any word* by reciprocal rank fusion (k = 60).
- *FTS5* is SQLite's full-text search with its porter tokenizer, ranked by bm25. *any word* matches any query word
  except the commonest, *phrase* the whole query.
- *grep* matches the same words as substrings. Texts with the most words come first, then the newest.

The second table removes one part in each row. *Equal weights* replaces the weight per query. *Late interaction*
compares tokens. The *update rule* puts a newer version before the older one. The *boosts* are removed together and
one by one: better memories in the same session, brevity, texts that only ask a question, a named author, and dates.

The sets:

{sets}
"""


def run(bench: Bench) -> Section | None:
    """Returns the section, or None without the data."""
    if bench.data is None:
        return None
    found = names(bench.data)
    figures: dict[tuple[Group, str], Figures] = {}
    for name in found:
        bench.say(f"asking {name}")
        figures |= measured(bench, name)
    if not figures:
        return None
    by_category = [table for name in found if (table := tables.by_category(figures, name))]
    described = [f"- *{name}*: {KNOWN.get(name, 'a custom set.')}" for name in found]
    if "commits" in found:
        described.append(IN_OTHER_WORDS)
    return Section(
        "Retrieval quality",
        TEXT.format(sets="\n".join(described)),
        [tables.main_table(figures), tables.ablation(figures), *by_category],
        tables.bars(figures),
        tables.everything(figures),
    )
