"""Trains the weights that classify candidates as secrets (``hivelore.core.redaction.suspicion``).

Logistic regression over the traits of candidates: of the texts of bench/data/secret_texts.jsonl, filled with random
values, and of ordinary text, in which nothing is a secret. Takes a few minutes on one thread.
Run as ``python -m scripts.train_secrets src/hivelore/core/redaction/weights.bin``.
"""

import argparse
import base64
import json
import math
import random
import re
import string
import sys
import sysconfig
import uuid
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np

from hivelore.core.redaction.renditions import renditions
from hivelore.core.redaction.suspicion import STEPS, TABLE_SIZE, Surroundings, regions

DATA = Path(__file__).parents[1] / "bench" / "data" / "secret_texts.jsonl"
PLACEHOLDER = re.compile(
    r"\{(pw|phrase|pin|tok|hex|uuid|b64|words|_sha|_digest|_tok|_fpr|_hexid|_uuid|_id|_ver|_num|_name|_file|_host|_b64|_user|_var)(\d?)\}"
)
SUFFIXES = {
    ".py",
    ".pyi",
    ".md",
    ".rst",
    ".txt",
    ".json",
    ".toml",
    ".yml",
    ".html",
    ".c",
    ".h",
    ".js",
    ".ts",
    ".rs",
    ".pm",
    ".pl",
}
PIECE = 60_000
"""Characters of one file."""
COST_OF_FALSE = 2.0
"""How much a false secret weighs, against a missed one."""
Row = tuple[tuple[int, ...], int, float]
"""Traits, label (1 for a secret) and weight of a candidate."""
ALPHABET = string.ascii_letters + string.digits
NOUNS = re.findall(
    r"\w+",
    "walrus thimble orchid gravel pepper lantern cobalt meadow trumpet saddle velvet harbor cactus puddle "
    "marble turnip blizzard compass ferret gazelle hammock igloo juniper kettle lobster muffin nectar otter "
    "parsnip quiver rhubarb sandal tadpole umbrella violin wombat yogurt zeppelin bramble cinder anchor basket "
    "candle dragon eagle forest garden hammer island jacket kitten ladder monkey needle orange pencil rabbit "
    "silver tiger valley winter yellow zebra autumn bridge castle desert engine falcon guitar helmet insect "
    "jungle kernel lemon mirror nephew ocean planet quartz river summer temple uncle vessel window yacht apple "
    "bottle copper dinner energy flower ",
)
NAMES = re.findall(
    r"\w+",
    "Sommer Winter Berlin Lisboa Madrid Kessel Hafen Vogel Garten Tanne Kaffee Zamek Roma Luna Tokyo Sakura Panda",
)
SIGNS = "!#$%&*+?@-_="


def leet(word: str, rng: random.Random) -> str:
    return word.translate(str.maketrans("aeio", rng.choice(("4310", "@3!0", "a3i0"))))


def said(rng: random.Random, syllables: int) -> str:
    return "".join(rng.choice("bcdfghjklmnpqrstvwxz") + rng.choice("aeiouy") for _ in range(syllables))


