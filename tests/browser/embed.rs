//! The calculator inside of other pages: as a plain frame, and as `<megatron-memory>`.

use serde_json::{Value, json};

use super::page::Page;
use super::site::Site;

const LLAMA: &str = "#v1;m=llama3-8b@1";
const SHARDED: &str = "#v1;m=llama3-8b@1;tp=2";

/// The frame of the first element.
const FRAME: &str = "document.querySelector('megatron-memory').shadowRoot?.querySelector('iframe')";

/// What the page itself shows for a link.
fn total_on_the_page(hash: &str) -> String {
    let page = Page::open(hash.trim_start_matches('#'));
    page.until("document.querySelector('[data-testid=total]').innerText");
    page.text("[data-testid=total]")
}

/// A page with elements, on the calculator's own origin or on another.
struct Embedded {
    page: Page,
    calculator: Site,
}

impl Embedded {
    fn open(elements: &str) -> Self {
        let calculator = Site::new("");
        let script = format!(
            "<script src='{0}embed.js'></script><script src='{0}embed.js'></script>",
            calculator.calculator()
        );
        let page = Page::blank();
        page.visit(&Site::new(format!("{script}<body>{elements}")).address);
        Self { page, calculator }
    }

    fn llama() -> Self {
        let embedded = Self::open(&format!(
            "<megatron-memory config='{LLAMA}'>until then</megatron-memory>"
        ));
        embedded.page.eval(
            "(window.changes = [], document.querySelector('megatron-memory').addEventListener('change', (e) => changes.push(e.detail)), 0)",
        );
        embedded.loaded();
        embedded
    }

    /// Waits until the first element shows a result.
    fn loaded(&self) {
        self.page.until(&format!("{FRAME}?.clientHeight > 100"));
        self.until_inside("document.querySelector('[data-testid=total]')");
    }

    /// The value of an expression within the first frame.
    fn inside(&self, expression: &str) -> Value {
        self.page.enter(FRAME);
        let value = self.page.eval(expression);
        self.page.leave();
        value
    }

    fn until_inside(&self, expression: &str) {
        self.page.enter(FRAME);
        self.page.until(expression);
        self.page.leave();
    }
}

const TOTAL: &str = "document.querySelector('[data-testid=total]').innerText";

#[test]
fn a_sandboxed_frame_without_storage_shows_the_number_of_the_page() {
    let site = Site::new("");
    let frame = format!(
        "<iframe sandbox=allow-scripts width=700 height=400 src='{}embed.html?view=bar{LLAMA}'></iframe>",
        site.calculator()
    );
    let page = Page::blank();
    page.visit(&Site::new(frame).address);
    page.enter("document.querySelector('iframe')");
    page.until("document.querySelector('[data-testid=total]')?.innerText");
    assert_eq!(page.text("[data-testid=total]"), total_on_the_page(LLAMA));
    let storage = "(() => { try { localStorage; return 'allowed'; } catch (error) { return error.name; } })()";
    assert_eq!(page.eval(storage), "SecurityError");
    assert!(
        page.eval("document.querySelector('.embed-foot a').href")
            .as_str()
            .unwrap()
            .ends_with(&format!("/calculator/{LLAMA}"))
    );
}

#[test]
fn a_frame_without_an_origin_says_that_the_server_does_not_let_it_load() {
    let calculator = Site::without_cors();
    let frame = format!(
        "<iframe sandbox=allow-scripts width=700 height=400 src='{}embed.html?view=bar{LLAMA}'></iframe>",
        calculator.calculator()
    );
    let page = Page::blank();
    page.visit(&Site::new(frame).address);
    page.enter("document.querySelector('iframe')");
    page.until("document.getElementById('recover')?.checkVisibility()");
    let said = page.text("#recover");
    assert!(said.contains("Access-Control-Allow-Origin"), "{said}");
    let top = page.eval("document.getElementById('recover').getBoundingClientRect().top");
    assert!(top.as_f64() < Some(20.0), "{top}");
}

