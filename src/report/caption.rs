//! What stands below a picture that is shown without the page: which job it is of, the verdict, and what its colors
//! are.

use super::amount::{Scale, grouped};
use super::charts::Subject;
use super::scene::{Anchor, Class, Drawing, Px, Scene};
use crate::config::gpus;
use crate::config::job::Config;
use crate::memory::Estimate;
use crate::memory::bucket::Bucket;
use crate::units::Bytes;

/// The height of a line below a picture.
const LINE: Px = Px::of(20);
/// The side of a color's square.
const SQUARE: Px = Px::of(12);
/// The gap between a square and its name, and half of that between two names.
const GAP: Px = Px::of(6);

/// A job in a few words, such as `DeepSeek-V3 · 2,048 × H100 80 GB`. `model` is the model's name, where it has one.
#[must_use]
pub fn job_words(config: &Config, model: Option<&str>) -> String {
    let cluster = gpu_words(config);
    format!("{} · {cluster}", model.unwrap_or("Own model"))
}

/// The GPUs of a job, such as `2,048 × H100 80 GB`.
#[must_use]
pub fn gpu_words(config: &Config) -> String {
    let gpus = grouped(config.world_size());
    let id = config.modules().first().and_then(|m| m.args().gpu.as_deref());
    let gpu = id.map(|id| gpus::by_id(id).map_or(id, |gpu| gpu.name));
    match gpu {
        Some(gpu) => format!("{gpus} × {gpu}"),
        None => format!("{gpus} GPUs"),
    }
}

/// The buckets that hold memory on some stage.
pub(super) fn held_buckets(estimate: &Estimate) -> impl Iterator<Item = Bucket> {
    Bucket::ALL.into_iter().filter(|bucket| {
        let modules = estimate.modules.iter();
        let mut stages = modules.flat_map(|module| &module.stages);
        stages.any(|stage| stage.bytes(*bucket) > Bytes::ZERO)
    })
}

/// A picture with the job, the verdict and the buckets of the job below it.
#[must_use]
pub fn with_caption(mut scene: Scene, subject: &Subject<'_>, model: Option<&str>) -> Scene {
    let summary = subject.standing;
    let job = job_words(subject.config, model);
    let verdict = summary.sentence(subject.config, Scale::coarse(subject.unit));
    for text in [&job, &verdict] {
        write_line(&mut scene, text);
    }
    write_legend(&mut scene, held_buckets(subject.estimate));
    scene.title = format!("{job}: {}", scene.title);
    scene
}

/// A picture with some lines of text below it.
#[must_use]
pub fn with_lines(mut scene: Scene, lines: &[String]) -> Scene {
    for line in lines {
        write_line(&mut scene, line);
    }
    scene
}

/// Adds a line of text below a picture. What has no room goes to the next line, also after a `;` of a link.
pub(super) fn write_line(scene: &mut Scene, text: &str) {
    let mut line = String::new();
    let mut lines = Vec::new();
    for piece in text.split_inclusive([' ', ';']) {
        let longer = [line.as_str(), piece].concat();
        line = if Px::for_words(longer.trim_end()) > scene.width && !line.is_empty() {
            lines.push(line.trim_end().to_owned());
            piece.to_owned()
        } else {
            longer
        };
    }
    lines.push(line);
    for line in lines {
        let place = (Px::ZERO, scene.height + LINE - GAP);
        scene
            .before
            .push(Drawing::text(Class::Label, place, Anchor::Start, line));
        scene.height += LINE;
    }
}

/// Adds the names of buckets with their colors, as many in a line as have room.
pub(super) fn write_legend(scene: &mut Scene, buckets: impl Iterator<Item = Bucket>) {
    let mut x = Px::ZERO;
    scene.height += LINE;
    for bucket in buckets {
        let name = bucket.label();
        let width = SQUARE + GAP + Px::for_words(name);
        if x + width > scene.width && x > Px::ZERO {
            x = Px::ZERO;
            scene.height += LINE;
        }
        let base = scene.height - GAP;
        let corner = (x, base - SQUARE + Px::of(2));
        scene
            .before
            .push(Drawing::rect(Class::Bucket(bucket), corner, (SQUARE, SQUARE)));
        let place = (x + SQUARE + GAP, base);
        scene
            .before
            .push(Drawing::text(Class::Tick, place, Anchor::Start, name));
        x = x + width + GAP + GAP;
    }
    scene.height += GAP;
}
