//! Recipes of `NeMo` 2.

use megatron_memory::config::canonical::{Meaning, meaning};
use megatron_memory::config::check;
use megatron_memory::config::fields::FieldId;
use megatron_memory::formats::detect::{Format, detect};
use megatron_memory::formats::dialects::nemo2::models;
use megatron_memory::formats::import::Question;
use megatron_memory::formats::import_text::{ImportOptions, ImportedText, import_text};

use super::functions::{import_function, question};

const FILE: &str = r#"
import nemo_run as run
from nemo import lightning as nl
from nemo.collections.llm.api import finetune, pretrain
from nemo.collections.llm.gpt.data.mock import MockDataModule
from nemo.collections.llm.gpt.model.llama import Llama3Config8B, LlamaModel
from nemo.collections.llm.peft import PEFT_STR2CLS
from nemo.collections.llm.recipes.finetune_default import default_finetune_recipe
from nemo.collections.llm.recipes.optim.adam import distributed_fused_adam_with_cosine_annealing
from nemo.collections.llm.recipes.precision.mixed_precision import bf16_mixed

NAME = "ours"


@run.cli.factory(name=NAME)
def model() -> run.Config[pl.LightningModule]:
    """A model: recipe.trainer.strategy.tensor_model_parallel_size = 64"""
    conf = run.Config(Llama3Config8B)
    conf.cross_entropy_loss_fusion = False
    return run.Config(LlamaModel, config=conf)


def trainer(
    tensor_parallelism: int = 2,
    virtual_pipeline_parallelism: Optional[int] = None,
    callbacks: Optional[list[run.Config[Callback]]] = None,
    num_nodes: int = 1,
) -> run.Config[nl.Trainer]:
    strategy = run.Config(
        nl.MegatronStrategy,
        tensor_model_parallel_size=tensor_parallelism,
        virtual_pipeline_model_parallel_size=virtual_pipeline_parallelism,
        ddp=run.Config(DistributedDataParallelConfig, grad_reduce_in_fp32=False),
    )
    return run.Config(nl.Trainer, devices=8, num_nodes=num_nodes, plugins=bf16_mixed(), strategy=strategy, callbacks=callbacks)


@run.cli.factory(target=pretrain, name=NAME)
def pretrain_recipe(num_nodes: int = 2, performance_mode: bool = False, fn: Callable = pretrain) -> run.Partial:
    recipe = run.Partial(
        fn,
        model=model(),
        trainer=trainer(num_nodes=num_nodes, callbacks=[run.Config(TimingCallback)]),
        data=run.Config(MockDataModule, seq_length=4096, global_batch_size=64, micro_batch_size=1),
        log=default_log(dir=dir, name=NAME),
        optim=distributed_fused_adam_with_cosine_annealing(max_lr=3e-4),
    )
    if performance_mode:
        recipe = faster(recipe)
    return recipe


def faster(recipe: run.Partial) -> run.Partial:
    if not hasattr(recipe.trainer, "callbacks") or recipe.trainer.callbacks is None:
        recipe.trainer.callbacks = []
    overlap = run.Config(MegatronCommOverlapCallback, tp_comm_overlap=True)
    recipe.trainer.callbacks.extend([run.Config(GarbageCollectionCallback, 100, 100), overlap])
    recipe.trainer.strategy.sequence_parallel = True
    recipe.trainer.plugins.grad_reduce_in_fp32 = False
    return recipe


def finetune_recipe(num_nodes: int = 1, peft_scheme: Optional[str] = "lora", seq_length=None, packed_sequence=None) -> run.Partial:
    if packed_sequence is None:
        packed_sequence = True
    if seq_length is None:
        seq_length = 4096 if packed_sequence else 2048
    recipe = default_finetune_recipe(model(), "meta-llama/Meta-Llama-3-8B", None, NAME, num_nodes, 4, packed_sequence)
    if peft_scheme is None or peft_scheme.lower() == "none":
        recipe.trainer.strategy.tensor_model_parallel_size = 4
    elif peft_scheme.lower() in ["lora", "dora"]:
        recipe.peft = run.Config(PEFT_STR2CLS[peft_scheme.lower()])
        recipe.peft.dim = 16
        recipe.optim.config.use_distributed_optimizer = False
    else:
        raise ValueError(f"{peft_scheme}")
    recipe.data.seq_length = seq_length
    recipe.data.packed_sequence_specs.packed_sequence_size = seq_length
    return recipe
"#;

#[track_caller]
fn has(imported: &ImportedText, wanted: &[(FieldId, &str)]) {
    let job = &imported.import.state.setup.job;
    assert!(check(job).config.is_some(), "{:?}", check(job).errors().next());
    for (id, value) in wanted {
        let found = job.shared.get(*id).map(ToString::to_string);
        assert_eq!(found.as_deref().unwrap_or("nothing"), *value, "{id:?}");
    }
}

