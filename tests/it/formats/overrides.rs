//! Hydra-style overrides.

use megatron_memory::formats::overrides::{from_words, parse};
use proptest::prelude::*;

fn json(text: &str) -> String {
    parse(text).root.to_value().to_string()
}

#[test]
fn keys_nest_and_values_have_types() {
    for (text, expected) in [
        ("model.num_layers=4", r#"{"model":{"num_layers":4}}"#),
        ("a.b=1 a.c=2 d=3", r#"{"a":{"b":1,"c":2},"d":3}"#),
        ("+a.b=1 ++a.c=2", r#"{"a":{"b":1,"c":2}}"#),
        ("a=1 a=2", r#"{"a":2}"#),
        ("a.b=1 a=2", r#"{"a":2}"#),
        ("a=2 a.b=1", r#"{"a":{"b":1}}"#),
        // A name with parts over it, and the name alone again.
        ("a=x a.b=1 a.c=2", r#"{"a":"x","a":{"b":1,"c":2}}"#),
        ("a=x a.b=1 a=y", r#"{"a":"y"}"#),
        ("a=true b=False c=null d=", r#"{"a":true,"b":false,"c":null,"d":null}"#),
        ("a=1e-5 b=-0.5 c=1_000", r#"{"a":1e-5,"b":-0.5,"c":1000}"#),
        (
            "a=x b=bf16_mixed c=/p/q-r d=1.2.3",
            r#"{"a":"x","b":"bf16_mixed","c":"/p/q-r","d":"1.2.3"}"#,
        ),
        (
            "a=[1,2,[x]] b=[] c={} d={k:v,n:{m:1}}",
            r#"{"a":[1,2,["x"]],"b":[],"c":{},"d":{"k":"v","n":{"m":1}}}"#,
        ),
        ("a=[1, 2] b=3", r#"{"a":[1,2],"b":3}"#),
        ("'a=[core_attn, mlp]'", r#"{"a":["core_attn","mlp"]}"#),
        ("a=\"x y\" b='z w'", r#"{"a":"x y","b":"z w"}"#),
        ("a=['1', \"2\"]", r#"{"a":["1","2"]}"#),
        ("a='\"1\"'", r#"{"a":"1"}"#),
        ("a=[0]*3+[1]*58", r#"{"a":"[0]*3+[1]*58"}"#),
        ("a=${b.c}", r#"{"a":"${b.c}"}"#),
        ("a=b=c", r#"{"a":"b=c"}"#),
        ("model@pkg=llama", r#"{"model@pkg":"llama"}"#),
        ("a.b=1 \\\n  # c.d=2\n  e.f=3 \\\n", r#"{"a":{"b":1},"e":{"f":3}}"#),
        ("", "{}"),
    ] {
        assert_eq!(json(text), expected, "{text}");
    }
}

#[test]
fn lines_removals_and_strangers_are_kept() {
    let overrides = parse("a.b=1\n~c.d\n~e=1\nword --flag=1\na.x=2");
    assert_eq!(overrides.removed, [("c.d".to_owned(), 2), ("e".to_owned(), 3)]);
    assert_eq!(overrides.unread, [("word".to_owned(), 4), ("--flag=1".to_owned(), 4)]);
    let a = overrides.root.entry("a").unwrap();
    assert_eq!(a.line, 5);
    let lines: Vec<_> = a
        .node
        .entries()
        .iter()
        .map(|e| (e.key.as_str(), e.line, e.node.line))
        .collect();
    assert_eq!(lines, [("b", 1, 1), ("x", 5, 5)]);
}

#[test]
fn sizes_are_bounded() {
    let many = (0..3_000).map(|i| format!("k{i}=1")).collect::<Vec<_>>();
    let overrides = from_words(many.iter().map(|word| (word.as_str(), 1)));
    assert_eq!(overrides.root.entries().len(), 2_000);
    assert_eq!(overrides.unread.len(), 1_000);
    assert_eq!(json(&format!("{}=1", ["a"; 33].join("."))), "{}");
    assert_eq!(
        json(&format!("a={}", "[".repeat(50_000))),
        format!("{{\"a\":\"{}\"}}", "[".repeat(50_000))
    );
    assert_eq!(json(&"a=1 ".repeat(300_000)), "{}");
}

proptest! {
    #[test]
    fn no_text_panics(text in r#"([\[\]{}:,'"=.~+#\\ \n@/]|a|1|e|-){0,60}"#) {
        let lines = u32::try_from(text.matches('\n').count()).unwrap() + 1;
        let overrides = parse(&text);
        prop_assert!(overrides.unread.iter().all(|(_, line)| *line <= lines));
    }

    #[test]
    fn numbers_come_back(number in any::<i64>(), fraction in -1.0e6..1.0e6_f64) {
        prop_assert_eq!(json(&format!("a.b={number}")), format!("{{\"a\":{{\"b\":{number}}}}}"));
        prop_assert_eq!(json(&format!("a={fraction:?}")), format!("{{\"a\":{fraction:?}}}"));
    }
}
