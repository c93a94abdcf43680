//! Looks for bugs: draws worlds, plays each with every invariant looked at after every step, and
//! shrinks one in which something breaks to a short scenario file.
//!
//! A board in a world is the real firmware library.
//!
//! Built with the feature `defects` it can also put old bugs in, one after the other, and see each of
//! them found. None is in until then, so that the program that looks is the one that was seen to find.

mod draw;
mod shrink;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use draw::Draft;
use shrink::{broken, shrink};

const HELP: &str = "\
hunt [--minutes N | --schedules N] [--seed N] [--keep DIR]
hunt --defects [--seconds N]
hunt --replay FILE

  --minutes N     look for so long [1]
  --schedules N   look at so many worlds instead
  --seed N        from this seed on [the time of day]
  --keep DIR      where the scenario file of a find goes [the directory for temporary files]
  --replay FILE   play one world again, as it was played here
  --defects       put each old bug in and find it, each within --seconds N [15]
";

struct Args {
    minutes: u64,
    schedules: Option<u64>,
    seed: u64,
    keep: PathBuf,
    defects: bool,
    seconds: u64,
    replay: Option<PathBuf>,
}

fn args() -> Result<Args, String> {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let mut args = Args {
        minutes: 1,
        schedules: None,
        seed: now.map_or(0, |now| now.as_secs() * 1_000_000),
        keep: std::env::temp_dir(),
        defects: false,
        seconds: 15,
        replay: None,
    };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or_else(|| format!("{word} needs a value"));
        let number = |text: String| text.parse().map_err(|_| format!("{text} is no number"));
        match word.as_str() {
            "--minutes" => args.minutes = number(value()?)?,
            "--schedules" => args.schedules = Some(number(value()?)?),
            "--seed" => args.seed = number(value()?)?,
            "--seconds" => args.seconds = number(value()?)?,
            "--keep" => args.keep = PathBuf::from(value()?),
            "--replay" => args.replay = Some(PathBuf::from(value()?)),
            "--defects" => args.defects = true,
            _ => return Err(HELP.to_owned()),
        }
    }
    Ok(args)
}

