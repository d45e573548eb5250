// tough-cookie as the browser of a server: `tough.mjs ADDRESS ORIGIN`, otherwise as cookiejar.py.
import { readFileSync } from "node:fs";
import { request as open } from "node:http";
import { Cookie, CookieJar } from "tough-cookie";

const [address, origin] = process.argv.slice(-2);
const jar = new CookieJar(undefined, { prefixSecurity: "strict" });

async function send(method, path, headers = {}) {
  const url = origin + path;
  const cookie = await jar.getCookieString(url);
  const fields = { Host: origin.split("://")[1], Origin: origin, ...headers };
  if (cookie) fields.Cookie = cookie;
  const response = await new Promise((resolve, reject) => {
    const [host, port] = address.split(":");
    open({ host, port, method, path, headers: fields }, resolve).on("error", reject).end();
  });
  let body = "";
  for await (const chunk of response) body += chunk;
  for (const line of response.headers["set-cookie"] ?? []) await jar.setCookie(line, url);
  return { status: response.statusCode, body };
}

async function cookies() {
  // What has expired is dropped when the jar is asked the next time.
  const isAlive = (cookie) => Cookie.fromJSON(cookie).expiryTime() > Date.now();
  const all = (await jar.serialize()).cookies.filter(isAlive);
  return Object.fromEntries(
    all.map((cookie) => [
      cookie.key,
      {
        value: cookie.value,
        path: cookie.path,
        hostOnly: cookie.hostOnly,
        secure: cookie.secure ?? false,
        httpOnly: cookie.httpOnly ?? false,
        sameSite: cookie.sameSite,
        session: cookie.maxAge === undefined && cookie.expires === undefined,
      },
    ]),
  );
}

async function sentTo(url) {
  return (await jar.getCookies(url)).map((cookie) => cookie.key).sort();
}

const steps = [];
for (const step of JSON.parse(readFileSync(0, "utf8"))) {
  if (step.sentTo) {
    const seen = {};
    for (const url of step.sentTo) seen[url] = await sentTo(url);
    steps.push(seen);
    continue;
  }
  const headers = {};
  if (step.csrf) headers["X-CSRF-Token"] = JSON.parse((await send("GET", "/csrf")).body).token;
  const answer = await send(...step.send.split(" "), headers);
  steps.push({ ...answer, cookies: await cookies() });
}
process.stdout.write(JSON.stringify(steps));
