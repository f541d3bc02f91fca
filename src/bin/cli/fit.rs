//! `fit`: changes with which a job fits its GPU.

use clap::Args;
use megatron_memory::config::raw::RawJob;
use megatron_memory::export::json;
use megatron_memory::fit::{FitError, Offer, Offers, ReservedGain, offers, reserved_gains};
use megatron_memory::formats::share_url;
use megatron_memory::formats::state::ShareState;
use megatron_memory::report::amount::{Scale, Unit};
use megatron_memory::report::offers::OfferRow;
use megatron_memory::units::Bytes;
use megatron_memory::value::Value;
use megatron_memory::verdict::Standing;
use megatron_memory::{config, report};
use serde::Serialize;
use serde_json::Map;

use super::exit::{Failure, Status};
use super::job::JobArgument;
use super::output;

/// Arguments of `fit`.
#[derive(Debug, Args)]
pub(crate) struct FitJob {
    #[command(flatten)]
    job: JobArgument,
    /// Print the changes as JSON
    #[arg(long)]
    json: bool,
}

/// A change, or a pair of changes, with which a job fits. Amounts are in bytes.
#[derive(Debug, Serialize)]
pub(crate) struct OfferReport {
    /// The change in words.
    change: String,
    /// What it costs, in words.
    cost: String,
    /// The module that it is made in; none where the job has no modules of its own.
    module: Option<String>,
    /// The arguments that it sets; null stands for a default.
    settings: Map<String, serde_json::Value>,
    /// The largest peak of a rank with the change.
    peak_bytes: u64,
    /// The least that the device may show at that peak.
    device_bytes_low: u64,
    /// The most that the device may show.
    device_bytes_high: u64,
    /// The changed job as a link: the part of the calculator's address from the #.
    link: String,
}

/// The result of `fit`.
#[derive(Debug, Serialize)]
struct Report {
    /// The verdict on the job as it is, as `check` has it.
    verdict: Option<&'static str>,
    /// The same in words.
    reason: String,
    /// The changes with which it fits, those that cost least first. For a job that fits as it is, changes with which it
    /// pays less than now.
    offers: Vec<OfferReport>,
    /// Where no change is enough: the one with the smallest peak.
    closest: Option<OfferReport>,
    /// Settings of PyTorch's allocator with which it would reserve less; empty for jobs whose allocator is not
    /// replayed.
    reserved_gains: Vec<GainReport>,
}

/// A setting of PyTorch's allocator, and the memory that it reserves on the fullest GPU without and with it. Both
/// amounts are like the object `reserved` that `estimate --json` prints.
#[derive(Debug, Serialize)]
struct GainReport {
    /// The setting, by its argument.
    settings: Map<String, serde_json::Value>,
    /// In the job as it is.
    now: Value,
    /// With the setting.
    then: Value,
    /// The gain in words.
    #[serde(skip)]
    words: String,
}

impl FitJob {
    /// Prints the changes.
    pub(crate) fn run(self) -> Result<Status, Failure> {
        let loaded = self.job.load()?;
        loaded.complete()?;
        let share = &loaded.share;
        let found = offers(&share.setup.job).map_err(|why| failure(&why))?;
        let offer = |offer: &Offer| OfferReport::new(share, offer);
        let report = Report {
            verdict: found.now.verdict.id(),
            reason: sentence(&share.setup.job, &found.now),
            offers: found.offers.iter().map(offer).collect(),
            closest: found.closest.as_ref().filter(|_| found.offers.is_empty()).map(offer),
            reserved_gains: reserved_gains(&share.setup.job).iter().map(GainReport::new).collect(),
        };
        if self.json {
            output::json(&report)?;
        } else {
            output::print_lines(&report.text(found.now.has_room()))?;
        }
        Ok(status(&found))
    }
}

/// Why a job has no offers or limits, as the end of a command.
pub(crate) fn failure(why: &FitError) -> Failure {
    match why {
        FitError::Refused(problems) => Failure::cannot_run(problems),
        FitError::NoGpu => Failure::usage("No GPU chosen: --gpu says what the job is to fit"),
    }
}

/// The headline of a job.
fn sentence(job: &RawJob, standing: &Standing) -> String {
    let config = config::check(job).config;
    config.map_or_else(String::new, |config| {
        standing.sentence(&config, Scale::coarse(Unit::Gib))
    })
}

