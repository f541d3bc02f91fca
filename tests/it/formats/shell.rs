//! Command lines and launch scripts.

#![allow(clippy::format_collect, reason = "scripts are put together from a few lines")]

use megatron_memory::formats::shell::{Answers, Launch, NoteKind, ShellImport, read};
use proptest::prelude::*;
use std::time::{Duration, Instant};

fn plain(script: &str) -> ShellImport {
    read(script, Answers::default())
}

/// The flags as one line of text: names with their values, in order.
fn flags(import: &ShellImport) -> String {
    let shown = import.flags().iter().map(|flag| {
        let values: Vec<&str> = flag.values.iter().map(|v| v.text.as_str()).collect();
        if values.is_empty() {
            flag.name.clone()
        } else {
            format!("{}={}", flag.name, values.join("|"))
        }
    });
    shown.collect::<Vec<_>>().join(" ")
}

fn unresolved(import: &ShellImport) -> Vec<&str> {
    import.unresolved().map(|v| v.name.as_str()).collect()
}

#[test]
fn words_become_flags() {
    for (script, expected) in [
        ("--num-layers 4 --swiglu", "num-layers=4 swiglu"),
        ("--num-layers=4", "num-layers=4"),
        ("--moe-layer-freq=([0]*3+[1]*58)", "moe-layer-freq=([0]*3+[1]*58)"),
        (
            "--moe-layer-freq ([0]*1+[1]*26) --bf16",
            "moe-layer-freq=([0]*1+[1]*26) bf16",
        ),
        ("--moe-layer-freq [0]*3+[1]*58", "moe-layer-freq=[0]*3+[1]*58"),
        (
            "--window-size 128,0 --null-tokenizer-pad-id -1",
            "window-size=128,0 null-tokenizer-pad-id=-1",
        ),
        (
            "--rampup-batch-size 32 32 1000 --bf16",
            "rampup-batch-size=32|32|1000 bf16",
        ),
        (
            "--recompute-modules mlp moe layernorm",
            "recompute-modules=mlp|moe|layernorm",
        ),
        ("--num-layers 4\n--hidden-size 8\n", "num-layers=4 hidden-size=8"),
        (
            "--num-layers 4 \\\n  --hidden-size 8 # the width\n",
            "num-layers=4 hidden-size=8",
        ),
        // Blanks after the backslash come with copying from web pages.
        ("--num-layers 4 \\  \n  --hidden-size 8", "num-layers=4 hidden-size=8"),
        (
            "--num-layers 4 \\\r\n --hidden-size 8\r\n",
            "num-layers=4 hidden-size=8",
        ),
        (
            "'--fp8-format hybrid' \"--fp8-recipe mxfp8\"",
            "fp8-format=hybrid fp8-recipe=mxfp8",
        ),
        (
            "--pipeline-model-parallel-layout 'Et*3|(tt|)*29m|L'",
            "pipeline-model-parallel-layout=Et*3|(tt|)*29m|L",
        ),
        (
            "python pretrain_gpt.py --num-layers 4 2>&1 | tee log.txt",
            "num-layers=4",
        ),
        (
            "cd /x && python pretrain_gpt.py --num-layers 4 > out --bf16",
            "num-layers=4 bf16",
        ),
        (
            "megatron sft --padding_free true --tensor_model_parallel_size 2",
            "padding_free=true tensor_model_parallel_size=2",
        ),
        (
            "NPROC_PER_NODE=8 megatron pt --sequence_parallel false",
            "sequence_parallel=false",
        ),
        ("", ""),
        ("just some words", ""),
    ] {
        assert_eq!(flags(&plain(script)), expected, "{script}");
    }
}

#[test]
fn arrays_and_strings_are_followed() {
    let script = r#"
TP=2
MODEL=(
    --num-layers 32   # depth
    # --num-layers 64
    --hidden-size $((64*128))
    "--ffn-hidden-size 14336"
)
MODEL+=(--swiglu)
EXTRA="--bf16 \
  --seq-length 4096"
torchrun --nproc_per_node 8 pretrain_gpt.py "${MODEL[@]}" \
    --tensor-model-parallel-size ${TP} $EXTRA
"#;
    let import = plain(script);
    assert_eq!(
        flags(&import),
        "num-layers=32 hidden-size=8192 ffn-hidden-size=14336 swiglu tensor-model-parallel-size=2 bf16 seq-length=4096"
    );
    let lines: Vec<u32> = import.flags().iter().map(|flag| flag.line).collect();
    assert_eq!(lines, [4, 6, 7, 9, 13, 10, 11]);
    assert_eq!(import.command.program.unwrap().text, "pretrain_gpt.py");
    assert!(import.notes.is_empty(), "{:?}", import.notes);
}

