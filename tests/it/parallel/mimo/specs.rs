//! Tests of `parallel::mimo::spec`.

use megatron_memory::parallel::mimo::MimoInput;
use megatron_memory::parallel::mimo::spec::{build_layout, parse_component_spec};
use serde_json::{Value as Json, json};

use super::{fields, records, refused};

#[test]
fn component_specs_are_read_as_upstream_does() {
    for record in records("reference/mimo_component_spec.json", "parse_component_spec", 25) {
        let spec = record["spec"].as_str().unwrap();
        let ours = match parse_component_spec(spec) {
            Ok((name, parallelism)) => {
                json!({"spec": spec, "name": name, "result": fields(&parallelism)})
            }
            Err(error) => json!({"spec": spec, "error": refused(&error)}),
        };
        assert_eq!(ours, record);
    }
}

#[test]
fn layouts_are_built_as_upstream_does() {
    for record in records("reference/mimo_component_spec.json", "build_parallelism_config", 8) {
        let specs: Vec<_> = record["specs"]
            .as_array()
            .unwrap()
            .iter()
            .map(|s| s.as_str().unwrap())
            .collect();
        let world = record["world_size"].as_i64().map(i128::from);
        let mut ours = json!({"specs": specs, "world_size": record["world_size"]});
        match build_layout(&specs, world) {
            Err(error) => ours["error"] = refused(&error),
            Ok(modules) => {
                ours["result"] = modules
                    .iter()
                    .map(|(name, parallelism)| (name.clone(), Json::Object(fields(parallelism))))
                    .collect();
                if let Some(world) = world {
                    ours["finalize"] = match MimoInput::new(&modules, world).finalize() {
                        Ok(_) => json!("ok"),
                        Err(error) => json!({"error": refused(&error)}),
                    };
                }
            }
        }
        assert_eq!(ours, record);
    }
}

#[test]
fn whole_numbers_are_read_as_python_reads_them() {
    let tp = |text: &str| {
        parse_component_spec(&format!("m=tp={text}")).map(|(_, parallelism)| parallelism.tensor_model_parallel_size)
    };
    for (text, number) in [
        ("+7", 7),
        ("-0", 0),
        ("007", 7),
        ("1_2_3", 123),
        ("\u{2009}4 ", 4),
        ("-4", -4),
    ] {
        assert_eq!(tp(text), Ok(number), "{text}");
    }
    for text in [
        "_1", "1_", "1__2", "+_1", "1_+2", "+ 1", "--1", "1.0", "+", "\u{b2}", "\u{2164}", "1\u{0}",
    ] {
        let message = tp(text).unwrap_err().message;
        assert!(message.contains("value for 'tp' must be int, got "), "{message}");
    }
    assert!(
        tp(&"9".repeat(40))
            .unwrap_err()
            .message
            .ends_with("value for 'tp' is too large")
    );
    assert_eq!(tp(&"0".repeat(40)), Ok(0));
}

#[test]
fn texts_are_quoted_as_python_quotes_them() {
    let quoted = |spec: &str| parse_component_spec(spec).unwrap_err().message;
    let form = " must be of the form 'name=tp=N[,pp=N,dp=N,cp=N,ep=N,etp=N,rank_offset=N]'";
    for (spec, literal) in [
        ("it's", "\"it's\""),
        ("'\"", "'\\'\"'"),
        ("a\\b\n\t\r", "'a\\\\b\\n\\t\\r'"),
        ("\0\u{7f}\u{85}", "'\\x00\\x7f\\x85'"),
        ("e\u{301}\u{4e2d}", "'e\u{301}\u{4e2d}'"),
    ] {
        assert_eq!(quoted(spec), format!("--component value {literal}{form}"));
    }
}

#[test]
fn layouts_that_do_not_come_out_even() {
    let message = |specs: &[&str], world| {
        let error = build_layout(specs, Some(world)).unwrap_err();
        format!("{}: {}", error.exception, error.message)
    };
    assert_eq!(
        message(&["a=tp=1", "b=tp=1", "c="], 8),
        "ValueError: world_size (8) is not divisible by number of components (3); specify dp=N and rank_offset=N \
         explicitly for non-uniform layouts."
    );
    assert_eq!(
        message(&["a=tp=3", "b=tp=1"], 8),
        "ValueError: --component 'a': ranks per component (4) is not divisible by total_model_parallel_size (3); \
         specify dp=N explicitly."
    );
    assert_eq!(
        message(&["a=tp=1", "a=tp=2"], 8),
        "ValueError: --component 'a' specified more than once"
    );
    assert_eq!(message(&["a=tp=0"], 8), "ZeroDivisionError: integer modulo by zero");
    let negative = build_layout(&["a=tp=-3"], Some(9)).unwrap();
    assert_eq!(negative[0].1.data_parallel_size, Some(-3));
}
