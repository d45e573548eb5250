"""A client of HTTP/3 by aioquic: requests as browsers send them, and some that nobody may send.

Input: the port and the authority's certificate, as JSON. Output: a list of what was done, what has
to come of it, and what came of it.
"""

import asyncio
import json
import ssl
import sys

import pylsqpack
from aioquic.asyncio.client import connect
from aioquic.asyncio.protocol import QuicConnectionProtocol
from aioquic.buffer import encode_uint_var
from aioquic.h3.connection import H3_ALPN, H3Connection
from aioquic.h3.events import DataReceived, HeadersReceived
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.events import ConnectionTerminated, StreamReset

DATA, HEADERS, CANCEL_PUSH, SETTINGS, PUSH_PROMISE, GOAWAY, MAX_PUSH_ID = 0, 1, 3, 4, 5, 7, 13
CONTROL, PUSH, ENCODER, DECODER = 0, 1, 2, 3

FRAME_UNEXPECTED = "closed 0x105"
MESSAGE_ERROR = "reset 0x10e"

REQUEST_CANCELLED = 0x10C

PATIENCE = 20


class Client(QuicConnectionProtocol):
    def __init__(self, *arguments, **named):
        super().__init__(*arguments, **named)
        self.http = None
        self.answers = {}
        self.ended = None
        self.changed = asyncio.Event()

    def quic_event_received(self, event):
        if isinstance(event, StreamReset):
            self.answer(event.stream_id)["reset"] = event.error_code
        if isinstance(event, ConnectionTerminated):
            self.ended = event.error_code
        if self.http is not None:
            for part in self.http.handle_event(event):
                answer = self.answer(part.stream_id)
                if isinstance(part, HeadersReceived):
                    answer["sections"].append(dict(part.headers))
                if isinstance(part, DataReceived):
                    answer["body"] += part.data
                answer["ended"] |= part.stream_ended
        self.changed.set()

    def answer(self, stream):
        empty = {"sections": [], "body": b"", "ended": False, "reset": None}
        return self.answers.setdefault(stream, empty)

    def speak_http(self):
        self.http = H3Connection(self._quic)

    def send(self, data, end=True, stream=None):
        """Bytes on a stream of a request, a new one unless it is named."""
        if stream is None:
            stream = self._quic.get_next_available_stream_id()
        self._quic.send_stream_data(stream, data, end)
        self.transmit()
        return stream

    def send_aside(self, data, end=False):
        """Bytes on a new stream in one direction."""
        stream = self._quic.get_next_available_stream_id(is_unidirectional=True)
        self._quic.send_stream_data(stream, data, end)
        self.transmit()
        return stream

    async def until(self, condition):
        while not condition():
            self.changed.clear()
            await asyncio.wait_for(self.changed.wait(), PATIENCE)

    async def outcome(self, stream):
        """`200 hello`, `reset 0x10e` or `closed 0x105`."""
        answer = self.answer(stream)
        await self.until(
            lambda: answer["ended"] or answer["reset"] is not None or self.ended is not None
        )
        if answer["reset"] == REQUEST_CANCELLED:
            # Its connection is closed next.
            return await self.closed()
        if answer["reset"] is not None:
            return f"reset {answer['reset']:#x}"
        if not answer["ended"]:
            return f"closed {self.ended:#x}"
        status = answer["sections"][0][b":status"].decode()
        return f"{status} {answer['body'].decode(errors='replace')}".strip()

    async def closed(self):
        await self.until(lambda: self.ended is not None)
        return f"closed {self.ended:#x}"


def varint(value):
    return encode_uint_var(value)


def frame(kind, payload=b""):
    return varint(kind) + varint(len(payload)) + payload


def section(lines):
    """Without a dynamic table, and with Huffman forms where they are shorter."""
    lines = [(name.encode(), value.encode()) for name, value in lines]
    _, block = pylsqpack.Encoder().encode(0, lines)
    return frame(HEADERS, block)


def lines(method="GET", path="/hello", *further):
    return [
        (":method", method),
        (":scheme", "https"),
        (":authority", "localhost"),
        (":path", path),
        *further,
    ]


def head(method="GET", path="/hello", *further):
    return section(lines(method, path, *further))


def request(data):
    """What comes of these bytes on a stream of a request."""

    async def run(client):
        client.speak_http()
        return await client.outcome(client.send(data))

    return run


def control(*parts):
    """What comes of these frames on a control stream, and of a request beside it."""

    async def run(client):
        client.http = H3Connection.__new__(H3Connection)
        client.http.handle_event = lambda event: []
        client.send_aside(b"".join([varint(CONTROL), *parts]))
        return await client.closed()

    return run


async def fields(client, wanted, data):
    client.speak_http()
    stream = client.send(data)
    await client.outcome(stream)
    return client.answer(stream)["sections"][0].get(wanted, b"").decode()


async def preflight(client):
    asked = (("origin", "https://shop.example"), ("access-control-request-method", "POST"))
    return await fields(
        client, b"access-control-allow-methods", head("OPTIONS", "/echo", *asked)
    )


