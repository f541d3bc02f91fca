//! What the dialogs show, and what they answer.

use megatron_memory::config::fields::FieldId;
use megatron_memory::exchange::dialog::{Dialog, Effect};
use megatron_memory::formats::share_url::decode;
use megatron_memory::report::markup::Markup;
use megatron_memory::value::Value;

const ADDRESS: &str = "https://calculator.example/#v1;m=llama3-8b@1;tp=2";

const MODEL: &str = r#"{"model_type": "llama", "num_hidden_layers": 7, "hidden_size": 64, "num_attention_heads": 4,
    "intermediate_size": 256, "vocab_size": 1000}"#;

/// Every element, from the outside in.
fn all(elements: &[Markup]) -> Vec<&Markup> {
    let mut found = Vec::new();
    for element in elements {
        found.push(element);
        found.extend(all(&element.children));
    }
    found
}

fn attribute<'m>(element: &'m Markup, name: &str) -> Option<&'m str> {
    let found = element.attributes.iter().find(|(known, _)| *known == name);
    found.map(|(_, value)| &**value)
}

struct Shown(Vec<Markup>);

impl Shown {
    fn of(dialog: &Dialog) -> Self {
        Self(dialog.draw())
    }

    fn at(&self, place: &str) -> Option<&Markup> {
        all(&self.0)
            .into_iter()
            .find(|element| attribute(element, "data-at") == Some(place))
    }

    fn by_id(&self, id: &str) -> &Markup {
        let mut elements = all(&self.0).into_iter();
        let found = elements.find(|element| attribute(element, "id") == Some(id));
        found.unwrap()
    }

    fn usable(&self, place: &str) -> bool {
        self.at(place)
            .is_some_and(|button| attribute(button, "disabled").is_none())
    }

    fn text(&self) -> String {
        let texts: Vec<&str> = all(&self.0).iter().map(|element| &*element.text).collect();
        texts.join("\n")
    }

    fn error(&self) -> String {
        let found = all(&self.0)
            .into_iter()
            .find(|element| attribute(element, "role") == Some("alert"));
        found.unwrap().text.to_string()
    }
}

fn opened(effect: Option<Effect>) -> Vec<(FieldId, Value)> {
    let Some(Effect::Open(link)) = effect else {
        panic!("nothing is opened: {effect:?}");
    };
    let (state, notices) = decode(&link);
    assert_eq!(notices, []);
    state
        .setup
        .job
        .shared
        .iter()
        .map(|(id, value)| (id, value.clone()))
        .collect()
}

#[test]
fn nothing_can_be_applied_before_there_is_a_job() {
    let mut dialog = Dialog::new("import", ADDRESS);
    assert!(!Shown::of(&dialog).usable("apply"));
    assert_eq!(dialog.act("apply", ""), None);
    assert_eq!(dialog.act("text", "hello world"), None);
    let shown = Shown::of(&dialog);
    assert!(!shown.usable("apply"));
    assert!(
        shown.error().starts_with("This is neither"),
        "{}",
        shown.error()
    );
    assert_eq!(dialog.act("text", " "), None);
    assert_eq!(Shown::of(&dialog).error(), "");
    assert_eq!(dialog.act("close", ""), Some(Effect::Close));
}

#[test]
fn a_script_asks_and_its_answers_stay_changeable() {
    let mut dialog = Dialog::new("import", ADDRESS);
    dialog.act("text", "pretrain_gpt.py --num-layers 4 --hidden-size 512 --tensor-model-parallel-size $TP --frobnicate 3");
    let shown = Shown::of(&dialog);
    assert!(shown.text().contains("Megatron-LM"), "{}", shown.text());
    assert!(shown.text().contains("--frobnicate") && shown.text().contains("unknown"));
    assert!(shown.at("variable:TP").is_some() && shown.at("gpus").is_some());
    dialog.act("variable:TP", "4");
    dialog.act("gpus", "many");
    assert!(
        Shown::of(&dialog)
            .text()
            .contains("A whole number above zero.")
    );
    dialog.act("gpus", "16");
    let shown = Shown::of(&dialog);
    assert!(
        shown.at("variable:TP").is_some() && shown.at("gpus").is_some(),
        "they can be changed"
    );
    assert!(!shown.text().contains("A whole number above zero."));
    dialog.act("variable:TP", "8");
    let job = opened(dialog.act("apply", ""));
    assert!(job.contains(&(FieldId::tensor_model_parallel_size, Value::Int(8))));
    assert!(job.contains(&(FieldId::world_size, Value::Int(16))));
    // Another text is asked anew.
    dialog.act(
        "file:job.sh",
        "pretrain_gpt.py --num-layers 8 --hidden-size 512",
    );
    let shown = Shown::of(&dialog);
    assert!(shown.at("variable:TP").is_none());
    assert!(shown.text().contains("Read from job.sh"));
    assert!(
        !opened(dialog.act("apply", ""))
            .iter()
            .any(|(id, _)| *id == FieldId::world_size)
    );
}

