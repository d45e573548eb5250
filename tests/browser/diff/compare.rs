//! A run: blocks of cases with one page each, compared one by one.

use std::{
    env,
    fmt::Write as _,
    time::{Instant, SystemTime},
};

use serde_json::{Value, json};

use crate::diff::{
    case::{Case, Filling, Place},
    engine::{Drive, Engine},
    generate::{self, HOSTS},
    kinds::Kinds,
    random::Random,
    seen::{self, Predicted},
    server::Server,
    shrink,
    webdriver::Failure,
};

/// The number of cases that share a page; small enough that no engine evicts cookies.
const BLOCK: usize = 50;

const CASES: usize = 150;

/// One in this many cases may differ once and not again, for example a page that loaded too slowly.
const UNSTEADY: usize = 100;

/// A short run allows this many: Chromium loses forms that are sent at the same time.
const UNSTEADY_AT_ONCE: usize = 3;

/// The run ends after this many minimised differences.
const SHOWN: usize = 5;

/// Runs as many cases as `POLICY_DIFF_CASES` says, or the one that `POLICY_DIFF_CASE` names.
pub(crate) fn compare(engine: Engine) -> Result<(), Failure> {
    let seed = number("POLICY_DIFF_SEED").unwrap_or(1);
    let cases = number("POLICY_DIFF_CASES").map_or(CASES, |cases| cases as usize);
    let alone = number("POLICY_DIFF_CASE").map(|case| case as usize);
    let server = Server::start(HOSTS)?;
    let browser = engine.start(&server)?;
    let kinds = Kinds::default();
    let mut run = Run { browser, server, engine, seed, count: 0, unsteady: 0, kinds };
    println!("{} as {engine:?}, seed {seed}", run.browser.version());
    if !engine.left_out().is_empty() {
        println!("left out: {:?}", engine.left_out());
    }
    let began = Instant::now();
    let mut differences = String::new();
    let mut found = 0;
    let blocks = match alone {
        Some(case) => case / BLOCK..case / BLOCK + 1,
        None => 0..cases.div_ceil(BLOCK),
    };
    for block in blocks {
        let generated = generated(engine, seed, block);
        let chosen: Vec<(usize, Case)> = match alone {
            Some(case) => generated.into_iter().filter(|(number, _)| *number == case).collect(),
            None => generated.into_iter().filter(|(number, _)| *number < cases).collect(),
        };
        if alone.is_some() {
            chosen.iter().for_each(|(_, case)| println!("{case}"));
        }
        found += run.block(&chosen, &mut differences)?;
        if (block + 1) % 20 == 0 || found >= SHOWN {
            let seconds = began.elapsed().as_secs_f64();
            println!("{} cases, {seconds:.0} s, {found} differences", (block + 1) * BLOCK);
        }
        if found >= SHOWN {
            break;
        }
    }
    let seconds = began.elapsed().as_secs_f64();
    println!("{engine:?}: {cases} cases in {seconds:.1} s, {found} differences");
    println!("{}", run.kinds);
    assert!(
        run.unsteady <= (cases / UNSTEADY).max(UNSTEADY_AT_ONCE),
        "{} of {cases} cases differed once, and not again: too many to say what they show",
        run.unsteady
    );
    match found {
        0 if alone.is_none() => {
            run.kinds.assert_enough(cases, engine);
            Ok(())
        }
        0 => Ok(()),
        _ => panic!("the model and {} differ:\n{differences}", run.browser.version()),
    }
}

fn number(name: &str) -> Option<u64> {
    env::var(name).ok().map(|text| text.parse().unwrap_or_else(|_| panic!("{name} is no number")))
}

/// The numbered cases of a block, reproducible by the seed.
fn generated(engine: Engine, seed: u64, block: usize) -> Vec<(usize, Case)> {
    let number = block as u64;
    let place = generate::place(&mut Random(Random(seed ^ number.rotate_left(32)).draw()), block);
    (block * BLOCK..(block + 1) * BLOCK)
        .map(|case| {
            let mut random = Random(Random(seed ^ (case as u64).rotate_left(16)).draw());
            (case, generate::case(&mut random, &place, engine.left_out()))
        })
        .collect()
}

/// The lines of the model, and those of the browser.
type Both = (Vec<String>, Vec<String>);

pub(crate) struct Run {
    browser: Box<dyn Drive>,
    server: Server,
    engine: Engine,
    seed: u64,
    /// The number of cases so far, which makes their names unique.
    count: usize,
    /// The number of cases that differed once and not again.
    unsteady: usize,
    kinds: Kinds,
}

