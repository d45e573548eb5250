"""One keep-alive HTTP/1.1 connection, and the bytes of a request."""

import socket


def request(method, path, fields, body=""):
    lines = [f"{method} {path} HTTP/1.1", "host: 127.0.0.1", *(f"{name}: {value}" for name, value in fields.items())]
    if method == "POST":
        lines.append(f"content-length: {len(body)}")
    return ("\r\n".join(lines) + "\r\n\r\n" + body).encode()


class Client:
    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=60)
        self.unread = b""

    def ask(self, request):
        """The status, the headers by lower-case name, and the body."""
        self.socket.sendall(request)
        while b"\r\n\r\n" not in self.unread:
            self.read()
        head, self.unread = self.unread.split(b"\r\n\r\n", 1)
        status, *lines = head.decode("latin1").split("\r\n")
        fields = {}
        for line in lines:
            name, value = line.split(":", 1)
            fields.setdefault(name.lower(), []).append(value.strip())
        fields = {name: ", ".join(values) for name, values in fields.items()}
        length = int(fields.get("content-length", 0))
        while len(self.unread) < length:
            self.read()
        body, self.unread = self.unread[:length], self.unread[length:]
        return int(status.split()[1]), fields, body.decode()

    def read(self):
        received = self.socket.recv(65536)
        if not received:
            raise ConnectionError("the server closed the connection")
        self.unread += received
