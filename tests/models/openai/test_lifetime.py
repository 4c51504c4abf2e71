"""The remote embedder as a whole: secret key, many threads, its end, its fingerprint."""

import logging
import ssl
import traceback
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from ipaddress import IPv4Address
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from hivelore.errors import Unavailable
from hivelore.models.openai.provider import OPENAI_URL
from support.clocks import START
from support.embedders import clean
from support.embedding_server import EmbeddingServer, Exchange, Fault, altered, is_vector_of, raw, refusal, silence
from support.remote_embedder import HELLO, KEY, Make


def broken_header(exchange: Exchange) -> None:
    exchange.handler.wfile.write(f"HTTP/1.1 200 OK\r\n{KEY}\r\n\r\n".encode())
    exchange.handler.close_connection = True


ECHOES: dict[str, Fault] = {
    **{str(status): refusal(status, f"key {KEY} " * 20) for status in (400, 401, 403, 404, 429, 500)},
    "not JSON": raw(KEY.encode()),
    "index": altered(lambda answer: answer["data"][0].update(index=KEY)),
    "number": altered(lambda answer: answer["data"][0].update(embedding=[KEY])),
    "broken header": broken_header,
    "location": refusal(302, headers={"Location": f"http://127.0.0.1/{KEY}"}),
}


@pytest.mark.parametrize("fault", ECHOES.values(), ids=ECHOES.keys())
def test_a_key_that_the_server_repeats_appears_in_no_error_or_log(
    server: EmbeddingServer,
    make: Make,
    fault: Fault,
    caplog: pytest.LogCaptureFixture,
    capsys: pytest.CaptureFixture[str],
) -> None:
    caplog.set_level(logging.INFO)
    server.always = fault
    with pytest.raises(Unavailable) as caught:
        make().embed_documents([HELLO])
    printed = capsys.readouterr()
    shown = "".join(traceback.format_exception(caught.value)) + repr(caught.value)
    for text in (shown, caplog.text, printed.out, printed.err):
        assert KEY[:12] not in text


def test_the_key_appears_in_no_repr_and_no_detailed_log(
    server: EmbeddingServer, make: Make, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    embedder = make()
    embedder.embed_documents([HELLO])
    assert "POST" in caplog.text
    assert KEY[:12] not in caplog.text + repr(embedder) + repr(vars(embedder))


def self_signed(folder: Path) -> ssl.SSLContext:
    """A server's side of TLS with a certificate that nobody vouches for."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    certificate = (
        x509.CertificateBuilder(subject_name=name, issuer_name=name, public_key=key.public_key())
        .serial_number(1)
        .not_valid_before(START - timedelta(days=3_650))
        .not_valid_after(START + timedelta(days=36_500))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(IPv4Address("127.0.0.1"))]), critical=False)
        .sign(key, hashes.SHA256())
    )
    pem = folder / "server.pem"
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    pem.write_bytes(private + certificate.public_bytes(Encoding.PEM))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem)
    return context


def test_a_server_without_a_valid_certificate_never_sees_the_key(make: Make, tmp_path: Path) -> None:
    with EmbeddingServer(tls=self_signed(tmp_path)) as impostor:
        with pytest.raises(Unavailable, match="CERTIFICATE_VERIFY_FAILED"):
            make(base_url=impostor.base_url).embed_query(HELLO)
        assert impostor.asked == []


def test_many_threads_share_an_embedder(server: EmbeddingServer, make: Make) -> None:
    embedder = make()
    contents = [f"note {number}" for number in range(40)]
    with ThreadPoolExecutor(8) as pool:
        vectors = list(pool.map(embedder.embed_query, clean(*contents)))
    assert all(is_vector_of(vector, text) for vector, text in zip(vectors, contents, strict=True))


def test_a_closed_embedder_is_unavailable(make: Make) -> None:
    embedder = make()
    embedder.close()
    embedder.close()
    with pytest.raises(Unavailable, match="closed"):
        embedder.embed_query(HELLO)


def test_a_call_under_way_when_it_is_closed_is_unavailable(server: EmbeddingServer, make: Make) -> None:
    arrived = Event()

    def note_and_say_nothing(exchange: Exchange) -> None:
        arrived.set()
        silence(exchange)

    server.always = note_and_say_nothing
    embedder = make(timeout=0.5)
    with ThreadPoolExecutor(1) as pool:
        call = pool.submit(embedder.embed_documents, [HELLO])
        assert arrived.wait(60)
        embedder.close()
        with pytest.raises(Unavailable):
            call.result(60)


def test_the_fingerprint_of_openai_names_model_and_dimension(make: Make) -> None:
    assert make(base_url=OPENAI_URL).fingerprint.startswith("openai:text-embedding-3-small:512:")


def test_the_same_model_has_one_fingerprint_on_all_hosts_of_openai(make: Make) -> None:
    hosts = (OPENAI_URL, OPENAI_URL + "/", "https://eu.api.openai.com/v1")
    assert len({make(base_url=url).fingerprint for url in hosts}) == 1


def test_settings_that_change_vectors_change_the_fingerprint(make: Make) -> None:
    changes: list[dict[str, Any]] = [
        {},
        {"model": "text-embedding-3-large"},
        {"dimension": 256},
        {"query_prefix": "query: "},
        {"document_prefix": "query: "},
        {"base_url": OPENAI_URL},
        {"base_url": "https://gpu.example/v1"},
        {"base_url": "https://notapi.openai.com/v1"},
    ]
    assert len({make(**change).fingerprint for change in changes}) == len(changes)


def test_other_settings_leave_the_fingerprint(server: EmbeddingServer, make: Make) -> None:
    other = make(api_key="sk-other", base_url=server.base_url + "/", timeout=1, batch_inputs=1)
    assert other.fingerprint == make().fingerprint