class Values:
    """Random values for the placeholders of a text."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)

    def some(self, alphabet: str, size: int) -> str:
        return "".join(self.rng.choices(alphabet, k=size))

    def of(self, sort: str) -> str:
        """``sort``: the name of a placeholder."""
        return getattr(self, f"plain{sort}" if sort.startswith("_") else sort)()

    def pw(self) -> str:
        rng = self.rng
        one, two = rng.sample((*NOUNS, *NAMES), 2)
        number = rng.randint(1, 99) if rng.random() < 0.5 else rng.randint(100, 9999)
        sign = rng.choice(SIGNS)
        made_up = (
            f"{one.title()}{sign}{number}{rng.choice(SIGNS)}",
            f"{one.title()}{number}{sign}{two.title()}",
            f"{number}{one.title()}{rng.choice('_-.')}{two.title()}{sign}",
            f"{one.title()}{two.title()}{number}",
            f"{one}{two}{number}",
            f"{leet(one, rng)}{rng.choice('_-.')}{two}{number}{rng.choice('!*?+')}",
            f"{leet(one.title(), rng)}.{number}{two.title()}",
            f"{one.title()}-{two.title()}#{number}",
            f"{rng.choice((one, one.title()))}{rng.choice('-_.#@!')}{rng.randint(10, 9999)}{rng.choice('xzQ!?')}",
            f"{rng.choice(('', *'$%<[{#@!'))}{leet(one.title(), rng)}{sign}{number}",
            f"{one.title()}{number}{rng.choice(('', '!', '?', '*', '$'))}",
            f"{said(rng, 3).title()}{said(rng, 1)}{rng.randint(10, 99)}",
            f"{said(rng, 2)}{said(rng, 1)[0]}{rng.randint(0, 9)}-{said(rng, 3)}-{said(rng, 3).title()}",
            f"{said(rng, 3).title()}-{said(rng, 3)}-{said(rng, 1)}{rng.randint(0, 9)}{said(rng, 2)[:3]}",
            f"{one}{rng.choice('._-')}{two}{number}",
            f"{one}{rng.randint(0, 99)}",
            f"{rng.choice((one, two.title()))}{rng.randint(1000, 2030)}{rng.choice(('', two[:3]))}",
            f"{leet(one, rng)}-{leet(two, rng)}",
            f"{one.title()}{two.title()}{rng.choice(NOUNS).title()}",
            self.some("ABCDEFGHJKLMNPQRSTUVWXYZ23456789", rng.randint(8, 12)),
            f"{one.title()}{two.title()}{number}{rng.choice(NOUNS).title()}",
        )
        if rng.random() < 0.5:
            return rng.choice(made_up)
        alphabet = ALPHABET if rng.random() < 0.5 else ALPHABET + SIGNS * 2
        while True:
            value = self.some(alphabet, rng.randint(8, 18))
            if any(map(str.isdigit, value)) and any(map(str.isalpha, value)):
                return value

    def phrase(self) -> str:
        if self.rng.random() < 0.07:
            return "".join(self.rng.sample(NOUNS, 3))
        is_title = self.rng.random() < 0.15
        return self.rng.choice((" ", "-", "-", ".", " ", "_")).join(
            word.title() if is_title else word for word in self.rng.sample(NOUNS, self.rng.choice((3, 4, 4, 5, 6)))
        )

    def words(self) -> str:
        words = self.rng.sample(NOUNS, self.rng.choice((12, 24)))
        between = self.rng.choice((" ", " ", "\n"))
        return between.join(" ".join(words[at : at + 6]) for at in range(0, len(words), 6))

    def pin(self) -> str:
        return self.some(string.digits, self.rng.choice((4, 5, 6, 6, 6, 8, 8, 12)))

    def tok(self) -> str:
        if self.rng.random() < 0.25:
            return self.rng.choice((self.hex, self.hex, self.uuid, self.b64))()
        size = self.rng.choice((20, 24, 32, 32, 36, 40, 40, 48, 64))
        return self.some(
            self.rng.choice((ALPHABET, ALPHABET, ALPHABET + "-_", string.ascii_lowercase + string.digits)), size
        )

    def hex(self) -> str:
        digits = self.some("0123456789abcdef", self.rng.choice((32, 32, 40, 40, 64)))
        return digits.upper() if self.rng.random() < 0.1 else digits

    def uuid(self) -> str:
        return str(uuid.UUID(int=self.rng.getrandbits(128), version=4))

    def b64(self) -> str:
        return base64.b64encode(self.rng.randbytes(self.rng.choice((16, 24, 32, 32, 48, 64)))).decode()

    def plain_sha(self) -> str:
        return self.some("0123456789abcdef", self.rng.choice((7, 8, 9, 10, 40, 40)))

    def plain_digest(self) -> str:
        rng = self.rng
        return rng.choice(
            (
                f"sha256:{self.some('0123456789abcdef', 64)}",
                self.some("0123456789abcdef", 32),
                self.some("0123456789abcdef", 64),
                f"sha512-{base64.b64encode(rng.randbytes(64)).decode()}",
                f"SHA256:{base64.b64encode(rng.randbytes(32)).decode().rstrip('=')}",
                ":".join(self.some("0123456789ABCDEF", 2) for _ in range(20)),
            )
        )

    def plain_tok(self) -> str:
        return self.tok()

    def plain_hexid(self) -> str:
        return self.some("0123456789abcdef", self.rng.choice((16, 24, 32, 40)))

    def plain_fpr(self) -> str:
        digits = self.some("0123456789ABCDEF", 40)
        return self.rng.choice((digits, digits[-16:], " ".join(digits[at : at + 4] for at in range(0, 40, 4))))

    def plain_uuid(self) -> str:
        return self.uuid()

    def plain_id(self) -> str:
        rng = self.rng
        low, digits = string.ascii_lowercase + string.digits, "0123456789abcdef"
        prefix = rng.choice(
            ["req", "usr", "evt", "run", "cus", "ch", "in", "job", "msg", "sess", "acct", "sub", "trace"]
        )
        date = f"{rng.randint(2019, 2026)}{rng.randint(1, 12):02}{rng.randint(1, 28):02}"
        return rng.choice(
            (
                f"{prefix}_{self.some(ALPHABET, rng.choice((8, 14, 24)))}",
                f"{rng.choice(['i', 'vol', 'sg', 'subnet', 'ami', 'vpc'])}-0{self.some(digits, 16)}",
                f"{rng.choice(['api', 'web', 'worker', 'db', 'auth'])}-{self.some(digits, 9)}-{self.some(low, 5)}",
                f"{rng.choice(['INC', 'CHG', 'OPS-', 'SEC-', 'JIRA-', 'PR-', '#'])}{rng.randint(100, 99999)}",
                f"{date}T{rng.randint(0, 23):02}{rng.randint(0, 59):02}{rng.randint(0, 59):02}Z",
                f"{self.some(string.ascii_uppercase, 2)}{self.some(string.ascii_uppercase + string.digits, 8)}",
                self.some(ALPHABET, rng.choice((6, 8, 10, 11, 12, 16, 20, 22, 24))),
            )
        )

    def plain_ver(self) -> str:
        rng = self.rng
        more = rng.choice(("", "", "-rc1", ".dev0", "+build7", "b2"))
        return f"{rng.choice(('', 'v'))}{rng.randint(0, 20)}.{rng.randint(0, 30)}.{rng.randint(0, 12)}{more}"

    def plain_num(self) -> str:
        rng = self.rng
        return rng.choice(
            (
                str(rng.randint(0, 99)),
                str(rng.randint(100, 9999)),
                f"{rng.randint(1, 99)},{rng.randint(100, 999)}",
                f"{rng.random() * 100:.2f}",
                str(rng.randint(10_000, 10_000_000)),
            )
        )

    def plain_name(self) -> str:
        one, two = self.rng.sample(
            (
                "user",
                "auth",
                "token",
                "key",
                "session",
                "secret",
                "password",
                "login",
                "cache",
                "hash",
                "verify",
                "parse",
                "get",
                "reset",
                "client",
            ),
            2,
        )
        return self.rng.choice(
            (
                f"{one}_{two}",
                f"{one}{two.title()}",
                f"{one.title()}{two.title()}",
                f"{one.upper()}_{two.upper()}",
                f"{one}-{two}",
                f"{one}2{two.title()}",
                f"{one}_{two}_{self.rng.randint(1, 256)}",
                f"test_{one}_{two}_v2",
            )
        )

    def plain_file(self) -> str:
        rng = self.rng
        one, two = rng.sample(NOUNS, 2)
        return rng.choice(
            (
                f"src/{one}/{two}.py",
                f"/etc/{one}/{two}.conf",
                f"{one}_{two}2.ts",
                f"~/.config/{one}/{two}.toml",
                f"./{one}/{two}-{rng.randint(1, 9)}.json",
                f"C:\\{one}\\{two}.ps1",
            )
        )

    def plain_host(self) -> str:
        rng = self.rng
        one, two = rng.sample(NOUNS, 2)
        return rng.choice(
            (
                f"{one}-{rng.randint(1, 30):02}.{two}.internal",
                f"https://{one}.{two}.com/{rng.choice(NOUNS)}",
                f"10.{rng.randint(0, 255)}.{rng.randint(0, 255)}.{rng.randint(1, 254)}",
                f"{one}.{two}.svc.cluster.local:8443",
                f"{one}-prd-{rng.randint(1, 20):02}",
            )
        )

    def plain_b64(self) -> str:
        return base64.b64encode(self.rng.randbytes(self.rng.choice((24, 32, 48, 96)))).decode()

    def plain_user(self) -> str:
        rng = self.rng
        return rng.choice(
            (
                rng.choice(("root", "admin", "eva", "deploy", "postgres", "mmeier", "jlind", "oracle")),
                f"svc-{rng.choice(NOUNS)}",
                f"{rng.choice(NOUNS)}_rw",
                f"{rng.choice(NOUNS)}{rng.randint(1, 99)}",
                f"{rng.choice(NOUNS)}@example.org",
            )
        )

    def plain_var(self) -> str:
        return self.rng.choice(
            (
                "${DB_PASSWORD}",
                "$API_TOKEN",
                'os.environ["SECRET_KEY"]',
                "vault:kv/app#password",
                "<your-token>",
                "{{ .Values.password }}",
                "process.env.API_KEY",
                "/run/secrets/db_password",
                "op://vault/item/field",
                "%DB_PASS%",
                "********",
                "xxxxxxxx",
            )
        )


def filled(text: str, values: Values) -> tuple[str, list[tuple[int, int]]]:
    """Returns the text with values in place of its placeholders, and the positions of its secrets."""
    known: dict[str, str] = {}
    pieces: list[str] = []
    spans: list[tuple[int, int]] = []
    end = length = 0
    for match in PLACEHOLDER.finditer(text):
        sort = match[1]
        value = known.setdefault(match[0], values.of(sort))
        pieces += (text[end : match.start()], value)
        length += match.start() - end
        if not sort.startswith("_"):
            spans.append((length, length + len(value)))
        length += len(value)
        end = match.end()
    return "".join((*pieces, text[end:])), spans


def examples(text: str, spans: Sequence[tuple[int, int]]) -> Iterator[tuple[tuple[int, ...], int]]:
    """Yields the features of each candidate, with 1 for a secret."""
    rendition = next(iter(renditions(text)))
    for region in regions(rendition):
        around = Surroundings(rendition.view, region)
        for group in region.groups:
            for candidate in group:
                label = _label(*rendition.place(candidate.start, candidate.stop), spans)
                if label is not None:
                    yield tuple(sorted(around.traits(candidate))), label


def _label(start: int, stop: int, spans: Sequence[tuple[int, int]]) -> int | None:
    """Returns the label, or None for a candidate that contains only part of a secret."""
    for first, last in spans:
        shared = min(stop, last) - max(start, first)
        if shared > 0:
            return 1 if shared >= 0.75 * (last - first) and shared >= 0.6 * (stop - start) else None
    return 0


def trained(rows: list[Row], *, epochs: int = 6, rate: float = 0.15, seed: int = 1) -> np.ndarray:
    """Returns weights trained by AdaGrad over the logistic loss (Duchi, Hazan and Singer 2011)."""
    rng = random.Random(seed)
    weights = np.zeros(TABLE_SIZE)
    squares = np.full(TABLE_SIZE, 1e-2)
    arrays = [(np.array(traits), label, weight) for traits, label, weight in rows]
    for epoch in range(epochs):
        rng.shuffle(arrays)
        loss = 0.0
        step = rate if epoch < epochs - 2 else rate / 3
        for traits, label, weight in arrays:
            p = 1 / (1 + math.exp(-max(-30.0, min(30.0, weights[traits].sum()))))
            loss -= weight * math.log(max(1e-9, p if label else 1 - p))
            gradient = weight * (p - label)
            if abs(gradient) > 1e-4:
                squares[traits] += gradient * gradient
                weights[traits] -= step * gradient / np.sqrt(squares[traits])
        print(f"epoch {epoch}: loss {loss / len(arrays):.4f}", file=sys.stderr, flush=True)
    return weights


def template_rows(texts: Iterable[str], *, fills: int, seed: int) -> Iterator[Row]:
    values = Values(seed)
    for text in texts:
        for _ in range(fills):
            for traits, label in examples(*filled(text, values)):
                yield traits, label, 1.0 if label else COST_OF_FALSE


def ordinary_rows(folders: Iterable[Path], *, size: int, seed: int) -> Iterator[Row]:
    """Rows of ``size`` characters of the text files in folders, in which nothing is a secret."""
    files = [file for folder in folders for file in sorted(folder.rglob("*")) if file.suffix in SUFFIXES]
    random.Random(seed).shuffle(files)
    for file in files:
        if not file.is_file():
            continue
        text = file.read_text(encoding="utf-8", errors="replace").replace("\0", "")[:PIECE]
        for traits, label in examples(text, []):
            yield traits, label, COST_OF_FALSE
        size -= len(text)
        if size < 0:
            return


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("output", type=Path)
    parser.add_argument("--ordinary", type=Path, action="append", default=[], help="a folder of ordinary text")
    parser.add_argument("--megabytes", type=int, default=24, help="ordinary text of each folder")
    parser.add_argument("--fills", type=int, default=5, help="times each text is filled with values")
    asked = parser.parse_args()
    with DATA.open(encoding="utf-8") as lines:
        texts = [json.loads(line)["text"] for line in lines]
    rows = list(template_rows(texts, fills=asked.fills, seed=3))
    for folder in asked.ordinary or [Path(sysconfig.get_path(name)) for name in ("stdlib", "purelib")]:
        rows += ordinary_rows([folder], size=asked.megabytes * 1_000_000, seed=9)
    print(f"{len(rows)} candidates, {sum(row[1] for row in rows)} of them secrets", file=sys.stderr)
    weights = np.clip(np.rint(trained(rows) * STEPS), -127, 127).astype(np.int8)
    asked.output.write_bytes(weights.tobytes())


if __name__ == "__main__":
    main()
