//! Exports of presets are the ones that the launchers of their frameworks have accepted.
//!
//! An export that has changed must be judged again. Write the presets with `megatron-memory export`, source the array,
//! and call `parse_args`, `validate_args` and `core_transformer_config_from_args` of the pinned Megatron-LM with
//! `WORLD_SIZE` set; or run the recipe's function and `runtime_config_update` of the pinned Megatron-Bridge. Both run
//! without a GPU where modules of the names of Transformer Engine and Apex stand in for these. Then put the digest and
//! the answer into `tests/oracle/launchers.json`.

use std::collections::BTreeSet;

use megatron_memory::config::fields::FieldId;
use megatron_memory::export::{bridge_recipe, launcher_changes, megatron_args};
use megatron_memory::value::Value;

use super::{presets, state};
use crate::oracle;

/// 64-bit FNV-1a of a text without its lines of comments.
fn digest(text: &str) -> String {
    let lines: Vec<&str> = text.split('\n').filter(|line| !line.starts_with('#')).collect();
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    let hash = lines.join("\n").bytes().fold(0xcbf2_9ce4_8422_2325, step);
    format!("{hash:016x}")
}

#[test]
fn every_export_is_the_one_that_its_launcher_accepted() {
    let data = oracle::json("launchers.json");
    let mut judged = BTreeSet::new();
    let mut changed = Vec::new();
    for row in data["rows"].as_array().unwrap() {
        let (id, format) = (row[0].as_str().unwrap(), row[2].as_str().unwrap());
        let mut job = presets().find(|(known, _)| *known == id).unwrap().1.setup.job;
        if let Some(gpus) = row[1].as_u64() {
            job.put(0, FieldId::world_size, Value::Int(gpus.into()));
        }
        let text = match format {
            "megatron_args" => megatron_args::script(&job),
            "bridge_recipe" => bridge_recipe::recipe(&job),
            other => panic!("{other}"),
        };
        assert!(row[4].is_null(), "{row}");
        if digest(&text) != row[3].as_str().unwrap() {
            changed.push(format!("{id} on {} GPUs as {format}: {}", row[1], digest(&text)));
        }
        judged.insert((id, format));
    }
    assert!(changed.is_empty(), "not judged by the launchers yet: {changed:#?}");
    for (id, _) in presets() {
        for format in ["megatron_args", "bridge_recipe"] {
            assert!(judged.contains(&(id, format)), "{id} as {format} is not judged");
        }
    }
}

#[test]
fn what_the_launcher_refuses_is_changed_and_said() {
    let plain = "L=4;h=1024;seq=2048;gpus=8;bf16=1;maxpos=2048;v=32000";
    for (more, change, argument) in [
        (
            "nq=8;cef=1;cefi=te",
            "cross_entropy_fusion_impl is native, not te",
            "--cross-entropy-loss-fusion",
        ),
        ("nq=8;tpo=1", "tp_comm_overlap is off, not on", "--bf16"),
        (
            "nq=8;do=1;ocpu=1",
            "use_precision_aware_optimizer is on, not off",
            "--use-precision-aware-optimizer",
        ),
        (
            "nq=6;mla=1;bias=0",
            "kv_channels is 192, not its default",
            "--kv-channels 192",
        ),
    ] {
        let job = state(&format!("#v1;{plain};{more}")).setup.job;
        let text = megatron_args::script(&job);
        assert!(
            text.starts_with("# Changed, since the launcher of Megatron-LM"),
            "{more}: {text}"
        );
        assert!(text.contains(&format!("# - {change}.\n")), "{more}: {text}");
        assert!(
            text.contains("instead of") || text.contains("stays as it is"),
            "{more}: {text}"
        );
        assert!(text.contains(argument), "{more}: {text}");
        let (accepted, changes) = launcher_changes::accepted(&job);
        assert!(!changes.is_empty());
        assert_eq!(launcher_changes::accepted(&accepted), (accepted, Vec::new()));
    }
    let job = state(&format!("#v1;{plain};nq=8")).setup.job;
    assert_eq!(launcher_changes::accepted(&job), (job, Vec::new()));
}

#[test]
fn arguments_without_effect_are_left_out() {
    let plain = "#v1;L=4;h=1024;nq=8;seq=2048;gpus=8;bf16=1";
    for (more, flag) in [
        ("fp8r=tensorwise", "--fp8-recipe"),
        ("rcmod=mlp", "--recompute-modules"),
        ("rc=selective;rcmod=", "--recompute"),
        ("cpcomm=a2a", "--cp-comm-type"),
        ("k=4", "--moe-router-topk"),
    ] {
        let text = megatron_args::script(&state(&format!("{plain};{more}")).setup.job);
        assert!(!text.contains(flag), "{more}: {text}");
    }
}
