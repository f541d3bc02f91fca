//! The dialogs for import and export in the built page, and the API's example page.

use serde_json::json;

use super::page::Page;

const LLAMA: &str = "v1;m=llama3-8b@1;tp=2";
const DIALOG: &str = "dialog.modal";
const TOTAL: &str = "[data-testid=total]";

const CONFIG: &str = r#"{"model_type": "qwen3", "num_hidden_layers": 12, "hidden_size": 1024, "num_attention_heads": 16,
    "num_key_value_heads": 8, "intermediate_size": 4096, "vocab_size": 32000, "frobnicate": 1}"#;

/// The page with one of its dialogs open.
fn open(kind: &str) -> Page {
    let page = Page::open(LLAMA);
    page.until(&format!("document.querySelector('{TOTAL}').innerText"));
    show(&page, kind);
    page
}

fn show(page: &Page, kind: &str) {
    page.click(&format!("[data-testid={kind}]"));
    page.until(&format!("document.querySelector('{DIALOG}[open] h2')"));
}

/// Puts text into a control of the dialog, as pasting does.
fn put(page: &Page, place: &str, text: &str) {
    page.eval(&format!(
        "((control) => {{ control.focus(); control.select(); document.execCommand('insertText', false, {}); }})\
         (document.querySelector('{DIALOG} [name=\"{place}\"]'))",
        json!(text)
    ));
}

fn choose(page: &Page, place: &str, value: &str) {
    page.eval(&format!(
        "((menu) => {{ menu.value = '{value}'; menu.dispatchEvent(new Event('change', {{ bubbles: true }})); }})\
         (document.querySelector('{DIALOG} [name={place}]'))"
    ));
}

fn said(page: &Page) -> String {
    page.text(DIALOG)
}

/// Applies what was put in, once it is read.
fn apply(page: &Page) {
    page.until(&format!(
        "document.querySelector('{DIALOG} [name=apply][aria-disabled=false]')"
    ));
    page.click(&format!("{DIALOG} [name=apply]"));
    page.until(&format!("!document.querySelector('{DIALOG}').open"));
}

#[test]
fn a_model_is_imported_in_one_step_that_undo_takes_back() {
    let page = Page::open(LLAMA);
    page.until(&format!("document.querySelector('{TOTAL}').innerText"));
    page.requests();
    let before = page.text(TOTAL);
    let entries = page.eval("history.length").as_u64().unwrap();
    show(&page, "import");
    put(&page, "text", CONFIG);
    page.until(&format!("document.querySelector('{DIALOG} tbody tr')"));
    // The dialogs are part of the page, which starts a worker for texts of others and loads nothing else.
    let loaded = page.requests();
    assert!(
        matches!(loaded.as_slice(), [worker] if worker.starts_with("blob:")),
        "{loaded:?}"
    );
    let report = said(&page);
    assert!(report.contains("a model's config.json (Qwen3)"), "{report}");
    assert!(
        report.contains("num_hidden_layers") && report.contains("frobnicate"),
        "{report}"
    );
    apply(&page);
    page.until(&format!("document.querySelector('{TOTAL}').innerText !== '{before}'"));
    let fragment = page.fragment();
    assert!(fragment.contains("L=12") && fragment.contains("tp=2"), "{fragment}");
    assert_eq!(page.eval("history.length"), json!(entries + 1));
    page.click("[data-testid=undo]");
    page.until(&format!("document.querySelector('{TOTAL}').innerText === '{before}'"));
    assert_eq!(page.complaints(), Vec::<String>::new());
}

#[test]
fn a_pinned_job_stays_and_undo_brings_everything_back() {
    let pinned = "v1;m=llama3-8b@1;tp=2;vs;m=mistral-7b@1";
    let page = Page::open(pinned);
    page.until("document.querySelector('.compare dl')");
    let before = page.text(".compare");
    let undone = || {
        page.click("[data-testid=undo]");
        page.until(&format!("location.hash === '#{pinned}'"));
        assert_eq!(page.text(".compare"), before);
    };
    show(&page, "import");
    put(&page, "text", CONFIG);
    apply(&page);
    page.until("location.hash.includes('L=12')");
    assert!(page.fragment().ends_with(";vs;m=mistral-7b@1"), "{}", page.fragment());
    assert_ne!(page.text(".compare"), before);
    undone();
    // A link has a pinned job of its own.
    let other = "v1;m=qwen3-8b@1;vs;m=gemma-7b@1";
    show(&page, "import");
    put(&page, "text", &format!("#{other}"));
    apply(&page);
    page.until(&format!("location.hash === '#{other}'"));
    undone();
    assert_eq!(page.complaints(), Vec::<String>::new());
}

