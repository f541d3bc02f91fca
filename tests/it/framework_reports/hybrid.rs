//! Reports of hybrid models.

use megatron_memory::config::check;
use megatron_memory::config::raw::RawJob;
use megatron_memory::framework_reports::differences::{Framework, differences};
use megatron_memory::framework_reports::job::reports;
use megatron_memory::memory::estimate;
use megatron_memory::value::Value;

use crate::oracle;

/// Megatron-LM refuses every one of them; Megatron-Bridge takes each letter for a layer with attention and an MLP.
/// Nothing that depends on whole layers is said.
#[test]
fn every_hybrid_model_is_refused_or_taken_for_whole_layers() {
    let mut compared = 0;
    for file in oracle::files("params_hybrid") {
        let config: Value = serde_json::from_value(oracle::json(&file)["config"].clone()).unwrap();
        let Some(config) = check(&RawJob::from_value(&config)).config else {
            continue;
        };
        let module = &config.modules()[0];
        let reports = reports(module);
        assert_eq!(reports.megatron_lm.report_mb, Ok(None), "{file}");
        let printed = &reports.megatron_lm.report_verbose_stdout;
        assert!(printed.contains("not yet supported for hybrid"), "{printed}");
        let bridge = reports.megatron_bridge.estimate.unwrap();
        let estimate = estimate(&config).modules.swap_remove(0);
        let found = differences(module, &estimate);
        let of = |framework| {
            let of = found.iter().filter(move |d| d.frameworks.contains(&framework));
            of.map(|d| d.id).collect::<Vec<_>>()
        };
        assert_eq!(of(Framework::MegatronLm), ["hybrid_refused"], "{file}");
        let of_bridge = of(Framework::MegatronBridge);
        assert!(of_bridge.contains(&"hybrid_letters"), "{file}: {of_bridge:?}");
        for whole in ["latent_attention", "norms", "average_stage", "unread_split"] {
            assert!(!of_bridge.contains(&whole), "{file}: {of_bridge:?}");
        }
        let text = &found.iter().find(|d| d.id == "hybrid_letters").unwrap().text;
        let letters = module.args().num_layers;
        assert!(text.contains(&format!("its {letters} letters")), "{file}: {text}");
        // What is counted twice is far from the model wherever MLPs have letters of their own.
        if file.contains("nemotronh_8b_tp2") {
            assert!(text.contains("4 of attention, 24 Mamba, 24 MLP"), "{text}");
            let theirs = bridge.total_parameters;
            assert!(theirs > 12e9, "{theirs}");
            assert_eq!(estimate.parameters.total(), 8_100_852_736);
        }
        compared += 1;
    }
    assert!(compared > 40, "{compared}");
}
