//! The service worker, which keeps the files of a build for visits without a network.

use std::{fs, path::Path};

use serde_json::{Map, Value};

use super::files;
use crate::Error;

const SCRIPT: &str = include_str!("service-worker.js");

/// Writes `service-worker.js` beside the pages in `stage`, all of which have their final contents. It keeps all files
/// of the folder itself; the JavaScript API below it is for programs.
pub(super) fn write(stage: &Path, version: &str) -> Result<(), Error> {
    let mut sums = Map::new();
    for file in files(stage)? {
        let in_folder = file.parent() == Some(Path::new(""));
        let name = file.to_str().filter(|_| in_folder);
        if let Some(name) = name {
            let sum = checksum(&fs::read(stage.join(name))?);
            // Hosts answer the folder with this file, and some lead from its name to the folder.
            let name = if name == "index.html" { "" } else { name };
            sums.insert(name.to_owned(), Value::from(sum));
        }
    }
    let script = SCRIPT
        .replace("const version = \"\";", &format!("const version = \"{version}\";"))
        .replace("const files = {};", &format!("const files = {};", Value::Object(sums)));
    Ok(fs::write(stage.join("service-worker.js"), script)?)
}

/// FNV-1a with 32 bits: enough to tell a file of one build from that of another.
fn checksum(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0x811c_9dc5, |hash: u32, byte| {
        (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193)
    })
}

#[cfg(test)]
mod tests {
    use std::{env, fs, process};

    use super::{checksum, write};

    #[test]
    fn the_worker_knows_every_file_of_the_folder_with_its_checksum() {
        // From the specification of FNV.
        assert_eq!(checksum(b""), 0x811c_9dc5);
        assert_eq!(checksum(b"foobar"), 0xbf9c_f968);
        let stage = env::temp_dir().join(format!("megatron-memory-offline-{}", process::id()));
        fs::create_dir_all(stage.join("api")).unwrap();
        for file in ["index.html", "page.js", "api/package.json"] {
            fs::write(stage.join(file), "foobar").unwrap();
        }
        write(&stage, "0123").unwrap();
        let script = fs::read_to_string(stage.join("service-worker.js")).unwrap();
        fs::remove_dir_all(&stage).unwrap();
        assert!(script.contains("const version = \"0123\";"));
        assert!(script.contains("const files = {\"\":3214735720,\"page.js\":3214735720};"));
    }
}