#[test]
fn a_job_of_several_modules_goes_out_and_comes_back() {
    let page = Page::open(LLAMA);
    page.choose_preset("qwen3.5-vl-27b");
    page.until("location.hash.includes('m=qwen')");
    show(&page, "export");
    choose(&page, "format", "json");
    page.until(&format!(
        "document.querySelector('{DIALOG} pre')?.innerText.startsWith('{{')"
    ));
    let file = page.text(&format!("{DIALOG} pre"));
    let (link, total) = (page.fragment(), page.text(TOTAL));

    let other = open("import");
    put(&other, "text", &file);
    other.until(&format!(
        "document.querySelector('{DIALOG} [name=apply][aria-disabled=false]')"
    ));
    apply(&other);
    other.until("document.querySelectorAll('.module').length === 2");
    assert_eq!(other.fragment(), link);
    assert_eq!(other.text(TOTAL), total);
    other.click("[data-testid=undo]");
    other.until(&format!("location.hash === '#{LLAMA}'"));
    assert_eq!(other.count(".module"), 0);
    assert_eq!(other.complaints(), Vec::<String>::new());
}

#[test]
fn a_script_asks_for_what_it_leaves_open() {
    let page = open("import");
    let script = "#!/bin/bash\nARGS=(\n  --num-layers 16\n  --hidden-size 2048 # --hidden-size 4096\n  --num-attention-heads 16\n\
        --seq-length 4096\n  --max-position-embeddings 4096\n  --vocab-size 32000\n  --tensor-model-parallel-size ${TP}\n  --bf16\n)\n\
        torchrun pretrain_gpt.py ${ARGS[@]}\n";
    put(&page, "text", script);
    page.until(&format!("document.querySelector('{DIALOG} [name=\"variable:TP\"]')"));
    put(&page, "variable:TP", "4");
    put(&page, "gpus", "lots");
    page.until(&format!(
        "document.querySelector('{DIALOG}').innerText.includes('A whole number')"
    ));
    put(&page, "gpus", "16");
    assert_eq!(page.value(&format!("{DIALOG} [name=\"variable:TP\"]")), "4");
    apply(&page);
    page.until("location.hash.includes('tp=4')");
    let fragment = page.fragment();
    assert!(fragment.contains("gpus=16") && fragment.contains("L=16"), "{fragment}");
    assert_eq!(page.complaints(), Vec::<String>::new());
}

const OPEN: &str = "torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 32 --hidden-size 4096 --num-attention-heads 32 \
    --seq-length 4096 --max-position-embeddings 4096 --vocab-size 32000 --bf16 --micro-batch-size $MBS --global-batch-size ${GBS}";

fn variable(name: &str) -> String {
    format!("{DIALOG} [name=\"variable:{name}\"]")
}

#[test]
fn a_variable_without_a_value_holds_apply_back() {
    let page = open("import");
    put(&page, "text", OPEN);
    page.until(&format!("document.querySelector('{}')", variable("GBS")));
    put(&page, "variable:MBS", "2");
    let apply = format!("document.querySelector('{DIALOG} [name=apply]')");
    let why = format!("document.getElementById({apply}.getAttribute('aria-describedby'))?.innerText");
    page.until(&format!("{why} === 'Apply waits for $GBS.'"));
    page.click(&format!("{DIALOG} [name=apply]"));
    // The reader is taken to what it waits for.
    page.until("document.activeElement.name === 'variable:GBS'");
    assert_eq!(
        page.eval("document.activeElement.getAttribute('aria-invalid')"),
        json!("true")
    );
    assert_eq!(page.fragment(), LLAMA);
    put(&page, "variable:GBS", "64");
    page.until(&format!("{apply}.getAttribute('aria-disabled') === 'false'"));
    apply_now(&page, "gbs=64");
    assert_eq!(page.complaints(), Vec::<String>::new());
}

fn apply_now(page: &Page, token: &str) {
    apply(page);
    page.until(&format!("location.hash.includes('{token}')"));
}

