// Problems as sentences, and which of them the user has dismissed.
import { agents } from './agents.js'
import { messageOf } from './reasons.js'
import { remembered } from './store.js'
import { texts } from './texts.js'

/** @typedef {{kind: string, severity: 'error' | 'warning', job: string, app: string, agent: string, path: string, count: number, since: string | null, message: string}} Problem */

const t = texts(
  {
    FAILING: '{job}: last {n} runs failed', failedOnce: '{job}: last run failed', WAITING: '{job}: {n|shard|shards} waiting', LATE: '{job}: did not fire on time', AGENT_UNREACHABLE: 'Agent {agent} is unreachable', NOT_SUBSCRIBED: 'Not subscribed to the cluster: nothing is launched',
    FAULTY: '{name}: faulty document', START_FAILURES: '{app} fails to start on {agent}', unstarted: '{app} fails to start', MISSED: '{job}: missed fires', UNNOTIFIED: '{job}: notification not sent', unnotified: 'Notification of operators not sent', DAEMON_SILENT: '{job}: daemon does not report',
    MOST_SILENT: 'Most machines are silent', BLOCKED: '{job}: blocked', CORDONED: '{agent} takes no tasks',
  },
  {
    FAILING: '{job}：最近 {n} 次执行失败', failedOnce: '{job}：最近一次执行失败', WAITING: '{job}：{n} 个分片等待中', LATE: '{job}：未按时触发', AGENT_UNREACHABLE: 'Agent {agent} 失联', NOT_SUBSCRIBED: '未订阅集群，不会启动任何任务',
    FAULTY: '{name}：配置有误', START_FAILURES: '{app} 在 {agent} 上启动失败', unstarted: '{app} 启动失败', MISSED: '{job}：错过触发', UNNOTIFIED: '{job}：通知未发出', unnotified: '发给运维人员的通知未发出', DAEMON_SILENT: '{job}：常驻作业无响应',
    MOST_SILENT: '大多数机器失联', BLOCKED: '{job}：被阻塞', CORDONED: '{agent} 已停止调度',
  },
)

const worded = ['FAILING', 'WAITING', 'LATE', 'AGENT_UNREACHABLE', 'NOT_SUBSCRIBED', 'FAULTY', 'START_FAILURES', 'MISSED', 'UNNOTIFIED', 'DAEMON_SILENT', 'MOST_SILENT', 'BLOCKED', 'CORDONED']

/**
 * sentenceOf describes a problem. If the console has no words for its kind, as for the server's own warnings, it returns the server's
 * message.
 * @param {Problem} p
 */
export function sentenceOf(p) {
  if (!worded.includes(p.kind)) return messageOf(p)
  const key = p.kind === 'FAILING' && p.count <= 1 ? 'failedOnce' : p.kind === 'START_FAILURES' && !p.agent ? 'unstarted' : p.kind === 'UNNOTIFIED' && !p.job ? 'unnotified' : p.kind
  return t(/** @type {any} */ (key), { ...p, agent: agents.nameOf(p.agent), n: p.count, name: p.job || p.app || p.path })
}

/**
 * idOf identifies a problem, and stays the same as long as the problem lasts. It contains neither since, which may change while a
 * daemon fails, nor the numbers in the server's warnings, which may grow.
 * @param {Problem} p
 */
export const idOf = (p) => [p.kind, p.job, p.app, p.agent, p.path, worded.includes(p.kind) ? '' : p.message.replace(/\d+/g, '#')].join('|')

/** dismissed holds the ids of the dismissed problems. */
export const dismissed = remembered('dismissed', /** @type {string[]} */ ([]), /** @type {(v: unknown) => v is string[]} */ ((v) => Array.isArray(v) && v.every((id) => typeof id === 'string')))

const maxDismissed = 500

/**
 * dismiss hides these problems until they have ended.
 * @param {Problem[]} problems
 */
export const dismiss = (problems) => dismissed.set([...new Set([...dismissed.get(), ...problems.map(idOf)])].slice(-maxDismissed))

/**
 * forgetEnded removes the problems that have ended from the dismissed ones, so that they are shown when they occur again. It does
 * nothing if not all problems are known, because a problem that is not listed may then still last.
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
 * worstOf returns the first problem that was not dismissed, which is the worst, because problems are sorted.
 * @param {Problem[]} problems
 * @param {string[]} without
 */
export const worstOf = (problems, without) => problems.find((p) => !without.includes(idOf(p)))
