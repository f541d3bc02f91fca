//! Every export of a job that is marked says so, and none has a number that seems to be the job's.

use megatron_memory::config::not_modelled::NotModelled;
use megatron_memory::export::{ChartOptions, ExportFormat, ExportOptions, chart_file, export_text, pictures};
use megatron_memory::formats::share_url::decode;

const KEYS: [&str; 4] = ["use_megatron_fsdp", "lora_rank", "perform_rl_step", "pretrain_t5.py"];

#[test]
fn every_text_and_every_picture_names_what_is_not_modelled() {
    for key in KEYS {
        let mut state = decode("#v1;m=llama3-8b@2;gpus=8").0;
        state.setup.job.mark(NotModelled::of_key(key));
        let escaped = key.replace('_', "\\_");
        for format in ExportFormat::all() {
            let text = export_text(&state, format, &ExportOptions::default());
            let text = text.unwrap_or_else(|why| panic!("{}: {why}", format.id()));
            let named = text.contains(key) || text.contains(&escaped);
            assert!(named, "{} of {key}: {text}", format.id());
        }
        for (name, _) in pictures::names() {
            let picture = chart_file(&state, name, &ChartOptions::default()).unwrap();
            assert!(picture.contains("Estimate of another job"), "{name}");
            assert!(picture.contains(key), "{name}");
        }
    }
}

#[test]
fn exports_of_other_jobs_say_nothing_of_it() {
    let state = decode("#v1;m=llama3-8b@2;gpus=8").0;
    for format in ExportFormat::all() {
        let text = export_text(&state, format, &ExportOptions::default()).unwrap();
        assert!(!text.contains("not_modelled"), "{}: {text}", format.id());
        assert!(!text.contains("another job"), "{}: {text}", format.id());
    }
}