#[test]
fn quoting_keeps_words_together() {
    let import = plain("A=\"--a 1\"\npython x.py \"$A\" '$B' \"--tokenizer-model\" \"my model\"");
    assert_eq!(flags(&import), "a=1 tokenizer-model=my model");
    assert_eq!(import.command.arguments[0].text, "$B");
}

#[test]
fn arithmetic_has_the_precedence_and_the_signs_of_bash() {
    for (expression, expected) in [
        ("1+2*3", "7"),
        ("(1+2)*3", "9"),
        ("7/2", "3"),
        ("-7/2", "-3"),
        ("-7%3", "-1"),
        ("A*B", "12"),
        ("$A*${B}", "12"),
        ("A > B", "0"),
        ("A > B ? 1 : 2", "2"),
        ("(A > B) ? B++ : B", "4"),
        ("A + 1 == B", "1"),
        ("- -A", "3"),
        ("C = A * 2", "6"),
        ("A++", "3"),
        ("10 - 3 - 2", "5"),
        ("9223372036854775807", "9223372036854775807"),
    ] {
        let script = format!("A=3\nB=4\npython x.py --x $(({expression}))");
        assert_eq!(flags(&plain(&script)), format!("x={expected}"), "{expression}");
    }
    for wrong in [
        "1/0",
        "9223372036854775807+1",
        "1+",
        "0.5*2",
        "2**10",
        "A > B ? 1",
        "0x10",
        "010",
        "A==3 && B!=3",
        "A==3 || B",
        "1 << 4",
        "A | 1",
        "A & 1",
        "A ^ 1",
        "~A",
        "!A",
        "++A",
        "--A",
        "A += 2",
        "A, B",
    ] {
        let import = plain(&format!("A=3\nB=4\npython x.py --x $(({wrong}))"));
        assert!(import.flags()[0].values[0].unresolved, "{wrong}");
        assert!(!import.notes.is_empty(), "{wrong}");
    }
}

#[test]
fn defaults_are_taken_and_reported() {
    for (expression, expected) in [
        ("${X:-8}", "8"),
        ("${X-8}", "8"),
        ("${X:=8}", "8"),
        ("${EMPTY:-8}", "8"),
        ("${SET:-8}", "3"),
        ("${SET:+8}", "8"),
        ("${X:-${SET}}", "3"),
        ("${X:-\"8\"}", "8"),
        ("${X:-$((2*4))}", "8"),
        ("${#SET}", "1"),
    ] {
        let script = format!("SET=3\nEMPTY=\npython x.py --x {expression}");
        assert_eq!(flags(&plain(&script)), format!("x={expected}"), "{expression}");
    }
    let import = plain("TP=${TP:-8}\npython x.py --tensor-model-parallel-size $TP");
    let variable = &import.variables[0];
    assert_eq!(
        (
            variable.name.as_str(),
            variable.default.as_deref(),
            variable.lines.as_slice()
        ),
        ("TP", Some("8"), [1].as_slice())
    );
    assert!(unresolved(&import).is_empty());
}

#[test]
fn what_nobody_sets_is_asked_for() {
    let script = "SIZE=$2\npython x.py --num-layers $LAYERS --hidden-size ${SIZE} --load $LOAD \
                  --global-batch-size $((MBS * 4))";
    let import = plain(script);
    assert_eq!(
        flags(&import),
        "num-layers=${LAYERS} hidden-size=${SIZE} load=${LOAD} global-batch-size=$((MBS * 4))"
    );
    // The path of a checkpoint does not matter, so it is not asked for.
    assert_eq!(unresolved(&import), ["SIZE", "LAYERS", "MBS"]);
    let answers = [("LAYERS", "4"), ("SIZE", "8"), ("MBS", "2")];
    let answers: Vec<_> = answers.map(|(k, v)| (k.to_owned(), v.to_owned())).into();
    let import = read(
        script,
        Answers {
            variables: &answers,
            branches: &[],
        },
    );
    assert_eq!(
        flags(&import),
        "num-layers=4 hidden-size=8 load=${LOAD} global-batch-size=8"
    );
    assert!(unresolved(&import).is_empty());
}

