"""Words for numbers, units and dates."""

from collections.abc import Mapping

from hivelore.observations.contradiction.words import words_of

MINUTE, HOUR, DAY = 60.0, 3600.0, 86_400.0
WEEK, MONTH, YEAR = 7 * DAY, 30.4 * DAY, 365 * DAY


def _units(table: Mapping[float, str]) -> dict[str, float]:
    return {unit: factor for factor, units in table.items() for unit in units.split()}


SPANS = _units(
    {
        0.001: "ms millisecond milliseconds millisekunden millisecondes milisegundos 毫秒",
        1.0: "s sec secs second seconds sekunde sekunden sek seconde secondes segundo segundos 秒",
        MINUTE: "min mins minute minutes minuten minuto minutos 分钟 分",
        HOUR: "h hr hrs hour hours stunde stunden heure heures hora horas 小时 钟头",
        DAY: "d day days tag tage tagen jour jours día días dia dias 天",
        2 * WEEK: "fortnight fortnights",
        WEEK: "w week weeks woche wochen semaine semaines semana semanas 周 星期",
        MONTH: "month months monat monate monaten mois mes meses 月",
        YEAR: "y yr year years jahr jahre jahren an ans année années año años 年",
    }
)
SIZES = _units(
    {
        1.0: "b byte bytes",
        1e3: "k kb kib ko kilobyte kilobytes",
        1e6: "mb mib mo megabyte megabytes",
        1e9: "g gb gib go gigabyte gigabytes",
        1e12: "t tb tib terabyte terabytes",
    }
)
MEASURES = {
    unit: (dimension, factor)
    for dimension, factor, units in (
        ("power", 1.0, "w watt watts"),
        ("power", 1e3, "kw kilowatt kilowatts"),
        ("energy", 1e3, "kwh"),
        ("frequency", 1.0, "hz hertz"),
        ("frequency", 1e3, "khz"),
        ("frequency", 1e6, "mhz"),
        ("frequency", 1e9, "ghz"),
        ("throughput", 125.0, "kbps kbit"),
        ("throughput", 125e3, "mbps mbit"),
        ("throughput", 125e6, "gbps gbit"),
        ("temperature", 1.0, "° °c celsius degrees grad degrés grados"),
        ("frames", 1.0, "fps"),
        ("pixels", 1.0, "px pixel pixels"),
        ("turns", 1.0, "rpm"),
        ("operations", 1.0, "iops"),
    )
    for unit in units.split()
}
"""Other measures: kind and factor."""
EVERY = {
    "hourly": HOUR, "stündlich": HOUR, "daily": DAY, "nightly": DAY, "täglich": DAY, "quotidien": DAY, "diario": DAY,
    "每天": DAY, "weekly": WEEK, "wöchentlich": WEEK, "hebdomadaire": WEEK, "semanal": WEEK, "每周": WEEK,
    "fortnightly": 2 * WEEK, "monthly": MONTH, "monatlich": MONTH, "mensuel": MONTH, "mensual": MONTH, "每月": MONTH,
    "quarterly": 3 * MONTH, "yearly": YEAR, "annually": YEAR, "jährlich": YEAR, "anual": YEAR,
}  # fmt: skip
PER = words_of("every each per alle jede jeden cada chaque toutes tous 每 a an pro par por")
RECUR = words_of("every each alle jede jeden cada chaque 每 per pro")
ABOUT = words_of(
    """
    about around roughly approximately approx circa nearly almost some etwa ungefähr rund environ
    près aproximadamente unos unas 大约 约
    """
)
WORDS = {
    word: float(value)
    for value, words in {
        1: "one einer eine ein un une una a an uno 一",
        2: "two zwei deux dos 两 二",
        3: "three drei trois tres 三",
        4: "four vier quatre cuatro 四",
        5: "five fünf cinq cinco 五",
        6: "six sechs seis 六",
        7: "seven sieben sept siete 七",
        8: "eight acht huit ocho 八",
        9: "nine neun neuf nueve 九",
        10: "ten zehn dix diez 十",
        11: "eleven elf onze",
        12: "twelve zwölf douze doce",
        13: "thirteen dreizehn treize trece",
        14: "fourteen vierzehn quatorze catorce",
        15: "fifteen fünfzehn quinze quince",
        16: "sixteen sechzehn",
        17: "seventeen siebzehn",
        18: "eighteen achtzehn",
        19: "nineteen neunzehn",
        20: "twenty zwanzig vingt veinte",
        30: "thirty dreißig dreissig trente treinta",
        40: "forty vierzig quarante cuarenta",
        50: "fifty fünfzig cinquante cincuenta",
        60: "sixty sechzig soixante sesenta",
        70: "seventy siebzig setenta",
        80: "eighty achtzig ochenta",
        90: "ninety neunzig noventa",
        100: "hundred hundert cent cien",
    }.items()
    for word in words.split()
}
DAILY_WORDS = words_of("night nightly day daily morning evening noon midnight oclock weekday every each")
HALF = words_of("half halbe halben demi demie media medio 半")
FRACTIONS = {
    **dict.fromkeys(HALF, 1 / 2),
    **dict.fromkeys(("quarter", "quarters", "viertel"), 1 / 4),
    **dict.fromkeys(("third", "thirds", "drittel"), 1 / 3),
    **dict.fromkeys(("fifth", "fifths"), 1 / 5),
    **dict.fromkeys(("tenth", "tenths"), 1 / 10),
}
PARTS_ALONE = HALF | {"quarter", "quarters"}
"""Parts that need no number before them: the others are places in an order, too."""
SCALES = {
    "dozen": 12.0,
    **dict.fromkeys(("hundred", "hundert", "cien"), 1e2),
    **dict.fromkeys(("thousand", "tausend", "mille", "mil"), 1e3),
    **dict.fromkeys(("million", "millionen", "millions", "millones"), 1e6),
    **dict.fromkeys(("billion", "milliarden", "milliards"), 1e9),
}
TIMES = words_of("time times mal fois veces 次")
WEEKDAYS = {
    form: name
    for name, forms in {
        "monday": "mondays montag montags lundi lunes 周一",
        "tuesday": "tuesdays dienstag dienstags mardi martes 周二",
        "wednesday": "wednesdays mittwoch mittwochs mercredi miércoles 周三",
        "thursday": "thursdays donnerstag donnerstags jeudi jueves 周四",
        "friday": "fridays freitag freitags vendredi viernes 周五",
        "saturday": "saturdays samstag samstags samedi sábado 周六",
        "sunday": "sundays sonntag sonntags dimanche domingo 周日",
    }.items()
    for form in (name, *forms.split())
}
MONTHS = {
    form: number + 1
    for number, forms in enumerate(
        (
            "january jan januar janvier enero",
            "february feb februar février febrero",
            "march mar märz mars marzo",
            "april apr avril abril",
            "may mai mayo",
            "june jun juni juin junio",
            "july jul juli juillet julio",
            "august aug août agosto",
            "september sep sept septembre septiembre",
            "october oct oktober octobre octubre",
            "november nov novembre noviembre",
            "december dec dezember décembre diciembre",
        )
    )
    for form in forms.split()
}
PORT_WORDS = words_of("port ports puerto 端口 tcp udp")
PERCENT_WORDS = words_of("percent prozent %")
VERSION_WORDS = words_of("version versions v release")
ERROR_WORDS = words_of(
    """
    error errors http status answer answers answering return returns refuse refused refuses respond
    responds code get gets 413 404 with
    """
)
MEGA_WORDS = words_of("size body upload uploads memory disk maxmemory file files max")
NO_NOUN = words_of("from at by that which is in on to can may has and or")
OF_WHAT = words_of("the its their all our")
"""Words after *half* in a share of something."""
IN_ORDER = words_of("first second other last latter former upper lower better left right")
BEFORE_SPANS = words_of(
    """
    take takes took taking last lasts about around for in within after of by to than every once half and with at
    every least most until before is are was needs need nearly almost roughly over under up
    """
)
AFTER_SPANS = frozenset(
    (*BEFORE_SPANS, *NO_NOUN, *PER, *words_of("longer later earlier more less ago apart delay pause when while if"))
)
