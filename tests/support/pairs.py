"""Queries with the one note that each should find first, and any number of other notes."""

from collections.abc import Mapping
from itertools import islice, product
from math import gcd, prod

PARAPHRASE = "other words: only a vector finds it"

PASTED = (
    "You are a careful engineer. Read the repository before you change it. Prefer small commits. "
    "Never push to main. Run the linters before you say that you are done.\n\n"
)

PAIRS: list[tuple[str, str, str]] = [
    # identifiers
    (
        "retryWithBackoff",
        "retryWithBackoff swallows the last error; wrap it in UploadFailed before raising.",
        "camelCase",
    ),
    (
        "how does user quota work",
        "getUserQuotaById caches for a minute, so a raised limit shows late.",
        "camelCase parts",
    ),
    (
        "max_open_files",
        "The indexer ignores max_open_files and takes the soft limit of the shell instead.",
        "snake_case",
    ),
    ("lease expiry", "lease_expiry_grace was doubled: workers on the slow pool lost their claims.", "snake_case parts"),
    ("SessionReaper", "SessionReaper must be started after the pool, else it reaps live sessions.", "PascalCase"),
    (
        "xml parser",
        "XMLParser2 keeps entity expansion on by default; we turn it off in loader.py.",
        "acronym in PascalCase",
    ),
    (
        "dead_letter_queue",
        "Messages that fail five times land in deadLetterQueue and page nobody.",
        "snake_case for camelCase",
    ),
    ("blue-green", "blueGreen rollouts need twice the connections for about a minute.", "kebab-case for camelCase"),
    (
        "STRIPE_WEBHOOK_SECRET",
        "Staging lacked STRIPE_WEBHOOK_SECRET, every event was answered with 400.",
        "environment variable",
    ),
    ("what does __post_init__ check", "In __post_init__ we refuse naive datetimes, nowhere else.", "dunder"),
    ("os.path.realpath", "Use os.path.realpath before the allow-list check, symlinks escaped it.", "dotted name"),
    ("std::string_view", "Returning std::string_view from parse_header dangles once the buffer moves.", "C++ name"),
    # paths
    ("migrate.ts", "Forward-only migrations start in /src/db/migrate.ts; never edit one that shipped.", "path tail"),
    ("src/billing/invoice.py", "Rounding happens once, in src/billing/invoice.py, not in the template.", "whole path"),
    ("reconcile.go:88", "The nil map panic is at reconcile.go:88 when the ledger is empty.", "file and line"),
    (
        r"D:\Builds\sign.ps1",
        r"Code signing on the Windows agent runs D:\Builds\sign.ps1 as a service user.",
        "Windows path",
    ),
    (
        ".github/workflows/nightly.yml",
        "The fuzzers run from .github/workflows/nightly.yml at 02:00.",
        "hidden directory",
    ),
    # codes, versions, numbers
    ("E0502", "error[E0502]: the iterator borrows the arena; collect the ids first.", "compiler error"),
    ("ECONNREFUSED on startup", "ECONNREFUSED while booting means the broker container is not healthy yet.", "errno"),
    ("ORA-01555", "ORA-01555 in the export job: undo retention too small for the snapshot.", "database error"),
    ("v4.7.2", "Pin the proxy to 4.7.2, later ones strip the trace header.", "version with v for one without"),
    ("fastlane 2.219", "fastlane 2.219.0 breaks match on fresh keychains.", "minor of a version"),
    ("5.0.0-rc3", "Beta testers got 5.0.0-rc3 twice because the appcast was cached.", "pre-release"),
    ("commit 9f2c4ab", "Bisect points at 9f2c4ab71de05c3348aa90b7e1f6d2c85b30417e, the pool rewrite.", "short hash"),
    (
        "0c6f9a52-7d1e-4b83-9f60-2a41c8de57b3",
        "Tenant 0c6f9a52-7d1e-4b83-9f60-2a41c8de57b3 has the odd collation.",
        "UUID",
    ),
    ("10.20.0.53:6432", "pgbouncer listens on 10.20.0.53:6432 in the blue network only.", "address and port"),
    ("7,500", "The bulk endpoint takes 7500 rows, more are refused with 413.", "thousands separator"),
    ("2024-11-29", "Frozen from 2024-11-29 on: no deploys during the sale.", "date"),
    ("45s", "Shutdown waits 45s for streams, then closes them.", "number with unit"),
    ("0x80070005", "MSI exit 0x80070005 is the antivirus holding the DLL.", "hexadecimal code"),
    # addresses and flags
    ("--no-verify", "Do not commit with --no-verify, the hook also updates the lock file.", "flag"),
    ("oncall-storage@example.com", "Disk alerts go to oncall-storage@example.com, not to the channel.", "e-mail"),
    (
        "https://status.example.com/api/v2/incidents",
        "Poll https://status.example.com/api/v2/incidents once a minute.",
        "URL",
    ),
    (
        "@acme/design-tokens",
        "@acme/design-tokens must stay a peer dependency, two copies lose the theme.",
        "scoped package",
    ),
    ("registry.example.com/edge:canary", "Only the lab pulls registry.example.com/edge:canary.", "image tag"),
    # languages with signs in their names
    ("C++ exceptions", "The C++ plugin host is built without exceptions.", "C++"),
    ("F# serializer", "The F# service needs its own serializer for unions.", "F#"),
    ("Node.js heap", "Node.js ran out of heap while bundling; raise old space to 6 GB.", "dotted product name"),
    ("k8s eviction", "k8s evicts the scraper first since it has no requests set.", "numeronym"),
    # scripts
    ("缓存", "发布新版本之后必须清空缓存，否则用户看到旧页面。", "Chinese, two characters"),
    ("为什么登录会超时？", "登录超时是因为网关只等待三秒，已经改为十秒。", "Chinese question"),
    ("バックアップ", "夜間バックアップは三時に始まり、約二十分かかる。", "Japanese katakana"),
    ("認証トークンの期限", "認証トークンは一時間で期限が切れるので更新が必要。", "Japanese sentence"),
    ("배포", "금요일 오후에는 배포를 하지 않는다.", "Korean with a particle"),
    ("การสำรองข้อมูล", "ระบบเริ่มการสำรองข้อมูลทุกคืนเวลาตีสอง", "Thai"),
    ("كلمة المرور", "تنتهي صلاحيّة كَلِمَة المُرُور بعد تسعين يومًا.", "Arabic with vowel points"),
    ("ارقام", "يجب تنسيق الأرقام و أرقام الهاتف قبل الحفظ.", "Arabic hamza"),
    ("می‌خواهیم", "ما می‌خواهیم نسخهٔ بعدی را زودتر منتشر کنیم.", "Persian with a joiner"),
    ("שלום עולם", "בדיקת העשן מדפיסה שָׁלוֹם עוֹלָם ויוצאת.", "Hebrew with points"),
    ("елка", "Праздничный баннер с ёлкой: ёлка скрывается после Рождества.", "Russian yo"),
    ("διακομιστης", "Ο διακομιστής ΔΟΚΙΜΏΝ σβήνει τα μεσάνυχτα.", "Greek accents and sigma"),
    ("डेटाबेस", "हर रात डेटाबेस की प्रति बनाई जाती है।", "Hindi"),
    # accents, case, width
    ("telecharger le relevé", "Le bouton « Télécharger » du releve échoue sur Safari.", "French accents"),
    ("STRASSE", "Bei der Adresse wird Straße nicht gekürzt.", "German sharp s"),
    ("istanbul region", "İSTANBUL bölgesi için ayrı bir kuyruk var.", "Turkish dotted I"),
    ("lodz", "Klienci z ŁODZI dostają fakturę w PLN; serwer stoi w Łódź.", "Polish l with stroke"),
    ("ｇｒａｆａｎａ", "Grafana keeps two weeks, the archive keeps all.", "full width"),
    ("DEADLOCK IN VACUUM", "A deadlock during vacuum was caused by the advisory lock.", "upper case"),
    # emoji
    ("🦀", "The 🦀 rewrite of the tokenizer is three times faster.", "emoji"),
    ("👩🏽‍🚀", "Release captains wear 👩‍🚀 in the channel topic.", "emoji with skin tone and joiner"),
    ("🇯🇵 invoices", "For 🇯🇵 customers the seal goes on every page.", "flag"),
    # what engines take for operators
    (
        '"orphaned blob sweep"',
        "The orphaned blob sweep runs on Sundays; blobs younger than a day stay.",
        "quoted phrase",
    ),
    (
        "NOT NULL AND default",
        "Adding a NOT NULL column with a default rewrites no rows since 11.",
        "operators as words",
    ),
    ("NEAR(telemetry opt-out, 5)", "Telemetry has an opt-out in the settings, off by default.", "NEAR"),
    ("header: X-Tenant", "X-Tenant is taken from the certificate, the header is ignored.", "column filter"),
    ("throttl* OR {quota}", "Imports throttle themselves when the quota header says so.", "prefix and braces"),
    ('what about "unbalanced', "An unbalanced quote made the shell wait for ever.", "unbalanced quote"),
    ("^hotfix(-branch)? + tag", "Every hotfix branch is deleted once its tag exists.", "regular expression"),
    ("'; DROP TABLE notes; --", "A seeded title reads '; DROP TABLE notes; -- to prove the quoting.", "SQL injection"),
    # questions as people ask them
    (
        "Why do the websockets keep disconnecting?",
        "A websocket disconnects after a minute: the balancer is idle.",
        "stop words, plurals",
    ),
    (
        "Where did we decide on the retention of audit logs?",
        "Audit log retention: decided on seven years, legal insists.",
        "question words",
    ),
    (
        "don’t cache the manifest",
        "The manifest must not be cached; don't add it to the worker.",
        "typographic apostrophe",
    ),
    ("to be or not to be", "Placeholder text of the demo is: to be or not to be.", "only stop words but one"),
    (
        PASTED * 200 + "How do I rotate the Vault unseal keys?",
        "Rotate the unseal keys of Vault with two officers.",
        "pasted prompt",
    ),
    # in other words
    (
        "the site is slow for visitors far away",
        "Put a CDN edge in Sydney: round trips from there took 300 ms.",
        PARAPHRASE,
    ),
    ("who may see what others wrote", "Row level policies limit each tenant to its own records.", PARAPHRASE),
    ("stop the bill from exploding", "Spend alerts fire at 80 % of the monthly budget, then jobs pause.", PARAPHRASE),
    ("make sure nobody reads stolen laptops", "Full disk encryption is mandatory on all workstations.", PARAPHRASE),
    # more of each kind
    ("getUserById", "The helper getUserById caches for a minute; clear it in tests.", "identifier"),
    ("load user by id", "loadUserById throws when the row was soft-deleted.", "camelCase parts"),
    ("parse config file", "parse_config_file ignores keys it does not know.", "snake_case parts"),
    ("HTTPServer2 timeout", "HTTPServer2 needs keepalive_timeout above the proxy's.", "digits in a name"),
    ("db.ts", "The schema lives in src/be/db.ts, not in the migrations.", "path tail"),
    ("where is base-prompt.ts", "Edit src/prompts/base-prompt.ts to change what agents are told.", "path tail, kebab"),
    ("ECONNREFUSED 5432", "ECONNREFUSED on 5432 means the database container is not up yet.", "code and port"),
    ("v1.2.3", "The retry bug was fixed in v1.2.3.", "version"),
    ("TS2345", "TS2345 in the handler: the body type is Partial there.", "error code"),
    ("OPENAI_API_KEY", "Only the server reads OPENAI_API_KEY; workers never do.", "environment variable"),
    ("--frozen-lockfile", "CI installs with --frozen-lockfile, so commit the lock file.", "flag"),
    ("@acme/ui-kit", "Publish @acme/ui-kit before the app, else the build resolves the old one.", "package"),
    ("8bab04bea9f7", "Reverted 8bab04bea9f7 because it broke login.", "hash"),
    ("os.path.join on windows", "os.path.join drops what came before an absolute part on Windows too.", "dotted name"),
    ("数据库迁移", "先备份，再运行数据库迁移脚本。", "Chinese in a sentence"),
    ("キャッシュ", "キャッシュを消さないと古い画面が出ます。", "Japanese"),
    ("デプロイ手順", "デプロイ手順は二段階で、先にワーカーを止める。", "Japanese in a sentence"),
    ("빌드 캐시", "빌드 캐시가 깨지면 폴더를 지우세요.", "Korean"),
    ("النسخ الاحتياطي", "يجب اختبار النسخ الاحتياطي كل شهر.", "Arabic"),
    ("cafe naive", "The café importer is naïve about duplicate rows.", "accents left out"),
    ("Überprüfung", "Die Ueberpruefung heisst im Code Überprüfung und laeuft nachts.", "umlauts"),
    ("🦊", "Alerts marked 🦊 come from the staging cluster.", "emoji"),
    (
        '"connection pool exhausted"',
        "It logs connection pool exhausted when a handler forgets to release.",
        "quoted phrase",
    ),
    ("AND OR NOT NEAR", "The search box treats AND OR NOT NEAR as plain words.", "operators as text"),
    ("why is my login token rejected", "The API wants a Bearer prefix on the auth header, else a 403.", PARAPHRASE),
    (
        "speeding up the test suite",
        "Run pytest with -n auto; the suite then takes a third of the time.",
        PARAPHRASE,
    ),
    (
        "website shows an outdated version after deploying",
        "Invalidate the CDN after a release or visitors see the old bundle.",
        PARAPHRASE,
    ),
    ("which package manager do we use", "Use pnpm in this repository, never npm or yarn.", "shared words"),
    (
        "server dies without a trace at night",
        "The kernel kills the worker when the nightly export eats all memory.",
        PARAPHRASE,
    ),
    ("emails are not delivered", "Outgoing mail is dropped unless the SPF record lists the relay.", PARAPHRASE),
    ("money amounts are slightly off", "Prices are floats in the legacy table; round with Decimal.", PARAPHRASE),
    ("cannot push to main", "The default branch is protected: open a pull request.", PARAPHRASE),
    (
        "upload rejected because of clock skew",
        "S3 refuses requests when the host's time is 15 minutes wrong.",
        PARAPHRASE,
    ),
    ("who may delete accounts", "Removing a customer needs the role billing-admin.", PARAPHRASE),
    ("certificate renewal", "TLS certificates are renewed by a cron job on the bastion.", "shared word"),
    ("jellyfin startup time", "Jellyfin takes 60s to start after a reboot.", "shared words"),
    (
        "docker build fails on apple silicon",
        "On M-series Macs build images with --platform linux/amd64.",
        PARAPHRASE,
    ),
    ("postgres port in staging", "In staging PostgreSQL listens on 6432 behind pgbouncer.", "mixed"),
    ("flaky websocket test", "test_socket_reconnect fails when two workers share the port.", PARAPHRASE),
    ("rate limit of the search API", "Search is capped at 30 requests a minute per key.", PARAPHRASE),
    ("feature flags default", "Flags are off unless the tenant is in the beta list.", PARAPHRASE),
    ("rollback a migration", "There are no down migrations: restore the snapshot instead.", PARAPHRASE),
]

