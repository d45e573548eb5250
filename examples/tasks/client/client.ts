// Calls the running service by types that are made from its document, and meets refusals that the
// document lists: `npm ci && npm run build && npm start SERVICE PAGE`, with the addresses that
// `cargo run -p tasks` prints.

import assert from "node:assert/strict";
import createClient, { type Client } from "openapi-fetch";
import type { paths } from "./tasks.js";

const [service, page] = process.argv.slice(2);
assert(service && page, "name the origins of the service and of the page");

/** The codes that the document has for a status of an operation: any, if the handler does not list its problems. */
type Code<
  P extends keyof paths,
  M extends keyof paths[P],
  S extends number,
> = paths[P][M] extends {
  responses: Record<S, { content: { "application/problem+json": { code?: infer C } } }>;
}
  ? C
  : never;

/** The result has this status, and a code that the document lists for it. */
function refused<P extends keyof paths, M extends keyof paths[P], S extends number>(
  path: P,
  method: M,
  status: S,
  code: Code<P, M, S>,
  result: { response: Response; error?: unknown },
) {
  const problem = result.error as { code?: string } | undefined;
  assert.deepEqual([result.response.status, problem?.code], [status, code], `${String(method)} ${path}`);
}

/** A browser in as far as the service needs one. */
class Browser {
  /** The origin of the page that it shows. */
  origin: string | null = page ?? null;
  /** What it sends in `X-CSRF-Token`. */
  csrf: string | null = null;
  readonly client: Client<paths> = createClient<paths>({ baseUrl: service });
  private readonly cookies = new Map<string, string>();

  constructor() {
    this.client.use({
      onRequest: ({ request }) => {
        if (this.origin) request.headers.set("origin", this.origin);
        if (this.csrf) request.headers.set("x-csrf-token", this.csrf);
        const pairs = [...this.cookies].map(([name, value]) => `${name}=${value}`);
        if (pairs.length > 0) request.headers.set("cookie", pairs.join("; "));
        return request;
      },
      onResponse: ({ response }) => {
        for (const line of response.headers.getSetCookie()) {
          const [pair = ""] = line.split(";");
          const [name = "", ...value] = pair.split("=");
          this.cookies.set(name, value.join("="));
        }
      },
    });
  }

  /** Signs up with a team or an invitation. */
  async signUp(place: { team: string } | { invitation: string }) {
    const login = `u${process.pid}x${(people += 1)}`;
    const body = { login, password: "correct horse", ...place };
    const result = await this.client.POST("/signup", { body });
    const token = await this.client.GET("/csrf");
    this.csrf = token.data?.token ?? null;
    return { body, ...result };
  }
}

let people = 0;

/** Calls that succeed. */
async function calls(lead: Browser) {
  const { client } = lead;
  const signedUp = await lead.signUp({ team: "Compilers" });
  assert.equal(signedUp.response.status, 201);
  assert.equal(signedUp.data?.role, "lead");

  const added = await client.POST("/tasks", { body: { title: "Write a compiler" } });
  assert.equal(added.response.status, 201);
  assert(added.data);
  const { id, version } = added.data;
  assert.equal(added.response.headers.get("location"), `/tasks/${id}`);
  assert.equal(version, 1);

  const list = await client.GET("/tasks", { params: { query: { limit: 1, done: false } } });
  assert.equal(list.data?.tasks[0]?.title, "Write a compiler");

  const params = { path: { id }, header: { "If-Match": '"1"' } };
  const changed = await client.PUT("/tasks/{id}", { params, body: { title: "Write it", done: true } });
  assert.equal(changed.data?.version, 2);
  const removed = await client.DELETE("/tasks/{id}", {
    params: { path: { id }, header: { "If-Match": '"2"' } },
  });
  assert.equal(removed.response.status, 204);
  return signedUp.body;
}

