"""A hundred sentences with the time that each is about, judged by hand before any rule was run on them.

The rules were not written on these: tests/unit/extraction/dated_sentences.py has those that they were written on. What
is expected is the start of the span, in the zone of who speaks; weeks begin on Monday; a season counts as the year in
which it begins, as an event time has no precision between month and year. Where people disagree ("next Friday") there
is no sentence.
"""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from memoray.entries import Precision

DAY, WEEK, MONTH, YEAR, INSTANT = Precision.DAY, Precision.WEEK, Precision.MONTH, Precision.YEAR, Precision.INSTANT

SAID_AT = {
    "thu": datetime.fromisoformat("2023-11-23T14:20:00+01:00"),
    "mon": datetime.fromisoformat("2024-07-01T08:05:00+09:00"),
    "sat": datetime.fromisoformat("2025-03-01T21:40:00-08:00"),
    "fri": datetime.fromisoformat("2026-01-02T00:30:00+00:00"),
}


class Dated(NamedTuple):
    """A sentence: when it is said, what it says, and the time that it is about; "" where it is about none."""

    said: str
    text: str
    expected: str
    precision: Precision = DAY


DATED = (
    # Day words.
    Dated("thu", "Today I handed in my notice.", "2023-11-23"),
    Dated("fri", "I could not sleep last night because of the fireworks.", "2026-01-01"),
    Dated("mon", "This morning the kettle exploded.", "2024-07-01"),
    Dated("sat", "We watched a comedy tonight.", "2025-03-01"),
    Dated("mon", "Yesterday my brother fixed the fence.", "2024-06-30"),
    Dated("fri", "I bought a sledge yesterday.", "2026-01-01"),
    Dated("thu", "The day before yesterday the cat came home.", "2023-11-21"),
    Dated("sat", "Tomorrow I have my first yoga class.", "2025-03-02"),
    Dated("thu", "The day after tomorrow we move out.", "2023-11-25"),
    # Counted back.
    Dated("mon", "My phone died four hours ago.", "2024-07-01"),
    Dated("fri", "Two hours ago the power came back.", "2026-01-01"),
    Dated("sat", "I planted garlic five days ago.", "2025-02-24"),
    Dated("fri", "Eleven days ago I sprained my ankle.", "2025-12-22"),
    Dated("thu", "We adopted a puppy a fortnight ago.", "2023-11-06", WEEK),
    Dated("mon", "Three weeks ago I quit my job.", "2024-06-10", WEEK),
    Dated("sat", "A month ago I could not swim.", "2025-02-01", MONTH),
    Dated("thu", "Four months ago we opened the shop.", "2023-07-01", MONTH),
    Dated("fri", "Five years ago I left the army.", "2021-01-01", YEAR),
    Dated("mon", "Half a year ago I stopped drinking.", "2024-01-01", MONTH),
    Dated("sat", "We had the house warming two Saturdays ago.", "2025-02-15"),
    # Counted ahead.
    Dated("sat", "The exam is in ten days.", "2025-03-11"),
    Dated("thu", "We are getting a new boiler in three weeks.", "2023-12-11", WEEK),
    Dated("fri", "In two months I will be a father.", "2026-03-01", MONTH),
    Dated("mon", "A week from now we fly home.", "2024-07-08", WEEK),
    Dated("sat", "The shop closes three days from today.", "2025-03-04"),
    # Weeks, months, years.
    Dated("thu", "Last week I failed my driving test.", "2023-11-13", WEEK),
    Dated("fri", "We got the keys last week.", "2025-12-22", WEEK),
    Dated("mon", "This week I am on call.", "2024-07-01", WEEK),
    Dated("sat", "Next week the tiles arrive.", "2025-03-03", WEEK),
    Dated("thu", "The week before last my tooth was pulled.", "2023-11-06", WEEK),
    Dated("mon", "My aunt stays with us the week after next.", "2024-07-15", WEEK),
    Dated("fri", "Last month I ran a half marathon.", "2025-12-01", MONTH),
    Dated("sat", "I am switching banks next month.", "2025-04-01", MONTH),
    Dated("mon", "We paid off the car this month.", "2024-07-01", MONTH),
    Dated("thu", "The month before last I was in Crete.", "2023-09-01", MONTH),
    Dated("fri", "Last year I learned to weld.", "2025-01-01", YEAR),
    Dated("thu", "Next year my daughter starts school.", "2024-01-01", YEAR),
    Dated("sat", "This year I gave up sugar.", "2025-01-01", YEAR),
    Dated("mon", "The year before last we lived in a van.", "2022-01-01", YEAR),
    # Weekends and weekdays.
    Dated("thu", "Last weekend I built a shelf.", "2023-11-18"),
    Dated("sat", "This weekend my parents are here.", "2025-03-01"),
    Dated("fri", "I went skating last weekend.", "2025-12-27"),
    Dated("mon", "I saw the surgeon last Friday.", "2024-06-28"),
    Dated("sat", "Next Thursday I get my braces off.", "2025-03-06"),
    Dated("fri", "We meet the landlord this Saturday.", "2026-01-03"),
    Dated("thu", "On Sunday we baked gingerbread.", "2023-11-19"),
    Dated("mon", "I'm seeing the vet on Friday.", "2024-07-05"),
    Dated("sat", "We will visit the museum on Wednesday.", "2025-03-05"),
    Dated("thu", "I lost my wallet on Friday last week.", "2023-11-17"),
    Dated("mon", "The band plays next week on Saturday.", "2024-07-13"),
    # Feasts.
    Dated("fri", "It snowed on New Year's Eve.", "2025-12-31"),
    Dated("thu", "We spent Christmas in Gdansk.", "2022-12-25"),
    # Dates.
    Dated("mon", "We closed the deal on 28 June 2024.", "2024-06-28"),
    Dated("sat", "My nephew was born on February 11, 2025.", "2025-02-11"),
    Dated("thu", "The roof was finished on the 9th of November.", "2023-11-09"),
    Dated("fri", "The hearing is on January 19th.", "2026-01-19"),
    Dated("mon", "I climbed Mount Fuji on August 3rd.", "2023-08-03"),
    Dated("sat", "The trial ended 2025-02-14.", "2025-02-14"),
    Dated("thu", "Deployment finished at 2023-11-22T23:30:00Z.", "2023-11-23T00:30", INSTANT),
    Dated("mon", "The server crashed at 2024-06-30T18:45:00+02:00.", "2024-07-01T01:45", INSTANT),
    Dated("sat", "We signed the lease on 27/02/2025.", "2025-02-27"),
    Dated("fri", "The festival ran from 12 to 16 December 2025.", "2025-12-12"),
    Dated("thu", "The course takes place 4-8 December.", "2023-12-04"),
    Dated("mon", "I broke my arm on Tuesday, 25 June.", "2024-06-25"),
    Dated("sat", "Dad turns seventy on 5 April.", "2025-04-05"),
    Dated("thu", "Rent was due on the 1st.", "2023-11-01"),
    Dated("fri", "I'm picking up the car on the 8th.", "2026-01-08"),
    Dated("mon", "The Friday before 14 June 2024 we had no water.", "2024-06-07"),
    Dated("sat", "The week after 3 February 2025 I was on leave.", "2025-02-10", WEEK),
    # Months, seasons, years.
    Dated("thu", "In March I started therapy.", "2023-03-01", MONTH),
    Dated("mon", "I'm moving to Turin in October.", "2024-10-01", MONTH),
    Dated("sat", "We hiked the West Highland Way in September 2023.", "2023-09-01", MONTH),
    Dated("fri", "Last November our dog died.", "2025-11-01", MONTH),
    Dated("thu", "I passed the bar exam in early June.", "2023-06-01", MONTH),
    Dated("mon", "Next April I turn thirty.", "2025-04-01", MONTH),
    Dated("sat", "At the end of January I changed teams.", "2025-01-01", MONTH),
    Dated("thu", "Last winter the pipes froze.", "2022-01-01", YEAR),
    Dated("mon", "In the spring of 2021 I planted an orchard.", "2021-01-01", YEAR),
    Dated("sat", "This summer we will tour Iceland.", "2025-01-01", YEAR),
    Dated("fri", "Last autumn I read all of Chekhov.", "2025-01-01", YEAR),
    Dated("thu", "In 2008 I lost my savings.", "2008-01-01", YEAR),
    # Spans and since when.
    Dated("mon", "I studied law from 2011 to 2015.", "2011-01-01", YEAR),
    Dated("sat", "She has been a nurse since 2016.", "2016-01-01", YEAR),
    Dated("thu", "I have been vegan since March 2022.", "2022-03-01", MONTH),
    Dated("mon", "I've had this cough for three weeks.", "2024-06-10", WEEK),
    Dated("fri", "We have owned the bakery for twelve years.", "2014-01-01", YEAR),
    # Times of day.
    Dated("thu", "The interview is tomorrow at 9:30 am.", "2023-11-24T09:30", INSTANT),
    Dated("mon", "Yesterday at 6 pm the train derailed.", "2024-06-30T18:00", INSTANT),
    Dated("sat", "The flight left at 23:55 on 28 February.", "2025-02-28T23:55", INSTANT),
    # Chinese and Japanese.
    Dated("thu", "我昨天买了一辆自行车。", "2023-11-22"),
    Dated("mon", "上周五我们去爬山了。", "2024-06-28"),
    Dated("sat", "我下个月要搬到成都。", "2025-04-01", MONTH),
    Dated("fri", "两周前我换了手机。", "2025-12-15", WEEK),
    Dated("thu", "去年夏天我在青岛学会了游泳。", "2022-01-01", YEAR),
    Dated("mon", "2023年10月8日女儿出生了。", "2023-10-08"),
    Dated("sat", "昨日、歯医者に行きました。", "2025-02-28"),
    Dated("fri", "先週、引っ越しました。", "2025-12-22", WEEK),
    Dated("thu", "来週の月曜日に面接があります。", "2023-11-27"),
    # About no time of their own.
    Dated("mon", "Every Tuesday I play chess.", ""),
    Dated("sat", "My birthday is on 3 May.", ""),
)
