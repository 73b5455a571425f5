//! Runs seeds and says how many a second: `readmark-simulation [FIRST [COUNT]]`.

use readmark_simulation::seeds::{run_seeds, write_trace};

fn main() -> std::process::ExitCode {
    let numbers: Result<Vec<u64>, _> = std::env::args().skip(1).map(|text| text.parse()).collect();
    let (first, count) = match numbers.as_deref() {
        Ok([]) => (0, 2_000),
        Ok([first]) => (*first, 2_000),
        Ok([first, count]) => (*first, *count),
        Ok(_) | Err(_) => {
            eprintln!("usage: readmark-simulation [FIRST [COUNT]]");
            return std::process::ExitCode::from(2);
        }
    };
    let report = run_seeds(first, count, None, 5);
    println!("{report}");
    for (seed, violations) in &report.faults {
        println!("seed {seed}: {}", violations.first().map(String::as_str).unwrap_or_default());
        if count == 1 {
            // One seed is run to be looked at.
            match write_trace(*seed, None) {
                Ok(path) => println!("trace: {}", path.display()),
                Err(error) => eprintln!("the trace can't be written: {error}"),
            }
        }
    }
    std::process::ExitCode::from(u8::from(!report.faults.is_empty()))
}
