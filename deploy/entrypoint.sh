#!/bin/sh
# Starts Hivelore in a container or for systemd: hivelore-entrypoint VERB [ARGUMENT...]
#
# NAME_FILE=PATH sets the variable NAME to the content of a file, for the names below. So no image, unit or compose file
# contains a secret.
#
# NAME_FILE and NAME together are an error, and so is a file that is empty or cannot be read: exit code 2.
set -eu
umask 077

fail() {
    printf 'hivelore: %s\n' "$1" >&2
    exit 2
}

for name in HIVELORE_KEY HIVELORE_DATABASE HIVELORE_CONFIG_KEYS PGPASSWORD ANTHROPIC_API_KEY OPENAI_API_KEY CODEX_API_KEY; do
    eval "file=\${${name}_FILE:-} given=\${$name:-}"
    [ -n "$file" ] || continue
    [ -z "$given" ] || fail "$name and ${name}_FILE are both set. Unset one of them."
    value=$(head -c 65536 "$file") || fail "The file in ${name}_FILE cannot be read. Check its path and its permissions."
    [ -n "$value" ] || fail "The file $file in ${name}_FILE is empty. Write the secret into it."
    export "$name=$value"
    unset "${name}_FILE"
done

if [ -n "${TMPDIR:-}" ]; then
    mkdir -p "$TMPDIR" || fail "$TMPDIR cannot be created. Mount a volume that this user may write to."
fi

exec hivelore "$@"
