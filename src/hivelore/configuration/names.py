"""Names that configuration entries may have: variables of an agent's process that run no code and move no file.

An agent may set entries of its own, and others evaluate them, for example an operator who starts the agent. So a name
is reserved if a shell, a program loader, an interpreter or a usual tool finds code, commands or files by it.
"""

import re

from hivelore.configuration.model import KEY_LENGTH
from hivelore.core.redaction import find
from hivelore.errors import Invalid

_KEY = re.compile(rf"[A-Za-z_][A-Za-z0-9_]{{0,{KEY_LENGTH - 1}}}")
_WORD = re.compile(r"[A-Za-z0-9]{20,}")
_DIGIT = re.compile(r"[0-9]")
_LEAST_DIGITS = 2

_SHELL_NAMES = (
    "_ PATH HOME SHELL USER LOGNAME PWD OLDPWD IFS ENV SHELLOPTS CDPATH FPATH PS0 PS1 PS2 PS3 PS4 RPROMPT RPS1 RPS2 "
    "SPROMPT MAIL MAILPATH MAILCHECK TMOUT OPTIND OPTARG OPTERR UID EUID GID EGID PPID GROUPS "
    "LINENO RANDOM SECONDS SHLVL HOSTNAME HOSTTYPE MACHTYPE OSTYPE DIRSTACK FUNCNAME FUNCNEST PIPESTATUS ARGV "
    "POSIXLY_CORRECT GLOBIGNORE EXECIGNORE FIGNORE FCEDIT HISTFILE HISTFILESIZE HISTSIZE HISTCONTROL HISTIGNORE "
    "HISTTIMEFORMAT INPUTRC MODULE_PATH NULLCMD READNULLCMD WORDCHARS ZDOTDIR TERM TERMINFO TERMINFO_DIRS TERMCAP "
    "TERMPATH TMPDIR TMP TEMP TEMPDIR DISPLAY XAUTHORITY WAYLAND_DISPLAY DBUS_SESSION_BUS_ADDRESS LOCPATH NLSPATH "
    "TZDIR HOSTALIASES LOCALDOMAIN RES_OPTIONS GETCONF_DIR GCONV_PATH CLAUDECODE"
)
"""Of the shell, the session and the programs of agents."""
_TOOL_NAMES = (
    "EDITOR VISUAL PAGER MANPAGER MANPATH MANOPT BROWSER MORE LESS LESSOPEN LESSCLOSE LESSKEY LESSKEYIN LESSEDIT "
    "LESSHISTFILE VIM VIMINIT VIMRUNTIME MYVIMRC EXINIT NVIM_APPNAME EMACSLOADPATH SYSTEMD_PAGER SYSTEMD_EDITOR "
    "BAT_PAGER DELTA_PAGER PSQL_PAGER PSQL_EDITOR KUBE_EDITOR SUDO_ASKPASS SSH_ASKPASS FZF_DEFAULT_COMMAND "
    "FZF_DEFAULT_OPTS FZF_DEFAULT_OPTS_FILE RIPGREP_CONFIG_PATH TAR_OPTIONS GREP_OPTIONS GZIP RSYNC_RSH SVN_SSH "
    "SVN_EDITOR HGRCPATH HGEDITOR CVS_RSH CVSEDITOR CURL_HOME WGETRC NETRC GNUPGHOME KUBECONFIG AWS_CONFIG_FILE "
    "AWS_SHARED_CREDENTIALS_FILE BOTO_CONFIG GH_CONFIG_DIR GH_PAGER GH_EDITOR GH_BROWSER GLAB_CONFIG_DIR "
    "DOCKER_CONFIG DOCKER_HOST DOCKER_CERT_PATH DOCKER_CONTEXT PGSERVICEFILE PGSYSCONFDIR PSQLRC MYSQL_HOME "
    "SQLITE_HISTORY PUPPETEER_EXECUTABLE_PATH GTK_MODULES OPENSSL_CONF OPENSSL_MODULES OPENSSL_ENGINES SSLKEYLOGFILE"
)
"""Of editors, pagers and browsers, and of files in which tools find commands."""
_INTERPRETER_NAMES = (
    "NODE_OPTIONS NODE_PATH NODE_REPL_EXTERNAL_MODULE NODE_REPL_HISTORY NODE_REDIRECT_WARNINGS NODE_V8_COVERAGE "
    "NODE_ICU_DATA NODE_PENDING_DEPRECATION ELECTRON_RUN_AS_NODE PNPM_HOME BUN_INSTALL BUN_OPTIONS DENO_DIR "
    "JAVA_HOME JAVA_OPTS CLASSPATH JDK_JAVA_OPTIONS JAVA_TOOL_OPTIONS RUBYOPT RUBYLIB RUBYSHELL GEM_HOME GEM_PATH "
    "PHPRC PHP_INI_SCAN_DIR LUA_INIT LUA_PATH LUA_CPATH TCLLIBPATH R_HOME R_PROFILE R_PROFILE_USER R_ENVIRON "
    "R_ENVIRON_USER R_LIBS VIRTUAL_ENV GOROOT GOPATH GOBIN GOENV GOFLAGS GOPROXY GONOPROXY GOPRIVATE GOSUMDB "
    "GONOSUMDB GOINSECURE GOTOOLCHAIN GOTOOLDIR GOCACHE GOMODCACHE RUSTC RUSTDOC RUSTFLAGS RUSTDOCFLAGS "
    "RUSTC_WRAPPER RUSTC_WORKSPACE_WRAPPER RUSTUP_HOME RUSTUP_TOOLCHAIN CC CXX CPP LD AR AS CFLAGS CXXFLAGS "
    "CPPFLAGS LDFLAGS COMPILER_PATH LIBRARY_PATH CPATH C_INCLUDE_PATH CPLUS_INCLUDE_PATH PKG_CONFIG PKG_CONFIG_PATH "
    "MAKE MAKEFLAGS MAKEFILES MFLAGS GNUMAKEFLAGS ASAN_OPTIONS LSAN_OPTIONS MSAN_OPTIONS TSAN_OPTIONS UBSAN_OPTIONS "
    "SSH_AUTH_SOCK PYTEST_PLUGINS COVERAGE_RCFILE IPYTHONDIR ELIXIR_ERL_OPTIONS"
)
"""Of interpreters, compilers and package managers."""
_RESERVED = frozenset((*_SHELL_NAMES.split(), *_TOOL_NAMES.split(), *_INTERPRETER_NAMES.split()))
_BEGINNINGS = (
    "LD_ DYLD_ GLIBC_ MALLOC_ BASH ZSH_ COMP_ READLINE_ LESS_ XDG_ SSH_ GPG_ SUDO_ GIT_ PYTHON PERL _JAVA JULIA_ "
    "GUILE_ RUBYGEMS_ BUNDLE_ BUNDLER_ DOTNET_ CORECLR_ COMPLUS_ MONO_ NPM_CONFIG_ YARN_ COREPACK_ TS_NODE_ PIP_ "
    "UV_ PIPX_ POETRY_ CONDA_ PYENV_ RBENV_ NVM_ ASDF_ MISE_ DIRENV_ CARGO_ CMAKE_ MAVEN_ GRADLE_ HIVELORE_ CLAUDE_ "
    "CODEX_ PROMPT ERL_ CLOUDSDK_ ANSIBLE_ TF_CLI_ HELM_ HOMEBREW_ JUPYTER_ GIO_ QT_"
)
_RESERVED_BEGINNINGS = tuple(_BEGINNINGS.split())
_RESERVED_ENDINGS = ("_FUNCTIONS", "_OPTS", "_ADDOPTS")
"""Lists of functions that zsh calls, such as ``precmd_functions``, and options of programs."""
_CREDENTIALS = frozenset(("CLAUDE_CODE_OAUTH_TOKEN", "CODEX_API_KEY"))
"""Names that only hold a credential, though they begin like reserved ones."""

