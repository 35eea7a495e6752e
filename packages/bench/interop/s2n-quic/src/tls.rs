//! The two TLS libraries.

use crate::counting_verifier::{self, Count};
use crate::server::Retry;
use crate::{Failure, ALPN};
use rustls::ClientConfig;
use s2n_quic::provider::tls as providers;
use s2n_quic::{Client, Server};
use s2n_tls::callbacks::{ConnectionFuture, SessionTicket, SessionTicketCallback, VerifyHostNameCallback};
use s2n_tls::config::ConnectionInitializer;
use s2n_tls::connection::Connection;
use std::path::Path;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::SystemTime;

const ANY_PORT: &str = "127.0.0.1:0";
pub const HOST: &str = "localhost";

#[derive(Clone, Copy)]
pub enum Kind {
    S2nTls,
    Rustls,
}

impl Kind {
    pub fn parse(name: &str) -> Option<Kind> {
        match name {
            "s2n-tls" => Some(Kind::S2nTls),
            "rustls" => Some(Kind::Rustls),
            _ => None,
        }
    }
}

impl VerifyHostNameCallback for Count {
    fn verify_host_name(&self, name: &str) -> bool {
        self.add();
        name == HOST
    }
}

fn protocols(large_hello: bool) -> Vec<String> {
    let padding = if large_hello { 100 } else { 0 };
    std::iter::once(ALPN.to_string()).chain((0..padding).map(|index| format!("padding-{index:02}"))).collect()
}

pub fn client(kind: Kind, authority: &Path, resume: bool, large_hello: bool) -> Result<(Client, Count), Failure> {
    let count = Count::default();
    let protocols = protocols(large_hello);
    let builder = Client::builder().with_io(ANY_PORT)?;
    let client = match kind {
        Kind::S2nTls => builder.with_tls(s2n_client(authority, protocols, resume, count.clone())?)?.start()?,
        Kind::Rustls => builder.with_tls(rustls_client(authority, protocols, resume, count.clone())?)?.start()?,
    };
    Ok((client, count))
}

pub fn server(kind: Kind, certificate: &Path, key: &Path, retry: Retry) -> Result<Server, Failure> {
    let builder = Server::builder().with_io(ANY_PORT)?.with_endpoint_limits(retry)?;
    Ok(match kind {
        Kind::S2nTls => {
            let mut tls = providers::s2n_tls::Server::builder().with_certificate(certificate, key)?.with_application_protocols([ALPN])?;
            // For as long as the program runs.
            tls.config_mut().enable_session_tickets(true)?.add_session_ticket_key(b"tickets", &[7; 32], SystemTime::now())?;
            builder.with_tls(tls.build()?)?.start()?
        }
        Kind::Rustls => {
            let tls = providers::rustls::Server::builder().with_certificate(certificate, key)?.with_application_protocols([ALPN].iter())?;
            builder.with_tls(tls.build()?)?.start()?
        }
    })
}

fn s2n_client(authority: &Path, protocols: Vec<String>, resume: bool, count: Count) -> Result<providers::s2n_tls::Client, Failure> {
    let mut builder = providers::s2n_tls::Client::builder()
        .with_application_protocols(protocols)?
        .with_certificate(authority)?
        .with_verify_host_name_callback(count)?;
    if resume {
        let tickets = Tickets::default();
        let config = builder.config_mut();
        config.enable_session_tickets(true)?.set_session_ticket_callback(tickets.clone())?.set_connection_initializer(tickets)?;
    }
    Ok(builder.build()?)
}

/// The newest ticket of the server.
#[derive(Clone, Default)]
struct Tickets(Arc<Mutex<Option<Vec<u8>>>>);

impl SessionTicketCallback for Tickets {
    fn on_session_ticket(&self, _: &mut Connection, ticket: &SessionTicket) {
        let mut bytes = vec![0; ticket.len().unwrap_or(0)];
        if ticket.data(&mut bytes).is_ok() {
            *self.0.lock().unwrap() = Some(bytes);
        }
    }
}

impl ConnectionInitializer for Tickets {
    fn initialize_connection(&self, connection: &mut Connection) -> Result<Option<Pin<Box<dyn ConnectionFuture>>>, s2n_tls::error::Error> {
        if let Some(ticket) = self.0.lock().unwrap().as_deref() {
            connection.set_session_ticket(ticket)?;
        }
        Ok(None)
    }
}

fn rustls_client(authority: &Path, protocols: Vec<String>, resume: bool, count: Count) -> Result<providers::rustls::Client, Failure> {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let verifier = counting_verifier::trusting(authority, provider.clone(), count)?;
    let mut tls = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .dangerous()
        .with_custom_certificate_verifier(verifier)
        .with_no_client_auth();
    tls.alpn_protocols = protocols.into_iter().map(String::into_bytes).collect();
    if !resume {
        tls.resumption = rustls::client::Resumption::disabled();
    }
    Ok(tls.into())
}