const OPEN: &str = "torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 32 --hidden-size 4096 --num-attention-heads 32 \
    --seq-length 4096 --vocab-size 32000 --micro-batch-size $MBS --global-batch-size ${GBS} --save $OUT --tensor-model-parallel-size ${TP:-2}";

#[test]
fn what_settings_need_is_answered_before_anything_is_applied() {
    let mut dialog = Dialog::new("import", ADDRESS);
    dialog.act("text", OPEN);
    let state = |shown: &Shown, place: &str| {
        let element = shown.at(place).unwrap();
        attribute(element, "aria-invalid").map(str::to_owned)
    };
    let shown = Shown::of(&dialog);
    let apply = shown.at("apply").unwrap();
    // It can be reached, and says why.
    assert!(shown.usable("apply"));
    assert_eq!(attribute(apply, "aria-disabled"), Some("true"));
    let why = attribute(apply, "aria-describedby").unwrap();
    assert_eq!(shown.by_id(why).text, "Apply waits for $MBS and $GBS.");
    assert_eq!(dialog.act("apply", ""), None);
    for (place, key) in [
        ("variable:MBS", "--micro-batch-size"),
        ("variable:GBS", "--global-batch-size"),
    ] {
        assert_eq!(state(&shown, place).as_deref(), Some("true"));
        let hint = attribute(shown.at(place).unwrap(), "aria-describedby").unwrap();
        assert_eq!(
            shown.by_id(hint).text,
            format!("{key} needs a value from it.")
        );
    }
    assert_eq!(state(&shown, "variable:TP"), None);
    let places = |shown: &Shown| -> Vec<String> {
        let places = all(&shown.0)
            .into_iter()
            .filter_map(|e| attribute(e, "data-at"));
        places.map(str::to_owned).collect()
    };
    let before = places(&shown);
    dialog.act("variable:GBS", "6");
    // Who is typing keeps the field.
    assert_eq!(places(&Shown::of(&dialog)), before);
    dialog.act("variable:GBS", "");
    // Half of it, or what is no number, is not enough.
    dialog.act("variable:MBS", "2");
    assert_eq!(dialog.act("apply", ""), None);
    dialog.act("variable:GBS", "lots");
    let shown = Shown::of(&dialog);
    assert_eq!(state(&shown, "variable:MBS"), None);
    assert_eq!(state(&shown, "variable:GBS").as_deref(), Some("true"));
    assert_eq!(dialog.act("apply", ""), None);
    dialog.act("variable:GBS", "64");
    let shown = Shown::of(&dialog);
    assert_eq!(state(&shown, "variable:GBS"), None);
    assert_eq!(attribute(shown.at("apply").unwrap(), "aria-disabled"), None);
    let job = opened(dialog.act("apply", ""));
    assert!(job.contains(&(FieldId::global_batch_size, Value::Int(64))));
    assert!(job.contains(&(FieldId::micro_batch_size, Value::Int(2))));
    // The box emptied again.
    dialog.act("variable:GBS", "");
    assert_eq!(dialog.act("apply", ""), None);
}

