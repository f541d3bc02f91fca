//! A card to show to others: the model, the cluster, what the job needs, its bar, the verdict, and a link.

use super::amount::{Scale, grouped};
use super::caption::{gpu_words, held_buckets, write_legend, write_line};
use super::charts::{Subject, bucket_bar};
use super::scene::{Anchor, Class, Drawing, Px, Scene};
use super::summary::worst_place;
use crate::config::job::Config;

/// The picture's id.
pub const ID: &str = "card";
/// The picture's name for people.
pub const TITLE: &str = "Card to show to others";

/// The room around everything.
const EDGE: Px = Px::of(24);

/// Draws the card, as wide as the subject says. `model` is the model's name, and `link` leads to the job.
#[must_use]
pub fn draw(subject: &Subject<'_>, model: Option<&str>, link: &str) -> Scene {
    let summary = subject.standing;
    let scale = Scale::coarse(subject.unit);
    let inner = Subject {
        width: subject.width - EDGE - EDGE,
        ..*subject
    };
    let bar = (bucket_bar::CHART.draw)(&inner);
    let model = model.unwrap_or("Own model");
    let total = scale.amount(summary.total);
    let text = |class, y, text: String| Drawing::text(class, (Px::ZERO, Px::of(y)), Anchor::Start, text);
    let verdict = match summary.headroom() {
        Some(headroom) => format!(
            "{} {}, {}",
            summary.verdict.sign(),
            summary.verdict.words(),
            headroom.words(scale)
        ),
        None => format!("{} {}", summary.verdict.sign(), summary.verdict.words()),
    };
    let mut card = Scene {
        id: ID,
        width: inner.width,
        height: Px::of(86),
        title: format!("{model} on {}: {total}", gpu_words(subject.config)),
        description: summary.sentence(subject.config, scale),
        behind: vec![
            text(Class::Heading, 18, model.to_owned()),
            text(Class::Label, 40, gpu_words(subject.config)),
            text(Class::Headline, 78, total),
            Drawing::text(
                Class::Verdict(summary.verdict),
                (inner.width, Px::of(78)),
                Anchor::End,
                verdict,
            ),
        ],
        marks: Vec::new(),
        before: Vec::new(),
    };
    write_line(&mut card, &layout_words(subject.config));
    let place = worst_place(subject.config, subject.estimate);
    write_line(&mut card, &format!("{} {place}", summary.device_words(scale)));
    card.height += Px::of(6);
    let top = card.height;
    card.height += bar.height;
    let drawings = bar.marks.into_iter().flat_map(|mark| mark.drawings);
    let drawings = bar.behind.into_iter().chain(drawings).chain(bar.before);
    let drawings = drawings.filter(|drawing| drawing.class != Class::Reach);
    card.before.extend(drawings.map(|drawing| drawing.moved(Px::ZERO, top)));
    write_legend(&mut card, held_buckets(subject.estimate));
    card.height += Px::of(6);
    write_line(&mut card, &format!("Megatron Memory: {link}"));
    // A card has an edge of its own.
    for drawing in card.behind.iter_mut().chain(&mut card.before) {
        *drawing = drawing.clone().moved(EDGE, EDGE);
    }
    card.width = subject.width;
    card.height += EDGE + EDGE;
    card
}

/// How the model of a job is laid out, such as `TP 8 · PP 16 · EP 64 · DP 32 · 4,096 tokens · micro batch 1`.
#[must_use]
pub fn layout_words(config: &Config) -> String {
    let Some(module) = config.modules().first() else {
        return String::new();
    };
    let args = module.args();
    let sizes = [
        ("TP", module.tp),
        ("PP", module.pp),
        ("CP", module.cp),
        ("EP", module.ep),
        ("DP", module.dp),
    ];
    let sizes = sizes.into_iter().filter(|(_, size)| *size > 1);
    let mut words: Vec<String> = sizes.map(|(name, size)| format!("{name} {size}")).collect();
    words.push(format!("{} tokens", grouped(args.seq_length)));
    words.push(format!("micro batch {}", args.micro_batch_size));
    words.join(" · ")
}