async def large(client):
    client.speak_http()
    body = bytes(range(256)) * 4096
    stream = client.send(head("POST", "/echo") + frame(DATA, body))
    await client.outcome(stream)
    return "the same" if client.answer(stream)["body"] == body else "another"


async def trailers(client):
    client.speak_http()
    end = section([("x-sum", "42")])
    stream = client.send(head("POST", "/trailers") + frame(DATA, b"abc") + end)
    outcome = await client.outcome(stream)
    return f"{outcome} {client.answer(stream)['sections'][-1].get(b'x-sum', b'').decode()}"


async def many(client):
    client.speak_http()
    streams = [client.send(head()) for _ in range(300)]
    outcomes = {await client.outcome(stream) for stream in streams}
    return ", ".join(sorted(outcomes))


async def another_connection_id(client):
    client.speak_http()
    await client.outcome(client.send(head()))
    client.change_connection_id()
    return await client.outcome(client.send(head()))


async def goes_on(client, stream_data):
    """A request behind bytes that are no error of the connection."""
    client.speak_http()
    first = await client.outcome(client.send(stream_data))
    second = await client.outcome(client.send(head()))
    return f"{first}, then {second}"


def then_hello(data):
    return lambda client: goes_on(client, data)


async def aside_ignored(client):
    client.speak_http()
    client.send_aside(varint(0x21) + b"x" * 100)
    client.send_aside(varint(0x3F) + b"y", end=True)
    client.send_aside(b"", end=True)
    return await client.outcome(client.send(head()))


def aside(data, end=False):
    async def run(client):
        client.speak_http()
        client.send_aside(data, end)
        return await client.closed()

    return run


async def control_ends(client):
    client.http = H3Connection.__new__(H3Connection)
    client.http.handle_event = lambda event: []
    client.send_aside(varint(CONTROL) + frame(SETTINGS), end=True)
    return await client.closed()


async def priorities(client):
    """As browsers send them: a frame for each request, which may be ignored (RFC 9218 7)."""
    client.speak_http()
    for number in range(3000):
        update = frame(0xF0700, varint(4 * number) + b"u=3")
        client._quic.send_stream_data(client.http._local_control_stream_id, update)
    client.transmit()
    return await client.outcome(client.send(head()))


async def resets(client):
    client.speak_http()
    for _ in range(5000):
        # As many at a time as the server allows.
        while (
            client._quic.get_next_available_stream_id() >= 4 * client._quic._remote_max_streams_bidi
            and client.ended is None
        ):
            await asyncio.sleep(0.001)
        if client.ended is not None:
            break
        stream = client.send(head(path="/wait"), end=False)
        client._quic.reset_stream(stream, 0x10C)
        client._quic.stop_stream(stream, 0x10C)
        client.transmit()
    return await client.closed()


async def slow_head(client):
    client.speak_http()
    data = head()
    stream = client.send(data[:1], end=False)
    for at in range(1, len(data)):
        await asyncio.sleep(0)
        client.send(data[at : at + 1], at + 1 == len(data), stream)
    return await client.outcome(stream)


POST = head("POST", "/trailers")
PUSHED = frame(PUSH_PROMISE, varint(0) + b"\x00\x00")

