//! The UDP socket of an endpoint.

use crate::Failure;
use noq::{Endpoint, EndpointConfig, ServerConfig, TokioRuntime};
use socket2::{Domain, Protocol, Socket, Type};
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;

/// Several paths fill one socket at a time, which overflows the system's default.
const BUFFER: usize = 4 << 20;

/// UDP payload of a jumbo frame: 9000 bytes with the headers of IPv6 and UDP. Sheaf sends them on paths within a machine,
/// and noq takes them.
const JUMBO: u16 = 8952;

/// An endpoint that is bound to `address`.
pub fn endpoint(address: SocketAddr, server: Option<ServerConfig>) -> Result<Endpoint, Failure> {
    let mut config = EndpointConfig::default();
    config.max_udp_payload_size(JUMBO)?;
    Ok(Endpoint::new(config, server, bind(address)?, Arc::new(TokioRuntime))?)
}

pub fn bind(address: SocketAddr) -> Result<UdpSocket, Failure> {
    let socket = Socket::new(Domain::for_address(address), Type::DGRAM, Some(Protocol::UDP))?;
    // The system grants what it permits.
    socket.set_recv_buffer_size(BUFFER)?;
    socket.set_send_buffer_size(BUFFER)?;
    socket.bind(&address.into())?;
    Ok(socket.into())
}
