//! Every scenario on Kafka, Cassandra and Redis.

use readmark_test_scenarios::Parts;
use std::process::ExitCode;

fn main() -> ExitCode {
    readmark_test_scenarios::main(Parts::Full)
}
