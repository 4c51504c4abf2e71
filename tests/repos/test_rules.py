"""Names, URLs and branches of repositories."""

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hivelore.errors import Invalid
from hivelore.local.git_project import normalize_remote
from hivelore.repos.rules import check_branch, check_name, check_url, is_local, name_key, name_of_url, project_of_url

SECRET = "hunter2secret"


@pytest.mark.parametrize("name", ["shop", "shop.api", "Shop_2", "a", "9-lives", "x" * 100])
def test_a_plain_name_is_allowed(name: str) -> None:
    assert check_name(f" {name} ") == name


@pytest.mark.parametrize(
    "name",
    [
        "",
        ".",
        "..",
        "a..b",
        "../shop",
        "shop/api",
        "/shop",
        "shop\\api",
        "-shop",
        ".git",
        ".hidden",
        "shop.git",
        "shop.LOCK",
        "git",
        "CON",
        "nul.txt",
        "com1",
        "hivelore",
        "shop.",
        "sh op",
        "shop\n",
        "sh\0op",
        "sh\x1bop",
        "shöp",
        "x" * 101,
    ],
)
def test_a_name_that_is_no_plain_folder_is_refused(name: str) -> None:
    if name == "shop\n":
        name = "shop\nx"
    with pytest.raises(Invalid) as error:
        check_name(name)
    assert error.value.field == "name"


@given(st.text(st.sampled_from(string.printable + "é‮\0"), max_size=12))
def test_an_allowed_name_is_one_folder(name: str) -> None:
    try:
        allowed = check_name(name)
    except Invalid:
        return
    assert set(allowed) <= set(string.ascii_letters + string.digits + "._-")
    assert allowed[0] not in ".-"
    assert ".." not in allowed
    assert name_key(allowed) == allowed.lower()


@pytest.mark.parametrize(
    "url",
    [
        "https://github.com/acme/shop",
        "https://github.com/acme/shop.git",
        "https://git.example.com:8443/a/b/c.git",
        "https://dev.azure.com/acme/My%20Shop/_git/shop",
        "https://git.sr.ht/~ada/shop",
        "ssh://git@github.com/acme/shop.git",
        "ssh://git@github.com:2222/acme/shop.git",
        "ssh://github.com/acme/shop",
        "git@github.com:acme/shop.git",
        "org-12@github.com:acme/shop.git",
        "git@host:/srv/git/shop.git",
    ],
)
def test_urls_of_https_and_ssh_are_allowed(url: str) -> None:
    assert check_url(f" {url}\t", allows_local=False) == url
    assert not is_local(url)


HOSTILE = [
    "",
    "shop",
    "ext::sh -c 'touch /tmp/x'",
    "ext::sh%20-c%20id",
    "a@ext::sh",
    "--upload-pack=touch /tmp/x",
    "-u",
    "git@host:--upload-pack=x",
    "git@host:a/-x",
    "ssh://-oProxyCommand=id/x",
    "ssh://git@-oProxyCommand=id/x",
    "-oProxyCommand=id@host:x",
    "ssh://-x@host/x",
    "git://github.com/acme/shop",
    "http://github.com/acme/shop",
    "ftp://host/x",
    "fd::17/x",
    "https://host",
    "https://host/",
    "https://host//",
    "https:///path",
    "https://host/a/../b",
    "https://host/a/%2e%2e/b",
    "https://host/a%0ahost=evil",
    "https://host/a%zz",
    "https://host/a?token=x",
    "https://host/a#x",
    "https://host/a b",
    "https://host\\@evil/a",
    "https://host/a\nb",
    "https://host/a\x1b[2J",
    "https://hoſt/a",
    "ssh://host:99999999/x",
    "https://" + "a" * 2_100 + "/x",
    "git@host:../x",
    "file://host/x",
    "../shop",
    "./shop",
    "C:\\shop",
]


