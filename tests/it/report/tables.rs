use megatron_memory::memory::bucket::Bucket;
use megatron_memory::report::amount::Unit;
use megatron_memory::report::table::{Order, Table};
use megatron_memory::verdict::Standing;
use serde_json::json;

use super::{Job, snapshot};
use crate::oracle;

fn stages(table: &Table) -> Vec<usize> {
    table.rows.iter().map(|row| row.stage.pp_rank).collect()
}

#[test]
fn the_table_has_a_row_a_stage_and_a_column_a_bucket() {
    let job = Job::small(json!({}));
    let table = Table::new(
        &job.config,
        &job.estimate,
        &Standing::new(&job.config, &job.estimate),
        Unit::Gib,
    );
    let columns = [
        Bucket::WeightsDense,
        Bucket::MainGradsDense,
        Bucket::MainParamsDense,
        Bucket::ExpAvgDense,
        Bucket::ExpAvgSqDense,
        Bucket::Buffers,
        Bucket::ActivationsResidual,
        Bucket::ActivationsAttention,
        Bucket::ActivationsMlp,
        Bucket::ActivationsOutput,
        Bucket::Transients,
    ];
    assert_eq!(table.buckets, columns);
    snapshot("table", &table.tsv());
}

#[test]
fn rows_sort_by_any_column_and_back() {
    let job = Job::case("dsv3_tp2_pp16_ep64_etp1_layout", json!({}));
    let table = Table::new(
        &job.config,
        &job.estimate,
        &Standing::new(&job.config, &job.estimate),
        Unit::Gib,
    );
    let in_order: Vec<usize> = (0..16).collect();
    assert_eq!(stages(&table), in_order);
    let by_total = table.clone().sorted(Order::Total);
    assert_eq!(by_total.rows[0].stage, job.estimate.worst);
    assert!(by_total.rows.is_sorted_by(|a, b| a.total >= b.total));
    let by_experts = table.clone().sorted(Order::Bucket(Bucket::WeightsExpert));
    let column = table.buckets.iter().position(|b| *b == Bucket::WeightsExpert).unwrap();
    assert!(by_experts.rows.is_sorted_by(|a, b| a.bytes[column] >= b.bytes[column]));
    assert_eq!(stages(&by_experts.sorted(Order::Stage)), in_order);
    assert_eq!(table.rows[15].layers, "1 + 1 MTP");
}

#[test]
fn the_numbers_of_every_row_add_up_within_the_rounding_in_every_case() {
    for file in oracle::files("params") {
        let case = oracle::json(&file);
        if case.get("error").is_some() {
            continue;
        }
        let job = Job::new(&case["config"]);
        for unit in Unit::ALL {
            // An amount below half a hundredth prints as less than one.
            let hundredths = |text: &str| match text.strip_prefix('<') {
                Some(_) => 0,
                None => text.replace('.', "").parse::<u64>().unwrap(),
            };
            for row in Table::new(
                &job.config,
                &job.estimate,
                &Standing::new(&job.config, &job.estimate),
                unit,
            )
            .rows
            {
                let sum: u64 = row.numbers.iter().map(|text| hundredths(text)).sum();
                let off = sum.abs_diff(hundredths(&row.total_number)) * 2;
                let halves = row.numbers.len() as u64 + 1;
                assert!(off <= halves, "{file} {}: {off} > {halves}", row.name);
                for (bytes, number) in row.bytes.iter().zip(&row.numbers) {
                    assert!(hundredths(number) > 0 || bytes.0 * 200 <= unit.bytes(), "{file}");
                    let mut beside = row.bytes.iter().zip(&row.numbers);
                    assert!(beside.all(|(other, same)| other != bytes || same == number), "{file}");
                }
            }
        }
    }
}
