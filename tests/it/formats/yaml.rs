//! YAML text to plain data.

use megatron_memory::formats::node::Node;
use megatron_memory::formats::yaml::{MAX_VALUES, YamlErrorKind, YamlNoteKind, parse};
use proptest::prelude::*;
use std::time::{Duration, Instant};

/// The data of a text as JSON.
fn json(text: &str) -> String {
    match parse(text) {
        Ok(yaml) => yaml.root.to_value().to_string(),
        Err(error) => panic!("{error} in:\n{text}"),
    }
}

fn error(text: &str) -> YamlErrorKind {
    parse(text).expect_err(text).kind
}

#[test]
fn scalars_mean_what_pyyaml_makes_of_them() {
    for (text, expected) in [
        ("yes", "true"),
        ("No", "false"),
        ("on", "true"),
        ("OFF", "false"),
        ("true", "true"),
        ("tRue", "\"tRue\""),
        ("y", "\"y\""),
        ("~", "null"),
        ("null", "null"),
        ("None", "\"None\""),
        ("12", "12"),
        ("+12", "12"),
        ("-12", "-12"),
        ("1_000_000", "1000000"),
        ("0x1F", "31"),
        ("010", "8"),
        ("08", "\"08\""),
        ("0b101", "5"),
        ("0", "0"),
        ("1.5", "1.5"),
        ("1.", "1.0"),
        (".5", "0.5"),
        ("1.0e-5", "1e-5"),
        ("1e-5", "1e-5"),
        ("3e5", "300000.0"),
        ("e5", "\"e5\""),
        ("1.2.3", "\"1.2.3\""),
        ("1-2", "\"1-2\""),
        ("2024-01-01", "\"2024-01-01\""),
        ("\"12\"", "\"12\""),
        ("'yes'", "\"yes\""),
        ("!!str 12", "\"12\""),
        ("!!int \"12\"", "12"),
        ("${HOME}/x", "\"${HOME}/x\""),
        ("--flag", "\"--flag\""),
        ("a:b", "\"a:b\""),
        ("a # comment", "\"a\""),
        ("a#b", "\"a#b\""),
        ("", "null"),
    ] {
        assert_eq!(json(text), expected, "{text}");
        if !text.contains(['#', '$']) {
            assert_eq!(json(&format!("k: {text}")), format!("{{\"k\":{expected}}}"), "{text}");
        }
    }
}

#[test]
fn numbers_that_pyyaml_reads_as_text_are_noted() {
    let yaml = parse("a: 1.0e-5\nb: 1e-5\nc: [1e5]\n").unwrap();
    let notes: Vec<_> = yaml.notes.iter().map(|n| (n.line, n.kind.clone())).collect();
    assert_eq!(
        notes,
        [
            (2, YamlNoteKind::TextForPython("1e-5".into())),
            (3, YamlNoteKind::TextForPython("1e5".into()))
        ]
    );
}

