// What others do: changes by server-sent events, and who is here over a WebSocket.

import { service } from "/service.js";

let events = null;
let socket = null;
let shown = "";

/** Listens, until `stop`. Each of `told` is called with what was heard. */
export function start(told) {
  stop();
  events = new EventSource(`${service}/events`, { withCredentials: true });
  // Also after a gap, in which something may have happened.
  events.onopen = () => {
    told.connected(true);
    told.change("missed");
  };
  events.onmessage = ({ data }) => told.change(JSON.parse(data));
  // The browser tries again automatically, unless the service refuses: perhaps the session has ended.
  events.onerror = () => {
    told.connected(false);
    if (events?.readyState === EventSource.CLOSED) told.end();
  };
  attend(told);
}

function attend(told) {
  const mine = socket = new WebSocket(`${service.replace(/^http/, "ws")}/presence`);
  mine.onopen = () => mine.send(shown);
  mine.onmessage = ({ data }) => told.here(JSON.parse(data));
  mine.onclose = () => setTimeout(() => { if (socket === mine) attend(told); }, 2000);
}

export function stop() {
  events?.close();
  const before = socket;
  events = socket = null;
  before?.close();
}

/** Tells the others which task this page shows; "" is none. */
export function show(task) {
  shown = task;
  if (socket?.readyState === WebSocket.OPEN) socket.send(task);
}
