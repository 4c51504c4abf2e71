"""Setup scripts: reads, changes, proposals and restores (D40-D42)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import sha256

from hivelore.changes.journal import ChangeJournal
from hivelore.changes.model import BatchKind
from hivelore.core.access import Permission, visible_to
from hivelore.core.agents import AgentId, LeadSees, Viewer
from hivelore.core.audit import AuditEntry
from hivelore.core.clock import Clock
from hivelore.core.redaction import Redactor
from hivelore.core.text import Clean
from hivelore.core.values import replace
from hivelore.errors import Forbidden, Invalid, NotFound, Stale, TooLarge
from hivelore.feedback.recall_log import WriteBehindBuffer
from hivelore.memories.model import Action
from hivelore.review.model import Proposal, ProposalId, ScriptReview, ScriptSubject
from hivelore.review.proposals import ProposalQueue
from hivelore.setup_scripts import decisions
from hivelore.setup_scripts.model import MAX_VERSIONS, ScriptChange, ScriptVersion, audited_id
from hivelore.setup_scripts.script_text import check
from hivelore.storage.ports import MemoryStore, Transaction, View

REASON_BYTES = 1_000
NO_SCRIPT = Clean("")
_NEWEST = 2**31 - 1


@dataclass(frozen=True, slots=True)
class AgentScripts:
    """The scripts of an agent; None: there is none."""

    own: ScriptVersion | None
    shared: ScriptVersion | None


@dataclass(frozen=True, slots=True)
class ScriptOutcome:
    """The result of a request to change a script."""

    current: ScriptVersion | None
    """The version after the request. None: there is no script."""
    proposal: Proposal | None = None
    """The proposal that was made instead of a change."""
    is_changed: bool = False


class SetupScripts:
    def __init__(
        self,
        *,
        store: MemoryStore,
        proposal_queue: ProposalQueue,
        journal: ChangeJournal,
        redactor: Redactor,
        lead_sees: LeadSees,
        write_buffer: WriteBehindBuffer,
        clock: Clock,
        accepts_own: bool,
    ) -> None:
        """``accepts_own``: agents change their own scripts without a review."""
        self._store = store
        self._proposal_queue = proposal_queue
        self._journal = journal
        self._redactor = redactor
        self._lead_sees = lead_sees
        self._write_buffer = write_buffer
        self._clock = clock
        self._accepts_own = accepts_own

    def of_agent(self, agent: AgentId, viewer: Viewer, deadline: float | None = None) -> AgentScripts:
        """Returns what runs when an agent starts."""
        self._check_visible(agent, viewer)
        with self._store.read(deadline, sees=visible_to(viewer, self._lead_sees)) as view:
            found = AgentScripts(view.setup_script(agent), view.setup_script(None))
        if found.own is not None:
            self._note_read(agent, viewer)
        return found

    def current(self, agent: AgentId | None, viewer: Viewer, deadline: float | None = None) -> ScriptVersion | None:
        """Returns the latest version of a script; agent None: of the global one."""
        self._check_visible(agent, viewer)
        with self._store.read(deadline, sees=visible_to(viewer, self._lead_sees)) as view:
            found = view.setup_script(agent)
        if found is not None:
            self._note_read(agent, viewer)
        return found

    def history(
        self,
        agent: AgentId | None,
        viewer: Viewer,
        *,
        before: int | None = None,
        limit: int = MAX_VERSIONS,
        deadline: float | None = None,
    ) -> Sequence[ScriptVersion]:
        """Returns a page of the versions with a number below ``before``, newest first."""
        self._check_visible(agent, viewer)
        with self._store.read(deadline, sees=visible_to(viewer, self._lead_sees)) as view:
            return view.setup_script_versions(agent, _NEWEST if before is None else before, limit)

    def version(
        self, agent: AgentId | None, number: int, viewer: Viewer, deadline: float | None = None
    ) -> ScriptVersion:
        """Returns a version of a script. Raises NotFound."""
        self._check_visible(agent, viewer)
        with self._store.read(deadline, sees=visible_to(viewer, self._lead_sees)) as view:
            found = view.setup_script_version(agent, number)
        if found is None:
            raise NotFound(
                f"There is no version {number} of this setup script; the latest {MAX_VERSIONS} are kept. 'hivelore "
                "setup-script history' (GET /api/setup-script/history) lists them."
            )
        self._note_read(agent, viewer)
        return found

    def change(
        self,
        agent: AgentId | None,
        text: str,
        viewer: Viewer,
        *,
        version: int | None = None,
        reason: str | None = None,
        propose: bool = False,
        deadline: float | None = None,
    ) -> ScriptOutcome:
        """Changes a script, or proposes to if the viewer may not (``ScriptOutcome.proposal``). Empty text removes it.

        ``version``: raises Stale unless it is the current one, 0 if there is none. ``propose``: makes a proposal also
        for operators, for texts that somebody else wrote. An agent's text of its own takes effect at once if the
        settings allow it."""
        change = self.prepare_change(agent, text, viewer, version=version, reason=reason, propose=propose)
        return self._store.write(change, deadline)

    def prepare_change(
        self,
        agent: AgentId | None,
        text: str,
        viewer: Viewer,
        *,
        version: int | None = None,
        reason: str | None = None,
        propose: bool = False,
    ) -> Callable[[Transaction], ScriptOutcome]:
        """Returns the step of ``change`` within a transaction. Raises Forbidden, Invalid and TooLarge for what
        ``change`` refuses without one."""
        permission = decisions.may_change(viewer, agent, accepts_own=self._accepts_own)
        if permission is Permission.REFUSED:
            raise Forbidden("You may propose changes of your own and of the global setup script only.")
        script = self._clean(text)
        why = self._clean_reason(reason)
        takes_effect = permission is Permission.ALLOWED and not (propose and viewer.agent is None)

        def change_or_propose(tx: Transaction) -> ScriptOutcome:
            current = tx.setup_script(agent)
            number = _number(current)
            if _text(current) == script:
                return ScriptOutcome(current)
            if version is not None and version != number:
                raise Stale(
                    f"The setup script has changed since: it is at version {number}, not {version}. Read it again.",
                    current=number,
                )
            if takes_effect:
                return ScriptOutcome(self._put(tx, agent, current, script, viewer, why), is_changed=True)
            digest = sha256(script.encode()).hexdigest()
            subject = ScriptSubject(agent=agent, version=number, digest=digest)
            proposal = self._proposal_queue.propose_script(tx, subject, script, viewer, why=why)
            return ScriptOutcome(current, proposal)

        return change_or_propose

    def restore(
        self,
        agent: AgentId | None,
        number: int,
        viewer: Viewer,
        *,
        reason: str | None = None,
        deadline: float | None = None,
    ) -> ScriptOutcome:
        """Makes the text of an earlier version current again, as a new version, as ``change`` does."""
        earlier = self.version(agent, number, viewer, deadline)
        return self.change(
            agent, earlier.text, viewer, reason=reason or f"Restored version {number}.", deadline=deadline
        )

    # for the review inbox

    def review(self, view: View, proposal: Proposal, viewer: Viewer) -> ScriptReview | None:
        """Returns the text of a proposal, compared with the current version."""
        assert proposal.script is not None
        text = view.script_draft(proposal.id)
        if text is None:
            return None
        current = view.setup_script(proposal.script.agent)
        diff = decisions.script_diff(_text(current), text, f"version {_number(current)}", "proposal")
        self._note_read(proposal.script.agent, viewer)
        return ScriptReview(proposed=text, diff=diff)

    def apply_proposal(self, tx: Transaction, proposal: Proposal, viewer: Viewer) -> None:
        """Makes the text of a proposal current. Raises Stale if the script changed since the proposal."""
        assert proposal.script is not None
        agent, current = proposal.script.agent, tx.setup_script(proposal.script.agent)
        if _number(current) != proposal.script.version:
            raise Stale(
                f"The setup script has changed since this was proposed: it is at version {_number(current)}, not "
                f"{proposal.script.version}. Reject the proposal; it can be proposed again.",
                current=_number(current),
            )
        text = tx.script_draft(proposal.id)
        if text is None:
            raise NotFound("The text of this proposal no longer exists. Reject it; it can be proposed again.")
        author = "an operator" if proposal.actor is None else str(proposal.actor)
        why = Clean(f"Proposed by {author}." if proposal.why is None else f"Proposed by {author}: {proposal.why}")
        self._put(tx, agent, current, text, viewer, why, proposal.id)

    # steps

    def _clean(self, text: str) -> Clean:
        """Returns a script in canonical form. Raises Invalid if it has a secret: masked, it would be another script."""
        script = check(text)
        clean = self._redactor.clean(script, field="setupScript")
        if clean != script:
            pairs = zip(script.split("\n"), clean.split("\n"), strict=False)
            line = next((number for number, (one, other) in enumerate(pairs, start=1) if one != other), 1)
            raise Invalid(
                f"Line {line} of the setup script seems to have a secret. Read it from the environment or a file "
                "instead.",
                field="setupScript",
            )
        return clean

    def _clean_reason(self, reason: str | None) -> Clean | None:
        """Returns a reason after redaction; None if nothing is left of it. Raises TooLarge."""
        if reason is None or not reason.strip():
            return None
        _check_reason(reason)
        clean = Clean(self._redactor.clean(reason, field="reason").strip())
        _check_reason(clean)  # A mask may be longer than the secret.
        return clean or None

    def _check_visible(self, agent: AgentId | None, viewer: Viewer) -> None:
        if not decisions.may_see(visible_to(viewer, self._lead_sees), agent):
            raise Forbidden("You may read your own and the global setup script only.")

    def _note_read(self, agent: AgentId | None, viewer: Viewer) -> None:
        """Records a read of another agent's script in the audit trail (X3)."""
        if decisions.is_audited_read(viewer, agent):
            self._write_buffer.record(AuditEntry.by_viewer(viewer, Action.READ, audited_id(agent), self._clock.now()))

    def _put(
        self,
        tx: Transaction,
        agent: AgentId | None,
        current: ScriptVersion | None,
        text: Clean,
        viewer: Viewer,
        reason: Clean | None,
        proposal: ProposalId | None = None,
    ) -> ScriptVersion:
        after = put_version(tx, agent, current, text, viewer, self._clock, reason)
        kind = BatchKind.SETUP_SCRIPT if proposal is None else BatchKind.DECIDED
        batch = self._journal.new_batch(kind, viewer, changes=1, is_private=agent is not None, reason=reason)
        if batch is not None:
            change = ScriptChange(agent=agent, before=_number(current), after=after.number, proposal=proposal)
            tx.put_batch(replace(batch, script=change))
        action = Action.CREATED if current is None else Action.EDITED
        detail = Clean(f"setup script: version {after.number}")
        tx.record_audit(AuditEntry.by_viewer(viewer, action, audited_id(agent), after.at, detail))
        return after


def put_version(
    tx: Transaction,
    agent: AgentId | None,
    current: ScriptVersion | None,
    text: Clean,
    viewer: Viewer,
    clock: Clock,
    reason: Clean | None,
) -> ScriptVersion:
    """Stores a new version and drops those that are too old to be kept."""
    after = ScriptVersion(
        agent=agent,
        number=_number(current) + 1,
        at=clock.now(),
        actor=viewer.agent,
        interface=viewer.interface,
        text=text,
        reason=reason,
    )
    tx.put_setup_script(after)
    tx.drop_setup_scripts(agent, after.number - MAX_VERSIONS)
    return after


def _number(version: ScriptVersion | None) -> int:
    return 0 if version is None else version.number


def _text(version: ScriptVersion | None) -> Clean:
    return NO_SCRIPT if version is None else version.text


def _check_reason(reason: str) -> None:
    size = len(reason.encode("utf-8", "surrogatepass"))
    if size > REASON_BYTES:
        raise TooLarge(f"reason has {size:,} bytes; at most {REASON_BYTES:,}. Shorten it.", field="reason")
