// What is wrong, as a sentence, and what of it somebody has seen and dismissed.
import { agents } from './agents.js'
import { messageOf } from './reasons.js'
import { remembered } from './store.js'
import { texts } from './texts.js'

/** @typedef {{kind: string, severity: 'error' | 'warning', job: string, app: string, agent: string, path: string, count: number, since: string | null, message: string}} Problem */

const t = texts(
  {
    FAILING: '{job}: last {n} runs failed', failedOnce: '{job}: last run failed', WAITING: '{job}: {n|shard|shards} waiting', LATE: '{job}: did not fire on time', AGENT_UNREACHABLE: 'Agent {agent} is unreachable', NOT_SUBSCRIBED: 'Not subscribed to the cluster: nothing is launched',
    FAULTY: '{name}: faulty document', START_FAILURES: '{app} fails to start on {agent}', unstarted: '{app} fails to start', MISSED: '{job}: missed fires', UNNOTIFIED: '{job}: notification not sent', DAEMON_SILENT: '{job}: daemon does not report',
  },
  {
    FAILING: '{job}：最近 {n} 次执行失败', failedOnce: '{job}：最近一次执行失败', WAITING: '{job}：{n} 个分片等待中', LATE: '{job}：未按时触发', AGENT_UNREACHABLE: 'Agent {agent} 失联', NOT_SUBSCRIBED: '未订阅集群，不会启动任何任务',
    FAULTY: '{name}：配置有误', START_FAILURES: '{app} 在 {agent} 上启动失败', unstarted: '{app} 启动失败', MISSED: '{job}：错过触发', UNNOTIFIED: '{job}：通知未发出', DAEMON_SILENT: '{job}：常驻作业无响应',
  },
)

const worded = ['FAILING', 'WAITING', 'LATE', 'AGENT_UNREACHABLE', 'NOT_SUBSCRIBED', 'FAULTY', 'START_FAILURES', 'MISSED', 'UNNOTIFIED', 'DAEMON_SILENT']

/**
 * sentenceOf says what is wrong. A kind without words here, such as the server's own warnings, has its message.
 * @param {Problem} p
 */
export function sentenceOf(p) {
  if (!worded.includes(p.kind)) return messageOf(p)
  const key = p.kind === 'FAILING' && p.count <= 1 ? 'failedOnce' : p.kind === 'START_FAILURES' && !p.agent ? 'unstarted' : p.kind
  return t(/** @type {any} */ (key), { ...p, agent: agents.nameOf(p.agent), n: p.count, name: p.job || p.app || p.path })
}

/**
 * idOf tells a problem from others. It is the same for as long as the problem lasts: since when that is known may move, as it
 * does of a daemon that fails, and a warning of the server may count.
 * @param {Problem} p
 */
export const idOf = (p) => [p.kind, p.job, p.app, p.agent, p.path, worded.includes(p.kind) ? '' : p.message.replace(/\d+/g, '#')].join('|')

// Those that were dismissed, by their ids.
export const dismissed = remembered('dismissed', /** @type {string[]} */ ([]), /** @type {(v: unknown) => v is string[]} */ ((v) => Array.isArray(v) && v.every((id) => typeof id === 'string')))

const mostDismissed = 500

/**
 * dismiss has these problems shown no more.
 * @param {Problem[]} problems
 */
export const dismiss = (problems) => dismissed.set([...new Set([...dismissed.get(), ...problems.map(idOf)])].slice(-mostDismissed))

/**
 * forgetEnded takes from what was dismissed the problems that have ended, so that each is shown when it comes again. Where
 * not all problems are known, none has ended for sure.
 * @param {Problem[]} problems
 * @param {number} total
 */
export function forgetEnded(problems, total) {
  if (total > problems.length) return
  const now = new Set(problems.map(idOf))
  const left = dismissed.get().filter((id) => now.has(id))
  if (left.length < dismissed.get().length) dismissed.set(left)
}

/**
 * worstOf is the first problem, and so the worst, that was not dismissed.
 * @param {Problem[]} problems
 * @param {string[]} without
 */
export const worstOf = (problems, without) => problems.find((p) => !without.includes(idOf(p)))
