//! The floating-point operations of a step beside Megatron's own count, by which its logs give TFLOP/s.

use megatron_memory::config::check;
use megatron_memory::config::fields::FieldId;
use megatron_memory::memory::estimate;
use megatron_memory::presets::by_id;
use megatron_memory::time::hardware::Hardware;
use megatron_memory::time::{Nominal, Software};
use megatron_memory::value::Value;

use crate::oracle;

/// Presets whose operations Megatron counts otherwise, by how their names begin, and the part of Megatron's count that
/// they have here, from and to.
const COUNTED_OTHERWISE: &[(&str, [f64; 2])] = &[
    // Megatron takes an MLP for a gated one only with SwiGLU: of the three products of GeGLU and the clamped GLU it
    // counts two.
    ("gemma", [1.2, 1.4]),
    ("gpt-oss", [1.2, 1.3]),
    // It takes all Mamba heads together to be twice as wide as the residual stream.
    ("nemotron-3", [0.93, 1.005]),
    // It counts the MTP layer, which has attention, as one with the delta rule.
    ("qwen3.5", [1.0, 1.004]),
    ("qwen3.6", [1.0, 1.004]),
    // Equal but for norms: those of sparse attention are kernels of their own here.
    ("deepseek-v3.2", [0.9995, 1.0005]),
    ("glm-5", [0.9995, 1.0005]),
    // It takes all layers to be like the first one.
    ("llama-3.3-nemotron", [0.69, 0.7]),
    ("llama-3.1-nemotron", [0.48, 0.49]),
    ("mimo", [0.94, 0.95]),
];

/// Megatron counts the norms of MLA and of MTP too: a few operations a token.
const NORMS: [f64; 2] = [0.999_98, 1.000_001];

#[test]
fn presets_have_the_operations_that_megatron_counts() {
    let truth = oracle::json("flops.json");
    let rows = truth["rows"].as_array().unwrap();
    assert!(rows.len() > 100);
    for row in rows {
        let id = row["preset"].as_str().unwrap();
        let mut job = by_id(id).unwrap().contents().unwrap().raw_job();
        // The speed of the GPU changes no count.
        job.put(0, FieldId::gpu, Value::Text("h100-80gb".into()));
        let checked = check(&job);
        let config = checked.config.unwrap_or_else(|| panic!("{id}: {:?}", checked.problems));
        let of_language = config.modules().iter().position(|m| m.io().is_language()).unwrap();
        let module = &config.modules()[of_language];
        assert_eq!(module.args().global_batch_size, row["batch"].as_u64(), "{id}");
        let on = Hardware::of(module.args()).unwrap();
        let estimate = estimate(&config);
        let flops = Nominal::new(module, &estimate.modules[of_language], &on, Software::default()).flops();
        let part = flops / row["flops"].as_f64().unwrap();
        let otherwise = COUNTED_OTHERWISE.iter().find(|(start, _)| id.starts_with(start));
        let [least, most] = otherwise.map_or(NORMS, |(_, interval)| *interval);
        assert!(least <= part && part <= most, "{id}: {part} of Megatron's count");
    }
}
