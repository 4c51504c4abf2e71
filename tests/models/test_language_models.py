"""Language models behind their APIs: what they are asked, what their answers mean, and what they cost."""

from collections.abc import Callable, Generator
from contextlib import closing

import orjson
import pytest

from hivelore.core.text import Clean
from hivelore.errors import HiveloreError, Invalid, Unavailable
from hivelore.models.anthropic.messages import AnthropicModel
from hivelore.models.openai.chat import ChatModel, without_string_lengths
from hivelore.runtime.clock import SystemClock
from hivelore.sessions.model_summarizer import SCHEMA
from support.language_server import LanguageServer
from support.remote_embedder import KEY

Model = ChatModel | AnthropicModel
PROMPT = Clean("What was learned? ä")

MAKE: dict[str, Callable[[str], Model]] = {
    "openai": lambda url: ChatModel(clock=SystemClock(), base_url=f"{url}/v1/", api_key=KEY, model="small"),
    "anthropic": lambda url: AnthropicModel(clock=SystemClock(), base_url=url, api_key=KEY, model="small"),
}


@pytest.fixture
def server() -> Generator[LanguageServer]:
    with LanguageServer() as server:
        yield server


@pytest.fixture(params=MAKE)
def model(request: pytest.FixtureRequest, server: LanguageServer) -> Generator[Model]:
    with closing(MAKE[request.param](server.url)) as model:
        yield model


def ask(model: Model) -> tuple[str, list[int]]:
    spent: list[int] = []
    return model.answer(PROMPT, SCHEMA, spent.append), spent


def refused(model: Model) -> tuple[HiveloreError, list[int]]:
    spent: list[int] = []
    with pytest.raises(HiveloreError) as raised:
        model.answer(PROMPT, SCHEMA, spent.append)
    return raised.value, spent


def test_an_answer_comes_with_what_it_cost(server: LanguageServer, model: Model) -> None:
    answer, spent = ask(model)
    assert answer.replace(" ", "") == server.answer.replace(" ", "")
    assert spent == [server.tokens]
    assert server.tokens <= model.most(PROMPT)


def test_openai_is_asked_for_an_answer_that_follows_the_schema(server: LanguageServer) -> None:
    with closing(MAKE["openai"](server.url)) as model:
        ask(model)
    ((path, headers, body),) = server.asked
    assert path == "/v1/chat/completions"
    assert headers["authorization"] == f"Bearer {KEY}"
    assert body["response_format"]["json_schema"]["schema"] == SCHEMA
    assert body["max_tokens"] <= 2_000
    assert body["messages"] == [{"role": "user", "content": PROMPT}]


def test_anthropic_is_asked_for_the_call_of_a_tool_that_follows_the_schema(server: LanguageServer) -> None:
    with closing(MAKE["anthropic"](server.url)) as model:
        ask(model)
    ((path, headers, body),) = server.asked
    assert path == "/v1/messages"
    assert (headers["x-api-key"], headers["anthropic-version"]) == (KEY, "2023-06-01")
    assert "authorization" not in headers
    assert body["tools"][0]["input_schema"] == SCHEMA
    assert body["tool_choice"] == {"type": "tool", "name": body["tools"][0]["name"]}


def test_openai_itself_is_given_the_limit_by_its_new_name() -> None:
    with closing(ChatModel(clock=SystemClock(), base_url="https://api.openai.com/v1", api_key=KEY, model="m")) as model:
        assert model._limit == "max_completion_tokens"


def test_openai_itself_is_given_no_lengths_of_strings_in_a_schema() -> None:
    assert "maxLength" in orjson.dumps(SCHEMA).decode()
    given = without_string_lengths(SCHEMA)
    assert "maxLength" not in orjson.dumps(given).decode()
    assert given["required"] == ["points", "lessons"]
    assert '"maxItems":7' in orjson.dumps(given).decode()


@pytest.mark.parametrize("status", [408, 429])
def test_a_refused_request_spends_no_tokens(server: LanguageServer, model: Model, status: int) -> None:
    server.script(status)
    error, spent = refused(model)
    assert isinstance(error, Unavailable)
    assert spent == [0]


def test_a_server_error_spends_an_unknown_number_of_tokens(server: LanguageServer, model: Model) -> None:
    server.script(500)
    error, spent = refused(model)
    assert isinstance(error, Unavailable)
    assert spent == []


def test_a_question_is_asked_once(server: LanguageServer, model: Model) -> None:
    server.script(503, 503, 503)
    refused(model)
    assert len(server.asked) == 1


def test_a_refused_prompt_is_invalid(server: LanguageServer, model: Model) -> None:
    server.script(400)
    error, spent = refused(model)
    assert isinstance(error, Invalid)
    assert spent == [0]


def test_a_wrong_key_is_said_to_be_one(server: LanguageServer, model: Model) -> None:
    server.script(401)
    error, _ = refused(model)
    assert "_API_KEY" in str(error)
    assert KEY not in str(error)


def test_no_server_is_unavailable(server: LanguageServer) -> None:
    for make in MAKE.values():
        with LanguageServer() as gone:
            url = gone.url
        with closing(make(url)) as model:
            error, spent = refused(model)
        assert isinstance(error, Unavailable)
        assert spent == [0]


@pytest.mark.parametrize("body", ["{}", "[]", "null", '{"choices": []}', '{"content": [1], "usage": {}}'])
def test_an_empty_answer_is_unavailable(server: LanguageServer, model: Model, body: str) -> None:
    server.raw = body.encode()
    error, spent = refused(model)
    assert isinstance(error, Unavailable)
    assert "unknown format" in str(error)
    assert spent == []


def test_a_server_that_does_not_say_what_it_took(server: LanguageServer) -> None:
    server.silent_about_usage = True
    with closing(MAKE["openai"](server.url)) as model:
        assert ask(model)[1] == []


def test_impossible_settings_are_refused_at_once() -> None:
    clock = SystemClock()
    with pytest.raises(Invalid, match="HIVELORE_SUMMARIZER_MODEL"):
        ChatModel(clock=clock, base_url="http://127.0.0.1:1/v1", api_key=None, model=" ")
    with pytest.raises(Invalid, match="OPENAI_API_KEY"):
        ChatModel(clock=clock, base_url="https://api.openai.com/v1", api_key=None, model="m")
    with pytest.raises(Invalid, match="ANTHROPIC_API_KEY"):
        AnthropicModel(clock=clock, base_url="http://127.0.0.1:1", api_key="", model="m")
    with pytest.raises(Invalid, match="URL"):
        AnthropicModel(clock=clock, base_url="nowhere", api_key=KEY, model="m")
