//! Lets the linker keep what the page is split by, `cargo xtask finish`, where `main.rs` has lazy functions.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var_os("PROFILE").is_some_and(|profile| profile == "release") {
        println!("cargo::rustc-link-arg-bin=page=--emit-relocs");
    }
}
