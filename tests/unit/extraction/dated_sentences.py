"""A hundred dated sentences: when they were said, and when they speak of.

Each row: a moment of `SAID`, the sentence, the right local start of the span, its precision. `KNOWN_LIMITS` are
sentences that a reader would date, or not, and the rules do otherwise.
"""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from memoray.entries import Precision

DAY, WEEK, MONTH, YEAR, INSTANT = Precision.DAY, Precision.WEEK, Precision.MONTH, Precision.YEAR, Precision.INSTANT

SAID = {
    "wed": datetime.fromisoformat("2026-03-18T10:30:00+01:00"),  # a Wednesday
    "sun": datetime.fromisoformat("2025-06-15T23:45:00-11:00"),  # a Sunday; in UTC already Monday
    "leap": datetime.fromisoformat("2024-02-29T09:00:00+00:00"),  # a Thursday
    "new year": datetime.fromisoformat("2025-01-01T00:30:00+14:00"),  # a Wednesday; in UTC still last year
    "spring": datetime.fromisoformat("2026-03-29T03:05:00+02:00"),  # Berlin, minutes after the clocks went forward
    "autumn": datetime.fromisoformat("2026-10-25T02:30:00+01:00"),  # Berlin, the second 02:30 of that night
    "eve": datetime.fromisoformat("2023-12-31T23:59:00-05:00"),  # a Sunday
}


class Row(NamedTuple):
    said: str
    sentence: str
    expected: str
    precision: Precision


