"""Writes .env.example from the settings in the code: ``python scripts/render_settings.py > .env.example``."""

from collections.abc import Iterator
from enum import Enum
from textwrap import wrap
from typing import cast

from hivelore.runtime.settings import Settings

HEADER = """\
# Every setting of Hivelore with its default. Nothing has to be set.
# Made from the code by scripts/render_settings.py; only the service reads OPENAI_API_KEY and ANTHROPIC_API_KEY.
"""


def render() -> str:
    return HEADER + "".join(_lines())


def _lines() -> Iterator[str]:
    for name, field in Settings.model_fields.items():
        variable = str(field.validation_alias)
        yield "\n"
        yield from (f"# {line}\n" for line in wrap(field.description or name, 110))
        yield f"#{variable}={_shown(field.default) if field.default_factory is None else ''}\n"


def _shown(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, tuple):
        return ",".join(map(str, cast(tuple[object, ...], value)))
    return str(value.value) if isinstance(value, Enum) else str(value)


if __name__ == "__main__":
    print(render(), end="")
