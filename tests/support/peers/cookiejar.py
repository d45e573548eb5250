"""python's http.cookiejar as the browser of a server: `cookiejar.py ADDRESS ORIGIN`.

The requests go to ADDRESS in plain text, as they leave a proxy that ends TLS; the jar is told that
they go to ORIGIN. What is seen after each step is written as JSON.
"""

import http.client
import http.cookiejar
import json
import sys
import urllib.request

ADDRESS, ORIGIN = sys.argv[1:]
# By default it sends what a host keeps for itself to the hosts below it too.
Policy = http.cookiejar.DefaultCookiePolicy
jar = http.cookiejar.CookieJar(Policy(strict_ns_domain=Policy.DomainStrictNonDomain))


def send(method, path, headers=()):
    request = urllib.request.Request(ORIGIN + path, method=method)
    jar.add_cookie_header(request)
    connection = http.client.HTTPConnection(ADDRESS)
    fields = {"Host": ORIGIN.split("://")[1], "Origin": ORIGIN, **dict(headers)}
    sent = request.get_header("Cookie")
    if sent:
        fields["Cookie"] = sent
    connection.request(method, path, headers=fields)
    response = connection.getresponse()
    body = response.read().decode()
    jar.extract_cookies(response, request)
    return response.status, body


def cookies():
    return {
        cookie.name: {
            "value": cookie.value,
            "path": cookie.path,
            "hostOnly": not cookie.domain_specified,
            "secure": cookie.secure,
            "httpOnly": cookie.has_nonstandard_attr("HttpOnly"),
            "sameSite": (cookie.get_nonstandard_attr("SameSite") or "").lower(),
            "session": cookie.expires is None,
        }
        for cookie in jar
    }


def sent_to(url):
    request = urllib.request.Request(url)
    jar.add_cookie_header(request)
    pairs = (request.get_header("Cookie") or "").split("; ")
    return sorted(pair.split("=")[0] for pair in pairs if pair)


steps = []
for step in json.load(sys.stdin):
    if "sentTo" in step:
        steps.append({url: sent_to(url) for url in step["sentTo"]})
        continue
    headers = {}
    if step.get("csrf"):
        headers["X-CSRF-Token"] = json.loads(send("GET", "/csrf")[1])["token"]
    status, body = send(*step["send"].split(" "), headers.items())
    steps.append({"status": status, "body": body, "cookies": cookies()})
json.dump(steps, sys.stdout)
