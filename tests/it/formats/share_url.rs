//! Share links: what they look like, what they survive, and that old ones keep their meaning.

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE;
use megatron_memory::config::check;
use megatron_memory::config::field::Kind;
use megatron_memory::config::fields::FieldId;
use megatron_memory::config::raw::{RawJob, RawModule, Settings};
use megatron_memory::formats::share_url::{
    MAX_LINK, MAX_TOKENS, Notice, PinError, decode, encode, left_out, pin, recognizes, visit,
};
use megatron_memory::formats::state::{MAX_PINNED, Place, PresetRef, Setup, ShareState, View};
use megatron_memory::formats::{job_json, json};
use megatron_memory::presets::jobs::{self, JOBS};
use megatron_memory::presets::{PRESETS, by_id};
use megatron_memory::value::Value;
use proptest::prelude::*;

fn text(text: &str) -> Value {
    Value::Text(text.to_owned())
}

fn preset(id: &str) -> ShareState {
    ShareState {
        setup: Setup::of_preset(by_id(id).unwrap()),
        ..ShareState::default()
    }
}

fn plain(settings: &[(FieldId, Value)]) -> ShareState {
    let mut state = ShareState::default();
    state.setup.job.shared = settings.iter().cloned().collect();
    state
}

/// The link must be `link`, and restore the same state.
#[track_caller]
fn check_link(state: &ShareState, link: &str) {
    assert_eq!(encode(state), link);
    assert_eq!(decode(link), (state.normalize(), vec![]));
}

#[test]
fn a_preset_as_it_is_has_no_settings_in_its_link() {
    for preset in PRESETS {
        let state = ShareState {
            setup: Setup::of_preset(preset),
            ..ShareState::default()
        };
        check_link(&state, &format!("#v1;m={}@{}", preset.id, preset.version));
    }
    check_link(&ShareState::default(), "#v1");
}

#[test]
fn only_differences_from_the_preset_are_written_in_declaration_order() {
    let mut state = preset("deepseek-v3");
    let shared = &mut state.setup.job.shared;
    let base = shared.clone();
    shared.set(FieldId::gpu, text("b200"));
    shared.set(FieldId::tensor_model_parallel_size, Value::Int(8));
    shared.set(
        FieldId::moe_router_topk,
        base.get(FieldId::moe_router_topk).unwrap().clone(),
    );
    shared.set(FieldId::seq_length, text(" 16k "));
    shared.set(FieldId::bf16, Value::Bool(false));
    shared.set(FieldId::q_lora_rank, Value::Null);
    assert_eq!(
        encode(&state),
        "#v1;m=deepseek-v3@3;qlora=null;tp=8;seq=16384;bf16=0;gpu=b200"
    );
}

#[test]
fn taking_a_presets_value_away_is_a_difference() {
    let mut state = preset("deepseek-v3");
    state.setup.job.shared.unset(FieldId::tensor_model_parallel_size);
    state.setup.job.shared.unset(FieldId::bf16);
    check_link(&state, "#v1;m=deepseek-v3@3;tp=1;bf16=0");
}

#[test]
fn every_spelling_of_a_value_gives_the_same_link() {
    for spelling in ["4096", "4,096", "4_096", " 4096 ", "4k", "4.096e3"] {
        let state = plain(&[(FieldId::hidden_size, text(spelling))]);
        check_link(&state, "#v1;h=4096");
    }
    for spelling in [text("true"), text("1"), Value::Bool(true), Value::Int(1)] {
        check_link(&plain(&[(FieldId::swiglu, spelling)]), "#v1;swiglu=1");
    }
    for spelling in ["([0]*3+[1]*5)", "[0,0,0,1,1,1,1,1]", "[0]*3 + [1]*5"] {
        let state = plain(&[(FieldId::moe_layer_freq, text(spelling))]);
        check_link(&state, "#v1;freq=0~3,1~5");
    }
    for spelling in ["Et*3|(tt|)*29m|L", "Ettt|(t*2|)*29,m|L"] {
        let layout = FieldId::pipeline_model_parallel_layout;
        check_link(&plain(&[(layout, text(spelling))]), "#v1;layout=Et3,t2~29,m,L");
    }
    let modules = FieldId::recompute_modules;
    for spelling in [
        text("moe_act,core_attn"),
        Value::List(vec![text("core_attn"), text("moe_act")]),
    ] {
        check_link(&plain(&[(modules, spelling)]), "#v1;rcmod=core_attn,moe_act");
    }
    check_link(&plain(&[(modules, text(""))]), "#v1;rcmod=0");
    let dropout = FieldId::attention_dropout;
    for spelling in [Value::Float(0.25), text("0.250"), text("25e-2")] {
        check_link(&plain(&[(dropout, spelling)]), "#v1;adrop=0.25");
    }
    // A default that is written out is no difference.
    check_link(&plain(&[(dropout, text("0.1"))]), "#v1");
}

