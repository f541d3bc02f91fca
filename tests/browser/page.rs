//! The built page, open in a browser.

use std::{
    env, fs,
    net::TcpListener,
    path::PathBuf,
    sync::LazyLock,
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use super::{
    server::{self, Response},
    webdriver::{Browser, Font},
};

/// Where the page lives: not at the top of its host, as on most static hosts.
const FOLDER: &str = "/some/folder/";

/// The page's own policy again, as a header, which nothing in the page can weaken.
const HEADERS: &str = "Content-Security-Policy: default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; \
    style-src 'self'; img-src 'self' data: blob:; connect-src 'self' https://huggingface.co; worker-src 'self' blob:; \
    manifest-src 'self'; base-uri 'none'; form-action 'none'\r\nX-Content-Type-Options: nosniff\r\n";

/// A script that ends as a panic does, in a trap inside of wasm. Served, because the policy allows no inline script,
/// and the browser hides the errors of scripts that come from its driver.
const TRAP: &str = "\
const code = [0, 97, 115, 109, 1, 0, 0, 0, 1, 4, 1, 96, 0, 0, 3, 2, 1, 0, 7, 5, 1, 1, 102, 0, 0, 10, 5, 1, 3, 0, 0, 11];
setTimeout(new WebAssembly.Instance(new WebAssembly.Module(new Uint8Array(code))).exports.f);
";

/// The address of the folder, on a server that runs as long as the tests.
static SITE: LazyLock<String> = LazyLock::new(|| {
    let dist = crate::root().join("dist");
    assert!(
        dist.join("index.html").exists(),
        "build the page first: cargo xtask build"
    );
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let respond = move |path: &str| match path.strip_prefix(FOLDER) {
        Some("-/trap.js") => Response::ok("text/javascript", TRAP),
        Some(path) => server::file(&dist, path),
        None => Response::missing(),
    };
    thread::spawn(move || server::serve(&listener, HEADERS, respond));
    format!("http://{address}{FOLDER}")
});

/// A page in a browser, or a context of one, of its own.
pub struct Page {
    browser: Browser,
}

impl Page {
    /// Opens the page with this fragment (without `#`) and waits until the calculator is there.
    #[track_caller]
    pub fn open(fragment: &str) -> Self {
        Self::open_in(Font::Wide, fragment)
    }

    /// As [`open`](Self::open), with texts in this font.
    #[track_caller]
    pub fn open_in(font: Font, fragment: &str) -> Self {
        let page = Self::blank_in(font);
        page.load(fragment);
        page
    }

    /// A browser that shows nothing yet, for what must be set before the page loads.
    pub fn blank() -> Self {
        Self::blank_in(Font::Wide)
    }

    fn blank_in(font: Font) -> Self {
        let page = Self {
            browser: Browser::chromium(font),
        };
        // What the browser does on its own account is none of the page's, and neither is what an earlier page did.
        page.requests();
        page.complaints();
        page
    }

    /// As [`open`](Self::open), in Firefox, whose network, console and screen these tests cannot reach.
    #[track_caller]
    pub fn open_in_firefox(fragment: &str) -> Self {
        let page = Self {
            browser: Browser::firefox(),
        };
        page.load(fragment);
        page
    }

    /// Runs JavaScript statements in every document from now on, before anything of its own.
    pub fn before_load(&self, statements: &str) {
        self.browser.devtools("Page.enable", &json!({}));
        self.browser.devtools(
            "Page.addScriptToEvaluateOnNewDocument",
            &json!({ "source": statements }),
        );
    }

    /// Goes to the page with this fragment and waits until the calculator is there.
    #[track_caller]
    pub fn load(&self, fragment: &str) {
        self.go(fragment);
        self.until_started();
        self.ask_for_all_panels();
    }

    /// Waits until the calculator has put all its parts in, which it does one after another.
    #[track_caller]
    pub fn until_started(&self) {
        self.until(
            "document.querySelector('#app > :not(.shell)') && !document.querySelector('#app > .shell') \
             && !document.documentElement.hasAttribute('data-starting') \
             && !document.querySelector('.results[aria-busy=true]')",
        );
    }

    /// Lets all panels of the open tab be built at once, as before printing. Otherwise they are when they come near.
    fn ask_for_all_panels(&self) {
        self.run("dispatchEvent(new Event('beforeprint'))");
        self.until(
            "!document.querySelector('.results > .rest:not([hidden])') \
             && !document.querySelector('.results[aria-busy=true]')",
        );
    }

    /// Goes to the page without waiting for more than its load event.
    pub fn go(&self, fragment: &str) {
        let mark = if fragment.is_empty() { "" } else { "#" };
        self.browser.go(&format!("{}{mark}{fragment}", *SITE));
    }

    /// Goes to another file beside the page.
    pub fn follow(&self, file: &str) {
        self.browser.go(&format!("{}{file}", *SITE));
    }

    /// The address of a file of the page's folder.
    pub fn address(file: &str) -> String {
        format!("{}{file}", *SITE)
    }

    /// Goes to a page of any site.
    pub fn visit(&self, address: &str) {
        self.browser.go(address);
    }

    /// From now on, looks into the frame that a JavaScript expression finds.
    #[track_caller]
    pub fn enter(&self, frame: &str) {
        self.browser.frame(Some(frame));
    }

    /// From now on, looks at the whole page again.
    pub fn leave(&self) {
        self.browser.frame(None);
    }

    /// The value of a JavaScript expression.
    #[track_caller]
    pub fn eval(&self, expression: &str) -> Value {
        self.browser.script(&format!("return ({expression})"), &json!([]))
    }

    /// Runs JavaScript statements.
    #[track_caller]
    pub fn run(&self, statements: &str) {
        self.browser.script(statements, &json!([]));
    }

    /// Waits until a JavaScript expression is true.
    #[track_caller]
    pub fn until(&self, expression: &str) {
        self.until_within(Duration::from_secs(20), expression);
    }

    /// Waits so long until a JavaScript expression is true.
    #[track_caller]
    pub fn until_within(&self, time: Duration, expression: &str) {
        let end = Instant::now() + time;
        while self.eval(&format!("Boolean({expression})")) != json!(true) {
            assert!(
                Instant::now() < end,
                "still not true: {expression}\n{}",
                self.text("body")
            );
            thread::sleep(Duration::from_millis(10));
        }
    }

    /// The text that can be seen in the first element that matches.
    #[track_caller]
    pub fn text(&self, selector: &str) -> String {
        let text = self.browser.script(
            "return document.querySelector(arguments[0])?.innerText",
            &json!([selector]),
        );
        text.as_str()
            .unwrap_or_else(|| panic!("nothing matches {selector}"))
            .to_owned()
    }

    /// How many elements match.
    #[track_caller]
    pub fn count(&self, selector: &str) -> u64 {
        let count = self.browser.script(
            "return document.querySelectorAll(arguments[0]).length",
            &json!([selector]),
        );
        count.as_u64().unwrap()
    }

    /// Whether the first element that matches takes up space.
    #[track_caller]
    pub fn shows(&self, selector: &str) -> bool {
        let body = "return Boolean(document.querySelector(arguments[0])?.checkVisibility())";
        self.browser.script(body, &json!([selector])) == json!(true)
    }

    /// What stands in a form control.
    #[track_caller]
    pub fn value(&self, selector: &str) -> String {
        let value = self
            .browser
            .script("return document.querySelector(arguments[0])?.value", &json!([selector]));
        value
            .as_str()
            .unwrap_or_else(|| panic!("nothing matches {selector}"))
            .to_owned()
    }

    #[track_caller]
    pub fn click(&self, selector: &str) {
        self.browser.click(selector);
    }

    /// Opens a tab of the results by its name.
    #[track_caller]
    pub fn show(&self, tab: &str) {
        let number = ["Memory", "Change", "Compare", "Check"]
            .iter()
            .position(|name| *name == tab);
        let id = format!("results-tab-{}", number.unwrap());
        self.click(&format!("#{id}"));
        self.until(&format!(
            "document.querySelector('#{id}[aria-selected=true]') && document.querySelector('.results[aria-busy=false]')"
        ));
        self.ask_for_all_panels();
    }

    /// Chooses a preset from the list that opens above the form, and waits until it is the page's job.
    #[track_caller]
    pub fn choose_preset(&self, id: &str) {
        self.click("#preset");
        self.until(&format!("document.querySelector('#presets [value=\"{id}\"]')"));
        self.click(&format!("#presets [value='{id}']"));
        self.until(&format!("document.getElementById('preset').value === '{id}'"));
    }

    /// Types behind what already stands in a control, key by key.
    #[track_caller]
    pub fn type_keys(&self, selector: &str, keys: &str) {
        self.browser.type_keys(selector, keys);
    }

    /// Selects what stands in a control and types over it, key by key.
    #[track_caller]
    pub fn fill(&self, selector: &str, keys: &str) {
        self.browser
            .script("document.querySelector(arguments[0]).select()", &json!([selector]));
        self.browser.type_keys(selector, keys);
    }

    /// Presses keys wherever the focus is; `\u{E004}` is Tab, `\u{E007}` Enter, `\u{E00C}` Escape. Modifiers such as
    /// `\u{E009}`, Control, stay down until `\u{E000}`.
    #[track_caller]
    pub fn press(&self, keys: &str) {
        self.browser.press(keys);
    }

    /// The fragment of the address, without `#`.
    #[track_caller]
    pub fn fragment(&self) -> String {
        self.eval("location.hash.slice(1)").as_str().unwrap().to_owned()
    }

    /// Warnings and errors of the console since the last call: the page's own, and the browser's about it.
    pub fn complaints(&self) -> Vec<String> {
        let entries = self.browser.log("browser").into_iter();
        let loud = entries.filter(|entry| entry["level"] != "INFO" && entry["level"] != "DEBUG");
        loud.map(|entry| entry["message"].as_str().unwrap_or_default().to_owned())
            .collect()
    }

    /// The addresses that were requested since the last call; those of the page relative to it. Not those of the tab that
    /// the browser opens by itself, which may still be loading.
    pub fn requests(&self) -> Vec<String> {
        let sent = |entry: Value| {
            let event: Value = serde_json::from_str(entry["message"].as_str()?).ok()?;
            let (method, parameters) = (&event["message"]["method"], &event["message"]["params"]);
            let address = parameters["request"]["url"].as_str()?;
            let is_of_browser = parameters["documentURL"]
                .as_str()
                .is_some_and(|of| of.starts_with("chrome:"));
            (method == "Network.requestWillBeSent" && !is_of_browser).then(|| address.replace(SITE.as_str(), "./"))
        };
        self.browser.log("performance").into_iter().filter_map(sent).collect()
    }

    /// Lets wasm trap, as it does after a panic.
    pub fn trap(&self) {
        self.eval("document.head.append(Object.assign(document.createElement('script'), { src: './-/trap.js' }))");
    }

    /// A screen of this many CSS pixels.
    pub fn viewport(&self, width: u32, height: u32) {
        let size = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600 });
        self.browser.devtools("Emulation.setDeviceMetricsOverride", &size);
    }

    /// A screen that is touched, and has no finer pointer.
    pub fn touch(&self) {
        let touch = json!({ "enabled": true, "maxTouchPoints": 1 });
        self.browser.devtools("Emulation.setTouchEmulationEnabled", &touch);
        self.until("matchMedia('(pointer: coarse)').matches");
    }

    /// Touches the middle of the first element that matches.
    #[track_caller]
    pub fn tap(&self, selector: &str) {
        self.swipe(selector, 0);
    }

    /// Touches the middle of the first element that matches, and moves the finger up by some pixels.
    #[track_caller]
    pub fn swipe(&self, selector: &str, up: i64) {
        let (x, y) = self.middle(selector);
        let touch = |kind: &str, points: Value| {
            let touch = json!({ "type": kind, "touchPoints": points });
            self.browser.devtools("Input.dispatchTouchEvent", &touch);
        };
        touch("touchStart", json!([{ "x": x, "y": y }]));
        for step in (20..=up).step_by(20) {
            touch("touchMove", json!([{ "x": x, "y": y - step }]));
        }
        touch("touchEnd", json!([]));
    }

    /// Moves the mouse to the middle of the first element that matches.
    #[track_caller]
    pub fn hover(&self, selector: &str) {
        let (x, y) = self.middle(selector);
        let mouse = json!({ "type": "mouseMoved", "x": x, "y": y });
        self.browser.devtools("Input.dispatchMouseEvent", &mouse);
    }

    /// The middle of the first element that matches, which comes to the screen where it is not there. Waits until the
    /// element stands still: what is drawn after the first frame may move it.
    #[track_caller]
    fn middle(&self, selector: &str) -> (i64, i64) {
        let place = self.browser.script(
            "const element = document.querySelector(arguments[0]);
             const middle = () => {
               element.scrollIntoView({ block: 'nearest' });
               const { left, right, top, bottom } = element.getBoundingClientRect();
               return [(left + right) / 2, (top + bottom) / 2].map(Math.round);
             };
             const frame = () => new Promise(requestAnimationFrame);
             return (async () => {
               for (let place = middle(); ;) {
                 await frame();
                 await frame();
                 const next = middle();
                 if (`${next}` === `${place}`) return place;
                 place = next;
               }
             })()",
            &json!([selector]),
        );
        (place[0].as_i64().unwrap(), place[1].as_i64().unwrap())
    }

    /// A media feature, such as `prefers-color-scheme: dark`.
    pub fn media(&self, name: &str, value: &str) {
        let features = json!({ "features": [{ "name": name, "value": value }] });
        self.browser.devtools("Emulation.setEmulatedMedia", &features);
    }

    /// Addresses, with `*` as a wildcard, that cannot be reached from now on.
    pub fn block(&self, addresses: &[&str]) {
        self.browser.devtools("Network.enable", &json!({}));
        self.browser
            .devtools("Network.setBlockedURLs", &json!({ "urls": addresses }));
    }

    /// Lets so many bytes a second through.
    pub fn throttle(&self, bytes: u32) {
        let line = json!({ "offline": false, "latency": 20, "downloadThroughput": bytes, "uploadThroughput": bytes });
        self.browser.devtools("Network.enable", &json!({}));
        self.browser.devtools("Network.emulateNetworkConditions", &line);
    }

    /// Whether scripts run on the next page.
    pub fn javascript(&self, enabled: bool) {
        self.browser
            .devtools("Emulation.setScriptExecutionDisabled", &json!({ "value": !enabled }));
    }

    /// How many seconds the page has spent on scripts, style and layout so far.
    pub fn busy(&self) -> f64 {
        self.browser.devtools("Performance.enable", &json!({}));
        let metrics = self.browser.devtools("Performance.getMetrics", &json!({}));
        let counted = ["ScriptDuration", "RecalcStyleDuration", "LayoutDuration"];
        let metrics = metrics["metrics"].as_array().unwrap().iter();
        metrics
            .filter(|metric| counted.iter().any(|name| metric["name"] == *name))
            .filter_map(|metric| metric["value"].as_f64())
            .sum()
    }

    /// A picture of the screen, as `target/screenshots/NAME.png`.
    pub fn screenshot(&self, name: &str) -> PathBuf {
        let folder = crate::root().join("target/screenshots");
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join(name).with_extension("png");
        fs::write(&path, self.browser.screenshot()).unwrap();
        path
    }

    /// How many sheets of A4 the page takes on paper.
    pub fn sheets(&self) -> usize {
        let file = self.browser.print();
        // Each sheet is an object of this type; the list of all of them has an `s` behind it.
        let sheet = b"/Type /Page\n";
        file.windows(sheet.len()).filter(|part| part == sheet).count()
    }

    /// What the accessibility checker objects to.
    #[track_caller]
    pub fn barriers(&self) -> Vec<String> {
        let script = env::var_os("AXE_CORE").expect("AXE_CORE names axe.min.js");
        self.browser.script(&fs::read_to_string(script).unwrap(), &json!([]));
        // One of the checker's experiments besides what it looks at anyway: whoever speaks to a control says what
        // stands there.
        let run = "return axe.run({ rules: { 'label-content-name-mismatch': { enabled: true } } }).then(({ violations, passes }) => ({ passes: passes.length, \
            violations: violations.map((v) => `${v.id}: ${v.help}: ${v.nodes.map((n) => n.target).join(', ')}`) }))";
        let result = self.browser.script(run, &json!([]));
        assert!(result["passes"].as_u64() > Some(0), "the checker has looked at nothing");
        result["violations"]
            .as_array()
            .unwrap()
            .iter()
            .map(|text| text.as_str().unwrap().to_owned())
            .collect()
    }
}
