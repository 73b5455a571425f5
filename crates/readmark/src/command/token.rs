use crate::cli::Token;
use crate::config::{Config, load};
use crate::exit::{Exit, Failure};
use crate::print;
use readmark_http::auth::{Claims, Scope, read_secret, sign};
use readmark_runtime::clock::{Clock, SystemClock};
use std::path::PathBuf;

/// `readmark token`.
pub(crate) fn run(token: &Token) -> Result<Exit, Failure> {
    let config = load(&token.source, &[])?;
    let file = secret_file(&config);
    if !file.exists() {
        let nothing = format!("there is no secret at {}", file.display());
        return Err(match config.auth.secret_file {
            Some(_) => Failure::usage(format!("{nothing}: auth.secret_file names it")),
            None => Failure::failed(format!(
                "{nothing}: `readmark up` makes it at its first start, or set auth.secret_file"
            )),
        });
    }
    let secret = read_secret(&file).map_err(|error| match config.auth.secret_file {
        Some(_) => Failure::usage(error),
        None => Failure::failed(error),
    })?;
    let endpoint = (token.scope == Scope::User).then(|| token.endpoint.clone());
    let claims = Claims::lasting(token.uid, token.scope, endpoint, SystemClock::default().now(), token.ttl);
    let token = sign(&secret, &claims).map_err(Failure::failed)?;
    print::text(&format!("{token}\n"))?;
    Ok(Exit::Done)
}

/// The configured secret, else the one in the data directory.
fn secret_file(config: &Config) -> PathBuf {
    config.auth.secret_file.clone().unwrap_or_else(|| config.data_dir.join("secret"))
}