#[test]
fn a_list_with_one_layer_is_not_a_number() {
    let freq = FieldId::moe_layer_freq;
    check_link(&plain(&[(freq, text("[1]"))]), "#v1;freq=1~1");
    check_link(&plain(&[(freq, text("[0]"))]), "#v1;freq=0~1");
    check_link(&plain(&[(freq, Value::Int(2))]), "#v1;freq=2");
    check_link(&plain(&[(freq, text("[0,1,0,1]"))]), "#v1;freq=0,1,0,1");
}

#[test]
fn the_reader_takes_megatron_names_and_spellings() {
    let (state, notices) = decode(
        "#v1;tensor-model-parallel-size=8;num_layers=8;--moe-layer-freq=(%5B0%5D*2+%5B1%5D*6);layout=Et%7Ctt%7CL;do=true",
    );
    assert_eq!(notices, []);
    assert_eq!(encode(&state), "#v1;L=8;freq=0~2,1~6;tp=8;layout=Et,t2,L;do=1");
}

#[test]
fn several_modules_say_what_is_their_own() {
    let module = |name: &str, offset: i128, tp: i128| RawModule {
        name: name.to_owned(),
        rank_offset: Some(Value::Int(offset)),
        settings: [(FieldId::tensor_model_parallel_size, Value::Int(tp))]
            .into_iter()
            .collect(),
    };
    let mut state = plain(&[(FieldId::tensor_model_parallel_size, Value::Int(4))]);
    state.setup.job.modules = vec![module("language", 0, 4), module("vision", 8, 1)];
    check_link(&state, "#v1;tp=4;mod=language:0,vision:8;vision.tp=1");

    state.setup.job.modules = vec![module("a.b", 0, 2), module("", 1, 2), module("a.b", 2, 8)];
    check_link(&state, "#v1;tp=4;mod=a%2Eb:0,@0:1,a%2Eb:2;a%2Eb.tp=2;@2.tp=2;@3.tp=8");
}

#[test]
fn a_preset_of_several_modules_is_named_and_only_differences_are_written() {
    for job in JOBS {
        let state = ShareState {
            setup: Setup {
                preset: Some(job.into()),
                job: job.job(),
            },
            ..ShareState::default()
        };
        check_link(&state, &format!("#v1;m={}@{}", job.id, job.version));
    }
    let mut state = ShareState::default();
    state.setup.preset = jobs::by_id("qwen3.5-vl-27b").map(PresetRef::from);
    state.setup = state.setup.start();
    let start = state.setup.job.clone();
    let tp = FieldId::tensor_model_parallel_size;
    let job = &mut state.setup.job;
    job.put(0, tp, Value::Int(8));
    // The default, which the preset's module does not have.
    job.modules[1].settings.unset(FieldId::projector);
    check_link(&state, "#v1;m=qwen3.5-vl-27b@1;language.tp=8;images.proj=none");
    // A module keeps its values where it stands elsewhere, and has none under another name.
    let job = &mut state.setup.job;
    job.modules.swap(0, 1);
    job.modules[0].name = "video".to_owned();
    job.modules[0].settings = Settings::default();
    check_link(&state, "#v1;m=qwen3.5-vl-27b@1;mod=video:16,language:0;language.tp=8");
    // What a field cannot take stays: without it the job would be another one.
    state.setup.job = start;
    state.setup.job.put(0, tp, text("many"));
    let (back, _) = decode(&encode(&state));
    assert_eq!(back.setup.job.get(0, tp), Some(&text("many")));
    assert!(check(&back.setup.job).config.is_none());
    // Without modules it has nothing of the preset any more.
    state.setup.job.modules.clear();
    assert_eq!(state.normalize().setup.preset, None);
}

