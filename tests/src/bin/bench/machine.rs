//! What the figures were measured on.

use crate::bed::Bed;
use crate::peer::Program;
use rustix::process::{Resource, getrlimit};
use std::fmt::Write as _;
use std::fs;

/// The lines above the table.
pub(crate) fn facts(bed: &Bed) -> String {
    let scale = &bed.scale;
    let mut text = String::new();
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let nofile = getrlimit(Resource::Nofile).maximum;
    let nofile = nofile.map_or("unlimited".to_owned(), |limit| limit.to_string());
    let _ =
        writeln!(text, "- machine: {}, {} cores, {} GiB", cpu(), cores_online(cores), memory_gib());
    let _ = writeln!(text, "- system: {}, Linux {}, descriptors {nofile}", system(), kernel());
    let _ = writeln!(text, "- load average at the begin: {}", load_average());
    let (prober, target) = (bed.prober_cpu, bed.target_cpu);
    let shared = if prober == target { " (the same: there is only one)" } else { "" };
    let _ =
        writeln!(text, "- measured on core {prober}; targets and bench on core {target}{shared}");
    match &bed.shared_network {
        None => text.push_str("- network: a loopback of its own\n"),
        Some(why) => {
            let _ = writeln!(
                text,
                "- network: the machine's, whose other connections count too ({why})"
            );
        }
    }
    let (window, long) = (scale.window.as_secs(), scale.long_window.as_secs());
    let _ = writeln!(
        text,
        "- {} rounds, {} where processes are begun, the programs one after the other in each; \
         windows {window} s and {long} s; median (least–greatest); ratios paired within the round",
        scale.rounds, scale.process_rounds
    );
    for program in &bed.programs {
        let version = program.version(bed).unwrap_or_else(|why| why.to_string());
        let _ = writeln!(text, "- {}: {version}", program.name());
    }
    if bed.programs.len() < Program::ALL.len() {
        let _ = writeln!(text, "- the other programs were not asked for");
    }
    text
}

/// The kernel's three averages: what else the machine was doing.
pub(crate) fn load_average() -> String {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split_whitespace().take(3).collect::<Vec<_>>().join(" ")
}

fn cpu() -> String {
    value("/proc/cpuinfo", "model name").unwrap_or_else(|| std::env::consts::ARCH.to_owned())
}

/// We are pinned to one by now, so the system has to be asked.
fn cores_online(fallback: usize) -> usize {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    text.lines().filter(|line| line.starts_with("processor")).count().max(fallback)
}

fn memory_gib() -> u64 {
    let kib = value("/proc/meminfo", "MemTotal");
    let kib = kib.and_then(|text| text.split_whitespace().next()?.parse::<u64>().ok());
    kib.unwrap_or(0).div_ceil(1 << 20)
}

fn system() -> String {
    let text = fs::read_to_string("/etc/os-release").unwrap_or_default();
    let name = text.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="));
    name.unwrap_or("unknown").trim_matches('"').to_owned()
}

fn kernel() -> String {
    fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default().trim().to_owned()
}

/// The value behind `key :` in a file of such lines.
fn value(file: &str, key: &str) -> Option<String> {
    let text = fs::read_to_string(file).ok()?;
    let line = text.lines().find(|line| line.starts_with(key))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}
