//! Public reports of jobs that ran or ran out of memory, against the verdict on them: what is wrong has its reason.

use megatron_memory::config::check;
use megatron_memory::formats::import_text::{ImportOptions, import_text};
use megatron_memory::memory::estimate;
use megatron_memory::units::GIB;
use megatron_memory::verdict::{Standing, Verdict};

use crate::oracle;

/// The least share of right verdicts, in percent.
const LEAST_RIGHT: usize = 92;

#[test]
fn verdicts_on_public_reports_are_right_or_have_their_reason() {
    let file = oracle::json("oom/reports.json");
    let rows = file["rows"].as_array().unwrap();
    let mut right = 0;
    for row in rows {
        let id = row["id"].as_str().unwrap();
        let imported = import_text(&row["job"].to_string(), &ImportOptions::default()).unwrap();
        let checked = check(&imported.import.state.setup.job);
        let config = checked.config.unwrap_or_else(|| panic!("{id}"));
        let standing = Standing::of(&config);
        let found = standing.verdict;
        assert_eq!(found.id(), row["verdict"].as_str(), "{id}");
        let is_right = match row["outcome"].as_str() {
            Some("ran") => matches!(found, Verdict::Fits | Verdict::Tight),
            Some("out_of_memory") => matches!(found, Verdict::DoesNotFit | Verdict::Tight),
            other => panic!("{id}: {other:?}"),
        };
        assert_ne!(
            is_right,
            row["why"].is_string(),
            "{id}: a wrong verdict needs a reason, and a right one none"
        );
        right += usize::from(is_right);
        if let Some(measured) = row["measured_gib"].as_f64() {
            // Reserved memory lies between what is allocated and what the device shows.
            let estimate = estimate(&config);
            let worst = estimate.stage(estimate.worst).unwrap();
            let device = standing.device.1;
            let gib = |bytes: u64| f64::from(u32::try_from(bytes * 100 / GIB).unwrap()) / 100.0;
            let range = (gib(worst.total.0) * 0.995)..=gib(device.0);
            let is_inside = range.contains(&measured);
            assert_ne!(
                is_inside,
                row["figure"].is_string(),
                "{id}: {measured} beside {range:?} needs a reason, or has one too many"
            );
        }
    }
    assert!(right * 100 >= LEAST_RIGHT * rows.len(), "{right} of {}", rows.len());
}