#[test]
fn the_pinned_job_is_told_by_its_difference_from_the_first() {
    let mut state = preset("llama3-70b");
    let mut pinned = state.setup.clone();
    state
        .setup
        .job
        .shared
        .set(FieldId::tensor_model_parallel_size, Value::Int(2));
    pinned
        .job
        .shared
        .set(FieldId::tensor_model_parallel_size, Value::Int(1));
    state.pinned = vec![pinned];
    check_link(&state, "#v1;m=llama3-70b@2;tp=2;vs;tp=1");

    state.pinned = vec![Setup::of_preset(by_id("qwen3-8b").unwrap())];
    check_link(&state, "#v1;m=llama3-70b@2;tp=2;vs;m=qwen3-8b@2");

    state.pinned = vec![Setup::default()];
    check_link(&state, "#v1;m=llama3-70b@2;tp=2;vs;m=null");

    state.pinned = vec![state.setup.clone()];
    check_link(&state, "#v1;m=llama3-70b@2;tp=2;vs");
}

#[test]
fn several_pinned_jobs_stand_one_after_the_other() {
    let link = "#v1;m=llama3-70b@1;tp=2;vs;tp=4;vs;m=qwen3-8b@1;gpu=h200-141gb;vs";
    let (mut state, notices) = decode(link);
    assert_eq!(notices, []);
    assert_eq!(encode(&state), link);
    let tp = FieldId::tensor_model_parallel_size;
    let sizes = state.pinned.iter().map(|job| job.job.get(0, tp).cloned());
    let sizes: Vec<_> = sizes.collect();
    assert_eq!(sizes, [4, 4, 2].map(|size| Some(Value::Int(size))));

    // A job is pinned before the others; one that is pinned already moves there.
    let last = state.pinned[2].clone();
    pin(&mut state, last).unwrap();
    assert_eq!(
        encode(&state),
        "#v1;m=llama3-70b@1;tp=2;vs;vs;tp=4;vs;m=qwen3-8b@1;gpu=h200-141gb"
    );
    for size in 1.. {
        let before = state.clone();
        let mut job = state.setup.clone();
        job.job.put(0, FieldId::micro_batch_size, Value::Int(size));
        if let Err(why) = pin(&mut state, job) {
            assert_eq!(why, PinError::TooMany);
            assert_eq!(state, before);
            break;
        }
    }
    assert_eq!(state.pinned.len(), MAX_PINNED);

    // More than that are named as left out.
    let many = format!("#v1;m=llama3-70b@1{}", ";vs;tp=4".repeat(MAX_PINNED + 3));
    let (state, notices) = decode(&many);
    assert_eq!(notices, [Notice::TooManyPinned { ignored: 3 }]);
    assert_eq!(state.pinned.len(), MAX_PINNED);
}

#[test]
fn a_job_that_makes_the_link_too_long_is_not_pinned() {
    // Keys of another calculator, with letters that cannot be compressed away.
    let letters = |seed: u64| {
        let mut random = seed;
        let letters = (0..2_000).map(|_| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            char::from(b"abcdefghijklmnopqrstuvwxyz"[(random >> 33) as usize % 26])
        });
        letters.collect::<String>()
    };
    let of_letters = |seed| {
        let mut state = plain(&[]);
        let own = ("xyz".to_owned(), text(&letters(seed)));
        state.setup.job.unknown.push(own);
        state
    };
    let mut state = of_letters(1);
    let pinned = (2..20).find_map(|seed| {
        let before = state.pinned.len();
        let refused = pin(&mut state, of_letters(seed).setup).err();
        assert!(encode(&state).len() <= MAX_LINK);
        assert_eq!(decode(&encode(&state)).0, state.normalize());
        refused.map(|why| (before, why))
    });
    assert!(matches!(pinned, Some((1.., PinError::TooLong))), "{pinned:?}");
    assert_eq!(left_out(&state), 0);
    // One of them grows after it was pinned, by more than goes before pinned jobs do: the job's own unknown keys.
    let more = (20..22).map(|seed| (format!("more{seed}"), text(&letters(seed))));
    state.pinned[0].job.unknown.extend(more);
    let kept = decode(&encode(&state)).0.pinned.len();
    assert!(kept < state.pinned.len());
    assert_eq!(left_out(&state), state.pinned.len() - kept);
}