#[test]
fn a_missing_array_does_not_become_a_value() {
    let import = plain("python x.py --bf16 ${MODEL_ARGS[@]} --num-layers 2 ${MORE}");
    assert_eq!(flags(&import), "bf16 num-layers=2");
    assert_eq!(unresolved(&import), ["MODEL_ARGS", "MORE"]);
}

#[test]
fn decidable_conditions_are_decided() {
    for (setup, condition, holds) in [
        ("A=1", "[ \"$A\" = 1 ]", true),
        ("A=1", "[[ $A == 2 ]]", false),
        ("A=fp8_x", "[[ $A == fp8* ]]", true),
        ("A=fp8", "[[ $A != fp8 ]]", false),
        ("A=4", "[ $A -gt 3 ]", true),
        ("A=4", "[[ $A -le 3 ]]", false),
        ("A=4", "(( A > 3 ))", true),
        ("A=", "[ -z \"$A\" ]", true),
        ("A=x", "[ -n \"$A\" ]", true),
        ("A=1", "[[ $A == 1 && $A != 2 ]]", true),
        ("A=1", "[[ $A == 2 || $A == 1 ]]", true),
        ("A=1", "! [ $A = 1 ]", false),
        ("A=1", "[[ ! ( $A == 2 ) ]]", true),
        ("A=1", "[ $A = 1 ] && [ $A != 2 ]", true),
        ("A=${A:-1}", "[ $A = 1 ]", true),
        ("", "true", true),
    ] {
        let script = format!(
            "{setup}\nX=(--x)\nif {condition}; then\n X+=(--bf16)\nelse\n X+=(--fp16)\nfi\npython x.py ${{X[@]}}"
        );
        let import = plain(&script);
        let expected = if holds { "x bf16" } else { "x fp16" };
        assert_eq!(flags(&import), expected, "{condition}");
        let choice = &import.choices[0];
        assert!(choice.decided, "{condition}");
        assert_eq!(
            (choice.branches[0].taken, choice.branches[1].taken),
            (holds, !holds),
            "{condition}"
        );
    }
}

#[test]
fn an_undecided_choice_shows_both_sides() {
    let script = "ARGS=(--swiglu)
if [ \"$USE_FP8\" = 1 ]; then
    ARGS+=(--fp8-format hybrid)
fi
case $SIZE in
  7B) LAYERS=32 ;;
  13B|14B) LAYERS=40; ARGS+=(--bf16) ;;
esac
[[ $SP == yes ]] && ARGS+=(--sequence-parallel)
python x.py ${ARGS[@]} --num-layers $LAYERS";
    let import = plain(script);
    assert_eq!(flags(&import), "swiglu num-layers=${LAYERS}");
    let shown: Vec<_> = import
        .choices
        .iter()
        .map(|choice| {
            assert!(!choice.decided);
            let labels: Vec<_> = choice.branches.iter().map(|b| b.label.as_str()).collect();
            (choice.line, choice.variables.join(","), labels.join(" / "))
        })
        .collect();
    assert_eq!(
        shown,
        [
            (2, "USE_FP8".into(), "[ \"$USE_FP8\" = 1 ]".into()),
            (5, "SIZE".into(), "7B / 13B|14B".into()),
            (9, "SP".into(), "[[ $SP == yes ]]".into()),
        ]
    );
    assert_eq!(import.choices[0].branches[0].flags[0].name, "fp8-format");
    assert_eq!(import.choices[1].branches[1].assignments[0].value.text, "40");
    // Answering the variable decides; so does naming the branch.
    let size = [("SIZE".to_owned(), "14B".to_owned())];
    let import = read(
        script,
        Answers {
            variables: &size,
            branches: &[(2, 0)],
        },
    );
    assert_eq!(flags(&import), "swiglu fp8-format=hybrid bf16 num-layers=40");
}

