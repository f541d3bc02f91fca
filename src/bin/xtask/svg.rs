//! A link as a picture, for pages without scripts.

use megatron_memory::{
    config::{self, job::Config},
    export::pictures,
    formats::{share_url, state::PresetRef},
    memory::{
        Estimate, estimate,
        line::{Line, stage_lines},
    },
    report::{
        amount::Unit,
        charts::{Chart, ROW, Subject, bucket_bar},
        grouping::Grouping,
        rank_map::Coloring,
        scene::{Px, Scene},
    },
    verdict::Standing,
};

use super::Error;

/// How wide the picture is, in pixels: what a column of text mostly is.
const WIDTH: i32 = 720;

/// Prints the picture of a link.
pub(crate) fn print(link: &str, chart: Option<&str>) -> Result<(), Error> {
    print!("{}", picture(link, chart.unwrap_or(bucket_bar::CHART.id))?);
    Ok(())
}

/// The buckets of a link's heaviest stage.
pub(crate) fn of_link(link: &str) -> Result<String, Error> {
    picture(link, bucket_bar::CHART.id)
}

/// The picture of a link, as SVG.
///
/// # Errors
///
/// Everything that keeps the link from being what it says: a picture in a document must not be of something else.
fn picture(link: &str, chart: &str) -> Result<String, Error> {
    let (share, notices) = share_url::decode(link);
    if !notices.is_empty() {
        let notices: Vec<_> = notices.iter().map(ToString::to_string).collect();
        return Err(notices.join("\n").into());
    }
    let checked = config::check(&share.setup.job);
    let Some(config) = &checked.config else {
        let problems: Vec<_> = checked.errors().map(|problem| problem.message.as_str()).collect();
        return Err(problems.join("\n").into());
    };
    let estimate = estimate(config);
    let lines = stage_lines(config, &estimate, estimate.worst);
    let subject = fullest(config, &estimate, &lines);
    let preset = share.setup.preset.as_ref();
    let model = preset.and_then(PresetRef::label);
    let picture = pictures::draw(chart, &subject, model, Coloring::Memory, &share_url::encode(&share));
    let picture = picture.ok_or_else(|| pictures::unknown(chart))?;
    Ok(picture.to_string())
}

/// A chart of a job's fullest stage.
pub(crate) fn of_fullest(config: &Config, estimate: &Estimate, lines: &[Line], chart: Chart) -> Scene {
    (chart.draw)(&fullest(config, estimate, lines))
}

/// A job's fullest stage, for a chart of it.
fn fullest<'a>(config: &'a Config, estimate: &'a Estimate, lines: &'a [Line]) -> Subject<'a> {
    Subject {
        config,
        estimate,
        standing: Standing::new(config, estimate),
        stage: estimate.worst,
        lines,
        unit: Unit::Gib,
        grouping: Grouping::Buckets,
        width: Px::of(WIDTH),
        row: ROW,
    }
}

#[cfg(test)]
mod tests {
    use megatron_memory::{export::pictures, memory::bucket::Bucket};

    use super::picture;

    const LINK: &str = "https://example.org/#v1;m=llama3-8b@1;tp=2";

    #[test]
    fn every_chart_becomes_a_file_that_needs_nothing_else() {
        for (name, _) in pictures::names() {
            let text = picture(LINK, name).unwrap();
            assert!(text.starts_with("<svg xmlns=") && text.ends_with("</svg>\n"), "{name}");
            let addresses = text.matches("http").count();
            assert_eq!(addresses, 1, "{name}: it names more than its own format");
        }
    }

    #[test]
    fn every_bucket_has_its_colors() {
        let text = picture(LINK, "buckets").unwrap();
        for bucket in Bucket::ALL {
            let rule = format!(".bucket-{}{{fill:#", bucket.id());
            assert_eq!(text.matches(&rule).count(), 2);
        }
    }

    #[test]
    fn a_link_that_is_not_wholly_understood_is_refused() {
        for link in ["", "#v1;m=nothing@1", "#v1;m=llama3-8b@1;tp=3", "#v9;x"] {
            assert!(picture(link, "buckets").is_err(), "{link}");
        }
        assert!(picture(LINK, "cake").is_err());
    }
}
