//! A secret file of the user, which all processes of a job share, beside the secrets that the launcher carries.

use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use ring::digest::{SHA256, digest};
use ring::hmac;

use crate::address::Token;

/// Shortest file, in bytes: 128 random bits.
const MIN_BYTES: usize = 16;
/// Longest file, in bytes: a longer one is likely another file.
const MAX_BYTES: usize = 4096;

/// The secret: the digest of all bytes of the file.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Secret([u8; 32]);

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(secret)")
    }
}

/// Why a file is not accepted.
#[derive(Debug, thiserror::Error)]
pub enum SecretError {
    /// It cannot be read.
    #[error("it cannot be read: {0}")]
    System(io::Error),
    /// It is a folder, a pipe or the like.
    #[error("it is no file")]
    NoFile,
    /// It belongs to this user, who is neither the process's nor root.
    #[error("it belongs to user {0}, which is neither that of this process nor root")]
    Owner(u32),
    /// Others may read or change it: its mode.
    #[error("others may read or change it, as its mode is {0:04o} (`chmod 600` makes it right)")]
    Mode(u32),
    /// Its length, in bytes, is too short or too long.
    #[error("it has {0} bytes, and a secret has {least} to {most} (`head -c 32 /dev/urandom`)", least = MIN_BYTES, most = MAX_BYTES)]
    Length(usize),
}

impl Secret {
    /// Reads the file at `path`, which no other user may be able to read or write.
    pub fn read(path: &Path) -> Result<Secret, SecretError> {
        // Without O_NONBLOCK a pipe would block until its other end is open.
        let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path);
        Secret::of(&file.map_err(SecretError::System)?)
    }

    fn of(file: &File) -> Result<Secret, SecretError> {
        let about = file.metadata().map_err(SecretError::System)?;
        if !about.is_file() {
            return Err(SecretError::NoFile);
        }
        check_access(about.uid(), rustix::process::geteuid().as_raw(), about.mode() & 0o7777)?;
        let mut bytes = Vec::new();
        file.take(MAX_BYTES as u64 + 1).read_to_end(&mut bytes).map_err(SecretError::System)?;
        if !(MIN_BYTES..=MAX_BYTES).contains(&bytes.len()) {
            return Err(SecretError::Length(bytes.len()));
        }
        Ok(Secret::from_bytes(&bytes))
    }

    /// The secret of a file with these bytes.
    pub fn from_bytes(bytes: &[u8]) -> Secret {
        let mut secret = [0; 32];
        secret.copy_from_slice(digest(&SHA256, bytes).as_ref());
        Secret(secret)
    }
}

/// The key of proofs of a token: made of the token and the secret, if there is one, so that either alone is not enough.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct TokenKey([u8; 32]);

impl fmt::Debug for TokenKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TokenKey(secret)")
    }
}

impl TokenKey {
    /// The key of a token, for processes that share `secret`.
    pub fn of(token: &Token, secret: Option<&Secret>) -> TokenKey {
        let mut key = [0; 32];
        match secret {
            Some(secret) => {
                let mut context = hmac::Context::with_key(&hmac::Key::new(hmac::HMAC_SHA256, &secret.0));
                context.update(b"fishplate token");
                context.update(&token.0);
                key.copy_from_slice(context.sign().as_ref());
            }
            // HMAC ignores zeros at the end of a key.
            None => key[..token.0.len()].copy_from_slice(&token.0),
        }
        TokenKey(key)
    }

    /// The key.
    pub fn bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

/// Checks that only the user `me` and root can access a file with this owner and mode.
fn check_access(owner: u32, me: u32, mode: u32) -> Result<(), SecretError> {
    if owner != me && owner != 0 {
        return Err(SecretError::Owner(owner));
    }
    if mode & 0o077 != 0 {
        return Err(SecretError::Mode(mode));
    }
    Ok(())
}

/// The problem with the file at `path`, if there is one.
pub fn complaint(path: &str) -> Option<String> {
    Secret::read(Path::new(path)).err().map(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use std::path::PathBuf;

    use super::*;

    /// A file with these bytes and this mode.
    fn file(name: &str, bytes: &[u8], mode: u32) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("fishplate-secret-{}-{name}", std::process::id()));
        let _ = fs::remove_file(&folder);
        fs::write(&folder, bytes).unwrap();
        fs::set_permissions(&folder, fs::Permissions::from_mode(mode)).unwrap();
        folder
    }

    fn read(name: &str, bytes: &[u8], mode: u32) -> Result<Secret, String> {
        let path = file(name, bytes, mode);
        let read = Secret::read(&path).map_err(|error| error.to_string());
        fs::remove_file(path).unwrap();
        read
    }

    #[test]
    fn a_file_of_ones_own_is_taken_and_every_bit_of_it_counts() {
        let secrets = [[1; 32], [2; 32]].map(|bytes| read("own", &bytes, 0o600).unwrap());
        assert_ne!(secrets[0], secrets[1]);
        assert_eq!(read("read-only", &[1; 32], 0o400), Ok(secrets[0]));
        assert!(!format!("{:?}", secrets[0]).contains(char::is_numeric));
    }

    #[test]
    fn each_file_that_is_not_used_is_reported_with_the_reason() {
        let cases = [
            (read("short", &[7; 15], 0o600), "it has 15 bytes, and a secret has 16 to 4096"),
            (read("long", &[7; 5000], 0o600), "it has 4097 bytes"),
            (read("group", &[7; 32], 0o640), "its mode is 0640 (`chmod 600` makes it right)"),
            (read("world", &[7; 32], 0o602), "its mode is 0602"),
            (Secret::read(Path::new("/no/such/file")).map_err(|error| error.to_string()), "it cannot be read: No such"),
            (Secret::read(Path::new("/")).map_err(|error| error.to_string()), "it is no file"),
            (Secret::read(Path::new("/dev/null")).map_err(|error| error.to_string()), "it is no file"),
        ];
        for (got, expected) in cases {
            let error = got.unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn files_of_other_users_are_not_taken_but_those_of_root() {
        assert!(check_access(1000, 1000, 0o600).is_ok() && check_access(0, 1000, 0o400).is_ok());
        let error = check_access(1001, 1000, 0o600).unwrap_err().to_string();
        assert_eq!(error, "it belongs to user 1001, which is neither that of this process nor root");
    }
}