#[test]
fn nothing_is_loaded_before_the_element_is_near() {
    let far = "<div style='height: 4000px'></div>";
    let embedded = Embedded::open(&format!(
        "{far}<megatron-memory config='{LLAMA}' view=bar>a picture</megatron-memory>"
    ));
    std::thread::sleep(std::time::Duration::from_millis(500));
    assert_eq!(embedded.calculator.requests(), ["/calculator/embed.js"]);
    embedded.page.eval("scrollTo(0, 3500)");
    embedded.loaded();
    let files = [
        "embed.html",
        "embed.js",
        "frame.js",
        "light-embed-parts.js",
        "light-embed.css",
        "light-embed.js",
        "light-embed_bg.wasm",
        "loader.js",
    ];
    assert_eq!(
        embedded.calculator.requests(),
        files.map(|file| format!("/calculator/{file}"))
    );
}

/// How often the calculator itself is loaded by a page with ten elements.
fn downloads(page: &Page, calculator: &Site) -> [usize; 2] {
    page.eval("document.querySelectorAll('megatron-memory').forEach((e) => e.open())");
    page.until(
        "[...document.querySelectorAll('megatron-memory')].every((e) => e.shadowRoot?.querySelector('iframe')?.clientHeight > 100)",
    );
    let requests = calculator.requests();
    let count = |name: &str| requests.iter().filter(|path| path.ends_with(name)).count();
    [count(".wasm"), count("light-embed.js")]
}

#[test]
fn ten_on_one_page_share_one_download() {
    let ten = format!("<megatron-memory config='{LLAMA}' view=bar></megatron-memory>").repeat(10);
    let elsewhere = Embedded::open(&ten);
    assert_eq!(downloads(&elsewhere.page, &elsewhere.calculator), [1, 1]);
}

#[test]
fn ten_beside_their_calculator_share_one_download() {
    let ten = format!("<megatron-memory config='{LLAMA}' view=bar></megatron-memory>").repeat(10);
    let beside = Site::new(format!("<script src='/calculator/embed.js'></script>{ten}"));
    let page = Page::blank();
    page.visit(&beside.address);
    assert_eq!(downloads(&page, &beside), [1, 1]);
}

