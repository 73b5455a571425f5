//! Every scenario on embedded parts.

use readmark_test_scenarios::Parts;
use std::process::ExitCode;

fn main() -> ExitCode {
    readmark_test_scenarios::main(Parts::Embedded)
}