@pytest.mark.parametrize("url", HOSTILE)
@pytest.mark.parametrize("allows_local", [False, True])
def test_other_urls_are_refused(url: str, allows_local: bool) -> None:
    with pytest.raises(Invalid) as error:
        check_url(url, allows_local=allows_local)
    assert error.value.field == "url"
    assert "https://host/path" in str(error.value)


@pytest.mark.parametrize(
    "url",
    [
        f"https://ada:{SECRET}@github.com/acme/shop",
        f"https://{SECRET}@github.com/acme/shop",
        f"https://:{SECRET}@github.com/acme/shop",
        f"ssh://ada:{SECRET}@host/x",
        f"ada:{SECRET}@host:x",
        f"https://host/x?access_token={SECRET}",
        f"https://host/x#{SECRET}",
        f"ext::{SECRET}",
        f"https://ada:{SECRET}\n@host/x",
    ],
)
def test_credentials_are_refused_and_never_repeated(url: str) -> None:
    with pytest.raises(Invalid) as error:
        check_url(url, allows_local=True)
    assert SECRET not in str(error.value)
    assert error.value.__cause__ is None


@pytest.mark.parametrize("path", ["/srv/git/shop.git", "file:///srv/git/shop.git", "/srv/my repos/shop"])
def test_local_paths_need_a_setting(path: str) -> None:
    with pytest.raises(Invalid, match="HIVELORE_REPO_LOCAL_PATHS"):
        check_url(path, allows_local=False)
    assert check_url(path, allows_local=True) == path
    assert is_local(path)


@pytest.mark.parametrize("path", ["/", "/a/../b", "/a/-x", "file:///a/%2e%2e/b", '/a"b', "/a\\b", "/a#b"])
def test_odd_local_paths_are_refused(path: str) -> None:
    with pytest.raises(Invalid):
        check_url(path, allows_local=True)


_PIECES = [*"abz09:/@-.%?#\\ \n\0~=", "https://", "ssh://", "git@host:", "host/", "ext::", "file://", ".."]


@given(st.lists(st.sampled_from(_PIECES), max_size=16).map("".join))
def test_an_allowed_url_is_no_option_and_has_no_credentials(url: str) -> None:
    try:
        allowed = check_url(url, allows_local=False)
    except Invalid:
        return
    assert allowed.startswith(("https://", "ssh://")) or "@" in allowed.partition(":")[0]
    assert "::" not in allowed
    assert not any(part.startswith("-") or part == ".." for part in allowed.split("/"))
    authority = allowed.partition("://")[2].partition("/")[0]
    assert ":" not in authority.rpartition("@")[0]
    assert allowed.isprintable()
    assert project_of_url(allowed) == normalize_remote(allowed)


@pytest.mark.parametrize("branch", ["main", "release/2", "feature/ünïcode", "a.b", "x" * 255])
def test_a_branch_has_a_name_that_git_allows(branch: str) -> None:
    assert check_branch(f" {branch}") == branch


ODD_BRANCHES = (
    "-x|--upload-pack=x|a..b|a b|a~1|a:b|+x:y?|a^|HEAD|@|a@{1}|a.lock/b|/a|a/|a//b|.a|a.|a\nb|a\0b|a\x7fb|a\\b|a*"
)


@pytest.mark.parametrize("branch", ["", "x" * 256, *ODD_BRANCHES.split("|")])
def test_other_branches_are_refused(branch: str) -> None:
    with pytest.raises(Invalid) as error:
        check_branch(branch)
    assert error.value.field == "defaultBranch"


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("https://github.com/acme/shop.git", "shop"),
        ("git@github.com:shop.git", "shop"),
        ("ssh://git@h:22/a/shop/", "shop"),
        ("/srv/git/shop.git", "shop"),
    ],
)
def test_a_url_suggests_a_name(url: str, name: str) -> None:
    assert name_of_url(url) == name


def test_a_url_may_suggest_no_valid_name() -> None:
    with pytest.raises(Invalid, match="--name"):
        name_of_url("https://host/acme/con")
