//! Tests of `formats::json`.

use megatron_memory::formats::json::{self, JsonErrorKind, MAX_BYTES, MAX_DEPTH, MAX_VALUES};
use megatron_memory::formats::node::Data;
use megatron_memory::value::Value;
use proptest::prelude::*;

#[test]
fn reads_every_kind_of_value() {
    for (text, expected) in [
        ("null", Value::Null),
        (" true ", Value::Bool(true)),
        ("false\r\n", Value::Bool(false)),
        ("0", Value::Int(0)),
        ("-12", Value::Int(-12)),
        ("\u{feff}7", Value::Int(7)),
        ("170141183460469231731687303715884105727", Value::Int(i128::MAX)),
        ("170141183460469231731687303715884105728", Value::Float(2f64.powi(127))),
        ("1.5", Value::Float(1.5)),
        ("1e3", Value::Float(1000.0)),
        ("-2.5E-1", Value::Float(-0.25)),
        (
            r#""a\"\\\/\b\f\n\r\té\u00e9\uD83D\ude00""#,
            Value::Text("a\"\\/\u{8}\u{c}\n\r\téé😀".into()),
        ),
        ("[]", Value::List(vec![])),
        (
            "[1, [2]]",
            Value::List(vec![Value::Int(1), Value::List(vec![Value::Int(2)])]),
        ),
        ("{}", Value::Map(vec![])),
        (r#"{"a": null}"#, Value::Map(vec![("a".into(), Value::Null)])),
    ] {
        assert_eq!(json::parse(text).unwrap().to_value(), expected, "{text}");
    }
}

#[test]
fn knows_the_line_of_every_key_and_value() {
    let node = json::parse("{\n  \"a\": [\n    1,\r\n\n    2],\n  \"b\":\n    {\"c\": null}, \"b\": 3\n}").unwrap();
    assert_eq!(node.line, 1);
    let a = node.entry("a").unwrap();
    assert_eq!((a.line, a.node.line), (2, 2));
    let Data::List(items) = &a.node.data else {
        panic!("a list")
    };
    assert_eq!(items.iter().map(|item| item.line).collect::<Vec<_>>(), [3, 5]);
    let lines: Vec<_> = node
        .entries()
        .iter()
        .map(|e| (e.key.as_str(), e.line, e.node.line))
        .collect();
    assert_eq!(lines, [("a", 2, 2), ("b", 6, 7), ("b", 7, 7)]);
    assert_eq!(node.get("b").unwrap().data, Data::Int(3), "the last one counts");
    assert_eq!(node.get("c"), None);
}

#[test]
fn says_what_is_wrong_and_where() {
    for (text, expected) in [
        ("", "line 1, column 1: the text ends where a value was expected"),
        ("{\"a\": 1", "line 1, column 1: this object is never closed"),
        (
            "{\"é\" 1}",
            "line 1, column 6: found '1' where `:` after the key was expected",
        ),
        (
            "{a: 1}",
            "line 1, column 2: found 'a' where a key in double quotes was expected",
        ),
        (
            "{\n 'a': 1}",
            "line 2, column 2: found '\\'' where a double quote was expected",
        ),
        (
            "[1 2]",
            "line 1, column 4: found '2' where `,` or a closing bracket was expected",
        ),
        ("[1,\n]", "line 1, column 3: JSON has no comma after the last item"),
        ("{\"a\":1,}", "line 1, column 7: JSON has no comma after the last item"),
        (
            "[] x",
            "line 1, column 4: found 'x' where the end of the text was expected",
        ),
        ("// hi\n1", "line 1, column 1: JSON has no comments"),
        ("[1 # one\n]", "line 1, column 4: JSON has no comments"),
        (
            "[NaN]",
            "line 1, column 2: `NaN` is not JSON; it has no spelling there, use null",
        ),
        (
            "[-Infinity]",
            "line 1, column 2: `-Infinity` is not JSON; it has no spelling there, use null",
        ),
        ("{\"a\": None}", "line 1, column 7: `None` is not JSON; write null"),
        ("{\"a\": True}", "line 1, column 7: `True` is not JSON; write true"),
        (
            "012",
            "line 1, column 2: found '1' where the end of the text was expected",
        ),
        ("-", "line 1, column 2: the text ends where a digit was expected"),
        (
            "1.",
            "line 1, column 1: not a number of JSON: digits must stand on both sides of the point",
        ),
        (
            "1e+",
            "line 1, column 4: not a number of JSON: the exponent needs a digit",
        ),
        ("[1e999]", "line 1, column 2: the number is too large"),
        ("\"a", "line 1, column 1: this string is never closed"),
        (
            "\"a\nb\"",
            "line 1, column 3: a line break or control character inside a string; write it as an escape such as \\n",
        ),
        (r#""\x""#, "line 1, column 2: not an escape sequence of JSON"),
        (r#""\u+123""#, "line 1, column 2: not an escape sequence of JSON"),
        (r#""\ud83d.""#, "line 1, column 2: not an escape sequence of JSON"),
        (r#""\ude00\ud83d""#, "line 1, column 2: not an escape sequence of JSON"),
    ] {
        assert_eq!(json::parse(text).unwrap_err().to_string(), expected, "{text}");
    }
}

#[test]
fn keeps_its_limits() {
    let nested = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
    assert!(json::parse(&nested(MAX_DEPTH)).is_ok());
    assert_eq!(
        json::parse(&nested(MAX_DEPTH + 1)).unwrap_err().kind,
        JsonErrorKind::TooDeep
    );
    assert_eq!(
        json::parse(&"[".repeat(MAX_BYTES)).unwrap_err().kind,
        JsonErrorKind::TooDeep
    );

    let list = |items: usize| format!("[{}0]", "0,".repeat(items - 1));
    assert!(
        json::parse(&list(MAX_VALUES - 1)).is_ok(),
        "the list itself is a value too"
    );
    assert_eq!(
        json::parse(&list(MAX_VALUES)).unwrap_err().kind,
        JsonErrorKind::TooManyValues
    );

    let text = |bytes: usize| format!("\"{}\"", "x".repeat(bytes - 2));
    assert!(json::parse(&text(MAX_BYTES)).is_ok());
    let too_long = JsonErrorKind::TooLong { bytes: MAX_BYTES + 1 };
    assert_eq!(json::parse(&text(MAX_BYTES + 1)).unwrap_err().kind, too_long);
}

/// Any tree of plain data whose floats JSON can spell.
fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        any::<i128>().prop_map(Value::Int),
        any::<f64>()
            .prop_filter("JSON has no NaN", |x| x.is_finite())
            .prop_map(Value::Float),
        any::<String>().prop_map(Value::Text),
    ];
    leaf.prop_recursive(6, 60, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::List),
            prop::collection::vec((any::<String>(), inner), 0..6).prop_map(Value::Map),
        ]
    })
}

