"""Numbers in Chinese characters are read whole: 二十 is twenty, not ten."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hivelore.observations.contradiction.chinese_numbers import number_at
from hivelore.observations.contradiction.judge import Verdict, judge
from support.laws import examples

ONES = "零一二三四五六七八九"


def section(number: int) -> str:
    """Returns the formal notation of a number from 1 to 9,999."""
    text, is_gap = "", False
    for scale, name in ((1_000, "千"), (100, "百"), (10, "十"), (1, "")):
        digit = number // scale % 10
        if digit:
            text += ("零" if is_gap and text else "") + ONES[digit] + name
        is_gap = not digit
    return text


def in_chinese(number: int) -> str:
    """Returns the formal notation of a number from 10 to 99,999,999; 10 to 19 without the first 一."""
    high, low = divmod(number, 10_000)
    text = section(high) + "万" if high else ""
    if low:
        text += ("零" if high and low < 1_000 else "") + section(low)
    return text[1:] if text.startswith("一十") else text


@settings(max_examples=examples(200))
@given(number=st.integers(11, 99_999_999))
def test_every_number_is_read_as_itself(number: int) -> None:
    text = in_chinese(number)
    found = number_at(f"{text}秒", 0)
    assert found is not None
    assert (found.digits, found.length) == (str(number), len(text))


@pytest.mark.parametrize(
    ("text", "digits", "length"),
    [
        ("二十秒", "20", 2),
        ("廿五天", "25", 2),
        ("两百次", "200", 2),
        ("一万二", "12000", 3),
        ("两百五", "250", 3),
        ("一万零二", "10002", 4),
        ("二〇二六年", "2026", 4),
        ("八零八零", "8080", 4),
        ("百分之二十", "20%", 5),
        ("三分之一", "33.3333%", 4),
        ("两个半小时", "2.5", 3),
        ("一刻钟", "15分", 3),
        ("三点五秒", "3.5", 3),
    ],
)
def test_a_chinese_number_is_read(text: str, digits: str, length: int) -> None:
    found = number_at(text, 0)
    assert found is not None
    assert (found.digits, found.length) == (digits, length)


@pytest.mark.parametrize("text", ["一般", "万一", "千万", "三四个", "两三次", "三点五分", "十", "百", "零", "秒"])
def test_other_texts_are_not_read_as_a_number_of_several_characters(text: str) -> None:
    assert number_at(text, 0) is None


def test_a_day_of_the_week_is_separate_from_the_hour() -> None:
    assert number_at("星期二十点", 2) is None


@settings(max_examples=examples(60))
@given(number=st.integers(11, 5_000), times=st.integers(1, 3))
def test_spans_are_compared_by_their_value(number: int, times: int) -> None:
    """If 二十 were read as 十, twenty seconds would contradict 20 seconds."""
    expected = Verdict.SAME if times == 1 else Verdict.CONFLICT
    assert judge(f"超时是{in_chinese(number)}秒", f"超时是 {number * times} 秒", None).verdict is expected
    assert judge(f"超时是{in_chinese(number)}秒", f"超时是{in_chinese(number * times)}秒", None).verdict is expected


@pytest.mark.parametrize(
    ("first", "second", "verdict"),
    [
        ("超时是二十秒", "超时是十秒", Verdict.CONFLICT),
        ("超时是二十秒", "超时是 20 秒", Verdict.SAME),
        ("备份需要两个半小时", "备份需要 150 分钟", Verdict.SAME),
        ("备份需要半个小时", "备份需要 30 分钟", Verdict.SAME),
        ("备份需要两个小时", "备份需要 3 小时", Verdict.CONFLICT),
        ("延迟 30 毫秒", "延迟 30 秒", Verdict.CONFLICT),
        ("磁盘占用百分之二十", "磁盘占用 20%", Verdict.SAME),
        ("备份在周一运行", "备份在周二运行", Verdict.CONFLICT),
    ],
)
def test_notes_in_chinese_are_compared_by_their_quantities(first: str, second: str, verdict: Verdict) -> None:
    assert judge(first, second, None).verdict is verdict


def test_ordinal_numbers_do_not_conflict() -> None:
    assert judge("第二十个副本失败", "第十个副本失败", None).verdict is not Verdict.CONFLICT