#[test]
fn a_variable_that_nobody_mentions_counts_as_unset() {
    let import = plain("if [ -z \"$TP\" ]; then TP=4; fi\npython x.py --tensor-model-parallel-size $TP");
    assert_eq!(flags(&import), "tensor-model-parallel-size=4");
    assert!(!import.choices[0].decided);
    assert!(import.choices[0].branches[0].taken);
}

#[test]
fn loops_that_are_bounded_are_followed() {
    let script = "LAYERS=5
DENSE=2
freq=()
for ((i=0; i<LAYERS; i++)); do
  if (( i < DENSE )); then
    freq+=(0)
  else
    freq+=(1)
  fi
done
printf -v FREQ \"[%s]\" \"$(IFS=', '; echo \"${freq[*]}\")\"
for n in a b; do ARGS+=\" --$n 1\"; done
MODEL_ARGS=(--moe-layer-freq $FREQ $ARGS)";
    let import = plain(script);
    assert_eq!(flags(&import), "moe-layer-freq=[0,0,1,1,1] a=1 b=1");
    assert_eq!(
        import.notes.iter().map(|n| n.kind.clone()).collect::<Vec<_>>(),
        [NoteKind::FlagsOfVariables(vec!["MODEL_ARGS".into()])]
    );
    let endless = plain("for ((i=0; i<9; )); do A=1; done\npython x.py --bf16");
    assert_eq!(flags(&endless), "bf16");
    assert_eq!(endless.notes[0].kind, NoteKind::Loop);
}

#[test]
fn constructs_that_no_launch_script_needs_are_named() {
    let import = plain("let N=2*4\nset -ex\nset -- --bf16\npython x.py --num-layers 4 --hidden-size $N");
    let notes: Vec<String> = import.notes.iter().map(ToString::to_string).collect();
    assert_eq!(
        notes,
        [
            "line 1: `let` is not followed: write the values out",
            "line 3: `set --` is not followed: write the values out"
        ]
    );
}

#[test]
fn functions_and_nested_shells_are_followed() {
    let script = "launch() {
  local tp=$1
  shift
  torchrun --nproc_per_node 4 pretrain_gpt.py --tensor-model-parallel-size $tp \"$@\"
}
launch 2 --bf16";
    assert_eq!(flags(&plain(script)), "tensor-model-parallel-size=2 bf16");
    let script = "CMD=\"cd /src;
python pretrain_gpt.py --num-layers 4 \\
   --hidden-size 8\"
srun -N 2 --gpus-per-node=8 --container-image x bash -c \"${CMD}\"";
    let import = plain(script);
    assert_eq!(flags(&import), "num-layers=4 hidden-size=8");
    assert_eq!(import.launch.world_size(), Some(16));
    assert_eq!(import.flag("hidden_size").unwrap().line, 3);
    let script = "sbatch <<EOF
#!/bin/bash
#SBATCH --nodes=4
#SBATCH --gpus-per-node=8
srun python pretrain_gpt.py --num-layers 4
EOF";
    let import = plain(script);
    assert_eq!(flags(&import), "num-layers=4");
    assert_eq!(import.launch.world_size(), Some(32));
}

#[test]
fn launchers_say_how_many_gpus() {
    for (script, gpus) in [
        ("torchrun --nproc_per_node 8 --nnodes 4 x.py --bf16", Some(32)),
        ("torchrun --nproc-per-node=8 x.py --bf16", Some(8)),
        (
            "G=8\nN=2\ntorchrun --nproc_per_node $G --nnodes $N x.py --bf16",
            Some(16),
        ),
        (
            "python -m torch.distributed.launch --nproc_per_node 4 --nnodes 2 x.py --bf16",
            Some(8),
        ),
        (
            "#SBATCH -N 16\n#SBATCH --ntasks-per-node=8\nsrun python x.py --bf16",
            Some(128),
        ),
        (
            "#SBATCH --nodes=2\n#SBATCH --gres=gpu:h100:8\nsrun python x.py --bf16",
            Some(16),
        ),
        ("srun -N4 --ntasks-per-node=4 python x.py --bf16", Some(16)),
        ("NNODES=2 NPROC_PER_NODE=8 megatron sft --bf16 true", Some(16)),
        // What converts the checkpoint afterwards, or trains nothing, has numbers of its own.
        (
            "NPROC_PER_NODE=8 megatron sft --bf16 true\nNPROC_PER_NODE=2 megatron export --load x --to_hf true --bf16 true",
            Some(8),
        ),
        (
            "NPROC_PER_NODE=2 swift export --to_mcore true --model x\nNPROC_PER_NODE=4 megatron sft --bf16 true",
            Some(4),
        ),
        ("export WORLD_SIZE=64\npython x.py --bf16", Some(64)),
        ("torchrun --nproc_per_node 8 --nnodes $N x.py --bf16", None),
        ("torchrun --nproc_per_node gpu x.py --bf16", None),
        ("python x.py --bf16", None),
        ("mpirun -np 16 python x.py --bf16", Some(16)),
        ("torchrun --nproc_per_node=8 $SCRIPT --bf16", Some(8)),
    ] {
        let import = plain(script);
        assert_eq!(import.launch.world_size(), gpus, "{script}");
        assert_eq!(import.flags()[0].name, "bf16", "{script}");
    }
    assert_eq!(plain("").launch, Launch::default());
}

