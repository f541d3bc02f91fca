//! The entry point of the page's worker. What it does is [`SearchWorker`].

use gloo::worker::Registrable;
use search_worker::SearchWorker;

fn main() {
    console_error_panic_hook::set_once();
    SearchWorker::registrar().register();
}