#[test]
fn a_text_without_a_model_says_what_it_changes_before_it_does() {
    let mut dialog = Dialog::new(
        "import",
        "https://calculator.example/#v1;m=llama3-70b@1;tp=2;gpus=64;tab=table",
    );
    dialog.act("text", "model.tensor_model_parallel_size=4 model.pipeline_model_parallel_size=8 train.micro_batch_size=2");
    let words = Shown::of(&dialog).text();
    assert!(
        words.contains("without a model: Apply changes 3 settings of your job, and the rest stays"),
        "{words}"
    );
    let Some(Effect::Open(link)) = dialog.act("apply", "") else {
        panic!("it is applied");
    };
    assert!(link.starts_with("#v1;m=llama3-70b@1;"), "{link}");
    assert!(
        link.contains(";pp=8;") && !link.contains(";tp=") && link.contains(";mbs=2;"),
        "{link}"
    );
    // What the page has already.
    dialog.act("page", &format!("https://calculator.example/{link}"));
    let words = Shown::of(&dialog).text();
    assert!(words.contains("changes no setting of your job"), "{words}");
}

#[test]
fn what_of_the_page_cannot_apply_to_a_new_model_is_counted() {
    let mut dialog = Dialog::new("import", "https://calculator.example/");
    dialog.act("text", MODEL);
    let words = Shown::of(&dialog).text();
    assert!(
        words.contains("parallelism, batch and precision stay, but for"),
        "{words}"
    );
    assert!(words.contains("pipeline_model_parallel_layout"), "{words}");
}

#[test]
fn what_was_typed_is_there_when_the_dialog_is_opened_again() {
    let mut dialog = Dialog::new("import", ADDRESS);
    dialog.act("text", OPEN);
    dialog.act("variable:MBS", "2");
    dialog.act("hub", "acme/tiny");
    dialog.act("ask", "");
    dialog.act(
        "page",
        "https://calculator.example/#v1;m=llama3-8b@1;gpu=a100-40gb",
    );
    let shown = Shown::of(&dialog);
    assert_eq!(shown.at("text").unwrap().text, OPEN);
    let value = |place: &str| attribute(shown.at(place).unwrap(), "value");
    assert_eq!(value("variable:MBS"), Some("2"));
    assert_eq!(value("hub"), Some("acme/tiny"));
    // Nobody waits for the answer any more.
    assert!(shown.usable("ask"));
    dialog.act("variable:GBS", "64");
    let job = opened(dialog.act("apply", ""));
    let gpu = Value::Text("a100-40gb".to_owned());
    assert!(job.contains(&(FieldId::gpu, gpu)));
    // A file is named, and not put into the field.
    dialog.act("file:job.sh", OPEN);
    dialog.act("page", ADDRESS);
    let shown = Shown::of(&dialog);
    assert_eq!(shown.at("text").unwrap().text, "");
    assert!(shown.text().contains("Read from job.sh"));
}

#[test]
fn a_model_replaces_the_model_and_nothing_else() {
    let mut dialog = Dialog::new("import", ADDRESS);
    dialog.act("text", MODEL);
    let job = opened(dialog.act("apply", ""));
    assert!(job.contains(&(FieldId::num_layers, Value::Int(7))));
    assert!(job.contains(&(FieldId::tensor_model_parallel_size, Value::Int(2))));
}

const HUB: &str = "https://huggingface.co/acme/tiny/raw/main/config.json";

#[test]
fn the_hub_is_asked_when_its_address_was_shown_and_a_button_pressed() {
    let mut dialog = Dialog::new("import", ADDRESS);
    assert_eq!(dialog.act("ask", ""), None);
    assert_eq!(dialog.act("hub", "not a name!"), None);
    let shown = Shown::of(&dialog);
    assert!(shown.at("ask").is_none() && shown.text().contains("Qwen/Qwen3-8B"));
    assert_eq!(dialog.act("hub", "acme/tiny"), None);
    let shown = Shown::of(&dialog);
    assert!(
        shown.usable("ask") && shown.text().contains(HUB),
        "{}",
        shown.text()
    );
    assert_eq!(dialog.act("ask", ""), Some(Effect::Fetch(HUB.to_owned())));
    // Once is enough.
    assert!(!Shown::of(&dialog).usable("ask"));
    assert_eq!(dialog.act("ask", ""), None);
    // An answer that nobody waits for.
    dialog.act(
        "fetched:https://huggingface.co/acme/other/raw/main/config.json",
        "{}",
    );
    assert!(!Shown::of(&dialog).usable("apply"));
    dialog.act(&format!("fetched:{HUB}"), MODEL);
    let shown = Shown::of(&dialog);
    assert!(
        shown.text().contains("Read from acme/tiny on the Hub"),
        "{}",
        shown.text()
    );
    assert!(shown.usable("ask"));
    let job = opened(dialog.act("apply", ""));
    assert!(job.contains(&(FieldId::num_layers, Value::Int(7))));
    assert!(job.contains(&(FieldId::tensor_model_parallel_size, Value::Int(2))));
}

