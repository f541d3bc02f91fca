//! Tests of custom layouts in `parallel::stages`.

use megatron_memory::parallel::stages::{
    Chunk, LayerType, LayoutErrorKind, MAX_LAYOUT_ITEMS, PipelineLayout, StageInput, StageLayout, StageProblem, nests,
    stage_layout,
};
use proptest::prelude::*;

use super::in_layer_order;

fn layout(text: &str) -> PipelineLayout {
    text.parse().unwrap_or_else(|e| panic!("{text}: {e}"))
}

fn taken(input: &StageInput<'_>) -> StageLayout {
    stage_layout(input).unwrap_or_else(|p| panic!("{input:?}: {p:?}"))
}

fn refused(input: &StageInput<'_>) -> Vec<StageProblem> {
    stage_layout(input).expect_err(&format!("{input:?} is refused"))
}

#[test]
fn layouts_that_megatron_refuses_are_refused() {
    // PP, VPP, MTP layers, layout of 8 decoder layers, part of the message
    let cases = [
        (
            2,
            None,
            0,
            "t*4|Et*4L",
            "begins with the embedding (E), not with decoder (t)",
        ),
        (2, None, 0, "Et*4|Lt*4", "ends with the loss (L), not with decoder (t)"),
        (2, None, 0, "|", "this one is empty"),
        (
            2,
            None,
            0,
            "EEt*4|t*4L",
            "embedding (E) exactly once, and this one 2 times",
        ),
        (2, None, 0, "Et*4L|t*4L", "loss (L) exactly once, and this one 2 times"),
        (2, None, 0, "Et*4|t*5L", "9 decoder layers (t), and num_layers is 8"),
        (2, None, 0, "Et*4|t*4mL", "1 MTP layers (m), and mtp_num_layers is 0"),
        (2, None, 2, "Et*4|t*4mL", "1 MTP layers (m), and mtp_num_layers is 2"),
        (2, None, 1, "Et*4|mt*4L", "before the MTP layers"),
        (2, None, 1, "Et*4|t*3m|tL|", "before the MTP layers"),
        (
            3,
            None,
            0,
            "Et*4|t*4L",
            "2 stages must be divisible by pipeline_model_parallel_size 3",
        ),
        (2, Some(3), 0, "Et*4|t*4|||L", "divisible"),
        (2, Some(2), 0, "Et*4|t*4L", "1 stages on each pipeline rank"),
        (1, None, 0, "Et*4|t*4L", "at least 2 pipeline ranks"),
        (2, None, 1, "Et*4|t*4m||L", "last virtual stage"),
        (3, None, 2, "Et*8|m|mL", "on 2"),
    ];
    for (pp, vpp, mtp_num_layers, text, part) in cases {
        let layout = layout(text);
        let found = refused(&StageInput {
            num_layers: 8,
            pp,
            vpp,
            mtp_num_layers: Some(mtp_num_layers),
            layout: Some(&layout),
            ..StageInput::default()
        });
        assert!(found.iter().any(|p| p.to_string().contains(part)), "{text}: {found:?}");
    }

    let layout = layout("Et*4|t*4L");
    let found = refused(&StageInput {
        num_layers: 8,
        pp: 2,
        account_for_loss_in_pipeline_split: true,
        layout: Some(&layout),
        ..StageInput::default()
    });
    assert_eq!(found.len(), 1);
    let refused = "pipeline_model_parallel_layout cannot be combined with decoder_first_pipeline_num_layers";
    assert!(found[0].message.starts_with(refused), "{}", found[0]);
}

#[test]
fn layouts_that_megatron_takes_are_taken() {
    // PP, MTP layers, layout of 8 decoder layers, layers of each chunk in layer order
    let cases: [(u32, u32, &str, &[u32]); 6] = [
        (1, 0, "Et*8L", &[8]),
        (4, 0, "E|t*4|t*4|L", &[0, 4, 4, 0]),
        (2, 0, "Et*4||t*3|tL", &[4, 0, 3, 1]),
        (2, 1, "Et*4|t*2|t*2m|L", &[4, 2, 2, 0]), // MTP on the first rank's last chunk
        (2, 1, "Et*8m|L", &[8, 0]),
        (3, 0, "Et*4|t*4L|", &[4, 4, 0]), // the output layer is built on the last rank all the same
    ];
    for (pp, mtp_num_layers, text, expected) in cases {
        let layout = layout(text);
        let stages = taken(&StageInput {
            num_layers: 8,
            pp,
            mtp_num_layers: Some(mtp_num_layers),
            layout: Some(&layout),
            ..StageInput::default()
        });
        let counts: Vec<_> = in_layer_order(&stages).into_iter().map(Chunk::num_layers).collect();
        assert_eq!(counts, expected, "{text}");
        assert!(in_layer_order(&stages).last().unwrap().output, "{text}");
    }
}