ROWS = [
    # Days.
    Row("wed", "I planted tomatoes today.", "2026-03-18", DAY),
    Row("wed", "We are having lasagne tonight.", "2026-03-18", DAY),
    Row("new year", "I woke up this morning with a cold.", "2025-01-01", DAY),
    Row("wed", "I ran ten kilometres yesterday.", "2026-03-17", DAY),
    Row("new year", "Yesterday we cleaned the whole flat.", "2024-12-31", DAY),
    Row("sun", "I finished the quilt yesterday evening.", "2025-06-14", DAY),
    Row("wed", "Last night the boiler broke.", "2026-03-17", DAY),
    Row("wed", "The day before yesterday I signed the lease.", "2026-03-16", DAY),
    Row("leap", "My visa interview is tomorrow.", "2024-03-01", DAY),
    Row("eve", "We fly to Lisbon tomorrow morning.", "2024-01-01", DAY),
    Row("wed", "The day after tomorrow the plumber comes.", "2026-03-20", DAY),
    Row("spring", "The alarm went off an hour ago.", "2026-03-29", DAY),
    Row("new year", "I called the bank two hours ago.", "2024-12-31", DAY),
    Row("spring", "Yesterday I moved the servers.", "2026-03-28", DAY),
    Row("autumn", "The backup failed today.", "2026-10-25", DAY),
    # Counted.
    Row("wed", "I adopted a cat three days ago.", "2026-03-15", DAY),
    Row("leap", "We met 10 days ago.", "2024-02-19", DAY),
    Row("wed", "I started the course a week ago.", "2026-03-09", WEEK),
    Row("sun", "My parents visited two weeks ago.", "2025-05-26", WEEK),
    Row("wed", "She left the company a couple of months ago.", "2026-01-01", MONTH),
    Row("leap", "I broke my wrist six months ago.", "2023-08-01", MONTH),
    Row("wed", "I learned to sail ten years ago.", "2016-01-01", YEAR),
    Row("leap", "My grandmother died a year ago.", "2023-01-01", YEAR),
    Row("wed", "The lease will end in three months.", "2026-06-01", MONTH),
    Row("wed", "I'm moving to Ghent in two weeks.", "2026-03-30", WEEK),
    Row("wed", "The release is due two days from now.", "2026-03-20", DAY),
    Row("wed", "We went climbing two Fridays ago.", "2026-03-06", DAY),
    Row("wed", "I broke the mug a fortnight ago.", "2026-03-02", WEEK),
    Row("wed", "Half a year ago I sold the piano.", "2025-09-01", MONTH),
    Row("wed", "Half an hour ago the bell rang.", "2026-03-18", DAY),
    Row("wed", "The recital is in six days.", "2026-03-24", DAY),
    # Weeks, months, years.
    Row("wed", "We repainted the kitchen last week.", "2026-03-09", WEEK),
    Row("sun", "This week I only ate at home.", "2025-06-09", WEEK),
    Row("wed", "Next week I start at the bakery.", "2026-03-23", WEEK),
    Row("wed", "The auditors were here the week before last.", "2026-03-02", WEEK),
    Row("wed", "My sister marries the week after next.", "2026-03-30", WEEK),
    Row("leap", "I got promoted last month.", "2024-01-01", MONTH),
    Row("wed", "Rent goes up next month.", "2026-04-01", MONTH),
    Row("eve", "We sold the boat this month.", "2023-12-01", MONTH),
    Row("new year", "I read forty novels last year.", "2024-01-01", YEAR),
    Row("eve", "Next year I want to walk the Camino.", "2024-01-01", YEAR),
    # Weekends and weekdays.
    Row("wed", "I went hiking in the Dolomites last weekend.", "2026-03-14", DAY),
    Row("sun", "Last weekend we camped by a lake.", "2025-06-07", DAY),
    Row("wed", "This weekend we are clearing the attic.", "2026-03-21", DAY),
    Row("wed", "Next weekend my cousins arrive.", "2026-03-28", DAY),
    Row("wed", "We upgraded production from Go 1.23 to Go 1.24 last Thursday.", "2026-03-12", DAY),
    Row("wed", "Last Wednesday I donated blood.", "2026-03-11", DAY),
    Row("wed", "I have a dentist appointment next Monday.", "2026-03-23", DAY),
    Row("wed", "This Friday the choir sings in Ulm.", "2026-03-20", DAY),
    Row("wed", "We met the notary on Monday.", "2026-03-16", DAY),
    Row("wed", "I'm meeting the notary on Monday.", "2026-03-23", DAY),
    Row("leap", "Will see the eye doctor on Tuesday.", "2024-03-05", DAY),
    Row("wed", "The demo went wrong on Tuesday last week.", "2026-03-10", DAY),
    Row("wed", "Our flight leaves next week on Thursday.", "2026-03-26", DAY),
    # Dates.
    Row("wed", "The TLS certificate for the Frankfurt data centre was rotated on 12 March 2026.", "2026-03-12", DAY),
    Row("sun", "I was born on May 7, 1988.", "1988-05-07", DAY),
    Row("wed", "Our daughter was born on the 2nd of October 2019.", "2019-10-02", DAY),
    Row("wed", "The store opened on 7th Dec.", "2025-12-07", DAY),
    Row("eve", "The wedding is on January 20th.", "2024-01-20", DAY),
    Row("wed", "Version 2.1 shipped on 2024-05-07.", "2024-05-07", DAY),
    Row("wed", "The outage began at 2024-05-07T22:15:00Z.", "2024-05-07T23:15", INSTANT),
    Row("wed", "The contract was signed 25/12/2024.", "2024-12-25", DAY),
    Row("wed", "The conference ran 12-14 February 2026.", "2026-02-12", DAY),
    Row("leap", "I turn forty on March 3.", "2024-03-03", DAY),
    Row("wed", "We got engaged on July 4.", "2025-07-04", DAY),
    Row("wed", "I'm getting married on 7 December.", "2026-12-07", DAY),
    Row("wed", "On Friday 27 March we fly to Oslo.", "2026-03-27", DAY),
    Row("wed", "The bill came on the 5th.", "2026-03-05", DAY),
    Row("wed", "I will pay the deposit on the 5th.", "2026-04-05", DAY),
    Row("wed", "The essay was due on the 12th.", "2026-03-12", DAY),
    Row("wed", "We were going to paint on the 20th.", "2026-02-20", DAY),
    Row("wed", "The week before 9 June 2025 I had the flu.", "2025-06-02", WEEK),
    Row("wed", "We hiked the Saturday before 12 March 2026.", "2026-03-07", DAY),
    # Months, seasons, years.
    Row("wed", "I ran my first marathon in October.", "2025-10-01", MONTH),
    Row("wed", "I'm travelling to Peru in October.", "2026-10-01", MONTH),
    Row("wed", "Last May I quit smoking.", "2025-05-01", MONTH),
    Row("wed", "We bought the house in June 2021.", "2021-06-01", MONTH),
    Row("wed", "I graduated in late September 2015.", "2015-09-01", MONTH),
    Row("wed", "Back in 2012 I lived in Oslo.", "2012-01-01", YEAR),
    Row("wed", "Last summer I learned to surf.", "2025-01-01", YEAR),
    Row("sun", "We cycled along the Danube in the summer of 2019.", "2019-01-01", YEAR),
    Row("wed", "At the end of February the heating failed.", "2026-02-01", MONTH),
    Row("wed", "I rowed for the club from 2003 to 2009.", "2003-01-01", YEAR),
    Row("wed", "Between 1998 and 2001 we had a farm.", "1998-01-01", YEAR),
    # Since when.
    Row("wed", "She has been ill for ten days.", "2026-03-08", DAY),
    Row("wed", "I've felt dizzy for two weeks.", "2026-03-02", WEEK),
    Row("wed", "I have worked at the library since 2019.", "2019-01-01", YEAR),
    Row("wed", "I've been a vegetarian since last year.", "2025-01-01", YEAR),
    Row("wed", "I have lived in Porto for 4 years.", "2022-01-01", YEAR),
    # Times of day.
    Row("wed", "The call with the bank is tomorrow at 4pm.", "2026-03-19T16:00", INSTANT),
    Row("wed", "Yesterday at 16:45 the lift got stuck.", "2026-03-17T16:45", INSTANT),
    Row("new year", "I landed at 9:15 a.m. on 30 December 2024.", "2024-12-30T09:15", INSTANT),
    Row("sun", "The match starts at noon tomorrow.", "2025-06-16T12:00", INSTANT),
    Row("wed", "The call is tomorrow at 4pm EST.", "2026-03-19", DAY),
    # Chinese.
    Row("wed", "我下周三要去上海出差。", "2026-03-25", DAY),
    Row("wed", "昨天我和小李一起吃了火锅。", "2026-03-17", DAY),
    Row("new year", "今天我搬进了新公寓。", "2025-01-01", DAY),
    Row("wed", "前天我把车卖了。", "2026-03-16", DAY),
    Row("leap", "明天我要做手术。", "2024-03-01", DAY),
    Row("wed", "后天我们去看房子。", "2026-03-20", DAY),
    Row("wed", "上周我感冒了。", "2026-03-09", WEEK),
    Row("wed", "我上个月辞职了。", "2026-02-01", MONTH),
    Row("wed", "我们去年结婚了。", "2025-01-01", YEAR),
    Row("wed", "上周三我去了医院。", "2026-03-11", DAY),
    Row("wed", "三天前我买了一台相机。", "2026-03-15", DAY),
    Row("wed", "我们5月3日要开会。", "2026-05-03", DAY),
    Row("wed", "我们10月2日搬了家。", "2025-10-02", DAY),
    Row("wed", "2024年5月3日我们签了合同。", "2024-05-03", DAY),
    Row("wed", "明天下午3点我有面试。", "2026-03-19T15:00", INSTANT),
    Row("wed", "昨天晚上八点半停电了。", "2026-03-17T20:30", INSTANT),
    Row("wed", "从2019年开始我在杭州工作。", "2019-01-01", YEAR),
    Row("wed", "去年十二月我学会了滑雪。", "2025-12-01", MONTH),
    Row("sun", "我两年前开始学钢琴。", "2023-01-01", YEAR),
    Row("wed", "这周末我要去爬山。", "2026-03-21", DAY),
    Row("wed", "我下个月5号去东京。", "2026-04-05", DAY),
    Row("wed", "来週の金曜日に友達に会います。", "2026-03-27", DAY),
]

KNOWN_LIMITS = [
    # Sentence, what the rules give (None: no date), why.
    ("wed", "I met her on 05/07/2024.", None, "day first or month first: no telling"),
    ("wed", "A few days ago I sold my car.", None, "how many days is not said"),
    ("wed", "At Christmas we were in Ghent.", None, "feasts are not known"),
    ("wed", "Ten days after the wedding we flew home.", None, "counted from another event"),
    ("wed", "I finished the book in two days.", None, "how long it took is no date"),
    ("wed", "The rehearsal was Tuesday.", None, "a bare weekday could lie on either side"),
    ("wed", "Our lease runs until 30 June 2027.", None, "an end is no event"),
    ("wed", "In 1889 people said that the tower would fall within a year.", None, "years before 1900"),
]
