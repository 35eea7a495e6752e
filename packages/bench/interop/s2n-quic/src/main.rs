//! s2n-quic as client and server of `hq-interop`, for the interoperability tests. See USAGE.

mod client;
#[path = "../../counting_verifier.rs"]
mod counting_verifier;
mod server;
mod tls;

type Failure = Box<dyn std::error::Error + Send + Sync>;

const USAGE: &str = "\
usage: s2n-quic-interop TLS download [flags] ADDRESS PATH…       all paths at once over one connection
       s2n-quic-interop TLS serve CERTIFICATE KEY [--retry]      GET /bytes/N; prints `ready PORT`
TLS: s2n-tls or rustls
flags of download:
  --authority FILE  whose certificates to take
  --connections N   connections one after the other, each with all downloads
  --resume          keep tickets from one connection to the next
  --large-hello     a ClientHello that does not fit into one datagram";

const ALPN: &str = "hq-interop";

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let Err(error) = run(&arguments).await {
        eprintln!("{error}: {error:?}");
        std::process::exit(1);
    }
}

async fn run(arguments: &[String]) -> Result<(), Failure> {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let [tls, role, rest @ ..] = words.as_slice() else { return Err(USAGE.into()) };
    let tls = tls::Kind::parse(tls).ok_or(USAGE)?;
    match (*role, rest) {
        ("download", rest) => client::run(tls, client::Options::parse(rest).ok_or(USAGE)?).await,
        ("serve", [certificate, key]) => server::run(tls, certificate, key, false).await,
        ("serve", [certificate, key, "--retry"]) => server::run(tls, certificate, key, true).await,
        _ => Err(USAGE.into()),
    }
}
