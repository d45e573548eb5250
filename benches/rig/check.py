"""Checks that all servers give equal responses: one that does not is not measured."""

from rig.client import Client, request
from rig.rows import BODIES, ORDER, ORIGIN, ROWS, SECRET, SUBJECT, TOTAL, USER, fields, packed, token

OTHER = "https://evil.example.com"
ALLOWED = {"access-control-allow-origin": ORIGIN, "access-control-allow-credentials": "true"}
SHARED = ALLOWED | {"access-control-expose-headers": "x-request-id"}
NOT_SHARED = {"access-control-allow-origin": None}
PREFLIGHT = ALLOWED | {
    "access-control-allow-methods": "PUT", "access-control-allow-headers": "content-type,x-request-id",
    "access-control-max-age": "600",
}
# Further headers of the route with every policy on; the remaining quota changes.
POLICIES = {
    "cache-control": "public,max-age=60", "x-content-type-options": "nosniff", "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "content-security-policy": "default-src 'none'; base-uri 'none'; frame-ancestors 'none'", "ratelimit-policy": '"default";q=4000000000;w=1',
}
# Row: statuses, body, headers with their required text, or None if they must be absent.
EXPECTED = {
    "plain": ((200,), "Hello, World!", NOT_SHARED | {"content-type": "text/plain; charset=utf-8"}),
    "cors": ((200,), "Hello, World!", SHARED),
    "preflight": ((200, 204), "", PREFLIGHT),
    "parameters": ((200,), "42:1001", {}),
    "token": ((200,), SUBJECT, SHARED),
    "session": ((200,), str(USER), SHARED),
    "json": ((200,), packed(ORDER), NOT_SHARED),
    "validation": ((200,), str(TOTAL), NOT_SHARED),
    "policies": ((200,), "Hello, World!", SHARED | POLICIES),
}


def check(server):
    """The errors in the responses of a server, and its differences from most others."""
    wrong, notes = [], []

    def case(title, method, path, sent, statuses, body=None, expected={}, into=wrong, content=""):
        status, received, text = Client(server.port).ask(request(method, path, sent, content))
        faults = [f"status {status}"] * (status not in statuses) + [f"body {text!r}"] * (body not in (None, text))
        for name, words in expected.items():
            if words is None and name in received or words and not split(words) <= split(received.get(name, "")):
                faults.append(f"{name}: {received.get(name)}")
        if faults:
            into.append(f"{title}: " + "; ".join(faults))

    for row, (method, path) in ROWS.items():
        for is_browser in (False, True) if server.has(row) else ():
            sent = fields(row, server, is_browser)
            case(row + ", browser" * is_browser, method, path, sent, *EXPECTED[row], content=BODIES.get(row, ""))
    own, other = {"origin": ORIGIN}, {"origin": OTHER}
    case("another origin", "GET", "/cors", other, (200, 400, 403), None, NOT_SHARED)
    asked = other | {"access-control-request-method": "PUT"}
    case("another origin's preflight", "OPTIONS", "/cors", asked, (200, 204, 400, 403), None, NOT_SHARED)
    for title, bad in {
        "expired": token(server, exp=1_700_000_001),
        "of another key": token(server, secret=b"x" * 32),
        "with `none`": token(server, alg="none"),
        "with HS384": token(server, alg="HS384"),
    }.items():
        case("token " + title, "GET", "/token", own | {"authorization": "Bearer " + bad}, (401, 403))
    for title, bad in {
        "without an `@`": ORDER | {"customer": ORDER["customer"] | {"email": "ada"}},
        "without lines": ORDER | {"lines": []},
        "of a line of nothing": ORDER | {"lines": [ORDER["lines"][0] | {"quantity": 0}]},
        "of another form": {"id": 1},
    }.items():
        sent = fields("validation", server)
        case("an order " + title, "POST", "/order", sent, (400, 422), content=packed(bad))
    case("no token", "GET", "/token", own, (401,))
    case("no cookie", "GET", "/session", own, (401,))
    case("unknown cookie", "GET", "/session", own | {"cookie": "sid=" + "A" * 43}, (401,))
    case("a 401 can be read by the page", "GET", "/token", own, (401,), None, ALLOWED, notes)
    case("`Vary`", "GET", "/cors", own, (200,), None, {"vary": "origin"}, notes)
    case("`Vary` without an origin", "GET", "/cors", {}, (200,), None, {"vary": "origin"}, notes)
    case("another origin is served", "GET", "/cors", other, (200,), None, {}, notes)
    return wrong, notes


def split(value):
    return {word.strip().lower() for word in value.split(",")}


def checked(servers):
    """Whether all responses are right; prints the errors."""
    failures = 0
    for server in servers:
        with server:
            server.start()
            server.login()
            wrong, notes = check(server)
        failures += len(wrong)
        print(f"{server.name}: " + ("equal answers" if not wrong else "other answers"))
        for line in wrong:
            print("    wrong:", line)
        for line in notes:
            print("    differs:", line)
    return failures == 0
