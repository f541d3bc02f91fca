//! As much of the WebDriver protocol as driving Chromium takes. Every surprise is a panic.

use std::{
    io::{BufRead, BufReader, Lines, Read, Write},
    net::TcpStream,
    process::{Child, ChildStdout, Command, Stdio},
};

use serde_json::{Value, json};

/// The member that marks a reference to an element.
const ELEMENT: &str = "element-6066-11e4-a52e-4f735466cecf";

/// A browser of one's own, with nothing in its profile. Closed when dropped.
pub(crate) struct Browser {
    driver: Child,
    port: u16,
    session: String,
}

/// What the driver prints, line by line.
type Output = Lines<BufReader<ChildStdout>>;

impl Browser {
    /// A driver that listens on a port of its own choice.
    fn driver() -> Option<(Child, u16, Output)> {
        let mut driver = Command::new("chromedriver")
            .arg("--port=0")
            .stdout(Stdio::piped())
            .spawn()
            .expect("chromedriver starts");
        let mut output = BufReader::new(driver.stdout.take().unwrap()).lines();
        let port = output.find_map(|line| {
            line.ok()?
                .split("successfully on port ")
                .nth(1)?
                .trim_end_matches('.')
                .parse()
                .ok()
        });
        if port.is_none() {
            driver.wait().unwrap();
        }
        Some((driver, port?, output))
    }

    pub(crate) fn start() -> Self {
        // A port that was free a moment ago may be taken when the driver binds it.
        let (driver, port, output) = (0..5)
            .find_map(|_| Self::driver())
            .expect("chromedriver says which port it has chosen");
        // Something must go on reading, or the driver blocks once the pipe is full.
        std::thread::spawn(move || output.for_each(drop));
        let mut browser = Self {
            driver,
            port,
            session: String::new(),
        };
        let arguments = [
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--window-size=1280,720",
        ];
        let capabilities = json!({
            "browserName": "chrome",
            // The accessibility checker looks at every element of a page, on a machine that may have other things to do.
            "timeouts": { "script": 180_000 },
            "goog:chromeOptions": { "args": arguments },
            "goog:loggingPrefs": { "browser": "ALL", "performance": "ALL" },
        });
        let session = browser.call(
            "POST",
            "",
            &json!({ "capabilities": { "alwaysMatch": capabilities } }),
        );
        browser.session = format!("/{}", session["sessionId"].as_str().unwrap());
        browser
    }

    pub(crate) fn go(&self, address: &str) {
        self.call("POST", "/url", &json!({ "url": address }));
    }

    /// Runs the body of a function in the page and gives what it returns, awaited.
    pub(crate) fn script(&self, body: &str, arguments: &Value) -> Value {
        self.call(
            "POST",
            "/execute/sync",
            &json!({ "script": body, "args": arguments }),
        )
    }

    /// Goes into the frame that an expression finds, or back to the page around all of them.
    pub(crate) fn frame(&self, expression: Option<&str>) {
        let frame = expression.map_or(Value::Null, |expression| {
            self.script(&format!("return ({expression})"), &json!([]))
        });
        self.call("POST", "/frame", &json!({ "id": frame }));
    }

    /// Scrolls to the element and clicks its middle; fails when something covers it.
    pub(crate) fn click(&self, selector: &str) {
        self.call(
            "POST",
            &format!("/element/{}/click", self.element(selector)),
            &json!({}),
        );
    }

    /// Focuses the element and presses the keys one by one.
    pub(crate) fn type_keys(&self, selector: &str, keys: &str) {
        self.call(
            "POST",
            &format!("/element/{}/value", self.element(selector)),
            &json!({ "text": keys }),
        );
    }

    /// Presses keys wherever the focus is.
    pub(crate) fn press(&self, keys: &str) {
        let one = |kind: &str, key: char| json!({ "type": kind, "value": key });
        let mut strokes = Vec::new();
        let mut held = Vec::new();
        for key in keys.chars() {
            match key {
                '\u{E000}' => strokes.extend(held.drain(..).map(|key| one("keyUp", key))),
                '\u{E008}'..='\u{E00A}' | '\u{E03D}' => {
                    strokes.push(one("keyDown", key));
                    held.push(key);
                }
                key => strokes.extend([one("keyDown", key), one("keyUp", key)]),
            }
        }
        let keyboard = json!({ "type": "key", "id": "keyboard", "actions": strokes });
        self.call("POST", "/actions", &json!({ "actions": [keyboard] }));
    }

    /// One command of the Chrome DevTools protocol.
    pub(crate) fn devtools(&self, command: &str, parameters: &Value) -> Value {
        self.call(
            "POST",
            "/goog/cdp/execute",
            &json!({ "cmd": command, "params": parameters }),
        )
    }

    /// What has been logged since the last call: `browser` for the console, `performance` for the network.
    pub(crate) fn log(&self, kind: &str) -> Vec<Value> {
        self.call("POST", "/se/log", &json!({ "type": kind }))
            .as_array()
            .unwrap()
            .clone()
    }

    fn element(&self, selector: &str) -> String {
        let found = self.call(
            "POST",
            "/element",
            &json!({ "using": "css selector", "value": selector }),
        );
        found[ELEMENT].as_str().unwrap().to_owned()
    }

    #[track_caller]
    fn call(&self, method: &str, path: &str, body: &Value) -> Value {
        let Self { port, session, .. } = self;
        let answer = exchange(
            *port,
            method,
            &format!("/session{session}{path}"),
            &body.to_string(),
        );
        let value = answer["value"].clone();
        assert!(
            value.get("error").is_none(),
            "{method} {path}: {}: {}",
            value["error"],
            value["message"]
        );
        value
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // The session first: a driver that is killed leaves its browser behind.
        if !self.session.is_empty() {
            exchange(
                self.port,
                "DELETE",
                &format!("/session{}", self.session),
                "",
            );
        }
        self.driver.kill().ok();
        self.driver.wait().ok();
    }
}

/// One HTTP request to the driver and the JSON that comes back.
fn exchange(port: u16, method: &str, path: &str, body: &str) -> Value {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("the driver listens");
    let length = body.len();
    write!(
        stream,
        "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {length}\r\n\r\n{body}"
    )
    .unwrap();
    let mut answer = BufReader::new(stream);
    let mut length = 0;
    loop {
        let mut line = String::new();
        answer.read_line(&mut line).unwrap();
        match line.to_ascii_lowercase().strip_prefix("content-length:") {
            Some(number) => length = number.trim().parse().unwrap(),
            None if line.trim().is_empty() => break,
            None => {}
        }
    }
    let mut text = vec![0; length];
    answer.read_exact(&mut text).unwrap();
    serde_json::from_slice(&text).unwrap()
}
