#!/bin/sh
# Starts Hivelore in a container or for systemd: hivelore-entrypoint VERB [ARGUMENT...]
#
# NAME_FILE=PATH sets the variable NAME to the content of a file, for the names below. So no image, unit or compose file
# contains a secret.
#
# NAME_FILE and NAME together are an error, and so is a file that is empty, has several lines, is larger than 65,535 bytes
# or cannot be read: exit code 2.
set -eu
umask 077
line_feed='
'
carriage_return=$(printf '\r')

fail() {
    printf 'hivelore: %s\n' "$1" >&2
    exit 2
}

for name in HIVELORE_KEY HIVELORE_DATABASE HIVELORE_CONFIG_KEYS PGPASSWORD ANTHROPIC_API_KEY OPENAI_API_KEY CODEX_API_KEY; do
    eval "file=\${${name}_FILE:-} given=\${$name:-}"
    [ -n "$file" ] || continue
    [ -z "$given" ] || fail "$name and ${name}_FILE are both set. Unset one of them."
    value=$(head -c 65536 "$file") || fail "The file in ${name}_FILE cannot be read. Check its path and its permissions."
    value=${value%"$carriage_return"}
    [ -n "$value" ] || fail "The file $file in ${name}_FILE is empty. Write the secret into it."
    [ "${#value}" -lt 65536 ] || fail "The file $file in ${name}_FILE is too large. It has to contain the secret alone."
    case $value in
        *"$line_feed"*) fail "The file $file in ${name}_FILE has several lines. It has to contain the secret alone." ;;
    esac
    export "$name=$value"
    unset "${name}_FILE"
done

if [ -n "${TMPDIR:-}" ]; then
    mkdir -p "$TMPDIR" || fail "$TMPDIR cannot be created. Mount a volume that this user may write to."
fi

exec hivelore "$@"
