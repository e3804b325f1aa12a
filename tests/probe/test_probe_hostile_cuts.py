"""However the bytes of a stream are cut, on their way or by the reads, a probe finds the same."""

import ssl
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from unittest import mock

import pytest
from certificates import Authority
from hostile import HostileServer
from hostile_dialects import DIALECTS
from hostile_peer import BEHAVIOURS
from hostile_player import FRAMINGS, answer_in, check_times, check_verdict, framed, played, probed
from hostile_script import STREAMS, Stream
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

# What is a megabyte by itself is cut enough.
CUTTABLE = sorted(name for name, stream in STREAMS.items() if sum(len(data) for _, data in stream.steps()) < 1 << 18)


def cut_at(data: bytes, cuts: list[float]) -> list[bytes]:
    """Return the bytes in pieces; a cut is a share of their length."""
    edges = sorted({0, len(data), *(int(cut * len(data)) for cut in cuts)})
    return [data[start:end] for start, end in pairwise(edges)]


cuts = st.lists(st.floats(0, 1, exclude_max=True), max_size=6)
streams = st.sampled_from(CUTTABLE).map(STREAMS.__getitem__)


@given(stream=streams, cuts=cuts)
@settings(max_examples=400)
def test_reads_that_end_anywhere_change_no_figure(stream: Stream, cuts: list[float]) -> None:
    result, text = played(stream, lambda data: cut_at(data, cuts))
    check_verdict(stream, result, text)
    check_times(stream, result)


@pytest.mark.parametrize("name", [name for name in CUTTABLE if len(STREAMS[name].steps()) < 40])
def test_reads_of_one_byte_change_no_figure(name: str) -> None:
    stream = STREAMS[name]
    result, text = played(stream, lambda data: [data[place : place + 1] for place in range(len(data))])
    check_verdict(stream, result, text)
    check_times(stream, result)


# On a real connection: the kernel, the receiver, http.client, the inflater and TLS all lie between.


def probe_cut(server: HostileServer, stream: Stream, framing: str, cuts: list[float], trust: Mapping[str, str]) -> None:
    pieces = cut_at(b"".join(framed(stream, framing)), cuts)
    with mock.patch.dict(BEHAVIOURS, {"scripted": answer_in(pieces, stream.broken)}):
        check_verdict(stream, *probed(stream, server.base("scripted"), tls=trust or None))


@pytest.mark.parametrize("name", CUTTABLE)
def test_every_stream_in_every_framing_of_http(name: str, hostile: HostileServer) -> None:
    for framing in FRAMINGS:
        probe_cut(hostile, STREAMS[name], framing, [], {})


many_cuts = st.lists(st.floats(0, 1, exclude_max=True), min_size=1, max_size=12)


@given(stream=streams, framing=st.sampled_from(FRAMINGS), cuts=many_cuts, gzipped=st.booleans())
@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_segments_cut_anywhere(
    hostile: HostileServer, stream: Stream, framing: str, cuts: list[float], gzipped: bool
) -> None:
    """Cut inside the head, the size of a chunk, its line end, and the stream of the compressor."""
    probe_cut(hostile, replace(stream, encoding="gzip") if gzipped else stream, framing, cuts, {})


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory, tool: Callable[[str], Path]) -> Authority:
    made = Authority.make(tool("openssl"), tmp_path_factory.mktemp("cuts"))
    made.sign("server")
    return made


@pytest.fixture(scope="module")
def tls_server(authority: Authority) -> Iterator[HostileServer]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(authority.folder / "server.pem", authority.folder / "server.key")
    with HostileServer(context) as server:
        yield server


@pytest.mark.tool("openssl")
@given(stream=streams, framing=st.sampled_from(FRAMINGS), cuts=many_cuts)
@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_records_of_tls_cut_anywhere(
    tls_server: HostileServer, authority: Authority, stream: Stream, framing: str, cuts: list[float]
) -> None:
    probe_cut(tls_server, stream, framing, cuts, {"ca_file": str(authority.folder / "ca.pem")})


@pytest.mark.tool("openssl")
@pytest.mark.parametrize("api", DIALECTS)
def test_every_stream_over_tls(api: str, tls_server: HostileServer, authority: Authority) -> None:
    for name in CUTTABLE:
        if STREAMS[name].api == api:
            probe_cut(tls_server, STREAMS[name], "chunked", [], {"ca_file": str(authority.folder / "ca.pem")})
