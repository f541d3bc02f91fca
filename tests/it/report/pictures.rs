use std::fmt::Write;

use megatron_memory::config::check;
use megatron_memory::export::svg::document;
use megatron_memory::formats::state::Setup;
use megatron_memory::memory::{StageRef, estimate};
use megatron_memory::presets::PRESETS;
use megatron_memory::report::amount::Unit;
use megatron_memory::report::charts::{CHARTS, ROW, Subject, bucket_bar, buckets, components, stage_bars, timeline};
use megatron_memory::report::grouping::Grouping;
use megatron_memory::report::scene::{Class, Drawing, Px, Scene, Shape};
use megatron_memory::verdict::Standing;
use serde_json::json;

use super::{Job, snapshot};
use crate::oracle;

fn draw(job: &Job, chart: megatron_memory::report::charts::Chart, width: i32) -> Scene {
    draw_grouped(job, chart, width, Grouping::Buckets)
}

fn draw_grouped(job: &Job, chart: megatron_memory::report::charts::Chart, width: i32, grouping: Grouping) -> Scene {
    let stage = job.estimate.worst;
    let lines = megatron_memory::memory::line::stage_lines(&job.config, &job.estimate, stage);
    (chart.draw)(&Subject {
        config: &job.config,
        estimate: &job.estimate,
        standing: Standing::new(&job.config, &job.estimate),
        stage,
        lines: &lines,
        unit: Unit::Gib,
        grouping,
        width: Px::of(width),
        row: ROW,
    })
}

fn text(scene: &Scene) -> String {
    let mut out = format!(
        "{} {}x{}: {} {}\n",
        scene.id, scene.width, scene.height, scene.title, scene.description
    );
    scene.behind.iter().for_each(|d| out += &drawing(d));
    for mark in &scene.marks {
        let chosen = if mark.chosen { " (chosen)" } else { "" };
        writeln!(out, "- {}{chosen}: {}", mark.class.names(), mark.label).unwrap();
        mark.drawings
            .iter()
            .for_each(|d| write!(out, "  {}", drawing(d)).unwrap());
    }
    scene.before.iter().for_each(|d| out += &drawing(d));
    out
}

fn drawing(d: &Drawing) -> String {
    let shape = match &d.shape {
        Shape::Rect { x, y, width, height } => format!("{x},{y} {width}x{height}"),
        Shape::Area { corners } => {
            let corners = corners.iter().map(|(x, y)| format!("{x},{y}"));
            corners.collect::<Vec<_>>().join(" ")
        }
        Shape::Line {
            from: (x1, y1),
            to: (x2, y2),
        } => format!("{x1},{y1} to {x2},{y2}"),
        Shape::Text { x, y, anchor, text } => format!("{x},{y} {}: {text}", anchor.name()),
    };
    let about = d.target.as_ref().map(|t| format!(" -> {}", t.path)).unwrap_or_default();
    format!("{} {shape}{about}\n", d.class.names())
}

#[test]
fn the_headline_bar_is_the_worst_stage_against_the_gpu() {
    let job = Job::small(json!({"gpu_memory_mib": 2048}));
    snapshot("headline", &text(&draw(&job, bucket_bar::CHART, 800)));
    let job = Job::small(json!({"gpu_memory_mib": 400}));
    snapshot("overfull", &text(&draw(&job, bucket_bar::CHART, 300)));
}

/// On a laptop's screen each group of the bar has its name: within its segment, or below the bar.
#[test]
fn every_group_of_the_headline_bar_is_named_on_a_laptop() {
    for preset in PRESETS {
        let config = check(&Setup::of_preset(preset).job).config.unwrap();
        let estimate = estimate(&config);
        let job = Job { config, estimate };
        let scene = draw_grouped(&job, bucket_bar::CHART, 810, Grouping::CLOSED);
        let marks = scene.marks.iter().flat_map(|mark| &mark.drawings);
        let texts = marks.chain(&scene.behind).filter_map(|drawing| match &drawing.shape {
            Shape::Text { text, .. } => Some(text.as_str()),
            _ => None,
        });
        let texts: Vec<&str> = texts.collect();
        for mark in &scene.marks {
            let (name, _) = mark.label.split_once(": ").unwrap();
            let first = name.split(' ').next().unwrap();
            let is_named = texts.iter().any(|text| text.starts_with(first));
            assert!(is_named, "{}: no {name} in {texts:?}", preset.id);
        }
    }
}