fn main() -> ExitCode {
    let args = match args() {
        Ok(args) => args,
        Err(why) => {
            eprintln!("{why}");
            return ExitCode::from(2);
        }
    };
    let found = match &args.replay {
        Some(file) => replay(file),
        None if args.defects => defects(&args),
        None => hunt(&args),
    };
    if found { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

/// What a hunt came to.
struct Hunted {
    worlds: u64,
    events: u64,
    find: Option<u64>,
}

/// Plays worlds from `seed` on, on every core, until `enough` or a find.
fn look(seed: u64, enough: impl Fn(u64) -> bool + Sync, tell: bool) -> Hunted {
    let (next, events) = (AtomicU64::new(0), AtomicU64::new(0));
    let (ended, find) = (AtomicBool::new(false), Mutex::new(None::<u64>));
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let begun = Instant::now();
    thread::scope(|scope| {
        for core in 0..cores {
            let (next, events, ended, find, enough) = (&next, &events, &ended, &find, &enough);
            scope.spawn(move || {
                while !ended.load(Ordering::Relaxed) {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if enough(number) {
                        return;
                    }
                    let seed = seed.wrapping_add(number);
                    let draft = Draft::draw(seed);
                    let Some(world) = draft.world() else { continue };
                    let options =
                        giveover::sim::world::Options { seed: None, record: false, watch: true };
                    let outcome = giveover_tests::boarded::play_both(&world, options);
                    events.fetch_add(outcome.events, Ordering::Relaxed);
                    if outcome.broken.is_some() {
                        let mut find = find.lock().unwrap_or_else(PoisonError::into_inner);
                        *find = Some(find.map_or(seed, |first| first.min(seed)));
                        ended.store(true, Ordering::Relaxed);
                    }
                    if tell && core == 0 && number % 2_000 < cores as u64 {
                        let rate = number as f64 / begun.elapsed().as_secs_f64().max(0.001);
                        eprint!("\r{number} worlds, {rate:.0} a second ");
                    }
                }
            });
        }
    });
    if tell {
        eprintln!();
    }
    Hunted {
        worlds: next.into_inner(),
        events: events.into_inner(),
        find: find.into_inner().unwrap_or_else(PoisonError::into_inner),
    }
}

/// True if something was found.
fn hunt(args: &Args) -> bool {
    let until = Instant::now() + Duration::from_secs(args.minutes * 60);
    let begun = Instant::now();
    let enough = |number: u64| match args.schedules {
        Some(schedules) => number >= schedules,
        None => Instant::now() >= until,
    };
    let hunted = look(args.seed, enough, true);
    let seconds = begun.elapsed().as_secs_f64();
    println!(
        "{} worlds from seed {} on, {} events, in {seconds:.0} s",
        hunted.worlds, args.seed, hunted.events
    );
    let Some(seed) = hunted.find else {
        println!("no invariant broke");
        return false;
    };
    tell_find(seed, &args.keep);
    true
}

/// True if anything in the world of `file` is not as it should be.
fn replay(file: &Path) -> bool {
    use giveover::config::scenario::{Form, load_form_str};
    let name = file.display().to_string();
    let text = match std::fs::read_to_string(file) {
        Ok(text) => text,
        Err(error) => {
            eprintln!("{name}: {error}");
            return true;
        }
    };
    match load_form_str(&name, &text) {
        Ok(Form::Large(world)) => {
            let options = giveover::sim::world::Options { seed: None, record: true, watch: true };
            let outcome = giveover_tests::boarded::play_both(&world, options);
            print!("{}", giveover::sim::world::text(&outcome, &name));
            !outcome.is_right()
        }
        Ok(Form::Small(_)) => {
            eprintln!("{name}: that is the small form: `giveover simulate` plays it");
            true
        }
        Err(report) => {
            eprintln!("{report}");
            true
        }
    }
}

fn tell_find(seed: u64, keep: &Path) {
    let draft = shrink(&Draft::draw(seed));
    let (at, why) = broken(&draft).unwrap_or_default();
    let file = keep.join(format!("giveover-hunt-{seed}.toml"));
    println!("seed {seed}: after {} ms an invariant does not hold: {why}\n", at);
    println!("{}", draft.text());
    match std::fs::write(&file, draft.text()) {
        Ok(()) => println!("to replay it: cargo xtask hunt --replay {}", file.display()),
        Err(error) => println!("{}: {error}", file.display()),
    }
}

#[cfg(not(feature = "defects"))]
fn defects(_: &Args) -> bool {
    eprintln!(
        "built without the feature `defects`: `cargo xtask hunt --defects` builds it with it"
    );
    true
}

/// True if one of them was not found.
#[cfg(feature = "defects")]
fn defects(args: &Args) -> bool {
    let mut missed = 0;
    for number in 1..=giveover_core::defect::COUNT {
        giveover_core::defect::put_in(number);
        let begun = Instant::now();
        let until = begun + Duration::from_secs(args.seconds);
        let hunted = look(1, |_| Instant::now() >= until, false);
        let seconds = begun.elapsed().as_secs_f64();
        match hunted.find {
            Some(seed) => {
                let draft = shrink(&Draft::draw(seed));
                let why = broken(&draft).map_or_else(String::new, |(_, why)| why);
                let why: String = why.chars().take(70).collect();
                println!(
                    "defect {number:2}: found in {seconds:5.2} s, world {:5}, {} faults left: {why}",
                    hunted.worlds,
                    draft.pieces.len()
                );
            }
            None => {
                missed += 1;
                println!("defect {number:2}: NOT FOUND in {} worlds", hunted.worlds);
            }
        }
    }
    println!("{} of {} found", giveover_core::defect::COUNT - missed, giveover_core::defect::COUNT);
    missed > 0
}