fn status(found: &Offers) -> Status {
    if found.now.has_room() || found.offers.is_empty() {
        Status::of(found.now.verdict)
    } else {
        Status::Success
    }
}

impl GainReport {
    fn new(gain: &ReservedGain) -> Self {
        let (field, value) = gain.setting.field();
        Self {
            settings: Map::from_iter([(field.field().name.to_owned(), plain(&value))]),
            now: json::reserved(&gain.now),
            then: json::reserved(&gain.then),
            words: report::reserved::gain(gain.into(), Scale::coarse(Unit::Gib)),
        }
    }
}

impl OfferReport {
    /// The report of an offer to a job.
    pub(crate) fn new(share: &ShareState, offer: &Offer) -> Self {
        let row = OfferRow::new(offer.clone(), Scale::coarse(Unit::Gib));
        let mut changed = share.clone();
        offer.apply(&mut changed.setup.job);
        let module = share.setup.job.modules.get(offer.module);
        let job = &share.setup.job;
        let settings = offer.changes.iter().flat_map(|change| &change.settings);
        // A change also names what must have a certain value, which the job may have already.
        let settings = settings.filter(|(id, value)| job.get(offer.module, *id).unwrap_or(&Value::Null) != value);
        Self {
            change: row.name,
            cost: row.cost,
            module: module.map(|module| module.name.clone()),
            settings: settings
                .map(|(id, value)| (id.field().name.to_owned(), plain(value)))
                .collect(),
            peak_bytes: offer.measured.total.0,
            device_bytes_low: offer.measured.device.0.0,
            device_bytes_high: offer.measured.device.1.0,
            link: share_url::encode(&changed),
        }
    }

    /// The change, its cost and what is needed with it, in a line.
    pub(crate) fn line(&self) -> String {
        let scale = Scale::coarse(Unit::Gib);
        format!(
            "{}: {} allocated, {} on the device; {}",
            self.change,
            scale.amount(Bytes(self.peak_bytes)),
            scale.range(Bytes(self.device_bytes_low), Bytes(self.device_bytes_high)),
            self.cost
        )
    }

    /// The settings as arguments of this program, and behind them those that `--set` cannot make.
    fn arguments(&self) -> String {
        let mut arguments = Vec::new();
        let mut defaults = Vec::new();
        for (name, value) in &self.settings {
            match value {
                serde_json::Value::Null => defaults.push(format!("{name} at its default")),
                serde_json::Value::String(text) => arguments.push(format!("--set {name}={text}")),
                serde_json::Value::Array(items) => {
                    let items: Vec<&str> = items.iter().filter_map(serde_json::Value::as_str).collect();
                    arguments.push(format!("--set {name}={}", items.join(",")));
                }
                other => arguments.push(format!("--set {name}={other}")),
            }
        }
        let module = self.module.as_ref().map(|name| format!("in module {name}: "));
        let settings = [arguments.join(" "), defaults.join(", ")].into_iter();
        let settings: Vec<String> = settings.filter(|part| !part.is_empty()).collect();
        module.unwrap_or_default() + &settings.join(", with ")
    }
}

/// A value as JSON.
fn plain(value: &Value) -> serde_json::Value {
    serde_json::from_str(&value.to_string()).unwrap_or_default()
}

impl Report {
    fn text(&self, fits: bool) -> String {
        let heading = match (fits, self.offers.is_empty()) {
            (true, true) => "No change would let it do with less than it pays now.",
            (true, false) => "It fits. Changes with which it pays less than now and still fits:",
            (false, true) => "No single change, and no pair of changes, is enough.",
            (false, false) => "Changes with which it fits, those that cost least first:",
        };
        let mut lines = vec![format!("The job as it is: {}", self.reason), heading.to_owned()];
        for offer in &self.offers {
            lines.push(format!("  {}", offer.line()));
            lines.push(format!("      {}", offer.arguments()));
        }
        let closest = self.closest.iter();
        lines.extend(closest.map(|closest| format!("  The closest is: {}", closest.line())));
        for gain in &self.reserved_gains {
            lines.push(gain.words.clone());
            let settings = gain.settings.iter();
            lines.extend(settings.map(|(name, value)| format!("      --set {name}={value}")));
        }
        lines.join("\n") + "\n"
    }
}