#[test]
fn each_function_is_a_job_and_so_are_its_other_arguments() {
    assert_eq!(detect(FILE).unwrap().format, Format::Nemo2Python);
    let (_, calls) = question(&import_function(FILE, Some(0))).unwrap();
    assert_eq!(
        calls,
        [
            "pretrain_recipe",
            "pretrain_recipe(performance_mode=True)",
            "finetune_recipe",
            "finetune_recipe(peft_scheme=None)",
        ]
    );
}

#[test]
fn pretraining_has_the_vocabulary_of_its_data_and_gradients_of_its_precision() {
    has(
        &import_function(FILE, Some(0)),
        &[
            (FieldId::world_size, "16"),
            (FieldId::tensor_model_parallel_size, "2"),
            (FieldId::seq_length, "4096"),
            (FieldId::global_batch_size, "64"),
            (FieldId::vocab_size, "50257"),
            (FieldId::hidden_size, "4096"),
            (FieldId::bf16, "true"),
            // `ddp.grad_reduce_in_fp32` is overwritten.
            (FieldId::accumulate_allreduce_grads_in_fp32, "true"),
            (FieldId::use_distributed_optimizer, "true"),
            (FieldId::cross_entropy_loss_fusion, "false"),
            (FieldId::ddp_bucket_size, "nothing"),
        ],
    );
}

#[test]
fn callbacks_decide_settings_when_the_layout_is_known() {
    has(
        &import_function(FILE, Some(1)),
        &[
            (FieldId::sequence_parallel, "true"),
            (FieldId::tp_comm_overlap, "true"),
            (FieldId::overlap_grad_reduce, "true"),
            (FieldId::overlap_param_gather, "true"),
            (FieldId::ddp_bucket_size, "134217728"),
            (FieldId::grad_reduce_in_bf16, "true"),
        ],
    );
    let elsewhere = FILE.replace("TimingCallback", "OurCallback");
    let marks = import_function(&elsewhere, Some(0)).import.state.setup.job.not_modelled;
    assert_eq!(marks.len(), 1, "{marks:?}");
    assert!(marks[0].key.contains("OurCallback"), "{marks:?}");
}

#[test]
fn fine_tuning_has_the_vocabulary_of_the_model() {
    has(
        &import_function(FILE, Some(2)),
        &[
            (FieldId::world_size, "4"),
            (FieldId::vocab_size, "128256"),
            (FieldId::peft_type, "\"lora\""),
            (FieldId::peft_dim, "16"),
            (FieldId::sft, "true"),
            (FieldId::seq_length, "4096"),
            (FieldId::global_batch_size, "8"),
            (FieldId::use_distributed_optimizer, "false"),
        ],
    );
    has(
        &import_function(FILE, Some(3)),
        &[
            (FieldId::peft_type, "nothing"),
            (FieldId::tensor_model_parallel_size, "4"),
            (FieldId::use_distributed_optimizer, "true"),
        ],
    );
}

#[test]
fn gpus_that_hold_no_copy_of_the_model_are_asked_for() {
    let wide = FILE.replace("tensor_parallelism: int = 2", "tensor_parallelism: int = 32");
    let imported = import_text(&wide, &ImportOptions::default()).unwrap();
    assert!(imported.import.questions.contains(&Question::Gpus));
    let gpus = imported.import.state.setup.job.shared.get(FieldId::world_size).cloned();
    assert_eq!(gpus, None);
}

#[test]
fn what_other_files_make_marks_the_job_or_is_asked_for() {
    let unknown = FILE.replace("bf16_mixed()", "our_precision()");
    let marks = import_function(&unknown, Some(0)).import.state.setup.job.not_modelled;
    assert!(marks.iter().any(|mark| mark.key == "trainer.plugins"), "{marks:?}");
    let model = FILE.replace("Llama3Config8B", "OurConfig8B");
    let questions = import_function(&model, Some(0)).import.questions;
    let name = "OurConfig8B".to_owned();
    assert!(questions.contains(&Question::Model { name }), "{questions:?}");
    for (text, why) in [
        (FILE.replace("Llama3Config8B", "T5Config3B"), "T5"),
        (
            "import nemo_run as run\nrun.run(llm.llama3_8b.pretrain_recipe())\n".to_owned(),
            "other files",
        ),
    ] {
        let error = import_text(&text, &ImportOptions::default()).unwrap_err();
        assert!(error.to_string().contains(why), "{error}");
    }
}

