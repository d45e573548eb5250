"""Memory of what a server holds for its clients while nothing happens."""

import os, resource, socket, ssl, subprocess, tempfile, time

from rig.client import Client, request
from rig.rows import ROWS
from rig.tables import number, table

# Connections of each kind, and the descriptors that a process needs besides.
COUNT, OTHERS = 10_000, 100
# Seconds after which an idle connection of Policy has given its buffers back: half of its default time-out.
QUIET = 40
HELLO = "Hello, World!"


class KeepAlive(Client):
    """Idle after one request."""

    def __init__(self, port):
        super().__init__(port)
        self.begin()

    def begin(self):
        status, _, body = self.ask(request(*ROWS["plain"], {}))
        expect(status == 200 and body == HELLO, body)

    def is_open(self):
        self.socket.setblocking(False)
        try:
            while self.socket.recv(65536):
                pass
        except (BlockingIOError, ssl.SSLWantReadError):
            return True
        except OSError:
            pass
        return False

    def read_to(self, end):
        while end not in self.unread:
            self.read()
        found, self.unread = self.unread.split(end, 1)
        return found


class Http2(KeepAlive):
    """The same over HTTP/2 with prior knowledge."""

    def begin(self):
        # Otherwise a server with Nagle's algorithm waits 40 ms for the acknowledgement of its settings.
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 1)
        # GET and http of the static table; path and authority are new in the dynamic one (RFC 7541 6.2.1).
        head = b"\x82\x86\x44\x06/plain\x41\x09127.0.0.1"
        self.socket.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(SETTINGS) + frame(HEADERS, 0x5, 1, head))
        kind = None
        while kind != DATA:
            kind, flags, content = self.read_frame()
            expect(kind not in (RST_STREAM, GOAWAY), content)
            if kind == SETTINGS and not flags:
                self.socket.sendall(frame(SETTINGS, flags=0x1))
        expect(content == HELLO.encode(), content)

    def read_frame(self):
        head = self.take(9)
        return head[3], head[4], self.take(int.from_bytes(head[:3], "big"))

    def take(self, length):
        while len(self.unread) < length:
            self.read()
        taken, self.unread = self.unread[:length], self.unread[length:]
        return taken


# Frames of HTTP/2 (RFC 9113 6).
DATA, HEADERS, RST_STREAM, SETTINGS, GOAWAY = 0, 1, 3, 4, 7


def frame(kind, flags=0, stream=0, content=b""):
    return len(content).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + content


class Tls(KeepAlive):
    """Idle after one request over TLS 1.3."""

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE

    def begin(self):
        self.socket = self.context.wrap_socket(self.socket)
        super().begin()


class Events(KeepAlive):
    """A stream of events, after the first."""

    def begin(self):
        self.socket.sendall(request("GET", "/events", {"accept": "text/event-stream"}))
        head = self.read_to(b"\r\n\r\n").lower()
        expect(b" 200 " in head and b"text/event-stream" in head, head)
        self.read_to(b"data: hello\n\n")


class WebSocket(KeepAlive):
    """Open, before the first message."""

    path = "/socket"
    # Of RFC 6455 1.3, with what a server has to make of it.
    key, accept = "dGhlIHNhbXBsZSBub25jZQ==", b"s3pPLMBiTxaQ9kYGzzhZRbK+xOo="

    def begin(self):
        sent = {"connection": "Upgrade", "upgrade": "websocket", "sec-websocket-version": "13", "sec-websocket-key": self.key}
        self.socket.sendall(request("GET", self.path, sent))
        head = self.read_to(b"\r\n\r\n")
        expect(b" 101 " in head and self.accept in head, head)


class SmallWebSocket(WebSocket):
    """The same with a read buffer of 4 KiB, in place of tungstenite's 128."""

    path = "/small-socket"


def expect(is_right, received):
    if not is_right:
        raise SystemExit(f"another response than expected: {received}")


# Kind: how it is opened, and which flags its server gets.
KINDS = {"keep-alive": (KeepAlive, []), "http2": (Http2, ["--http2"])}
# The same of `held` programs, in place of the flags whether their server has a certificate.
HELD = {"tls": (Tls, True), "events": (Events, False), "websocket": (WebSocket, False), "small-websocket": (SmallWebSocket, False)}


def idle(timed, held):
    """KiB of each connection: at once, later, and of a further one then. `held` are the servers of the kinds in HELD."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    count = COUNT if most == resource.RLIM_INFINITY else min(COUNT, (most - OTHERS) * 2 // 3)
    if count < 1000:
        raise SystemExit(f"a process may open {most} files only; `ulimit -Hn` has to be {1500 + OTHERS} at least")
    found = []
    with tempfile.TemporaryDirectory() as folder:
        pair = certificate(folder)
        runs = [(kind, opened, server, flags) for kind, (opened, flags) in KINDS.items() for server in timed]
        runs += [(kind, opened, server, pair * has_pair) for kind, (opened, has_pair) in HELD.items() for server in held]
        for kind, opened, server, flags in runs:
            with server:
                server.start(flags=flags)
                found.append({"kind": kind, "server": server.name, "count": count} | of_connections(server, opened, count))
                print(f"{kind}, {server.name}: {found[-1]['each']:.2f} KiB, {found[-1]['quiet']:.2f} KiB later", flush=True)
    head = ["kind", "server", "MiB at start", f"MiB with {count:,}", "KiB each", f"{QUIET} s later", "KiB of each further one", "open"]
    in_mib = lambda kib: number(kib / 1024, 1)
    print("\n" + table(head, [[
        r["kind"], r["server"], in_mib(r["before"]), in_mib(r["after"]),
        number(r["each"], 2), number(r["quiet"], 2), number(r["further"], 2), number(r["open"], 0)] for r in found]))
    return found


def of_connections(server, opened, count):
    # Initialises what all share.
    opened(server.port).socket.close()
    before = server.memory()
    clients = [opened(server.port) for _ in range(count)]
    time.sleep(1)
    after = server.memory()
    time.sleep(QUIET)
    quiet = server.memory()
    # What was freed but not given back to the kernel serves further ones.
    later = [opened(server.port) for _ in range(count // 2)]
    time.sleep(1)
    further = server.memory()
    still = sum(client.is_open() for client in clients)
    for client in clients + later:
        client.socket.close()
    return {
        "before": before, "after": after, "each": (after - before) / count,
        "quiet": (quiet - before) / count, "further": (further - quiet) / len(later), "open": still,
    }


def certificate(folder):
    """The files of a certificate for a day and of its key."""
    paths = [os.path.join(folder, name) for name in ("certificate.pem", "key.pem")]
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "1",
         "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-addext", "extendedKeyUsage=serverAuth",
         "-addext", "basicConstraints=critical,CA:FALSE", "-out", paths[0], "-keyout", paths[1]],
        stderr=subprocess.DEVNULL, check=True)
    return paths
