//! Charts as SVG files.

use megatron_memory::export::{ChartError, ChartOptions, chart_file, pictures};
use megatron_memory::memory::StageRef;
use megatron_memory::report::amount::Unit;
use megatron_memory::report::rank_map::Coloring;

use super::state;

fn stage(pp_rank: usize) -> StageRef {
    StageRef { module: 0, pp_rank }
}

#[test]
fn every_chart_becomes_a_picture_of_the_asked_width() {
    let share = state("#v1;m=llama3-8b@1;tp=2;pp=2");
    let options = ChartOptions {
        width: 500,
        stage: Some(stage(1)),
        ..ChartOptions::default()
    };
    for (chart, _) in pictures::names() {
        let drawn = chart_file(&share, chart, &options).unwrap();
        assert!(
            drawn.starts_with("<svg xmlns=") && drawn.contains(" width=\"500\""),
            "{chart}"
        );
        for element in drawn.lines().map(str::trim_start) {
            let shapes = ["<polygon", "<path", "<line", "<text"];
            let Some((_, class)) = element.split_once(" class=\"") else {
                continue;
            };
            let mut names = class.split('"').next().unwrap().split(' ');
            // What has no color is black, whatever is behind it.
            let colored = names.any(|name| {
                name == "textured"
                    || drawn.contains(&format!(".{name}{{fill:"))
                    || drawn.contains(&format!(".{name}{{stroke:"))
            });
            assert!(
                colored || !shapes.iter().any(|start| element.starts_with(start)),
                "{chart}: {element}"
            );
        }
    }
}

#[test]
fn what_cannot_be_drawn_is_an_error() {
    let share = state("#v1;m=llama3-8b@1;tp=2;pp=2");
    let usual = ChartOptions::default();
    let draw = |chart: &str, options: ChartOptions| chart_file(&share, chart, &options);
    let unknown = ChartError::UnknownChart("cake".to_owned());
    assert_eq!(draw("cake", usual), Err(unknown));
    for width in [10, 199, 4_001, u64::MAX] {
        let options = ChartOptions { width, ..usual };
        assert_eq!(draw("buckets", options), Err(ChartError::Width), "{width}");
    }
    let options = ChartOptions {
        stage: Some(stage(2)),
        ..usual
    };
    assert_eq!(draw("buckets", options), Err(ChartError::UnknownStage));
    let refused = chart_file(&state("#v1;m=llama3-8b@1;tp=3"), "buckets", &usual);
    assert!(matches!(refused, Err(ChartError::Invalid(problems)) if !problems.is_empty()));
}

#[test]
fn amounts_are_in_the_unit_that_is_asked_for() {
    let share = state("#v1;m=llama3-8b@1;tp=2");
    for (unit, label) in [(Unit::Gib, " GiB"), (Unit::Gb, " GB")] {
        let options = ChartOptions {
            unit,
            ..ChartOptions::default()
        };
        let drawn = chart_file(&share, "stage_bars", &options).unwrap();
        assert!(drawn.contains(label), "{label}");
    }
}

#[test]
fn the_map_of_ranks_says_what_its_colors_mean() {
    let share = state("#v1;m=llama3-8b@1;tp=2;pp=4;gpus=16");
    let usual = ChartOptions::default();
    for (coloring, width, words) in [
        (Coloring::Stage, usual.width, "stage 3, 4 ranks"),
        (Coloring::Module, usual.width, "language, 16 ranks"),
        (Coloring::Memory, 200, "GiB, 4 ranks"),
    ] {
        let options = ChartOptions {
            coloring,
            width,
            ..usual
        };
        let drawn = chart_file(&share, "rank_map", &options).unwrap();
        assert!(drawn.contains(words), "{coloring:?}");
    }
}

#[test]
fn a_card_breaks_a_long_link_into_lines() {
    let link = "#v1;L=94;h=4096;f=12288;nq=64;v=151936;untie=1;pos=rope;maxpos=40960;norm=RMSNorm;swiglu=1;bias=0;seq=4096;gpus=64;tp=8;\
        pp=2;bf16=1;sp=1;gbs=64";
    let drawn = chart_file(&state(link), "card", &ChartOptions::default()).unwrap();
    let texts = drawn.lines().filter_map(|line| {
        let (_, text) = line.split_once("<text")?.1.split_once('>')?;
        text.strip_suffix("</text>")
    });
    let texts: Vec<&str> = texts.collect();
    let first = texts.iter().position(|text| text.contains("#v1;")).unwrap();
    let lines = texts.get(first..).unwrap();
    assert!(lines.len() > 1, "{lines:?}");
    let written = lines.concat();
    for setting in ["L=94", "maxpos=40960", "gbs=64"] {
        assert!(written.contains(setting), "{setting}: {written}");
    }
    // About as many letters as the usual width has room for.
    assert!(lines.iter().all(|line| line.len() < 110), "{lines:?}");
}
