//! Browsers, driven through fantoccini by tests that are no futures. Every surprise is a panic.

use std::{
    fmt::Display,
    fs,
    io::{BufRead, BufReader, Lines},
    path::PathBuf,
    process::{Child, ChildStdout, Command, Stdio},
    sync::LazyLock,
    time::Duration,
};

use fantoccini::{
    Client, ClientBuilder, Locator,
    actions::{InputSource, KeyAction, KeyActions},
    elements::{Element, ElementRef},
    wd::{Capabilities, PrintConfiguration, PrintSize, WebDriverCompatibleCommand, WindowHandle},
};
use http::Method;
use hyper_util::client::legacy::connect::HttpConnector;
use serde_json::{Value, json};
use tokio::runtime::Runtime;
use url::{ParseError, Url};

use super::context::Context;

/// How long an element may take to be drawn, on a machine that has other things to do.
const PATIENCE: Duration = Duration::from_secs(20);
/// How often it is looked for.
const TICK: Duration = Duration::from_millis(10);

/// The member that marks a reference to an element.
const ELEMENT: &str = "element-6066-11e4-a52e-4f735466cecf";

/// What all browsers run on.
static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| Runtime::new().expect("threads can be started"));

/// Waits for a step of a browser.
#[track_caller]
fn wait<T, E: Display>(step: impl Future<Output = Result<T, E>>) -> T {
    match RUNTIME.block_on(step) {
        Ok(value) => value,
        Err(error) => panic!("{error}"),
    }
}

/// The one font, besides one of fixed width, that a browser finds: the layout must not depend on a machine's fonts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Font {
    /// `DejaVu Sans`, among the widest of the usual ones.
    Wide,
    /// Liberation Sans Narrow.
    Narrow,
}

impl Font {
    /// A configuration for fontconfig in which there is nothing else.
    pub(crate) fn configuration(self) -> PathBuf {
        let (name, files) = match self {
            Self::Wide => ("wide", ["DejaVuSans.ttf", "DejaVuSans-Bold.ttf"]),
            Self::Narrow => (
                "narrow",
                ["LiberationSansNarrow-Regular.ttf", "LiberationSansNarrow-Bold.ttf"],
            ),
        };
        let accepted = files.into_iter().chain(["DejaVuSansMono*.ttf"]);
        let accepted: Vec<String> = accepted.map(|file| format!("<glob>*/{file}</glob>")).collect();
        let accepted = accepted.concat();
        let text = format!(
            "<?xml version=\"1.0\"?>\n<!DOCTYPE fontconfig SYSTEM \"fonts.dtd\">\n<fontconfig>\n\
            <include>/etc/fonts/fonts.conf</include>\n<selectfont><acceptfont>{accepted}</acceptfont>\
            <rejectfont><glob>*.*</glob></rejectfont></selectfont>\n</fontconfig>\n"
        );
        let folder = crate::root().join("target/tmp");
        fs::create_dir_all(&folder).unwrap();
        let file = folder.join(format!("fonts-{name}.conf"));
        // Whole or not at all: other tests read it at the same time.
        let draft = folder.join(format!("fonts-{name}-{:?}", std::thread::current().id()));
        fs::write(&draft, text).unwrap();
        fs::rename(draft, &file).unwrap();
        file
    }
}

/// A browser with nothing in its profile, for one test.
pub struct Browser(Kind);

enum Kind {
    /// A context of one's own in a Chromium that others use before and after.
    Lent(Box<Context>),
    /// A process of one's own.
    Own(Driver),
}

impl Browser {
    pub fn chromium(font: Font) -> Self {
        Self(Kind::Lent(Box::new(Context::open(font))))
    }

    pub fn firefox() -> Self {
        let capabilities = json!({
            "browserName": "firefox",
            "moz:firefoxOptions": { "args": ["-headless"] },
        });
        let mut driver = Command::new("geckodriver");
        driver
            .arg("--port=0")
            .env("FONTCONFIG_FILE", Font::Wide.configuration());
        Self(Kind::Own(Driver::start(driver, capabilities)))
    }

    fn driver(&self) -> &Driver {
        match &self.0 {
            Kind::Lent(context) => context.driver(),
            Kind::Own(driver) => driver,
        }
    }

    fn client(&self) -> &Client {
        self.driver().client()
    }

    #[track_caller]
    pub fn go(&self, address: &str) {
        wait(self.client().goto(address));
    }

    /// Runs the body of a function in the page and gives what it returns, awaited.
    #[track_caller]
    pub fn script(&self, body: &str, arguments: &Value) -> Value {
        let arguments = arguments.as_array().cloned().unwrap_or_default();
        wait(self.client().execute(body, arguments))
    }

    /// Goes into the frame that an expression finds, or back to the page around all of them.
    #[track_caller]
    pub fn frame(&self, expression: Option<&str>) {
        let Some(expression) = expression else {
            self.send("frame", json!({ "id": null }));
            return;
        };
        let found = self.script(&format!("return ({expression})"), &json!([]));
        let id = found[ELEMENT]
            .as_str()
            .unwrap_or_else(|| panic!("no frame is {expression}"));
        let frame = Element::from_element_id(self.client().clone(), ElementRef::from(id.to_owned()));
        wait(frame.enter_frame());
    }

    /// Scrolls to the element and clicks its middle; fails when something covers it.
    #[track_caller]
    pub fn click(&self, selector: &str) {
        let element = self.element(selector);
        // What sticks to the top of its pane would cover an element that is just in sight.
        let scroll = "document.querySelector(arguments[0])?.scrollIntoView({ block: 'center', behavior: 'instant' })";
        self.script(scroll, &json!([selector]));
        wait(element.click());
    }