#[test]
fn what_is_shown_is_part_of_the_link() {
    let mut state = preset("qwen3-8b");
    state.view = View {
        tab: Some("table".to_owned()),
        stage: Some(Place { module: 0, pp_rank: 3 }),
    };
    check_link(&state, "#v1;m=qwen3-8b@2;tab=table;stage=3");
    state.view.stage = Some(Place { module: 1, pp_rank: 2 });
    check_link(&state, "#v1;m=qwen3-8b@2;tab=table;stage=1.2");
}

#[test]
fn unknown_keys_are_named_and_stay() {
    let link = "#v1;tp=2;newthing=a%20b;flag";
    let (state, notices) = decode(link);
    let unknown = |key: &str| Notice::UnknownKey { key: key.to_owned() };
    assert_eq!(notices, [unknown("newthing"), unknown("flag")]);
    assert_eq!(encode(&state), link);
    assert_eq!(
        state.setup.job.unknown,
        [("newthing".to_owned(), text("a b")), ("flag".to_owned(), Value::Null)]
    );
    // A key that a link gives a meaning is not smuggled in as an unknown one.
    let mut state = ShareState::default();
    for key in ["tp", "num-layers", "m", "vs", "mod", ""] {
        state.setup.job.unknown.push((key.to_owned(), text("9")));
    }
    assert_eq!(encode(&state), "#v1");
}

#[test]
fn bad_values_are_named_and_the_job_cannot_run_with_them() {
    let link = "#v1;m=llama3-70b@1;h=abc;freq=2~3;tp=0;layout=Ex;rc=some;bf16=maybe";
    let (state, notices) = decode(link);
    assert_eq!(encode(&state), link);
    let keys: Vec<String> = notices
        .iter()
        .map(|notice| match notice {
            Notice::BadValue { key, .. } => key.clone(),
            other => panic!("{other}"),
        })
        .collect();
    assert_eq!(keys, ["h", "freq", "tp", "layout", "rc", "bf16"]);
    assert_eq!(
        notices[2].to_string(),
        "tp=0 cannot be used: tp must be between 1 and 65536."
    );
    let errors = check(&state.setup.job);
    assert!(errors.config.is_none());
    for name in ["hidden_size", "moe_layer_freq", "tensor_model_parallel_size", "bf16"] {
        let field = FieldId::by_name(name).unwrap();
        assert!(errors.errors().any(|p| p.fields.contains(&field)), "{name}");
    }
}

#[test]
fn every_value_that_no_field_can_take_comes_back_as_it_is_written() {
    let freq = FieldId::moe_layer_freq;
    let modules = FieldId::recompute_modules;
    let pattern = FieldId::hybrid_layer_pattern;
    for (field, value, token) in [
        // What the notation of links would read as something else stands behind a question mark.
        (freq, text("0~3"), "freq=%3F0~3"),
        (modules, text("0"), "rcmod=%3F0"),
        (FieldId::hidden_size, text("?"), "h=%3F%3F"),
        (FieldId::hidden_size, text(""), "h=%20"),
        (FieldId::hidden_size, Value::Float(4.5), "h=4.5"),
        (FieldId::hidden_size, Value::Int(-3), "h=-3"),
        (FieldId::hidden_size, Value::List(vec![]), "h=%5B%5D"),
        (FieldId::gpu, Value::List(vec![text("h100")]), "gpu=%20"),
        (pattern, text("M-Mx"), "hyb=M-Mx"),
        (pattern, text("Max"), "hyb=%3FMax"),
    ] {
        let link = encode(&plain(&[(field, value)]));
        assert!(link.contains(token), "{link} has no {token}");
        let (back, notices) = decode(&link);
        assert_eq!(encode(&back), link);
        assert!(matches!(notices[..], [Notice::BadValue { .. }]), "{link}");
        assert!(
            check(&back.setup.job).errors().any(|p| p.fields.contains(&field)),
            "{link}"
        );
    }
}

