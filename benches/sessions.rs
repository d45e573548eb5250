//! A million sessions in memory.
//!
//! `sessions users|anonymous N`: the memory they take, and the steps of a purge of half of them.
//! `sessions load N`: N loads and nothing else that depends on N, for counting by callgrind.

#![expect(clippy::print_stdout, reason = "its figures are its output")]

mod on_processor;

use std::{
    fs,
    hint::black_box,
    io,
    pin::pin,
    sync::atomic::{AtomicBool, Ordering},
    task::{Context, Poll, Waker},
    thread,
    time::{Duration, Instant},
};

use policy_core::{
    session::{Handle, Identity, Record, SessionKey},
    time::Timestamp,
};
use policy_server::{
    Error,
    store::{AnonymousLimit, CreateSession, MemoryStore, SessionStore},
};

use on_processor::on_processor;

const NOW: Timestamp = Timestamp::from_seconds(1_800_000_000);
const LATER: Timestamp = Timestamp::from_seconds(1_800_000_600);

/// Pseudo-random bytes (splitmix64).
fn mixed<const N: usize>(seed: u64) -> [u8; N] {
    let mut state = seed.wrapping_mul(0x2545_f491_4f6c_dd1d);
    std::array::from_fn(|_| {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = state;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (word >> 56) as u8
    })
}

/// Every second one is expired at `LATER`.
fn record(number: u64, is_user: bool) -> Record {
    let idle = Duration::from_secs(if number.is_multiple_of(2) { 300 } else { 900 });
    let user = || Identity::new(format!("user-{number:07}")).roles(["member"]);
    Record {
        handle: Handle(mixed(number)),
        identity: is_user.then(user),
        epoch: 0,
        version: 0,
        created: NOW,
        authenticated: is_user.then_some(NOW),
        rotated: NOW,
        last_seen: NOW,
        idle_deadline: NOW.after(idle),
        absolute_deadline: NOW.after(Duration::from_secs(28_800)),
        idle,
        is_remembered: false,
        binding: mixed(number + 1),
        data: Box::from(*br#"{"theme":"dark","cart":[17,4]}"#),
    }
}

/// The result of a store that need not be awaited.
fn ready<T>(answer: impl Future<Output = T>) -> Option<T> {
    match pin!(answer).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(answer) => Some(answer),
        Poll::Pending => None,
    }
}

fn fill(store: &MemoryStore, count: u64, is_user: bool) -> Duration {
    let mut longest = Duration::ZERO;
    for number in 0..count {
        let (key, record) = (SessionKey(mixed(number)), record(number, is_user));
        let start = Instant::now();
        let created = ready(store.create(CreateSession::new(key, record, NOW)));
        longest = longest.max(start.elapsed());
        drop(black_box(created));
    }
    longest
}

fn loads(store: &MemoryStore, keys: &[SessionKey], count: u64) {
    for key in keys.iter().cycle().take(count as usize) {
        drop(black_box(ready(store.load(key, NOW))));
    }
}

/// The resident memory of this process.
fn resident() -> Result<u64, Error> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or_default();
    Ok(1024 * line.trim().trim_end_matches(" kB").parse::<u64>().unwrap_or_default())
}

fn report(what: &str, mut times: Vec<Duration>) {
    times.sort_unstable();
    let at = |part: usize| times.get(times.len() * part / 1000).copied().unwrap_or_default();
    let max = times.last().copied().unwrap_or_default();
    println!("{what}: {} times, p50 {:?}, p99 {:?}, max {max:?}", times.len(), at(500), at(990));
}

/// Each poll of a purge is a step: the time on the processor that a request may have to wait.
fn purge(store: &MemoryStore, now: Timestamp) -> Result<(Vec<Duration>, usize), Error> {
    let mut purge = pin!(SessionStore::purge(store, now, usize::MAX));
    let mut steps = Vec::new();
    loop {
        let start = on_processor()?;
        let poll = purge.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        steps.push(on_processor()? - start);
        if let Poll::Ready(purged) = poll {
            return Ok((steps, purged.map_err(io::Error::other)?));
        }
    }
}

fn memory(count: u64, is_user: bool) -> Result<(), Error> {
    let store = MemoryStore::with_anonymous_limit(AnonymousLimit::new(u64::MAX, u64::MAX));
    let before = resident()?;
    let longest = fill(&store, count, is_user);
    println!("{} bytes per session of {count}", (resident()? - before) / count);
    println!("longest create: {longest:?}");

    let (steps, purged) = purge(&store, NOW)?;
    println!("{purged} of none purged");
    report("steps of a purge without dead ones", steps);

    let is_purging = AtomicBool::new(true);
    thread::scope(|scope| {
        // As a request sees it: loads of live sessions while half of all are purged.
        let loads = scope.spawn(|| {
            let mut times = Vec::new();
            for number in (0..count / 2).map(|number| 2 * number + 1).cycle() {
                let key = SessionKey(mixed(number));
                let start = Instant::now();
                drop(black_box(ready(store.load(&key, LATER))));
                times.push(start.elapsed());
                if !is_purging.load(Ordering::Relaxed) {
                    return times;
                }
            }
            times
        });
        let purged = purge(&store, LATER);
        is_purging.store(false, Ordering::Relaxed);
        let (steps, purged) = purged?;
        println!("{purged} of half purged");
        report("steps of a purge of half", steps);
        if let Ok(times) = loads.join() {
            report("loads meanwhile", times);
        }
        Ok(())
    })
}

fn main() -> Result<(), Error> {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let count = arguments.get(1).and_then(|count| count.parse().ok()).unwrap_or(1_000_000);
    match arguments.first().map(String::as_str) {
        Some("load") => {
            let store = MemoryStore::new();
            fill(&store, 1000, true);
            let keys: Vec<_> = (0..1000).map(|number| SessionKey(mixed(number))).collect();
            loads(&store, &keys, count);
            Ok(())
        }
        kind => memory(count, kind != Some("anonymous")),
    }
}
