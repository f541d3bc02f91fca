//! Jobs as plain data, and as links.

use super::data::{Failure, count_option, int, map, or_null, text, text_option};
use crate::config::canonical::{meaning, normalize_job};
use crate::config::raw::{RawJob, Settings};
use crate::formats::state::{Place, PresetRef, Setup, ShareState, View};
use crate::formats::{job_json, json, share_url};
use crate::value::Value;

/// What a caller passes as a job: settings under Megatron's names, a document of ours, or a link.
pub(super) fn state(job: &Value, options: &Value) -> Result<ShareState, Failure> {
    match job {
        Value::Text(link) => from_link(link),
        Value::Map(_) if job.get("schema").is_some() => {
            let failure = |message: String| Failure::new("ImportError", message);
            let root = json::parse(&job.to_string()).map_err(|e| failure(e.to_string()))?;
            let document = job_json::read(&root).map_err(|e| failure(e.to_string()))?;
            Ok(document.state)
        }
        Value::Map(_) => Ok(ShareState {
            setup: setup(job, options)?,
            compare: match options.get("compare") {
                None | Some(Value::Null) => None,
                Some(pinned) => {
                    let job = pinned.get("job").filter(|job| matches!(job, Value::Map(_)));
                    let job = job.ok_or_else(|| Failure::wrong_type("compare must have a job"))?;
                    Some(setup(job, pinned)?)
                }
            },
            view: view(options.get("view").unwrap_or(&Value::Null))?,
        }),
        _ => Err(Failure::wrong_type("the job must be an object or a link")),
    }
}

fn from_link(link: &str) -> Result<ShareState, Failure> {
    let (state, notices) = share_url::decode(link);
    match notices.first() {
        Some(notice) if state == ShareState::default() => {
            Err(Failure::new("LinkError", notice.to_string()))
        }
        None if state == ShareState::default() && !share_url::recognizes(link) => Err(
            Failure::new("LinkError", share_url::Notice::NotALink.to_string()),
        ),
        _ => Ok(state),
    }
}

fn setup(job: &Value, options: &Value) -> Result<Setup, Failure> {
    let preset = match text_option(options, "preset")? {
        None => None,
        Some(name) => {
            let known = PresetRef::read(name).filter(|(_, exact)| *exact);
            let unknown = || Failure::new("LinkError", format!("there is no preset {name}"));
            Some(known.ok_or_else(unknown)?.0)
        }
    };
    Ok(Setup {
        preset,
        job: RawJob::from_value(job),
    })
}

fn view(view: &Value) -> Result<View, Failure> {
    let stage = view.get("stage").unwrap_or(&Value::Null);
    let index = |key| {
        let index = count_option(stage, key)?.unwrap_or(0);
        u16::try_from(index).map_err(|_| Failure::wrong_type(format!("{key} is too large")))
    };
    Ok(View {
        tab: text_option(view, "tab")?.map(str::to_owned),
        stage: match stage {
            Value::Map(_) => Some(Place {
                module: index("module")?,
                pp_rank: index("pp_rank")?,
            }),
            _ => None,
        },
    })
}

/// A job as settings under Megatron's names, in canonical form: what means the default is left out.
pub(super) fn plain(job: &RawJob) -> Value {
    let job = normalize_job(job, &RawJob::default());
    let settings = |settings: &Settings| -> Vec<(String, Value)> {
        let given = settings
            .iter()
            .filter(|(id, value)| meaning(*id, Some(value)) != meaning(*id, None));
        given
            .map(|(id, value)| (id.field().name.to_owned(), value.clone()))
            .collect()
    };
    let mut entries = settings(&job.shared);
    entries.extend(job.unknown.iter().cloned());
    let modules = job.modules.iter().map(|module| {
        // A module's own value counts even where it is the default: the shared one may not be.
        let own = module.settings.iter();
        let own = own.map(|(id, value)| (id.field().name.to_owned(), value.clone()));
        let mut entries = vec![("name".to_owned(), text(&module.name))];
        entries.extend(
            module
                .rank_offset
                .iter()
                .map(|offset| ("rank_offset".to_owned(), offset.clone())),
        );
        entries.extend(own);
        Value::Map(entries)
    });
    let modules: Vec<Value> = modules.collect();
    if !modules.is_empty() {
        entries.push(("modules".to_owned(), Value::List(modules)));
    }
    Value::Map(entries)
}

pub(super) fn preset(setup: &Setup) -> Value {
    or_null(setup.preset.as_ref(), |preset| text(preset.to_string()))
}

/// The link of a job, from its `#` on. `options` may name the `preset` that it starts from, a job to `compare` with and
/// the `view`, as [`decode_link`] gives them; equal jobs then give equal links.
///
/// # Errors
/// A [`Failure`] when an argument has the wrong form.
pub fn encode_link(job: &Value, options: &Value) -> Result<Value, Failure> {
    Ok(text(share_url::encode(&state(job, options)?)))
}

/// What a link, or an address with one, says.
///
/// # Errors
/// A [`Failure`] when it is no link, or of a newer version. What single settings have wrong is in the notices.
pub fn decode_link(link: &str) -> Result<Value, Failure> {
    let share = from_link(link)?;
    let notices = share_url::decode(link).1;
    let View { tab, stage } = &share.view;
    let view = (tab.is_some() || stage.is_some()).then(|| {
        let stage = or_null(stage.as_ref(), |stage| {
            map([
                ("module", int(stage.module)),
                ("pp_rank", int(stage.pp_rank)),
            ])
        });
        map([("tab", or_null(tab.as_ref(), text)), ("stage", stage)])
    });
    let compare = or_null(share.compare.as_ref(), |pinned| {
        map([("job", plain(&pinned.job)), ("preset", preset(pinned))])
    });
    Ok(map([
        ("job", plain(&share.setup.job)),
        ("preset", preset(&share.setup)),
        ("compare", compare),
        ("view", view.unwrap_or_default()),
        (
            "notices",
            notices.iter().map(|n| text(n.to_string())).collect(),
        ),
    ]))
}
