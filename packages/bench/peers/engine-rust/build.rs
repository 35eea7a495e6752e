//! Hands the versions in Cargo.lock to the program, which reports them.

fn main() {
    println!("cargo:rerun-if-changed=../Cargo.lock");
    let lock = std::fs::read_to_string("../Cargo.lock").expect("Cargo.lock");
    for (name, variable) in [("quiche", "QUICHE_VERSION"), ("quinn-proto", "QUINN_PROTO_VERSION")] {
        let entry = lock.split("[[package]]").find(|entry| entry.contains(&format!("name = \"{name}\"\n")));
        let version = entry.and_then(|entry| entry.split("version = \"").nth(1)?.split('"').next());
        println!("cargo:rustc-env={variable}={}", version.expect("a locked version"));
    }
}
