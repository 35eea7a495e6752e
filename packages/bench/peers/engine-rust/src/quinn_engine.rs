//! quinn-proto with aws-lc-rs: a controller that never limits, batches by its segmentation offload
//! interface, stream data written as shared `Bytes` and read as chunks (no copy on either side).

use crate::certificate::Certificate;
use crate::sample::*;
use bytes::{Bytes, BytesMut};
use quinn_proto::congestion::{Controller, ControllerFactory};
use quinn_proto::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use quinn_proto::{
    ClientConfig, Connection, ConnectionEvent, ConnectionHandle, DatagramEvent, Dir, Endpoint,
    EndpointConfig, ServerConfig, StreamId, TransportConfig, VarInt,
};
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};
use std::any::Any;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

#[derive(Clone, Default)]
struct Unlimited;

impl Controller for Unlimited {
    fn on_congestion_event(&mut self, _: Instant, _: Instant, _: bool, _: u64) {}
    fn on_mtu_update(&mut self, _: u16) {}
    fn window(&self) -> u64 {
        1 << 40
    }
    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }
    fn initial_window(&self) -> u64 {
        1 << 40
    }
    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

impl ControllerFactory for Unlimited {
    fn build(self: Arc<Self>, _: Instant, _: u16) -> Box<dyn Controller> {
        Box::new(Unlimited)
    }
}

struct Side {
    endpoint: Endpoint,
    handle: ConnectionHandle,
    connection: Connection,
    peer: SocketAddr,
}

struct Pair {
    client: Side,
    server: Side,
    stream: StreamId,
}

fn transport() -> Arc<TransportConfig> {
    let mut transport = TransportConfig::default();
    transport
        .initial_mtu(PACKET_SIZE as u16)
        .min_mtu(PACKET_SIZE as u16)
        .mtu_discovery_config(None)
        .stream_receive_window(VarInt::MAX)
        .receive_window(VarInt::MAX)
        .send_window(1 << 40)
        .congestion_controller_factory(Arc::new(Unlimited));
    Arc::new(transport)
}

fn tls(certificate: &Certificate) -> (ServerConfig, ClientConfig) {
    let mut provider = rustls::crypto::aws_lc_rs::default_provider();
    provider.cipher_suites = vec![rustls::crypto::aws_lc_rs::cipher_suite::TLS13_AES_128_GCM_SHA256];
    let provider = Arc::new(provider);
    let chain = CertificateDer::from(certificate.certificate_der.clone());
    let key = PrivatePkcs8KeyDer::from(certificate.key_der.clone());
    let server = rustls::ServerConfig::builder_with_provider(provider.clone())
        .with_protocol_versions(&[&rustls::version::TLS13])
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![chain.clone()], key.into())
        .unwrap();
    let mut roots = rustls::RootCertStore::empty();
    roots.add(chain).unwrap();
    let client = rustls::ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let mut server = ServerConfig::with_crypto(Arc::new(QuicServerConfig::try_from(server).unwrap()));
    server.transport_config(transport());
    let mut client = ClientConfig::new(Arc::new(QuicClientConfig::try_from(client).unwrap()));
    client.transport_config(transport());
    (server, client)
}

impl Side {
    /// Every datagram that is ready now.
    fn drain(&mut self, now: Instant) -> Vec<BytesMut> {
        let mut found = Vec::new();
        let mut buffer = Vec::new();
        while let Some(transmit) = self.connection.poll_transmit(now, BATCH_PACKETS, &mut buffer) {
            let segment = transmit.segment_size.unwrap_or(transmit.size);
            found.extend(buffer[..transmit.size].chunks(segment).map(BytesMut::from));
            buffer.clear();
        }
        found
    }

    fn receive(&mut self, now: Instant, datagram: BytesMut, scratch: &mut Vec<u8>) {
        if let Some(DatagramEvent::ConnectionEvent(_, event)) =
            self.endpoint.handle(now, self.peer, None, None, datagram, scratch)
        {
            self.connection.handle_event(event);
        }
    }

    fn exchange_events(&mut self) {
        while let Some(event) = self.connection.poll_endpoint_events() {
            let reply: Option<ConnectionEvent> = self.endpoint.handle_event(self.handle, event);
            if let Some(reply) = reply {
                self.connection.handle_event(reply);
            }
        }
        while self.connection.poll().is_some() {}
    }
}

