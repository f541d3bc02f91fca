/** A whole number: a JavaScript number up to 2^53 - 1, a BigInt beyond, so that none is rounded. */
export type Exact = number | bigint;

/** A job: Megatron-LM's argument names in snake case. Unknown keys give a warning. */
export interface Job {
  num_layers?: number | string;
  hidden_size?: number | string;
  [argument: string]: unknown;
}

/** Parameters that one rank holds, or that a whole model has. */
export interface Parameters {
  total: Exact;
  /** Split over tensor-parallel ranks. */
  tp_sharded: Exact;
  /** In full on every tensor-parallel rank. */
  replicated: Exact;
  /** Routed experts. */
  expert: Exact;
  /** By component, such as `attention` or `mtp_routed_experts`. */
  components: Record<string, Exact>;
}

export interface ModelParameters extends Parameters {
  /** Parameters that one token meets. */
  active: Exact;
}

export interface Chunk {
  vp_stage: number;
  /** Decoder layers, counted over the whole model from 0. */
  layers: number[];
  parameters: Parameters;
}

export interface Stage {
  pp_rank: number;
  chunks: Chunk[];
  /** Bytes by bucket, and their `total`. */
  memory: Record<string, Exact>;
}

export interface Derived {
  world_size: Exact;
  data_parallel_size: Exact;
  expert_data_parallel_size: Exact;
  expert_tensor_parallel_size: Exact;
  virtual_pipeline_model_parallel_size: Exact;
  padded_vocab_size: Exact;
  num_microbatches: Exact;
  global_batch_size: Exact;
  ffn_hidden_size: Exact;
  kv_channels: Exact;
  experts_per_rank: Exact;
  sequence_parallel: boolean;
}

export interface ModuleEstimate {
  name: string;
  rank_offset: Exact;
  ranks: Exact;
  derived: Derived;
  parameters: ModelParameters;
  stages: Stage[];
}

/** What `estimate` returns; the top level repeats the first module. */
export interface Estimate {
  derived: Derived;
  parameters: ModelParameters;
  stages: Stage[];
  /** Pipeline rank of the stage that needs most memory. */
  worst_stage: number;
  /** Index of its module. */
  worst_module: number;
  modules: ModuleEstimate[];
  warnings: string[];
  assumptions: string[];
}

export interface Problem {
  /** Index of the module it is about. */
  module: number;
  /** Every argument involved. */
  fields: string[];
  severity: "error" | "warning";
  /** A stable name of the rule. */
  rule: string;
  message: string;
  /** Changes that would mend it, best first; `null` means the default. */
  fixes: { field: string; value: unknown }[];
}

/** What `estimate` throws for a job that Megatron would refuse. */
export interface ConfigError extends Error {
  name: "ConfigError";
  problems: Problem[];
}

/** One module's parallelism, under Megatron's names. */
export interface ModuleParallelism {
  tensor_model_parallel_size: number;
  pipeline_model_parallel_size: number;
  context_parallel_size: number;
  expert_model_parallel_size: number;
  expert_tensor_parallel_size: number;
  /** `null` until it is derived from the world size. */
  data_parallel_size: number | null;
  rank_offset: number;
}

export interface ComponentSpec {
  name: string;
  result: ModuleParallelism;
}

/** What one rank is. */
export interface RankInfo {
  rank: Exact;
  module: string;
  coordinates: {
    dense: { tp: number; cp: number; dp: number; pp: number };
    expert: { expt_tp: number; ep: number; expt_dp: number; pp: number };
  };
  /** Members of its process groups, by Megatron's names; groups of more than 4096 ranks are left out. */
  groups: Record<string, Exact[]>;
  seeds: { base: Exact; tensor_parallel: Exact; expert_parallel: Exact };
  /** Bytes by bucket, and their `total`. */
  memory: Record<string, Exact>;
}
