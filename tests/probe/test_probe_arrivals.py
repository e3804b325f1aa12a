"""The stamps of what arrives: the kernel's where there is one, whoever reads however late."""

import socket
import ssl
import struct
import threading
import time
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from certificates import Authority
from hostile import HostileServer
from probe_helpers import PATIENCE, until

from exporters.probe.asking.reader import LIMIT_MARGIN_SECONDS, exchange
from exporters.probe.wire.connection import Recorder
from exporters.probe.wire.deadline import Deadline
from exporters.probe.wire.kernel_stamps import SPACE, arrived_at, ask_for_stamps
from exporters.probe.wire.receiver import LARGEST_QUEUE, Inbox, Piece, Receiver
from exporters.probe.wire.stamped import READ_SIZE, StampedFile

SO_TIMESTAMPNS = 35


@pytest.fixture
def pair() -> Iterator[tuple[socket.socket, socket.socket]]:
    """Yield both ends of a connection, ours first."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        ours = socket.create_connection(server.getsockname())
        theirs, _ = server.accept()
        with ours, theirs:
            yield ours, theirs


def stamp(seconds_ago: float) -> tuple[int, int, bytes]:
    wall = time.time_ns() - int(seconds_ago * 1e9)
    return socket.SOL_SOCKET, SO_TIMESTAMPNS, struct.pack("@ll", *divmod(wall, 10**9))


def test_the_kernels_stamp_is_told_on_the_clock_of_probes() -> None:
    before = time.perf_counter()
    at, exact = arrived_at([stamp(5.0)], before - 60)
    assert exact
    assert before - 5.01 < at < time.perf_counter() - 4.99


@pytest.mark.parametrize(
    "ancillary",
    [
        pytest.param([], id="none"),
        pytest.param([stamp(3600.0)], id="before the request: the clock was set forward"),
        pytest.param([stamp(-3600.0)], id="in the future: the clock was set back"),
        pytest.param([(socket.SOL_SOCKET, SO_TIMESTAMPNS, b"short")], id="of another size"),
        pytest.param([(socket.IPPROTO_TCP, SO_TIMESTAMPNS, stamp(1.0)[2])], id="of another kind"),
    ],
)
def test_without_a_stamp_that_can_be_true_it_arrived_now(ancillary: list[tuple[int, int, bytes]]) -> None:
    before = time.perf_counter()
    at, exact = arrived_at(ancillary, before - 60)
    assert not exact
    assert before <= at <= time.perf_counter()


def test_what_comes_later_is_never_stamped_earlier() -> None:
    earliest = time.perf_counter()
    at, exact = arrived_at([stamp(0.0005)], earliest)
    assert exact
    assert at >= earliest


@pytest.fixture
def stamped(pair: tuple[socket.socket, socket.socket]) -> tuple[socket.socket, socket.socket]:
    """Return both ends of a connection whose packets the kernel stamps; skip where it does not (some sandboxes)."""
    ours, theirs = pair
    ask_for_stamps(ours)
    # It begins to a moment after the first connection of the machine asks for it.
    give_up = time.monotonic() + 10
    while time.monotonic() < give_up:
        theirs.sendall(b"token")
        if ours.recvmsg(100, SPACE)[1]:
            return ours, theirs
    pytest.skip("this kernel stamps no packets")


def test_a_late_read_does_not_move_the_stamp(stamped: tuple[socket.socket, socket.socket]) -> None:
    ours, theirs = stamped
    began = time.perf_counter()
    theirs.sendall(b"token")
    sent = time.perf_counter()
    time.sleep(0.2)
    at, exact = arrived_at(ours.recvmsg(100, SPACE)[1], began - 1)
    assert exact
    assert began <= at < sent + 0.1


def receiving(ours: socket.socket) -> Inbox:
    ours.setblocking(False)

    def read() -> Piece:
        data = ours.recv(1 << 16)
        return Piece(time.perf_counter(), data, exact=False)

    inbox = Inbox(ours, read, Receiver())
    inbox.open()
    return inbox


def test_pieces_keep_their_stamps_while_they_add_up(pair: tuple[socket.socket, socket.socket]) -> None:
    ours, theirs = pair
    ours.setblocking(False)
    texts = (b"one", b"two", b"three\r\n0\r\n\r\n")
    read_one = threading.Semaphore(0)
    stamps = []

    def read() -> Piece:
        piece = Piece(time.perf_counter(), ours.recv(1 << 16), exact=False)
        stamps.append(piece.at)
        read_one.release()
        return piece

    def send() -> None:
        # What came before somebody waits is given at once.
        until(lambda: inbox._wanted_at, "somebody who waits")
        for text in texts:
            theirs.sendall(text)
            assert read_one.acquire(timeout=PATIENCE)

    inbox = Inbox(ours, read, Receiver())
    inbox.open()
    sender = threading.Thread(target=send)
    sender.start()
    # The last chunk ends the waiting.
    pieces = inbox.take(10 * PATIENCE, None)
    sender.join()
    inbox.close()
    assert [piece.data for piece in pieces] == [*texts]
    assert [piece.at for piece in pieces] == stamps


@pytest.mark.parametrize("how", ["last chunk", "end", "break"])
def test_the_end_is_not_held_back(pair: tuple[socket.socket, socket.socket], how: str) -> None:
    ours, theirs = pair
    inbox = receiving(ours)
    ended = threading.Event()

    def end() -> None:
        if how == "last chunk":
            theirs.sendall(b"x\r\n0\r\n\r\n")
        elif how == "end":
            theirs.shutdown(socket.SHUT_WR)
        else:
            theirs.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            theirs.close()
        ended.set()

    threading.Timer(0.2, end).start()
    if how == "break":
        with pytest.raises(ConnectionResetError):
            inbox.take(10 * PATIENCE, None)
    else:
        (piece,) = inbox.take(10 * PATIENCE, None)
        assert piece.data == (b"x\r\n0\r\n\r\n" if how == "last chunk" else b"")
    assert ended.wait(PATIENCE)
    inbox.close()


def test_enough_is_not_held_back(pair: tuple[socket.socket, socket.socket]) -> None:
    ours, theirs = pair
    inbox = receiving(ours)

    def send() -> None:
        until(lambda: inbox._wanted_at, "somebody who waits")
        theirs.sendall(b"one")
        until(lambda: inbox._queued == 3, "the first piece, which is not enough")
        theirs.sendall(b"two")

    sender = threading.Thread(target=send)
    sender.start()
    pieces = inbox.take(10 * PATIENCE, None, enough=6)
    sender.join()
    inbox.close()
    assert b"".join(piece.data for piece in pieces) == b"onetwo"


def test_silence_ends_with_the_timeout(pair: tuple[socket.socket, socket.socket]) -> None:
    inbox = receiving(pair[0])
    with pytest.raises(TimeoutError):
        inbox.take(0.0, 0.05)
    inbox.close()


def test_no_more_is_read_than_is_taken(pair: tuple[socket.socket, socket.socket]) -> None:
    ours, theirs = pair
    inbox = receiving(ours)
    total = 64 * LARGEST_QUEUE
    sent = [0]

    def flood() -> None:
        block = bytes(1 << 16)
        while sent[0] < total:
            sent[0] += theirs.send(block)
        theirs.shutdown(socket.SHUT_WR)

    threading.Thread(target=flood, daemon=True).start()
    taken = 0
    largest = 0
    while True:
        pieces = inbox.take(0.0, PATIENCE)
        size = sum(len(piece.data) for piece in pieces)
        taken, largest = taken + size, max(largest, size)
        if not pieces[-1].data:
            break
        time.sleep(0.001)
    inbox.close()
    assert taken == sent[0] >= total
    assert largest <= LARGEST_QUEUE + (1 << 16)


def test_a_closed_inbox_leaves_the_connection_alone(pair: tuple[socket.socket, socket.socket]) -> None:
    ours, theirs = pair
    inbox = receiving(ours)
    theirs.sendall(b"first")
    assert [piece.data for piece in inbox.take(0.0, PATIENCE)] == [b"first"]
    inbox.close()
    theirs.sendall(b"second")
    ours.settimeout(PATIENCE)
    assert ours.recv(100) == b"second"


def test_nothing_is_held_back_near_a_limit(hostile: HostileServer) -> None:
    """Else a limit would pass while the token that moves it on waits to be looked at."""
    url = f"{hostile.url('good')}/chat/completions"
    with Deadline(PATIENCE) as deadline, exchange("POST", url, {}, b"{}", Recorder(deadline)) as answer:
        next(answer.reads(1 << 20, 0.5))
        assert answer.recorder.source is not None
        hold = answer.recorder.source.stamped.hold
        assert hold() == 0.5
        deadline.limit(30.0)
        assert hold() == 0.5
        deadline.limit(LIMIT_MARGIN_SECONDS + 0.2)
        assert hold() <= 0.2
        deadline.limit(LIMIT_MARGIN_SECONDS)
        assert hold() <= 0.0


@pytest.mark.usefixtures("stamped")
def test_a_whole_answer_is_stamped_by_the_kernel(hostile: HostileServer) -> None:
    url = f"{hostile.url('good')}/chat/completions"
    with Deadline(PATIENCE) as deadline, exchange("POST", url, {}, b"{}", Recorder(deadline)) as answer:
        assert answer.body(1 << 20)
        assert answer.recorder.source is not None
        assert answer.recorder.source.stamped.exact


@pytest.fixture
def tls_pair(
    pair: tuple[socket.socket, socket.socket], tmp_path: Path, tool: Callable[[str], Path]
) -> Iterator[tuple[socket.socket, socket.socket]]:
    """Yield both ends of a connection over TLS, ours first."""
    authority = Authority.make(tool("openssl"), tmp_path)
    authority.sign("server")
    serving = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    serving.load_cert_chain(tmp_path / "server.pem", tmp_path / "server.key")
    theirs: list[socket.socket] = []
    shaking = threading.Thread(target=lambda: theirs.append(serving.wrap_socket(pair[1], server_side=True)))
    shaking.start()
    ours = authority.client().wrap_socket(pair[0], server_hostname="localhost")
    shaking.join()
    with ours, theirs[0]:
        yield ours, theirs[0]


@pytest.mark.parametrize("kind", ["pair", pytest.param("tls_pair", marks=pytest.mark.tool("openssl"))])
def test_a_token_takes_as_much_memory_as_it_has_bytes(kind: str, request: pytest.FixtureRequest) -> None:
    """Room for the largest read that is then cut to a token leaves the heap full of holes (glibc never moves)."""
    ours, theirs = request.getfixturevalue(kind)
    file = StampedFile(ours, ours.makefile("rb", buffering=0), time.perf_counter())
    token = bytearray(100)

    def arrive() -> int:
        theirs.sendall(b"token")
        return file.readinto(token)

    assert arrive() == 5
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        tracemalloc.reset_peak()
        for _ in range(10):
            assert arrive() == 5
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
        file.close()
    assert most - before < READ_SIZE // 4
