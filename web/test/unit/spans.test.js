import '../lib/nobrowser.js'
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { spansOf, ticks } from '../../static/js/lib/spans.js'
import { groupBy, quantile, ranges } from '../../static/js/lib/ranges.js'

const t0 = Date.parse('2026-05-01T12:00:00Z')
const iso = (/** @type {number} */ ms) => new Date(t0 + ms).toISOString()
const id = (/** @type {string} */ kind, /** @type {number} */ n) => `job@-@0@-@${kind}@-@S${n}@-@task-${n}`
const moment = (/** @type {number} */ ms, /** @type {string} */ kind, taskId = '', message = '') => ({ time: iso(ms), kind, item: taskId ? 0 : null, taskId, agent: '', message })
const drawn = (/** @type {any} */ e, /** @type {any[]} */ rows = [], /** @type {any[]} */ waiting = [], now = 0) =>
  spansOf(e, rows, waiting, t0 + now).shards.map((s) => s.bars.map((b) => `${b.kind} ${b.from - t0}-${b.to - t0}${b.attempt ? ` ${b.attempt.state} ${b.attempt.attempt}${b.attempt.failover ? ' failover' : ''}` : ''}${b.reason ? ` ${b.reason}` : ''}`))

test('a shard that was lost and failed over has bars for both tasks and for the wait between them', () => {
  const e = {
    executionId: 'e', fireTime: iso(0), state: 'FINISHED',
    shards: [{ item: 0, state: 'FINISHED', attempt: 2, agent: 'S2', taskId: id('FAILOVER', 2), startTime: iso(9800), completeTime: iso(15000), exitStatus: 0, failureCause: '' }],
    life: [moment(0, 'FIRED'), moment(50, 'WAITED', '', 'for 1 CPU'), moment(100, 'TASK_STAGING', id('READY', 1)), moment(300, 'TASK_RUNNING', id('READY', 1)), moment(4000, 'TASK_UNREACHABLE', id('READY', 1)),
      moment(9000, 'TASK_LOST', id('READY', 1)), moment(9001, 'REQUEUED', id('READY', 1), 'its agent was lost'), moment(9500, 'TASK_STAGING', id('FAILOVER', 2)), moment(15010, 'ENDED', '', 'FINISHED')],
  }
  assert.deepEqual(drawn(e), [['wait 0-100 for 1 CPU', 'start 100-300 LOST 1', 'run 300-9000 LOST 1', 'wait 9000-9500 its agent was lost', 'start 9500-9800 FINISHED 2 failover', 'run 9800-15000 FINISHED 2 failover']])
})

test('an attempt that the cluster reports as killed is shown as timed out if the history says so', () => {
  const e = {
    executionId: 'e', fireTime: iso(0), state: 'FAILED',
    shards: [{ item: 0, state: 'TIMED_OUT', attempt: 2, agent: 'S2', taskId: id('READY', 2), startTime: iso(4000), completeTime: iso(7000), exitStatus: null, failureCause: 'timed out' }],
    life: [moment(0, 'FIRED'), moment(10, 'TASK_STAGING', id('READY', 1)), moment(500, 'TASK_RUNNING', id('READY', 1)), moment(3500, 'TASK_KILLED', id('READY', 1)), moment(3900, 'TASK_STAGING', id('READY', 2))],
  }
  const rows = [{ taskId: id('READY', 1), shardingItem: 0, attempt: 1, startTime: iso(480), completeTime: iso(3490), state: 'TIMED_OUT', failureCause: 'timed out', exitStatus: null, agent: 'S1' }]
  assert.deepEqual(drawn(e, rows), [['wait 0-10', 'start 10-480 TIMED_OUT 1', 'run 480-3490 TIMED_OUT 1', 'wait 3490-3900', 'start 3900-4000 TIMED_OUT 2', 'run 4000-7000 TIMED_OUT 2']])
})

test('without a history, the bars show what the scheduler knows, up to now', () => {
  const e = {
    executionId: 'e', fireTime: iso(0), state: 'RUNNING',
    shards: [{ item: 0, state: 'RUNNING', attempt: 1, agent: 'S1', taskId: id('READY', 1), startTime: iso(200), completeTime: null, exitStatus: null, failureCause: '' },
      { item: 1, state: 'WAITING', attempt: 0, agent: '', taskId: '', startTime: null, completeTime: null, exitStatus: null, failureCause: '' }],
  }
  assert.deepEqual(drawn(e, [], [{ executionId: 'e', item: 1, reason: 'for 1 CPU' }], 5000), [['wait 0-200', 'run 200-5000 RUNNING 1'], ['wait 0-5000 for 1 CPU']])
})

test('a thousand shards are all shown', () => {
  const shards = Array.from({ length: 1000 }, (_, item) => ({ item, state: 'FINISHED', attempt: 1, agent: 'S', taskId: `j@-@${item}@-@READY@-@S@-@${item}`, startTime: iso(10), completeTime: iso(20 + item), exitStatus: 0, failureCause: '' }))
  const s = spansOf({ executionId: 'e', fireTime: iso(0), state: 'FINISHED', shards, life: [] }, [], [], 0)
  assert.equal(s.shards.length, 1000)
  assert.equal(s.to - s.from, 1019)
})

test('ticks are round, and not too many', () => {
  assert.deepEqual(ticks(0, 6300, 7), [0, 1000, 2000, 3000, 4000, 5000, 6000])
  assert.deepEqual(ticks(1500, 2200, 7), [1500, 1600, 1700, 1800, 1900, 2000, 2100, 2200])
  assert.ok(ticks(0, 400 * 86_400_000, 7).length <= 8)
})

test('ranges, quantile and groupBy', () => {
  assert.equal(ranges([5, 0, 1, 2, 9, 10]), '0–2, 5, 9, 10')
  assert.equal(ranges([0, 2, 4, 6], 2), '0, 2, …')
  assert.equal(quantile([3, 1, 2], 0.5), 2)
  assert.equal(quantile([], 0.5), null)
  assert.deepEqual(groupBy(['a1', 'b1', 'a2'], (s) => s[0]), [['a1', 'a2'], ['b1']])
})
