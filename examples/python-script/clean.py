#!/usr/bin/env python3
"""Removes old files from a folder, the job parameter: each shard takes its share of the names.

    clean.py --days 7 [--dry-run]"""
import argparse
import os
import sys
import time
import zlib

flags = argparse.ArgumentParser()
flags.add_argument("--days", type=float, required=True, help="remove what is older")
flags.add_argument("--dry-run", action="store_true", help="only say what would be removed")
args = flags.parse_args()

folder = os.environ["ELASTICJOB_JOB_PARAMETER"]
item, total = int(os.environ["ELASTICJOB_SHARDING_ITEM"]), int(os.environ["ELASTICJOB_SHARDING_TOTAL_COUNT"])
if not os.path.isdir(folder):
    sys.exit(f"the job parameter is {folder!r}, which is no folder")

removed = 0
for entry in os.scandir(folder):
    mine = zlib.crc32(entry.name.encode(errors="surrogateescape")) % total == item
    if mine and entry.is_file(follow_symlinks=False) and entry.stat().st_mtime < time.time() - args.days * 86400:
        if not args.dry_run:
            os.remove(entry.path)
        removed += 1
print(f"shard {item} of {total}: {removed} old files {'found' if args.dry_run else 'removed'}")
