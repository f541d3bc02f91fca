//! Out-of-memory errors of all years, alone and in threads.

use megatron_memory::formats::import_text::{ImportOptions, import_text};
use megatron_memory::formats::out_of_memory::{FailedPhase, OutOfMemory, PrintedAmount, read};
use megatron_memory::units::{Bytes, GIB, MIB};
use proptest::prelude::*;

/// The only error of a text.
fn one(text: &str) -> OutOfMemory {
    let errors = read(text);
    assert_eq!(errors.len(), 1, "{errors:?}");
    errors.into_iter().next().unwrap()
}

/// Amounts in hundredths of a GiB.
fn hundredths(amount: Option<PrintedAmount>) -> Option<u64> {
    amount.map(|amount| (amount.bytes.0 * 100 + GIB / 2) / GIB)
}

/// Requested, capacity, free, allocated and unallocated in hundredths of a GiB.
fn amounts(error: &OutOfMemory) -> [Option<u64>; 5] {
    let all = [
        error.requested,
        error.capacity,
        error.free,
        error.allocated,
        error.unallocated,
    ];
    all.map(hundredths)
}

#[test]
fn messages_of_all_years_are_read() {
    let cases = [
        (
            "RuntimeError: CUDA out of memory. Tried to allocate 9.33 GiB (GPU 0; 10.76 GiB total capacity; 5.17 GiB already allocated; 4.48 GiB free; 5.28 GiB reserved in total by PyTorch)",
            [Some(933), Some(1076), Some(448), Some(517), Some(11)],
        ),
        (
            "RuntimeError: CUDA out of memory. Tried to allocate 294.00 MiB (GPU 0; 7.79 GiB total capacity; 6.27 GiB already allocated; 61.62 MiB free; 617.88 MiB cached)",
            [Some(29), Some(779), Some(6), Some(627), Some(0)],
        ),
        (
            "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 786.00 MiB (GPU 0; 31.74 GiB total capacity; 28.82 GiB already allocated; 577.12 MiB free; 29.97 GiB reserved in total by PyTorch) If reserved memory is >> allocated memory try setting max_split_size_mb to avoid fragmentation.",
            [Some(77), Some(3174), Some(56), Some(2882), Some(115)],
        ),
        (
            "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 3.00 GiB. GPU 0 has a total capacty of 23.65 GiB of which 1.66 GiB is free. Including non-PyTorch memory, this process has 20.81 GiB memory in use. Of the allocated memory 12.09 GiB is allocated by PyTorch, and 4.84 GiB is reserved by PyTorch but unallocated.",
            [Some(300), Some(2365), Some(166), Some(1209), Some(484)],
        ),
        (
            "torch.OutOfMemoryError: HIP out of memory. Tried to allocate 11.74 GiB. GPU 7 has a total capacity of 251.98 GiB of which 6.94 GiB is free. Of the allocated memory 229.04 GiB is allocated by PyTorch, and 12.46 GiB is reserved by PyTorch but unallocated.",
            [Some(1174), Some(25198), Some(694), Some(22904), Some(1246)],
        ),
        (
            "RuntimeError: NPU out of memory. Tried to allocate 52.00 MiB (NPU 0; 60.96 GiB total capacity; 59.36 GiB already allocated; 59.36 GiB current active; 22.00 MiB free; 59.60 GiB reserved in total by PyTorch) If reserved memory is >> allocated memory try setting max_split_size_mb",
            [Some(5), Some(6096), Some(2), Some(5936), Some(24)],
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(amounts(&one(text)), expected, "{text}");
    }
}

#[test]
fn ranks_processes_and_pools_are_told_apart() {
    let error = one(
        "[rank15]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.63 GiB. GPU 7 has a total capacity of 79.11 GiB of which 2.61 GiB is free. Process 1990324 has 3.23 GiB memory in use. Process 3 has 17179869184.00 GiB memory in use. Including non-PyTorch memory, this process has 71.00 GiB memory in use. Of the allocated memory 48.15 GiB is allocated by PyTorch, with 50.00 MiB allocated in private pools (e.g., CUDA Graphs), and 3.49 GiB is reserved by PyTorch but unallocated.",
    );
    assert_eq!(error.rank, Some(15));
    assert_eq!(hundredths(error.in_process), Some(7100));
    let others: Vec<_> = error
        .other_processes
        .iter()
        .map(|amount| hundredths(Some(*amount)))
        .collect();
    assert_eq!(others, [Some(323)]);
    assert_eq!(error.in_private_pools.unwrap().bytes, Bytes(50 * MIB));
    assert_eq!(hundredths(error.unallocated), Some(349));
    // A process of 0 bytes is one of which the driver tells nothing.
    let unknown = one(
        "CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.11 GiB of which 1.00 GiB is free. Including non-PyTorch memory, this process has 0 bytes memory in use. Of the allocated memory 48.15 GiB is allocated by PyTorch, and 3.49 GiB is reserved by PyTorch but unallocated.",
    );
    assert_eq!(unknown.in_other_processes(), None);
}

#[test]
fn a_wrapped_message_is_one_and_ranks_that_say_the_same_are_one() {
    let wrapped = "torch.OutOfMemoryError: CUDA out of memory.\nTried to allocate 58.15 GiB. GPU 0 has a\ntotal capacity of 139.81 GiB of which 50.98\nGiB is free. Of the allocated memory 82.55 GiB\nis allocated by PyTorch, and 6.28 GiB is reserved by PyTorch but\nunallocated.\n";
    assert_eq!(
        amounts(&one(wrapped)),
        [Some(5815), Some(13981), Some(5098), Some(8255), Some(628)]
    );
    let line = "[rank0]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.11 GiB of which 1.00 GiB is free.";
    let both = format!("{line}\n{}\n", line.replace("rank0", "rank1"));
    assert_eq!(read(&both).len(), 1);
    let different = format!("{line}\n{}\n", line.replace("2.00 GiB", "3.00 GiB"));
    assert_eq!(read(&different).len(), 2);
}

#[test]
fn errors_without_amounts_are_read_where_nothing_better_is() {
    let driver = "torch.AcceleratorError: CUDA error: out of memory";
    assert_eq!(one(driver).requested, None);
    let both = format!("{driver}\nCUDA out of memory. Tried to allocate 2.00 GiB.");
    assert!(one(&both).requested.is_some());
    for code in [
        "except torch.cuda.OutOfMemoryError: pass",
        "# --micro-batch-size 2 runs out of memory",
        "the job ran out of memory",
    ] {
        assert_eq!(read(code), [], "{code}");
    }
}

#[test]
fn the_traceback_tells_the_phase() {
    let frames: [(&str, Option<FailedPhase>); 9] = [
        (
            "File \"/m/megatron/core/models/gpt/gpt_model.py\", line 7, in forward\n    x = y\n  File \"/m/megatron/core/tensor_parallel/cross_entropy.py\", line 5, in vocab_parallel_cross_entropy\n    a = b",
            Some(FailedPhase::Loss),
        ),
        (
            "File \"/m/megatron/core/transformer/mlp.py\", line 7, in forward\n    x = y",
            Some(FailedPhase::Forward),
        ),
        (
            "File \"/t/torch/autograd/graph.py\", line 825, in _engine_run_backward\n    return x",
            Some(FailedPhase::Backward),
        ),
        (
            "File \"/m/schedules.py\", line 3, in backward_step\n    x\n  File \"/m/random.py\", line 9, in backward\n    y\n  File \"/m/moe/experts.py\", line 5, in forward\n    z",
            Some(FailedPhase::Backward),
        ),
        (
            "File \"/m/megatron/core/optimizer/distrib_optimizer.py\", line 2093, in step_with_ready_grads\n    x = y",
            Some(FailedPhase::OptimizerStep),
        ),
        (
            "File \"/m/megatron/training/checkpointing.py\", line 3, in save_checkpoint\n    x\n  File \"/m/x.py\", line 9, in forward\n    y",
            Some(FailedPhase::SavingCheckpoint),
        ),
        (
            "File \"/m/megatron/training/training.py\", line 3, in get_model\n    x\n  File \"/m/ddp.py\", line 9, in __init__\n    y",
            Some(FailedPhase::Setup),
        ),
        (
            "File \"/m/cuda_graphs.py\", line 3, in create_cudagraphs\n    with torch.cuda.graph(g):",
            Some(FailedPhase::GraphCapture),
        ),
        ("File \"/m/x.py\", line 3, in main\n    run()", None),
    ];
    let message = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.";
    for (frames, phase) in frames {
        let plain = format!("Traceback (most recent call last):\n  {frames}\n    ^^^^^\n{message}\n");
        assert_eq!(one(&plain).phase, phase, "{plain}");
        // Two ranks may print at once.
        let both = |line| {
            [
                format!("[rank3]: {line}"),
                "[rank4]:   File \"x.py\", line 1, in save_checkpoint".to_owned(),
            ]
        };
        let marked: Vec<String> = plain.lines().flat_map(both).collect();
        let marked = marked.join("\n");
        let error = one(&marked);
        assert_eq!((error.phase, error.rank), (phase, Some(3)), "{marked}");
    }
}

#[test]
fn the_job_of_a_thread_is_imported_without_its_messages_and_prose() {
    let script = "torchrun --nproc_per_node 8 pretrain_gpt.py \\\n  --num-layers 32 --hidden-size 4096 --num-attention-heads 32 \\\n  --seq-length 4096 --max-position-embeddings 4096 --micro-batch-size 2 --global-batch-size 16 --bf16 --vocab-size 32000\n";
    let message = "Traceback (most recent call last):\n  File \"pretrain_gpt.py\", line 3, in forward\n    x = f(--y)\ntorch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.11 GiB of which 1.00 GiB is free.\n";
    let prose =
        "I'm training a 7B model and it doesn't fit, although the documentation says so.\nDoes anybody know why?\n";
    let alone = import_text(script, &ImportOptions::default())
        .unwrap()
        .import
        .state
        .setup
        .job;
    for thread in [
        format!("{prose}{script}{message}"),
        format!("{prose}\n{script}\nThis is what I get:\n\n{message}"),
        format!("{prose}```bash\n{script}```\nand then\n```\n{message}```\nThank you, it's urgent!\n"),
        format!("{message}{prose}{script}"),
    ] {
        assert_eq!(read(&thread).len(), 1, "{thread}");
        let import = import_text(&thread, &ImportOptions::default()).unwrap().import;
        assert_eq!(import.state.setup.job, alone, "{thread}");
    }
}

proptest! {
    #[test]
    fn no_text_panics(text in "(?s)(CUDA out of memory\\. Tried to allocate |Process |GiB |total capacity of |\\[rank|File \"|[0-9.]{0,30}|\\PC|\n){0,40}") {
        let _ = read(&text);
        let _ = import_text(&text, &ImportOptions::default());
    }

    #[test]
    fn what_was_printed_is_a_print_of_it(bytes in 0_u64..(1 << 42)) {
        let printed = |unit: u64| format!("{}.{:02}", bytes / unit, (bytes % unit) * 100 / unit);
        for (unit, name) in [(MIB, "MiB"), (GIB, "GiB")] {
            let text = format!("CUDA out of memory. Tried to allocate {} {name}. GPU 0 has", printed(unit));
            let requested = read(&text)[0].requested.unwrap();
            prop_assert!(requested.most().0 + unit / 100 >= bytes && requested.least().0 <= bytes);
        }
    }
}
