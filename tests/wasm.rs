//! The core as browsers compute it: what must come out the same as natively, run in wasm.
//!
//! `cargo test --target wasm32-unknown-unknown --package megatron-memory-api --test wasm`
#![cfg(target_arch = "wasm32")]
#![allow(missing_docs, clippy::float_arithmetic, reason = "tests")]

use megatron_memory::value::Value;
use megatron_memory_api as api;
use wasm_bindgen_test::wasm_bindgen_test;

#[wasm_bindgen_test]
fn the_api_knows_its_version() {
    assert_eq!(api::version(), env!("CARGO_PKG_VERSION"));
}

#[wasm_bindgen_test]
fn numbers_print_as_they_do_natively() {
    assert_eq!(Value::Float(0.1 + 0.2).to_string(), "0.30000000000000004");
    assert_eq!(
        Value::Int(i128::MAX).to_string(),
        "170141183460469231731687303715884105727"
    );
}
