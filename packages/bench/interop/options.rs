//! What the downloads that all implementations are tried with take as arguments.

use std::path::PathBuf;

#[derive(Default)]
pub struct Options {
    pub connections: usize,
    pub resume: bool,
    pub early: bool,
    pub large_hello: bool,
    pub key_update: bool,
    pub migrate: bool,
    pub authority: PathBuf,
    pub address: String,
    pub paths: Vec<String>,
}

impl Options {
    pub fn parse(words: &[&str]) -> Option<Options> {
        let mut options = Options { connections: 1, ..Options::default() };
        let mut words = words.iter();
        while let Some(word) = words.next() {
            match *word {
                "--connections" => options.connections = words.next()?.parse().ok()?,
                "--authority" => options.authority = words.next()?.into(),
                "--resume" => options.resume = true,
                "--early" => options.early = true,
                "--large-hello" => options.large_hello = true,
                "--key-update" => options.key_update = true,
                "--migrate" => options.migrate = true,
                address if options.address.is_empty() => options.address = address.into(),
                path => options.paths.push(path.into()),
            }
        }
        (!options.address.is_empty()).then_some(options)
    }
}
