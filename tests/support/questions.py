"""Questions and the note each is about, with why it is hard; and notes of the same kind that none of them is about."""

from itertools import islice, product

PAIRS: list[tuple[str, str, str]] = [
    ("getUserById", "The helper getUserById caches for a minute; clear it in tests.", "identifier"),
    ("load user by id", "loadUserById throws when the row was soft-deleted.", "camelCase parts"),
    ("parse config file", "parse_config_file ignores keys it does not know.", "snake_case parts"),
    ("HTTPServer2 timeout", "HTTPServer2 needs keepalive_timeout above the proxy's.", "digits in a name"),
    ("db.ts", "The schema lives in src/be/db.ts, not in the migrations.", "path tail"),
    ("where is base-prompt.ts", "Edit src/prompts/base-prompt.ts to change what agents are told.", "path tail, kebab"),
    ("E0502", "rustc E0502: clone the id before borrowing the map mutably.", "error code"),
    ("ECONNREFUSED 5432", "ECONNREFUSED on 5432 means the database container is not up yet.", "code and port"),
    ("v1.2.3", "The retry bug was fixed in v1.2.3.", "version"),
    ("TS2345", "TS2345 in the handler: the body type is Partial there.", "error code"),
    ("OPENAI_API_KEY", "Only the server reads OPENAI_API_KEY; workers never do.", "environment variable"),
    ("--frozen-lockfile", "CI installs with --frozen-lockfile, so commit the lock file.", "flag"),
    ("@acme/ui-kit", "Publish @acme/ui-kit before the app, else the build resolves the old one.", "package"),
    ("8bab04bea9f7", "Reverted 8bab04bea9f7 because it broke login.", "hash"),
    ("os.path.join on windows", "os.path.join drops what came before an absolute part on Windows too.", "dotted name"),
    ("缓存", "缓存要在部署之后清空。", "two Chinese characters"),
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
    ("why is my login token rejected", "The API wants a Bearer prefix on the auth header, else a 403.", "other words"),
    (
        "speeding up the test suite",
        "Run pytest with -n auto; the suite then takes a third of the time.",
        "other words",
    ),
    (
        "website shows an outdated version after deploying",
        "Invalidate the CDN after a release or visitors see the old bundle.",
        "other words",
    ),
    ("which package manager do we use", "Use pnpm in this repository, never npm or yarn.", "other words"),
    (
        "server dies without a trace at night",
        "The kernel kills the worker when the nightly export eats all memory.",
        "other words",
    ),
    ("emails are not delivered", "Outgoing mail is dropped unless the SPF record lists the relay.", "other words"),
    ("money amounts are slightly off", "Prices are floats in the legacy table; round with Decimal.", "other words"),
    ("cannot push to main", "The default branch is protected: open a pull request.", "other words"),
    (
        "upload rejected because of clock skew",
        "S3 refuses requests when the host's time is 15 minutes wrong.",
        "other words",
    ),
    ("who may delete accounts", "Removing a customer needs the role billing-admin.", "other words"),
    ("certificate renewal", "TLS certificates are renewed by a cron job on the bastion.", "shared word"),
    ("jellyfin startup time", "Jellyfin takes 60s to start after a reboot.", "shared words"),
    (
        "docker build fails on apple silicon",
        "On M-series Macs build images with --platform linux/amd64.",
        "other words",
    ),
    ("postgres port in staging", "In staging PostgreSQL listens on 6432 behind pgbouncer.", "mixed"),
    ("flaky websocket test", "test_socket_reconnect fails when two workers share the port.", "other words"),
    ("rate limit of the search API", "Search is capped at 30 requests a minute per key.", "mixed"),
    ("feature flags default", "Flags are off unless the tenant is in the beta list.", "mixed"),
    ("rollback a migration", "There are no down migrations: restore the snapshot instead.", "other words"),
]

_SUBJECTS = ("invoice", "gallery", "calendar", "printer", "sensor", "playlist", "wallet", "ticket", "recipe", "parcel")
_PARTS = ("list", "editor", "importer", "preview", "archive", "sidebar", "report", "widget", "form", "badge")
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


def distractors(count: int) -> list[str]:
    """The first ``count`` of a thousand plain notes, all different, the same each time."""
    everything = product(_SUBJECTS, _PARTS, _FACTS)
    return [f"The {subject} {part} {fact}." for subject, part, fact in islice(everything, count)]
