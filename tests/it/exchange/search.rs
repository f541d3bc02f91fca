//! The layout search as plain data, and its dialog.

use megatron_memory::config::check;
use megatron_memory::config::fields::FieldId;
use megatron_memory::config::raw::RawJob;
use megatron_memory::exchange::dialog::{Dialog, Effect};
use megatron_memory::exchange::search;
use megatron_memory::formats::share_url::{decode, encode};
use megatron_memory::memory::estimate;
use megatron_memory::report::markup::Markup;
use megatron_memory::value::Value;

use super::{data, list, text};

const LINK: &str = "#v1;m=llama3-8b@1;gpus=16;tp=2;cp=1;gbs=64";

fn int(of: &Value, key: &str) -> i128 {
    match of.get(key) {
        Some(Value::Int(number)) => *number,
        other => panic!("{key} is {other:?}"),
    }
}

fn job() -> Value {
    Value::Text(LINK.to_owned())
}

#[test]
fn every_layout_is_a_job_with_that_estimate() {
    let found = search(&job(), &Value::Null).unwrap();
    assert_eq!(int(&found, "total"), 25);
    assert_eq!(found.get("next"), Some(&Value::Null));
    let layouts = list(found.get("candidates").unwrap());
    assert_eq!(int(&found, "legal"), layouts.len().try_into().unwrap());
    for layout in layouts {
        let mut job = decode(LINK).0.setup.job;
        let settings = RawJob::from_value(layout.get("settings").unwrap());
        job.shared.overlay(&settings.shared);
        let config = check(&job).config.unwrap();
        let estimate = estimate(&config);
        let peak = int(layout, "peak_bytes");
        assert_eq!(peak, estimate.worst_rank.total.0.into());
        let gpu = config.gpu_memory().unwrap();
        assert_eq!(int(layout, "headroom_bytes"), i128::from(gpu.0) - peak);
        let derived = config.modules()[0].derived();
        assert_eq!(
            int(layout, "data_parallel_size"),
            derived.data_parallel_size.into()
        );
        assert_eq!(
            int(layout, "num_microbatches"),
            derived.num_microbatches.into()
        );
    }
}

