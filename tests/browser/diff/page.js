// What a page of the tests does: it runs cases, and says what it could see.
'use strict';

const runs = {};
function ran(id, what) {
    runs[id] = what;
}

// What each document that was opened here said of itself, by the name of its frame or window.
const arrivals = new Map();
addEventListener('message', async ({ data, source }) => {
    if (data.cases) {
        source.postMessage({ results: await runAll(data.cases) }, '*');
    } else if (data.arrived) {
        arrivals.set(data.name, data.arrived);
    }
});

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
                const late = sleep(30000).then(() => 'nothing for 30 seconds');
                result.push(await Promise.race([kinds[step.kind](step, cases[index].id), late]));
            }
        }
    };
    await Promise.all(Array.from({ length: 6 }, work));
    return results;
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

    async frame({ url, init, body }) {
        const frame = document.createElement('iframe');
        frame.name = unusedName();
        if (init.method === 'GET') {
            frame.src = url;
            // One that is blocked may have no end.
            await Promise.race([settled(frame), sleep(5000)]);
        } else {
            document.body.append(frame);
            const loaded = new Promise(resolve => frame.onload = resolve);
            submit(url, init.method, body, frame.name);
            await Promise.race([loaded, sleep(5000)]);
        }
        const result = await arrival(frame.name, 1000);
        frame.remove();
        return result;
    },

    async window({ url, init, body }) {
        const name = unusedName();
        const opened = window.open(init.method === 'GET' ? url : 'about:blank', name);
        if (!opened) return 'no window';
        if (init.method !== 'GET') submit(url, init.method, body, name);
        const result = await arrival(name, 6000);
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

async function arrival(name, limit) {
    // By the clock: behind another window, time passes in steps of a second.
    const end = Date.now() + limit;
    while (Date.now() < end && !arrivals.has(name)) await sleep(10);
    const what = arrivals.get(name);
    return what ? `document ${what}` : 'no document';
}
