"""Vocabulary of operational notes: English, and the commonest words of German, French, Spanish and Chinese.

In the tables, the words of a line are synonyms, and the first one names their concept; the words after ``|`` are
opposites. ``_`` joins the words of a phrase. Case, accents and English endings are ignored.
"""

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import NamedTuple

import regex

from hivelore.search.tokenizer import STOP_WORDS, document_terms


def words_of(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _both_ways(pairs: str) -> Mapping[str, frozenset[str]]:
    table: dict[str, frozenset[str]] = {}
    for pair in pairs.replace("\n", " | ").split("|"):
        words = pair.split()
        for one, other in (words, words[::-1]) if words else ():
            table[one] = table.get(one, frozenset()) | {other}
    return table


WEIGHT, POLAR_WEIGHT, WEAK_WEIGHT, FAINT_WEIGHT, LIGHT_WEIGHT = 1.0, 0.5, 0.3, 0.1, 0.0
"""How much a word counts for what a note is about: one that names something, one that has an opposite, one that fits
nearly everywhere, and grammar."""

_POLAR = """
power enable active activate turned_on turn_on switched_on switch_on aktiviert eingeschaltet aktiv
  activé activo activado 启用 | disable inactive deactivate pause suspend mute off turned_off turn_off switched_off
  switch_off deaktiviert ausgeschaltet abgeschaltet inaktiv désactivé desactivado 禁用 关闭
allow accept permit open opened welcome erlaubt erlauben autorisé permitido permite acepta 允许 |
  refuse reject deny forbid disallow decline block blocked closed ban prohibit verboten abgelehnt refusé refuse
  bloqueado rechaza rechazado 拒绝
outcome succeed success successful | fail failure crash die dies scheitert schlägt_fehl
  fehlgeschlagen échoue falla fallan 失败
remedy fix solve cure resolve help work works enough behebt hilft résout soluciona 解决 | useless
manual manually by_hand by_yourself von_hand manuell à_la_main a_mano manualmente 手动 | automatic
  automatically by_itself by_themselves on_its_own on_their_own unattended automatisch von_selbst
  automatiquement automáticamente 自动
frequency always every_time each_time immer jedes_mal toujours siempre 总是 | rarely seldom
writing writable writeable read_write write written beschreibbar | read_only readonly
survival survive persistent durable preserved | lose lost overwrite overwritten transient volatile
retention keep kept retain retained retention remember aufbewahrt behalten conserve conservent
  conservan conserva 保留 | delete remove purge strip drop dropped clean_up cleaned_up prune evict erase
  wipe discard cull gelöscht löscht supprimé supprimés borran borra borrado elimina 删除
reach reachable available online erreichbar | unreachable inaccessible unavailable offline
speed fast faster fastest quick quicker quickly schneller schnell rapide rápido | slow slower slowly
  langsamer langsam lent lento
amount increase raise raised higher grow grows goes_up go_up went_up | decrease reduce lower lowered
  shrink
safety safe safely harmless | unsafe dangerous harmful risky
together at_once at_the_same_time simultaneously parallel in_parallel concurrently all_at_once |
  one_at_a_time sequentially one_by_one one_after_another serially
delay immediately instantly sofort immédiatement inmediatamente 立即 | delayed eventually
secrecy encrypted encryption encrypt | unencrypted plaintext
pace synchronous synchronously | asynchronous asynchronously
validity valid | invalid
health healthy | unhealthy
truth true | false
"""
_POLAR_FAINT = """
need must require requirement has_to have_to had_to necessary mandatory depend dependent dependency
  rely relies_on rely_on muss müssen braucht brauchen benötigt notwendig erforderlich nötig faut
  doit nécessaire dépend debe deben necesita necesitan necesario requiere requieren depende hay_que
  必须 需要 要先 依赖 | optional independent independently unnecessary regardless whether_or_not
  does_not_matter unabhängig indépendamment independiente independientemente 单独 无需
presence appear appears visible show shows shown remain remains persist exist present | go_away goes_away went_away gone
  vanish disappear missing lack lacks absent hidden hide omit leave_out leaves_out left_out skip
place_first at_first first erst zuerst zunächst d_abord primero | last zuletzt
"""
_ALIKE = """
start begin begun commence startup start_up launch boot come_up comes_up came_up coming_up be_up is_up was_up are_up
  gestartet starten startet arranque arrancar arranca démarrage démarrer démarre iniciar inicia
  inicie 启动
restart reboot bounce neustart neu_starten neu_gestartet redémarrage redémarrer redémarre reinicio
  reiniciar 重启
stop shutdown shut_down halt stall cease
heal recover recovery
continue go_on goes_on went_on carry_on resume proceed
replace rotate rotation substitute
return come_back comes_back came_back
kill terminate abort cancel
retry try_again tried_again run_again rerun repeat redo
repository repo
picture image photo
film movie
approve approval approved confirm confirmation
correct right proper
incorrect wrong mistaken
choose select pick
credential login_data
clear empty clean
parallel concurrent
take_effect takes_effect took_effect picked_up picks_up
unplug pull_out plug_out
duplicate twice_the_same
overload overloaded
notice noticed see_that
include contain
forward redirect
encode re_encode
fetch retrieve
guest visitor
phone mobile
machine computer
send_out deliver delivery
attachment attachments attached
increment bump
stuck hang hangs hung hanging freeze freezes frozen flap
idle unused inactivity without_activity without_use no_activity
silently silent without_error without_an_error quietly
database databases db dbs datenbank
certificate cert certs
upgrade update
backup backed_up back_up sicherung sauvegarde copia_de_seguridad 备份
deploy deployment rollout roll_out rolled_out
directory folder dir
message mail email nachricht mensaje
reload recharger recharge
test check verify validate validation
error fehler
disk drive
replicate replication replica
request req query
transcode transcoding
authenticate auth authentication log_in logging_in logged_in login signin sign_in
signup sign_up
expire expiry expiration valid_until expires valid_for good_for lifetime ttl time_to_live
create generate
install installieren instalar instalarse instalan instala
renew renewal
connect connection
snapshot snapshots
memory ram
modification modify edit
defragment defragmentation
migrate migration
network net
queue queued queues
persistence persist persists persisted
play playback
wait warten attendre esperar 等待 要等 等
outbound outgoing
inbound incoming
config configuration configure settings
cpu processor
gpu graphics
primary master
postgresql postgres
kubernetes k8s
machine_learning ml
"""
_ALIKE_WEAK = """
use uses usage verwendet benutzt utilise usa utiliza 使用
storage store
listen serve served lauscht écoute escucha escuchar 监听
reading read come_from comes_from taken_from
change move
job task process
interval period
schedule scheduled
limit maximum max cap capped at_most size_limit
log logged
"""
_WEAK = """
exceed arrive mode state access way part usage see cause write want try attempt new
larger smaller longer shorter fewer bigger greater beyond higher
fresh large small full main extra different send sent add answer respond reply problem issue level
kind type value follow handle call know say provide version expect hit live reside locate dépassent
dépasse liegt contains hold cannot due order sure extra service server host endpoint port system
instance number amount name exist puerto hôte
"""
_LIGHT = """
take last go goes going went gone made became taken took older newer later does rid sometimes done
finish complete end get make run happen set kick_off look via by_way_of through still already even
just now currently also too again only quite very really either both once_more as_well too even yet there here per since
ever meanwhile whether like around per_se within come give put bring perform execute supply remain
stay some any somebody anybody people you please note become turn keep_in_mind except pendant
während durante mientras no_more_than not_more_than no_less_than no_fewer_than no_later_than
no_longer_than anything any_more any_longer anymore about roughly approximately approx nearly almost
least most more than over up less under below above ago old long late early own between each every
all several o clock time times one two am pm uhr daß dass dann der die das den dem ein eine einen
einem einer des ist sind wird werden und oder mit auf im in an am bei zu zum zur es er sie auch nur
noch mehr dauert dauern läuft laufen jeden jede jeder alle kann können für über als etwa ungefähr
rund le la les un une des du de et ou est sont au aux avec sur dans il elle se ce cette ces prend
prendre dure toute tous toutes chaque que qui à y en on l d pas jamais plus près peu el los las uno
una unos unas del al o son con por para su sus lo ese esta este está cada toma tarda ya
aproximadamente 的 了 是 在 把 会 再 后 它 从 每 次 到 和 为 有 时 大约 约
"""
NEGATORS = words_of(
    """
    not no never none cannot neither nor nothing nicht kein keine keinen keinem keiner nie niemals
    ne nunca sin ohne sans without no_longer nobody 不 没 无 没有 不再 不能 不会 不用 不要 不是
    """
)
WITHOUT = frozenset({"without", "ohne", "sans", "sin"})
OTHERWISE = words_of("otherwise else sonst sinon 否则 or_else so_that in_order_to to_avoid lest")
"""Words before a consequence of ignoring a warning, which is not a fact."""
BECAUSE = words_of("because since so therefore hence which weil da parce puisque porque 因为 所以")
IF = words_of(
    """
    if when whenever while unless wenn falls si cuando lorsque quand as_long_as in_case whilst
    """
)
BEFORE = words_of(
    """
    before until till prior vor bevor avant antes ahead 之后 以后 prior_to then afterwards followed_by after_that
    danach 再
    """
)
AFTER = words_of("after nach nachdem après después once 之前 以前 as_soon_as only_when")
"""Words for *after*. Chinese ones follow their subject, so they are in the other set."""
THEN = words_of("then afterwards followed_by after_that danach 再")
INSTEAD = words_of("instead_of rather_than statt anstatt plutôt_que en_lugar_de en_vez_de au_lieu_de")
"""Words before a denied alternative."""


MUST = frozenset(
    ("must", "has to", "have to", "had to", "muss", "müssen", "faut", "doit", "debe", "deben", "hay que", "必须")
)
"""Words that forbid when denied; other denied words of need state that it is optional."""
WOULD = words_of("would could might")
"""Words for hypothetical statements."""
COMPARATIVE = words_of(
    """
    outside elsewhere other newer older larger bigger longer higher except only than
    """
)
"""Comparatives that change the meaning of a denial: *does not work with a newer one*."""
EXCEPT = words_of("except outside besides apart excluding außer sauf salvo excepto hors")
THE_OTHERS = words_of("less more fewer larger longer bigger smaller older newer higher lower others")
"""Words at the beginning of a part about the other cases."""
OTHER = words_of(
    """
    other else elsewhere outside except than but more less later fewer longer newer older higher larger
    otro autre anderen andere
    """
)
"""Words that limit when denied: only here, or at most that much."""
UNLESS = words_of("unless")
KEEPS = words_of("keep keeps stop stops")
AVOID = words_of("avoid avoids prevent prevents refrain pointless futile forbidden prohibited")
"""Words that deny without a negation."""
CONCESSIONS = (
    "even if", "even when", "even while", "even though", "even without", "even before", "even with", "regardless of",
    "whether or not", "no matter", "in any order", "order does not matter", "order is not important",
    "auch wenn", "auch ohne", "egal ob", "même si", "même sans", "aunque", "incluso si", "incluso sin", "即使",
)  # fmt: skip
UNRELATED = (
    "nothing to do with", "makes no difference", "make no difference", "does not mean", "not the reason",
    "not the cause", "has no influence", "hat nichts mit", "rien à voir avec", "nada que ver con",
)  # fmt: skip
HINTS = words_of("wait out broken impossible unabl imposs defer postpon corrupt damag destroi ruin break")
"""Words for statements that are not true, or not yet."""
ONLY = words_of("only just alone nur seulement solo solamente")
ALL = words_of("all every any everybody everyone anybody anyone each whole alle jeder jede tous toutes todos todas")
UNTIL = words_of("until till")
RELATIVE = words_of("that which who die welche qui que")
"""Relative words; a denial after them only selects which one is meant."""
WINS = words_of("win wins winning precedence priority preferred prevails")
PRONOUNS = words_of("it they them this these those")
PREFIXES = ("un", "in", "non", "dis", "im", "de")
"""Prefixes of opposites."""
ANTONYMS = _both_ways(
    """
above below | over under | above within | over within | exceed within | more within | up down
same different | same differ | green red | full empty | day night | first last | more less
run stop | start stop | continue stop | share own | share separ | begin end | live kill
alive dead | inside outside | idle busy | onlin offlin | work broken | work break | stay move
stay vanish | stay leav | includ exclud | obey ignor | found presence | rememb forget
right wrong | public privat | local remot | always never | anyon nobodi | everyon nobodi
alon togeth | early late | win lose | long short | big small | high low | hot cold | lock free
old new | thin thick | whole part | need pointless | join leav | connect drop | accept declin
forc voluntari | strict lax | direct indirect | sooner later | increas decreas | front back
left right | top bottom | push pull | wet dry | light dark | shutdown up | stop up | stop boot
down start | down run
    """
)
ABLE = words_of(
    """
    can may could works work run runs start starts possible kann können peut peuvent puede pueden
    puis
    """
)
"""Words for things that work without something optional."""
OVER = words_of(
    """
    over more above larger exceed exceeds beyond longer bigger greater mehr über größer dépassent
    dépasse
    """
)
ARTICLES = words_of("the a an der die das den dem le la les el los las")
IGNORED = frozenset({"ignore"})
"""Words before open statements."""
EXCLUSIVE = tuple(
    frozenset(line.split())
    for line in """
cpu gpu
tcp udp
ipv4 ipv6
ssd hdd nvme
lz4 zstd gzip
aof rdb
sqlite postgresql mysql mariadb mongodb
ext4 xfs btrfs zfs ntfs
docker podman
amd64 arm64
debian ubuntu alpine fedora
vaapi nvenc qsv
""".strip().splitlines()
)
"""Things that a service has only one of."""


class Sense(NamedTuple):
    concept: str
    sign: int
    """-1: the opposite of the concept."""
    weight: float
    polar: bool
    """True if the opposite is a separate word."""


_HAN = regex.compile(r"\p{Han}")


@lru_cache(maxsize=1 << 12)
def stems(word: str) -> tuple[str, ...]:
    """Returns the stem of a word as keyword engines do; for a phrase joined by ``_``, the stem of each word."""
    if not word.isascii() and _HAN.match(word):
        return (word,)
    parts = [document_terms(part) for part in word.split("_") if part]
    return tuple(terms[0] for terms in parts if terms)


def _blocks(table: str) -> Iterator[list[str]]:
    """Yields lines joined with their continuations."""
    words: list[str] = []
    for line in table.strip().splitlines():
        if words and not line.startswith(" "):
            yield words
            words = []
        words += line.split()
    yield words


def _grouped(table: str, weight: float, *, polar: bool) -> Iterator[tuple[tuple[str, ...], Sense]]:
    for concept, *forms in _blocks(table):
        sign = 1
        for form in (concept, *forms):
            if form == "|":
                sign = -1
            else:
                yield stems(form), Sense(concept, sign, weight, polar)


def _single(words: str, weight: float) -> Iterator[tuple[tuple[str, ...], Sense]]:
    for word in words.split():
        yield stems(word), Sense(word, 1, weight, polar=False)


_GRAMMAR = (NEGATORS, OTHERWISE, BECAUSE, IF, BEFORE, AFTER, INSTEAD, IGNORED)


def _meanings() -> Mapping[tuple[str, ...], Sense]:
    """Returns the senses. For a word in several tables, the last one counts."""
    return dict(
        [
            *_single(" ".join(sorted(STOP_WORDS)), LIGHT_WEIGHT),
            *_single(_LIGHT, LIGHT_WEIGHT),
            *_single(_WEAK, WEAK_WEIGHT),
            *_grouped(_ALIKE_WEAK, WEAK_WEIGHT, polar=False),
            *_grouped(_ALIKE, WEIGHT, polar=False),
            *_grouped(_POLAR, POLAR_WEIGHT, polar=True),
            *_grouped(_POLAR_FAINT, FAINT_WEIGHT, polar=True),
            *(one for words in _GRAMMAR for one in _single(" ".join(sorted(words)), LIGHT_WEIGHT)),
        ]
    )


MEANINGS = _meanings()
"""Senses by the stems of a word or phrase."""
LONGEST_PHRASE = max(map(len, MEANINGS))