/** Who calls, and from where. */
async function callers(lead: Browser) {
  const nobody = new Browser();
  const { GET, POST } = nobody.client;
  refused("/tasks", "get", 401, "auth.credentials-missing", await GET("/tasks"));
  const headers = { authorization: "Bearer x" };
  refused("/tasks", "get", 401, "auth.token-invalid", await GET("/tasks", { headers }));
  // Where a handler lists its problems, the type has the codes: another one does not compile.
  const logout = await POST("/logout");
  refused("/logout", "post", 401, "auth.credentials-missing", logout);
  // @ts-expect-error: this route needs no recent login.
  assert.throws(() => refused("/logout", "post", 401, "auth.login-too-old", logout));

  const add = () => lead.client.POST("/tasks", { body: { title: "forged" } });
  const { csrf, origin } = lead;
  lead.csrf = null;
  refused("/tasks", "post", 403, "csrf.token", await add());
  refused("/logout", "post", 403, "csrf.token", await lead.client.POST("/logout"));
  lead.csrf = csrf;
  lead.origin = "http://evil.example";
  refused("/tasks", "post", 403, "isolation.cross-site", await add());
  lead.origin = origin;
  assert.equal((await add()).response.status, 201);

  const invited = await lead.client.POST("/invitations", { body: { role: "member" } });
  assert(invited.data);
  const member = new Browser();
  const joined = await member.signUp({ invitation: invited.data.code });
  assert.equal(joined.data?.role, "member");
  const machines = await member.client.GET("/machines");
  refused("/machines", "get", 403, "auth.rights-missing", machines);
  assert.equal((await POST("/login", { body: { login: "nobody", password: "x" } })).response.status, 403);
}

/** What a call says. */
async function contents(lead: Browser, known: { login: string; password: string; team?: string }) {
  const { DELETE, GET, POST, PUT } = lead.client;
  const short = await POST("/tasks", { body: { title: "" } });
  refused("/tasks", "post", 422, "request.invalid", short);
  assert.equal(short.error?.errors?.[0]?.pointer, "/title");
  // @ts-expect-error: a task has a title.
  const mismatch = await POST("/tasks", { body: { note: "" } });
  refused("/tasks", "post", 422, "request.json-mismatch", mismatch);
  const headers = { "content-type": "text/plain" };
  const text = await POST("/tasks", { body: { title: "x" }, headers });
  refused("/tasks", "post", 415, "request.media-type", text);
  // @ts-expect-error: the query has a number.
  const query = await GET("/tasks", { params: { query: { limit: "many" } } });
  refused("/tasks", "get", 400, "request.query-invalid", query);

  const none = await GET("/tasks/{id}", { params: { path: { id: "none" } } });
  refused("/tasks/{id}", "get", 404, "object.not-found", none);
  // What only a handler knows: the document has any problem for it, with a code of any text.
  const taken = await new Browser().client.POST("/signup", { body: { ...known, team: "x" } });
  assert.deepEqual([taken.response.status, taken.error?.code], [409, "users.login-taken"]);

  const added = await POST("/tasks", { body: { title: "x" } });
  assert(added.data);
  const path = { id: added.data.id };
  const stale = { path, header: { "If-Match": '"7"' } };
  const body = { title: "y" };
  const changed = await PUT("/tasks/{id}", { params: stale, body });
  refused("/tasks/{id}", "put", 412, "request.precondition-failed", changed);
  const blind = await DELETE("/tasks/{id}", { params: { path } });
  refused("/tasks/{id}", "delete", 428, "request.precondition-required", blind);
}

/** How often. */
async function rates() {
  const { POST } = new Browser().client;
  const body = { refresh_token: "x" };
  for (let left = 100; left > 0; left -= 1) {
    const result = await POST("/machines/token", { body });
    if (result.response.status === 429) {
      refused("/machines/token", "post", 429, "limit.rate", result);
      assert(Number(result.response.headers.get("retry-after")) > 0);
      return;
    }
  }
  assert.fail("the rate of /machines/token is not limited");
}

const lead = new Browser();
const known = await calls(lead);
await callers(lead);
await contents(lead, known);
await rates();
