"""Which sentences of a message say something worth remembering."""

from __future__ import annotations

import pytest

from memoray.extraction.sentences import sentences
from memoray.extraction.statements import statements


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("We run Go 1.24. It is fast.", ["We run Go 1.24.", "It is fast."]),
        ("I met Dr. Silva, e.g. at No. 5. She left.", ["I met Dr. Silva, e.g. at No. 5.", "She left."]),
        ("No. I live in Lyon.", ["No.", "I live in Lyon."]),
        ("See https://example.org/a.b?c=d. It helps.", ["See https://example.org/a.b?c=d.", "It helps."]),
        ("I weigh 80.5 kg... and you", ["I weigh 80.5 kg... and you"]),
        ("I was tired... We left.", ["I was tired...", "We left."]),
        ("We left at 9 a.m. Ana stayed.", ["We left at 9 a.m.", "Ana stayed."]),
        ("We left at 9 a.m. and Ana stayed.", ["We left at 9 a.m. and Ana stayed."]),
        ("Acme Inc. is big.", ["Acme Inc. is big."]),
        ("J. Smith called. I was out.", ["J. Smith called.", "I was out."]),
        ('He said "stop!" Then he left.', ['He said "stop!"', "Then he left."]),
        ("我叫李雷。我喜欢茶！你呢？", ["我叫李雷。", "我喜欢茶！", "你呢？"]),
        ("I moved \U0001f600 My flat is big", ["I moved \U0001f600", "My flat is big"]),
        ("I love \U0001f600 tea", ["I love \U0001f600 tea"]),
        ("1. Buy milk\n2. Sell tea", ["1. Buy milk", "2. Sell tea"]),
        ("a line that was\nwrapped by hand", ["a line that was wrapped by hand"]),
        ("before\n```py\nI = 5\n```\nAfter", ["before", "After"]),
        ("> I like beer\nI like wine", ["I like wine"]),
    ],
)
def test_a_message_falls_into_its_sentences(text: str, expected: list[str]) -> None:
    assert [sentence.strip() for sentence in sentences(text) if sentence.strip()] == expected


@pytest.mark.parametrize(
    "text",
    [
        "Hi there!",
        "Hey Ana, good to see you!",
        "Thanks so much for your help with the report.",
        "Wow, that's great!",
        "That sounds like a wonderful plan!",
        "Can you book a table at Luigi's?",
        "Please write a mail to Priya.",
        "And please write a mail to Priya.",
        "Twice a year.",
        "Translate: good morning",
        "What do you think about Rome?",
        "do you know where Ana is",
        "Sure, no problem at all.",
        "Good luck with your exam tomorrow!",
        "You are so talented!",
        "I'm so proud of you!",
        "Never give up on your dreams!",
        "I can't wait!",
        "It was so good to be there!",
        "ok",
        "...",
        "\U0001f600\U0001f600",
        "---",
        "| a | b |",
        "<div>hello world</div>",
        "const x = () => { return 1; }",
        "你好！",
        "谢谢你！",
        "请帮我写一封邮件。",
        "你喜欢茶吗？",
        "好的，",
    ],
)
def test_chatter_and_requests_say_nothing(text: str) -> None:
    assert statements(text) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Yeah, I painted that fence.", "I painted that fence."),
        ("By the way, my sister lives in Porto.", "My sister lives in Porto."),
        ("Thanks, I moved to the Lyon office.", "I moved to the Lyon office."),
        ("Remember that I'm vegetarian.", "I'm vegetarian."),
        ("Please always answer in German.", "Please always answer in German."),
        ("I moved to Lyon last week, what about you?", "I moved to Lyon last week."),
        ("When I was 5 we moved to Lyon.", "When I was 5 we moved to Lyon."),
        ("I can't wait for the concert in Rome!", "I can't wait for the concert in Rome!"),
        ("- my favourite editor is Helix", "My favourite editor is Helix"),
        ("I have a dog", "I have a dog"),
        ("Enjoying my retirement in Graz.", "Enjoying my retirement in Graz."),
        ("\U0001f600 I love tea", "I love tea"),
        ("我对花生过敏。", "我对花生过敏。"),
        ("我爱猫", "我爱猫"),
    ],
)
def test_what_is_said_is_kept_as_it_was_said(text: str, expected: str) -> None:
    assert statements(text) == [expected]


def test_pasted_text_without_an_end_is_no_statement() -> None:
    assert statements("I like tea and " * 500) == []