#[test]
fn what_was_typed_is_there_again_after_escape() {
    let page = open("import");
    put(&page, "text", OPEN);
    page.until(&format!("document.querySelector('{}')", variable("MBS")));
    put(&page, "variable:GBS", "48");
    assert_eq!(page.eval("document.activeElement.name"), json!("variable:GBS"));
    put(&page, "variable:MBS", "2");
    page.press("\u{E00C}");
    page.until(&format!("!document.querySelector('{DIALOG}').open"));
    // Another dialog in between changes nothing.
    show(&page, "export");
    page.click(&format!("{DIALOG} [name=close]"));
    page.fill("#field-cp", "4");
    show(&page, "import");
    assert_eq!(page.value(&format!("{DIALOG} [name=text]")), OPEN);
    assert_eq!(page.value(&variable("MBS")), "2");
    assert_eq!(page.value(&variable("GBS")), "48");
    put(&page, "variable:MBS", "3");
    apply_now(&page, "gbs=48");
    assert!(page.fragment().contains("mbs=3"), "{}", page.fragment());
    // What is pasted takes its place.
    show(&page, "import");
    page.eval("(document.execCommand('insertText', false, '--micro-batch-size 4'), 0)");
    page.until(&format!(
        "document.querySelector('{DIALOG}').innerText.includes('changes 1 setting')"
    ));
    assert_eq!(page.value(&format!("{DIALOG} [name=text]")), "--micro-batch-size 4");
    assert_eq!(page.complaints(), Vec::<String>::new());
}

#[test]
fn a_file_dropped_on_another_dialog_is_imported() {
    let page = open("export");
    page.eval(&format!(
        "(() => {{ const data = new DataTransfer(); data.items.add(new File([{}], 'config.json'));
            document.body.dispatchEvent(new DragEvent('drop', {{ dataTransfer: data, bubbles: true, cancelable: true }})); }})()",
        json!(CONFIG)
    ));
    page.until(&format!("document.querySelector('{DIALOG} tbody tr')"));
    apply_now(&page, "L=12");
    assert_eq!(page.complaints(), Vec::<String>::new());
}

#[test]
fn a_snippet_changes_the_job_that_is_there() {
    let page = open("import");
    let snippet = "model.tensor_model_parallel_size=4 model.context_parallel_size=1 train.micro_batch_size=2";
    put(&page, "text", snippet);
    page.until(&format!(
        "document.querySelector('{DIALOG}').innerText.includes('changes 3 settings of your job')"
    ));
    apply_now(&page, "tp=4");
    let fragment = page.fragment();
    assert!(
        fragment.starts_with("v1;m=llama3-8b@1;") && fragment.contains("mbs=2"),
        "{fragment}"
    );
    assert_eq!(page.count(".field-invalid"), 0);
    assert_eq!(page.complaints(), Vec::<String>::new());
}

/// Qwen3-235B-A22B's, without what decides nothing here.
const QWEN: &str = r#"{"model_type": "qwen3_moe", "num_hidden_layers": 94, "hidden_size": 4096, "num_attention_heads": 64,
    "num_key_value_heads": 4, "head_dim": 128, "intermediate_size": 12288, "moe_intermediate_size": 1536, "num_experts": 128,
    "num_experts_per_tok": 8, "vocab_size": 151936, "tie_word_embeddings": false, "torch_dtype": "bfloat16"}"#;

#[test]
fn another_model_takes_the_place_of_the_first_one_without_problems() {
    let page = Page::open("");
    page.until(&format!("document.querySelector('{TOTAL}').innerText"));
    show(&page, "import");
    put(&page, "text", QWEN);
    page.until(&format!(
        "document.querySelector('{DIALOG}').innerText.includes('settings that cannot apply')"
    ));
    let report = said(&page);
    assert!(
        report.contains("pipeline_model_parallel_layout") && report.contains("recompute_modules"),
        "{report}"
    );
    apply_now(&page, "L=94");
    page.until(&format!("document.querySelector('{TOTAL}').innerText"));
    assert!(page.fragment().contains("pp=16"), "{}", page.fragment());
    assert_eq!(page.count(".field-invalid"), 0);
    assert_eq!(page.complaints(), Vec::<String>::new());
}

