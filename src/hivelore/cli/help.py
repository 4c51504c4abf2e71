"""How help looks: aligned and without boxes, the same on a terminal and in a file."""

import textwrap
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cyclopts.help import HelpEntry, HelpPanel
    from rich.console import Console, ConsoleOptions

_WIDEST_LABEL = 24
_ANY_WIDTH = 10_000


class PlainHelp:
    """What cyclopts calls a help formatter."""

    def __call__(self, console: "Console", options: "ConsoleOptions", panel: "HelpPanel") -> None:
        """Print one group of verbs or options."""
        if not panel.entries:
            return
        rows = [
            (_label(entry, panel.format == "parameter"), _description(entry, console, options))
            for entry in panel.entries
        ]
        indent = min(max(len(label) for label, _ in rows), _WIDEST_LABEL) + 4
        lines = [f"{panel.title}:"]
        for label, description in rows:
            first = f"  {label:{indent - 2}}"
            if len(first) > indent:
                lines.append(first.rstrip())
                first = " " * indent
            wrapped = textwrap.wrap(description, console.width - indent, break_on_hyphens=False) or [""]
            lines.append((first + wrapped[0]).rstrip())
            lines += [" " * indent + line for line in wrapped[1:]]
        _print(console, "\n".join(lines))

    def render_usage(self, console: "Console", options: "ConsoleOptions", usage: Any) -> None:
        if usage:
            _print(console, f"Usage: {_plain(usage, console, options).strip()}")

    def render_description(self, console: "Console", options: "ConsoleOptions", description: Any) -> None:
        paragraphs = _plain(description, console, options).strip().split("\n\n")
        _print(console, "\n\n".join(textwrap.fill(one, console.width, break_on_hyphens=False) for one in paragraphs))


def _print(console: "Console", text: str) -> None:
    console.print(text, "", sep="\n", markup=False, highlight=False, soft_wrap=True)


def _label(entry: "HelpEntry", with_value: bool) -> str:
    if entry.positional_label is not None:
        return entry.positional_label
    return ", ".join(entry.display_labels_with_metavar if with_value else entry.display_labels)


def _description(entry: "HelpEntry", console: "Console", options: "ConsoleOptions") -> str:
    parts = [_plain(entry.description, console, options).strip()]
    if entry.choices:
        parts.append(f"One of {', '.join(entry.choices)}.")
    if entry.default is not None:
        parts.append(f"Else: {entry.default}.")
    return " ".join(part for part in parts if part)


def _plain(text: Any, console: "Console", options: "ConsoleOptions") -> str:
    """The words of something that Rich can print."""
    if not text:
        return ""
    wide = options.update(width=_ANY_WIDTH)
    return "\n".join(
        "".join(segment.text for segment in line).rstrip() for line in console.render_lines(text, wide, pad=False)
    )