#[test]
fn the_element_is_as_high_as_its_content_and_follows_its_attributes() {
    let embedded = Embedded::llama();
    assert_eq!(embedded.inside(TOTAL), total_on_the_page(LLAMA));
    let same = |embedded: &Embedded| {
        // The content is drawn in several tasks, and the element follows it, from 120 px on.
        let height = || {
            embedded
                .inside("Math.ceil(document.body.getBoundingClientRect().height)")
                .as_u64()
                .unwrap()
        };
        let element = || embedded.page.eval(&format!("{FRAME}.clientHeight")).as_u64().unwrap();
        let start = std::time::Instant::now();
        while element() != height().max(120) {
            let (element, content) = (element(), height());
            assert!(
                start.elapsed().as_secs() < 20,
                "the element is {element} high, its content {content}"
            );
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
        height()
    };
    let before = same(&embedded);
    embedded.inside("document.body.append(Object.assign(document.createElement('div'), { style: 'height: 77px' }))");
    assert_eq!(same(&embedded), before + 77);

    embedded.page.eval(&format!(
        "document.querySelector('megatron-memory').setAttribute('config', '{SHARDED}')"
    ));
    embedded.page.until(&format!("changes.at(-1)?.hash === '{SHARDED}'"));
    assert_eq!(embedded.inside(TOTAL), total_on_the_page(SHARDED));
    let last = embedded.page.eval("changes.at(-1)");
    let stages = last["totals"]["stages"][0].as_array().unwrap();
    assert_eq!(
        stages.iter().max_by_key(|bytes| bytes.as_u64()).unwrap(),
        &last["totals"]["worst"]
    );
    assert_eq!(last["totals"]["valid"], true);
    assert_eq!(embedded.page.complaints(), Vec::<String>::new());
}

#[test]
fn typing_in_the_embed_is_told_to_the_host() {
    let embedded = Embedded::llama();
    embedded.page.enter(FRAME);
    embedded.page.fill("#field-tp", "2");
    embedded.page.leave();
    embedded.page.until(&format!("changes.at(-1)?.hash === '{SHARDED}'"));
    embedded.until_inside(&format!("document.querySelector('.embed-foot a').hash === '{SHARDED}'"));
}

#[test]
fn colors_follow_the_page_around() {
    let embedded = Embedded::llama();
    let shows = |theme: Value| {
        embedded.until_inside(&format!("(document.documentElement.dataset.theme ?? null) === {theme}"));
    };
    shows(json!(null));
    for (change, theme) in [
        ("document.documentElement.dataset.theme = 'dark'", json!("dark")),
        ("document.documentElement.dataset.theme = 'light'", json!("light")),
        ("delete document.documentElement.dataset.theme", json!(null)),
        (
            "document.documentElement.className = 'js navy sidebar-visible'",
            json!("dark"),
        ),
        ("document.documentElement.className = 'js rust'", json!("light")),
        ("document.documentElement.className = 'dark'", json!("dark")),
        ("document.documentElement.className = ''", json!(null)),
        ("document.body.dataset.mdColorScheme = 'slate'", json!("dark")),
        ("document.body.dataset.mdColorScheme = 'default'", json!("light")),
    ] {
        embedded.page.eval(change);
        shows(theme);
    }
    embedded.page.eval("delete document.body.dataset.mdColorScheme");
    shows(json!(null));
    let background = "getComputedStyle(document.documentElement).backgroundColor";
    let light = embedded.inside(background);
    embedded.page.media("prefers-color-scheme", "dark");
    embedded.until_inside(&format!("{background} !== {light}"));
}

#[test]
fn messages_from_elsewhere_and_of_other_shapes_change_nothing() {
    let embedded = Embedded::open(&format!(
        "<iframe id=stranger srcdoc='<p>'></iframe><megatron-memory config='{LLAMA}' view=bar></megatron-memory>"
    ));
    embedded.loaded();
    let (total, height) = (
        embedded.inside(TOTAL),
        embedded.page.eval(&format!("{FRAME}.clientHeight")),
    );
    // To the embed: from its parent in other shapes, and in the right shape from a stranger.
    for message in [
        "{ mm: 2, type: 'setConfig', hash: '#v1;m=gpt2@1' }",
        "{ type: 'setConfig', hash: '#v1;m=gpt2@1' }",
        "{ mm: 1, type: 'set-config', hash: '#v1;m=gpt2@1' }",
        "{ mm: 1, type: 'constructor' }",
        "{ mm: 1, type: '__proto__', hash: '#v1;m=gpt2@1' }",
        "{ mm: 1, type: ['setConfig'], hash: '#v1;m=gpt2@1' }",
        "{ mm: 1, type: 'setConfig', hash: 'v1;m=gpt2@1' }",
        "{ mm: 1, type: 'setConfig', hash: 'javascript:alert(1)' }",
        "{ mm: 1, type: 'setConfig', hash: '/elsewhere#v1;m=gpt2@1' }",
        "{ mm: 1, type: 'setConfig', hash: ['#v1;m=gpt2@1'] }",
        "{ mm: 1, type: 'setConfig', hash: '#' + 'x'.repeat(9000) }",
        "{ mm: 1, type: 'setTheme', theme: '<b>' }",
        "'{\"mm\":1,\"type\":\"setConfig\",\"hash\":\"#v1;m=gpt2@1\"}'",
        "null",
        "[1]",
    ] {
        embedded
            .page
            .eval(&format!("{FRAME}.contentWindow.postMessage({message}, '*')"));
    }
    let stranger = "document.getElementById('stranger').contentWindow";
    embedded.page.eval(&format!(
        "(() => {{ const script = {stranger}.document.createElement('script'); \
         script.textContent = `window.say = (to, what) => to.postMessage(what, '*')`; \
         {stranger}.document.body.append(script); }})()"
    ));
    embedded.page.eval(&format!(
        "{stranger}.say({FRAME}.contentWindow, {{ mm: 1, type: 'setConfig', hash: '#v1;m=gpt2@1' }})"
    ));
    // To the host: the right shape from a stranger.
    embedded.page.eval(&format!(
        "{stranger}.say(window, {{ mm: 1, type: 'resize', height: 3000 }})"
    ));
    embedded.page.eval(&format!(
        "{stranger}.say(window, {{ mm: 1, type: 'error', message: '<img>' }})"
    ));
    std::thread::sleep(std::time::Duration::from_millis(300));
    assert_eq!(embedded.inside(TOTAL), total);
    assert_eq!(embedded.inside("location.hash"), LLAMA);
    assert_eq!(embedded.page.eval(&format!("{FRAME}.clientHeight")), height);

    // From the embed itself, were it taken over: no more than a height within limits.
    for (height, becomes) in [("1e9", 4000), ("-5", 120), ("'<b>'", 120), ("NaN", 120)] {
        embedded.inside(&format!(
            "parent.postMessage({{ mm: 1, type: 'resize', height: {height} }}, '*')"
        ));
        embedded.page.until(&format!("{FRAME}.clientHeight === {becomes}"));
    }
    assert_eq!(embedded.page.count("img"), 0);
}

#[test]
fn swapped_pages_leave_nothing_behind_and_start_afresh() {
    let embedded = Embedded::llama();
    let swapped = embedded.page.eval(
        "(() => { const old = document.querySelector('megatron-memory'); const next = old.cloneNode(true); \
         old.replaceWith(next); return [old.frame === undefined, old.listening.signal.aborted]; })()",
    );
    assert_eq!(swapped, json!([true, true]));
    embedded.loaded();
    assert_eq!(embedded.inside(TOTAL), total_on_the_page(LLAMA));
}

#[test]
fn an_isolated_element_has_no_storage_and_the_same_number() {
    let embedded = Embedded::open(&format!(
        "<megatron-memory isolated config='{LLAMA}'></megatron-memory>"
    ));
    embedded.loaded();
    let storage = "(() => { try { localStorage; return 'allowed'; } catch (error) { return error.name; } })()";
    assert_eq!(embedded.inside(storage), "SecurityError");
    assert_eq!(embedded.inside(TOTAL), total_on_the_page(LLAMA));
}

#[test]
fn until_the_calculator_is_there_the_children_show() {
    let embedded = Embedded::open(&format!(
        "<megatron-memory src=/nowhere/ config='{LLAMA}'><p>a picture</p></megatron-memory>"
    ));
    embedded.page.until(FRAME);
    std::thread::sleep(std::time::Duration::from_millis(500));
    assert!(embedded.page.shows("megatron-memory p"));
    assert_eq!(embedded.page.eval(&format!("{FRAME}.clientHeight")), 0);
}

#[test]
fn only_the_named_fields_are_inputs_and_readonly_has_none() {
    let site = Site::new("");
    let page = Page::blank();
    let inputs = |query: &str| {
        page.visit(&format!("{}embed.html?{query}{LLAMA}", site.calculator()));
        page.until("document.querySelector('[data-testid=total]')?.innerText");
        page.eval("[...document.querySelectorAll('input, select')].map((input) => input.id)")
    };
    assert_eq!(inputs("view=compact&fields=tp,pp"), json!(["field-tp", "field-pp"]));
    assert_eq!(page.text("[data-field=mbs]"), "1");
    assert_eq!(inputs("view=bar"), json!([]));
    assert_eq!(inputs("view=compact&fields=tp&readonly=1"), json!([]));
    assert_eq!(page.text("[data-field=tp]"), "1");
    assert!(inputs("view=full").as_array().unwrap().len() > 8);
    for view in ["full", "compact", "bar", "table", "timeline", "sweep"] {
        inputs(&format!("view={view}"));
        assert!(page.shows(".embed-foot a"), "{view}");
        assert_eq!(page.count("[aria-haspopup=dialog]"), 0, "{view}");
        assert_eq!(page.complaints(), Vec::<String>::new(), "{view}");
    }
}

#[test]
fn a_sweep_shows_what_other_values_come_to_and_a_click_applies_one() {
    let site = Site::new("");
    let page = Page::blank();
    let open = |query: &str| {
        page.visit(&format!("{}embed.html?view=sweep&{query}{LLAMA}", site.calculator()));
        page.until("document.querySelector('.sweep button')");
    };
    let swept = "[...document.querySelectorAll('.embed-sweeps h2')].map((title) => title.innerText)";
    open("readonly=1");
    assert_eq!(page.eval(swept).as_array().unwrap().len(), 3);
    assert_eq!(page.count(".sweep button:not(:disabled)"), 0);
    open("fields=tp");
    assert_eq!(page.eval(swept).as_array().unwrap().len(), 1);
    let two =
        "[...document.querySelectorAll('.sweep button')].find((b) => b.querySelector('strong').innerText === '2')";
    let promised = page.eval(&format!("{two}.querySelector('span').innerText"));
    page.eval(&format!("{two}.click()"));
    page.until(&format!("{two}.ariaPressed === 'true'"));
    page.until(&format!("location.hash === '{SHARDED}'"));
    let total = page.text("[data-testid=total]");
    assert_eq!(promised.as_str().unwrap().split(' ').next(), Some(total.as_str()));
}

/// A number among the words of another page is no taller than a paragraph of it.
#[test]
fn small_embeds_are_low() {
    let site = Site::new("");
    for (view, width, most) in [
        ("compact", 1200, 160),
        ("compact", 700, 160),
        ("compact", 390, 240),
        ("bar", 1200, 120),
        ("bar", 700, 120),
        ("bar", 390, 160),
    ] {
        let page = Page::blank();
        page.viewport(width, 500);
        page.visit(&format!(
            "{}embed.html?view={view}#v1;m=deepseek-v3@2",
            site.calculator()
        ));
        page.until("document.querySelector('.legend li') && document.querySelector('[data-testid=total]')?.innerText");
        let height = page.eval("Math.ceil(document.body.getBoundingClientRect().height)");
        assert!(height.as_u64().unwrap() <= most, "{height} of {view} at {width}");
        // The number, the bar and what its colors stand for are below each other.
        page.until(
            "(() => { const [total, bar, legend] = ['[data-testid=total]', '.meter', '.legend'].map((place) => \
                 document.querySelector(place).getBoundingClientRect()); \
                 return total.bottom <= bar.top && bar.height > 0 && bar.bottom <= legend.top; })()",
        );
        assert_eq!(page.barriers(), Vec::<String>::new(), "{view}");
        // What is left out is behind the tip.
        page.click("[aria-label='About these numbers']");
        page.until("document.querySelector('.details')?.innerText.includes('79.6 GiB')");
    }
}

/// A job that is tight by the factors has the verdict of its replay in every kind of embed, as on the page.
#[test]
fn a_replay_settles_tight_jobs() {
    let site = Site::new("");
    let page = Page::blank();
    for view in ["bar", "full"] {
        page.visit("about:blank");
        let calculator = site.calculator();
        page.visit(&format!("{calculator}embed.html?view={view}#v1;m=ministral-3-14b@2"));
        page.until("document.querySelector('[data-testid=verdict]')?.innerText === 'Fits'");
        page.until("JSON.parse(document.documentElement.dataset.result).totals.verdict === 'fits'");
    }
    assert_eq!(page.complaints(), Vec::<String>::new());
}