/// Two modules on the same ranks: the bar is the whole rank, which no stage of one module is.
#[test]
fn the_headline_bar_of_colocated_modules_is_the_worst_rank() {
    let job = Job::new(&json!({
        "world_size": 8, "colocate_modules": true, "bf16": true, "num_layers": 4, "hidden_size": 1024,
        "num_attention_heads": 16,
        "modules": [
            { "name": "language", "seq_length": 1024, "max_position_embeddings": 1024, "vocab_size": 8192 },
            { "name": "images", "front_end": "patches", "img_h": 336, "img_w": 336, "patch_dim": 14, "projector": "mlp",
              "projector_hidden_size": 4096, "class_token_len": 1 },
        ],
    }));
    let rank = &job.estimate.worst_rank;
    let held = rank.memory.iter().filter(|bytes| bytes.0 > 0).count();
    let scene = draw(&job, bucket_bar::CHART, 800);
    assert_eq!(scene.marks.len(), held);
    let end = |drawing: &Drawing| match drawing.shape {
        Shape::Rect { x, width, .. } => x + width,
        _ => Px::ZERO,
    };
    let filled = scene
        .marks
        .iter()
        .flat_map(|mark| &mark.drawings)
        .map(end)
        .max()
        .unwrap();
    let band = scene.behind.iter().find(|d| d.class == Class::Band).unwrap();
    let Shape::Rect { x: from, .. } = band.shape else {
        panic!("the band is a rectangle")
    };
    assert_eq!(filled, from, "what is allowed for begins where the rank's memory ends");
    assert_ne!(rank.total, job.estimate.worst_stage().unwrap().total);
}

#[test]
fn every_stage_has_a_bar() {
    let job = Job::small(json!({"gpu_memory_mib": 1100}));
    snapshot("stages", &text(&draw(&job, stage_bars::CHART, 300)));
}

#[test]
fn a_stage_is_broken_down_by_bucket_and_by_component() {
    let job = Job::small(json!({}));
    snapshot("buckets", &text(&draw(&job, buckets::CHART, 500)));
    snapshot("components", &text(&draw(&job, components::CHART, 320)));
}

#[test]
fn an_iteration_is_drawn_step_by_step() {
    let job = Job::small(json!({"gpu_memory_mib": 1100, "global_batch_size": 16}));
    let scene = draw(&job, timeline::CHART, 300);
    snapshot("timeline", &text(&scene));
    // The bands lie on each other without a gap: each one's upper outline is the next one's lower one.
    let areas: Vec<_> = scene
        .marks
        .iter()
        .flat_map(|mark| &mark.drawings)
        .filter_map(|drawing| match &drawing.shape {
            Shape::Area { corners } => Some(corners),
            _ => None,
        })
        .collect();
    assert!(areas.len() > 8);
    for pair in areas.windows(2) {
        let lower: Vec<_> = pair[1].iter().rev().collect();
        let upper = pair[0].iter().take_while(|at| at.0 < scene.width);
        assert!(upper.zip(lower).all(|(a, b)| a == b));
    }
}

#[test]
fn a_picture_stands_by_itself_as_a_file() {
    let job = Job::case("mixtral_8x7b_tp2_ep4_etp2", json!({"gpu_memory_mib": 81_559}));
    let mut scene = draw(&job, bucket_bar::CHART, 400);
    scene.title = String::from("<a & \"b\">\u{1}");
    let file = document(&scene, ".bucket{fill:red}");
    assert!(
        file.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"scene scene-bucket_bar\" width=\"400\""),
        "{file}"
    );
    assert!(file.contains("<title>&lt;a &amp; &quot;b&quot;&gt; </title>"), "{file}");
    assert!(file.contains("<style>.bucket{fill:red}</style>"), "{file}");
    assert!(file.contains("class=\"bucket bucket-weights_expert\""), "{file}");
    // Routed experts carry a texture, and dense parameters do not; of the activations every other bucket does.
    let textured = scene
        .marks
        .iter()
        .flat_map(|m| &m.drawings)
        .filter(|d| d.class.textured())
        .count();
    assert_eq!(file.matches("url(#texture-bucket_bar)").count(), textured);
    assert_eq!(textured, 7);
    assert_eq!(file.matches('<').count(), file.matches('>').count());
}

