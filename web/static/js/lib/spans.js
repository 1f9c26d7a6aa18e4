// The life of each shard of an execution, as periods of time that can be drawn.
import { causeOf, reasonOf } from './reasons.js'

/**
 * @typedef {object} Attempt one task of a shard
 * @property {string} taskId
 * @property {number} attempt
 * @property {string} agent
 * @property {number | null} launched milliseconds since 1970, as all times here
 * @property {number | null} began
 * @property {number | null} ended
 * @property {string} state
 * @property {string} cause
 * @property {number | null} exitStatus
 * @property {boolean} failover whether it replaced a lost task
 */

/**
 * @typedef {object} Bar
 * @property {'wait' | 'start' | 'run'} kind
 * @property {number} from
 * @property {number} to
 * @property {string} reason why the shard waited
 * @property {Attempt} [attempt]
 */

/** @typedef {{item: number, shard: any, attempts: Attempt[], bars: Bar[]}} ShardSpans */
/** @typedef {{from: number, to: number, running: boolean, shards: ShardSpans[]}} Spans */

const ms = (/** @type {string | null | undefined} */ time) => (time ? new Date(time).getTime() : null)
const over = ['FINISHED', 'FAILED', 'KILLED']

/** isOver reports whether an execution in this state has ended. */
export const isOver = (/** @type {string} */ state) => over.includes(state)

/** isFailover reports, from a task's id, whether the task replaced a lost one. */
export const isFailover = (/** @type {string} */ taskId) => taskId.split('@-@')[2] === 'FAILOVER'

/** hasEarlier reports whether any shard had an attempt before its current one. */
export const hasEarlier = (/** @type {any} */ e) => e.shards.some((/** @type {any} */ s) => s.attempt > 1 || isFailover(s.taskId ?? '')) || (e.life ?? []).some((/** @type {any} */ m) => m.kind === 'REQUEUED')

/**
 * attemptsOf returns the attempts by shard, from the execution, its life and the rows of the history.
 * @param {any} execution
 * @param {any[]} rows
 */
export function attemptsOf(execution, rows) {
  /** @type {Map<string, Attempt & {item: number, order: number}>} */
  const tasks = new Map()
  const task = (/** @type {string} */ taskId, /** @type {number} */ item) => {
    let one = tasks.get(taskId)
    if (!one) tasks.set(taskId, (one = { taskId, item, attempt: 0, agent: taskId.split('@-@')[3] ?? '', launched: null, began: null, ended: null, state: '', cause: '', exitStatus: null, failover: isFailover(taskId), order: tasks.size }))
    return one
  }
  for (const m of execution.life ?? []) {
    if (!m.taskId || m.item == null || !m.kind.startsWith('TASK_')) continue
    const one = task(m.taskId, m.item)
    one.agent ||= m.agent
    const at = ms(m.time)
    if (m.kind === 'TASK_STAGING') one.launched ??= at
    else if (m.kind === 'TASK_RUNNING') one.began ??= at
    else if (!['TASK_STARTING', 'TASK_KILLING', 'TASK_UNREACHABLE'].includes(m.kind)) [one.ended, one.cause] = [at, m.message]
    one.state = m.kind === 'TASK_STAGING' ? one.state || 'LAUNCHING' : m.kind === 'TASK_STARTING' ? 'LAUNCHING' : m.kind.replace('TASK_', '').replace(/^KILLING$/, 'RUNNING')
  }
  for (const r of rows) {
    if (!r.taskId) continue
    const one = task(r.taskId, r.shardingItem)
    Object.assign(one, { attempt: r.attempt ?? one.attempt, agent: r.agent ?? one.agent, began: ms(r.startTime) ?? one.began, ended: ms(r.completeTime) ?? one.ended, state: r.state ?? one.state, cause: causeOf(r) ?? '', exitStatus: r.exitStatus })
  }
  for (const s of execution.shards) {
    for (const e of s.earlier ?? []) Object.assign(task(e.taskId, s.item), { attempt: e.attempt })
    if (!s.taskId || (s.state === 'WAITING' && !tasks.has(s.taskId))) continue
    const one = task(s.taskId, s.item)
    if (s.state === 'WAITING') continue // its data is that of the previous attempt
    Object.assign(one, { attempt: s.attempt, agent: s.agent || one.agent, began: ms(s.startTime) ?? one.began, ended: ms(s.completeTime) ?? (over.includes(s.state) ? one.ended : null), state: s.state, cause: causeOf(s), exitStatus: s.exitStatus })
  }
  /** @type {Map<number, Attempt[]>} */
  const byShard = new Map(execution.shards.map((/** @type {any} */ s) => [s.item, []]))
  const moment = (/** @type {Attempt} */ a) => a.launched ?? a.began ?? a.ended ?? Infinity
  for (const one of [...tasks.values()].sort((a, b) => moment(a) - moment(b) || a.order - b.order)) byShard.get(one.item)?.push(one)
  for (const attempts of byShard.values()) attempts.forEach((a, i) => (a.attempt ||= i + 1))
  return byShard
}