    /// Focuses the element and presses the keys one by one.
    #[track_caller]
    pub fn type_keys(&self, selector: &str, keys: &str) {
        wait(self.element(selector).send_keys(keys));
    }

    /// Presses keys wherever the focus is.
    #[track_caller]
    pub fn press(&self, keys: &str) {
        let mut strokes = KeyActions::new("keyboard".to_owned());
        let mut held = Vec::new();
        for key in keys.chars() {
            match key {
                '\u{E000}' => {
                    for value in held.drain(..) {
                        strokes = strokes.then(KeyAction::Up { value });
                    }
                }
                '\u{E008}'..='\u{E00A}' | '\u{E03D}' => {
                    strokes = strokes.then(KeyAction::Down { value: key });
                    held.push(key);
                }
                value => {
                    strokes = strokes.then(KeyAction::Down { value });
                    strokes = strokes.then(KeyAction::Up { value });
                }
            }
        }
        wait(self.client().perform_actions(strokes));
    }

    /// A picture of what is on the screen, as PNG.
    pub fn screenshot(&self) -> Vec<u8> {
        wait(self.client().screenshot())
    }

    /// The page on sheets of A4, as PDF.
    pub fn print(&self) -> Vec<u8> {
        let builder = PrintConfiguration::builder();
        let a4 = builder
            .size(PrintSize {
                width: 21.0,
                height: 29.7,
            })
            .build()
            .unwrap();
        wait(self.client().print(a4))
    }

    /// One command of the Chrome DevTools protocol.
    #[track_caller]
    pub fn devtools(&self, command: &str, parameters: &Value) -> Value {
        self.send("goog/cdp/execute", json!({ "cmd": command, "params": parameters }))
    }

    /// What Chromium has logged since the last call: `browser` for the console, `performance` for the network.
    pub fn log(&self, kind: &str) -> Vec<Value> {
        self.send("se/log", json!({ "type": kind })).as_array().unwrap().clone()
    }

    /// The element, which the page may still be about to draw.
    #[track_caller]
    fn element(&self, selector: &str) -> Element {
        let drawn = self.client().wait().at_most(PATIENCE).every(TICK);
        let element = drawn.for_element(Locator::Css(selector));
        wait(async { element.await.map_err(|error| format!("{selector}: {error}")) })
    }

    /// A command that fantoccini has no function for.
    #[track_caller]
    fn send(&self, path: &'static str, body: Value) -> Value {
        wait(self.client().issue_cmd(Raw { path, body }))
    }
}

/// What a driver prints, line by line.
type Output = Lines<BufReader<ChildStdout>>;

/// A driver with its browser. Both are ended when this is dropped.
pub(crate) struct Driver {
    process: Child,
    client: Option<Client>,
}

impl Driver {
    /// Starts a driver, and through it a browser with these capabilities.
    pub(crate) fn start(mut driver: Command, capabilities: Value) -> Self {
        // A port that was free a moment ago may be taken when the driver binds it.
        let (process, port, output) = (0..5)
            .find_map(|_| listening(&mut driver))
            .expect("the driver says on which port it listens");
        // Something must go on reading, or the driver blocks once the pipe is full.
        std::thread::spawn(move || output.for_each(drop));
        let mut started = Self { process, client: None };
        let capabilities: Capabilities = serde_json::from_value(capabilities).unwrap();
        let mut builder = ClientBuilder::new(HttpConnector::new());
        let address = format!("http://127.0.0.1:{port}");
        let session = builder.capabilities(capabilities).connect(&address);
        started.client = Some(wait(session));
        started
    }

    pub(crate) fn client(&self) -> &Client {
        self.client.as_ref().expect("the browser is open")
    }

    /// The id of the driver's process.
    pub(crate) fn process(&self) -> u32 {
        self.process.id()
    }

    /// The window that commands go to.
    #[track_caller]
    pub(crate) fn window(&self) -> WindowHandle {
        wait(self.client().window())
    }

    /// Lets commands go to this window from now on.
    #[track_caller]
    pub(crate) fn switch_to(&self, window: WindowHandle) {
        wait(self.client().switch_to_window(window));
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        // The session first: a driver that is killed leaves its browser behind.
        if let Some(client) = self.client.take() {
            RUNTIME.block_on(client.close()).ok();
        }
        self.process.kill().ok();
        self.process.wait().ok();
    }
}

/// Starts a driver that listens on a port of its own choice.
fn listening(command: &mut Command) -> Option<(Child, u16, Output)> {
    let mut driver = command.stdout(Stdio::piped()).spawn().expect("the driver starts");
    let mut output = BufReader::new(driver.stdout.take().unwrap()).lines();
    let port = output.find_map(|line| {
        // `ChromeDriver was started successfully on port 1.` and `Listening on 127.0.0.1:1`.
        let line = line.ok()?;
        let chromium = line.split("successfully on port ").nth(1);
        let firefox = line.split("Listening on 127.0.0.1:").nth(1);
        chromium.or(firefox)?.trim_end_matches('.').parse().ok()
    });
    if port.is_none() {
        driver.wait().unwrap();
    }
    Some((driver, port?, output))
}

/// A command with its path below the session's.
#[derive(Debug)]
struct Raw {
    path: &'static str,
    body: Value,
}

impl WebDriverCompatibleCommand for Raw {
    fn endpoint(&self, base: &Url, session: Option<&str>) -> Result<Url, ParseError> {
        base.join(&format!("session/{}/{}", session.unwrap_or_default(), self.path))
    }

    fn method_and_body(&self, _: &Url) -> (Method, Option<String>) {
        (Method::POST, Some(self.body.to_string()))
    }
}