#[test]
fn a_list_in_words_that_nobody_can_read_comes_back() {
    let state = plain(&[(FieldId::csa_compress_ratios, text("?"))]);
    assert_eq!(encode(&state), "#v1;csar=%3F%3F");
    let (back, notices) = decode("#v1;csar=%3F%3F");
    assert_eq!(back, state);
    assert!(matches!(notices[..], [Notice::BadValue { .. }]), "{notices:?}");
}

#[test]
fn links_survive_what_mail_and_chat_do_to_them() {
    let link = "#v1;m=deepseek-v3@1;tp=8;x=%7C1";
    let state = decode(link).0;
    let escape = |byte: u8| match char::from(byte) {
        plain if plain.is_ascii_alphanumeric() => plain.to_string(),
        _ => format!("%{byte:02X}"),
    };
    let escaped = |text: &str| text.bytes().map(escape).collect::<String>();
    let body = link.trim_start_matches('#');
    let once = escaped(body);
    let twice = escaped(&once);
    for mangled in [
        format!("https://host/sub/path/?embed=1{link}"),
        format!("  {link}\n"),
        format!("{link}."),
        format!("{link}),"),
        format!("#{once}"),
        format!("#{twice}"),
        body.to_owned(),
    ] {
        assert_eq!(decode(&mangled).0, state, "{mangled}");
    }
    // Only the escapes were escaped again.
    let (state, notices) = decode("#v1;layout=Et%252Ct%252CL");
    assert_eq!(notices, []);
    assert_eq!(encode(&state), "#v1;layout=Et,t,L");
}

/// A packed link of an empty job with blanks behind it, of so many bytes unpacked, as another program compresses it.
fn unpacks_to(bytes: usize) -> String {
    let empty = r#"{"schema":"megatron-memory/1","settings":{}}"#;
    let document = empty.to_owned() + &" ".repeat(bytes - empty.len());
    let packed = miniz_oxide::deflate::compress_to_vec(document.as_bytes(), 6);
    format!("#z1:{}", BASE64_URL_SAFE.encode(packed))
}

#[test]
fn a_packed_link_may_unpack_to_so_many_bytes_and_no_more() {
    assert_eq!(decode(&unpacks_to(65_536)).1, []);
    assert_eq!(decode(&unpacks_to(65_537)).1, [Notice::Damaged]);
    assert_eq!(decode(&unpacks_to(5_000_000)).1, [Notice::Damaged]);
}

#[test]
fn what_is_no_link_is_said_to_be_none() {
    let empty = ShareState::default();
    for (link, notice) in [
        ("#hello", Notice::NotALink),
        ("#%%%%", Notice::NotALink),
        ("#v", Notice::NotALink),
        ("#v1x;tp=2", Notice::NotALink),
        ("#z1:", Notice::NotALink),
        ("#z1:AAAA", Notice::Damaged),
        ("#z1:####", Notice::NotALink),
        (
            "#v2;tp=2",
            Notice::Newer {
                version: "v2".to_owned(),
            },
        ),
        (
            "#z7:abcd",
            Notice::Newer {
                version: "z7".to_owned(),
            },
        ),
        ("#v1%E0", Notice::NotALink),
    ] {
        assert_eq!(decode(link), (empty.clone(), vec![notice]), "{link}");
    }
    assert_eq!(decode(""), (empty.clone(), vec![]));
    assert_eq!(decode("#"), (empty.clone(), vec![]));
    let long = format!("#v1;{}", "tp=2;".repeat(MAX_LINK));
    assert!(matches!(decode(&long).1[..], [Notice::TooLong { .. }]));
}

