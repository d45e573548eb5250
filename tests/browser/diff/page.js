// What a page of the tests does: it runs cases, and says what it could see.
'use strict';

const runs = {};
function ran(id, what) {
    runs[id] = what;
}

// What each document that was opened here said of itself, and who waits for it, by the name of its
// frame or window.
const arrivals = new Map();
const waiting = new Map();
addEventListener('message', async ({ data, source }) => {
    if (data.cases) {
        source.postMessage({ results: await runAll(data.cases) }, '*');
    } else if (data.arrived) {
        arrivals.set(data.name, `document ${data.arrived}`);
        waiting.get(data.name)?.(arrivals.get(data.name));
    }
});

// Where the model has a document that never comes: a bound on what hangs. Chromium sometimes loses a
// form that is sent to a frame while other pages load; the case is then repeated alone.
const LIMIT = 20_000;

// The same for a request, most of which have come when the page has its result.
const LATE = 10_000;

const sleep = milliseconds => new Promise(resolve => setTimeout(resolve, milliseconds));

// A few cases at once, the steps of each one after the other.
async function runAll(cases) {
    const results = [];
    let next = 0;
    const work = async () => {
        while (next < cases.length) {
            const index = next++;
            const result = results[index] = [];
            for (const step of cases[index].steps) {
                const late = sleep(LIMIT).then(() => 'nothing within the limit');
                const done = run(step, cases[index].id);
                result.push(await Promise.race([done, late]));
            }
        }
    };
    await Promise.all(Array.from({ length: 6 }, work));
    return results;
}

// A step is over once all requests have come that the model sends up to here.
async function run(step, id) {
    const result = await kinds[step.kind](step, id);
    await arrived(step, id);
    return result;
}

async function arrived(step, id) {
    const until = Date.now() + LATE;
    while (await count(id) < step.requests && Date.now() < until) await sleep(20);
}

// How many requests of a case have reached the server.
async function count(id) {
    const answer = await fetch(`/requests/${id}`, { credentials: 'omit', cache: 'no-store' });
    return Number(await answer.text());
}

const kinds = {
    async fetch({ url, init, body }) {
        let answer;
        try {
            if (body !== null) init.body = new TextEncoder().encode(body);
            answer = await fetch(url, init);
        } catch (error) {
            return error.name;
        }
        const text = await answer.text().catch(error => error.name);
        const { type, redirected, status } = answer;
        return { type, url: answer.url, redirected, status, headers: [...answer.headers], text };
    },

    xhr({ url, init, body }) {
        return new Promise(resolve => {
            const request = new XMLHttpRequest();
            request.upload.onprogress = () => {};
            request.onerror = () => resolve('TypeError');
            request.onload = () => resolve({
                url: request.responseURL,
                status: request.status,
                headers: request.getAllResponseHeaders().split('\r\n').filter(Boolean)
                    .map(line => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2)]),
                text: request.responseText,
            });
            try {
                request.open(init.method, url);
                request.withCredentials = init.credentials === 'include';
                for (const [name, value] of init.headers) request.setRequestHeader(name, value);
                request.send(body === null ? null : new TextEncoder().encode(body));
            } catch {
                resolve('TypeError');
            }
        });
    },

    // Nothing of the response can be seen; what comes beside the requests of the model is waited for.
    async beacon({ url, body, type }) {
        navigator.sendBeacon(url, new Blob([body], { type }));
        await sleep(300);
        return 'sent';
    },

    async script({ url, crossorigin }, id) {
        delete runs[id];
        const script = document.createElement('script');
        if (crossorigin !== null) script.crossOrigin = crossorigin;
        script.src = url;
        const event = await settled(script);
        script.remove();
        return id in runs ? `ran ${runs[id]}` : event;
    },

    image({ url, crossorigin }) {
        const image = document.createElement('img');
        if (crossorigin !== null) image.crossOrigin = crossorigin;
        image.src = url;
        return settled(image);
    },

    async frame(step, id) {
        const { url, init, body, document: isDue } = step;
        const frame = document.createElement('iframe');
        frame.name = unusedName();
        let loaded;
        if (init.method === 'GET') {
            frame.src = url;
            loaded = settled(frame);
        } else {
            document.body.append(frame);
            loaded = new Promise(resolve => frame.onload = resolve);
            submit(url, init.method, body, frame.name);
        }
        // One that is blocked may have no end.
        const result = isDue ? await arrival(frame.name)
            : await none(frame.name, Promise.race([loaded, sleep(5000)]).then(() => sleep(1000)));
        // Removing it ends its load.
        await arrived(step, id);
        frame.remove();
        return result;
    },

    async window(step, id) {
        const { url, init, body, document: isDue } = step;
        const name = unusedName();
        const opened = window.open(init.method === 'GET' ? url : 'about:blank', name);
        if (!opened) return 'no window';
        if (init.method !== 'GET') submit(url, init.method, body, name);
        const result = await (isDue ? arrival(name) : none(name, sleep(6000)));
        await arrived(step, id);
        opened.close();
        return result;
    },

    socket({ url }) {
        return new Promise(resolve => {
            try {
                const socket = new WebSocket(url.replace(/^http/, 'ws'));
                socket.onopen = () => {
                    resolve('open');
                    socket.close();
                };
                socket.onerror = () => resolve('error');
            } catch {
                resolve('error');
            }
        });
    },

    async write({ text }) {
        document.cookie = text;
        return 'written';
    },

    async read(_step, id) {
        return document.cookie.split('; ').filter(pair => pair.includes(id)).join('; ');
    },
};

function settled(element) {
    return new Promise(resolve => {
        element.onload = () => resolve('load');
        element.onerror = () => resolve('error');
        document.body.append(element);
    });
}

function submit(url, method, body, target) {
    const form = Object.assign(document.createElement('form'), { action: url, method, target });
    for (const [name, value] of new URLSearchParams(body)) {
        form.append(Object.assign(document.createElement('input'), { name, value }));
    }
    document.body.append(form);
    form.submit();
    form.remove();
}

let names = 0;
const unusedName = () => `name${names++}-${Math.random()}`;

// The document that the model has under this name.
function arrival(name) {
    return arrivals.get(name) ?? new Promise(resolve => waiting.set(name, resolve));
}

// Where the model has none, one that comes within some time is a difference.
async function none(name, time) {
    await time;
    return arrivals.get(name) ?? 'no document';
}
