//! What the server answers to `/BYTES`: the same bytes as interop/aioquic_server.py.

use bytes::Bytes;

const PERIOD: usize = 251;

fn pattern() -> Bytes {
    (0..PERIOD * 256).map(|index| (index % PERIOD * 31 % PERIOD) as u8).collect()
}

/// Parts of a body of `count` bytes. They share their memory.
pub fn parts(count: u64) -> impl Iterator<Item = Bytes> {
    let pattern = pattern();
    let whole = count / pattern.len() as u64;
    let rest = pattern.slice(..(count % pattern.len() as u64) as usize);
    std::iter::repeat_n(pattern, whole as usize).chain(std::iter::once(rest))
}
