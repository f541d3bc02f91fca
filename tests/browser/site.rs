//! Sites with embeds: pages of any text, beside a calculator under `/calculator/`, on an origin of their own.

use std::{
    net::TcpListener,
    path::PathBuf,
    sync::{Arc, Mutex},
    thread,
};

use super::server::{self, Response};

/// As static hosts send them: files may be kept for a while, and read from anywhere.
const HEADERS: &str =
    "Cache-Control: max-age=600\r\nAccess-Control-Allow-Origin: *\r\nX-Content-Type-Options: nosniff\r\n";

/// The same from a host that lets only its own pages read its files.
const HEADERS_WITHOUT_CORS: &str = "Cache-Control: max-age=600\r\nX-Content-Type-Options: nosniff\r\n";

/// The calculator's address in the sources of `tests/embed`.
const CALCULATOR: &str = "https://calculator.example/";

/// A documentation site's own address there.
const DOCUMENTATION: &str = "https://docs.example/";

/// The start of every page; without the first line browsers imitate their ancestors.
const HEAD: &str = "<!doctype html><meta charset=utf-8><link rel=icon href=data:,><title>Documentation</title>";

pub struct Site {
    pub address: String,
    requests: Arc<Mutex<Vec<String>>>,
}

impl Site {
    /// A built site in a folder, in which the calculator's address is that of another site.
    pub fn of_folder(folder: PathBuf, calculator: &Self) -> Self {
        let calculator = calculator.calculator();
        Self::serve(HEADERS, move |home, path| {
            let mut response = server::file(&folder, path);
            if response.kind.starts_with("text/")
                && let Ok(text) = String::from_utf8(response.body.clone())
            {
                let text = text.replace(CALCULATOR, &calculator);
                response.body = text.replace(DOCUMENTATION, home).into_bytes();
            }
            response
        })
    }

    /// A site with one page, `/`; `body` may be empty where only the calculator is of use.
    pub fn new(body: impl Into<String>) -> Self {
        Self::beside_calculator(HEADERS, body)
    }

    /// A calculator whose files only pages of its own origin may read.
    pub fn without_cors() -> Self {
        Self::beside_calculator(HEADERS_WITHOUT_CORS, "")
    }

    fn beside_calculator(headers: &'static str, body: impl Into<String>) -> Self {
        let (dist, body) = (crate::root().join("dist"), body.into());
        Self::serve(headers, move |_, path| match path.strip_prefix("/calculator/") {
            Some(path) => server::file(&dist, path),
            None if path == "/" => Response::ok("text/html; charset=utf-8", format!("{HEAD}{body}")),
            None => Response::missing(),
        })
    }

    /// Answers what `respond` makes of the site's own address and a path.
    fn serve(headers: &'static str, respond: impl Fn(&str, &str) -> Response + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}/", listener.local_addr().unwrap());
        let requests = Arc::new(Mutex::new(Vec::new()));
        let (seen, home) = (Arc::clone(&requests), address.clone());
        let respond = move |path: &str| {
            seen.lock().unwrap().push(path.to_owned());
            respond(&home, path)
        };
        thread::spawn(move || server::serve(&listener, headers, respond));
        Self { address, requests }
    }

    /// The address of its calculator.
    pub fn calculator(&self) -> String {
        format!("{}calculator/", self.address)
    }

    /// What was requested, in alphabetical order.
    pub fn requests(&self) -> Vec<String> {
        let mut requests = self.requests.lock().unwrap().clone();
        requests.sort();
        requests
    }
}
