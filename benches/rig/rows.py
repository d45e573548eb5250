"""The requests to every server: a row of the tables is one request."""

import base64, hashlib, hmac, json, time

ORIGIN = "https://app.example.com"
USER = 4242
SUBJECT = "user-0000000042"
# Constants of `benches/peers/contract` and `benches/peer.rs`.
SECRET = b"an-hs256-secret-of-exactly-32-by"

# Name: method and path.
ROWS = {
    "plain": ("GET", "/plain"),
    "cors": ("GET", "/cors"),
    "preflight": ("OPTIONS", "/cors"),
    "parameters": ("GET", "/users/42/posts/1001"),
    "token": ("GET", "/token"),
    "session": ("GET", "/session"),
    "json": ("GET", "/order"),
    "validation": ("POST", "/order"),
    "policies": ("GET", "/policies"),
}

# An order of about 1 KiB, which the servers return and read. They validate it and return its total.
ORDER = {
    "id": 1001,
    "customer": {"name": "Ada Lovelace", "email": "ada@example.com", "city": "London"},
    "lines": [
        {"sku": f"SKU-{number:05}", "name": f"A useful thing, model {number:02}", "quantity": number, "price": 1999}
        for number in range(1, 12)
    ],
}
TOTAL = sum(line["quantity"] * line["price"] for line in ORDER["lines"])


def packed(value):
    return json.dumps(value, separators=(",", ":"))


BODIES = {"validation": packed(ORDER)}

# The headers that Chromium 140 adds to an HTTP/1.1 request, with the `Accept` of a navigation.
BROWSER = {
    "connection": "keep-alive",
    "sec-ch-ua": '"Chromium";v="140", "Not=A?Brand";v="24", "Google Chrome";v="140"',
    "sec-ch-ua-mobile": "?0",
    "sec-ch-ua-platform": '"Linux"',
    "user-agent": "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36",
    "accept": "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,image/apng,*/*;q=0.8",
    "sec-fetch-site": "cross-site",
    "sec-fetch-mode": "cors",
    "sec-fetch-dest": "empty",
    "accept-encoding": "gzip, deflate, br, zstd",
    "accept-language": "en-GB,en;q=0.9",
}

# A trace context with the member of one vendor.
TRACE = {
    "traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
    "tracestate": "congo=t61rcWkgMzE",
}


def fields(row, server, is_browser=False):
    """The headers of a row's request except Host, for a server that the client has logged in to."""
    own = {} if row in ("plain", "parameters", "json", "validation") else {"origin": ORIGIN}
    if row == "preflight":
        own |= {"access-control-request-method": "PUT", "access-control-request-headers": "content-type,x-request-id"}
    elif row == "validation":
        own["content-type"] = "application/json"
    elif row == "token":
        own["authorization"] = "Bearer " + token(server)
    elif row == "session":
        own["cookie"] = server.cookie
    return (BROWSER if is_browser else {}) | own


def token(server, secret=SECRET, **changes):
    """An access token as the server wants it, with other values where they are given. Policy gets one that
    keeps all its rules (issuer, audience, id, a short life); both kinds take four blocks of SHA-256."""
    now = int(time.time())
    if server.program == "policy":
        head = {"alg": "HS256", "typ": "at+jwt", "kid": "k"}
        claims = {"iss": "i", "aud": "a", "sub": SUBJECT, "iat": now, "exp": now + 3600, "jti": "a"}
    else:
        head = {"alg": "HS256", "typ": "JWT"}
        claims = {"sub": SUBJECT, "exp": now + 3600, "iat": now, "jti": "7f3c9a51e0b24d86"}
    changed = lambda part: part | {name: value for name, value in changes.items() if name in part}
    encoded = lambda part: text(packed(changed(part)).encode())
    signed = encoded(head) + "." + encoded(claims)
    return signed + "." + text(hmac.new(secret, signed.encode(), hashlib.sha256).digest())


def text(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
