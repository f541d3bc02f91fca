//! Lets the linker keep what the page and small embeds are split by, `cargo xtask finish`, where `main.rs` and
//! `light_embed.rs` have lazy functions.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var_os("PROFILE").is_some_and(|profile| profile == "release") {
        for program in ["page", "light-embed"] {
            println!("cargo::rustc-link-arg-bin={program}=--emit-relocs");
        }
    }
}
