//! The map of all ranks: where cells are, and that few paths cover every rank once.

use megatron_memory::config::check;
use megatron_memory::memory::estimate;
use megatron_memory::parallel::groups::process_groups::ProcessGroup;
use megatron_memory::presets::jobs::JOBS;
use megatron_memory::presets::{self};
use megatron_memory::report::amount::{Scale, Unit};
use megatron_memory::report::rank_map::{Cells, ColoredCells, Coloring, spans};
use megatron_memory::report::ranks::{members_text, places};
use megatron_memory::value::Value;
use proptest::prelude::*;

use megatron_memory::config::fields::FieldId;
use megatron_memory::verdict::Standing;

/// The cells that a path covers, as column and row.
fn covered(path: &str, side: u64) -> Vec<(u64, u64)> {
    let mut cells = Vec::new();
    for rectangle in path.split('M').filter(|part| !part.is_empty()) {
        let numbers: Vec<u64> = rectangle
            .split([' ', 'h', 'v', '-', 'z'])
            .filter_map(|n| n.parse().ok())
            .collect();
        let [x, y, w, h, _] = numbers[..] else {
            panic!("{rectangle}")
        };
        for row in y / side..(y + h) / side {
            for column in x / side..(x + w) / side {
                cells.push((column, row));
            }
        }
    }
    cells
}

proptest! {
    /// A path covers exactly the cells of its ranks, each once, and leads back to them.
    #[test]
    fn paths_cover_their_ranks(world in 1_u64..5000, width in 64_u64..1200, a in 0_u64..5000, b in 0_u64..5000) {
        let cells = Cells::new(world, width);
        let (start, end) = (a.min(b) % world, (a.max(b) % world) + 1);
        prop_assume!(start < end);
        let mut found: Vec<u64> = covered(&cells.path(core::slice::from_ref(&(start..end))), cells.side)
            .into_iter()
            .map(|(column, row)| cells.rank_at(column, row).unwrap())
            .collect();
        found.sort_unstable();
        prop_assert_eq!(found, (start..end).collect::<Vec<_>>());
        prop_assert!(cells.columns * cells.side <= width.max(cells.side));
        prop_assert_eq!(cells.rank_at(cells.columns, 0), None);
    }

    /// However many ranks there are, cells stay few, and every rank has one.
    #[test]
    fn large_worlds_share_cells(world in 1_u64..100_000_000) {
        let cells = Cells::new(world, 720);
        prop_assert!(cells.columns * cells.rows <= (1 << 16) + cells.columns);
        prop_assert!(cells.columns * cells.rows * cells.each >= world);
        prop_assert_eq!(cells.rank_at(0, 0), Some(0));
    }
}

#[test]
fn cells_of_known_worlds() {
    for (world, width, columns, side) in [
        (1, 720, 8, 20),
        (17, 720, 16, 20),
        (2048, 720, 64, 10),
        (16_384, 720, 128, 4),
        (16_384, 300, 128, 2),
    ] {
        let cells = Cells::new(world, width);
        assert_eq!((cells.columns, cells.side), (columns, side), "{world}");
    }
}

/// Spans tile the world of every preset job, and each has the memory of its ranks.
#[test]
fn spans_tile_the_world() {
    for preset in JOBS {
        let config = check(&preset.contents().unwrap().job).config.unwrap();
        let result = estimate(&config);
        let spans = spans(&config, &result);
        let mut next = 0;
        for span in &spans {
            assert_eq!(span.ranks.start, next);
            next = span.ranks.end;
            for rank in span.ranks.clone() {
                let places = places(&config, &result, rank);
                let stages: Vec<_> = places.iter().map(|place| place.stage).collect();
                assert_eq!(stages, span.memory.stages, "{} rank {rank}", preset.id);
            }
        }
        assert_eq!(next, config.world_size());
    }
}

/// 16,384 ranks in 16 stages are a dozen paths, whatever the coloring.
#[test]
fn a_large_world_is_a_few_paths() {
    let mut job = presets::by_id("deepseek-v3").unwrap().contents().unwrap().raw_job();
    job.shared.set(FieldId::world_size, Value::Int(16_384));
    job.shared.set(FieldId::global_batch_size, Value::Int(16_384));
    let config = check(&job).config.unwrap();
    let result = estimate(&config);
    for coloring in Coloring::ALL {
        let cells = Cells::new(16_384, 720);
        let colored = ColoredCells {
            config: &config,
            estimate: &result,
            standing: Standing::new(&config, &result),
            cells,
            coloring,
            scale: Scale::coarse(Unit::Gib),
        };
        let fills = colored.fills();
        assert!(fills.len() <= 16, "{}", fills.len());
        let fills = fills.iter();
        let cells: usize = fills.map(|fill| covered(&fill.path, cells.side).len()).sum();
        assert_eq!(cells, 16_384, "every rank has one color");
        for entry in colored.legend() {
            assert!(entry.text.ends_with(" ranks"), "{}", entry.text);
        }
    }
}

/// Members of a group are its ranks, in a few words where they are many.
#[test]
fn groups_are_listed() {
    let mut job = presets::by_id("llama3-8b").unwrap().contents().unwrap().raw_job();
    job.shared.set(FieldId::world_size, Value::Int(64));
    job.shared.set(FieldId::tensor_model_parallel_size, Value::Int(4));
    job.shared.set(FieldId::context_parallel_size, Value::Int(1));
    job.shared.set(FieldId::pipeline_model_parallel_size, Value::Int(2));
    job.shared.set(FieldId::global_batch_size, Value::Int(64));
    let config = check(&job).config.unwrap();
    let result = estimate(&config);
    let here = places(&config, &result, 37);
    assert_eq!(here.len(), 1);
    assert_eq!(here[0].stage.pp_rank, 1);
    let mut texts = Vec::new();
    here[0].each_group(|kind, group| texts.push((kind.name(), members_text(group))));
    let text = |name: &str| texts.iter().find(|(n, _)| *n == name).map(|(_, t)| t.as_str());
    assert_eq!(text("tp"), Some("36, 37, 38, 39"));
    assert_eq!(text("dp"), Some("33, 37, 41, 45, 49, 53, 57, 61"));
    assert_eq!(text("tp_dp"), Some("32, 33, 34 … 63"));
    assert_eq!(text("pp"), Some("5, 37"));
    assert_eq!(here[0].members(ProcessGroup::Tp), vec![36..40]);
    assert_eq!(places(&config, &result, 64), []);
}
