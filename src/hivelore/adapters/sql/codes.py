"""How choices are numbered in tables. A number that has shipped is never given to something else."""

from hivelore.domain.agent import Door, Role
from hivelore.domain.job import JobState
from hivelore.domain.memory import Action, Scope, Source, Trust
from hivelore.domain.search import Path

SCOPE = {Scope.AGENT: 1, Scope.SWARM: 2}
SOURCE = {Source.MANUAL: 1, Source.FILE_INDEX: 2, Source.SESSION_SUMMARY: 3, Source.TASK_COMPLETION: 4}
ROLE = {Role.WORKER: 1, Role.LEAD: 2, Role.OPERATOR: 3}
DOOR = {Door.PYTHON: 1, Door.CLI: 2, Door.REST: 3, Door.MCP: 4, Door.HOOK: 5, Door.SERVICE: 6}
TRUST = {Trust.OPERATOR: 1, Trust.AGENT: 2, Trust.TOOL_OUTPUT: 3, Trust.WEB: 4}
JOB_STATE = {JobState.RUNNING: 1, JobState.DONE: 2, JobState.FAILED: 3, JobState.CANCELLED: 4}
PATH = {Path.HYBRID: 1, Path.KEYWORDS: 2, Path.RECENT: 3}
ACTION = {
    Action.CREATED: 1,
    Action.EDITED: 2,
    Action.PROMOTED: 3,
    Action.DEMOTED: 4,
    Action.FORGOTTEN: 5,
    Action.READ: 6,
}

SCOPE_OF = {code: scope for scope, code in SCOPE.items()}
SOURCE_OF = {code: source for source, code in SOURCE.items()}
ROLE_OF = {code: role for role, code in ROLE.items()}
DOOR_OF = {code: door for door, code in DOOR.items()}
TRUST_OF = {code: trust for trust, code in TRUST.items()}
JOB_STATE_OF = {code: state for state, code in JOB_STATE.items()}
PATH_OF = {code: path for path, code in PATH.items()}
ACTION_OF = {code: action for action, code in ACTION.items()}