#[test]
fn a_hub_that_gives_nothing_is_told_and_what_works_instead() {
    let mut dialog = Dialog::new("import", ADDRESS);
    for (reason, words) in [
        ("401", "no public model of this name"),
        ("404", "no config.json at this revision"),
        ("500", "status 500"),
        ("Failed to fetch", "no answer came (Failed to fetch)"),
    ] {
        dialog.act("hub", "acme/tiny");
        dialog.act("ask", "");
        dialog.act(&format!("refused:{HUB}"), reason);
        let error: Vec<String> = all(&Shown::of(&dialog).0)
            .into_iter()
            .filter(|element| attribute(element, "role") == Some("alert"))
            .map(|element| element.text.to_string())
            .collect();
        let error = error.join("");
        assert!(error.contains(HUB) && error.contains(words), "{error}");
        assert!(error.contains("Pasting the text of config.json"), "{error}");
        assert!(Shown::of(&dialog).usable("ask"), "it can be tried again");
        dialog.act("hub", "acme/other");
        assert!(!Shown::of(&dialog).text().contains(words));
    }
    // What is typed meanwhile is not replaced by a late answer.
    dialog.act("hub", "acme/tiny");
    dialog.act("ask", "");
    dialog.act(
        "text",
        "--num-layers 3 --hidden-size 64 --num-attention-heads 4",
    );
    dialog.act(&format!("fetched:{HUB}"), MODEL);
    assert!(!Shown::of(&dialog).text().contains("on the Hub, "));
    let job = opened(dialog.act("apply", ""));
    assert!(job.contains(&(FieldId::num_layers, Value::Int(3))));
}

#[test]
fn a_model_that_a_text_only_names_can_be_asked_for() {
    let mut dialog = Dialog::new("import", ADDRESS);
    dialog.act(
        "text",
        "megatron sft --model acme/tiny --tensor_model_parallel_size 4",
    );
    let place = "ask-model:acme/tiny";
    assert!(Shown::of(&dialog).usable(place));
    let words = Shown::of(&dialog).text();
    assert!(
        words.contains(
            "for acme/tiny, of which nothing is known yet: Apply changes 1 setting of your job"
        ),
        "{words}"
    );
    assert_eq!(dialog.act(place, ""), Some(Effect::Fetch(HUB.to_owned())));
    dialog.act(&format!("fetched:{HUB}"), MODEL);
    let job = opened(dialog.act("apply", ""));
    assert!(job.contains(&(FieldId::num_layers, Value::Int(7))));
    assert!(job.contains(&(FieldId::tensor_model_parallel_size, Value::Int(4))));
    // A path is no name on the Hub.
    dialog.act(
        "file:run.sh",
        "megatron sft --model /data/models/tiny --tensor_model_parallel_size 4",
    );
    assert!(!Shown::of(&dialog).text().contains("https://huggingface.co"));
}

#[test]
fn five_megabytes_of_anything_are_a_short_report() {
    let mut dialog = Dialog::new("import", ADDRESS);
    for garbage in [
        "a: b\n".repeat(1_000_000),
        "x".repeat(6_000_000),
        "{\"a\":[".repeat(800_000),
    ] {
        dialog.act("file:garbage", &garbage);
        let shown = Shown::of(&dialog);
        assert!(!shown.usable("apply"));
        assert!(!shown.error().is_empty());
    }
    let many: String = (0..900).fold("--num-layers 2".to_owned(), |text, i| {
        format!("{text} --x{i} 1")
    });
    dialog.act("text", &many);
    let rows = all(&Shown::of(&dialog).0)
        .iter()
        .filter(|element| element.tag == "tr")
        .count();
    assert_eq!(rows, 401);
}