#[test]
fn hydra_overrides_are_arguments() {
    let import = plain(
        "python -m verl.trainer.main_ppo --config-path=c --config-name x \\\n algorithm.kl=0.1 +a.b=[1,2] 'c.d=\"x y\"'",
    );
    assert_eq!(import.command.program.unwrap().text, "verl.trainer.main_ppo");
    let arguments: Vec<_> = import
        .command
        .arguments
        .iter()
        .map(|w| (w.text.as_str(), w.line))
        .collect();
    assert_eq!(
        arguments,
        [("algorithm.kl=0.1", 2), ("+a.b=[1,2]", 2), ("c.d=\"x y\"", 2)]
    );
}

/// Strings of options that are put together and evaluated, with everything from the command line.
#[test]
fn a_script_of_positional_parameters_is_answered_by_name() {
    let script = r#"
SIZE=$2
TP=${10}
AC=${19}
GPUS=`nvidia-smi -L | wc -l`
if [ $SIZE = 8B ]; then
    LAYERS=36
    gqa_options=" \
        --group-query-attention \
        --num-query-groups 8"
    moe_options=""
elif [ $SIZE = A3B ]; then
    LAYERS=48
    moe_options=" \
        --num-experts 128 \
        --moe-layer-freq '([1]*48)' \
        "
fi
if [ -z ${MP_VP} ]; then
    vp_option=""
else
    vp_option=" --num-layers-per-virtual-pipeline-stage ${MP_VP}"
fi
if [ $AC = full ]; then
    ac_option=" --recompute-method uniform --recompute-granularity full"
elif [ $AC = none ]; then
    ac_option=" \
    "
fi
sp=$(( ($TP > 1) ? 1 : 0 ))
if [ $sp -eq 1 ] && [ $SIZE != 8B ]; then
    ac_option="${ac_option} --sequence-parallel"
fi
options="  \
    --num-layers ${LAYERS} \
    --tensor-model-parallel-size ${TP}
    "
run_cmd="torchrun --nproc_per_node $GPUS pretrain.py
 ${options} ${ac_option} \
 ${moe_options} ${vp_option} ${gqa_options}"
echo ${run_cmd}
eval ${run_cmd}
"#;
    let import = plain(script);
    // LAYERS and the options are not asked for: the choices are.
    assert_eq!(unresolved(&import), ["SIZE", "TP", "AC", "GPUS", "MP_VP"]);
    let answers = [("SIZE", "A3B"), ("TP", "4"), ("AC", "full"), ("GPUS", "8")];
    let answers: Vec<_> = answers.map(|(k, v)| (k.to_owned(), v.to_owned())).into();
    let import = read(
        script,
        Answers {
            variables: &answers,
            branches: &[],
        },
    );
    assert_eq!(
        flags(&import),
        "num-layers=48 tensor-model-parallel-size=4 recompute-method=uniform recompute-granularity=full \
         sequence-parallel num-experts=128 moe-layer-freq=([1]*48)"
    );
    assert_eq!(import.flag("moe-layer-freq").unwrap().line, 16);
    assert_eq!(import.launch.world_size(), Some(8));
}

