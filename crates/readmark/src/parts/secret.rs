use crate::exit::Failure;
use rand::TryRngCore;
use rand::rngs::OsRng;
use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

/// Bytes of a new secret: as many as HS256 has bits of hash.
const SECRET_BYTES: usize = 32;

/// The data directory's own secret, made at the first start. Processes that start together end up with the same.
pub(crate) fn own_secret(data_dir: &Path) -> Result<Vec<u8>, Failure> {
    let file = data_dir.join("secret");
    if !file.exists() {
        make(data_dir, &file).map_err(|error| {
            Failure::failed(format!("the secret {} can't be made: {error}", file.display()))
        })?;
    }
    readmark_http::auth::read_secret(&file).map_err(Failure::failed)
}

/// Written beside and linked, so that a crash never leaves half a secret and the first one stays.
fn make(data_dir: &Path, file: &Path) -> std::io::Result<()> {
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(data_dir)?;
    let mut bytes = [0_u8; SECRET_BYTES];
    OsRng.try_fill_bytes(&mut bytes).map_err(std::io::Error::other)?;
    let text: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let unfinished = file.with_extension(format!("new-{}", std::process::id()));
    let mut out = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&unfinished)?;
    out.write_all(text.as_bytes())?;
    out.sync_all()?;
    let linked = std::fs::hard_link(&unfinished, file);
    std::fs::remove_file(&unfinished)?;
    match linked {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        linked => linked,
    }
}
