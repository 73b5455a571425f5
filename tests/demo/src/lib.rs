//! The demo page in headless Chromium, beside a server that is killed and started again.