/**
 * spansOf returns an execution as rows of bars. The bars of a live execution extend to `now`.
 * @param {any} execution
 * @param {any[]} rows the rows of the history about its attempts
 * @param {any[]} waiting the waiting shards with their reasons, from explain
 * @param {number} now
 * @returns {Spans}
 */
export function spansOf(execution, rows, waiting, now) {
  const life = /** @type {any[]} */ (execution.life ?? [])
  const from = ms(execution.fireTime) ?? now
  const running = !isOver(execution.state)
  const attempts = attemptsOf(execution, rows)
  const known = [...attempts.values()].flat().flatMap((a) => [a.launched ?? 0, a.began ?? 0, a.ended ?? 0])
  const ended = ms(life.filter((m) => m.kind === 'ENDED').at(-1)?.time)
  const last = known.reduce((a, b) => Math.max(a, b), Math.max(from, ended ?? 0))
  const to = running ? Math.max(now, last) : last
  const launchedFirst = ms(life.find((m) => m.kind === 'LAUNCHED')?.time)
  const waits = life.filter((m) => ['WAITED', 'WAITING', 'REQUEUED'].includes(m.kind)).map((m) => ({ at: /** @type {number} */ (ms(m.time)), item: m.item, text: m.message })).reverse()
  const reason = (/** @type {number} */ item, /** @type {number} */ a, /** @type {number} */ b) => waits.find((w) => (w.item == null || w.item === item) && w.at >= a - 1000 && w.at <= b + 1000)?.text ?? ''
  const shards = execution.shards.map((/** @type {any} */ shard) => {
    /** @type {Bar[]} */
    const bars = []
    let at = from
    const mine = attempts.get(shard.item) ?? []
    for (const [i, attempt] of mine.entries()) {
      const launched = attempt.launched ?? (i === 0 ? launchedFirst : null) ?? attempt.began ?? attempt.ended ?? to
      const began = attempt.began ?? attempt.ended ?? to
      const end = attempt.ended ?? (i < mine.length - 1 ? (mine[i + 1].launched ?? began) : to)
      if (launched > at) bars.push({ kind: 'wait', from: at, to: launched, reason: reason(shard.item, at, launched) })
      if (began > launched) bars.push({ kind: 'start', from: launched, to: began, reason: '', attempt })
      if (attempt.began != null || attempt.ended != null) bars.push({ kind: 'run', from: began, to: Math.max(began, end), reason: '', attempt })
      at = Math.max(at, end)
    }
    const waitsNow = shard.state === 'WAITING' || (mine.length === 0 && shard.state !== 'FINISHED')
    if (waitsNow && to > at) bars.push({ kind: 'wait', from: at, to, reason: reasonOf(waiting.find((w) => w.executionId === execution.executionId && w.item === shard.item)) || reason(shard.item, at, to) })
    return { item: shard.item, shard, attempts: mine, bars }
  })
  return { from, to: Math.max(to, from + 1), running, shards }
}

/**
 * ticks returns round times between two times, at most about `most` of them.
 * @param {number} from
 * @param {number} to
 * @param {number} most
 */
export function ticks(from, to, most) {
  const steps = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 10e3, 20e3, 30e3, 60e3, 120e3, 300e3, 600e3, 1200e3, 1800e3, 3600e3, 7200e3, 14400e3, 21600e3, 43200e3]
  const step = steps.find((s) => (to - from) / s <= most) ?? Math.ceil((to - from) / most / 86400e3) * 86400e3
  const all = []
  for (let x = Math.ceil(from / step) * step; x <= to; x += step) all.push(x)
  return all
}
