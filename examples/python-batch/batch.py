#!/usr/bin/env python3
"""Adds up the amounts in a file, the job parameter. Each shard takes its share of the rows.

A shard writes how far it has come into a file beside the input, the checkpoint. A later attempt of the same run, after
a lost agent or a failure, continues there."""
import argparse
import csv
import json
import os

import elasticjob

parser = argparse.ArgumentParser(add_help=False)
parser.add_argument("--every", type=int, default=1000, help="rows between two checkpoints")
options, others = parser.parse_known_args()


def job(shard):
    checkpoint = "%s.%s.%d.json" % (shard.job_parameter, shard.execution_id.replace("/", "_"), shard.item)
    state = load(checkpoint)
    size = os.path.getsize(shard.job_parameter)
    with open(shard.job_parameter, newline="") as file:
        for number, line in enumerate(iter(file.readline, "")):
            if number < state["next"] or number % shard.total != shard.item:
                continue
            name, amount = next(csv.reader([line]))
            state = {"next": number + 1, "cents": state["cents"] + round(float(amount) * 100)}
            if number // shard.total % options.every == 0:
                save(checkpoint, state)
                shard.raise_if_cancelled()
                shard.progress(file.tell() / size, "row %d" % number)
    save(checkpoint, state)
    print("shard %d of %d: %d.%02d" % (shard.item, shard.total, state["cents"] // 100, state["cents"] % 100))


def load(path):
    try:
        with open(path) as file:
            return json.load(file)
    except FileNotFoundError:
        return {"next": 0, "cents": 0}


def save(path, state):
    """Replaces the checkpoint at once, so that a kill leaves the old or the new one."""
    with open(path + ".new", "w") as file:
        json.dump(state, file)
        file.flush()
        os.fsync(file.fileno())
    os.replace(path + ".new", path)


if __name__ == "__main__":
    elasticjob.run(job, argv=others)
