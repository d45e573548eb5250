//! The fuzzing loop: change an input, check it, and keep it if it caused new behaviour.

use std::{
    cell::Cell,
    collections::HashSet,
    env, fs,
    hash::{DefaultHasher, Hash, Hasher},
    panic::{self, AssertUnwindSafe, catch_unwind, resume_unwind},
    path::{Path, PathBuf},
    sync::Once,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use policy_tests::random::Random;

use super::mutate::{changed, shrunk};

/// The number of inputs for each target as a test.
const SHORT: u64 = 4_000;

/// A parser, with its corpus and limits.
pub(super) struct Target {
    /// The name of its module and of its corpus.
    pub(super) name: &'static str,
    /// One input per line, escaped.
    pub(super) corpus: &'static str,
    /// Tokens with a meaning for this parser.
    pub(super) dictionary: &'static [&'static [u8]],
    /// The longest input: slightly above the limit of the parser.
    pub(super) max_len: usize,
    /// Panics if the parser is wrong.
    pub(super) check: fn(&[u8]) -> Seen,
}

/// The behaviour that an input caused.
pub(super) struct Seen {
    /// Whether it was not rejected at the first check.
    pub(super) went_deep: bool,
    /// Equal for inputs with the same behaviour.
    pub(super) behaviour: u64,
}

impl Seen {
    pub(super) fn new(went_deep: bool, behaviour: impl Hash) -> Self {
        let mut hasher = DefaultHasher::new();
        behaviour.hash(&mut hasher);
        Self { went_deep, behaviour: hasher.finish() }
    }
}

/// The order of magnitude of a length.
pub(super) fn magnitude(len: usize) -> u32 {
    usize::BITS - len.leading_zeros()
}

thread_local! {
    /// Whether a panic is expected, so that it prints nothing.
    static IS_QUIET: Cell<bool> = const { Cell::new(false) };
}

/// Runs the product on an input of this length, with memory limited in proportion.
pub(super) fn bounded<T>(len: usize, run: impl FnOnce() -> T) -> T {
    let mut result = None;
    let used = allocation_counter::measure(|| {
        result = Some(catch_unwind(AssertUnwindSafe(run)));
    });
    let result = result.expect("it ran").unwrap_or_else(|panic| resume_unwind(panic));
    let bound = 16 * 1024 + 64 * len as u64;
    assert!(used.bytes_max <= bound, "{} bytes at once for an input of {len}", used.bytes_max);
    result
}

impl Target {
    /// Runs the target on one input, for a time, or as a test.
    pub(super) fn run(&self) {
        self.run_for(SHORT);
    }

    /// The same with this many inputs as a test.
    pub(super) fn run_for(&self, short: u64) {
        silence();
        if let Some(path) = env::var_os("POLICY_FUZZ_INPUT") {
            (self.check)(&fs::read(path).expect("an input"));
            return;
        }
        let limit = env::var("POLICY_FUZZ_SECONDS")
            .ok()
            .map(|seconds| Duration::from_secs_f64(seconds.parse().expect("a number of seconds")));
        let seed = match (env::var("POLICY_FUZZ_SEED"), limit) {
            (Ok(seed), _) => seed.parse().expect("a seed"),
            (Err(_), Some(_)) => {
                SystemTime::now().duration_since(UNIX_EPOCH).expect("a clock").as_secs()
            }
            (Err(_), None) => 1,
        };
        let mut random = Random(seed);
        let mut pool: Vec<Vec<u8>> = self.corpus.lines().map(unescaped).collect();
        let (mut behaviours, mut deep, mut executions) = (HashSet::new(), 0_u64, 0_u64);
        let corpus = pool.len();
        for input in &pool {
            let observation = self.run_check(input, seed);
            behaviours.insert(observation.behaviour);
        }
        let begun = Instant::now();
        let is_over = |executions: u64| match limit {
            // The clock is only read now and then.
            Some(limit) => executions.is_multiple_of(256) && begun.elapsed() >= limit,
            None => executions >= short,
        };
        while !is_over(executions) {
            // Often an input of the corpus, which is known to be useful.
            let end = if random.below(2) == 0 { corpus } else { pool.len() };
            let from = random.below(end);
            let mut input = changed(&mut random, &pool[from], &pool, self.dictionary);
            input.truncate(self.max_len);
            let observation = self.run_check(&input, seed);
            executions += 1;
            deep += u64::from(observation.went_deep);
            if behaviours.insert(observation.behaviour) {
                pool.push(input);
            }
        }
        let took = begun.elapsed().as_secs_f64();
        println!(
            "fuzz {}: {executions} executions in {took:.1} s ({:.0} a second), {deep} \
             went deep, {} behaviours, seed {seed}",
            self.name,
            executions as f64 / took,
            behaviours.len(),
        );
        let floor = executions / 200;
        let shallow = executions - deep;
        assert!(deep >= floor && shallow >= floor, "{deep} went deep, {shallow} did not");
    }

    fn run_check(&self, input: &[u8], seed: u64) -> Seen {
        let attempt = |input: &[u8]| {
            IS_QUIET.set(true);
            let outcome = catch_unwind(AssertUnwindSafe(|| (self.check)(input)));
            IS_QUIET.set(false);
            outcome
        };
        attempt(input).unwrap_or_else(|_panic| {
            let input = shrunk(input, |shorter| attempt(shorter).is_err());
            let path = self.keep(&input);
            let path = path.display();
            let escaped = input.escape_ascii();
            println!(
                "fuzz {} (seed {seed}): an input fails, in {path}:\n{escaped}\nrun it again: \
                 POLICY_FUZZ_INPUT={path} cargo test -p policy-tests --test fuzz targets::{}::",
                self.name, self.name,
            );
            // Repeated with the panic message.
            (self.check)(&input)
        })
    }

    /// Writes an input to a file.
    fn keep(&self, input: &[u8]) -> PathBuf {
        let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("the target folder");
        let folder = target.join("fuzz/crashes");
        let name = format!("{}-{:016x}", self.name, Seen::new(false, input).behaviour);
        let path = folder.join(name);
        fs::create_dir_all(&folder).and_then(|()| fs::write(&path, input)).expect("a file");
        path
    }
}

/// Silences expected panics.
fn silence() {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let default = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !IS_QUIET.get() {
                default(info);
            }
        }));
    });
}

/// Decodes a line of a corpus, which `escape_ascii` encoded.
fn unescaped(line: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = line.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'\\' {
            bytes.push(byte);
            continue;
        }
        let escape = rest.next().expect("an escape");
        bytes.push(match escape {
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'x' => {
                let mut digit = || {
                    let digit = char::from(rest.next().expect("a digit"));
                    digit.to_digit(16).expect("a digit") as u8
                };
                digit() << 4 | digit()
            }
            other => other,
        });
    }
    bytes
}
