//! Compression for links.

use megatron_memory::formats::base64;
use megatron_memory::formats::deflate::{InflateError, deflate, inflate};
use proptest::prelude::*;

/// What other programs make of texts: raw DEFLATE at their highest level, in base64.
const FOREIGN: [(&str, &str); 5] = [
    ("AwA", ""),
    // Stored, fixed codes, and twice codes of its own.
    ("AQUA-v9oZWxsbw", "hello"),
    ("y0jNycnPoC0BAA", HELLO),
    (
        "bYwxCsMwEAT_crWNEQkuVOUnQsSLI3wniTsl4Bj_3UqfbtkZ5iB7viCRPAnW2LTkUSBF98nRQFVhaB0uQDVgGz-3xw_0t6W8GvmDGrIVDVIWcKhRI3Mflr4gf--NVMEp47_g5oHyWwLHHdpzszvPCw",
        r#"{"schema":"megatron-memory/1","preset":"deepseek-v3@1","settings":{"tensor_model_parallel_size":4,"pipeline_model_parallel_size":16,"num_layers":61}}"#,
    ),
    (
        "RU-JEQQhCGslrQVC_y1cgnqLDgOSB3sA1NRgHFANUwE8vSeka18lK1PlIK1TtXGGnUBgs2qW0BZ9H4Ip9LFiJLea7hGhy8VVijrcLEHH6w_gA4Zn_UZh4d6-ys5ESH7sbNhniRv1_W0VQXGaDwI9q8_FfPEH",
        "ce   bebe eeee dbea eee  aeeee debeaaaeeaeedeeaed eeededed eeae eebcee ebeeeeeee edeeee eee aede eeeceee eeebeeeb ce eeeeaeaee eeeeecceda de edeee eeeeeeeeae   ee ce edeae eeedeee eeeaeee eeeea deceec b e   ea ebb aea  edeb eceebcceeceeeeeeeeeebaeeee debeeedee adaecaeceeeeee de eeedeeaeee eeeeaeecda",
    ),
];

const HELLO: &str = concat!(
    "hellohellohellohellohellohellohellohellohellohello",
    "hellohellohellohellohellohellohellohellohellohello"
);

#[test]
fn what_other_programs_compress_is_read() {
    for (packed, plain) in FOREIGN {
        let packed = base64::decode(packed).unwrap();
        assert_eq!(inflate(&packed, 400), Ok(plain.as_bytes().to_vec()));
    }
}

#[test]
fn damage_is_told_apart() {
    assert_eq!(inflate(&[], 10), Err(InflateError::Truncated));
    assert_eq!(inflate(&[7], 10), Err(InflateError::Damaged));
    let packed = deflate("hello".repeat(100).as_bytes());
    assert!(packed.len() < 30);
    assert_eq!(inflate(&packed, 499), Err(InflateError::TooLarge));
    assert_eq!(
        inflate(&packed[..packed.len() - 2], 500),
        Err(InflateError::Truncated)
    );
}

#[test]
fn text_is_spelled_like_everywhere() {
    for (bytes, text) in [
        ("", ""),
        ("f", "Zg"),
        ("fo", "Zm8"),
        ("foo", "Zm9v"),
        ("foob", "Zm9vYg"),
        ("?>~", "Pz5-"),
    ] {
        assert_eq!(base64::encode(bytes.as_bytes()), text);
        assert_eq!(base64::decode(text).unwrap(), bytes.as_bytes());
    }
    assert_eq!(base64::decode("Zg=="), Some(vec![b'f']));
    for bad in ["Z", "Z+", "Zg!", "é"] {
        assert_eq!(base64::decode(bad), None, "{bad}");
    }
}

proptest! {
    #[test]
    fn bytes_come_back(data in proptest::collection::vec(any::<u8>(), 0..2000)) {
        let packed = deflate(&data);
        prop_assert_eq!(inflate(&packed, data.len()), Ok(data.clone()));
        let text = base64::encode(&data);
        prop_assert_eq!(base64::decode(&text), Some(data));
    }

    #[test]
    fn repetitive_text_comes_back_smaller(part in "[a-f]{1,20}", times in 20..400_usize) {
        let text = part.repeat(times);
        let packed = deflate(text.as_bytes());
        prop_assert_eq!(inflate(&packed, text.len()), Ok(text.clone().into_bytes()));
        prop_assert!(packed.len() < text.len());
    }

    #[test]
    fn garbage_never_panics(data in proptest::collection::vec(any::<u8>(), 0..300)) {
        if let Ok(out) = inflate(&data, 5_000) {
            prop_assert!(out.len() <= 5_000);
        }
    }
}
