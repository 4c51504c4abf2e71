"""Row-level security: the database itself hides what the viewer of a transaction may not see.

Statements filter by visibility themselves. If one fails to, the policies of the tables still hide the rows, because a
transaction that reads for a viewer uses a separate role. That role cannot log in and may only read.
"""

from psycopg import errors, sql

from hivelore.search.model import Visibility
from hivelore.storage.postgres.connection import Connection, run_script

ROLE = "hivelore_viewer"
OUTSIDE = "RESET ROLE"
INSIDE = f"SET LOCAL ROLE {ROLE}"

_READABLE = """
SELECT bool_and(has_table_privilege(r.oid, format('%%I.%%I', t.schemaname, t.tablename), 'SELECT')
  AND pg_has_role(current_user, r.oid, 'MEMBER'))
FROM pg_roles r, pg_tables t WHERE r.rolname = %s AND t.schemaname = current_schema()
"""
_GRANTS = (
    "GRANT USAGE ON SCHEMA {schema} TO {role}",
    "GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO {role}",
)


def set_up(connection: Connection) -> bool:
    """Creates the role and grants its rights if they are missing and that is allowed. Only one process may call this at
    a time. Returns True if row-level security works."""
    if _works(connection):
        return True
    try:
        with connection.transaction():
            if not _value(connection, "SELECT 1 FROM pg_roles WHERE rolname = %s"):
                run_script(connection, f"CREATE ROLE {ROLE} NOLOGIN")
            if not _value(connection, "SELECT pg_has_role(current_user, %s, 'MEMBER')"):
                run_script(connection, f"GRANT {ROLE} TO CURRENT_USER")
            row = connection.execute("SELECT current_schema()").fetchone()
            names = {"schema": sql.Identifier(str(row and row[0])), "role": sql.Identifier(ROLE)}
            for grant in _GRANTS:
                connection.execute(sql.SQL(grant).format(**names))
            run_script(connection, f"{INSIDE}; {OUTSIDE}")
    except (errors.InsufficientPrivilege, errors.UniqueViolation, errors.DuplicateObject):
        return _works(connection)
    return _works(connection)


def begin(sees: Visibility) -> list[str]:
    """Returns the statements that restrict a transaction to a viewer."""
    own = sql.Literal("" if sees.own is None else str(sees.own)).as_string()
    settings = (("own", own), ("swarm", _switch(sees.swarm)), ("others", _switch(sees.others)))
    return [*(f"SET LOCAL hivelore.{name} = {value}" for name, value in settings), INSIDE]


def _switch(on: bool) -> str:
    return "on" if on else "off"


def _works(connection: Connection) -> bool:
    return bool(_value(connection, _READABLE))


def _value(connection: Connection, statement: str) -> object:
    """Returns the first value of a statement about the role."""
    row = connection.execute(statement.encode(), [ROLE]).fetchone()
    return None if row is None else row[0]