#[test]
fn blocks_nest_by_indentation() {
    for (text, expected) in [
        (
            "a: 1\nb:\n  c: 2\n  d:\n    - 3\n    - e: 4\n      f: 5\n",
            r#"{"a":1,"b":{"c":2,"d":[3,{"e":4,"f":5}]}}"#,
        ),
        ("a:\n- 1\n- 2\nb: 3", r#"{"a":[1,2],"b":3}"#),
        ("- - 1\n  - 2\n- 3", "[[1,2],3]"),
        ("-\n  a: 1\n-\n  - 2", r#"[{"a":1},[2]]"#),
        ("a:\nb:\n", r#"{"a":null,"b":null}"#),
        (
            "a:\n  # a comment\n\n  b: 1 # another\n# and\nc: 2",
            r#"{"a":{"b":1},"c":2}"#,
        ),
        (
            "'a b': 1\n\"c\\td\": 2\nit''s: 3",
            "{\"a b\":1,\"c\\td\":2,\"it''s\":3}",
        ),
        (
            "--num-layers: 4\n--swiglu: true\n",
            r#"{"--num-layers":4,"--swiglu":true}"#,
        ),
        ("a: one\n  two\n\n  three\nb: 1", r#"{"a":"one two\nthree","b":1}"#),
        ("a: |\n  x\n   y\n\nb: 1", r#"{"a":"x\n y\n","b":1}"#),
        ("a: |-\n  x\n  y\n", r#"{"a":"x\ny"}"#),
        ("a: |+\n  x\n\n", r#"{"a":"x\n\n"}"#),
        ("a: >\n  x\n  y\n\n  z\n", r#"{"a":"x y\nz\n"}"#),
        ("a: >-\n  x # no comment\n", r#"{"a":"x # no comment"}"#),
        ("a: \"x\n  y\"", r#"{"a":"x y"}"#),
        ("a: 'it''s'", r#"{"a":"it's"}"#),
        (r#"a: "\x41\u00e9\n""#, "{\"a\":\"A\u{e9}\\n\"}"),
        (
            "a: [1, [2, x y], {b: c, 'd': 3}, ]",
            r#"{"a":[1,[2,"x y"],{"b":"c","d":3}]}"#,
        ),
        ("a: [1,\n  2, # two\n  3\n]\nb: {}", r#"{"a":[1,2,3],"b":{}}"#),
        ("{a: 1, b, c: [x:y]}", r#"{"a":1,"b":null,"c":["x:y"]}"#),
        ("---\na: 1\n...\n", r#"{"a":1}"#),
        ("%YAML 1.1\n---\na: 1\n", r#"{"a":1}"#),
        ("a: 1\r\nb: 2\r\n", r#"{"a":1,"b":2}"#),
        ("\u{feff}a: 1", r#"{"a":1}"#),
        ("a: 1\na: 2", r#"{"a":1,"a":2}"#),
        ("? a\n: b", r#"{"a":"b"}"#),
        ("[a: 1, b]", r#"[{"a":1},"b"]"#),
        ("key with spaces: x", r#"{"key with spaces":"x"}"#),
    ] {
        assert_eq!(json(text), expected, "{text}");
    }
}

#[test]
fn anchors_aliases_and_merge_keys() {
    for (text, expected) in [
        ("a: &x {b: 1}\nc: *x", r#"{"a":{"b":1},"c":{"b":1}}"#),
        (
            "a: &x\n  b: 1\n  c: 2\nd:\n  <<: *x\n  c: 3",
            r#"{"a":{"b":1,"c":2},"d":{"b":1,"c":3}}"#,
        ),
        (
            "a: &x {b: 1}\ne: &y {b: 2, c: 2}\nd:\n  <<: [*x, *y]\n  f: 3",
            r#"{"a":{"b":1},"e":{"b":2,"c":2},"d":{"b":2,"c":2,"b":1,"f":3}}"#,
        ),
        ("- &s text\n- *s", r#"["text","text"]"#),
        ("a: &x 1\nb: *x # again", r#"{"a":1,"b":1}"#),
    ] {
        assert_eq!(json(text), expected, "{text}");
    }
    // Of several merged maps the first counts, and of equal keys the last.
    let yaml = parse("a: &x {b: 1}\ne: &y {b: 2}\nd:\n  <<: [*x, *y]").unwrap();
    assert_eq!(
        yaml.root.get("d").unwrap().get("b").unwrap().to_value().to_string(),
        "1"
    );
}

#[test]
fn values_and_keys_know_their_lines() {
    let yaml = parse("# head\na:\n  b: 1\n  c:\n    - x\n    - |\n      y\nd: 2\n").unwrap();
    let line = |path: &[&str]| -> (u32, u32) {
        let mut node: &Node = &yaml.root;
        let mut key = 0;
        for part in path {
            let entry = node.entry(part).unwrap();
            key = entry.line;
            node = &entry.node;
        }
        (key, node.line)
    };
    assert_eq!(line(&["a"]), (2, 3));
    assert_eq!(line(&["a", "b"]), (3, 3));
    assert_eq!(line(&["a", "c"]), (4, 5));
    assert_eq!(line(&["d"]), (8, 8));
}

#[test]
fn tags_and_further_documents_are_noted() {
    let text = "a: !!python/object/apply:torch.dtype [bf16]\nb: !!python/name:torch.bfloat16 ''\nc: !!python/tuple\n- 1\nd: !own x\n---\ne: 1\n";
    let yaml = parse(text).unwrap();
    assert_eq!(
        yaml.root.to_value().to_string(),
        r#"{"a":["bf16"],"b":"torch.bfloat16","c":[1],"d":"x"}"#
    );
    let notes: Vec<_> = yaml.notes.iter().map(|n| (n.line, n.kind.clone())).collect();
    assert_eq!(
        notes,
        [
            (1, YamlNoteKind::Tag("!!python/object/apply:torch.dtype".into())),
            (5, YamlNoteKind::Tag("!own".into())),
            (6, YamlNoteKind::MoreDocuments),
        ]
    );
}

#[test]
fn an_unquoted_layer_pattern_is_text() {
    let yaml = parse("--moe-layer-freq: [0]*3+[1]*58\nb: ([0]*3)\n").unwrap();
    assert_eq!(
        yaml.root.to_value().to_string(),
        r#"{"--moe-layer-freq":"[0]*3+[1]*58","b":"([0]*3)"}"#
    );
    assert_eq!(yaml.notes[0].kind, YamlNoteKind::Unquoted("[0]*3+[1]*58".into()));
}

#[test]
fn quotes_are_added_only_where_they_lack() {
    let text = "a: |\n  b: [0]*3\nc:\n  - [0]*3 # three\n  - ['x]']*2\nd: {e: 1}-f\r\ng: [1, 2]\n";
    let yaml = parse(text).unwrap();
    assert_eq!(
        yaml.root.to_value().to_string(),
        r#"{"a":"b: [0]*3\n","c":["[0]*3","['x]']*2"],"d":"{e: 1}-f","g":[1,2]}"#
    );
    let lines: Vec<u32> = yaml.notes.iter().map(|note| note.line).collect();
    assert_eq!(lines, [4, 5, 6]);
}

#[test]
fn what_is_no_yaml_is_refused_with_its_line() {
    for (text, expected) in [
        (
            "a: 1\n  b: 2",
            "line 2: no key may stand here: mend the indentation, or put text with a colon in quotes",
        ),
        ("a:\n  b: 1\n c: 2", "line 3: expected a key, indented as those above"),
        ("a: 1\nb", "line 2: expected a key and a colon"),
        ("a: [1, 2", "line 1: while parsing a flow sequence, expected ',' or ']'"),
        (
            "x: 1\na: {b: 1",
            "line 2: while parsing a flow mapping, did not find expected ',' or '}'",
        ),
        (
            "a: 'b",
            "line 1: while scanning a quoted scalar, found unexpected end of stream",
        ),
        ("a: *b", "line 1: nothing above is called &b"),
        ("a: [*b, c]", "line 1: nothing above is called &b"),
        ("a: &b [*b]", "line 1: a value that contains itself"),
        ("a:\n\tb: 1", "line 2: indent with blanks, not with tabs"),
        ("? [a]\n: b", "line 1: a key must be plain text, not a list or a map"),
        (
            "a: b: c",
            "line 1: no key may stand here: mend the indentation, or put text with a colon in quotes",
        ),
        (
            "a: \"\\q\"",
            "line 1: while parsing a quoted scalar, found unknown escape character",
        ),
        (
            "a: \"b\" c",
            "line 1: invalid trailing content after double-quoted scalar",
        ),
        ("a: }", "line 1: misplaced bracket"),
    ] {
        assert_eq!(parse(text).unwrap_err().to_string(), expected, "{text}");
    }
}

#[test]
fn limits_hold() {
    assert_eq!(error(&"[".repeat(65)), YamlErrorKind::TooDeep);
    assert_eq!(error(&"- ".repeat(65)), YamlErrorKind::TooDeep);
    assert_eq!(error(&format!("[{}]", "1,".repeat(MAX_VALUES))), YamlErrorKind::TooMany);
    assert_eq!(error(&" ".repeat(5_000_001)), YamlErrorKind::TooLong);
    // A billion laughs.
    let laughs: String = (0..20)
        .map(|i| {
            let list = vec![format!("*a{i}"); 10].join(",");
            format!("a{}: &a{} [{list}]\n", i + 1, i + 1)
        })
        .fold("a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n".to_owned(), |all, line| all + &line);
    assert_eq!(error(&laughs), YamlErrorKind::TooMany);
    // So does the text that aliases copy.
    let copies = format!("a: &a {}\nb:\n{}", "x".repeat(200_000), "- *a\n".repeat(30_000));
    assert_eq!(error(&copies), YamlErrorKind::TooMany);
    // Depth through aliases counts too.
    let deep: String = (0..80)
        .map(|i| format!("a{}: &a{} [*a{i}]\n", i + 1, i + 1))
        .fold("a0: &a0 [x]\n".to_owned(), |all, line| all + &line);
    assert_eq!(error(&deep), YamlErrorKind::TooDeep);
}

#[test]
fn adversarial_inputs_end_quickly() {
    let n = 20_000;
    for text in [
        "a: &x\n".repeat(n),
        "- [1]x\n".repeat(n),
        "\"a".repeat(n),
        "- \"\n".repeat(n),
        "a: |\n".repeat(n),
        "\n".repeat(n) + "a: x" + &"\n".repeat(n),
        format!("a: {}", "x\n ".repeat(n)),
        "? ".repeat(n),
        "!".repeat(n),
        "&a ".repeat(n),
        "a: {".repeat(n),
        "# c\n".repeat(n),
        "a: 1\n".repeat(n),
        format!("x: &x {{a: 1}}\n{}", "y:\n  <<: *x\n".repeat(n)),
        format!("x: &x {{a: 1}}\ny: {{<<: [{}]}}\n", "*x,".repeat(n)),
    ] {
        let start = Instant::now();
        let _ = parse(&text);
        let head: String = text.chars().take(20).collect();
        assert!(
            start.elapsed() < Duration::from_secs(10),
            "{head:?} {:?}",
            start.elapsed()
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn no_text_panics(text in r##"([\[\]{}:,&*!|>'"#%@`?~-]|- |: |\n|  |\t|a|1|<<|\\|---\n){0,50}"##) {
        let lines = u32::try_from(text.matches('\n').count()).unwrap() + 1;
        match parse(&text) {
            Ok(yaml) => prop_assert!(yaml.notes.iter().all(|note| note.line <= lines)),
            Err(error) => prop_assert!(error.line <= lines),
        }
    }

    /// JSON is YAML: what the JSON reader makes of a text, this one makes too.
    #[test]
    fn json_is_yaml(items in prop::collection::vec(("[a-z]{1,6}", -1000_i64..1000, "[a-z :,#\\[\\]{}'*&!-]{0,8}"), 0..8)) {
        let entries = items.iter().map(|(key, number, text)| {
            format!("\"{key}\": [{number}, {{\"t\": {}}}, null, true]", serde_json::to_string(text).unwrap())
        });
        let text = format!("{{{}}}", entries.collect::<Vec<_>>().join(", "));
        let expected = megatron_memory::formats::json::parse(&text).unwrap().to_value();
        prop_assert_eq!(parse(&text).unwrap().root.to_value(), expected);
    }
}