impl Run {
    /// Runs the cases of one page and adds the minimised differences.
    fn block(
        &mut self,
        cases: &[(usize, Case)],
        differences: &mut String,
    ) -> Result<usize, Failure> {
        let Some((_, first)) = cases.first() else { return Ok(0) };
        self.open(&first.place)?;
        let mut found = 0;
        let all: Vec<&Case> = cases.iter().map(|(_, case)| case).collect();
        let results = self.both(&all)?;
        for (case, (model, _)) in all.iter().zip(&results) {
            self.kinds.count(case, model);
        }
        for ((number, case), (model, engine)) in cases.iter().zip(results) {
            if model == engine {
                continue;
            }
            if !self.differs(case)? {
                // The machine was busy.
                let lines = self.side_by_side(&model, &engine);
                println!("case {number} differed once, and not again:\n{lines}");
                self.unsteady += 1;
                continue;
            }
            found += 1;
            let smallest = shrink::shrink(self, case.clone())?;
            let (model, engine) = self.both(&[&smallest])?.pop().expect("one result for one case");
            writeln!(
                differences,
                "\n== case {number}: cargo xtask long browser-diff --seed {} --case {number}\n{smallest}{}",
                self.seed,
                self.side_by_side(&model, &engine)
            )?;
        }
        Ok(found)
    }

    /// The lines of the model, then those of the browser.
    fn side_by_side(&self, model: &[String], engine: &[String]) -> String {
        let (model, engine) = (model.join("\n"), engine.join("\n"));
        format!("-- the model\n{model}\n-- {}\n{engine}", self.browser.version())
    }

    /// Opens the page in a fresh browser.
    fn open(&mut self, place: &Place) -> Result<(), Failure> {
        self.browser.reopen()?;
        let filling = Filling { port: self.server.port(), id: "", now: SystemTime::now() };
        self.browser.goto(place.filled(&filling).urls()[0].as_str())
    }

    /// Whether a variant of a case still shows a difference.
    pub(crate) fn differs(&mut self, case: &Case) -> Result<bool, Failure> {
        Ok(self.both(&[case])?.iter().any(|(model, engine)| model != engine))
    }

    /// The results of the model and of the browser for cases in the current page.
    fn both(&mut self, cases: &[&Case]) -> Result<Vec<Both>, Failure> {
        const RUN: &str = "input => {
            let page = window;
            for (let depth = 0; depth < input.depth; depth++) page = page.frames[0];
            return page === window ? runAll(input.cases) : new Promise(resolve => {
                addEventListener('message', function listen({ data }) {
                    if (!data.results) return;
                    removeEventListener('message', listen);
                    resolve(data.results);
                });
                page.postMessage({ cases: input.cases }, '*');
            });
        }";
        let now = SystemTime::now();
        let ids: Vec<String> = cases
            .iter()
            .map(|_| {
                self.count += 1;
                format!("k{:06}z", self.count)
            })
            .collect();
        let port = self.server.port();
        let fillings: Vec<Filling<'_>> = ids.iter().map(|id| Filling { port, id, now }).collect();
        let filled: Vec<Case> =
            cases.iter().zip(&fillings).map(|(case, filling)| case.filled(filling)).collect();
        for (case, id) in filled.iter().zip(&ids) {
            self.server.expect(case, id);
        }
        let profile = self.engine.profile();
        let predicted: Vec<Predicted> = filled
            .iter()
            .zip(&fillings)
            .map(|(case, filling)| seen::by_model(case, filling, profile))
            .collect();
        let scripts: Vec<Value> = filled
            .iter()
            .zip(&predicted)
            .zip(&ids)
            .map(|((case, predicted), id)| seen::script(case, id, predicted))
            .collect();
        let depth = filled.first().map_or(0, |case| case.place.origins.len() - 1);
        let gave = self.browser.run(RUN, &json!({ "depth": depth, "cases": scripts }))?;
        Ok(filled
            .iter()
            .zip(&fillings)
            .zip(predicted)
            .enumerate()
            .map(|(index, ((case, filling), predicted))| {
                let arrivals = self.server.finish(filling.id);
                let engine = seen::by_engine(case, filling, &gave[index], &arrivals);
                let hide = |lines: Vec<String>| -> Vec<String> {
                    let id = filling.id;
                    lines
                        .iter()
                        .map(|line| line.replace(id, "ID").replace(&port.to_string(), "P"))
                        .collect()
                };
                (hide(predicted.lines), hide(engine))
            })
            .collect())
    }
}