proptest! {
    #[test]
    fn what_a_value_prints_reads_back(value in value()) {
        prop_assert_eq!(json::parse(&value.to_string()).unwrap().to_value(), value);
    }

    #[test]
    fn any_text_is_read_or_refused(text in any::<String>()) {
        let _ = json::parse(&text);
    }

    /// Text made of the pieces of JSON gets further into the parser than random text; what it takes, the
    /// reference parser takes with the same meaning, and the other way round.
    #[test]
    fn agrees_with_the_reference_parser(
        pieces in prop::collection::vec(
            prop::sample::select(vec![
                "{", "}", "[", "]", ",", ":", "\"a\"", "\"", "\\", "\\u", "d83d", "1", "-", "0", ".", "e", "null",
                "true", "false", " ", "\n", "NaN", "é", "\u{1}",
            ]),
            0..12,
        )
    ) {
        let text = pieces.concat();
        let ours = json::parse(&text).map(|node| node.to_value().to_string());
        let theirs = serde_json::from_str::<Value>(&text).map(|value| value.to_string());
        prop_assert_eq!(ours.is_ok(), theirs.is_ok(), "{:?} {:?}", &text, ours);
        if let (Ok(ours), Ok(theirs)) = (ours, theirs) {
            // The reference reads -0 as a float.
            if !text.contains("-0") {
                prop_assert_eq!(ours, theirs);
            }
        }
    }
}