CASES = [
    ("GET", "200 hello", request(head())),
    ("POST of a megabyte", "the same", large),
    (
        "cookies in crumbs",
        '200 ["a=1; b=2; c=3"]',
        request(head("GET", "/cookies", ("cookie", "a=1"), ("cookie", "b=2"), ("cookie", "c=3"))),
    ),
    ("a preflight", "POST", preflight),
    ("trailers", "200 abc 42", trailers),
    ("300 requests, a hundred at a time", "200 hello", many),
    ("another connection id", "200 hello", another_connection_id),
    ("a head byte by byte", "200 hello", slow_head),
    (
        "a body in small frames",
        "200 abc",
        request(head("POST", "/echo") + b"".join(frame(DATA, bytes([byte])) for byte in b"abc")),
    ),
    (
        "frames without content",
        "200 abc",
        request(head("POST", "/echo") + frame(DATA) + frame(DATA, b"abc") + frame(DATA)),
    ),
    ("unknown frames", "200 hello", request(frame(0x21, b"x") + head() + frame(0x40, b"yy"))),
    ("unknown streams", "200 hello", aside_ignored),
    ("3000 priorities", "200 hello", priorities),
    ("two methods", f"{MESSAGE_ERROR}, then 200 hello", then_hello(head("GET", "/hello", (":method", "GET")))),
    ("two paths", MESSAGE_ERROR, request(head("GET", "/hello", (":path", "/other")))),
    ("two authorities", MESSAGE_ERROR, request(head("GET", "/hello", (":authority", "localhost")))),
    ("a status", MESSAGE_ERROR, request(head("GET", "/hello", (":status", "200")))),
    ("a protocol", MESSAGE_ERROR, request(head("CONNECT", "/hello", (":protocol", "websocket")))),
    ("a name that nobody knows", MESSAGE_ERROR, request(head("GET", "/hello", (":other", "1")))),
    (
        "a path behind a field",
        MESSAGE_ERROR,
        request(section([*lines()[:3], ("x-a", "1"), (":path", "/hello")])),
    ),
    ("no method", MESSAGE_ERROR, request(section(lines()[1:]))),
    ("no authority", MESSAGE_ERROR, request(section([*lines()[:2], (":path", "/hello")]))),
    ("capital letters", MESSAGE_ERROR, request(head("GET", "/hello", ("X-A", "1")))),
    ("a line feed", MESSAGE_ERROR, request(head("GET", "/hello", ("x-a", "1\nb: 2")))),
    ("a path in trailers", MESSAGE_ERROR, request(POST + section([(":path", "/")]))),
    (
        "less than its length",
        MESSAGE_ERROR,
        request(head("POST", "/echo", ("content-length", "4")) + frame(DATA, b"abc")),
    ),
    (
        "more than its length",
        MESSAGE_ERROR,
        request(head("POST", "/echo", ("content-length", "2")) + frame(DATA, b"abc")),
    ),
    ("nothing but a length", MESSAGE_ERROR, request(head("GET", "/hello", ("content-length", "3")))),
    ("content first", FRAME_UNEXPECTED, request(frame(DATA, b"abc") + head())),
    ("content behind trailers", FRAME_UNEXPECTED, request(POST + section([("a", "b")]) + frame(DATA, b"c"))),
    ("a push", FRAME_UNEXPECTED, request(PUSHED)),
    ("a push behind a head", FRAME_UNEXPECTED, request(POST + PUSHED)),
    ("settings in a request", FRAME_UNEXPECTED, request(frame(SETTINGS))),
    ("a ping of HTTP/2", FRAME_UNEXPECTED, request(frame(6, b"\0" * 8))),
    ("a head that is cut off", "closed 0x106", request(head()[:-1])),
    ("content that is cut off", "closed 0x106", request(POST + frame(DATA, b"abc")[:-1])),
    ("nothing", "reset 0x10d", request(b"")),
    ("a dynamic table", "closed 0x200", request(frame(HEADERS, b"\x02\x00\x80"))),
    ("bytes that are no section", "closed 0x200", request(frame(HEADERS, b"\xff" * 20))),
    ("a large head", "431", request(head("GET", "/hello", *[("x-a", "a" * 30_000)] * 3))),
    (
        "a large head of small fields",
        "431, then 200 hello",
        then_hello(head("GET", "/hello", *[("x-a", "1")] * 2000)),
    ),
    ("without end, of no meaning", "reset 0x107", request(frame(0x21, b"x" * 100_000))),
    ("settings twice", FRAME_UNEXPECTED, control(frame(SETTINGS), frame(SETTINGS))),
    ("a flood of settings", FRAME_UNEXPECTED, control(frame(SETTINGS) * 5000)),
    ("a setting of HTTP/2", "closed 0x109", control(frame(SETTINGS, varint(4) + varint(1)))),
    ("no settings", "closed 0x10a", control(frame(MAX_PUSH_ID, varint(1)))),
    ("content beside settings", FRAME_UNEXPECTED, control(frame(SETTINGS), frame(DATA, b"a"))),
    ("a head beside settings", FRAME_UNEXPECTED, control(frame(SETTINGS), head())),
    ("the end of control", "closed 0x104", control_ends),
    ("a second control stream", "closed 0x103", aside(varint(CONTROL) + frame(SETTINGS))),
    ("a second encoder stream", "closed 0x103", aside(varint(ENCODER))),
    ("a stream of pushes", "closed 0x103", aside(varint(PUSH) + varint(0))),
    ("requests given up again and again", "closed 0x107", resets),
]


async def at_once(port, configuration, tickets):
    """Early data is taken for what is safe."""
    async with connect(
        "127.0.0.1",
        port,
        configuration=configuration(tickets[-1]),
        create_protocol=Client,
        wait_connected=False,
    ) as client:
        client.speak_http()
        outcome = await client.outcome(client.send(head()))
        return f"{outcome}, early: {client._quic.tls.early_data_accepted}"


async def main():
    given = json.load(sys.stdin)

    def configuration(ticket=None):
        made = QuicConfiguration(is_client=True, alpn_protocols=H3_ALPN, server_name="localhost")
        made.verify_mode = ssl.CERT_REQUIRED
        made.load_verify_locations(cafile=given["authority"])
        made.session_ticket = ticket
        return made

    tickets = []

    async def one(name, want, run):
        try:
            async with connect(
                "127.0.0.1",
                given["port"],
                configuration=configuration(),
                create_protocol=Client,
                session_ticket_handler=tickets.append,
            ) as client:
                got = await run(client)
        except Exception as error:
            got = f"{type(error).__name__}: {error}"
        return [name, want, got]

    results = await asyncio.gather(*(one(*case) for case in CASES))
    early = await at_once(given["port"], configuration, tickets)
    results.append(["a request at once", "200 hello, early: True", early])
    json.dump(results, sys.stdout)


asyncio.run(main())