/// Two files, one sourced by the other; pasted one after the other they are one script.
#[test]
fn arrays_of_a_sourced_file_are_asked_for() {
    let model = "MODEL_ARGS=(\n   --swiglu\n   --num-layers 36\n)\n";
    let run = "source \"${DIR}/models/m.sh\"
PERF_ARGS=(
   --tensor-model-parallel-size 2
   # --micro-batch-size 1
   --use-dynamic-batch-size
   --max-tokens-per-gpu 9216
)
ray start --head --num-gpus 8 --disable-usage-stats
ENV_JSON=\"{
  \\\"env_vars\\\": {\\\"A\\\": \\\"1\\\"}
}\"
ray job submit --address=\"http://127.0.0.1:8265\" \\
   --runtime-env-json=\"${ENV_JSON}\" \\
   -- python3 train.py \\
   --actor-num-nodes 1 \\
   --colocate \\
   ${MODEL_ARGS[@]} \\
   ${PERF_ARGS[@]}";
    let import = plain(run);
    let expected = "tensor-model-parallel-size=2 use-dynamic-batch-size max-tokens-per-gpu=9216";
    assert!(flags(&import).ends_with(expected), "{}", flags(&import));
    assert_eq!(unresolved(&import), ["MODEL_ARGS"]);
    assert_eq!(import.command.program.as_ref().unwrap().text, "train.py");
    let import = plain(&format!("{model}{run}"));
    assert_eq!(
        flags(&import),
        format!("actor-num-nodes=1 colocate swiglu num-layers=36 {expected}")
    );
    assert!(unresolved(&import).is_empty());
}

#[test]
fn the_command_with_the_most_flags_counts() {
    let script = "python tools/preprocess.py --workers 4 --input x
UNUSED=(--fp16 --loss-scale 1)
python pretrain_gpt.py --num-layers 4 --hidden-size 8 --bf16";
    let import = plain(script);
    assert_eq!(flags(&import), "num-layers=4 hidden-size=8 bf16");
    assert_eq!(import.other_commands.len(), 1);
    let notes: Vec<_> = import.notes.iter().map(|n| (n.line, n.kind.clone())).collect();
    assert_eq!(
        notes,
        [(1, NoteKind::AnotherCommand), (2, NoteKind::Unused("UNUSED".into()))]
    );
}

#[test]
fn what_is_not_followed_is_noted() {
    for (script, line, kind) in [
        ("\nsource env.sh", 2, NoteKind::Sourced("env.sh".into())),
        (". \"$D/env.sh\"", 1, NoteKind::Sourced("${D}/env.sh".into())),
        ("cat <<EOF > f\n--num-layers 2\nEOF", 1, NoteKind::HereDocument),
        ("while true; do sleep 1; done", 1, NoteKind::Loop),
        ("A=1\n(( A += 1 ))", 2, NoteKind::Arithmetic("A += 1".into())),
        ("for ((i = 0; i < 4; i += 2)); do A=$i; done", 1, NoteKind::Loop),
        ("select A in 1 2; do B=$A; done", 1, NoteKind::NotFollowed("select")),
        (
            "A=1\ncase $A in\n1) B=1 ;&\n2) B=2 ;;\nesac",
            3,
            NoteKind::NotFollowed(";&"),
        ),
        ("A=(1 2)\nA[1]=3", 2, NoteKind::NotFollowed("NAME[…]=")),
        ("echo 'never closed", 1, NoteKind::Unclosed("'")),
        ("echo \"never closed", 1, NoteKind::Unclosed("\"")),
        ("A=${B:-", 1, NoteKind::Unclosed("${")),
    ] {
        let import = plain(script);
        assert_eq!(import.notes.len(), 1, "{script}: {:?}", import.notes);
        assert_eq!((import.notes[0].line, &import.notes[0].kind), (line, &kind), "{script}");
        assert_eq!(flags(&import), "", "{script}");
    }
}

#[test]
fn nothing_is_executed_and_substitutions_stay_visible() {
    let import = plain("python x.py --num-layers $(cat layers.txt) --hidden-size `nproc`");
    assert_eq!(flags(&import), "num-layers=$(cat layers.txt) hidden-size=$(nproc)");
    assert!(import.flags().iter().all(|flag| flag.values[0].unresolved));
    assert_eq!(
        flags(&plain("python x.py --a $(echo 1 2) --b $(seq 3)")),
        "a=1|2 b=1|2|3"
    );
}