_REDIRECTING_NAMES = (
    "SSL_CERT_FILE SSL_CERT_DIR REQUESTS_CA_BUNDLE CURL_CA_BUNDLE NODE_EXTRA_CA_CERTS NODE_TLS_REJECT_UNAUTHORIZED "
    "AWS_CA_BUNDLE ANTHROPIC_CUSTOM_HEADERS ANTHROPIC_UNIX_SOCKET OPENAI_API_BASE GH_HOST OLLAMA_HOST"
)
_REDIRECTING = frozenset(_REDIRECTING_NAMES.split())
_REDIRECTING_BEGINNINGS = ("AWS_ENDPOINT_URL", "OTEL_EXPORTER_")
_REDIRECTING_ENDINGS = ("_PROXY",)
_MODEL_SERVICES = ("ANTHROPIC_", "OPENAI_", "AZURE_OPENAI_", "GEMINI_", "GOOGLE_", "AWS_")
_ADDRESS_ENDINGS = ("_BASE_URL", "_ENDPOINT")


def check_key(key: str) -> str:
    """Returns the key. Raises Invalid unless it can be a variable of an agent's process. No error repeats a key that
    may be a secret."""
    if may_be_secret(key):
        raise Invalid(
            "The key looks like a secret. A key is the name of the variable, like API_TOKEN; send the secret as value.",
            field="key",
        )
    if not _KEY.fullmatch(key):
        raise Invalid(
            f"A key has 1 to {KEY_LENGTH} letters, digits and underscores, and does not begin with a digit, like "
            "API_URL.",
            field="key",
        )
    if is_reserved(key):
        raise Invalid(
            f"{key} is reserved: programs find code, commands or files by it. Choose another key.", field="key"
        )
    return key


def is_reserved(key: str) -> bool:
    """Returns True for variables by which programs find code, commands or files."""
    name = key.upper()
    if name in _CREDENTIALS:
        return False
    return name in _RESERVED or name.startswith(_RESERVED_BEGINNINGS) or name.endswith(_RESERVED_ENDINGS)


def redirects(key: str) -> bool:
    """Returns True for variables that send the traffic of agents, with their credentials, to other servers."""
    name = key.upper()
    is_address = name.startswith(_MODEL_SERVICES) and name.endswith(_ADDRESS_ENDINGS)
    is_like_them = name.startswith(_REDIRECTING_BEGINNINGS) or name.endswith(_REDIRECTING_ENDINGS)
    return is_address or is_like_them or name in _REDIRECTING


def may_be_secret(key: str) -> bool:
    """Returns True for a known kind of token, and for a long word with digits: names separate words by underscores."""
    return bool(find(key)) or any(len(_DIGIT.findall(word)) >= _LEAST_DIGITS for word in _WORD.findall(key))
