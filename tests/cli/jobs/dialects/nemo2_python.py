import nemo_run as run
from nemo import lightning as nl
from nemo.collections.common.tokenizers.huggingface.auto_tokenizer import AutoTokenizer
from nemo.collections.llm.api import pretrain
from nemo.collections.llm.gpt.data.mock import MockDataModule
from nemo.collections.llm.gpt.model.llama import Llama3Config8B, LlamaModel
from nemo.collections.llm.recipes.optim.adam import distributed_fused_adam_with_cosine_annealing
from nemo.collections.llm.recipes.precision.mixed_precision import bf16_mixed


def our_recipe(num_nodes: int = 1) -> run.Partial:
    strategy = run.Config(nl.MegatronStrategy, tensor_model_parallel_size=2, sequence_parallel=True)
    return run.Partial(
        pretrain,
        model=run.Config(LlamaModel, config=run.Config(Llama3Config8B)),
        trainer=run.Config(nl.Trainer, num_nodes=num_nodes, devices=8, plugins=bf16_mixed(), strategy=strategy),
        data=run.Config(
            MockDataModule,
            seq_length=8192,
            global_batch_size=128,
            micro_batch_size=1,
            tokenizer=run.Config(AutoTokenizer, "meta-llama/Meta-Llama-3-8B"),
        ),
        optim=distributed_fused_adam_with_cosine_annealing(max_lr=3e-4),
    )
