//! Error numbers. Functions return them negated; those below 256 are the system's (Linux).

pub const FI_ENOENT: i32 = 2;
pub const FI_EIO: i32 = 5;
pub const FI_EAGAIN: i32 = 11;
pub const FI_ENOMEM: i32 = 12;
pub const FI_EBUSY: i32 = 16;
pub const FI_EINVAL: i32 = 22;
pub const FI_ENOSYS: i32 = 38;
pub const FI_ENOMSG: i32 = 42;
pub const FI_ENODATA: i32 = 61;
pub const FI_EMSGSIZE: i32 = 90;
pub const FI_ENOPROTOOPT: i32 = 92;
pub const FI_EOPNOTSUPP: i32 = 95;
pub const FI_EADDRNOTAVAIL: i32 = 99;
pub const FI_ENETDOWN: i32 = 100;
pub const FI_ECONNRESET: i32 = 104;
pub const FI_ETIMEDOUT: i32 = 110;
pub const FI_ECANCELED: i32 = 125;
pub const FI_EOTHER: i32 = 256;
pub const FI_ETOOSMALL: i32 = 257;
pub const FI_EOPBADSTATE: i32 = 258;
pub const FI_EAVAIL: i32 = 259;
pub const FI_EBADFLAGS: i32 = 260;
pub const FI_ENOCQ: i32 = 263;
pub const FI_ETRUNC: i32 = 265;
pub const FI_ENOAV: i32 = 267;
