"""Names that configuration entries may have."""

import pytest

from hivelore.configuration.names import check_key, is_reserved, redirects
from hivelore.errors import Invalid

RESERVED = (
    "PATH path LD_PRELOAD DYLD_INSERT_LIBRARIES HIVELORE_HOME PYTHONPATH PYTHONSTARTUP BASH_ENV BASH_FUNC_x "
    "NODE_OPTIONS PS1 PS4 PROMPT_COMMAND ENV IFS GIT_SSH_COMMAND GIT_EDITOR GIT_CONFIG_COUNT PAGER EDITOR VISUAL "
    "BROWSER LESSOPEN HOME SHELL CLAUDE_CONFIG_DIR CLAUDE_CODE_API_KEY_HELPER CODEX_HOME ZDOTDIR precmd_functions "
    "PERL5OPT RUBYOPT JAVA_TOOL_OPTIONS _JAVA_OPTIONS GCONV_PATH XDG_CONFIG_HOME SSH_ASKPASS "
    "npm_config_script_shell PIP_INDEX_URL CARGO_HOME GOFLAGS MAKEFLAGS KUBECONFIG AWS_CONFIG_FILE UID _ TMPDIR "
    "PYTEST_ADDOPTS PYTEST_PLUGINS SPEC_OPTS COVERAGE_RCFILE ERL_FLAGS ELIXIR_ERL_OPTIONS JRUBY_OPTS SBT_OPTS RPS1 "
    "PROMPT PROMPT2 SPROMPT CLOUDSDK_PYTHON ANSIBLE_CONFIG TF_CLI_CONFIG_FILE HELM_PLUGINS HOMEBREW_BREW_FILE "
    "IPYTHONDIR JUPYTER_PATH PUPPETEER_EXECUTABLE_PATH GTK_MODULES GIO_EXTRA_MODULES QT_PLUGIN_PATH my_tool_opts"
)
ALLOWED = (
    "API_URL _x pathological MY_PATH LDAP_URL ANTHROPIC_API_KEY ANTHROPIC_MODEL OPENAI_API_KEY "
    "CLAUDE_CODE_OAUTH_TOKEN CODEX_API_KEY GITHUB_TOKEN GH_TOKEN GITLAB_TOKEN NPM_TOKEN NODE_ENV DATABASE_URL "
    "GOOGLE_API_KEY AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY DB_PASSWORD S3_BUCKET OAUTH2_CLIENT_ID SHA256_SUM"
)
REDIRECTING = (
    "ANTHROPIC_BASE_URL ANTHROPIC_BEDROCK_BASE_URL OPENAI_BASE_URL HTTPS_PROXY http_proxy NO_PROXY SSL_CERT_FILE "
    "NODE_EXTRA_CA_CERTS ANTHROPIC_CUSTOM_HEADERS AZURE_OPENAI_ENDPOINT "
    "AWS_ENDPOINT_URL AWS_ENDPOINT_URL_S3 OTEL_EXPORTER_OTLP_HEADERS GH_HOST OLLAMA_HOST"
)


@pytest.mark.parametrize("key", RESERVED.split())
def test_variables_by_which_programs_find_code_or_files_are_reserved_for_everybody(key: str) -> None:
    assert is_reserved(key)
    with pytest.raises(Invalid, match="reserved"):
        check_key(key)


@pytest.mark.parametrize("key", [*ALLOWED.split(), "A" * 200])
def test_other_names_are_allowed(key: str) -> None:
    assert check_key(key) == key
    assert not redirects(key)


@pytest.mark.parametrize("key", REDIRECTING.split())
def test_variables_that_redirect_traffic_are_known(key: str) -> None:
    assert redirects(key)
    assert check_key(key) == key


@pytest.mark.parametrize("key", ["", "1A", "A-B", "A B", "A=B", "Ä", "A" * 201, "A\n"])
def test_a_key_is_a_name_of_a_variable(key: str) -> None:
    with pytest.raises(Invalid, match="letters, digits"):
        check_key(key)


@pytest.mark.parametrize(
    "key",
    [
        "gh" + "p_" + "a1B2" * 9,
        "s3f9c2d41ab07e5588cc10f4a",
        "HIVELORE_s3f9c2d41ab07e5588cc10f4a",
        "sk_live_4eC39HqLyjWDarjtT1zdp7dc",
        "h" + "l_1_0123456789_" + "ab" * 32,
    ],
)
def test_a_token_as_the_key_is_refused_and_not_repeated(key: str) -> None:
    with pytest.raises(Invalid, match="send the secret as value") as error:
        check_key(key)
    assert key not in str(error.value)
    assert key[-12:] not in str(error.value)
