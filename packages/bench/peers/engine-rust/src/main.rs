//! `engine-rust LIBRARY RUNS BYTES [RECEIVERS]`: one JSON line with a sample per run.

mod certificate;
mod quiche_engine;
mod quinn_engine;
mod sample;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [library, runs, bytes, receivers @ ..] = arguments.as_slice() else {
        eprintln!("usage: engine-rust quiche|quinn-proto RUNS BYTES [RECEIVERS]");
        std::process::exit(2);
    };
    let (run, version): (fn(&certificate::Certificate, usize, usize) -> sample::Sample, &str) = match library.as_str() {
        "quiche" => (quiche_engine::run, env!("QUICHE_VERSION")),
        "quinn-proto" => (quinn_engine::run, env!("QUINN_PROTO_VERSION")),
        _ => {
            eprintln!("unknown library '{library}': quiche or quinn-proto");
            std::process::exit(2);
        }
    };
    let runs: usize = runs.parse().expect("RUNS is a number");
    let bytes: usize = bytes.parse().expect("BYTES is a number");
    let receivers: usize = receivers.first().map_or(1, |number| number.parse().expect("RECEIVERS is a number"));
    let certificate = certificate::self_signed();
    let samples: Vec<_> = (0..runs).map(|_| run(&certificate, bytes, receivers).to_json()).collect();
    println!("{}", serde_json::json!({ "library": library, "version": version, "samples": samples }));
}
