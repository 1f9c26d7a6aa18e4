#!/usr/bin/env python3
"""Books the open orders of a database, and never beside a later attempt of the same shard.

    orders.py DATABASE

The table fence has the newest token of each shard. An attempt first claims it, and then checks it in each transaction
that writes: an attempt that was cut off, given up and replaced finds a greater token there, and can't write any more.
"""
import os
import sqlite3
import sys

ITEM, TOTAL = int(os.environ["ELASTICJOB_SHARDING_ITEM"]), int(os.environ["ELASTICJOB_SHARDING_TOTAL_COUNT"])
TOKEN = int(os.environ["ELASTICJOB_FENCING_TOKEN"])
SHARD = f"{os.environ['ELASTICJOB_JOB_NAME']}/{ITEM}"


def claim(db):
    """Claims the shard for this attempt, unless a later one has it."""
    with db:
        db.execute("INSERT INTO fence (shard, token) VALUES (?, 0) ON CONFLICT DO NOTHING", (SHARD,))
        changed = db.execute("UPDATE fence SET token = ? WHERE shard = ? AND token < ?", (TOKEN, SHARD, TOKEN)).rowcount
    if changed == 0 and db.execute("SELECT token FROM fence WHERE shard = ?", (SHARD,)).fetchone() != (TOKEN,):
        sys.exit(f"a later attempt of {SHARD} has begun: this one, with token {TOKEN}, ends")


def book(db, order):
    """Books one order in a transaction that fails if a later attempt has claimed the shard."""
    with db:
        # The update locks the row until the end of the transaction, so no claim comes in between.
        mine = db.execute("UPDATE fence SET token = token WHERE shard = ? AND token = ?", (SHARD, TOKEN)).rowcount
        if mine == 0:
            sys.exit(f"a later attempt of {SHARD} has begun: order {order} is left to it")
        db.execute("UPDATE orders SET booked_by = ? WHERE id = ? AND booked_by IS NULL", (TOKEN, order))


def main():
    db = sqlite3.connect(sys.argv[1], timeout=30)
    claim(db)
    mine = db.execute("SELECT id FROM orders WHERE booked_by IS NULL AND id % ? = ? ORDER BY id", (TOTAL, ITEM)).fetchall()
    for (order,) in mine:
        book(db, order)
    print(f"shard {ITEM} of {TOTAL}: {len(mine)} orders booked")


main()