PLACES: Mapping[str, int] = {
    "how does user quota work": 2,
    "为什么登录会超时？": 3,
    "🇯🇵 invoices": 0,
    PASTED * 200 + "How do I rotate the Vault unseal keys?": 4,
    "who may see what others wrote": 0,
    "make sure nobody reads stolen laptops": 2,
    "money amounts are slightly off": 2,
    "cannot push to main": 4,
    "upload rejected because of clock skew": 2,
    "flaky websocket test": 2,
}
"""By question, which place its note has at least where all are asked for with the shipped model and that is not the
first one; 0 if it is not among the ten best. Pairs without an entry are found first."""

_PARTS = (
    (
        "auth gateway",
        "billing worker",
        "search indexer",
        "image resizer",
        "mail sender",
        "flag service",
        "job scheduler",
        "payment adapter",
        "admin console",
        "mobile API",
        "event collector",
        "report builder",
        "rate limiter",
    ),
    (
        "timed out",
        "leaked connections",
        "returned stale rows",
        "crashed on startup",
        "dropped requests",
        "used too much memory",
        "logged secrets",
        "ignored the locale",
        "retried for ever",
        "wrote duplicates",
        "failed its health check",
    ),
    (
        "after the upgrade to v{n}.{m}.0",
        "when {n} clients connect at once",
        "on the {m} GB instances",
        "with error E{n}{m}7",
        "in src/services/module_{m}/handler.ts",
        "behind the proxy",
        "during the nightly build {n}",
    ),
    (
        "We raised the limit to {m}00.",
        "Reverted in commit {hash}.",
        "Setting pool_size_{m} fixed it.",
        "The fix is a lock around flushBuffer{n}.",
        "A missing index on table_{n} was the reason.",
        "Restarting the node helps until it is patched.",
        "Owner is team {n}, reached at team{n}@example.com.",
        "See docs/runbooks/step_{n}.md for the steps.",
    ),
)