impl Pair {
    fn connect(certificate: &Certificate) -> Self {
        let now = Instant::now();
        let (server_config, client_config) = tls(certificate);
        let mut endpoint_config = EndpointConfig::default();
        endpoint_config.max_udp_payload_size(PACKET_SIZE as u16).unwrap();
        let endpoint_config = Arc::new(endpoint_config);
        let client_address: SocketAddr = "127.0.0.1:1111".parse().unwrap();
        let server_address: SocketAddr = "127.0.0.1:2222".parse().unwrap();
        let mut client_endpoint = Endpoint::new(endpoint_config.clone(), None, true, None);
        let mut server_endpoint = Endpoint::new(endpoint_config, Some(Arc::new(server_config)), true, None);
        let (handle, connection) = client_endpoint.connect(now, client_config, server_address, "localhost").unwrap();
        let mut client = Side { endpoint: client_endpoint, handle, connection, peer: server_address };

        let mut scratch = Vec::new();
        let mut accepted = None;
        for datagram in client.drain(now) {
            match server_endpoint.handle(now, client_address, None, None, datagram, &mut scratch) {
                Some(DatagramEvent::NewConnection(incoming)) => {
                    accepted = server_endpoint.accept(incoming, now, &mut scratch, None).ok();
                }
                Some(DatagramEvent::ConnectionEvent(_, event)) => {
                    if let Some((_, connection)) = accepted.as_mut() {
                        connection.handle_event(event);
                    }
                }
                _ => {}
            }
        }
        let (handle, connection) = accepted.expect("the server accepts");
        let server = Side { endpoint: server_endpoint, handle, connection, peer: client_address };
        let mut pair = Pair { client, server, stream: StreamId::new(quinn_proto::Side::Client, Dir::Bi, 0) };
        pair.settle();
        pair.stream = pair.client.connection.streams().open(Dir::Bi).expect("stream");
        let stream = pair.stream;
        pair.client.connection.send_stream(stream).write(b"request").unwrap();
        pair.client.connection.send_stream(stream).finish().unwrap();
        pair.settle();
        pair.server.connection.streams().accept(Dir::Bi).expect("request");
        pair
    }

    fn settle(&mut self) {
        let mut scratch = Vec::new();
        loop {
            let now = Instant::now();
            let to_server = self.client.drain(now);
            let to_client = self.server.drain(now);
            let quiet = to_server.is_empty() && to_client.is_empty();
            for datagram in to_server {
                self.server.receive(now, datagram, &mut scratch);
            }
            for datagram in to_client {
                self.client.receive(now, datagram, &mut scratch);
            }
            self.client.exchange_events();
            self.server.exchange_events();
            if quiet {
                return;
            }
        }
    }

    fn transfer(&mut self, bytes: usize, fin: bool) -> Sample {
        let data = Bytes::from(vec![0x5a; WRITE_AHEAD]);
        let mut sample = Sample::default();
        let (mut written, mut read) = (0, 0);
        let mut batch = Vec::with_capacity(BATCH_PACKETS * PACKET_SIZE);
        let mut ack = Vec::with_capacity(PACKET_SIZE);
        let mut scratch = Vec::new();
        while read < bytes {
            if written < bytes && written - read < WRITE_AHEAD {
                let length = (WRITE_AHEAD - (written - read)).min(bytes - written);
                timed(&mut sample.stream_write, || {
                    let mut stream = self.server.connection.send_stream(self.stream);
                    let taken = stream.write_chunks(&mut [data.slice(..length)]).expect("the window does not bind");
                    written += taken.bytes;
                    if fin && written == bytes {
                        stream.finish().unwrap();
                    }
                });
            }
            let now = Instant::now();
            batch.clear();
            let transmit = timed(&mut sample.generation, || self.server.connection.poll_transmit(now, BATCH_PACKETS, &mut batch))
                .expect("there is data");
            let segment = transmit.segment_size.unwrap_or(transmit.size);
            let mut datagrams: Vec<Option<BytesMut>> =
                batch[..transmit.size].chunks(segment).map(|datagram| Some(BytesMut::from(datagram))).collect();
            sample.packets += datagrams.len() as u64;
            let now = Instant::now();
            let mut acks = Vec::with_capacity(BATCH_PACKETS);
            for pair in datagrams.chunks_mut(PACKETS_PER_ACK) {
                timed(&mut sample.processing, || {
                    for datagram in pair.iter_mut() {
                        self.client.receive(now, datagram.take().unwrap(), &mut scratch);
                    }
                });
                ack.clear();
                if timed(&mut sample.client_ack, || self.client.connection.poll_transmit(now, 1, &mut ack)).is_some() {
                    acks.push(BytesMut::from(&ack[..]));
                }
            }
            read += timed(&mut sample.processing, || {
                self.client.exchange_events();
                self.read_stream()
            });
            sample.acks += acks.len() as u64;
            timed(&mut sample.server_ack, || {
                for ack in acks {
                    self.server.receive(now, ack, &mut scratch);
                }
                self.server.exchange_events();
            });
        }
        sample.bytes = read as u64;
        sample
    }

    fn read_stream(&mut self) -> usize {
        let mut stream = self.client.connection.recv_stream(self.stream);
        let Ok(mut chunks) = stream.read(true) else { return 0 };
        let mut received = 0;
        while let Ok(Some(chunk)) = chunks.next(usize::MAX) {
            received += chunk.bytes.len();
        }
        let _ = chunks.finalize();
        received
    }
}

pub fn run(certificate: &Certificate, bytes: usize, receivers: usize) -> Sample {
    let mut pairs: Vec<Pair> = (0..receivers).map(|_| Pair::connect(certificate)).collect();
    for pair in &mut pairs {
        pair.transfer(WARM_UP_BYTES, false);
    }
    in_turns(receivers, bytes, |receiver, turn, fin| pairs[receiver].transfer(turn, fin))
}
