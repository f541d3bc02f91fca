//! Layouts that cannot be told apart by their predicted times, and the order that leaves times aside.

use megatron_memory::config::raw::RawJob;
use megatron_memory::search::{Axis, Candidate, Keep, LayoutRank, Options, Order, Space, ranks, ranks_among, search};

fn found(order: Order) -> Vec<Candidate> {
    let job = serde_json::json!({
        "num_layers": 32, "hidden_size": 4096, "ffn_hidden_size": 14336, "num_attention_heads": 32, "vocab_size": 128_256,
        "swiglu": true, "seq_length": 4096, "max_position_embeddings": 4096, "world_size": 64, "micro_batch_size": 1,
        "global_batch_size": 256, "bf16": true, "use_distributed_optimizer": true, "gpu": "h100-80gb",
    });
    let job = RawJob::from_value(&serde_json::from_value(job).unwrap());
    let options = Options {
        vary: vec![Axis::Tensor, Axis::Pipeline, Axis::MicroBatch],
        order,
        ..Options::default()
    };
    let space = Space::new(&job, &options).unwrap();
    search(&space, 0..space.total(), u32::MAX, Keep::Legal).candidates
}

#[test]
fn layouts_that_differ_by_less_than_five_percent_share_a_rank() {
    let like = found(Order::Time)[0];
    let timed = |nanoseconds: u64| Candidate {
        step_nanoseconds: Some(nanoseconds),
        ..like
    };
    assert_eq!(
        ranks(&[1000, 1000, 1049, 1050, 1102, 1103].map(timed)),
        [1, 1, 1, 4, 4, 6]
    );
    let timeless = Candidate {
        step_nanoseconds: None,
        ..like
    };
    assert_eq!(ranks(&[timeless, timeless]), [1, 2]);
    assert_eq!(ranks(&[]), Vec::<usize>::new());
    let by_memory = |nanoseconds: u64| Candidate {
        order: Order::Memory,
        ..timed(nanoseconds)
    };
    assert_eq!(ranks(&[1000, 1001].map(by_memory)), [1, 2]);
}

#[test]
fn layouts_in_any_order_have_the_ranks_of_their_order() {
    let all = found(Order::Time);
    let among = ranks_among(&all);
    let mut sorted = all.clone();
    sorted.sort_by(Candidate::order);
    for (layout, rank) in sorted.iter().zip(ranks(&sorted)) {
        let place = all.iter().position(|other| other.index == layout.index).unwrap();
        let sharing = among.iter().filter(|other| other.number == rank).count();
        let (number, is_tie) = (rank, sharing > 1);
        assert_eq!(among[place], LayoutRank { number, is_tie });
    }
    assert!(among.iter().any(|rank| rank.is_tie) && among.iter().any(|rank| !rank.is_tie));
}

#[test]
fn the_order_by_memory_leaves_predicted_times_aside() {
    let by_memory = found(Order::Memory);
    assert!(by_memory.len() > 20 && by_memory.iter().all(|c| c.step_nanoseconds.is_some()));
    let timeless = |c: &Candidate| Candidate {
        step_nanoseconds: None,
        order: Order::Time,
        ..*c
    };
    for one in &by_memory {
        for other in &by_memory {
            assert_eq!(one.order(other), timeless(one).order(&timeless(other)));
        }
    }
    let sorted = |mut layouts: Vec<Candidate>| {
        layouts.sort_by(Candidate::order);
        layouts.into_iter().map(|c| c.index).collect::<Vec<u64>>()
    };
    assert_ne!(sorted(found(Order::Time)), sorted(by_memory));
}
