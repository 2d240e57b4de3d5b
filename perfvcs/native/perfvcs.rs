//! A program under test reports its own measurements to perfvcs. One file, for Rust 1.56 and newer on
//! Unix: copy it into your crate (`mod perfvcs;`).
//!
//! ```ignore
//! let tree = perfvcs::measure("parse", Some(text.len() as f64), || parse(&text)); // or None
//! perfvcs::declare("throughput", "op/s", "higher");
//! perfvcs::record("parse", None, &[("throughput", 1e6)]);
//! ```
//!
//! Where the variable PERFVCS_SAMPLES is not set, nothing is written.
#![allow(dead_code)]

use std::fmt::Write as _;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::os::raw::{c_int, c_long};
use std::time::Instant;

const PROCESS_CPU: c_int = if cfg!(target_os = "macos") { 12 } else { 2 };

#[repr(C)]
struct Timespec {
    seconds: i64,
    nanoseconds: c_long,
}

extern "C" {
    fn clock_gettime(clock: c_int, time: *mut Timespec) -> c_int;
}

/// Calls a function, reports its wall and CPU time in seconds, and returns what it returns.
pub fn measure<T>(uid: &str, size: Option<f64>, work: impl FnOnce() -> T) -> T {
    let (cpu, start) = (processor(), Instant::now());
    let result = work();
    let wall = start.elapsed().as_secs_f64();
    record(uid, size, &[("wall", wall), ("cpu", processor() - cpu)]);
    result
}

/// Reports values that were measured in another way, by metric.
pub fn record(uid: &str, size: Option<f64>, values: &[(&str, f64)]) {
    let mut line = format!("{{\"uid\":{}", quoted(uid));
    for (name, value) in size.iter().map(|size| ("size", *size)).chain(values.iter().copied()) {
        if !value.is_finite() {
            eprintln!("perfvcs.rs: a sample is lost: a value is not finite");
            return;
        }
        let _ = write!(line, ",{}:{:e}", quoted(name), value);
    }
    append(line);
}

/// Says the unit of a metric, and which direction is better: lower, higher or none.
pub fn declare(metric: &str, unit: &str, better: &str) {
    append(format!(
        "{{\"metric\":{},\"unit\":{},\"better\":{}",
        quoted(metric),
        quoted(unit),
        quoted(better)
    ));
}

/// The time of this process on all processors, in seconds.
fn processor() -> f64 {
    let mut time = Timespec { seconds: 0, nanoseconds: 0 };
    // the structure is that of 64-bit systems, and the call only writes into it
    unsafe { clock_gettime(PROCESS_CPU, &mut time) };
    time.seconds as f64 + time.nanoseconds as f64 / 1e9
}

/// Appends a line by one write, so that those of several threads and processes do not mix.
fn append(mut line: String) {
    let path = match std::env::var_os("PERFVCS_SAMPLES") {
        Some(path) if !path.is_empty() => path,
        _ => return,
    };
    line.push_str("}\n");
    let opened = OpenOptions::new().append(true).create(true).open(path);
    if let Err(error) = opened.and_then(|mut file| file.write_all(line.as_bytes())) {
        eprintln!("perfvcs.rs: a sample is lost: {error}");
    }
}

/// Text as a JSON string.
fn quoted(text: &str) -> String {
    let mut string = String::from("\"");
    for character in text.chars() {
        match character {
            '"' | '\\' => string.extend(['\\', character]),
            '\0'..='\u{1f}' => {
                let _ = write!(string, "\\u{:04x}", character as u32);
            }
            _ => string.push(character),
        }
    }
    string.push('"');
    string
}
