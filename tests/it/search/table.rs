//! The table of found layouts: sorted, filtered, and one table from many sorted runs.

use megatron_memory::config::fields::FieldId;
use megatron_memory::formats::share_url;
use megatron_memory::search::{
    Axis, Candidate, Column, Keep, LayoutTable, Options, Room, Slice, Space, ranks_among, search,
};
use megatron_memory::units::Bytes;
use megatron_memory::value::Value;

const LINK: &str = "#v1;m=llama3-8b@1;gpus=16;tp=2;cp=1;gbs=64";

fn space(layout: Option<&str>) -> Space {
    let mut job = share_url::visit(LINK).state.setup.job;
    if let Some(layout) = layout {
        let layout = Value::Text(layout.to_owned());
        job.put(0, FieldId::pipeline_model_parallel_layout, layout);
    }
    Space::new(&job, &Options::usual(&job)).unwrap()
}

/// Everything that a search finds, in parts that arrive in any order.
fn found(space: &Space) -> LayoutTable {
    let mut found = LayoutTable::default();
    let share = space.total() / 5 + 1;
    for number in [3, 0, 4, 1, 2] {
        let from = number * share;
        let part = search(space, from..from + share, u32::MAX, Keep::Fitting);
        found.add(space, part);
    }
    found
}

/// Brings all rows into the order that was asked for.
fn order(found: &mut LayoutTable, space: &Space) {
    while !found.is_sorted() {
        found.sort_run(space);
    }
}

fn keys(space: &Space, found: &LayoutTable, column: Column) -> Vec<i128> {
    let rows = found.rows(space, 0, found.len());
    rows.iter().map(|(_, c)| column.key(space, c)).collect()
}

#[test]
fn rows_are_ordered_filtered_and_written() {
    let space = space(None);
    let mut found = found(&space);
    let best_first = found.rows(&space, 0, found.len());
    assert_eq!(best_first.len(), found.count());
    assert!(best_first.is_sorted_by(|(_, a), (_, b)| !b.is_before(a)));
    found.sort_by(Column::Replica);
    order(&mut found, &space);
    assert!(keys(&space, &found, Column::Replica).is_sorted());
    found.sort_by(Column::Peak);
    order(&mut found, &space);
    assert!(keys(&space, &found, Column::Peak).is_sorted());
    found.sort_by(Column::Peak);
    order(&mut found, &space);
    assert!(keys(&space, &found, Column::Peak).is_sorted_by(|a, b| a >= b));
    found.sort_by(Column::Peak);
    order(&mut found, &space);
    assert_eq!(found.rows(&space, 0, found.len()), best_first);

    found.set_filter(&space, "tp4 PP=2");
    order(&mut found, &space);
    let text = found.as_text(&space, "\t");
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 2, "{text}");
    let head = "pipeline_model_parallel_size\ttensor_model_parallel_size\tpeak_bytes\t";
    assert!(lines[0].starts_with(head), "{text}");
    assert!(lines[1].starts_with("2\t4\t"), "{text}");

    found.set_filter(&space, "");
    order(&mut found, &space);
    found.set_min_headroom(Bytes(50 << 30));
    order(&mut found, &space);
    let roomy = keys(&space, &found, Column::Headroom);
    assert!(!roomy.is_empty() && roomy.len() < best_first.len());
    assert!(roomy.iter().all(|bytes| *bytes >= 50 << 30));
}

