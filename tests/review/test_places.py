"""Statements about different places are no question for a reviewer; in doubt they are one."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hivelore.review.places import are_about_different_places

DATA = Path(__file__).parents[2] / "bench" / "data"
FILES = ("statements.jsonl", "statements_more.jsonl")
PAIRS = [json.loads(line) for name in FILES for line in (DATA / name).read_text(encoding="utf-8").splitlines()]

DIFFERENT = [
    # Labels
    ("staging: redis 6.2", "prod: redis 7.0"),
    ("[STAGING] 4 workers", "[PRODUCTION] 16 workers"),
    ("us-east-1: 3 nodes", "eu-west-1: 5 nodes"),
    ("ci - timeout 30m", "local - timeout 5m"),
    # Sentences
    ("Staging Prometheus keeps 7 days", "Production Prometheus keeps 90 days of samples."),
    ("On staging you may apply manifests by hand.", "In production only Argo CD applies manifests."),
    ("In staging 100% of the traces are sampled", "Only 1% of the traces are sampled in production"),
    ("The state of the prod network stack is locked.", "The state of the network stack for staging is not locked."),
    ("Keycloak prod uses Postgres.", "Local dev Keycloak uses the embedded H2 database."),
    ("In the sandbox the merchant id comes from A.", "In production the merchant id comes from B."),
    ("Uploads are limited to 10 MB in the test environment.", "Uploads are limited to 50 MB in production."),
    ("The quota for europe-west1 is 8 GPUs.", "The quota for us-central1 is 4 GPUs."),
    ("The cluster in westeurope has 3 nodes.", "The cluster in eastus2 has 5 nodes."),
    ("The backup takes 20 minutes on atlas.", "The backup takes 45 minutes on hermes."),
    ("On atlas, nginx listens on 8080.", "On hermes, nginx listens on 8081."),
    ("On host atlas swap is off", "On host hermes swap is on"),
    ("The disk is full after 3 days on web-01", "The disk fills up after 7 days on web-02"),
    ("Cron jobs on batch-1 run in UTC", "Cron jobs on batch-2 run in Berlin time"),
    # Talk
    ("heads up, in prod the queue needs a manual restart!!", "restarting the queue isn't needed in dev"),
    ("fyi the tests take ~8 min in CI", "they're done in under 2 min locally tho"),
    # German
    ("In der Produktion sind 8 Worker aktiv", "In der Testumgebung sind 2 Worker aktiv"),
    ("Auf Staging ist TLS aus", "In Produktion ist TLS an"),
    ("Der Produktionsserver hat 64 GB RAM", "Der Staging-Server hat 8 GB RAM"),
    ("Lokal dauert der Build 2 Minuten", "In der CI dauert der Build 9 Minuten"),
    ("Auf dem Server atlas läuft Backup um 2 Uhr", "Auf dem Server hermes läuft das Backup um 4 Uhr"),
    ("Das Backup dauert 20 Minuten auf web-01", "Das Backup dauert 45 Minuten auf web-02"),
    # Chinese
    ("生产环境的 Redis 端口是 6380", "测试环境的 Redis 端口是 6379"),
    ("在预发环境中超时为 30 秒", "在生产环境中超时为 5 秒"),
    ("线上需要手动重启队列", "本地环境不需要重启队列"),
    ("staging 环境有 2 个节点", "生产环境有 5 个节点"),
    ("在 web-01 上备份需要 20 分钟", "在 web-02 上备份需要 45 分钟"),
]

NOT_DIFFERENT = [
    # Only one names a place, or both name the same one.
    ("In staging the timeout is 30 s", "The timeout is 5 s"),
    ("In staging the timeout is 30 s", "The timeout of staging is 5 s"),
    ("In prod the timeout is 30 s", "The timeout is 5 s in production"),
    ("Staging uses a copy of production data", "Production uses a copy of last week's data"),
    ("In us-east-1a the quota is 4", "In us-east-1b the quota is 8"),
    ("The disk is full after 3 days on web-01", "The disk fills up after 7 days on web-01.example.com"),
    ("auf dem Testsystem sind 2 Worker aktiv", "Im Test sind 8 Worker aktiv"),
    # One place may be called by both names.
    ("In dev the port is 3000", "Locally the port is 3001"),
    ("UAT has 2 nodes", "Staging has 4 nodes"),
    # Places of different kinds
    ("In production the timeout is 30 s", "In us-east-1 the timeout is 5 s"),
    ("In production the backup takes 20 minutes", "The backup takes 45 minutes on hermes."),
    # The place is what they say.
    ("The primary database is in us-east-1", "The primary DB is hosted in eu-west-1"),
    ("The default region is us-east-1", "By default, requests go to eu-west-1"),
    ("main is deployed to staging by every push", "A push to main deploys to production"),
    ("Jenkins needs the agent on vault01 to start", "Jenkins will not boot without the agent on vault02"),
    ("The scheduler runs on atlas", "The scheduler is running on hermes now"),
    ("The scheduler runs in production", "The scheduler now only runs in staging"),
    ("Debug logs are kept in production", "Debug logs are kept in staging"),
    ("The report is about production", "The report is about staging"),
    ("Die Datenbank liegt in eu-west-1", "Die Hauptdatenbank wird in us-east-1 betrieben"),
    ("数据库部署在生产环境", "主数据库现在部署在测试环境"),
    ("该服务在 atlas 上运行", "该服务现在在 hermes 上运行"),
    ("CI skips flaky tests; locally they fail at once", "Flaky tests are retried twice in CI (--reruns 2)"),
    ("Never apply to prod from a laptop, only CI may", "Developers may apply prod locally"),
    # A place is excluded, or the only one.
    ("Everywhere except production TLS is off", "In staging TLS is on"),
    ("Only outside staging the dashboard is on", "In production the dashboard is off"),
    ("Unlike staging, it needs a manual restart", "In production no restart is needed"),
    ("Non-production has no TLS", "Staging has TLS"),
    ("Außer in Produktion ist TLS aus", "Auf Staging ist TLS an"),
    ("除了生产环境，TLS 都关闭", "测试环境的 TLS 是开启的"),
    ("非生产环境没有 TLS", "测试环境有 TLS"),
    ("The timeout is 30 s by default, 5 s in production", "In staging the timeout is 60 s"),
    ("In CI wird getestet, sonst nicht", "Lokal wird auch getestet"),
    ("生产环境超时 5 秒，其他 30 秒", "测试环境超时 60 秒"),
    ("TLS is on in production only", "In staging TLS is enabled"),
    ("Addresses are validated only in production", "The test system validates addresses, too"),
    ("只有生产环境开启 TLS", "测试环境也开启了 TLS"),
    # Words that only look like places
    ("The test suite needs 4 GB", "Production needs 8 GB"),
    ("Development takes 3 weeks", "Production takes 2 weeks"),
    ("The local cache holds 100 entries", "The production cache holds 500 entries"),
    ("git staging area is cleared on commit", "In production the cache is cleared on deploy"),
    ("Production code has 80% coverage", "The staging tables have 20% nulls"),
    ("It depends on redis", "It depends on memcached"),
    ("The dashboard is based on grafana", "The dashboard is based on kibana"),
    ("On Mondays the backup takes 20 minutes", "On Sundays, the backup takes 45 minutes"),
    ("Mounted at /srv/staging with 3 disks", "Mounted at /srv/production with 5 disks"),
    ("The state is in tf-state-prod", "The state is in tf-state-staging"),
    ("Tokens of the CI role expire after 8 hours", "Tokens of the CI role expire locally after 30 minutes"),
    ("Die Entwicklung dauert 3 Wochen", "In Produktion dauert der Start 3 Minuten"),
    ("测试需要 3 分钟", "线上需要 5 分钟"),
]


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_statements_about_different_places_are_recognised(one: str, other: str) -> None:
    assert are_about_different_places(one, other)
    assert are_about_different_places(other, one)


@pytest.mark.parametrize(("one", "other"), NOT_DIFFERENT)
def test_in_doubt_two_statements_may_be_about_the_same_place(one: str, other: str) -> None:
    assert not are_about_different_places(one, other)
    assert not are_about_different_places(other, one)


@given(st.sampled_from(DIFFERENT + NOT_DIFFERENT).flatmap(st.sampled_from) | st.text(max_size=100))
def test_a_statement_is_not_about_another_place_than_itself(text: str) -> None:
    assert not are_about_different_places(text, text)


def test_long_texts_are_not_told_apart() -> None:
    assert not are_about_different_places("staging: " + "redis 6 " * 200, "production: redis 7")


def test_no_labelled_pair_that_says_the_same_or_clashes_is_about_different_places() -> None:
    wrong = [
        (pair["older"], pair["newer"])
        for pair in PAIRS
        if pair["label"] != "different" and are_about_different_places(pair["older"], pair["newer"])
    ]
    assert wrong == []