#[test]
fn every_format_is_shown_and_can_be_kept() {
    let mut dialog = Dialog::new("export", ADDRESS);
    let formats: Vec<String> = {
        let shown = Shown::of(&dialog);
        let menu = shown.at("format").unwrap();
        let options = all(&menu.children)
            .into_iter()
            .filter(|element| element.tag == "option");
        options
            .map(|option| attribute(option, "value").unwrap().to_owned())
            .collect()
    };
    assert!(formats.len() >= 15, "{formats:?}");
    let mut names = Vec::new();
    for format in &formats {
        assert_eq!(dialog.act("format", format), None);
        let shown = Shown::of(&dialog);
        assert_eq!(shown.error(), "", "{format}");
        let Some(Effect::Copy(copied)) = dialog.act("copy", "") else {
            panic!("{format} cannot be copied");
        };
        let Some(Effect::Download { name, text }) = dialog.act("download", "") else {
            panic!("{format} cannot be saved");
        };
        assert_eq!(text, copied);
        assert!(name.starts_with("llama3-8b"), "{name}");
        let is_picture = format.starts_with("svg:");
        assert_eq!(shown.at("picture").is_some(), is_picture, "{format}");
        assert_eq!(text.starts_with("<svg"), is_picture, "{format}");
        if is_picture {
            let Some(Effect::Picture { name, .. }) = dialog.act("picture", "") else {
                panic!("{format} has no pixels");
            };
            assert_eq!(name.rsplit('.').next(), Some("png"));
        }
        names.push(name);
    }
    assert!(names.contains(&"llama3-8b.sh".to_owned()), "{names:?}");
}

#[test]
fn the_colors_of_the_ranks_are_chosen() {
    let link = "https://calculator.example/#v1;m=llama3-8b@1;tp=2;pp=4;gpus=16";
    let mut dialog = Dialog::new("export", link);
    assert!(Shown::of(&dialog).at("color").is_none());
    dialog.act("format", "svg:rank_map");
    let mut copied = |color| {
        dialog.act("color", color);
        match dialog.act("copy", "") {
            Some(Effect::Copy(text)) => text,
            _ => panic!("there is a picture"),
        }
    };
    assert!(copied("stage").contains("stage 3, 4 ranks"));
    assert!(copied("memory").contains("GiB, 4 ranks"));
}

#[test]
fn a_module_is_chosen_where_a_format_knows_only_one() {
    let link =
        "#v1;L=4;h=512;nq=8;seq=2048;mpos=2048;v=1000;gpus=8;mod=language:0,vision:4;vision.L=2";
    let mut dialog = Dialog::new("export", &format!("https://calculator.example/{link}"));
    let shown = Shown::of(&dialog);
    assert!(
        shown.error().contains("language and vision"),
        "{}",
        shown.error()
    );
    assert!(!shown.usable("copy"));
    dialog.act("module", "vision");
    let Some(Effect::Copy(flags)) = dialog.act("copy", "") else {
        panic!("there are flags of one module");
    };
    assert!(
        flags.contains("\n# Only vision, one of 2 modules.\n") && flags.contains("--num-layers 2"),
        "{flags}"
    );
    dialog.act("format", "json");
    assert!(Shown::of(&dialog).at("module").is_none());
}

#[test]
fn a_job_with_problems_says_so_in_place_of_a_table() {
    let mut dialog = Dialog::new(
        "export",
        "https://calculator.example/#v1;m=llama3-8b@1;tp=3",
    );
    let shown = Shown::of(&dialog);
    assert_eq!(shown.error(), "");
    assert!(
        shown
            .text()
            .contains("Megatron refuses this job as it is:\n"),
        "{}",
        shown.text()
    );
    dialog.act("format", "csv");
    let shown = Shown::of(&dialog);
    assert!(!shown.text().contains("refuses"));
    assert!(!shown.error().is_empty() && !shown.usable("copy"));
    assert_eq!(dialog.act("copy", ""), None);
}

/// The address of a first visit holds nothing, and yet the page shows a job.
#[test]
fn what_a_first_visit_shows_can_be_exported() {
    let mut dialog = Dialog::new("export", "https://calculator.example/");
    let text = Shown::of(&dialog).text();
    assert!(text.contains("--num-experts 256"), "{text}");
    assert_eq!(dialog.act("format", "link"), None);
    let text = Shown::of(&dialog).text();
    assert!(text.contains("#v1;m=deepseek-v3@2"), "{text}");
}