/// Rows of many runs, against one list of all layouts in order.
#[test]
fn sorted_runs_are_one_table() {
    let space = space(None);
    let like = search(&space, 0..space.total(), u32::MAX, Keep::Fitting).candidates;
    let mixed = |index: u64| index.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
    let layouts: Vec<Candidate> = (0..30_000)
        .map(|index| Candidate {
            index,
            peak: Bytes(mixed(index)),
            ..like[usize::try_from(mixed(index + 1)).unwrap() % like.len()]
        })
        .collect();
    let own = layouts[12_345];
    let mut found = LayoutTable::default();
    found.set_own(Some(own));
    let mut parts = layouts.chunks(1_111).map(|part| Slice {
        candidates: part.to_vec(),
        ..Slice::default()
    });
    for part in parts.by_ref().take(20) {
        found.add(&space, part);
    }
    let rows = |found: &LayoutTable| [0, 1, 8_191, 20_000, 29_990, 30_000].map(|first| found.rows(&space, first, 40));
    let expected = |sorted: &[Candidate]| {
        [0, 1, 8_191, 20_000, 29_990, 30_000].map(|first| {
            sorted
                .iter()
                .copied()
                .enumerate()
                .skip(first)
                .take(40)
                .collect::<Vec<_>>()
        })
    };
    // A part of them is ordered when the rest arrives.
    found.sort_by(Column::Peak);
    found.sort_run(&space);
    parts.for_each(|part| found.add(&space, part));
    assert!(!found.is_sorted());
    order(&mut found, &space);
    let mut sorted = layouts.clone();
    sorted.sort_by_key(|c| (c.peak, c.index));
    assert_eq!((found.count(), found.len()), (30_000, 30_000));
    assert_eq!(rows(&found), expected(&sorted));
    for _ in 0..2 {
        found.sort_by(Column::Peak);
        order(&mut found, &space);
    }
    sorted.sort_by(Candidate::order);
    assert_eq!(rows(&found), expected(&sorted));
    assert_eq!(found.best(), &sorted[..5]);
    let standing = found.own().unwrap();
    assert_eq!(sorted[standing.before], own);
    assert!(standing.is_listed);
    // Named afterwards, it has the same place.
    found.set_own(Some(own));
    assert_eq!(found.own().unwrap().before, standing.before);
}

/// Ranks and the lines between groups, against one list of all layouts in order.
#[test]
fn ranks_stay_with_layouts_and_groups_begin_where_less_memory_is_free() {
    let job = share_url::visit(&format!("{LINK};gpu=a100-40gb")).state.setup.job;
    let options = Options {
        vary: vec![
            Axis::Tensor,
            Axis::Pipeline,
            Axis::MicroBatch,
            Axis::Recompute,
            Axis::Training,
        ],
        ..Options::usual(&job)
    };
    let space = Space::new(&job, &options).unwrap();
    let mut table = LayoutTable::default();
    let share = space.total() / 7 + 1;
    for number in [5, 3, 0, 4, 6, 1, 2] {
        let from = number * share;
        let part = search(&space, from..from + share, u32::MAX, Keep::Legal);
        table.add(&space, part);
    }
    let layouts: Vec<Candidate> = table.rows(&space, 0, table.len()).into_iter().map(|(_, c)| c).collect();
    let ranks = ranks_among(&layouts);
    assert!(ranks.iter().any(|rank| rank.is_tie) && ranks.iter().any(|rank| !rank.is_tie));
    let with_time = layouts.iter().filter(|c| c.step_nanoseconds.is_some()).count();
    assert!(
        0 < with_time && with_time < layouts.len(),
        "{with_time} of {}",
        layouts.len()
    );
    let tied = table.tied_ranks();
    for (layout, rank) in layouts.iter().zip(&ranks) {
        assert_eq!(table.rank(&tied, layout), *rank);
    }
    let groups = table.groups();
    let starts: Vec<Room> = groups.iter().map(|group| group.room).collect();
    assert_eq!(starts, Room::LATER);
    for group in groups {
        assert_eq!(layouts[group.place].room(), group.room);
        assert!(layouts[..group.place].iter().all(|before| before.room() < group.room));
    }

    // Neither another order nor a filter changes a rank; groups do not stand together in another order.
    table.sort_by(Column::Peak);
    order(&mut table, &space);
    assert_eq!((table.groups(), table.tied_ranks()), (Vec::new(), tied.clone()));
    table.sort_best_first();
    table.set_filter(&space, "tp2");
    order(&mut table, &space);
    let filtered = table.rows(&space, 0, table.len());
    assert!(!filtered.is_empty() && filtered.len() < layouts.len());
    for (_, layout) in &filtered {
        let place = layouts.iter().position(|c| c.index == layout.index).unwrap();
        assert_eq!(table.rank(&tied, layout), ranks[place]);
    }
    for group in table.groups() {
        assert_eq!(filtered[group.place].1.room(), group.room);
        assert!(
            filtered[..group.place]
                .iter()
                .all(|(_, before)| before.room() < group.room)
        );
    }
}

#[test]
fn chunks_are_a_column_where_they_follow_from_a_layout() {
    let space = space(Some("Et*4|(t*4|)*6t*4L"));
    let found = found(&space);
    let columns = found.columns(&space);
    assert!(columns.contains(&Column::Chunks));
    let rows = found.rows(&space, 0, found.len());
    assert!(!rows.is_empty());
    for (_, c) in rows {
        // Eight chunks over the pipeline ranks.
        let cell = |column: Column| column.exact(&space, &c).parse::<u64>().unwrap();
        assert_eq!(cell(columns[0]) * cell(Column::Chunks), 8);
    }
}
