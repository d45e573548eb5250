// Adds a task as grace, by types that are made from the document of the service.

import createClient from "openapi-fetch";
import type { paths } from "./tasks.js";

const service = "http://127.0.0.1:8080";
const api = createClient<paths>({ baseUrl: service, headers: { origin: service } });

const login = await api.POST("/login", { body: { name: "grace", password: "hopper" } });
if (login.error?.code === "login.wrong") throw new Error("grace has another password now");
if (login.error) throw new Error(login.error.title);

const [cookie = ""] = login.response.headers.getSetCookie();
api.use({ onRequest: ({ request }) => request.headers.set("cookie", cookie.split(";")[0] ?? "") });

const csrf = await api.GET("/csrf");
const headers = { "x-csrf-token": csrf.data?.token ?? "" };
const added = await api.POST("/tasks", { headers, body: { title: "write a client" } });
if (added.error) throw new Error(added.error.title);
console.log(`${added.data.title} (${added.data.by})`);
