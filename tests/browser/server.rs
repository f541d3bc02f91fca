//! A static web server, no more than a browser on the same machine needs. The browser tests use it too.

use std::{
    fs,
    io::{self, BufRead, BufReader, Write},
    net::{TcpListener, TcpStream},
    path::{Component, Path},
    sync::Arc,
    thread,
    time::Duration,
};

/// What is sent back for one request.
pub struct Response {
    pub status: &'static str,
    pub kind: &'static str,
    pub body: Vec<u8>,
}

impl Response {
    pub fn ok(kind: &'static str, body: impl Into<Vec<u8>>) -> Self {
        Self {
            status: "200 OK",
            kind,
            body: body.into(),
        }
    }

    pub fn missing() -> Self {
        Self {
            status: "404 Not Found",
            kind: "text/plain",
            body: b"not found".to_vec(),
        }
    }
}

/// Answers every request that reaches `listener`, for ever, with what `respond` makes of its path (without the query).
/// `headers` are whole lines and go with every answer.
pub fn serve(
    listener: &TcpListener,
    headers: &'static str,
    respond: impl Fn(&str) -> Response + Send + Sync + 'static,
) {
    let respond = Arc::new(respond);
    for stream in listener.incoming().flatten() {
        let respond = Arc::clone(&respond);
        // A browser that goes away in the middle is no reason to stop.
        thread::spawn(move || answer(&stream, headers, respond.as_ref()).ok());
    }
}

fn answer(mut stream: &TcpStream, headers: &str, respond: impl Fn(&str) -> Response) -> io::Result<()> {
    // Browsers open connections ahead of need; a silent one must not hold its thread for ever.
    stream.set_read_timeout(Some(Duration::from_mins(1)))?;
    let mut lines = BufReader::new(stream).lines();
    let request = lines.next().transpose()?.unwrap_or_default();
    while lines.next().transpose()?.is_some_and(|line| !line.is_empty()) {}
    let address = request.split(' ').nth(1).unwrap_or("/");
    let Response { status, kind, body } = respond(address.split('?').next().unwrap_or("/"));
    let length = body.len();
    write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n{headers}\r\n"
    )?;
    stream.write_all(&body)
}

/// The file under `root` that `path` names; a path that ends in a slash names the document there.
pub fn file(root: &Path, path: &str) -> Response {
    let path = Path::new(path.trim_start_matches('/'));
    // Only names: nothing that leads out of the folder.
    if !path.components().all(|part| matches!(part, Component::Normal(_))) {
        return Response::missing();
    }
    let mut path = root.join(path);
    if path.is_dir() {
        path.push("index.html");
    }
    let extension = path
        .extension()
        .and_then(|extension| extension.to_str())
        .unwrap_or_default();
    let kind = match extension {
        "html" => "text/html; charset=utf-8",
        "js" | "mjs" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "xml" => "text/xml; charset=utf-8",
        // Anything else keeps browsers from compiling while the module arrives.
        "wasm" => "application/wasm",
        "svg" => "image/svg+xml",
        "json" => "application/json",
        "webmanifest" => "application/manifest+json",
        _ => "application/octet-stream",
    };
    fs::read(&path).map_or_else(|_| Response::missing(), |body| Response::ok(kind, body))
}