#[test]
fn a_search_goes_on_where_it_ended() {
    let whole = search(&job(), &Value::Null).unwrap();
    let mut layouts = Vec::new();
    let mut from = 0;
    loop {
        let part = search(&job(), &data(&format!(r#"{{"from": {from}, "steps": 3}}"#))).unwrap();
        layouts.extend_from_slice(list(part.get("candidates").unwrap()));
        match part.get("next") {
            Some(Value::Int(next)) => from = *next,
            _ => break,
        }
    }
    assert_eq!(layouts, list(whole.get("candidates").unwrap()));
}

#[test]
fn options_are_read_or_named() {
    let options = r#"{"vary": ["context_parallel_size", "recompute_granularity"],
        "at_most": {"context_parallel_size": 2}, "split": "rest_in_last_stage", "keep": "fitting"}"#;
    let found = search(&job(), &data(options)).unwrap();
    let axes = list(found.get("vary").unwrap());
    let names: Vec<&str> = axes
        .iter()
        .map(|axis| text(axis.get("symbol").unwrap()))
        .collect();
    assert_eq!(names, ["CP", "Recompute"]);
    let outside = &list(found.get("out_of_bounds").unwrap())[0];
    assert_eq!(text(outside.get("name").unwrap()), "context_parallel_size");
    for wrong in [
        r#"{"vary": "tp"}"#,
        r#"{"vary": ["hidden_size"]}"#,
        r#"{"at_most": {"tensor_model_parallel_size": -1}}"#,
        r#"{"at_most": 3}"#,
        r#"{"keep": "most"}"#,
        r#"{"split": "oddly"}"#,
        r#"{"steps": "all"}"#,
    ] {
        let failure = search(&job(), &data(wrong)).unwrap_err();
        assert_eq!(failure.name, "TypeError", "{wrong}");
    }
    let several = Value::Text("#v1;m=llava-7b@1".to_owned());
    assert_eq!(
        search(&several, &Value::Null).unwrap_err().name,
        "SearchError"
    );
    let broken = data(r#"{"num_layers": 4, "world_size": 8}"#);
    let failure = search(&broken, &Value::Null).unwrap_err();
    assert_eq!(failure.name, "ConfigError");
    assert!(!list(&failure.problems).is_empty());
}

/// Every element, from the outside in.
fn all(elements: &[Markup]) -> Vec<&Markup> {
    let inside = elements.iter().flat_map(|element| {
        let mut found = vec![element];
        found.extend(all(&element.children));
        found
    });
    inside.collect()
}

fn attribute<'m>(element: &'m Markup, name: &str) -> Option<&'m str> {
    let found = element.attributes.iter().find(|(known, _)| *known == name);
    found.map(|(_, value)| &**value)
}

fn says(dialog: &Dialog) -> String {
    let drawn = dialog.draw();
    let texts: Vec<&str> = all(&drawn).iter().map(|e| &*e.text).collect();
    texts.join("\n")
}

/// The cells of the rows that are drawn.
fn rows(dialog: &Dialog) -> Vec<Vec<String>> {
    let drawn = dialog.draw();
    let rows = all(&drawn).into_iter().filter(|e| {
        e.tag == "tr" && attribute(e, "data-key").is_some() && attribute(e, "aria-hidden").is_none()
    });
    let cells = |row: &Markup| {
        row.children
            .iter()
            .map(|cell| cell.text.to_string())
            .collect()
    };
    rows.map(cells).collect()
}

/// Starts a search, and does what the page would do: hands all parts in, in any order.
fn run(dialog: &mut Dialog) {
    let Some(Effect::Search { job, total }) = dialog.act("start", "") else {
        panic!("no search starts");
    };
    let total: u64 = total.parse().unwrap();
    let (link, options) = (job.get("job").unwrap(), job.get("options").unwrap());
    let part = |from: u64, until: u64, more: &str| {
        let Value::Map(mut entries) = options.clone() else {
            panic!("options are no map");
        };
        for (key, value) in [
            ("from", from),
            ("until", until),
            ("steps", u64::from(u32::MAX)),
        ] {
            entries.push((key.to_owned(), Value::Int(value.into())));
        }
        if let Ok(index) = more.parse() {
            entries.push(("explain".to_owned(), Value::Int(index)));
        }
        search(link, &Value::Map(entries)).unwrap()
    };
    let share = total / 5 + 1;
    for number in [3, 0, 4, 1, 2] {
        let from = number * share;
        let effect = dialog.take(&part(from, from + share, ""));
        if let Some(Effect::Explain(index)) = effect {
            assert_eq!(dialog.take(&part(0, 0, &index)), None);
        }
    }
}

fn dialog(link: &str) -> Dialog {
    Dialog::new("search", &format!("https://calculator.example/{link}"))
}

#[test]
fn the_table_is_the_search_in_its_order() {
    let mut dialog = dialog(LINK);
    assert!(
        says(&dialog)
            .contains("5 values of PP × 5 values of TP (4 within your bound) = 25 combinations.")
    );
    run(&mut dialog);
    let found = search(&job(), &data(r#"{"keep": "fitting"}"#)).unwrap();
    let said = says(&dialog);
    assert!(
        said.contains(&format!("Done: {} legal", int(&found, "legal"))),
        "{said}"
    );
    assert!(said.contains("your bound on TP"), "{said}");
    let shown = rows(&dialog);
    assert_eq!(shown.len(), list(found.get("candidates").unwrap()).len());
    let numbers = |at: usize| -> Vec<f64> {
        let rows = rows(&dialog);
        rows.iter().map(|row| row[at].parse().unwrap()).collect()
    };
    // PP, TP, peak, free, stage, GPUs a copy.
    assert!(numbers(5).is_sorted(), "{:?}", numbers(5));
    dialog.act("sort:peak_bytes", "");
    let peaks = |dialog: &Dialog| -> Vec<f64> {
        rows(dialog)
            .iter()
            .map(|row| row[2].parse().unwrap())
            .collect()
    };
    assert!(peaks(&dialog).is_sorted());
    dialog.act("sort:peak_bytes", "");
    assert!(peaks(&dialog).is_sorted_by(|a, b| a >= b));
    dialog.act("sort:peak_bytes", "");
    assert_eq!(rows(&dialog), shown);
    dialog.act("filter", "tp4 PP=2");
    let filtered = rows(&dialog);
    assert_eq!(filtered.len(), 1);
    assert_eq!(filtered[0][..2], ["2", "4"]);
    let Some(Effect::Copy(copied)) = dialog.act("copy", "") else {
        panic!("nothing is copied");
    };
    let lines: Vec<&str> = copied.lines().collect();
    assert_eq!(lines.len(), 2);
    assert!(
        lines[0]
            .starts_with("pipeline_model_parallel_size\ttensor_model_parallel_size\tpeak_bytes\t"),
        "{copied}"
    );
    dialog.act("filter", "");
    dialog.act("room", "50");
    assert!(
        rows(&dialog)
            .iter()
            .all(|row| row[3].parse::<f64>().unwrap() >= 50.0)
    );
    assert!(!rows(&dialog).is_empty() && rows(&dialog).len() < shown.len());
}

#[test]
fn a_layout_is_opened_or_compared_with() {
    let mut dialog = dialog(LINK);
    run(&mut dialog);
    let drawn = dialog.draw();
    let apply = all(&drawn).into_iter().find_map(|e| {
        let place = attribute(e, "data-at")?;
        let name = attribute(e, "aria-label")?;
        name.contains("PP 4, TP 2").then(|| place.to_owned())
    });
    let place = apply.unwrap();
    let index = place.strip_prefix("apply:").unwrap();
    let Some(Effect::Open(link)) = dialog.act(&place, "") else {
        panic!("nothing is opened");
    };
    assert_eq!(link, "#v1;m=llama3-8b@1;gpus=16;tp=2;pp=4;cp=1;gbs=64");
    let Some(Effect::Open(link)) = dialog.act(&format!("pin:{index}"), "") else {
        panic!("nothing is opened");
    };
    assert_eq!(link, format!("{LINK};vs;pp=4"));
    assert_eq!(dialog.act("apply:999", ""), None);
}

#[test]
fn nothing_that_fits_is_explained() {
    let mut dialog = dialog("#v1;m=llama3-70b@1;gpus=8;gbs=8;mem=16000");
    run(&mut dialog);
    let said = says(&dialog);
    assert!(said.contains("Nothing fits. Nearest is PP "), "{said}");
    assert!(said.contains(" GiB more than the GPU has."), "{said}");
    assert!(said.contains("it would fit on "), "{said}");
}

#[test]
fn other_options_are_another_search() {
    let mut dialog = dialog(LINK);
    run(&mut dialog);
    assert!(!rows(&dialog).is_empty());
    assert_eq!(dialog.act("vary:context_parallel_size", ""), None);
    assert!(says(&dialog).contains("5 values of CP"));
    assert!(rows(&dialog).is_empty());
    dialog.act("start", "");
    assert_eq!(
        dialog.act("most:tensor_model_parallel_size", "4"),
        Some(Effect::Stop)
    );
    dialog.act("start", "");
    assert_eq!(dialog.act("stop", ""), Some(Effect::Stop));
    // A part that arrives late belongs to no search.
    let late = search(&job(), &Value::Null).unwrap();
    assert_eq!(dialog.take(&late), None);
    assert!(says(&dialog).contains("Stopped.") && rows(&dialog).is_empty());
}

#[test]
fn what_may_vary_is_asked_whatever_is_wrong_with_it() {
    let mut dialog = dialog("#v1;m=llama3-8b@1;gpus=16;tp=3;cp=1;gbs=64");
    assert!(says(&dialog).contains(" = 25 combinations."));
    dialog.act("vary:tensor_model_parallel_size", "");
    let said = says(&dialog);
    assert!(said.contains("num_attention_heads"), "{said}");
    dialog.act("vary:tensor_model_parallel_size", "");
    assert!(says(&dialog).contains(" = 25 combinations."));
}

#[test]
fn a_bound_that_is_no_size_is_said_beside_it() {
    let mut dialog = dialog(LINK);
    let place = "most:pipeline_model_parallel_size";
    let wrong = |dialog: &Dialog| {
        let drawn = dialog.draw();
        let input = all(&drawn)
            .into_iter()
            .find(|e| attribute(e, "data-at") == Some(place));
        let input = input.unwrap();
        let value = attribute(input, "value").unwrap().to_owned();
        (value, attribute(input, "aria-invalid") == Some("true"))
    };
    for typed in ["abc", "0", "-1"] {
        dialog.act(place, typed);
        assert_eq!(wrong(&dialog), (typed.to_owned(), true));
        assert!(says(&dialog).contains("is no size"));
    }
    dialog.act(place, " 4 ");
    assert_eq!(wrong(&dialog), ("4".to_owned(), false));
    assert!(says(&dialog).contains("5 values of PP (3 within your bound)"));
    dialog.act(place, "");
    assert_eq!(wrong(&dialog), (String::new(), false));
}

#[test]
fn chunks_are_a_column_where_they_follow_from_a_layout() {
    let mut share = decode(LINK).0;
    let layout = Value::Text("Et*4|(t*4|)*6t*4L".to_owned());
    let field = FieldId::pipeline_model_parallel_layout;
    share.setup.job.put(0, field, layout);
    let mut dialog = dialog(&encode(&share));
    run(&mut dialog);
    let drawn = dialog.draw();
    let places = all(&drawn)
        .into_iter()
        .filter_map(|e| attribute(e, "data-at"));
    let column = "sort:virtual_pipeline_model_parallel_size";
    assert_eq!(places.filter(|place| *place == column).count(), 1);
    for row in rows(&dialog) {
        let number = |at: usize| row[at].parse::<u64>().unwrap();
        assert_eq!(number(0) * number(2), 8, "{row:?}");
    }
    dialog.act("filter", "tp2 pp8");
    assert!(says(&dialog).contains("\n1 layout\n"));
}
