//! The table of all stages and buckets.

use super::amount::{Scale, Unit};
use super::summary::{Standing, Verdict, stage_name};
use super::target::Target;
use crate::config::job::Config;
use crate::memory::bucket::Bucket;
use crate::memory::{Estimate, StageRef};
use crate::units::Bytes;

/// A table: a row a stage, a column a bucket, and their total.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    /// The unit of all numbers.
    pub unit: Unit,
    /// The buckets that are not empty everywhere.
    pub buckets: Vec<Bucket>,
    /// The rows, by module and pipeline rank until sorted.
    pub rows: Vec<TableRow>,
}

/// One stage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableRow {
    /// The stage.
    pub stage: StageRef,
    /// The stage's name.
    pub name: String,
    /// The number of decoder layers, and of MTP depths where there are any, such as `4 + 1 MTP`.
    pub layers: String,
    /// The bytes of each of the table's buckets.
    pub bytes: Vec<Bytes>,
    /// The bytes of each bucket as numbers in the unit, each rounded by itself.
    pub numbers: Vec<String>,
    /// The bytes of all buckets together.
    pub total: Bytes,
    /// The total as a rounded number.
    pub total_number: String,
    /// Whether the stage fits the GPU.
    pub verdict: Verdict,
}

/// The orders in which rows can be sorted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// Module and pipeline rank.
    #[default]
    Stage,
    /// A bucket, largest first.
    Bucket(Bucket),
    /// The total, largest first.
    Total,
}

impl Table {
    /// The table of an estimate, for a job with this standing.
    #[must_use]
    pub fn new(config: &Config, estimate: &Estimate, standing: &Standing, unit: Unit) -> Self {
        let scale = Scale::fine(unit);
        let stages = || estimate.modules.iter().flat_map(|module| &module.stages);
        let buckets: Vec<_> = Bucket::ALL
            .into_iter()
            .filter(|bucket| stages().any(|stage| stage.bytes(*bucket) > Bytes::ZERO))
            .collect();
        let mut rows = Vec::new();
        for (module, held) in estimate.modules.iter().enumerate() {
            for (pp_rank, stage) in held.stages.iter().enumerate() {
                let place = StageRef { module, pp_rank };
                let bytes: Vec<_> = buckets.iter().map(|bucket| stage.bytes(*bucket)).collect();
                rows.push(TableRow {
                    stage: place,
                    name: stage_name(config, place),
                    layers: layers(config, place),
                    numbers: bytes.iter().map(|bytes| scale.number(*bytes)).collect(),
                    bytes,
                    total: stage.total,
                    total_number: scale.number(stage.total),
                    verdict: Verdict::of(config, standing.device_of(config, module, stage.total, stage.graphs)),
                });
            }
        }
        Self { unit, buckets, rows }
    }

    /// The table with its rows in another order. Equal rows stay in the order of the stages.
    #[must_use]
    pub fn sorted(mut self, order: Order) -> Self {
        let column = match order {
            Order::Bucket(bucket) => self.buckets.iter().position(|b| *b == bucket),
            Order::Stage | Order::Total => None,
        };
        let amount = |row: &TableRow| match order {
            Order::Stage => None,
            Order::Total => Some(row.total),
            Order::Bucket(_) => column.and_then(|i| row.bytes.get(i)).copied(),
        };
        let key = |row: &TableRow| (core::cmp::Reverse(amount(row)), row.stage);
        self.rows.sort_by_key(key);
        self
    }

    /// The table as tab-separated text for a spreadsheet, with the unit in every heading.
    #[must_use]
    pub fn tsv(&self) -> String {
        let unit = self.unit.symbol();
        let buckets = self.buckets.iter().map(|bucket| format!("{} ({unit})", bucket.label()));
        let mut heading = vec![String::from("stage"), String::from("layers")];
        heading.extend(buckets);
        heading.push(format!("total ({unit})"));
        let mut lines = vec![heading.join("\t")];
        for row in &self.rows {
            let (name, layers) = (row.name.as_str(), row.layers.as_str());
            let numbers = row.numbers.iter().chain([&row.total_number]);
            let cells: Vec<&str> = [name, layers].into_iter().chain(numbers.map(String::as_str)).collect();
            lines.push(cells.join("\t"));
        }
        lines.push(String::new());
        lines.join("\n")
    }
}

impl TableRow {
    /// The target of the cell of a bucket.
    #[must_use]
    pub fn cell(&self, bucket: Bucket) -> Target {
        Target::line(self.stage, bucket.id())
    }
}

/// The number of decoder layers and MTP depths of a stage, such as `4 + 1 MTP`.
#[must_use]
pub fn layers(config: &Config, stage: StageRef) -> String {
    let pp_rank = u32::try_from(stage.pp_rank).unwrap_or(u32::MAX);
    let chunks = config.modules().get(stage.module).map(|m| m.stages.rank(pp_rank));
    let chunks = chunks.unwrap_or_default();
    let decoder: u32 = chunks.iter().map(crate::parallel::stages::Chunk::num_layers).sum();
    match chunks.iter().map(|chunk| chunk.mtp).sum::<u32>() {
        0 => decoder.to_string(),
        mtp => format!("{decoder} + {mtp} MTP"),
    }
}