#[test]
fn too_many_and_too_long_tokens_are_named_and_the_rest_counts() {
    let many = format!("#v1;{}tp=2", "a=1;".repeat(MAX_TOKENS));
    let (state, notices) = decode(&many);
    assert_eq!(notices[0], Notice::TooManyTokens { ignored: 1 });
    assert_eq!(state.setup.job.shared, Settings::default());
    let long = format!("#v1;x={};tp=2", "y".repeat(600));
    let (state, notices) = decode(&long);
    assert!(matches!(notices[..], [Notice::TokenTooLong { .. }]));
    assert_eq!(encode(&state), "#v1;tp=2");
    // The value of a field is not dropped: the job would be another one.
    let long = format!("#v1;m=llama3-8b@1;freq={};tp=2", "1~2,".repeat(200));
    let (state, notices) = decode(&long);
    assert!(matches!(
        notices[..],
        [Notice::TokenTooLong { .. }, Notice::BadValue { .. }]
    ));
    assert!(check(&state.setup.job).config.is_none());
    let (state, notices) = decode("#v1;tp=2;tp=4");
    assert_eq!(notices, [Notice::Repeated { key: "tp".to_owned() }]);
    assert_eq!(encode(&state), "#v1;tp=4");
}

#[test]
fn presets_that_do_not_exist_are_named() {
    for (name, nearest) in [
        ("nothing@1", None),
        ("deepseekv3", Some("deepseek-v3")),
        ("DeepSeek_V3@2", Some("deepseek-v3")),
        ("lama3-8b@1", Some("llama3-8b")),
    ] {
        let (state, notices) = decode(&format!("#v1;m={name};tp=2"));
        let notice = Notice::UnknownPreset {
            name: name.to_owned(),
            nearest,
        };
        assert_eq!(notices, std::slice::from_ref(&notice));
        // Settings without their preset are those of another job.
        assert_eq!(state, ShareState::default());
        let visit = visit(&format!("#v1;m={name};tp=2"));
        assert_eq!(visit.broken, Some(notice.clone()));
        assert_eq!(visit.state.setup, Setup::first());
        // The job that it is compared with is left out.
        let (state, notices) = decode(&format!("#v1;m=gpt2@1;vs;m={name}"));
        assert_eq!(notices, [notice]);
        assert_eq!(
            (state.setup, state.pinned),
            (Setup::of_preset(by_id("gpt2").unwrap()), Vec::new())
        );
    }
    assert_eq!(visit("#v1;m=gpt2@1").broken, None);
    assert_eq!(visit("").broken, None);
    let (state, notices) = decode("#v1;m=gpt2@99;tp=2");
    let used = Notice::PresetVersion {
        name: "gpt2@99".to_owned(),
        used: "gpt2@1".to_owned(),
    };
    assert_eq!(notices, [used]);
    assert_eq!(encode(&state), "#v1;m=gpt2@1;tp=2");
    assert_eq!(decode("#v1;m=gpt2;tp=2"), (state, vec![]));
}

#[test]
fn long_states_are_packed_and_come_back() {
    let mut layout = String::from("E");
    for i in 0..400 {
        layout.push_str(&"t".repeat(1 + i * i % 7));
        layout.push('|');
    }
    layout.push('L');
    let state = plain(&[(FieldId::pipeline_model_parallel_layout, text(&layout))]);
    let link = encode(&state);
    assert!(link.starts_with("#z1:") && link.len() < 1_000, "{}", link.len());
    assert!(link.ends_with(|c: char| c.is_ascii_alphanumeric()));
    assert_eq!(decode(&link), (state.normalize(), vec![]));
    // Cut off or changed on the way, it is damaged and does no harm.
    assert_eq!(decode(&link[..link.len() / 2]).1, [Notice::Damaged]);
}

#[test]
fn field_keys_are_free_of_what_links_reserve() {
    for id in FieldId::ALL {
        let key = id.field().key;
        assert!(!["m", "mod", "nm", "tab", "stage", "vs"].contains(&key), "{key}");
        assert!(key.bytes().all(|b| b.is_ascii_alphanumeric()), "{key}");
        assert_eq!(FieldId::by_key(key), Some(*id));
        // A short key may not be another field's long name.
        assert!(FieldId::by_name(key).is_none_or(|named| named == *id), "{key}");
    }
}

