//! How far the measured runs leave every coefficient open.
//!
//! Models are drawn anew, each as often as it falls, and coefficients are fitted to the runs of the drawn models: eight of
//! ten such fits lie in the interval. Where runs do not tell a coefficient, all these fits leave it where it was before; so
//! the interval also holds all values with which the score on all runs falls by no more than a fit to drawn models gains on
//! these, in the median.

use std::collections::BTreeMap;

use megatron_memory::time::coefficients::Coefficients;

use super::{Runs, model};

/// How often models are drawn.
const DRAWS: u32 = 40;
/// The draws that are left out at each end.
const LEFT_OUT: usize = 4;
/// The factor of one step along a coefficient, and the most steps: up to 11 times smaller or larger.
const STEP: f64 = 1.05;
const MOST_STEPS: u32 = 49;

/// Numbers that look random and are the same at every run: a linear congruential generator with Knuth's constants.
struct Draws(u64);

impl Draws {
    /// A number below `end`.
    fn below(&mut self, end: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap_or(0) % end.max(1)
    }
}

/// The least and the most of every coefficient.
pub(super) fn intervals(runs: &Runs, best: &Coefficients) -> [Coefficients; 2] {
    let mut models: Vec<(&str, &str)> = runs.compared.iter().map(|(run, _)| model(run)).collect();
    models.sort_unstable();
    models.dedup();
    let mut random = Draws(1);
    let mut fits: Vec<Coefficients> = Vec::new();
    let mut gains = Vec::new();
    for _ in 0..DRAWS {
        let mut drawn: BTreeMap<(&str, &str), f64> = BTreeMap::new();
        for _ in 0..models.len() {
            if let Some(model) = models.get(random.below(models.len())) {
                *drawn.entry(*model).or_default() += 1.0;
            }
        }
        let times = |run: &_| drawn.get(&model(run)).copied().unwrap_or(0.0);
        let fit = runs.fit(&times);
        gains.push(runs.score(&fit, &times) - runs.score(best, &times));
        fits.push(fit);
    }
    gains.sort_by(f64::total_cmp);
    let open = gains.get(gains.len() / 2).copied().unwrap_or(0.0).max(0.0);
    let least_score = runs.score(best, &|_| 1.0) - open;

    let [mut low, mut high] = [*best; 2];
    for place in 0..low.each_mut().count() {
        let of = |coefficients: &Coefficients| {
            let mut coefficients = *coefficients;
            coefficients.each_mut().nth(place).map_or(f64::NAN, |one| *one)
        };
        let mut values: Vec<f64> = fits.iter().map(of).collect();
        values.sort_by(f64::total_cmp);
        // As far as the score allows.
        let reach = |step: f64| {
            let mut reached = of(best);
            for _ in 0..MOST_STEPS {
                let mut next = *best;
                if let Some(one) = next.each_mut().nth(place) {
                    *one = reached * step;
                }
                if runs.score(&next, &|_| 1.0) < least_score {
                    break;
                }
                reached *= step;
            }
            reached
        };
        let end = |at: usize| values.get(at).copied().unwrap_or_else(|| of(best));
        let from = end(LEFT_OUT).min(reach(1.0 / STEP));
        let to = end(values.len().saturating_sub(1 + LEFT_OUT)).max(reach(STEP));
        for (end, value) in [(&mut low, from), (&mut high, to)] {
            if let Some(one) = end.each_mut().nth(place) {
                *one = value;
            }
        }
    }
    [low, high]
}