/// Every picture of every case at several widths: nothing lies outside, and what is stacked adds up.
#[test]
fn pictures_stay_within_their_frame() {
    for file in oracle::files("params") {
        let case = oracle::json(&file);
        if case.get("error").is_some() {
            continue;
        }
        let mut config = case["config"].clone();
        config["gpu_memory_mib"] = json!(81_559);
        let job = Job::new(&config);
        for width in [280, 720, 1400] {
            for chart in CHARTS {
                let scene = draw(&job, *chart, width);
                let (right, bottom) = (scene.width + Px(150), scene.height + Px(1));
                let marks = scene.marks.iter().flat_map(|m| &m.drawings);
                for d in scene.behind.iter().chain(marks).chain(&scene.before) {
                    let place = format!("{file} {} {width}: {}", chart.id, drawing(d));
                    match &d.shape {
                        Shape::Rect { x, y, width, height } => {
                            assert!(*x >= Px::ZERO && *y >= Px::ZERO, "{place}");
                            assert!(*width >= Px::ZERO && *height >= Px::ZERO, "{place}");
                            assert!(*x + *width <= right && *y + *height <= bottom, "{place}");
                        }
                        Shape::Area { corners } => {
                            let within = |(x, y): &(Px, Px)| *x <= right && *y <= bottom && *y >= Px::ZERO;
                            assert!(corners.iter().all(within), "{place}");
                        }
                        Shape::Line { from, to } => {
                            assert!(from.0.max(to.0) <= right && from.1.max(to.1) <= bottom, "{place}");
                        }
                        Shape::Text { x, y, .. } => {
                            assert!(
                                *x >= Px::ZERO && *x <= right && *y > Px::ZERO && *y <= bottom,
                                "{place}"
                            );
                        }
                    }
                }
                let chosen = scene.marks.iter().filter(|mark| mark.chosen).count();
                assert_eq!(chosen, usize::from(chart.id == "stage_bars"), "{file} {}", chart.id);
            }
        }
    }
}

#[test]
fn a_thousand_stages_share_bars_and_the_chosen_one_stays_in_sight() {
    let job = Job::small(json!({"num_layers": 1000, "pipeline_model_parallel_size": 1000, "world_size": 1000}));
    let subject = Subject {
        config: &job.config,
        estimate: &job.estimate,
        standing: Standing::new(&job.config, &job.estimate),
        stage: StageRef {
            module: 0,
            pp_rank: 501,
        },
        lines: &[],
        unit: Unit::Gib,
        grouping: Grouping::Buckets,
        width: Px::of(300),
        row: ROW,
    };
    let scene = (stage_bars::CHART.draw)(&subject);
    assert!(scene.marks.len() < 60, "{}", scene.marks.len());
    let chosen: Vec<_> = scene.marks.iter().filter(|m| m.chosen).collect();
    assert_eq!(chosen.len(), 1);
    assert_eq!(chosen[0].target.stage.unwrap().pp_rank, 501);
    let worst = scene.marks.iter().any(|m| m.target.stage == Some(job.estimate.worst));
    assert!(worst);
    assert!(
        scene
            .marks
            .iter()
            .flat_map(|m| &m.drawings)
            .all(|d| d.class != Class::Alarm)
    );
}

#[test]
fn bars_stand_below_their_text_where_there_is_no_room_beside_it() {
    let job = Job::small(json!({}));
    for (width, below) in [(720, false), (380, false), (370, true), (288, true)] {
        let scene = draw(&job, buckets::CHART, width);
        for mark in &scene.marks {
            let top = |class: fn(&Class) -> bool| {
                let drawing = mark.drawings.iter().find(|d| class(&d.class)).unwrap();
                match drawing.shape {
                    Shape::Rect { y, .. } | Shape::Text { y, .. } => y,
                    _ => unreachable!(),
                }
            };
            let (text, bar) = (
                top(|class| *class == Class::Label),
                top(|class| matches!(class, Class::Bucket(_))),
            );
            assert_eq!(bar > text, below, "{width}");
        }
    }
}