/// Links of released versions, each with the job that it must restore for ever.
#[test]
fn golden_links_keep_their_meaning() {
    let golden = include_str!("../../golden_links.txt");
    let mut lines = golden
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with("//"));
    let mut count = 0;
    while let (Some(link), Some(document)) = (lines.next(), lines.next()) {
        let (state, notices) = decode(link);
        assert_eq!(notices, [], "{link}");
        assert_eq!(job_json::document(&state).to_string(), document, "{link}");
        let root = json::parse(document).unwrap();
        let read = job_json::read(&root).unwrap();
        assert_eq!(read.state.normalize(), state, "{link}");
        count += 1;
    }
    assert!(count >= 20, "{count}");
}

#[test]
fn links_are_recognized() {
    for link in [
        "#v1;tp=2",
        "v1;tp=2",
        "https://a.b/c/#v1;m=gpt2@1",
        "#z1:abc",
        "#v2;x",
        "v1%3Btp=2",
    ] {
        assert!(recognizes(link), "{link}");
    }
    for other in ["", "hello", "{\"v1\": 2}", "v1 ;tp=2", "--num-layers 2"] {
        assert!(!recognizes(other), "{other}");
    }
}

fn value_of(kind: Kind) -> BoxedStrategy<Value> {
    let good: BoxedStrategy<Value> = match kind {
        Kind::Int { min, max } => (min..=max).prop_map(|i| Value::Int(i.into())).boxed(),
        Kind::Flag => any::<bool>().prop_map(Value::Bool).boxed(),
        Kind::Choice(names) => proptest::sample::select(names).prop_map(text).boxed(),
        Kind::Set(names) => proptest::sample::subsequence(names, 0..=names.len())
            .prop_map(|names| Value::List(names.into_iter().map(text).collect()))
            .boxed(),
        Kind::Decimal { min, max } => (min..=max)
            .prop_map(|m| text(&format!("{}.{:06}", m / 1_000_000, m % 1_000_000)))
            .boxed(),
        Kind::LayerPattern => proptest::collection::vec(0..=1_i128, 0..30)
            .prop_map(|list| Value::List(list.into_iter().map(Value::Int).collect()))
            .boxed(),
        Kind::Text { .. } => "[Etm|*2-9L(),]{1,12}|\\PC{1,12}".prop_map(|s| text(&s)).boxed(),
    };
    prop_oneof![8 => good, 1 => Just(Value::Null), 1 => "\\PC{0,9}".prop_map(|s| text(&s))].boxed()
}

fn settings() -> impl Strategy<Value = Settings> {
    let field = proptest::sample::select(FieldId::ALL)
        .prop_flat_map(|id| value_of(id.field().kind).prop_map(move |value| (id, value)));
    proptest::collection::vec(field, 0..12).prop_map(|list| list.into_iter().collect())
}

fn setup() -> impl Strategy<Value = Setup> {
    let models = PRESETS.iter().map(PresetRef::from);
    let presets: Vec<PresetRef> = models.chain(JOBS.iter().map(PresetRef::from)).collect();
    let preset = proptest::option::of(proptest::sample::select(presets));
    let name = "\\PC{0,6}|language|images";
    let module = (name, proptest::option::of(0..9_i128), settings());
    let modules = proptest::option::of(proptest::collection::vec(module, 0..3));
    let unknown = proptest::collection::vec(("[xyz]\\PC{0,5}", proptest::option::of("\\PC{1,9}")), 0..3);
    (preset, settings(), modules, unknown).prop_map(|(preset, own, modules, unknown)| {
        let mut setup = Setup {
            preset,
            ..Setup::default()
        };
        setup = setup.start();
        setup.job.shared.overlay(&own);
        if let Some(modules) = modules {
            let module = |(name, offset, settings): (_, Option<_>, _)| RawModule {
                name,
                rank_offset: offset.map(Value::Int),
                settings,
            };
            setup.job.modules = modules.into_iter().map(module).collect();
        }
        setup.job.unknown = unknown
            .into_iter()
            .map(|(key, value)| (key, value.map_or(Value::Null, Value::Text)))
            .collect();
        setup
    })
}