/// Layers, hidden size, FFN size and heads of `NeMo`'s classes, by their definitions at 8cfedd7203.
const SHAPES: &[(&str, [u64; 4])] = &[
    ("GPTConfig175B", [96, 12288, 49152, 96]),
    ("Llama2Config7B", [32, 4096, 11008, 32]),
    ("Llama2Config70B", [80, 8192, 28672, 64]),
    ("Llama3Config8B", [32, 4096, 14336, 32]),
    ("Llama3Config70B", [80, 8192, 28672, 64]),
    ("Llama31Config8B", [32, 4096, 14336, 32]),
    ("Llama31Config70B", [80, 8192, 28672, 64]),
    ("Llama31Config405B", [126, 16384, 53248, 128]),
    ("Llama32Config1B", [16, 2048, 8192, 32]),
    ("Llama32Config3B", [28, 3072, 8192, 24]),
    ("MistralConfig7B", [32, 4096, 14336, 32]),
    ("MistralNeMoConfig12B", [40, 5120, 14336, 32]),
    ("MixtralConfig8x7B", [32, 4096, 14336, 32]),
    ("MixtralConfig8x22B", [56, 6144, 16384, 48]),
    ("GemmaConfig2B", [18, 2048, 16384, 8]),
    ("GemmaConfig7B", [28, 3072, 24576, 16]),
    ("Gemma2Config2B", [26, 2304, 9216, 8]),
    ("Gemma2Config9B", [42, 3584, 14336, 16]),
    ("Gemma2Config27B", [46, 4608, 36864, 32]),
    ("Nemotron4Config15B", [32, 6144, 24576, 48]),
    ("Nemotron4Config340B", [96, 18432, 73728, 96]),
    ("Qwen25Config3B", [36, 2048, 11008, 16]),
    ("Qwen25Config7B", [28, 3584, 18944, 28]),
    ("Qwen25Config14B", [48, 5120, 13824, 40]),
    ("Qwen25Config32B", [64, 5120, 27648, 40]),
    ("Qwen25Config72B", [80, 8192, 29568, 64]),
    ("Qwen3Config600M", [28, 1024, 3072, 16]),
    ("Qwen3Config1P7B", [28, 2048, 6144, 16]),
    ("Qwen3Config4B", [36, 2560, 9728, 32]),
    ("Qwen3Config8B", [36, 4096, 12288, 32]),
    ("Qwen3Config14B", [40, 5120, 17408, 40]),
    ("Qwen3Config32B", [64, 5120, 25600, 64]),
    ("Qwen3Config30B_A3B", [48, 2048, 6144, 32]),
    ("Qwen3Config235B_A22B", [94, 4096, 12288, 64]),
    ("DeepSeekV2Config", [60, 5120, 12288, 128]),
    ("DeepSeekV2LiteConfig", [27, 2048, 10944, 16]),
    ("DeepSeekV3Config", [61, 7168, 18432, 128]),
];

#[test]
fn classes_have_the_shapes_of_their_presets() {
    for (class, [layers, hidden, ffn, heads]) in SHAPES {
        let text = FILE
            .replace("Llama3Config8B", class)
            .replace("num_nodes: int = 2", "num_nodes: int = 512");
        assert!(models::find(class).is_some(), "{class}");
        let job = import_function(&text, Some(0)).import.state.setup.job;
        let found = |id| job.shared.get(id).map(ToString::to_string);
        for (id, wanted) in [
            (FieldId::num_layers, layers),
            (FieldId::hidden_size, hidden),
            (FieldId::ffn_hidden_size, ffn),
            (FieldId::num_attention_heads, heads),
        ] {
            let found = found(id).unwrap_or_else(|| (4 * hidden).to_string());
            assert_eq!(found, wanted.to_string(), "{class} {id:?}");
        }
    }
}

#[test]
fn attention_of_gemma_2_is_unfused_and_under_a_cap() {
    let text = FILE.replace("Llama3Config8B", "Gemma2Config9B");
    let read = |text: &str| import_function(text, Some(0)).import.state.setup.job;
    let job = read(&text);
    let found = |id| job.shared.get(id).map(|value| value.to_string().replace('"', ""));
    for (id, wanted) in [
        (FieldId::attention_backend, "unfused"),
        (FieldId::attn_logit_softcapping, "50"),
        (FieldId::final_logit_softcapping, "30"),
    ] {
        assert_eq!(found(id).as_deref(), Some(wanted), "{id:?}");
    }
    assert_eq!(job.not_modelled, []);
    // A recipe may take the caps off.
    let uncapped = text.replace(
        "conf.cross_entropy_loss_fusion = False",
        "conf.attn_logit_softcapping = None",
    );
    let job = read(&uncapped);
    let id = FieldId::attn_logit_softcapping;
    assert_eq!(meaning(id, job.shared.get(id)), Meaning::Nothing);
}