#[test]
fn the_problems_of_a_job_stand_beside_its_export() {
    let page = Page::open("v1;m=llama3-8b@1;tp=3");
    show(&page, "export");
    let words = said(&page);
    assert!(words.contains("Megatron refuses this job as it is:"), "{words}");
    assert!(
        page.text(&format!("{DIALOG} pre"))
            .contains("# Cannot run: Megatron refuses this job as it is:\n# - ")
    );
    assert!(page.shows(&format!("{DIALOG} .modal-error li")));
    assert_eq!(page.complaints(), Vec::<String>::new());
}

#[test]
fn garbage_is_refused_beside_the_text_that_stays() {
    let page = open("import");
    let garbage = "<script>document.title = 'taken'</script><img src=x onerror=alert(1)>";
    put(&page, "text", garbage);
    page.until(&format!("document.querySelector('{DIALOG} [role=alert]').innerText"));
    assert!(said(&page).contains("This is neither"), "{}", said(&page));
    assert_eq!(page.value(&format!("{DIALOG} [name=text]")), garbage);
    assert_eq!(page.count(&format!("{DIALOG} [name=apply][aria-disabled=true]")), 1);
    // It says what it waits for, and leads there.
    page.click(&format!("{DIALOG} [name=apply]"));
    page.until("document.activeElement.name === 'text'");
    assert_eq!(page.text("#apply-waits"), "Apply waits for a text that can be read.");
    // The same in a key that the report shows.
    put(
        &page,
        "text",
        "--num-layers 4 --<b>x</b> '<img src=x onerror=alert(1)>'",
    );
    page.until(&format!("document.querySelector('{DIALOG} tbody tr')"));
    assert_eq!(page.count(&format!("{DIALOG} :is(b, img, script)")), 0);
    page.press("\u{E00C}");
    page.until(&format!("!document.querySelector('{DIALOG}').open"));
    assert_eq!(page.fragment(), LLAMA);
    assert_eq!(page.complaints(), Vec::<String>::new());
}

#[test]
fn five_megabytes_of_garbage_are_dropped_and_refused() {
    let page = open("import");
    for (garbage, refusal) in [
        ("'x'.repeat(6e6)", "larger than 5000 kB"),
        ("'x'.repeat(5e6)", "This is neither"),
        ("'model:\\n' + '  a: b\\n'.repeat(7e5)", "larger than 400 kB"),
        ("'{\"num_layers\":['.repeat(3e5)", "more than 64 levels"),
    ] {
        page.eval(&format!(
            "(() => {{ const data = new DataTransfer(); data.items.add(new File([{garbage}], 'garbage.txt'));
                document.body.dispatchEvent(new DragEvent('drop', {{ dataTransfer: data, bubbles: true, cancelable: true }})); }})()"
        ));
        page.until(&format!(
            "document.querySelector('{DIALOG}').innerText.includes('Read from garbage.txt')"
        ));
        page.until(&format!(
            "document.querySelector('{DIALOG}').innerText.includes('{refusal}')"
        ));
        assert_eq!(page.count(&format!("{DIALOG} [name=apply][aria-disabled=true]")), 1);
        page.click(&format!("{DIALOG} [name=forget]"));
        page.until(&format!(
            "!document.querySelector('{DIALOG}').innerText.includes('garbage.txt')"
        ));
    }
    assert_eq!(page.complaints(), Vec::<String>::new());
}

/// A text that takes long is read beside the page, which says so, goes on, and offers to stop.
#[test]
fn a_text_that_takes_long_can_be_stopped_and_holds_nothing_up() {
    let page = Page::blank();
    // A worker that never answers.
    page.before_load("window.Worker = class { postMessage() {} terminate() { window.stopped = true; } };");
    page.load(LLAMA);
    show(&page, "import");
    page.eval(
        "(() => { const data = new DataTransfer(); data.items.add(new File(['--num-layers 4\\n'.repeat(3e5)], 'long.sh'));
            document.body.dispatchEvent(new DragEvent('drop', { dataTransfer: data, bubbles: true, cancelable: true })); })()",
    );
    page.until(&format!("document.querySelector('{DIALOG} [name=stop-reading]')"));
    assert_eq!(page.text("#apply-waits"), "Apply waits for the text to be read.");
    page.type_keys(&format!("{DIALOG} [name=hub]"), "acme/tiny");
    page.until(&format!(
        "document.querySelector('{DIALOG}').innerText.includes('huggingface.co/acme/tiny')"
    ));
    assert_eq!(page.barriers(), Vec::<String>::new());
    page.click(&format!("{DIALOG} [name=stop-reading]"));
    page.until(&format!(
        "document.querySelector('{DIALOG} [role=alert]').innerText.startsWith('Reading was stopped.')"
    ));
    assert_eq!(page.count(&format!("{DIALOG} [name=stop-reading]")), 0);
    // A link takes no worker.
    page.click(&format!("{DIALOG} [name=forget]"));
    put(&page, "text", "#v1;m=qwen3-8b@1");
    apply_now(&page, "m=qwen3-8b");
    assert_eq!(page.complaints(), Vec::<String>::new());
}