#[test]
fn adversarial_inputs_end_quickly() {
    let n = 2_000;
    let doubling: String = (0..60).map(|i| format!("A{}=\"$A{i}$A{i}\"\n", i + 1)).collect();
    let arrays: String = (0..60)
        .map(|i| format!("A{}=(\"${{A{i}[@]}}\" \"${{A{i}[@]}}\")\n", i + 1))
        .collect();
    let nested_if: String = "if [ $X = 1 ]; then\n".repeat(n) + "A=1\n" + &"fi\n".repeat(n);
    let cases = [
        "$((".repeat(n),
        format!("python x.py --a {}1{}", "$((".repeat(n), "))".repeat(n)),
        "${a:-".repeat(n),
        "$(".repeat(n),
        "(".repeat(n),
        "\"$(\"".repeat(n),
        "`".repeat(n + 1),
        "\\ ".repeat(n),
        "A=(".repeat(n),
        "[[ ".repeat(n),
        "! ".repeat(n),
        "{ ".repeat(n),
        "case x in ".repeat(n),
        "f() ".repeat(n),
        "<<A ".repeat(n),
        format!("{}\n", "<<A\n".repeat(n)),
        format!("A0=xxxxxxxx\n{doubling}python x.py --a $A60"),
        format!("A0=(--a 1)\n{arrays}python x.py ${{A60[@]}}"),
        nested_if,
        "f() { f; f; f; f; f; f; }; f".to_owned(),
        "A=A; A=B; B=A; python x.py --x $((A))".to_owned(),
        "for ((i=0;i<4000;i++)); do for ((j=0;j<4000;j++)); do A=x; done; done".to_owned(),
        format!("eval \"{}\"", "eval \\\"".repeat(200)),
        "A+=x\n".repeat(n),
        "A=\"$A x\"\n".repeat(n),
        "A+=(x)\npython x.py --a \"${A[5]}\"\n".repeat(1_000),
        format!("case {} in {}) A=1;; esac", "a".repeat(n), "*a".repeat(n / 2)),
        "[ -z \"$A\" ] && A=(--b)\n".repeat(n),
    ];
    for script in cases {
        let start = Instant::now();
        let import = plain(&script);
        let head: String = script.chars().take(40).collect();
        assert!(import.notes.len() <= 500);
        // A hang would take minutes; a debug build on a busy machine needs room.
        assert!(
            start.elapsed() < Duration::from_secs(20),
            "{head}: {:?}",
            start.elapsed()
        );
    }
}

#[test]
fn a_text_that_is_too_large_is_refused() {
    let import = plain(&"x".repeat(5_000_001));
    assert_eq!(import.notes[0].kind, NoteKind::TooLarge);
    assert_eq!(import.notes.len(), 1);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn no_text_panics(script in r#"([\$\{\}\(\)\[\]"'`\\|&;<>#=:+!*?~ \n-]|if|then|fi|case|in|esac|for|do|done|--a|A|1|EOF|<<|\$\(\(|\)\)|python x\.py){0,60}"#) {
        let import = plain(&script);
        let lines = u32::try_from(script.matches('\n').count()).unwrap() + 1;
        prop_assert!(import.flags().iter().all(|flag| flag.line <= lines));
        prop_assert!(import.notes.iter().all(|note| note.line <= lines));
    }

    #[test]
    fn plain_flags_come_back(flags_in in prop::collection::vec(("[a-z][a-z-]{0,8}[a-z]", "[A-Za-z0-9_./,-]{1,8}"), 1..20)) {
        let written: Vec<_> = flags_in.iter().filter(|(_, v)| !v.starts_with('-')).collect();
        let script: String = written.iter().map(|(k, v)| format!("--zz{k}={v} \\\n")).collect();
        let import = plain(&script);
        let read_back: Vec<_> = import.flags().iter().map(|f| (f.name.clone(), f.values[0].text.clone())).collect();
        let expected: Vec<_> = written.iter().map(|(k, v)| (format!("zz{k}"), v.clone())).collect();
        prop_assert_eq!(read_back, expected);
    }
}
