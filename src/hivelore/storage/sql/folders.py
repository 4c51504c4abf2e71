"""Files of memory folders."""

from collections.abc import Sequence

from hivelore.folders.model import KnownFile
from hivelore.storage.sql.statements import SqlReader, SqlWriter, Table, plain

FILE = Table(KnownFile, "file", "place path", **plain("place path mark digest memory"))


class FileReader(SqlReader):
    """Implements ``folders.ports.FileReads``."""

    TABLES = (FILE,)

    def files_after(self, place: str, path: str, limit: int) -> Sequence[KnownFile]:
        return self.read_all(FILE, "files_after", place=place, path=path, limit=limit)


class FileWriter(FileReader, SqlWriter):
    """Implements ``folders.ports.FileWrites``."""

    def put_files(self, files: Sequence[KnownFile]) -> None:
        self.run_each("file_put", [FILE.params(file) for file in files])

    def drop_files(self, place: str, paths: Sequence[str]) -> None:
        self.run_each("file_drop", [{"place": place, "path": path} for path in paths])
