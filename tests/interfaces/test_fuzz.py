"""REST requests that schemathesis generates from the OpenAPI document, over real HTTP.

The status, content type, headers and schema of every response match the document. Requests that the document forbids
are refused, and no request makes the service fail.
"""

# schemathesis leaves the parameters of its generic types open.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownParameterType=false, reportArgumentType=false, reportMissingTypeArgument=false

from collections.abc import Generator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis.checks import CHECKS
from schemathesis.generation import GenerationMode
from schemathesis.specs.openapi.schemas import OpenApiSchema

from hivelore.api.registry import OPERATIONS as DECLARED
from hivelore.http import health
from support.laws import IS_SOAKING, examples
from support.postgres import DATABASES
from support.service import Service

pytestmark = pytest.mark.hypothesis

OPERATIONS = sorted(
    [
        *((operation.route.path, operation.route.method) for operation in DECLARED if operation.http),
        *((path, "GET") for path in health.DESCRIPTION),
    ]
)
WITHOUT_ARGUMENTS = {"/health", "/health/live", "/health/ready"}
"""These routes accept no arguments, so no request to them can be invalid."""
KNOWN = [one for one in OPERATIONS if "{memoryId}" in one[0]]
CHECK_NAMES = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
    "negative_data_rejection",
    "unsupported_method",
    "ignored_auth",
)
fuzzing = settings(
    max_examples=examples(6),
    database=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)


@pytest.fixture(scope="module")
def described(service: Service) -> OpenApiSchema:
    return schemathesis.openapi.from_url(f"{service.url}/openapi.json")


@pytest.fixture(scope="module", autouse=True)
def sound(service: Service) -> Generator[None]:
    """After all requests the service answers, and its data passes the integrity check."""
    local = service.client(service.agent_key)
    kept = local.call("POST", "/api/memory/batch", body={"memories": [{"content": "Was there before all of it."}]})
    yield
    memory = kept["results"][0]["memory"]
    assert local.call("GET", f"/api/memory/{memory['id']}") | {"accessedAt": None, "accessCount": 0} == memory
    assert list(service.app.store.check()) == []


def send(
    service: Service, described: OpenApiSchema, path: str, method: str, mode: GenerationMode, **path_of: Any
) -> None:
    """Sends generated requests for one operation and checks each response."""
    checks = CHECKS.get_by_names(CHECK_NAMES)
    operation = described[path][method]

    @fuzzing
    @given(case=operation.as_strategy(generation_mode=mode))
    def run(case: schemathesis.Case) -> None:
        case.path_parameters = {**case.path_parameters, **path_of}
        case.call_and_validate(headers={"Authorization": f"Bearer {service.operator_key}"}, checks=checks)

    run()


@pytest.mark.parametrize(("path", "method"), OPERATIONS)
def test_valid_requests_get_documented_responses(
    service: Service, described: OpenApiSchema, path: str, method: str
) -> None:
    send(service, described, path, method, GenerationMode.POSITIVE)


# Most are refused before a database is asked.
@pytest.mark.parametrize("service", DATABASES if IS_SOAKING else ["sqlite"], indirect=True)
@pytest.mark.parametrize(("path", "method"), [one for one in OPERATIONS if one[0] not in WITHOUT_ARGUMENTS])
def test_invalid_requests_are_refused_as_documented(
    service: Service, described: OpenApiSchema, path: str, method: str
) -> None:
    send(service, described, path, method, GenerationMode.NEGATIVE)


@pytest.mark.parametrize(("path", "method"), KNOWN)
def test_requests_for_a_stored_memory_get_documented_responses(
    service: Service, described: OpenApiSchema, path: str, method: str
) -> None:
    body = {"memories": [{"content": f"{method} {path}", "tags": ["known"], "metadata": {"a": [1, None]}}]}
    kept = service.client(service.agent_key).call("POST", "/api/memory/batch", body=body)
    memory = kept["results"][0]["memory"]["id"]
    send(service, described, path, method, GenerationMode.POSITIVE, memoryId=memory)


def test_the_document_lists_all_operations(service: Service) -> None:
    paths = service.client(None).call("GET", "/openapi.json")["paths"]
    assert sorted((path, method.upper()) for path, methods in paths.items() for method in methods) == OPERATIONS
