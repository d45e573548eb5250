// Calls the service, which is another origin: with the cookie of its user, and with the CSRF token of the
// session where something changes.

export const service = document.querySelector("meta[name=service]").content;

let csrf = null;

/** Status and body of a response, whatever they are. */
export async function call(method, path, { json, file, match } = {}) {
  const headers = {};
  if (json) headers["content-type"] = "application/json";
  if (file) headers["content-type"] = "application/octet-stream";
  if (match) headers["if-match"] = match;
  if (method !== "GET" && csrf) headers["x-csrf-token"] = csrf;
  const body = file ?? (json && JSON.stringify(json));
  const response = await fetch(service + path, { method, headers, body, credentials: "include" });
  const text = await response.text();
  const answer = { ok: response.ok, status: response.status, body: text ? JSON.parse(text) : null };
  // The token changes with the session: at a login, also in another tab.
  if (answer.body?.code === "csrf.token" && (await renew(csrf))) return call(method, path, { json, file, match });
  return answer;
}

/** Fetches the CSRF token, and returns whether it is another one. A failure says nothing about the session. */
export async function renew(before = null) {
  const found = await call("GET", "/csrf");
  if (!found.ok) throw new Error(words(found));
  csrf = found.body.token;
  return csrf !== null && csrf !== before;
}

/** What a problem says to people. */
export function words({ body, status }) {
  const errors = body?.errors?.map((error) => error.detail).join("; ");
  if (body?.code === "auth.login-too-old") return "Your login is too old for this: log out and in again.";
  return errors || body?.detail || body?.title || `The service responded ${status}.`;
}
