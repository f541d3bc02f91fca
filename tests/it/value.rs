use megatron_memory::value::Value;

/// `levels` lists, each inside the one before.
fn nested(levels: usize) -> String {
    format!("{}{}", "[".repeat(levels), "]".repeat(levels))
}

#[test]
fn plain_data_is_read_whole() {
    let text = r#"{"a":[1,2.5,"x",null,true],"b":{"c":{}}}"#;
    let value: Value = serde_json::from_str(text).unwrap();
    assert_eq!(value.to_string(), text);
}

#[test]
fn nesting_and_length_have_limits() {
    assert!(serde_json::from_str::<Value>(&nested(32)).is_ok());
    let error = serde_json::from_str::<Value>(&nested(33)).unwrap_err();
    assert!(error.to_string().contains("nested 32 deep"), "{error}");

    let long = |items: usize| format!("[{}1]", "1,".repeat(items - 1));
    assert!(serde_json::from_str::<Value>(&long(100_000)).is_ok());
    let error = serde_json::from_str::<Value>(&long(300_000)).unwrap_err();
    assert!(error.to_string().contains("too many"), "{error}");
}
