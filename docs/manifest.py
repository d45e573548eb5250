"""Writes the manifest of a service from the table of its routes.

A real service asks its router for the table: `app.url_map` of Flask, `app.routes` of FastAPI. The
rules of each route are what its middleware enforces, so read them from the same place.
"""

import json

OWN = "https://api.shop.example"
PAGES = {"origins": ["https://app.shop.example"], "credentials": True, "max_age": 600}

# Method, path, and who may call: nobody in particular, a session, or a session with a role.
ROUTES = [
    ("GET", "/products/<id>", None),
    ("POST", "/login", None),
    ("GET", "/orders/<id>", "session"),
    ("POST", "/orders", "session"),
    ("DELETE", "/admin/users/<id>", "admin"),
]


def path(template):
    """`<id>` of the router is `{id}`."""
    return template.replace("<", "{").replace(">", "}")


def auth(who):
    if who is None:
        return "public"
    requirement = {"session": True}
    if who != "session":
        requirement["roles"] = [who]
    return {"required": requirement}


def route(method, template, who):
    entry = {
        "path": path(template),
        "methods": [method],
        "auth": auth(who),
        "limits": {"body": 1 << 20, "timeout_ms": 30_000},
    }
    if who == "session":
        entry["cors"] = PAGES
    if template == "/login":
        entry["takes_session"] = True
        entry["limits"]["rate"] = {"count": 5, "per_ms": 60_000, "by": "address"}
    return entry


manifest = {
    "format": 1,
    "app": {
        "public_origin": OWN,
        "sessions": {
            "store": "redis",
            "cookie": "__Host-sid",
            "same_site": "lax",
            "idle_s": 900,
            "absolute_s": 28_800,
        },
    },
    "routes": [route(*row) for row in ROUTES] + [{"path": "*", "kind": "not_found", "auth": "public"}],
}
print(json.dumps(manifest, indent=2))