/// Keys about as long as the longest token that is read, whose last character is escaped at the end of a link.
#[test]
fn a_long_key_comes_back_where_its_last_character_is_escaped() {
    for length in 500..=520 {
        let mut state = preset("llama3-8b");
        let key = format!("{}_", "k".repeat(length - 1));
        state.setup.job.unknown.push((key, Value::Null));
        assert_eq!(decode(&encode(&state)).0, state, "{length}");
    }
}

proptest! {
    #[test]
    fn any_state_comes_back_from_its_link(
        setup in setup(),
        pinned in proptest::collection::vec(setup(), 0..4),
        tab in proptest::option::of("[a-z]{0,8}"),
        stage in proptest::option::of((0..3_u16, 0..99_u16)),
    ) {
        let view = View { tab, stage: stage.map(|(module, pp_rank)| Place { module, pp_rank }) };
        let state = ShareState { setup, pinned, view };
        let link = encode(&state);
        prop_assert!(link.len() <= MAX_LINK);
        prop_assert!(link.ends_with(|c: char| c.is_ascii_alphanumeric()), "{}", link);
        prop_assert!(link[1..].bytes().all(|b| b.is_ascii_alphanumeric() || b"-._~;=:,@%".contains(&b)));
        let (back, notices) = decode(&link);
        prop_assert!(notices.iter().all(|n| matches!(n, Notice::UnknownKey { .. } | Notice::Repeated { .. } | Notice::BadValue { .. })), "{:?}", notices);
        prop_assert_eq!(&back, &state.normalize());
        prop_assert_eq!(encode(&back), link);
        prop_assert_eq!(back.normalize(), back);
    }

    #[test]
    fn the_canonical_form_means_the_same(own in settings()) {
        let state = plain(&own.iter().map(|(id, value)| (id, value.clone())).collect::<Vec<_>>());
        let raw = check(&state.setup.job);
        if raw.config.is_some() {
            let normal = check(&state.normalize().setup.job);
            prop_assert_eq!(format!("{:?}", raw.config), format!("{:?}", normal.config));
        }
    }

    #[test]
    fn no_text_makes_the_reader_panic(text in "\\PC{0,200}", head in "#?(v1;?|z1:|v1%3B)?") {
        let (state, _) = decode(&format!("{head}{text}"));
        let link = encode(&state);
        prop_assert_eq!(decode(&link).0, state);
    }

    #[test]
    fn no_damage_makes_the_reader_panic(
        setup in setup(), cut in 0..400_usize, at in 0..400_usize, byte in 32..127_u8,
    ) {
        let mut link = encode(&ShareState { setup, ..ShareState::default() });
        link.truncate(link.len().saturating_sub(cut % link.len()));
        if at < link.len() {
            link.replace_range(at..=at, &char::from(byte).to_string());
        }
        let (state, _) = decode(&link);
        prop_assert_eq!(state.normalize(), state);
    }

    #[test]
    fn packed_garbage_is_refused(text in "[A-Za-z0-9_-]{0,400}") {
        let (_, notices) = decode(&format!("#z1:{text}"));
        prop_assert!(!notices.is_empty());
    }
}

#[test]
fn jobs_of_links_are_plain_jobs() {
    let job: RawJob = decode("#v1;m=deepseek-v3@1").0.setup.job;
    assert!(check(&job).config.is_some());
}

/// Links made while it had the spelling of Megatron's help still mean it, and are written as Megatron reads it.
#[test]
fn gathering_over_context_parallel_ranks_has_two_spellings() {
    let (old, notices) = decode("#v1;cp=2;cpcomm=allgather");
    assert_eq!(notices, []);
    assert_eq!(encode(&old), "#v1;cp=2;cpcomm=all_gather");
    assert_eq!(encode(&decode(&encode(&old)).0), encode(&old));
}