def distractors(count: int) -> list[str]:
    """Returns this many different notes of a coding team, the same at every call."""
    total = prod(map(len, _PARTS))
    stride = next(step for step in range(total * 5 // 8, total) if gcd(step, total) == 1)
    return list(islice((_note(number, number * stride % total) for number in range(count)), count))


def _note(number: int, choice: int) -> str:
    words: list[str] = []
    for options in _PARTS:
        choice, option = divmod(choice, len(options))
        words.append(options[option])
    part, trouble, occasion, remedy = words
    text = f"The {part} {trouble} {occasion}. {remedy} Ticket OPS-{number}."
    return text.format(n=number % 89 + 2, m=number % 61 + 3, hash=f"{number * 2654435761 % 2**32:08x}")


_SUBJECTS = ("invoice", "gallery", "calendar", "printer", "sensor", "playlist", "wallet", "ticket", "recipe", "parcel")
_THINGS = ("list", "editor", "importer", "preview", "archive", "sidebar", "report", "widget", "form", "badge")
_FACTS = (
    "sorts its entries by weight since the redesign",
    "was moved to the second tab for small screens",
    "keeps its colours in a theme of its own",
    "reads its labels from the translation files",
    "shows at most twelve rows before it scrolls",
    "is drawn again whenever the window grows",
    "prints a short help text below the title",
    "has a keyboard shortcut that nobody remembers",
    "draws its icons from the shared sprite sheet",
    "was renamed twice during the spring cleaning",
)


def plain_notes(count: int) -> list[str]:
    """The first ``count`` of a thousand notes that share few words with any question, all different, the same at every
    call."""
    everything = product(_SUBJECTS, _THINGS, _FACTS)
    return [f"The {subject} {part} {fact}." for subject, part, fact in islice(everything, count)]