#[test]
fn a_dropped_file_opens_the_dialog() {
    let page = Page::open(LLAMA);
    page.eval(&format!(
        "(() => {{ const data = new DataTransfer(); data.items.add(new File([{}], 'config.json'));
            document.body.dispatchEvent(new DragEvent('drop', {{ dataTransfer: data, bubbles: true, cancelable: true }})); }})()",
        json!(CONFIG)
    ));
    page.until(&format!("document.querySelector('{DIALOG} tbody tr')"));
    assert!(said(&page).contains("Read from config.json"), "{}", said(&page));
}

const HUB: &str = "https://huggingface.co/acme/tiny/raw/main/config.json";

/// Puts a function in the place of the browser's `fetch`, which notes what it is asked.
fn stub(page: &Page, answer: &str) {
    page.eval(&format!(
        "(window.asked = [], window.fetch = async (request) => {{ asked.push(request); {answer} }}, 0)"
    ));
}

#[test]
fn the_hub_is_asked_for_a_model_by_a_button_and_by_nothing_else() {
    let page = open("import");
    stub(&page, &format!("return new Response({});", json!(CONFIG)));
    page.requests();
    put(&page, "hub", "acme/tiny");
    page.until(&format!("document.querySelector('{DIALOG} .modal-hub code')"));
    assert_eq!(page.text(&format!("{DIALOG} .modal-hub code")), HUB);
    assert_eq!(page.eval("asked.length"), json!(0));
    assert_eq!(page.requests(), Vec::<String>::new());
    page.click(&format!("{DIALOG} [name=ask-hub]"));
    page.until(&format!("document.querySelector('{DIALOG} tbody tr')"));
    assert!(
        said(&page).contains("Read from acme/tiny on the Hub"),
        "{}",
        said(&page)
    );
    assert_eq!(
        page.eval("asked.map(({ url, credentials, referrerPolicy }) => [url, credentials, referrerPolicy])"),
        json!([[HUB, "omit", "no-referrer"]])
    );
    apply(&page);
    page.until("location.hash.includes('L=12')");
    assert_eq!(page.complaints(), Vec::<String>::new());
}

#[test]
fn a_hub_that_does_not_answer_is_named_with_what_works_instead() {
    let page = open("import");
    put(&page, "hub", "acme/tiny");
    for (answer, words) in [
        (
            "return new Response('', { status: 401 });",
            "no public model of this name",
        ),
        ("throw new TypeError('Failed to fetch');", "no answer came"),
    ] {
        stub(&page, answer);
        page.click(&format!("{DIALOG} [name=ask-hub]"));
        page.until(&format!(
            "document.querySelector('{DIALOG} [role=alert]').innerText.includes('{words}')"
        ));
        let told = page.text(&format!("{DIALOG} [role=alert]"));
        assert!(told.contains(HUB) && told.contains("works instead"), "{told}");
    }
    // An answer for a dialog that is closed.
    stub(
        &page,
        "return new Promise((done) => { window.late = () => done(new Response('{}')); });",
    );
    page.click(&format!("{DIALOG} [name=ask-hub]"));
    page.click(&format!("{DIALOG} [name=close]"));
    page.eval("(late(), 0)");
    show(&page, "import");
    assert_eq!(page.complaints(), Vec::<String>::new());
}

/// The page's policy lets it ask the Hub, and no other place.
#[test]
fn no_other_place_than_the_hub_can_be_asked() {
    let page = Page::open(LLAMA);
    page.block(&["https://huggingface.co/*", "https://example.org/*"]);
    page.eval("(window.refused = [], addEventListener('securitypolicyviolation', ({ blockedURI }) => refused.push(blockedURI)), 0)");
    page.eval(
        "Promise.allSettled([fetch('https://huggingface.co/x'), fetch('https://example.org/x'), fetch('https://cdn.huggingface.co/x')]).then(() => 0)",
    );
    page.until("refused.length >= 2");
    let refused = page.eval("[...new Set(refused)].sort()");
    assert_eq!(
        refused,
        json!(["https://cdn.huggingface.co/x", "https://example.org/x"])
    );
}

