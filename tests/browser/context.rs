//! Chromiums that serve one test after the other, each in a context of its own: with its own storage, caches, service
//! workers and permissions, which are gone with it. A context costs a fraction of what a browser does.

use std::{
    fs,
    net::TcpStream,
    path::{Path, PathBuf},
    process::{self, Child, Command, Stdio},
    sync::{
        Mutex,
        atomic::{AtomicU32, Ordering},
    },
    thread,
};

use fantoccini::wd::WindowHandle;
use serde_json::{Value, json};
use tungstenite::{Message, WebSocket, stream::MaybeTlsStream};

use super::webdriver::{Driver, Font};

/// Browsers that no test uses at the moment.
static IDLE: Mutex<Vec<Chromium>> = Mutex::new(Vec::new());

/// Ends the browser and its driver and removes the profile, once nothing holds the other end of the standard input: when
/// the tests are over, however they have ended. Their process ends without a word to what is static in it.
const GUARD: &str = "\
read _
kill $1
for _ in 1 2 3 4 5 6 7 8 9 10; do kill -0 $1 || break; sleep 0.2; done
kill $2
rm -rf \"$3\"
";

/// A context with one page, in a browser that goes back to [`IDLE`] when this is dropped.
pub(crate) struct Context {
    /// Taken when this is dropped.
    chromium: Option<Chromium>,
    id: Value,
}

impl Context {
    /// Opens an empty page in a new context, where texts are in this font.
    pub(crate) fn open(font: Font) -> Self {
        let idle = {
            let mut idle = IDLE.lock().unwrap();
            let place = idle.iter().position(|chromium| chromium.font == font);
            place.map(|place| idle.swap_remove(place))
        };
        let mut chromium = idle.unwrap_or_else(|| Chromium::start(font));
        let id =
            chromium.command("Target.createBrowserContext", &json!({ "disposeOnDetach": true }))["browserContextId"]
                .take();
        let page = json!({ "url": "about:blank", "browserContextId": id });
        let page = chromium.command("Target.createTarget", &page)["targetId"].take();
        let page: WindowHandle = page.as_str().unwrap().to_owned().try_into().unwrap();
        chromium.driver.switch_to(page);
        Self {
            chromium: Some(chromium),
            id,
        }
    }

    pub(crate) fn driver(&self) -> &Driver {
        &self.chromium.as_ref().expect("the context is open").driver
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        let Some(mut chromium) = self.chromium.take() else {
            return;
        };
        // After a surprise nobody knows what state the browser is in.
        if thread::panicking() {
            return;
        }
        chromium.driver.switch_to(chromium.first.clone());
        chromium.command(
            "Target.disposeBrowserContext",
            &json!({ "browserContextId": self.id.take() }),
        );
        IDLE.lock().unwrap().push(chromium);
    }
}

/// A browser, with its own first window, which stays empty.
struct Chromium {
    font: Font,
    driver: Driver,
    first: WindowHandle,
    devtools: WebSocket<MaybeTlsStream<TcpStream>>,
    /// The number of the last command.
    last: u64,
    guard: Child,
}

impl Chromium {
    fn start(font: Font) -> Self {
        let profile = profile();
        let profile_argument = format!("--user-data-dir={}", profile.display());
        let arguments = [
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            // A process in reserve for a page that no test opens.
            "--disable-features=SpareRendererForSitePerProcess",
            "--window-size=1280,720",
            &profile_argument,
        ];
        let capabilities = json!({
            "browserName": "chrome",
            // The accessibility checker looks at every element of a page, on a machine that may have other things to
            // do.
            "timeouts": { "script": 180_000 },
            "goog:chromeOptions": { "args": arguments },
            "goog:loggingPrefs": { "browser": "ALL", "performance": "ALL" },
        });
        let mut driver = Command::new("chromedriver");
        driver.arg("--port=0").env("FONTCONFIG_FILE", font.configuration());
        let driver = Driver::start(driver, capabilities);
        let mut devtools = devtools(&profile);
        let processes = command(&mut devtools, 1, "SystemInfo.getProcessInfo", &json!({}));
        let processes = processes["processInfo"].as_array().unwrap();
        let browser = processes.iter().find(|process| process["type"] == "browser").unwrap();
        let guard = Command::new("sh")
            .args(["-c", GUARD, "sh"])
            .args([browser["id"].to_string(), driver.process().to_string()])
            .arg(&profile)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("there is a shell");
        Self {
            font,
            first: driver.window(),
            driver,
            devtools,
            last: 1,
            guard,
        }
    }

    /// A command of the Chrome DevTools protocol to the browser itself, as which it can make contexts. The driver has
    /// only the way to pages.
    #[track_caller]
    fn command(&mut self, name: &str, parameters: &Value) -> Value {
        self.last += 1;
        command(&mut self.devtools, self.last, name, parameters)
    }
}

impl Drop for Chromium {
    fn drop(&mut self) {
        // The guard ends what it guards once its standard input is closed, which waiting does first.
        self.guard.wait().ok();
    }
}

/// A folder for a profile that no other browser has.
fn profile() -> PathBuf {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let name = format!("chromium-{}-{}", process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
    crate::root().join("target/tmp").join(name)
}

/// The way to the browser of a profile, which has written there where it listens: the port, and the path on the next
/// line.
fn devtools(profile: &Path) -> WebSocket<MaybeTlsStream<TcpStream>> {
    let place = fs::read_to_string(profile.join("DevToolsActivePort")).expect("the browser listens");
    let (port, path) = place.split_once('\n').expect("a port and a path");
    let (devtools, _) = tungstenite::connect(format!("ws://127.0.0.1:{port}{path}")).unwrap();
    devtools
}

/// Sends a command with this number, and waits for its result.
#[track_caller]
fn command(devtools: &mut WebSocket<MaybeTlsStream<TcpStream>>, number: u64, name: &str, parameters: &Value) -> Value {
    let command = json!({ "id": number, "method": name, "params": parameters });
    devtools.send(Message::text(command.to_string())).unwrap();
    loop {
        let Message::Text(text) = devtools.read().unwrap() else {
            continue;
        };
        let mut answer: Value = serde_json::from_str(&text).unwrap();
        if answer["id"] == number {
            assert!(answer["error"].is_null(), "{name}: {}", answer["error"]);
            return answer["result"].take();
        }
    }
}