#[test]
fn layout_strings_expand_as_megatron_expands_them() {
    // A string, and the stages it stands for
    let cases = [
        ("Ettt|(tt|)*2,m|L", "Ettt|tt|tt|m|L"),
        ("E(tt|t)*2,tL", "Ett|ttt|ttL"),
        ("(t)*3", "ttt"),
        ("t*3", "ttt"),
        ("E|*3L", "E|||L"),
        ("Et*0|L", "E|L"),
        ("E(t|)*0L", "EL"),
        ("(|t)*2,t", "|t|tt"),
        (",E,t,*,1,0,L,", "EttttttttttL"),
        ("(t*2|)*2", "tt|tt|"),
        ("((t|)*2m|)*2", "t|t|m|t|t|m|"),
        ("", ""),
    ];
    for (text, expanded) in cases {
        assert_eq!(layout(text), layout(expanded), "{text}");
        assert_eq!(layout(text).num_stages() as usize, expanded.matches('|').count() + 1);
    }
    assert!(nests("((t|)*2m|)*2") && !nests("(t)*2(t)*2"));
}

#[test]
fn a_layout_that_cannot_be_read_says_where_and_why() {
    let cases = [
        ("Etx", 2, "'x', character 3, is not a layer"),
        ("et", 0, "did you mean E?"),
        ("Et L", 2, "use commas"),
        ("E(tt", 1, "never closed"),
        ("Ett)*2", 3, "closes nothing"),
        ("E(tt)L", 1, "needs a count"),
        ("E()*2", 1, "is empty"),
        ("*3", 0, "nothing to repeat"),
        ("t*2*3", 3, "nothing to repeat"),
        ("t*", 1, "needs a number"),
        ("Et*99999999999999999999", 1, "too long"),
        ("((((((((((t)*9)*9)*9)*9)*9)*9)*9)*9)*9)*9", 8, "nested"),
        ("(((((((t*9)*9)*9)*9)*9)*9)*9)*9", 3, "too long"),
    ];
    for (text, position, part) in cases {
        let error = text.parse::<PipelineLayout>().expect_err(text);
        assert_eq!(error.position, position, "{text}: {error}");
        assert!(error.to_string().contains(part), "{text}: {error}");
    }
    assert!("t".repeat(30_000).parse::<PipelineLayout>().is_err());
    assert!("(t*0)*999999999999".parse::<PipelineLayout>().is_ok());
}

#[test]
fn layouts_come_as_lists_of_names_too() {
    let rows = [vec!["embedding", " Decoder "], vec!["decoder", "MTP", "loss"]];
    assert_eq!(PipelineLayout::from_names(rows), Ok(layout("Et|tmL")));
    let error = PipelineLayout::from_names([vec!["embedding"], vec!["encoder"]]).unwrap_err();
    assert_eq!((error.position, error.kind), (1, LayoutErrorKind::Encoder));
    let error = PipelineLayout::from_names([["transformer"]]).unwrap_err();
    assert!(matches!(error.kind, LayoutErrorKind::UnknownName { .. }));
    let endless = std::iter::repeat_n([] as [&str; 0], MAX_LAYOUT_ITEMS + 1);
    assert!(PipelineLayout::from_names(endless).is_err());
}

#[test]
fn layouts_are_written_compactly() {
    let cases = [
        "Et*4|(t*4|)*14,tmL",
        "Ettt|(tt|)*29,m|L",
        "E|t|t|L",
        "(t*8|)*15t*8",
        "Et||L",
        "",
    ];
    for text in cases {
        let plain = layout(text);
        assert_eq!(plain.to_string().replace(',', ""), text.replace(',', ""));
    }
    let long = "Et*4|t*4|t*4|t*4|t*4|t*4|t*4|t*5mL";
    assert_eq!(layout(long).to_string(), "Et*4|(t*4|)*6,t*5mL");
}

fn any_layer() -> impl Strategy<Value = LayerType> {
    proptest::sample::select(LayerType::ALL.to_vec())
}

proptest! {
    #[test]
    fn a_written_layout_reads_back_the_same(
        stages in prop::collection::vec((prop::collection::vec(any_layer(), 0..9), 1usize..9), 1..9),
    ) {
        let rows = stages.iter().flat_map(|(stage, times)| std::iter::repeat_n(stage, *times));
        let layout = PipelineLayout::from_names(
            rows.map(|stage| stage.iter().map(|l| l.name()).collect::<Vec<_>>()),
        ).unwrap();
        let text = layout.to_string();
        prop_assert!(!nests(&text));
        prop_assert_eq!(text.parse::<PipelineLayout>(), Ok(layout), "{}", text);
    }

    #[test]
    fn reading_any_text_ends(text in "[EtmL|(),*0-9 x]{0,60}") {
        if let Ok(layout) = text.parse::<PipelineLayout>() {
            prop_assert_eq!(layout.to_string().parse::<PipelineLayout>(), Ok(layout));
        }
    }
}
