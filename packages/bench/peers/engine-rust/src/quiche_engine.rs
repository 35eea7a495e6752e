//! quiche: one `send` per packet, Reno with a large initial window, pacing and HyStart++ off.

use crate::certificate::Certificate;
use crate::sample::*;
use quiche::{CongestionControlAlgorithm, Config, Connection, ConnectionId, RecvInfo};
use std::net::SocketAddr;

const WINDOW: u64 = 1 << 40;
const STREAM: u64 = 0;

struct Pair {
    client: Connection,
    server: Connection,
    client_address: SocketAddr,
    server_address: SocketAddr,
}

fn configure(certificate: Option<&Certificate>) -> Config {
    let mut config = Config::new(quiche::PROTOCOL_VERSION).unwrap();
    if let Some(certificate) = certificate {
        let folder = std::env::temp_dir().join(format!("engine-bench-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let (chain, key) = (folder.join("cert.pem"), folder.join("key.pem"));
        std::fs::write(&chain, &certificate.certificate_pem).unwrap();
        std::fs::write(&key, &certificate.key_pem).unwrap();
        config.load_cert_chain_from_pem_file(chain.to_str().unwrap()).unwrap();
        config.load_priv_key_from_pem_file(key.to_str().unwrap()).unwrap();
        std::fs::remove_dir_all(&folder).unwrap();
    }
    config.verify_peer(false);
    config.set_application_protos(&[b"bench"]).unwrap();
    config.set_max_recv_udp_payload_size(PACKET_SIZE);
    config.set_max_send_udp_payload_size(PACKET_SIZE);
    config.discover_pmtu(false);
    config.grease(false);
    config.set_initial_max_data(WINDOW);
    config.set_initial_max_stream_data_bidi_local(WINDOW);
    config.set_initial_max_stream_data_bidi_remote(WINDOW);
    config.set_max_connection_window(WINDOW);
    config.set_max_stream_window(WINDOW);
    config.set_initial_max_streams_bidi(16);
    config.set_cc_algorithm(CongestionControlAlgorithm::Reno);
    config.set_initial_congestion_window_packets(1 << 20);
    config.enable_hystart(false);
    config.enable_pacing(false);
    config
}

impl Pair {
    fn connect(certificate: &Certificate) -> Self {
        let client_address: SocketAddr = "127.0.0.1:1111".parse().unwrap();
        let server_address: SocketAddr = "127.0.0.1:2222".parse().unwrap();
        let (client_id, server_id) = ([1u8; 8], [2u8; 8]);
        let client = quiche::connect(
            Some("localhost"),
            &ConnectionId::from_ref(&client_id),
            client_address,
            server_address,
            &mut configure(None),
        )
        .unwrap();
        let server = quiche::accept(
            &ConnectionId::from_ref(&server_id),
            None,
            server_address,
            client_address,
            &mut configure(Some(certificate)),
        )
        .unwrap();
        let mut pair = Pair { client, server, client_address, server_address };
        pair.settle();
        assert!(pair.client.is_established() && pair.server.is_established());
        pair.client.stream_send(STREAM, b"request", true).unwrap();
        pair.settle();
        let mut request = [0; 64];
        pair.server.stream_recv(STREAM, &mut request).unwrap();
        pair.settle();
        pair
    }

    fn to_client(&self) -> RecvInfo {
        RecvInfo { from: self.server_address, to: self.client_address }
    }

    fn to_server(&self) -> RecvInfo {
        RecvInfo { from: self.client_address, to: self.server_address }
    }

    /// Exchanges packets until neither side has one.
    fn settle(&mut self) {
        let mut packet = [0; PACKET_SIZE];
        loop {
            let mut quiet = true;
            while let Ok((length, _)) = self.client.send(&mut packet) {
                quiet = false;
                let info = self.to_server();
                self.server.recv(&mut packet[..length], info).unwrap();
            }
            while let Ok((length, _)) = self.server.send(&mut packet) {
                quiet = false;
                let info = self.to_client();
                self.client.recv(&mut packet[..length], info).unwrap();
            }
            if quiet {
                return;
            }
        }
    }

    fn transfer(&mut self, bytes: usize, fin: bool) -> Sample {
        let data = vec![0x5a; WRITE_AHEAD];
        let mut packets = vec![[0u8; PACKET_SIZE]; BATCH_PACKETS];
        let mut lengths = [0; BATCH_PACKETS];
        let mut acks = vec![[0u8; PACKET_SIZE]; BATCH_PACKETS];
        let mut sink = vec![0; WRITE_AHEAD];
        let mut sample = Sample::default();
        let (mut written, mut read) = (0, 0);
        let (to_client, to_server) = (self.to_client(), self.to_server());
        while read < bytes {
            while written < bytes && written - read < WRITE_AHEAD {
                let length = (WRITE_AHEAD - (written - read)).min(bytes - written);
                let end = fin && written + length == bytes;
                let taken = timed(&mut sample.stream_write, || self.server.stream_send(STREAM, &data[..length], end));
                written += taken.expect("the window does not bind");
            }
            let count = timed(&mut sample.generation, || {
                let mut count = 0;
                while count < BATCH_PACKETS {
                    match self.server.send(&mut packets[count]) {
                        Ok((length, _)) => lengths[count] = length,
                        Err(quiche::Error::Done) => break,
                        Err(error) => panic!("send: {error}"),
                    }
                    count += 1;
                }
                count
            });
            assert!(count > 0);
            sample.packets += count as u64;
            let mut ack_lengths = Vec::with_capacity(BATCH_PACKETS);
            for start in (0..count).step_by(PACKETS_PER_ACK) {
                timed(&mut sample.processing, || {
                    for index in start..(start + PACKETS_PER_ACK).min(count) {
                        self.client.recv(&mut packets[index][..lengths[index]], to_client).unwrap();
                    }
                });
                let ack = &mut acks[ack_lengths.len()];
                match timed(&mut sample.client_ack, || self.client.send(ack)) {
                    Ok((length, _)) => ack_lengths.push(length),
                    Err(error) => assert_eq!(error, quiche::Error::Done),
                }
            }
            read += timed(&mut sample.processing, || {
                let mut received = 0;
                while let Ok((length, _)) = self.client.stream_recv(STREAM, &mut sink) {
                    received += length;
                }
                received
            });
            sample.acks += ack_lengths.len() as u64;
            timed(&mut sample.server_ack, || {
                for (ack, length) in acks.iter_mut().zip(&ack_lengths) {
                    self.server.recv(&mut ack[..*length], to_server).unwrap();
                }
            });
        }
        sample.bytes = read as u64;
        sample
    }
}

pub fn run(certificate: &Certificate, bytes: usize, receivers: usize) -> Sample {
    let mut pairs: Vec<Pair> = (0..receivers).map(|_| Pair::connect(certificate)).collect();
    for pair in &mut pairs {
        pair.transfer(WARM_UP_BYTES, false);
    }
    in_turns(receivers, bytes, |receiver, turn, fin| pairs[receiver].transfer(turn, fin))
}