#[test]
fn a_text_that_is_pasted_on_the_page_opens_the_dialog() {
    let page = Page::open(LLAMA);
    let paste = |target: &str| {
        page.eval(&format!(
            "(() => {{ const data = new DataTransfer(); data.setData('text', {});
                document.querySelector('{target}').dispatchEvent(new ClipboardEvent('paste', {{ clipboardData: data, bubbles: true }})); }})()",
            json!(CONFIG)
        ))
    };
    // What is pasted into a field is the field's.
    paste("#field-tp");
    paste("body");
    page.until(&format!("document.querySelector('{DIALOG} tbody tr')"));
    assert!(said(&page).contains("Read from the clipboard"), "{}", said(&page));
    assert_eq!(page.count(&format!("{DIALOG} h2")), 1);
    page.press("\u{E00C}");
    page.until(&format!("!document.querySelector('{DIALOG}').open"));
    paste("#field-tp");
    assert_eq!(
        page.eval(&format!("document.querySelector('{DIALOG}').open")),
        json!(false)
    );
    assert_eq!(page.complaints(), Vec::<String>::new());
}

#[test]
fn every_export_is_there_and_comes_back() {
    let page = open("export");
    let before = page.text(TOTAL);
    page.eval(
        "(window.saved = [], HTMLAnchorElement.prototype.click = function () { if (this.download) saved.push([this.download, this.href]); }, 0)",
    );
    let formats = page.eval(&format!(
        "[...document.querySelectorAll('{DIALOG} [name=format] option')].map((option) => option.value)"
    ));
    let formats: Vec<&str> = formats
        .as_array()
        .unwrap()
        .iter()
        .map(|f| f.as_str().unwrap())
        .collect();
    assert!(formats.len() >= 15, "{formats:?}");
    for format in &formats {
        choose(&page, "format", format);
        page.until(&format!("document.querySelector('{DIALOG} .modal-result > *')"));
        if format.starts_with("svg:") {
            page.until(&format!("document.querySelector('{DIALOG} img')?.naturalWidth > 100"));
        } else {
            assert!(!page.text(&format!("{DIALOG} pre")).is_empty(), "{format}");
        }
        assert!(!page.shows(&format!("{DIALOG} .modal-error")), "{format}");
    }
    // The last one is a picture.
    page.click(&format!("{DIALOG} [name=picture]"));
    page.until("saved.length === 1");
    let png = page.eval(
        "(async () => { const picture = new Image(); picture.src = saved[0][1]; await picture.decode(); return [saved[0][0], picture.naturalWidth]; })()",
    );
    assert_eq!(png[0].as_str().unwrap().rsplit('.').next(), Some("png"));
    assert_eq!(png[1], 1440, "{png}");
    choose(&page, "format", "json");
    page.click(&format!("{DIALOG} [name=download]"));
    page.until("saved.length === 2");
    assert_eq!(page.eval("saved[1][0]"), "llama3-8b.json");
    page.click(&format!("{DIALOG} [name=copy]"));
    page.until(&format!(
        "document.querySelector('{DIALOG} .modal-actions [role=status]').innerText"
    ));
    let file = page.text(&format!("{DIALOG} pre"));
    page.click(&format!("{DIALOG} [name=close]"));

    let other = Page::open("v1;m=mistral-7b@1");
    show(&other, "import");
    put(&other, "text", &file);
    other.until(&format!(
        "document.querySelector('{DIALOG} [name=apply][aria-disabled=false]')"
    ));
    apply(&other);
    other.until(&format!("document.querySelector('{TOTAL}').innerText === '{before}'"));
    assert_eq!(other.fragment(), LLAMA);
    assert_eq!(page.complaints(), Vec::<String>::new());
}

#[test]
fn what_was_typed_last_is_exported() {
    let page = Page::open(LLAMA);
    page.until(&format!("document.querySelector('{TOTAL}').innerText"));
    page.fill("#field-tp", "4");
    show(&page, "export");
    assert!(
        page.text(&format!("{DIALOG} pre"))
            .contains("--tensor-model-parallel-size 4")
    );
}

