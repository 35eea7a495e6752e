//! The two TLS libraries.

use crate::server::Retry;
use crate::{Failure, ALPN};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::WebPkiServerVerifier;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};
use s2n_quic::provider::tls as providers;
use s2n_quic::{Client, Server};
use s2n_tls::callbacks::{ConnectionFuture, SessionTicket, SessionTicketCallback, VerifyHostNameCallback};
use s2n_tls::config::ConnectionInitializer;
use s2n_tls::connection::Connection;
use std::path::Path;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

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

/// How many certificates were shown to a client.
#[derive(Clone, Debug, Default)]
pub struct Count(Arc<AtomicUsize>);

impl Count {
    pub fn get(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }

    fn add(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
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
            let tls = providers::s2n_tls::Server::builder().with_certificate(certificate, key)?.with_application_protocols([ALPN])?;
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
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter(authority)? {
        roots.add(certificate?)?;
    }
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let verifier = WebPkiServerVerifier::builder_with_provider(roots.into(), provider.clone()).build()?;
    let mut tls = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Counting { verifier, count }))
        .with_no_client_auth();
    tls.alpn_protocols = protocols.into_iter().map(String::into_bytes).collect();
    if !resume {
        tls.resumption = rustls::client::Resumption::disabled();
    }
    Ok(tls.into())
}

/// Counts the certificates that it verifies.
#[derive(Debug)]
struct Counting {
    verifier: Arc<WebPkiServerVerifier>,
    count: Count,
}

impl ServerCertVerifier for Counting {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        self.count.add();
        self.verifier.verify_server_cert(end_entity, intermediates, name, ocsp, now)
    }

    fn verify_tls12_signature(&self, message: &[u8], certificate: &CertificateDer<'_>, signature: &DigitallySignedStruct) -> Result<HandshakeSignatureValid, Error> {
        self.verifier.verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(&self, message: &[u8], certificate: &CertificateDer<'_>, signature: &DigitallySignedStruct) -> Result<HandshakeSignatureValid, Error> {
        self.verifier.verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.verifier.supported_verify_schemes()
    }
}
