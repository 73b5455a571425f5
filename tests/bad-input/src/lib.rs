//! What must be refused, over HTTP and in the log, against the real `readmark`: see `tests/`.
