//! A link as a picture, for pages without scripts.

use megatron_memory::{
    config::{self, job::Config},
    export::{style, svg},
    formats::share_url,
    memory::{
        Estimate, estimate,
        line::{Line, stage_lines},
    },
    report::{
        amount::Unit,
        charts::{CHARTS, Chart, ROW, Subject, bucket_bar},
        scene::{Px, Scene},
    },
};

use super::Error;

/// How wide the picture is, in pixels: what a column of text mostly is.
const WIDTH: i32 = 720;

/// Prints the picture of a link.
pub(crate) fn print(options: &[&str]) -> Result<(), Error> {
    let (link, chart) = match *options {
        [link] => (link, bucket_bar::CHART),
        [link, "--chart", id] => (link, chart(id)?),
        _ => return Err("usage: cargo xtask svg LINK [--chart NAME]".into()),
    };
    print!("{}", picture(link, chart)?);
    Ok(())
}

fn chart(id: &str) -> Result<Chart, Error> {
    let found = CHARTS.iter().find(|chart| chart.id == id).copied();
    let ids: Vec<_> = CHARTS.iter().map(|chart| chart.id).collect();
    found.ok_or_else(|| format!("no chart is called {id}; there are {}", ids.join(", ")).into())
}

/// The buckets of a link's heaviest stage.
pub(crate) fn of_link(link: &str) -> Result<String, Error> {
    picture(link, bucket_bar::CHART)
}

/// The picture of a link, as SVG.
///
/// # Errors
///
/// Everything that keeps the link from being what it says: a picture in a document must not be of something else.
fn picture(link: &str, chart: Chart) -> Result<String, Error> {
    let (share, notices) = share_url::decode(link);
    if !notices.is_empty() {
        let notices: Vec<_> = notices.iter().map(ToString::to_string).collect();
        return Err(notices.join("\n").into());
    }
    let checked = config::check(&share.setup.job);
    let Some(config) = &checked.config else {
        let problems: Vec<_> = checked
            .errors()
            .map(|problem| problem.message.as_str())
            .collect();
        return Err(problems.join("\n").into());
    };
    let estimate = estimate(config);
    let lines = stage_lines(config, &estimate, estimate.worst);
    let scene = of_fullest(config, &estimate, &lines, chart);
    Ok(svg::document(&scene, &style::standalone()))
}

/// A chart of a job's fullest stage.
pub(crate) fn of_fullest(
    config: &Config,
    estimate: &Estimate,
    lines: &[Line],
    chart: Chart,
) -> Scene {
    (chart.draw)(&Subject {
        config,
        estimate,
        stage: estimate.worst,
        lines,
        unit: Unit::Gib,
        width: Px::of(WIDTH),
        row: ROW,
    })
}

#[cfg(test)]
mod tests {
    use megatron_memory::{memory::bucket::Bucket, report::charts::CHARTS};

    use super::{chart, picture};

    #[test]
    fn every_chart_becomes_a_file_that_needs_nothing_else() {
        for drawn in CHARTS {
            let text = picture("https://example.org/#v1;m=llama3-8b@1;tp=2", *drawn).unwrap();
            assert!(
                text.starts_with("<svg xmlns=") && text.ends_with("</svg>\n"),
                "{}",
                drawn.id
            );
            let addresses = text.matches("http").count();
            assert_eq!(
                addresses, 1,
                "{}: it names more than its own format",
                drawn.id
            );
            for bucket in Bucket::ALL {
                assert_eq!(
                    text.matches(&format!(".bucket-{}{{fill:#", bucket.id()))
                        .count(),
                    2
                );
            }
        }
    }

    #[test]
    fn a_link_that_is_not_wholly_understood_is_refused() {
        for link in ["", "#v1;m=nothing@1", "#v1;m=llama3-8b@1;tp=3", "#v9;x"] {
            assert!(picture(link, chart("buckets").unwrap()).is_err(), "{link}");
        }
        assert!(chart("cake").is_err());
    }
}