#[test]
fn the_dialogs_have_no_barriers() {
    for kind in ["import", "export"] {
        let page = open(kind);
        if kind == "import" {
            put(&page, "text", CONFIG);
            page.until(&format!("document.querySelector('{DIALOG} tbody tr')"));
            put(&page, "hub", "acme/tiny");
            page.until(&format!("document.querySelector('{DIALOG} .modal-hub')"));
        }
        assert_eq!(page.barriers(), Vec::<String>::new(), "{kind}");
        if kind == "import" {
            put(&page, "text", OPEN);
            page.until(&format!("document.querySelector('{}')", variable("GBS")));
            assert_eq!(page.barriers(), Vec::<String>::new(), "open variables");
        }
    }
}

#[test]
fn the_example_of_the_api_runs() {
    let page = Page::blank();
    page.visit(&Page::address("api/example.html"));
    page.until("document.getElementById('answer').value.includes('GiB on stage 0')");
    page.until("document.getElementById('picture').naturalWidth > 100");
    assert_eq!(
        page.eval("document.getElementById('link').getAttribute('href').slice(0, 7)"),
        "../#v1;"
    );
    page.fill("#gpus", "many");
    page.until("document.getElementById('answer').value.includes('gpus must be')");
    assert_eq!(page.complaints(), Vec::<String>::new());
}

/// The log of a run: the arguments that Megatron-LM prints, and what two ranks measured after the first iteration.
fn log_with_memory() -> String {
    let arguments = [
        ("num_layers", "32"),
        ("hidden_size", "4096"),
        ("ffn_hidden_size", "14336"),
        ("num_attention_heads", "32"),
        ("num_query_groups", "8"),
        ("group_query_attention", "True"),
        ("seq_length", "4096"),
        ("max_position_embeddings", "4096"),
        ("micro_batch_size", "1"),
        ("global_batch_size", "64"),
        ("tensor_model_parallel_size", "2"),
        ("pipeline_model_parallel_size", "2"),
        ("world_size", "8"),
        ("bf16", "True"),
        ("padded_vocab_size", "128256"),
        ("use_distributed_optimizer", "True"),
        ("swiglu", "True"),
        ("normalization", "RMSNorm"),
    ];
    let arguments = arguments.map(|(name, value)| format!("  {name} {} {value}\n", ".".repeat(48 - name.len())));
    let memory = [0, 4].map(|rank| {
        format!("[Rank {rank}] (after 1 iterations) memory (MB) | allocated: 17783.28 | max allocated: 21000.50\n")
    });
    format!(
        "------------------------ arguments ------------------------\n{}\
         -------------------- end of arguments ---------------------\n{}",
        arguments.concat(),
        memory.concat()
    )
}

/// One paste: the log's job is on the page, and what it measured stands beside the estimate of the same moment.
#[test]
fn a_log_with_memory_becomes_the_job_and_the_comparison_beside_it() {
    let page = Page::open("");
    page.click("[data-testid=import]");
    page.until(&format!("document.querySelector('{DIALOG}[open] [name=text]')"));
    put(&page, "text", &log_with_memory());
    page.until(&format!(
        "document.querySelector('{DIALOG} .modal-format').innerText.includes('training log')"
    ));
    page.click(&format!("{DIALOG} [name=apply]"));
    page.until("document.querySelectorAll('.measured tbody tr').length === 2");
    page.until("document.activeElement.id === 'measured-title'");
    assert!(
        page.text("[data-testid=log-moment]")
            .contains("after the first iteration")
    );
    assert!(
        page.fragment().contains("L=32") && page.fragment().contains("tab=compare"),
        "{}",
        page.fragment()
    );
    // The one thing that the log leaves open, and what is predicted follows the answer.
    let predicted = "document.querySelector('.measured tbody tr').innerText";
    let before = page.eval(predicted);
    assert_eq!(page.value("[name=log-software]"), "megatron_main");
    page.run(
        "const menu = document.querySelector('[name=log-software]'); \
         menu.value = 'megatron_lm_2023'; \
         menu.dispatchEvent(new Event('change', { bubbles: true }));",
    );
    page.until(&format!("{predicted} !== {before}"));
    page.click("[data-testid=undo]");
    page.until(&format!("{predicted} === {before}"));
    assert_eq!(page.complaints(), Vec::<String>::new());
}
