"""Help as plain text: aligned columns without boxes, the same on a terminal and in a file."""

import shutil
import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cyclopts.help import HelpEntry, HelpPanel
    from rich.console import Console, ConsoleOptions

_WIDEST_LABEL = 24
_ANY_WIDTH = 10_000


def format_overview(description: str, verbs: Mapping[str, Mapping[str, tuple[str, str]]]) -> str:
    """Return the help of the command itself, from its verbs by group. Imports no verb."""
    width = shutil.get_terminal_size().columns
    groups = ({name: summary for name, (_, summary) in group.items()} for group in verbs.values())
    panels = [_format_rows(title, list(rows.items()), width) for title, rows in zip(verbs, groups, strict=True)]
    options = [("--help, -h", "Show this help, or that of a verb."), ("--version", "Show the version.")]
    usage = "Usage: hivelore VERB [OPTIONS]"
    text = textwrap.fill(description, width, break_on_hyphens=False)
    return "\n\n".join([usage, text, *panels, _format_rows("Options", options, width)])


def _format_rows(title: str, rows: Sequence[tuple[str, str]], width: int) -> str:
    indent = min(max(len(label) for label, _ in rows), _WIDEST_LABEL) + 4
    lines = [f"{title}:"]
    for label, description in rows:
        first = f"  {label:{indent - 2}}"
        if len(first) > indent:
            lines.append(first.rstrip())
            first = " " * indent
        wrapped = textwrap.wrap(description, max(width - indent, 1), break_on_hyphens=False) or [""]
        lines.append((first + wrapped[0]).rstrip())
        lines += [" " * indent + line for line in wrapped[1:]]
    return "\n".join(lines)


class PlainHelp:
    """Help formatter for cyclopts."""

    def __call__(self, console: "Console", options: "ConsoleOptions", panel: "HelpPanel") -> None:
        """Print one group of verbs or options."""
        if not panel.entries:
            return
        rows = [
            (_label(entry, panel.format == "parameter"), _description(entry, console, options))
            for entry in panel.entries
        ]
        _print(console, _format_rows(str(panel.title), rows, console.width))

    def render_usage(self, console: "Console", options: "ConsoleOptions", usage: Any) -> None:
        if usage:
            _print(console, f"Usage: {_plain(usage, console, options).strip()}")

    def render_description(self, console: "Console", options: "ConsoleOptions", description: Any) -> None:
        paragraphs = _plain(description, console, options).strip().split("\n\n")
        _print(console, "\n\n".join(textwrap.fill(one, console.width, break_on_hyphens=False) for one in paragraphs))


def _print(console: "Console", text: str) -> None:
    console.print(text, "", sep="\n", markup=False, highlight=False, soft_wrap=True)


def _label(entry: "HelpEntry", with_value: bool) -> str:
    names = entry.display_labels_with_metavar if with_value else entry.display_labels
    if entry.positional_label is not None:
        names = (entry.positional_label, *(name for name in names if name.startswith("--")))
    return ", ".join(names)


def _description(entry: "HelpEntry", console: "Console", options: "ConsoleOptions") -> str:
    parts = [_plain(entry.description, console, options).strip()]
    if entry.choices:
        parts.append(f"One of {', '.join(entry.choices)}.")
    if entry.default is not None:
        parts.append(f"Default: {entry.default}.")
    return " ".join(part for part in parts if part)


def _plain(text: Any, console: "Console", options: "ConsoleOptions") -> str:
    """Return the text of a Rich renderable."""
    if not text:
        return ""
    wide = options.update(width=_ANY_WIDTH)
    return "\n".join(
        "".join(segment.text for segment in line).rstrip() for line in console.render_lines(text, wide, pad=False)
    )
