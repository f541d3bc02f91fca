# Prints the record of a check on one GPU. Arguments: the log. Input: the record without the measurements. No line has a
# single quote, since the shell script has the program between two of them.
import importlib, json, os, re, sys
import torch

given = json.load(sys.stdin)
line = r"\(after (\d+) iterations\) memory \(MB\) \| allocated: ([\d.]+) \| max allocated: ([\d.]+)"
lines = re.findall(line, open(sys.argv[1]).read())
ranks = {rank: (stage, *predicted) for stage, (rank, *predicted) in enumerate(given["stages"])}
if not lines or int(os.environ["RANK"]) not in ranks:
    sys.exit("This rank has printed no memory: there is nothing to record.")
iterations, steady, peak = lines[-1]
stage, predicted_steady, predicted_peak = ranks[int(os.environ["RANK"])]
versions = {"cuda": torch.version.cuda}
modules = {"pytorch": "torch", "transformer_engine": "transformer_engine", "megatron_core": "megatron.core"}
for name, module in modules.items():
    try:
        versions[name] = importlib.import_module(module).__version__
    except (ImportError, AttributeError):
        pass
record = given["record"]
record["hardware"] = torch.cuda.get_device_name()
record["software"] = {name: str(version) for name, version in versions.items() if version}
record["pp_rank"] = stage
record["moment"] = "first_iteration" if iterations == "1" else "later_iteration"
record["measured"] = {
    "steady_allocated": round(float(steady) * 2**20),
    "peak_allocated": round(float(peak) * 2**20),
}
record["predicted"] = {
    "version": given["version"],
    "steady_allocated": predicted_steady,
    "peak_allocated": predicted_peak,
}
text = json.dumps(record, indent=2)
with open("check_on_one_gpu.json", "w") as file:
    file.write(text + "\n")
print(text)
print("Written to check_on_one_gpu.json. The README of Megatron Memory says how to submit it.")
