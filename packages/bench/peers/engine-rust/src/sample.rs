//! What one transfer cost, in the form that `sheaf bench engine` reads.

use std::time::{Duration, Instant};

pub const PACKET_SIZE: usize = 1350;
pub const BATCH_PACKETS: usize = 32;
pub const PACKETS_PER_ACK: usize = 2;
/// Bytes that the application keeps queued in front of the engine: enough for one batch.
pub const WRITE_AHEAD: usize = 64 * 1024;
/// Sent before the measurement on the same connection, so that allocations and windows have settled.
pub const WARM_UP_BYTES: usize = 2_000_000;

/// What one of several receivers gets in its turn.
const TURN_BYTES: usize = 10 * WRITE_AHEAD;

#[derive(Default)]
pub struct Sample {
    pub generation: Duration,
    pub processing: Duration,
    pub server_ack: Duration,
    pub client_ack: Duration,
    pub stream_write: Duration,
    pub bytes: u64,
    pub packets: u64,
    pub acks: u64,
}

impl Sample {
    fn add(&mut self, other: &Sample) {
        self.generation += other.generation;
        self.processing += other.processing;
        self.server_ack += other.server_ack;
        self.client_ack += other.client_ack;
        self.stream_write += other.stream_write;
        self.packets += other.packets;
        self.acks += other.acks;
    }

    pub fn to_json(&self) -> serde_json::Value {
        serde_json::json!({
            "generation_ns": self.generation.as_nanos() as u64,
            "processing_ns": self.processing.as_nanos() as u64,
            "server_ack_ns": self.server_ack.as_nanos() as u64,
            "client_ack_ns": self.client_ack.as_nanos() as u64,
            "stream_write_ns": self.stream_write.as_nanos() as u64,
            "bytes": self.bytes,
            "packets": self.packets,
            "acks": self.acks,
        })
    }
}

/// Adds the time that `work` takes to `total`.
pub fn timed<T>(total: &mut Duration, work: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let result = work();
    *total += start.elapsed();
    result
}

/// Sends `bytes` to each of the receivers, in turns. The sample counts the bytes of one of them.
pub fn in_turns(receivers: usize, bytes: usize, mut transfer: impl FnMut(usize, usize, bool) -> Sample) -> Sample {
    if receivers == 1 {
        return transfer(0, bytes, true);
    }
    let mut total = Sample::default();
    let mut sent = 0;
    while sent < bytes {
        let turn = TURN_BYTES.min(bytes - sent);
        for receiver in 0..receivers {
            total.add(&transfer(receiver, turn, false));
        }
        sent += turn;
    }
    total.bytes = sent as u64;
    total
}
