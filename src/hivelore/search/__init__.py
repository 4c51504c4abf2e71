"""Recall: query analysis, candidates, ranking, selection and snippets."""
