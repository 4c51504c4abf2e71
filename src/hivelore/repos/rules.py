"""Names, URLs and branches that a repository may have.

They reach the command line of git and the file system of every machine that clones. An error never repeats a URL, which
may contain a password.
"""

import re
from urllib.parse import unquote

from hivelore.errors import Invalid, TooLarge
from hivelore.local.git_project import normalize_remote

NAME_LENGTH = 100
URL_BYTES = 2_048
BRANCH_BYTES = 255
_NAME = re.compile(rf"[A-Za-z0-9][A-Za-z0-9._-]{{0,{NAME_LENGTH - 1}}}")
_RESERVED = re.compile(r"con|prn|aux|nul|com[0-9]|lpt[0-9]|git|hivelore", re.IGNORECASE)
"""Names of devices on Windows, also before a dot, and names that would be confused with parts of git and Hivelore."""
_HOST = r"[A-Za-z0-9](?:[A-Za-z0-9.-]{0,251}[A-Za-z0-9])?"
_PORT = r"(?::[0-9]{1,5})?"
_USER = r"[A-Za-z0-9_][A-Za-z0-9._-]{0,63}"
_PATH = r"[A-Za-z0-9._~+@=,()!%/-]+"
_HTTPS = re.compile(rf"https://{_HOST}{_PORT}/(?P<path>{_PATH})")
_SSH = re.compile(rf"ssh://(?:{_USER}@)?{_HOST}{_PORT}/(?P<path>{_PATH})")
_SCP = re.compile(rf"{_USER}@{_HOST}:(?P<path>{_PATH})")
_LOCAL = re.compile(r"(?:file://)?(?P<path>/[^\"\\#;]*)")
"""Without characters that have a meaning in a configuration file of git."""
_FORMS = "Use https://host/path, ssh://user@host/path or user@host:path."
_USERINFO = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^/?#]*@|[^/@]*:[^/@]*@")
_BRANCH = re.compile(r"[^\s~^:?*\[\\\x00-\x20\x7f-\x9f]+")


def check_name(name: str) -> str:
    """Returns the name, which is also that of the folder of the clone. Raises Invalid."""
    name = name.strip()
    if not _NAME.fullmatch(name) or ".." in name or name.endswith("."):
        raise Invalid(
            f"A repository's name has 1 to {NAME_LENGTH} letters, digits, dots, hyphens and underscores, begins with a "
            "letter or digit, and has no '..', like shop or shop.api.",
            field="name",
        )
    if _RESERVED.fullmatch(name.partition(".")[0]) or name.lower().endswith((".git", ".lock")):
        raise Invalid(f"{name} is reserved by git or by file systems. Choose another name.", field="name")
    return name


def is_name(text: str) -> bool:
    """Returns True if the text consists of the characters that names have."""
    return _NAME.fullmatch(text) is not None


def name_key(name: str) -> str:
    """Returns the form in which names are compared: file systems may not distinguish case."""
    return name.strip().lower()


def name_of_url(url: str) -> str:
    """Returns the name that a URL suggests. Raises Invalid if it is no valid name."""
    last = re.split(r"[/:]", normalize_remote(url))[-1]
    try:
        return check_name(last)
    except Invalid as error:
        raise Invalid(f"The URL suggests no name. Say one (name, --name). {error}", field="name") from None


def check_url(url: str, *, allows_local: bool) -> str:
    """Returns the URL. Raises Invalid unless it is one of https or ssh, or a local path where those are allowed."""
    url = url.strip()
    if len(url.encode(errors="replace")) > URL_BYTES:
        raise TooLarge(f"The URL has more than {URL_BYTES:,} bytes. {_FORMS}", field="url")
    if not url.isprintable():
        raise _invalid_url("It has control characters.")
    if local := _LOCAL.fullmatch(url):
        if not allows_local:
            raise _invalid_url("It is a local path, which only HIVELORE_REPO_LOCAL_PATHS=1 allows.")
        if _has_odd_segment(local["path"]):
            raise _invalid_url("Its path has a part that is '..' or begins with a hyphen.")
        return url
    found = _HTTPS.fullmatch(url) or _SSH.fullmatch(url) or _SCP.fullmatch(url)
    if found is None:
        if _USERINFO.match(url):
            raise _invalid_url(
                "A URL has no password or token, and that of https no user: keep them in a credential helper of git."
            )
        raise _invalid_url("")
    if _has_odd_segment(found["path"]):
        raise _invalid_url("Its path has a part that is '..', begins with a hyphen or is not valid.")
    return url


def is_local(url: str) -> bool:
    """Returns True for the path of a repository on the machine that clones."""
    return _LOCAL.fullmatch(url) is not None


def check_branch(branch: str) -> str:
    """Returns the name of a branch. Raises Invalid for one that git does not allow."""
    branch = branch.strip()
    parts = branch.split("/")
    if (
        not _BRANCH.fullmatch(branch)
        or not branch.isprintable()
        or len(branch.encode(errors="replace")) > BRANCH_BYTES
        or branch.startswith("-")
        or branch in ("@", "HEAD")
        or ".." in branch
        or "@{" in branch
        or branch.endswith(".")
        or any(not part or part.startswith(".") or part.endswith(".lock") for part in parts)
    ):
        raise Invalid(
            f"A branch has 1 to {BRANCH_BYTES} bytes and a name that git allows, like main or release/2.",
            field="defaultBranch",
        )
    return branch


def project_of_url(url: str) -> str:
    """Returns the project of memories that are written in a clone (N16)."""
    return normalize_remote(url)


def _has_odd_segment(path: str) -> bool:
    plain = unquote(path, errors="replace")
    if not plain.isprintable() or re.search(r"%(?![0-9A-Fa-f]{2})", path) is not None:
        return True
    segments = [one for part in (path, plain) for one in part.split("/")]
    return not plain.strip("/") or any(one == ".." or one.startswith("-") for one in segments)


def _invalid_url(why: str) -> Invalid:
    return Invalid(f"The URL is not allowed. {f'{why} ' if why else ''}{_FORMS}", field="url")
