"""Numbers in Chinese characters: 二十五, 一百零五, 一万二, 二〇二六, 百分之二十, 三分之一, 两个半, 一刻钟."""

from typing import NamedTuple


class ChineseNumber(NamedTuple):
    digits: str
    """Digits, with a percent sign for a share of a whole."""
    length: int
    """Length in characters."""
    is_ordinal: bool = False
    """第二十: a name for one of several, and no quantity."""


_ONES = {
    character: value
    for value, characters in enumerate(
        ("〇零", "一壹", "二两兩贰", "三叁", "四肆", "五伍", "六陆", "七柒", "八捌", "九玖")
    )
    for character in characters
}
_TENS = {"廿": 20, "卅": 30}
_SCALES = {"十": 10, "拾": 10, "百": 100, "佰": 100, "千": 1_000, "仟": 1_000}
_MYRIADS = {"万": 10**4, "萬": 10**4, "亿": 10**8, "億": 10**8}
_NUMERALS = frozenset((*_ONES, *_TENS, *_SCALES, *_MYRIADS))
_WEEKDAYS = ("星期", "礼拜", "周", "週")
_QUARTER_MINUTES = 15
_ORDINAL = "第"
_PER_CENT = "百分之"
_POINT = ("点", "點")
_NOT_BEHIND_POINT = frozenset("分刻钟鐘")
"""三点五分 is five past three."""
_ZEROS = frozenset("〇零")


def number_at(run: str, at: int) -> ChineseNumber | None:
    """Returns the number of several characters that begins at a character of a run of Chinese characters.

    A single numeral is left to the caller, who knows the word after it: 一 is often not a number (一般), nor are two
    numerals of a range (三四个, three or four).
    """
    if run.startswith(_PER_CENT, at):
        part = _read(run, at + len(_PER_CENT))
        return part and ChineseNumber(f"{part[0]:.12g}%", len(_PER_CENT) + part[1])
    if run[at] == _ORDINAL:
        place = _read(run, at + 1)
        return place and ChineseNumber(f"{_ORDINAL}{place[0]}", 1 + place[1], is_ordinal=True)
    if run[:at].endswith(_WEEKDAYS) and run[at] in _ONES:  # 星期二十点 is Tuesday at ten.
        return None
    found = _read(run, at)
    if found is None:
        return None
    value, length = found
    after = run[at + length :]
    if after.startswith("分之") and value and (part := _read(run, at + length + 2)):
        return ChineseNumber(f"{100 * part[0] / value:.6g}%", length + 2 + part[1])
    if after.startswith(("个半", "個半")):
        return ChineseNumber(f"{value + 0.5:.12g}", length + 2)
    if after.startswith(("刻钟", "刻鐘")):
        return ChineseNumber(f"{value * _QUARTER_MINUTES:.12g}分", length + 2)
    if after.startswith(_POINT) and (decimals := _decimals(after[1:])):
        return ChineseNumber(f"{value}.{decimals}", length + 1 + len(decimals))
    return ChineseNumber(str(value), length) if length > 1 else None


def _read(run: str, at: int) -> tuple[int, int] | None:
    """Returns the value of the longest number from ``at``, and its length in characters."""
    end = at
    while end < len(run) and run[end] in _NUMERALS:
        end += 1
    for stop in range(end, at, -1):
        value = _value(run[at:stop])
        if value is not None:
            return value, stop - at
    return None


def _value(numerals: str) -> int | None:
    """Returns the value, None if the characters are not a number."""
    if all(one in _ONES for one in numerals):
        return _digit_by_digit(numerals)
    total = section = 0
    pending: int | None = None
    last, below, below_myriad = 0, 10**4, 10**12
    after_zero = False
    for one in numerals:
        if one in _ZEROS:
            if pending is not None or not (section or total):
                return None
            after_zero = True
        elif one in _ONES or one in _TENS:
            if pending is not None or (one in _TENS and below <= 10):
                return None
            pending = _ONES.get(one) or _TENS[one]
            if one in _TENS:
                section, pending, last, below = section + pending, None, 10, 10
        elif one in _SCALES:
            scale = _SCALES[one]
            # Only ten is written without how many: 十五, and 一百十五 in speech.
            if scale >= below or (pending is None and scale != 10):
                return None
            section, pending, last, below = section + (1 if pending is None else pending) * scale, None, scale, scale
            after_zero = False
        else:
            scale, counted = _MYRIADS[one], section + (pending or 0)
            if not counted or scale >= below_myriad:
                return None
            total, section, pending = total + counted * scale, 0, None
            last, below, below_myriad, after_zero = scale, 10**4, scale, False
    if pending is None:
        return None if after_zero else total + section
    # 一万二 is 12,000 and 两百五 is 250; 一万零二 is 10,002.
    is_short = last >= 100 and not after_zero
    return total + section + pending * (last // 10 if is_short else 1)


def _digit_by_digit(numerals: str) -> int | None:
    """二〇二六; one numeral; not 三四 (three or four), nor 两 among others."""
    if len(numerals) > 1 and ("两" in numerals or "兩" in numerals):
        return None
    if len(numerals) == 2 and not _ZEROS & frozenset(numerals):
        return None
    return int("".join(str(_ONES[one]) for one in numerals))


def _decimals(text: str) -> str:
    """The digits behind a point: 三点五秒; none where a time of day is meant."""
    digits = ""
    for one in text:
        if one not in _ONES:
            return "" if one in _NOT_BEHIND_POINT else digits
        digits += str(_ONES[one])
    return digits
