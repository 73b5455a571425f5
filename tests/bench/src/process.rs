//! What the system says of a process.

/// Ticks of a second in which the kernel tells processor time to programs, on every architecture.
const TICKS_PER_S: f64 = 100.0;

fn read(pid: u32, file: &str) -> String {
    let path = format!("/proc/{pid}/{file}");
    std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{path}: {e}"))
}

/// Seconds that its threads have run so far, on all cores, the kernel's work for them included.
///
/// # Panics
/// When there is no such process.
#[must_use]
pub fn cpu_seconds(pid: u32) -> f64 {
    let stat = read(pid, "stat");
    // The name, in brackets, may hold blanks.
    let after_name = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    let ticks: f64 =
        after_name.split_whitespace().skip(11).take(2).filter_map(|word| word.parse::<f64>().ok()).sum();
    ticks / TICKS_PER_S
}

/// Its memory in RAM, in KiB.
///
/// # Panics
/// When there is no such process.
#[must_use]
pub fn resident_kib(pid: u32) -> u64 {
    let status = read(pid, "status");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or_default();
    let word = line.split_whitespace().next().unwrap_or_default();
    word.parse().unwrap_or_else(|e| panic!("VmRSS of {pid}: {line:?}: {e}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    #[test]
    fn this_process_has_memory_and_has_run() {
        let pid = std::process::id();
        assert!(resident_kib(pid) > 100);
        let (before, began) = (cpu_seconds(pid), Instant::now());
        while cpu_seconds(pid) <= before {
            assert!(began.elapsed() < Duration::from_secs(30), "no tick is counted");
        }
    }
}
